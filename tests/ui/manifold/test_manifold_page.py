"""Does the Manifold page open for every link, say what cannot be, and keep what was dragged?"""

import json
import re

import numpy as np
import pytest

from gating_core.experiments import budget
from gating_core.experiments.specimen.measured import COLOURINGS, measure_specimen
from gating_core.geometry.point_types import POINT_TYPES
from tests.ui.opening import TIMEOUT_SECONDS, component, mistakes, notes, open_page, report
from tests.ui.payload import unpack
from ui.common.controls import Choice, Number
from ui.common.words import plus_minus, vector_text
from ui.manifold import dial, request, totals
from ui.manifold.controls import MANIFOLD, TABS
from ui.manifold.fooled.cases import FOOLED
from ui.manifold.request import Request, resolve

PAGE = "pages/1_Manifold.py"
VIEW, VALUES_PAD, GATES_PAD = "manifold_view", "hold_values", "hold_gates"
QUICK_DIAL, FULL_DIAL = 1e6, dial.DIAL_COST  # two strengths on 61 x 61 points, and 21
QUICK_INTEGRALS = 1e6  # in place of `budget.AFFORDABLE_COST`
DRAGGED = "1,0.5,-0.25,-1.5,0.75,0.5,0.25,-1,2"
GATES = "0.5,1.5,-0.5,-1,0.25,1,2,-0.75,1.25"
# Small grids where the size makes no difference.
LINKS = {
    "default": {},
    "weights": dict(chart="weights", grid="31"),
    "weights, four values": dict(chart="weights", n="4", dim="6", grid="31"),
    "tokens": dict(source="tokens", position="G3", per="head", grid="31"),
    "plane": dict(dim="2", grid="31", pair="2-3"),
    "components": dict(dim="8", layers="3", axes="1", heads="2", metric="turned", grid="31"),
    "two values": dict(n="2", grid="31"),
    "normalised": dict(norm="post", residual="true", projection="true", grid="31"),
    "no side but one": dict(chart="weights", dim="4", heads="2", grid="31", point="3.4"),
    "asinh, saturated": dict(scale="asinh", sharpness="60", grid="31", by="size"),
    "no gate left": {"lambda": "0", "chart": "weights", "layers": "2", "layer": "2", "by": "gate"},
    "gated queries": dict(chart="weights", position="G4", layers="2", layer="1", by="gate"),
    "dragged": dict(values=DRAGGED, gates=GATES, grid="31", point="15.3", kind="silu"),
    "diagonal": dict(metric="diagonal", variances="1, 2, 0.5", grid="31", more="true"),
    "deep": dict(layers="4", layer="3", part="2", by="entropy", kind="tanh", grid="31"),
}


@pytest.fixture(autouse=True, scope="module")
def quick():
    """Few strengths, and totals that are refined for tenths of a second, cached for all tests."""
    totals.TOTALS.cache.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(budget, "AFFORDABLE_COST", QUICK_INTEGRALS)
        patch.setattr(dial, "DIAL_COST", QUICK_DIAL)
        yield
    totals.TOTALS.cache.clear()


def open_manifold(**query):
    return settled(open_page(PAGE, **query))


def settled(app):
    """The page when its totals are refined."""
    while (job := job_of(app)) is not None and not job.over:
        assert job.join(TIMEOUT_SECONDS)
        app.run()
    return app


def job_of(app):
    jobs = app.session_state["_jobs"]
    return jobs[totals.TOTALS.name][0] if totals.TOTALS.name in jobs else None


def payload(app):
    """What the linked view was sent: header and arrays."""
    return unpack(component(app, VIEW).proto.bytes)


def handles(app, key=VALUES_PAD):
    """(x, y) of a pad's handles."""
    return [(h["x"], h["y"]) for h in json.loads(component(app, key).proto.json)["handles"]]


def said(app):
    return " ".join(element.value for element in (*app.caption, *app.markdown))


def assert_well(app):
    assert not app.exception
    assert not app.warning
    assert not app.error


# --- Links ---


@pytest.mark.parametrize("tab", TABS)
@pytest.mark.parametrize("name", LINKS)
def test_every_tab_opens_for_every_link(name, tab):
    app = open_manifold(**LINKS[name], tab=tab)
    assert_well(app)
    charts, tables = len(app.get("plotly_chart")), len(app.table)
    if tab == "Doubt":
        assert component(app, VIEW) is None
        solid = int(LINKS[name].get("dim", "3")) == 3  # a mesh needs three dimensions
        assert (charts, tables) == (4 + solid, 2)
        return
    header, arrays = payload(app)
    columns = header["columns"]
    assert len(columns) == (1 if name == "no side but one" else 2)
    three = LINKS[name].get("n", "3") == "3"
    assert {len(column["panels"]) for column in columns} == {2 + (tab == "Inspect" and three)}
    first = "plane" if name == "plane" else "scene"
    assert {column["panels"][0]["kind"] for column in columns} == {first}
    assert np.isfinite(arrays["left_x"]).all()
    assert (charts, tables) == (0, tab == "Inspect")


@pytest.mark.parametrize("by", COLOURINGS)
def test_every_colouring_is_drawn_and_named_in_the_legend(by):
    app = open_manifold(by=by, grid="31", tab="Inspect")
    assert_well(app)
    legend = payload(app)[0]["legend"]
    symbol = COLOURINGS[by].symbol
    assert legend["low"].startswith(f"{symbol} = ")
    assert legend["high"].startswith(f"{symbol} = ")


def test_the_first_paint_is_a_flat_sheet_beside_a_curved_one(monkeypatch):
    monkeypatch.setattr(dial, "DIAL_COST", FULL_DIAL)
    app = open_manifold()
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


def test_without_its_gate_the_right_side_is_the_left_one():
    """At λ = 0 of the timeline, bit for bit."""
    _, arrays = payload(open_manifold(grid="31"))
    for name in ("x", "y", "z", "gaussian", "field", "shade"):
        np.testing.assert_array_equal(arrays[f"right_{name}"][0], arrays[f"left_{name}"], name)


@pytest.mark.parametrize("strength", [0.0, 0.35, 1.0])
def test_the_strength_in_the_link_is_the_frame_that_is_shown_and_letting_go_writes_it(
    strength, monkeypatch
):
    monkeypatch.setattr(dial, "DIAL_COST", FULL_DIAL)
    app = open_manifold(**{"lambda": f"{strength:g}"}, grid="31", tab="Inspect")
    assert_well(app)
    header, arrays = payload(app)
    assert header["frame_labels"][header["frame"]] == f"λ = {strength:.2f}"
    alone = resolve(Request(strength=strength, grid=31)).sides[-1]
    wanted = measure_specimen(alone, 31).surface.values[0]
    np.testing.assert_array_equal(
        arrays["right_x"][header["frame"]], wanted[..., 0].astype(np.float32)
    )
    report(app, VIEW, "stop", {"frame": 5})
    assert_well(app)
    assert app.query_params["lambda"] in ("0.25", ["0.25"])
    assert payload(app)[0]["frame"] == 5
    assert "gate at λ = 0.25" in payload(app)[0]["readings"][5]
    report(app, VIEW, "stop", {"frame": 20})
    assert "lambda" not in app.query_params


@pytest.mark.parametrize("frame", [-3, 99, 10**9])
def test_a_forged_stop_stays_within_the_timeline(frame, monkeypatch):
    monkeypatch.setattr(dial, "DIAL_COST", FULL_DIAL)
    app = open_manifold(grid="31")
    report(app, VIEW, "stop", {"frame": frame})
    assert_well(app)
    assert payload(app)[0]["frame"] in (0, 20)


def test_a_large_model_has_fewer_strengths_and_the_one_that_was_asked_for(monkeypatch):
    monkeypatch.setattr(dial, "DIAL_COST", FULL_DIAL)
    app = open_manifold(**{"lambda": "0.35"}, source="tokens", layers="2", dim="6", tab="Inspect")
    assert_well(app)
    labels = payload(app)[0]["frame_labels"]
    assert len(labels) < 21
    assert labels[0] == "λ = 0.00"
    assert "λ = 0.35" in labels
    assert labels == sorted(labels)
    assert labels[payload(app)[0]["frame"]] == "λ = 0.35"


def test_the_camera_is_chosen_anew_for_another_model_only():
    scenes = [
        payload(open_manifold(**link, grid="31", tab="Inspect"))[0]["scene"]
        for link in (
            {}, {"lambda": "0.5"}, {"by": "mean"}, {"point": "3.4"}, {"metric": "turned"},
            {"model": "7"}, {"layers": "2"}, {"chart": "weights"}, {"kind": "tanh"},
        )
    ]  # fmt: skip
    assert len(set(scenes[:5])) == 1
    assert len(set(scenes)) == 5


def bad_value(allowed):
    if isinstance(allowed, Choice):
        return "<b>neither</b>"
    return f"{allowed.within[1] + 1:g}" if isinstance(allowed, Number) else "1;2"


@pytest.fixture(scope="module")
def first_payload():
    return component(open_manifold(), VIEW).proto.bytes


@pytest.mark.parametrize("name", MANIFOLD)
def test_what_a_link_gets_wrong_is_said_in_one_sentence_and_does_no_harm(name, first_payload):
    app = open_manifold(**{name: bad_value(MANIFOLD[name])})
    assert not app.exception
    assert not app.error
    (warning,) = app.warning
    assert f"`{name}`" in warning.value
    assert f"Shown instead: {MANIFOLD[name].instead}." in warning.value
    assert component(app, VIEW).proto.bytes == first_payload


def test_many_mistakes_get_a_sentence_each_until_a_control_moves():
    query = {"lambda": "nan", "layers": "0", "model": "1.5", "grid": "62", "axes": "x", "kind": ""}
    query |= {"values": "1,inf,2", "point": "1.2.3", "source": "\x00"}
    app = open_manifold(**query)
    assert not app.exception
    said = mistakes(app)
    assert len(said) == len(query)
    for name in query:
        assert sum(f"`{name}`" in text for text in said) == 1
    report(app, VIEW, "stop", {"frame": 10})
    assert_well(app)


# --- What cannot be ---

NOTES = {
    "heads": (dict(heads="4", more="true"), "4 heads do not divide D = 3. Shown: 1.", "heads"),
    "tokens": (
        dict(chart="weights", source="tokens", grid="31"),
        "There is no attention-weight chart here: tokens' values move with their weights."
        " Shown: inputs.",
        "chart",
    ),
    "slice": (
        dict(chart="weights", dim="4", heads="2"),
        "Shown: the ungated surface only",
        "chart",
    ),
    "two": (dict(chart="weights", n="2"), "two values span a line, not a surface", "chart"),
    "constant": (dict(position="G2", more="true"), "reads the slot's own vector", "kind"),
    "dragged": (dict(values=DRAGGED, n="4", more="true"), "Shown: none.", "n"),
    "grid": (
        dict(grid="151", source="tokens", layers="8", dim="8", n="6", more="true", tab="Inspect"),
        "measured on a grid of",
        "grid",
    ),
    "part": (dict(by="gate", part="9", more="true"), "Shown: the mean.", "part"),
}


@pytest.mark.parametrize("name", NOTES)
def test_a_sentence_stands_beside_the_control_that_cannot_be_followed(name, monkeypatch):
    if name == "grid":  # a coarser one takes over sooner, with less to measure
        monkeypatch.setattr(request, "AFFORDABLE_COST", request.AFFORDABLE_COST / 10)
    link, words, key = NOTES[name]
    app = open_manifold(**link)
    assert_well(app)
    (note,) = notes(app)
    assert words in note
    beside = [
        column
        for column in app.columns
        if any(c.value == note for c in column.caption)
        and any(getattr(element, "key", None) == key for element in column)
    ]
    assert beside


def test_a_sentence_about_a_folded_control_is_seen_all_the_same():
    app = open_manifold(heads="4")
    (note,) = notes(app)
    assert "heads do not divide" in note
    columns = [c for column in app.columns for c in column.caption]
    assert note not in [c.value for c in columns]


def test_a_covariance_that_cannot_be_keeps_the_last_good_picture():
    app = open_manifold(**{"lambda": "0.4", "metric": "diagonal", "variances": "1, 2, 3"})
    assert_well(app)
    before = component(app.run(), VIEW).proto.bytes  # with the refined total over it
    for text in ("1, 0", "1, 2, -3", "1, 2, nan", "a, b, c", "", "1,2,1e999"):
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


@pytest.mark.parametrize(
    ("link", "words"),
    [
        (dict(values="1,2"), "The dragged values must be 3 by 3 numbers."),
        (dict(values=DRAGGED, dim="4"), "The dragged values must be 3 by 4 numbers."),
        (dict(values="1e308,-1e308,0,0,0,0,0,0,0"), "not finite or beyond ±1,000,000."),
        (dict(gates="1e300,1,1,1,1,1,1,1,1"), "The dragged gate weights contain"),
        (dict(gates="1,2,3,4"), "The dragged gate weights must be 3 by 3 numbers."),
    ],
    ids=str,
)
@pytest.mark.parametrize("tab", TABS)
def test_dragged_numbers_that_cannot_be_keep_the_first_picture(link, words, tab, first_payload):
    app = open_manifold(**link, tab=tab)
    assert not app.exception
    (error,) = app.error
    assert words in error.value
    if tab == "See":
        assert component(app, VIEW).proto.bytes == first_payload


def test_where_there_is_no_surface_no_number_is_told():
    app = open_manifold(n="2", grid="31", tab="Doubt")
    ungated = app.table[0].value.set_index("On the grid")["Without gate"]
    bounds = ungated[["Least K known", "Greatest K known", "Bound of K, largest"]]
    assert list(bounds) == ["none"] * 3
    assert ungated["Unresolved points"].startswith("100")
    assert all("nan" not in table.value.to_string().lower() for table in app.table)
    assert open_manifold(n="2", grid="31").metric[0].value == "none"


def test_where_rounding_hides_every_tangent_plane_nobody_says_that_there_is_no_surface():
    app = open_manifold(grid="31", metric="diagonal", variances="1e-300,1,1")
    assert [metric.value for metric in app.metric[::2]] == ["0", "cannot tell"]
    header, _ = payload(app)
    assert header["columns"][1]["captions"][-1].endswith("**cannot tell**: no tangent plane")
    assert "With the sigmoid gate at λ = 1.00** nobody can tell" in header["readings"][-1]


@pytest.mark.parametrize(
    "query", [{}, dict(layers="4", model="72"), {"layers": "2", "lambda": "0"}], ids=str
)
def test_a_total_has_one_source(query):
    """What stands over the shown frame is what stands below it, once that is known."""
    app = open_manifold(grid="31", **query)
    first, _ = payload(app)
    if "layers" in query and "lambda" not in query:
        assert "**cannot tell** on this grid, refined below" in first["columns"][1]["captions"][-1]
    app.run()
    header, _ = payload(app)
    frames = (0, header["frame"])
    for column, frame, total in zip(header["columns"], frames, app.metric[::2], strict=True):
        assert f"total curvature **{total.value}**" in column["captions"][frame]


def test_progress_has_its_place_whether_there_is_any_or_not():
    for tab in ("See", "Inspect"):
        app = open_manifold(grid="31", tab=tab)
        blocks = [x for x in app.main.children.values() if hasattr(x, "children")]
        ids = []
        while blocks:
            block = blocks.pop()
            ids.append(getattr(block.proto, "id", ""))
            blocks += [x for x in block.children.values() if hasattr(x, "children")]
        assert any(each.endswith("progress") for each in ids)


def test_a_chart_of_nothing_but_zeros_is_one_line_on_a_phone():
    left, right = (column["panels"] for column in payload(open_manifold(grid="31"))[0]["columns"])
    assert [panel["plain"] for panel in left] == ["", "K = 0 everywhere"]
    assert [panel["plain"] for panel in right] == ["", ""]


def test_a_needle_is_called_one():
    """It looks as a sheet does that is seen edge-on."""
    needle, sheet = (payload(open_manifold(grid="31", **query))[0]["columns"]
                     for query in (dict(layers="4", model="72"), {}))  # fmt: skip
    said = " · a needle, 120 times as long as broad, **stretched 62 times across: not to scale** · "
    assert said in needle[0]["captions"][0]
    assert not any("needle" in text for column in sheet for text in column["captions"])


def test_the_legend_says_nothing_of_what_is_not_drawn():
    flat = payload(open_manifold(dim="2", grid="31"))[0]["legend"]
    assert (flat["low"], flat["high"], set(flat["note"])) == (
        "",
        "",
        {"K = 0 wherever it is known"},
    )
    plain, folded = (payload(open_manifold(grid="31", **query))[0]["legend"]["note"][-1]
                     for query in (dict(model="392"), dict(layers="2", model="72")))  # fmt: skip
    assert "teal" not in plain
    assert "teal: the most curved 1\u00a0%" in folded


@pytest.mark.parametrize("layers", [4, 8])
def test_a_plane_is_a_plane_at_every_depth(layers):
    """Its layers shrink it until no bound is small: a theorem knows what rounding cannot."""
    app = open_manifold(layers=str(layers), grid="31")
    header, arrays = payload(app)
    reading = header["readings"][header["frame"]]
    proof = "flat (proved: it lies in the plane of three fixed values)"
    assert f"**Without a gate** the surface is {proof}." in reading
    assert [metric.value for metric in app.metric[:2]] == ["0", "0\u00a0%"]
    assert proof in [caption.value for caption in app.caption]
    assert not any("folds too sharply" in x.value for x in app.caption if x.value == proof)
    assert not arrays["left_field"].any()
    assert np.isnan(arrays["left_hatch_u"]).all()


@pytest.mark.parametrize("link", [dict(dim="2"), dict(dim="2", source="tokens", skip="true")])
def test_in_two_dimensions_nothing_curves_and_every_number_says_so(link):
    app = open_manifold(**link, grid="31")
    assert [metric.value for metric in app.metric] == ["0", "0\u00a0%"] * 2
    app = open_manifold(**link, grid="31", tab="Doubt")
    bounds = app.table[0].value.set_index("On the grid")
    for name in ("Least K known", "Greatest K known"):  # not the digits of rounding
        assert list(bounds.loc[name]) == ["0 (proved)"] * 2
    table = app.table[1].value.set_index("Integral")
    for name in ("Total curvature ∫|K| dA", "∫K dA"):
        assert list(table.loc[name]) == ["0"] * 3


def test_what_is_not_known_is_hatched_and_not_painted():
    """The gated surface of eight layers has shrunk until hardly any K is beyond its error."""
    app = open_manifold(layers="8", model="72", grid="31")
    found = measure_specimen(resolve(Request(depth=8, seed=72, grid=31)).sides[-1], 31).surface
    unknown = np.isnan(found.known[0])
    assert unknown.any()
    header, arrays = payload(app)
    shown = {name: x[header["frame"]] for name, x in arrays.items() if name.startswith("right_")}
    np.testing.assert_array_equal(np.isnan(shown["right_field"]), unknown)
    assert not shown["right_colour"][unknown].any()
    assert np.isfinite(shown["right_hatch_u"]).sum() == 2 * unknown.sum()


# --- What is said of a point ---


def numbers(text):
    return [float(x.replace("−", "-")) for x in re.findall(r"[−-]?\d[\d.]*(?:e[+-]?\d+)?", text)]


@pytest.mark.parametrize(
    "link", [{}, dict(chart="weights", dim="5", n="4", position="G1")], ids=str
)
def test_the_point_in_the_link_is_marked_and_its_table_has_the_right_numbers(link):
    row, column = 7, 24
    app = open_manifold(**link, model="72", tab="Inspect", point=f"{row}.{column}", grid="31")
    assert_well(app)
    assert payload(app)[0]["pick"] == [row, column]
    table = app.table[0].value
    wanted = resolve(
        Request(
            chart=link.get("chart", "inputs"), model_dim=int(link.get("dim", 3)),
            value_count=int(link.get("n", 3)), grid=31, seed=72,
        )
    )  # fmt: skip
    named = list(table.iloc[:, 0])
    for number, specimen in enumerate(wanted.sides):
        side = measure_specimen(specimen, 31)
        cells = dict(zip(named, table.iloc[:, number + 1], strict=True))
        at = (0, row, column)
        assert numbers(cells["Chart"]) == pytest.approx([0.6, -8 / 15], abs=1e-3)
        assert numbers(cells["Output y"]) == pytest.approx(side.surface.values[at], rel=6e-3)
        weights = side.weights[-1][0, row, column]
        assert numbers(cells["Attention weights"]) == pytest.approx(weights, rel=6e-3)
        if side.surface.proof[0]:
            assert cells["K"] == "0 (proved)"
        else:
            k, error = numbers(cells["K"])
            assert k == pytest.approx(side.surface.gaussian[at], rel=1e-4)
            assert side.surface.gaussian_error[at] <= error <= 11 * side.surface.gaussian_error[at]
        assert numbers(cells["|H|"])[0] == pytest.approx(side.mean_norm[row, column], rel=1e-3)
        assert cells["Point"] == POINT_TYPES[side.types[row, column]]
        if side.principal is None:
            assert cells["Principal curvatures"] == "for D = 3 only"
        else:
            larger, smaller = side.principal[row, column]
            error = side.principal_error[row, column]
            assert cells["Principal curvatures"] == ", ".join(
                plus_minus(float(k), float(error)) for k in (larger, smaller)
            )
        if side.gates:
            gates = side.gates[-1][:, row, column]
            assert numbers(cells["Gate"]) == pytest.approx(gates, rel=6e-3)
        else:
            assert cells["Gate"] == "none"


def test_without_a_mark_the_middle_is_told():
    app = open_manifold(tab="Inspect", grid="31")
    assert payload(app)[0]["pick"] is None
    assert "No point is marked" in said(app)
    assert "(0.000, 0.000)" in app.table[0].value.to_string()


def test_a_click_in_the_view_goes_into_the_link():
    app = open_manifold(tab="Inspect", grid="31")
    report(app, VIEW, "pick", {"row": 12, "column": 3})
    assert_well(app)
    assert app.query_params["point"] in ("12.3", ["12.3"])
    assert payload(app)[0]["pick"] == [12, 3]
    assert "(-0.800, -0.200)" in app.table[0].value.to_string()


# --- Take hold of it ---


def moved(index, x, y, done=True, serial=1):
    return {"index": index, "x": x, "y": y, "done": done, "serial": serial}


def test_a_dragged_value_moves_the_surface_and_undo_takes_the_whole_drag_back():
    app = open_manifold(tab="Inspect", grid="31")
    before, places = component(app, VIEW).proto.bytes, handles(app)
    for serial, (x, done) in enumerate([(0.2, False), (0.6, False), (1.0, True)], 1):
        report(app, VALUES_PAD, "moved", moved(1, x, -0.5, done, serial))
        assert_well(app)
        assert handles(app)[1] == pytest.approx((x, -0.5), abs=1e-4)
    assert handles(app)[0] == pytest.approx(places[0], abs=1e-4)
    assert component(app, VIEW).proto.bytes != before
    assert len(str(app.query_params["values"]).split(",")) == 9
    again = open_manifold(tab="Inspect", grid="31", values=app.query_params["values"])
    assert component(again, VIEW).proto.bytes == component(app, VIEW).proto.bytes

    app.button(key="hold_undo_button").click().run()
    assert_well(app)
    assert component(app, VIEW).proto.bytes == before
    assert handles(app) == places
    assert "values" not in app.query_params
    assert app.button(key="hold_undo_button").disabled


def test_the_last_words_of_a_drag_may_come_at_once_and_are_one_step_to_undo():
    """A hurried browser puts them into one message; Streamlit then calls back for each."""
    app = open_manifold(tab="Inspect", grid="31")
    report(app, VALUES_PAD, "moved", moved(1, 0.2, -0.5, False, 1), moved(1, 0.6, -0.5, True, 2))
    assert_well(app)
    dragged = app.query_params["values"]
    report(app, GATES_PAD, "moved", moved(2, -0.5, 0.2, False, 3))
    report(app, GATES_PAD, "moved", moved(2, -0.7, 0.4, False, 4), moved(2, -1.0, 0.5, True, 5))
    assert_well(app)
    assert handles(app, GATES_PAD)[2] == pytest.approx((-1.0, 0.5), abs=1e-3)
    app.button(key="hold_undo_button").click().run()
    assert "gates" not in app.query_params
    assert app.query_params["values"] == dragged
    app.button(key="hold_undo_button").click().run()
    assert "values" not in app.query_params
    assert app.button(key="hold_undo_button").disabled


def test_steps_are_undone_one_by_one_where_the_browser_was_hurried():
    """Its next message comes with the link as it was before the one that is answered."""
    app = open_manifold(tab="Inspect", grid="31")
    links = [None]
    for serial in range(1, 5):
        stale = links[max(0, serial - 3)]
        if stale is None:
            app.query_params.pop("values", None)
        else:
            app.query_params["values"] = stale
        report(app, VALUES_PAD, "moved", moved(1, 0.1 * serial, -0.5, True, serial))
        links.append(app.query_params["values"])
    assert len(set(links)) == 5
    for link in reversed(links[:-1]):
        app.button(key="hold_undo_button").click().run()
        assert app.query_params.get("values") == link
    assert app.button(key="hold_undo_button").disabled


def test_a_dragged_gate_moves_the_gated_side_only():
    app = open_manifold(tab="Inspect", grid="31")
    _, before = payload(app)
    report(app, GATES_PAD, "moved", moved(2, -1.0, 0.5))
    assert_well(app)
    assert handles(app, GATES_PAD)[2] == pytest.approx((-1.0, 0.5), abs=1e-3)
    _, after = payload(app)
    np.testing.assert_array_equal(after["left_x"], before["left_x"])
    # The link keeps four digits after the point, of the other gates as well.
    np.testing.assert_allclose(after["right_x"], before["right_x"], atol=1e-4)
    assert not np.allclose(after["right_z"], before["right_z"])


def test_back_to_the_seeds_own_can_be_undone():
    app = open_manifold(tab="Inspect", grid="31", values=DRAGGED, gates=GATES)
    dragged = component(app, VIEW).proto.bytes
    app.button(key="hold_reset").click().run()
    assert_well(app)
    plain = component(open_manifold(tab="Inspect", grid="31"), VIEW).proto.bytes
    assert component(app, VIEW).proto.bytes == plain
    assert not {"values", "gates"} & set(app.query_params)
    assert app.button(key="hold_reset").disabled
    app.button(key="hold_undo_button").click().run()
    assert component(app, VIEW).proto.bytes == dragged


def test_another_model_of_the_gallery_ends_what_can_be_undone():
    """Its values would be put into the new model."""
    name = next(name for name, case in FOOLED.items() if case.request is not None)
    app = open_manifold(tab="Inspect", grid="31", gallery="true", fooled=name)
    report(app, VALUES_PAD, "moved", moved(1, 0.2, -0.5))
    assert not app.button(key="hold_undo_button").disabled
    app.button(key=f"fooled_show_{name}").click().run()
    assert_well(app)
    assert "hold_undo" not in app.session_state


@pytest.mark.parametrize(
    "message", [moved(7, 0.0, 0.0), moved(0, 1e9, 0.0), {"index": 0}, None, "x", moved(-1, 0, 0)],
    ids=str,
)  # fmt: skip
def test_a_forged_message_moves_nothing(message):
    app = open_manifold(tab="Inspect", grid="31")
    before = handles(app)
    report(app, VALUES_PAD, "moved", message)
    assert not app.exception
    assert handles(app) == before
    assert "values" not in app.query_params


def test_where_there_is_nothing_to_hold_a_sentence_says_so():
    assert "Dragging needs memory slots and n = 3" in said(open_manifold(tab="Inspect", n="4"))
    app = open_manifold(tab="Inspect", position="G2", grid="31")
    assert component(app, VALUES_PAD)
    assert component(app, GATES_PAD) is None
    assert "only where a gate of the first layer reads the input" in said(app)


# --- Axes, explanations, gallery ---


def test_principal_components_stay_those_of_the_first_depth_until_they_are_fitted():
    app = open_manifold(dim="4", grid="31", layers="2", model="72")
    assert "three principal components of both sides' points together, at 2 layers" in said(app)
    shares = numbers(re.search(r"they show (.*) of the variance", said(app))[1])
    assert all(50 <= share <= 100 for share in shares)
    app.slider(key="layers").set_value(3).run()
    assert_well(app)
    assert "at 2 layers" in said(app)
    app.button(key="fit_axes").click().run()
    assert "at 3 layers" in said(app)
    assert "fit_axes" not in [button.key for button in app.button]


EXPLAINED = {
    "See": ["the surfaces", "the heatmaps"],
    "Inspect": ["the surfaces", "the heatmaps", "the triangles", "the handles"],
    "Doubt": ["the integrals", "the histogram", "the maps", "the error curves"],
}


@pytest.mark.parametrize("tab", TABS)
def test_every_figure_is_explained_in_four_beats(tab):
    app = open_manifold(tab=tab, grid="31")
    labels = [popover.proto.popover.label for popover in app.get("popover")]
    assert labels == [f"Explain this plot: {what}" for what in EXPLAINED[tab]]
    text = " ".join(markdown.value for markdown in app.markdown)
    for beat in ("What is drawn.", "The formula", "What to look for.", "How one could misread it."):
        assert text.count(f"**{beat}") == len(labels)


def explanations(app):
    """What is unfolded below the pictures: each one's text, by its name."""
    found = {popover.proto.popover.label: popover for popover in app.get("popover")}
    return {
        label.removeprefix("Explain this plot: "): popover.markdown[0].value
        for label, popover in found.items()
    }


def test_what_can_be_dragged_is_explained_with_its_numbers_and_nothing_else_is():
    app = open_manifold(tab="Inspect", grid="31", values=DRAGGED, gates=GATES)
    text = explanations(app)["the handles"]
    assert vector_text(np.array(numbers(DRAGGED)[:3])) in text
    assert vector_text(np.array(handles(app, GATES_PAD)[0])) in text
    assert "one for each channel" in text
    text = explanations(open_manifold(tab="Inspect", grid="31", per="head"))["the handles"]
    assert "one for each head" in text
    text = explanations(open_manifold(tab="Inspect", grid="31", position="G2"))["the handles"]
    assert "U₁ = " in text
    assert "arrow" not in text.split("**What to look for")[0]
    assert "the handles" not in explanations(open_manifold(tab="Inspect", grid="31", n="4"))


@pytest.mark.parametrize("name", FOOLED)
def test_every_picture_that_fooled_us_opens_and_shows_its_model(name):
    app = open_manifold(gallery="true", fooled=name, grid="31", point="3.4", values=DRAGGED)
    assert_well(app)
    assert len(app.get("plotly_chart")) == 1
    assert "Explain this plot: the picture that lies" in [
        popover.proto.popover.label for popover in app.get("popover")
    ]
    shows = [button for button in app.button if button.key == f"fooled_show_{name}"]
    assert bool(shows) == (FOOLED[name].request is not None)
    for button in shows:
        button.click().run()
        assert_well(app)
        assert not {"values", "point"} & set(app.query_params)
        assert "show this model now" in app.toast[0].value
        again = open_manifold(**app.query_params).run()
        settled(app).run()  # refined totals stand over both
        assert payload(app)[0] == payload(again)[0] | {"reveal": 1}  # brought into the window
        wanted = resolve(FOOLED[name].request)
        assert len(payload(app)[0]["columns"]) == len(wanted.sides)
