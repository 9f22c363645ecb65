"""The Manifold page opens for every link, says what cannot be, and keeps what was dragged."""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from gating_core.experiments import budget
from gating_core.experiments.instance.measured import COLOURINGS, measure_instance
from gating_core.geometry.verdict import POINT_TYPES
from tests.ui.opening import TIMEOUT_SECONDS, component, data_of, mistakes, notes, open_page, report
from tests.ui.payload import unpack
from ui import limits
from ui.common.formatting import plus_minus, vector_text
from ui.manifold import model, shared
from ui.manifold.misleading import CASES
from ui.manifold.model import ManifoldRequest, Metric, resolve
from ui.manifold.shared import TABS
from ui.manifold.surface import scene_of

PAGE = "pages/1_Manifold.py"
VIEW, VALUES_PAD, GATES_PAD = "manifold_view", "handles_values", "handles_gates"
QUICK_DIAL, FULL_DIAL = 1e6, limits.DIAL_COST  # two strengths on 61 x 61 points, and 21
QUICK_INTEGRALS = 1e6  # in place of `budget.AFFORDABLE_COST`
DRAGGED = "1,0.5,-0.25,-1.5,0.75,0.5,0.25,-1,2"
GATES = "0.5,1.5,-0.5,-1,0.25,1,2,-0.75,1.25"
# Every kind of model, on all tabs and in all colours between them.
LINKS = {
    "weights": dict(chart="weights", tab="Surface"),
    "weights, four values": dict(chart="weights", n="4", dim="6", tab="Inspect", by="mean"),
    "tokens": dict(source="tokens", position="G3", per="head", tab="Inspect", by="error"),
    "plane": dict(dim="2", pair="2-3", tab="Inspect", by="area"),
    "components": dict(
        dim="8", layers="3", axes="1", heads="2", metric="turned", tab="Error analysis"
    ),
    "two values": dict(n="2", tab="Inspect"),
    "normalised": dict(norm="post", residual="true", projection="true", tab="Surface"),
    "one alone": dict(chart="weights", dim="4", heads="2", point="3.4", tab="Surface"),
    "asinh, saturated": dict(scale="asinh", sharpness="60", by="size", tab="Surface"),
    "no gate left": {"lambda": "0", "chart": "weights", "layers": "2", "layer": "2", "by": "gate"},
    "gated queries": dict(chart="weights", position="G4", layers="2", layer="1", tab="Inspect"),
    "dragged": dict(
        values=DRAGGED, gates=GATES, point="15.3", kind="silu", handles="true", tab="Inspect"
    ),
    "diagonal": dict(metric="diagonal", variances="1, 2, 0.5", more="true", tab="Error analysis"),
    "deep": dict(layers="4", layer="3", part="2", by="entropy", kind="tanh", tab="Surface"),
}
EXPLAINED = {
    "Surface": ["the surfaces", "the heatmaps"],
    "Inspect": ["the surfaces", "the heatmaps", "the triangles"],
    "Error analysis": ["the integrals", "the histogram", "the maps", "the error curves"],
}


@pytest.fixture(autouse=True, scope="module")
def quick():
    """Few strengths, and totals that are refined for tenths of a second, cached for all tests."""
    shared.TOTALS.cache.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(budget, "AFFORDABLE_COST", QUICK_INTEGRALS)
        patch.setattr(limits, "DIAL_COST", QUICK_DIAL)
        yield
    shared.TOTALS.cache.clear()


def open_manifold(**query):
    """The page on a small grid."""
    return settled(open_page(PAGE, **{"grid": "31", **query}))


@cache
def seen(**query):
    """A page that several tests look at, and none changes."""
    return open_manifold(**query)


def settled(app):
    """The page when its totals are refined."""
    while (job := job_of(app)) is not None and not job.over:
        job.join(TIMEOUT_SECONDS)
        assert job.over
        app.run()
    return app


def job_of(app):
    jobs = app.session_state["_jobs"]
    return jobs[shared.TOTALS.name][0] if shared.TOTALS.name in jobs else None


def payload(app):
    """What the linked view was sent: header and arrays."""
    return unpack(component(app, VIEW).proto.bytes)


def handles(app, key=VALUES_PAD):
    """(x, y) of a pad's handles."""
    return [(h["x"], h["y"]) for h in data_of(app, key)["handles"]]


def texts(app):
    return " ".join(element.value for element in (*app.caption, *app.markdown))


def assert_well(app):
    assert not app.exception
    assert not app.warning
    assert not app.error


# --- Links ---


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", LINKS)
def test_every_kind_of_model_opens_with_its_pictures_tables_and_explanations(name):
    link = LINKS[name]
    tab, three = link.get("tab", "Surface"), link.get("n", "3") == "3"
    app = open_manifold(**link)
    assert_well(app)
    labels = [popover.proto.popover.label for popover in app.get("popover")]
    for label in ("Presets", "Take along", "Share"):  # of every page
        labels.remove(label)
    explained = [what for what in EXPLAINED[tab] if three or what != "the triangles"]
    explained = ["the handles"] * ("handles" in link) + explained
    assert labels == [f"Explain this plot: {what}" for what in explained]
    text = " ".join(markdown.value for markdown in app.markdown)
    for beat in ("What is drawn.", "The formula", "What to look for.", "How one could misread it."):
        assert text.count(f"**{beat}") == len(labels)
    charts, tables = len(app.get("plotly_chart")), len(app.table)
    if tab == "Error analysis":
        assert component(app, VIEW) is None
        solid = int(link.get("dim", "3")) == 3  # a mesh needs three dimensions
        assert (charts, tables) == (4 + solid, 2)
        return
    header, arrays = payload(app)
    columns = header["columns"]
    assert len(columns) == (1 if name == "one alone" else 2)
    if tab == "Inspect":
        assert {len(column["panels"]) for column in columns} == {2 + three}
    first = "plane" if name == "plane" else "scene"
    assert {column["panels"][0]["kind"] for column in columns} == {first}
    assert np.isfinite(arrays["left_x"]).all()
    assert (charts, tables) == (0, tab == "Inspect")
    symbol, legend = COLOURINGS[link.get("by", "curvature")].symbol, header["legend"]
    flat = set(legend["note"]) == {"K = 0 wherever it is known"}
    for end in ("low", "high"):
        assert legend[end] == "" if flat else legend[end].startswith(f"{symbol} = ")
    assert flat == (name in ("one alone", "gated queries"))


def test_the_first_paint_is_a_flat_sheet_beside_a_curved_one(monkeypatch):
    monkeypatch.setattr(limits, "DIAL_COST", FULL_DIAL)
    app = open_manifold(grid="61")
    assert_well(app)
    flat, _, curved, uncertain = (metric.value for metric in app.metric)
    assert flat == "0"
    assert "±" in curved
    assert uncertain.endswith("%")
    header, arrays = payload(app)
    reading = header["readings"][-1]
    assert reading.startswith("**Without a gate** the surface is flat (proved: it lies in")
    assert "**With the sigmoid gate at λ = 1.00** the surface is curved" in reading
    assert [column["heading"] for column in header["columns"]] == [
        "Without gate",
        "The same with a sigmoid gate at G1, one per channel",
    ]
    left, right = (column["captions"] for column in header["columns"])
    chosen = "1 layer, D = 3, n = 3 · seed 614, chosen: the broadest of 1024"
    assert left == [f"{chosen} · {right[0]}"]
    assert right[0] == "total curvature **0**: flat"
    assert re.search(
        r"curvature \*\*1\.18\d+ ± 0\.0\d+\*\*, 8\u00a0% of it on 1\u00a0% of", right[-1]
    )
    assert header["camera"]["eye"]
    assert header["edge_on"]
    assert (header["frames"], header["frame"], header["scrub"]) == (21, 20, True)
    assert arrays["right_x"].shape == (21, 61, 61)
    assert "asinh scale" in header["legend"]["note"][-1]


def test_without_its_gate_the_right_model_is_the_left_one():
    """At λ = 0 of the timeline, bit for bit."""
    header, arrays = payload(seen())
    for name in ("x", "y", "z", "gaussian", "field", "shade"):
        np.testing.assert_array_equal(arrays[f"right_{name}"][0], arrays[f"left_{name}"], name)
    left, right = (column["panels"] for column in header["columns"])
    assert [len(panels) for panels in (left, right)] == [1, 2]  # no map of nothing but zeros


def test_the_strength_in_the_link_is_shown_and_letting_go_writes_it(monkeypatch):
    monkeypatch.setattr(limits, "DIAL_COST", FULL_DIAL)
    app = open_manifold(**{"lambda": "0.35"}, tab="Inspect")
    assert_well(app)
    header, arrays = payload(app)
    assert header["frame_labels"][header["frame"]] == "λ = 0.35"
    alone = resolve(ManifoldRequest(strength=0.35, grid=31)).variants[-1]
    wanted = measure_instance(alone, 31).surface.values[0]
    np.testing.assert_array_equal(
        arrays["right_x"][header["frame"]], wanted[..., 0].astype(np.float32)
    )
    report(app, VIEW, "stop", {"frame": 5})
    assert_well(app)
    assert app.query_params["lambda"] in ("0.25", ["0.25"])
    assert payload(app)[0]["frame"] == 5
    assert "gate at λ = 0.25" in payload(app)[0]["readings"][5]
    for forged, frame in ((20, 20), (-3, 0), (10**9, 20)):
        report(app, VIEW, "stop", {"frame": forged})
        assert_well(app)
        assert payload(app)[0]["frame"] == frame
    assert "lambda" not in app.query_params


def test_a_large_model_has_fewer_strengths_and_the_requested_one(monkeypatch):
    monkeypatch.setattr(limits, "DIAL_COST", FULL_DIAL / 4)  # of a quarter of the points
    app = open_manifold(**{"lambda": "0.35"}, source="tokens", layers="2", dim="6", tab="Inspect")
    assert_well(app)
    labels = payload(app)[0]["frame_labels"]
    assert len(labels) < 21
    assert labels[0] == "λ = 0.00"
    assert "λ = 0.35" in labels
    assert labels == sorted(labels)
    assert labels[payload(app)[0]["frame"]] == "λ = 0.35"


def test_the_camera_is_chosen_anew_for_another_model_only():
    first = ManifoldRequest()
    same = (dict(strength=0.5), dict(metric=Metric("turned")), dict(values=((1.0,) * 3,) * 3))
    other = (dict(seed=7), dict(depth=2), dict(chart="weights"), dict(kind="tanh"))
    assert {scene_of(replace(first, **change)) for change in same} == {scene_of(first)}
    assert len({scene_of(replace(first, **change)) for change in other} | {first}) == 5
    assert payload(seen())[0]["scene"] == str(first)


BAD = {"kind": "relu", "layers": "9", "chart": "maps", "by": "taste", "lambda": "1.1",
       "source": "well", "dim": "1", "model": "-1", "grid": "999", "axes": "0", "values": "1,inf",
       "point": "151.0", "tab": "see"}  # fmt: skip


def test_what_a_link_gets_wrong_is_said_in_one_sentence_each_and_does_no_harm():
    app = settled(open_page(PAGE, **BAD))
    assert not app.exception
    assert not app.error
    sentences = mistakes(app)
    assert sorted(text.split("`")[1] for text in sentences) == sorted(BAD)
    assert payload(app)[0] == payload(settled(open_page(PAGE)))[0]
    report(app, VIEW, "stop", {"frame": 0})
    assert_well(app)


# --- What cannot be ---


def assert_notes(app, said):
    """Sentences with these words, each in the column of the control called so."""
    assert_well(app)
    shown = notes(app)
    assert len(shown) == len(said)
    for key, words in said.items():
        (note,) = (text for text in shown if words in text)
        assert any(
            any(getattr(element, "key", None) == key for element in column)
            for column in app.columns
            if any(c.value == note for c in column.caption)
        )


def test_a_sentence_stands_beside_each_control_that_cannot_be_followed(monkeypatch):
    link = dict(heads="4", position="G2", values=DRAGGED, n="4", by="gate", part="9")
    app = open_manifold(**link, more="true")
    assert_notes(
        app,
        {
            "heads": "4 heads do not divide D = 3. Shown: 1.",
            "part": "Shown: the mean.",
            "kind": "reads only the slot's own vector",
            "n": "Shown: none.",
        },
    )
    monkeypatch.setattr(model, "AFFORDABLE_COST", model.AFFORDABLE_COST / 100)
    heavy = dict(source="tokens", layers="4", dim="8", n="6", grid="61")
    assert_notes(open_manifold(**heavy, more="true"), {"grid": "measured on a grid of"})
    app = open_manifold(heads="4")  # the control is folded
    assert notes(app)
    assert not [c for column in app.columns for c in column.caption if "heads do not" in c.value]


@pytest.mark.soak
def test_a_covariance_that_cannot_be_keeps_the_last_good_picture():
    app = open_manifold(**{"lambda": "0.4", "metric": "diagonal", "variances": "1, 2, 3"})
    assert_well(app)
    before = component(app.run(), VIEW).proto.bytes  # with the refined total over it
    for text in ("1, 0", "1, 2, nan", "a, b, c"):
        app.text_input(key="variances").set_value(text).run()
        assert not app.exception
        (error,) = app.error
        assert error.value.startswith("The covariance ")
        assert error.value.endswith("Shown: the last picture that could be drawn.")
        assert component(app, VIEW).proto.bytes == before
    app.text_input(key="variances").set_value("1, 2, 4").run()
    assert_well(app)
    assert component(app, VIEW).proto.bytes != before


def test_a_deep_layer_is_not_looked_for_in_a_last_good_picture_without_it():
    app = open_manifold(metric="diagonal", variances="-1", layers="5", layer="5", by="entropy")
    assert not app.exception
    (error,) = app.error
    assert "entry that is not positive" in error.value
    assert len(payload(app)[0]["columns"]) == 2


@pytest.mark.sampled(1)
@pytest.mark.parametrize("tab", TABS)
def test_dragged_numbers_that_cannot_be_keep_the_first_picture(tab):
    app = open_manifold(values="1,2", tab=tab)
    assert not app.exception
    (error,) = app.error
    assert error.value.startswith("The dragged values must be 3 by 3 numbers.")
    if tab == "Surface":
        assert payload(app)[0]["scene"] == str(ManifoldRequest())


def test_where_there_is_no_surface_no_number_is_told():
    app = open_manifold(n="2", tab="Error analysis")
    ungated = app.table[0].value.set_index("On the grid")["Without gate"]
    bounds = ungated[["Least K known", "Greatest K known", "Bound of K, largest"]]
    assert list(bounds) == ["none"] * 3
    assert ungated["Unresolved points"].startswith("100")
    assert all("nan" not in table.value.to_string().lower() for table in app.table)
    assert open_manifold(n="2").metric[0].value == "none"


def test_where_rounding_hides_every_tangent_plane_nobody_says_that_there_is_no_surface():
    app = open_manifold(metric="diagonal", variances="1e-300,1,1")
    assert [metric.value for metric in app.metric[::2]] == ["0", "undetermined"]
    header, _ = payload(app)
    assert header["columns"][1]["captions"][-1].endswith("**undetermined**: no tangent plane")
    assert (
        "With the sigmoid gate at λ = 1.00** rounding hides every tangent plane"
        in header["readings"][-1]
    )


@pytest.mark.soak
def test_a_near_degenerate_surface_is_called_one_and_its_total_has_one_source():
    """It looks as a sheet does that is seen edge-on; what stands over it stands below it, too."""
    thin, sheet = seen(layers="4", model="72").run(), seen()
    columns, plain = (payload(app)[0]["columns"] for app in (thin, sheet))
    said = " · nearly degenerate, 120 times as long as broad · **stretched 62 times across: not to"
    assert said in columns[0]["captions"][0]
    assert not any("degenerate" in text for column in plain for text in column["captions"])
    for app in (thin, sheet):
        header, _ = payload(app)
        frames = (0, header["frame"])
        for column, frame, total in zip(header["columns"], frames, app.metric[::2], strict=True):
            assert f"total curvature **{total.value}**" in column["captions"][frame]


@pytest.mark.soak
def test_a_plane_is_a_plane_at_every_depth():
    """Its layers shrink it until no bound is small: a theorem knows what rounding cannot."""
    app = open_manifold(layers="8", model="72")
    header, arrays = payload(app)
    reading = header["readings"][header["frame"]]
    proof = "flat (proved: it lies in the plane of three fixed values)"
    assert f"**Without a gate** the surface is {proof}." in reading
    assert [metric.value for metric in app.metric[:2]] == ["0", "0\u00a0%"]
    assert proof in [caption.value for caption in app.caption]
    assert not arrays["left_field"].any()
    assert np.isnan(arrays["left_hatch_u"]).all()
    # The gated surface has shrunk until hardly any K is beyond its error: that is hatched.
    gated = resolve(ManifoldRequest(depth=8, seed=72, grid=31)).variants[-1]
    unknown = np.isnan(measure_instance(gated, 31).surface.known[0])
    assert unknown.any()
    shown = {name: x[header["frame"]] for name, x in arrays.items() if name.startswith("right_")}
    np.testing.assert_array_equal(np.isnan(shown["right_field"]), unknown)
    assert not shown["right_colour"][unknown].any()
    assert np.isfinite(shown["right_hatch_u"]).sum() == 2 * unknown.sum()


@pytest.mark.soak
def test_in_two_dimensions_nothing_curves_and_every_number_says_so():
    link = dict(dim="2", source="tokens", residual="true")
    app = open_manifold(**link)
    assert [metric.value for metric in app.metric] == ["0", "0\u00a0%"] * 2
    legend = payload(app)[0]["legend"]
    assert (legend["low"], legend["high"]) == ("", "")
    assert set(legend["note"]) == {"K = 0 wherever it is known"}
    app = open_manifold(**link, tab="Error analysis")
    bounds = app.table[0].value.set_index("On the grid")
    for name in ("Least K known", "Greatest K known"):  # not the digits of rounding
        assert list(bounds.loc[name]) == ["0 (proved)"] * 2
    table = app.table[1].value.set_index("Integral")
    for name in ("Total curvature ∫|K| dA", "∫K dA"):
        assert list(table.loc[name]) == ["0"] * 3


# --- What is said of a point ---


def numbers(text):
    return [float(x.replace("−", "-")) for x in re.findall(r"[−-]?\d[\d.]*(?:e[+-]?\d+)?", text)]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "link", [{}, dict(chart="weights", dim="5", n="4", position="G1")], ids=str
)
def test_the_point_in_the_link_is_marked_and_its_table_has_the_right_numbers(link):
    row, column = 7, 24
    app = open_manifold(**link, model="72", tab="Inspect", point=f"{row}.{column}")
    assert_well(app)
    assert payload(app)[0]["pick"] == [row, column]
    table = app.table[0].value
    wanted = resolve(
        ManifoldRequest(
            chart=link.get("chart", "inputs"),
            model_dim=int(link.get("dim", 3)),
            value_count=int(link.get("n", 3)),
            grid=31,
            seed=72,
        )
    )
    named = list(table.iloc[:, 0])
    for number, instance in enumerate(wanted.variants):
        variant = measure_instance(instance, 31)
        cells = dict(zip(named, table.iloc[:, number + 1], strict=True))
        at = (0, row, column)
        assert numbers(cells["Chart"]) == pytest.approx([0.6, -8 / 15], abs=1e-3)
        assert numbers(cells["Output y"]) == pytest.approx(variant.surface.values[at], rel=6e-3)
        weights = variant.weights[-1][0, row, column]
        assert numbers(cells["Attention weights"]) == pytest.approx(weights, rel=6e-3)
        if variant.surface.proof[0]:
            assert cells["K"] == "0 (proved)"
        else:
            k, error = numbers(cells["K"])
            exact, bound = variant.surface.gaussian[at], variant.surface.gaussian_error[at]
            assert k == pytest.approx(exact, rel=1e-4)
            assert bound <= error <= 11 * bound
        mean = variant.mean_norm[row, column]
        assert numbers(cells["|H|"])[0] == pytest.approx(mean, rel=1e-3)
        assert cells["Point type"] == POINT_TYPES[variant.types[row, column]]
        if variant.principal is None:
            assert cells["Principal curvatures"] == "for D = 3 only"
        else:
            error = float(variant.principal_error[row, column])
            assert cells["Principal curvatures"] == ", ".join(
                plus_minus(float(k), error) for k in variant.principal[row, column]
            )
        if variant.gates:
            gates = variant.gates[-1][:, row, column]
            assert numbers(cells["Gate"]) == pytest.approx(gates, rel=6e-3)
        else:
            assert cells["Gate"] == "none"


def test_without_a_mark_the_middle_is_told_and_a_click_goes_into_the_link():
    app = open_manifold(tab="Inspect")
    assert payload(app)[0]["pick"] is None
    assert "No point is marked" in texts(app)
    assert "(0.000, 0.000)" in app.table[0].value.to_string()
    report(app, VIEW, "pick", {"row": 12, "column": 3})
    assert_well(app)
    assert app.query_params["point"] in ("12.3", ["12.3"])
    assert payload(app)[0]["pick"] == [12, 3]
    assert "(-0.800, -0.200)" in app.table[0].value.to_string()


# --- Handles ---


def moved(index, x, y, done=True, serial=1):
    return {"index": index, "x": x, "y": y, "done": done, "serial": serial}


def test_a_dragged_value_moves_the_surface_and_undo_takes_the_whole_drag_back():
    app = open_manifold(handles="true")
    before, positions = component(app, VIEW).proto.bytes, handles(app)
    for serial, (x, done) in enumerate([(0.2, False), (1.0, True)], 1):
        report(app, VALUES_PAD, "moved", moved(1, x, -0.5, done, serial))
        assert_well(app)
        assert handles(app)[1] == pytest.approx((x, -0.5), abs=1e-4)
    assert handles(app)[0] == pytest.approx(positions[0], abs=1e-4)
    assert component(app, VIEW).proto.bytes != before
    assert len(str(app.query_params["values"]).split(",")) == 9
    again = open_manifold(handles="true", values=app.query_params["values"])
    assert component(again, VIEW).proto.bytes == component(app, VIEW).proto.bytes

    app.button(key="handles_undo").click().run()
    assert_well(app)
    assert component(app, VIEW).proto.bytes == before
    assert handles(app) == positions
    assert "values" not in app.query_params
    assert app.button(key="handles_undo").disabled


@pytest.mark.soak
def test_the_last_words_of_a_drag_may_come_at_once_and_are_one_step_to_undo():
    """A hurried browser puts them into one message; Streamlit then calls back for each."""
    app = open_manifold(handles="true")
    report(app, VALUES_PAD, "moved", moved(1, 0.2, -0.5, False, 1), moved(1, 0.6, -0.5, True, 2))
    dragged, (_, before) = app.query_params["values"], payload(app)
    report(app, GATES_PAD, "moved", moved(2, -0.5, 0.2, False, 3))
    report(app, GATES_PAD, "moved", moved(2, -0.7, 0.4, False, 4), moved(2, -1.0, 0.5, True, 5))
    assert_well(app)
    assert handles(app, GATES_PAD)[2] == pytest.approx((-1.0, 0.5), abs=1e-3)
    _, after = payload(app)  # the gated model alone has moved
    np.testing.assert_array_equal(after["left_x"], before["left_x"])
    # The link keeps four digits after the point, of the other gates as well.
    np.testing.assert_allclose(after["right_x"], before["right_x"], atol=1e-4)
    assert not np.allclose(after["right_z"], before["right_z"])
    app.button(key="handles_undo").click().run()
    assert "gates" not in app.query_params
    assert app.query_params["values"] == dragged
    app.button(key="handles_undo").click().run()
    assert "values" not in app.query_params
    assert app.button(key="handles_undo").disabled


@pytest.mark.soak
def test_the_scale_of_a_pad_stays_while_a_handle_is_held():
    """At the rim each answer would double it, and the pointer's place would mean twice as much."""
    app = open_manifold(handles="true")
    extent = data_of(app, VALUES_PAD)["extent"]
    for serial, done in ((1, False), (2, False), (3, True)):
        report(app, VALUES_PAD, "moved", moved(1, 0.99 * extent, -0.5, done, serial))
        assert data_of(app, VALUES_PAD)["extent"] == extent * (2 if done else 1)


@pytest.mark.soak
def test_steps_are_undone_one_by_one_where_the_browser_was_hurried():
    """Its next message comes with the link as it was before the one that is answered."""
    app = open_manifold(handles="true")
    links = [None]
    for serial in range(1, 4):
        stale = links[max(0, serial - 2)]
        if stale is None:
            app.query_params.pop("values", None)
        else:
            app.query_params["values"] = stale
        report(app, VALUES_PAD, "moved", moved(1, 0.1 * serial, -0.5, True, serial))
        links.append(app.query_params["values"])
    assert len(set(links)) == 4
    for link in reversed(links[:-1]):
        app.button(key="handles_undo").click().run()
        assert app.query_params.get("values") == link
    assert app.button(key="handles_undo").disabled


def test_back_to_the_seeds_own_can_be_undone_and_handles_are_explained_by_their_numbers():
    app = open_manifold(handles="true", values=DRAGGED, gates=GATES)
    text = explanations(app)["the handles"]
    assert vector_text(np.array(numbers(DRAGGED)[:3])) in text
    assert vector_text(np.array(handles(app, GATES_PAD)[0])) in text
    assert "one for each channel" in text
    dragged = component(app, VIEW).proto.bytes
    app.button(key="handles_reset").click().run()
    assert_well(app)
    assert component(app, VIEW).proto.bytes == component(seen(handles="true"), VIEW).proto.bytes
    assert not {"values", "gates"} & set(app.query_params)
    assert app.button(key="handles_reset").disabled
    app.button(key="handles_undo").click().run()
    assert component(app, VIEW).proto.bytes == dragged


def test_a_forged_message_moves_nothing():
    app = open_manifold(handles="true")
    before = handles(app)
    for message in (moved(7, 0.0, 0.0), moved(0, 1e9, 0.0), {"index": 0}, None, moved(-1, 0, 0)):
        report(app, VALUES_PAD, "moved", message)
        assert not app.exception
        assert handles(app) == before
        assert "values" not in app.query_params


def explanations(app):
    """What is unfolded below the pictures: each one's text, by its name."""
    found = {popover.proto.popover.label: popover for popover in app.get("popover")}
    return {
        label.removeprefix("Explain this plot: "): popover.markdown[0].value
        for label, popover in found.items()
        if label.startswith("Explain")
    }


def test_where_there_is_nothing_to_drag_a_sentence_says_so():
    none = open_manifold(handles="true", n="4")
    assert "Dragging needs learned slots and n = 3" in texts(none)
    assert "the handles" not in explanations(none)
    app = open_manifold(handles="true", position="G2")
    assert component(app, VALUES_PAD)
    assert component(app, GATES_PAD) is None
    assert "only where a gate of the first layer reads the input" in texts(app)
    text = explanations(app)["the handles"]
    assert "U₁ = " in text
    assert "arrow" not in text.split("**What to look for")[0]


# --- Axes, gallery ---


@pytest.mark.soak
def test_principal_components_stay_those_of_the_first_depth_until_they_are_fitted():
    app = open_manifold(dim="4", layers="2", model="72")
    assert "components of the points of both models together, at 2 layers" in texts(app)
    shares = numbers(re.search(r"They show (.*) of the variance", texts(app))[1])
    assert all(50 <= share <= 100 for share in shares)
    app.slider(key="layers").set_value(3).run()
    assert_well(app)
    assert "at 2 layers" in texts(app)
    app.button(key="fit_axes").click().run()
    assert "at 3 layers" in texts(app)
    assert "fit_axes" not in [button.key for button in app.button]


@pytest.mark.soak
def test_every_lying_picture_opens_and_shows_its_model():
    app = open_manifold(gallery="true", handles="true", point="3.4")
    report(app, VALUES_PAD, "moved", moved(1, 0.2, -0.5))
    assert not app.button(key="handles_undo").disabled
    for name, case in CASES.items():
        app.radio(key="fooled").set_value(name).run()
        assert_well(app)
        assert len(app.get("plotly_chart")) == 1
        assert "the misleading picture" in explanations(app)
        shows = [button for button in app.button if button.key == f"misleading_show_{name}"]
        assert bool(shows) == (case.request is not None)
    shows = CASES["normalisation"].request  # the last one
    app.button(key="misleading_show_normalisation").click().run()
    settled(app).run()  # a refined total stands over it
    assert_well(app)
    assert not {"values", "point"} & set(app.query_params)
    assert "handles_history" not in app.session_state  # it would come into the new model
    header, _ = payload(app)
    assert header["scene"] == str(scene_of(shows))
    assert header["reveal"] == 1  # brought into the window
    again = settled(open_page(PAGE, **app.query_params)).run()
    assert payload(again)[0] == header | {"reveal": 0}


@pytest.mark.soak
def test_a_model_of_the_gallery_is_shown_where_there_are_pictures():
    name = next(iter(CASES))
    app = open_manifold(gallery="true", tab="Error analysis")
    assert component(app, VIEW) is None
    app.button(key=f"misleading_show_{name}").click().run()
    assert_well(app)
    assert "tab" not in app.query_params
    assert payload(app)[0]["scene"] == str(scene_of(CASES[name].request))
