"""Is what the gallery of gates draws and says that which was measured?"""

import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from gating_core.geometry import square_grid
from gating_core.theory import GALLERY, curvature_terms_at, measure_gate, parse_formula
from tests.profiles import fuzz
from tests.ui.held import held_in
from tests.ui.opening import as_read, header, open_page, report, settled
from ui.gates import gallery
from ui.gates.__main__ import SIZE
from ui.gates.frames import (
    GRID_SIZE,
    RADII,
    STRENGTHS,
    GateRequest,
    case_of,
    measure_frames,
    resolve,
)
from ui.gates.gallery import numbers_of, picture_file, reading, shipped
from ui.gates.maps import no_gate_text, terms_sentence
from ui.gates.picture import caption, gate_picture, notes_of, range_text
from ui.work.pool import Rank

PAGE, VIEW = "pages/3_Which_gates_curve.py", "gates_view"
SLACK = 1e-9  # relative: other machines round exp and its like differently


@pytest.fixture
def held(monkeypatch):
    """One strength is there, all others wait: for what needs no more than that."""
    with held_in(gallery.EVERY, Rank.BRIEF, monkeypatch) as held:
        yield held


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", GALLERY)
def test_a_tile_says_what_is_measured_afresh(name):
    gate = measure_gate(GALLERY[name], 1.0, square_grid(GRID_SIZE))
    fresh = numbers_of(gate.whole, gate.curvature_range)
    said = shipped()[name]
    assert (said.verdict, said.knowledge) == (fresh.verdict, fresh.knowledge)
    assert (said.least, said.largest) == pytest.approx((fresh.least, fresh.largest), SLACK, 1e-12)


def test_every_case_has_a_tile_the_flat_ones_first_then_those_rolled():
    assert list(shipped()) == list(GALLERY)
    verdicts = [of.verdict for of in shipped().values()]
    assert [*dict.fromkeys(verdicts[:7])] == ["flat", "bent, not curved", verdicts[6]]
    for name in GALLERY:
        picture = Image.open(picture_file(name)).convert("RGBA")
        assert picture.size == SIZE
        seen = np.asarray(picture)[..., 3] > 0
        assert 0.05 < seen.mean() < 0.95
        assert not seen[[0, -1]].any() or not seen[:, [0, -1]].any()  # nothing is cropped


def test_where_k_is_zero_it_is_zero_in_every_way_of_computing_it():
    (frame,) = measure_frames((1.0,), GateRequest("monkey saddle"))
    middle = GRID_SIZE // 2
    assert frame.axis[middle] == frame.known[middle, middle] == 0
    assert frame.exact is None  # K in closed form is no constant
    at = curvature_terms_at(GALLERY["monkey saddle"].gate, 0.0, 0.0)
    assert terms_sentence(at) == "det Hess(1/g) is 0 here to within 1e-290, and so is K."


def drawn(case, strengths=(0.0, 1.0), **more):
    """Frames of 31 points along a side, and their picture."""
    request = GateRequest(case, formula=more.pop("formula", "1"))
    frames = tuple(measure_frames(strengths, request, 31))
    return frames, gate_picture(frames, title=case, **more)


def test_where_a_formula_is_no_gate_nothing_is_drawn_and_it_is_said():
    frames, picture = drawn("own", formula="u")
    (side,) = picture.pair.sides
    lost = np.isnan(side.read["g"][1])
    assert lost.mean() == pytest.approx(frames[1].share_lost)
    assert 0.4 < lost.mean() < 0.6
    np.testing.assert_array_equal(np.isnan(side.values[1]).any(-1), lost)
    assert np.isnan(side.second[1][1][lost]).all()
    assert "is no gate" in reading(frames[1], "")[1]
    assert not frames[0].share_lost


@pytest.mark.parametrize("case", ["saddle", "sphere", "ruled"])
@pytest.mark.parametrize("smallest", [0.0, np.inf])
def test_drawn_and_read_is_what_the_core_measured_in_true_proportions(case, smallest):
    frames, picture = drawn(case, (0.0, 0.35, 1.0), smallest=smallest)
    (side,) = picture.pair.sides
    rng = np.random.default_rng(0)
    scales = []
    for index, frame in enumerate(frames):
        for sent, measured in (
            (side.gaussian, frame.known), (side.error, frame.error), (side.signed, frame.signed),
            (side.read["|H|"], frame.mean), (side.read["g"], frame.gate),
        ):  # fmt: skip
            np.testing.assert_array_equal(sent[index], measured)
        shown, true = side.values[index].reshape(-1, 3), frame.values.reshape(-1, 3)
        a, b = rng.integers(0, len(true), (2, 300))
        apart = np.linalg.norm(true[a] - true[b], axis=1)
        far = apart > 1e-3
        times = (np.linalg.norm(shown[a] - shown[b], axis=1)[far]) / apart[far]
        np.testing.assert_allclose(times, times[0], rtol=1e-9)
        scales.append(times[0])
    corners = side.values[0][[0, 0, -1, -1], [0, -1, -1, 0]]  # of the flat surface, λ = 0
    np.testing.assert_allclose(side.ground, corners, atol=1e-12)
    gates = np.stack([np.broadcast_to(x.channels, x.values.shape) for x in frames])
    if smallest:  # enlarged
        assert picture.one_size
        gates = gates / gates.max((1, 2, 3), keepdims=True)
    else:
        np.testing.assert_allclose(scales, scales[0])
    pulled = gates * (side.values[0] - side.origin)  # each by its own factor
    np.testing.assert_allclose(side.values - side.origin, pulled, atol=1e-12)


def test_what_lies_in_a_plane_has_straight_lines_and_what_is_bent_has_the_charts():
    for case, flat in (("projective", True), ("one direction", False), ("sphere", False)):
        _, picture = drawn(case)
        (side,) = picture.pair.sides
        assert side.flat == [False, flat]
        assert (np.abs(side.lines[1]).max() > 0) == flat
        if flat:  # in the plane of the image
            points = side.values[1].reshape(-1, 3)
            normal = np.linalg.svd(points - points.mean(0))[2][2]
            off = (side.lines[1].reshape(-1, 3) - points.mean(0)) @ normal
            np.testing.assert_allclose(off, 0, atol=1e-9)


def test_both_maps_and_what_is_read_at_a_point_are_sent(held):
    sent = header(open_page(PAGE, case="saddle"), VIEW)
    (side,) = sent["sides"]
    assert side["symbols"] == ["|H|", "g"]
    assert side["second"]["ends"] == ["0.25", "1"]  # of 1 / (3 + u² − v²), and no gate
    assert {"left", "leftK", "leftRead0", "leftRead1", "leftSecond"} <= set(sent["arrays"])
    assert not side["plain"]
    bent = [header(open_page(PAGE, case="one direction", tint=x), VIEW) for x in ("K", "|H|")]
    assert [sent["sides"][0]["plain"] for sent in bent] == [True, False]  # K = 0, |H| is not


def test_what_is_too_far_away_to_draw_is_left_open_and_said():
    frames, picture = drawn("own", formula="exp(20*u)")
    assert picture.cut
    assert np.nanmax(np.abs(picture.pair.sides[0].values)) <= 1
    assert "left open" in notes_of(picture, frames)[1]


@pytest.mark.parametrize(
    ("ends", "text"),
    [((0.0, 0.0), "K = 0"), ((-16.0, 1.25), "K −16 to 1.25"), ((None, None), "K not known"),
     ((1 / 3, 1 / 3 + 1e-15), "K = 0.333"), ((-92.0, -1e-32), "K −92 to 0")],
)  # fmt: skip
def test_a_range_is_one_number_where_it_is(ends, text):
    assert range_text(ends) == text


def shown(app) -> str:
    """All that the view says."""
    return json.dumps(header(app, VIEW), ensure_ascii=False)


def test_the_page_opens_with_a_surface_of_both_signs():
    assert shipped()[header(open_page(PAGE), VIEW)["scene"]].verdict == "mixed"


def test_a_sphere_is_said_in_closed_form():
    app = settled(open_page(PAGE, case="sphere"))
    assert not app.exception
    assert not app.warning
    labels = [b.label for b in app.button]
    first = labels.index(next(iter(GALLERY)))
    assert labels[first:][: len(GALLERY)] == [*[*GALLERY][:-1], "your formula"]
    text = shown(app)
    assert "1/r² = 1/0.8² = 1.5625" in text
    assert f"λ = {STRENGTHS[5]:.2f}" in text
    assert f"**{GALLERY['sphere'].why}**" in [each.value for each in app.markdown]
    assert not app.latex  # the formula is folded away


def test_a_tile_opens_its_case_and_a_click_marks_a_point():
    app = open_page(PAGE, case="sphere", why="true")
    assert any("1.25^4" in each.value for each in app.latex)
    next(b for b in app.button if b.label == "saddle").click().run()
    assert app.query_params["case"] == "saddle"
    settled(app)
    report(app, VIEW, "left", {"frame": 10, "point": [30, 45], "corners": None, "serial": 1})
    assert (app.query_params["mark"], app.query_params["level"]) == ("30.45", "0.5")
    assert any("At the marked point (0.5, 0), λ = 0.50" in each.value for each in app.markdown)
    report(app, VIEW, "left", {"frame": 20, "point": None, "corners": None, "serial": 2})
    assert not {"mark", "level"} & set(app.query_params)
    assert not app.exception


def test_a_formula_of_ones_own_is_typed_and_a_bad_one_is_explained(held):
    app = open_page(PAGE, case="own", why="true")
    app.text_input[0].set_value("1/(3+u^2+v)").run()
    assert not app.exception
    assert "bent, not curved" in shown(app)
    app.text_input[0].set_value("1/(3+u^2+").run()
    assert not app.exception
    assert "breaks off at position" in app.error[0].value
    app.text_input[0].set_value("u").run()
    assert "is no gate" in shown(app)
    app.text_input[0].set_value("sqrt(u^2+v^2)").run()  # which is 0 in the marked middle
    assert any("the formula is no gate" in each.value for each in app.caption)
    assert not any("nan" in each.value for each in app.get("latex"))


@pytest.mark.parametrize(("formula", "said"), [
    ("1/(3+u^2+v)", "within 1e-14 of zero here, K within 2e-14"), ("1/(3+u*v)", "a saddle"),
    ("1/(3+u^2+v^2)", "a bowl or a dome"),
])  # fmt: skip
def test_the_formula_says_of_a_determinant_no_more_than_its_error_allows(formula, said):
    point = curvature_terms_at(parse_formula(formula), 0.3, 0.2)
    assert said in terms_sentence(point)


def test_of_a_bad_formula_the_page_says_what_is_wrong_wherever_it_comes_from(held):
    formula, said = "__import__('os')", "The character '_' at position 1 means nothing here"
    app = open_page(PAGE, case="own", formula=formula)
    pasted = open_page(PAGE, case="own")
    pasted.text_input[0].set_value(formula).run()
    for each in (app, pasted):
        assert not each.exception
        assert not each.warning
        assert each.text_input[0].value == formula
        (box,) = each.error
        assert said in as_read(box.value)
        assert re.search(r"(?<!\\)[*_]", box.value) is None  # none is left to Markdown


def said_of(formula, strength=1.0):
    """The caption, the finding and the note of one's own ``formula``."""
    frames = tuple(measure_frames((0.0, strength), GateRequest("own", formula=formula), 61))
    notes = notes_of(gate_picture(frames, title=""), frames)
    return frames[-1], caption(frames[-1]), " ".join(reading(frames[-1], "")), notes[-1]


@pytest.mark.parametrize("formula", ["1e59*(2+u*v)", "1/(u-u)", "-1"])
def test_where_there_is_no_gate_nothing_else_is_said(formula):
    frame, line, paragraph, legend = said_of(formula)
    assert line == "**no gate** anywhere on the chart · K not known"
    assert "At λ = 1.00 there is no gate anywhere on the chart." in paragraph
    assert legend.startswith("K is known nowhere")
    assert not np.isfinite(frame.known).any()


def test_what_is_missed_by_the_grid_is_not_called_zero():
    _, line, paragraph, legend = said_of("1+exp(-1e6*((u-0.017)^2+(v-0.017)^2))")
    known = "**mixed**, established at points between the 7,442 sample points"
    assert line.startswith(f"{known} · K = 0 on the grid, more between its points")
    in_words = "K > 0 in some places and K < 0 in others"
    assert known.replace("**mixed**", in_words) in paragraph
    assert legend.startswith("K = 0 at every grid point, not between")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("formula", "words", "causes"),
    [
        ("1/(2+abs(u)+abs(v))", "**flat**, proved in every smooth piece", "(a kink)"),
        ("2+abs(u-0.01)/(u-0.01)/2", "**flat**, proved", "(a kink or a pole or a jump)"),
        ("1/(2+sqrt(u^2+v^2))", "**bent, not curved**, proved", "(a root or a logarithm of zero)"),
        ("1/(3+u^2*v)", "**negatively curved** or K = 0, proved on the whole chart", ""),
        ("u^2+0.1", "**bent, not curved**, proved on the whole chart", ""),
        (  # a dent in the strip that is hatched for the kink
            "1/(2+u^2+v^2+abs(u-0.017)/9+1e-3*exp(-1e8*(u-0.0173)^2))",
            "**positively curved**, proved wherever nothing is hatched",
            "(a kink)",
        ),
        ("u*exp(v)", "**positively curved** or K = 0, proved wherever there is a gate", ""),
    ],
)
def test_a_verdict_says_how_it_is_known_and_of_what(formula, words, causes):
    frame, line, paragraph, legend = said_of(formula)
    assert line.startswith(words)
    assert words.replace("*", "") in paragraph
    assert causes in paragraph
    assert ("none that is smooth" in legend) == bool(causes)
    if causes:
        assert frame.breaks.any()
        assert np.isnan(frame.gate[frame.breaks]).all()
        at = tuple(np.argwhere(frame.breaks)[0])
        assert f"the gate is 0.5, but not smooth, or not known to be {causes}" in no_gate_text(
            frame, at, "the middle", 0.5
        )


@fuzz()
@given(st.sampled_from([*GALLERY]), st.floats(*RADII), st.text(max_size=300))
def test_any_gate_is_one_or_a_sentence(case, radius, formula):
    request, note = resolve(GateRequest(case, radius, formula))
    case_of(request)
    assert note.isprintable()
    assert len(note) < 300
