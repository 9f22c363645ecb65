"""Do the tabs Rank, Confidence and Wiring draw what was measured, and say what follows from it?"""

from dataclasses import replace

import numpy as np
import pytest

from gating_core.at_work import QUANTITIES, PairedDifference, StepTime
from gating_core.language import WIRINGS
from tests.ui import opening
from tests.ui.opening import csv_rows, open_page
from ui.at_work import confidence, measured, rank, wiring, wiring_picture
from ui.at_work.controls import CONFIDENCE, RANK, WIRING
from ui.common.lessons import sections
from ui.drawing.reliability import reliability_chart

PAGE = "pages/7_At_work.py"
L, H, D = 2, 2, 4


def figure(app, name):
    return opening.figure(app, f"at_work_{name}")


def said(app, start):
    return next(m.value for m in app.markdown if m.value.startswith(start))


def difference(by_seed, half_width):
    return PairedDifference(np.array(by_seed), half_width)


def test_every_tab_explains_itself_in_four_paragraphs():
    for name in ("ranks", "confidence", "wiring"):
        assert len(sections("at_work")[name].split("\n\n")) == 4


# --- Rank -----------------------------------------------------------------------------------------


@pytest.fixture
def ranks():
    """Two layers of two heads: 1.1 is lifted from 1 to 3, 2.2 falls from 3 to 2."""
    before, after = np.array([[1.0, 2.0], [2.0, 3.0]]), np.array([[3.0, 3.0], [2.0, 2.0]])
    outputs = np.stack([before, after, after - 0.5])
    quotient = after / before
    return {
        "ranks.outputs": outputs,
        "ranks.range": np.stack([outputs - 0.1, outputs + 0.1]),
        "ranks.lift": np.stack([quotient - 0.05, quotient + 0.05]),
        "ranks.maps": np.broadcast_to(np.linspace(4, 1, D), (L, H, D)),
        "ranks.opened": np.full((L, H), 2.5),
    }


def test_a_rule_chooses_the_head(ranks):
    outputs = ranks["ranks.outputs"]
    assert rank.chosen(rank.MOST, outputs) == (0, 0)
    assert rank.chosen(rank.LEAST, outputs) == (1, 1)
    assert rank.chosen("2.1", outputs) == (1, 0)


@pytest.mark.parametrize(("ends", "word"), [
    ((1.01, 1.2), "raises"), ((0.8, 0.99), "lowers"), ((0.9, 1.1), "inconclusive"),
    ((1.0, 1.1), "inconclusive"), ((1.0, 1.0), "inconclusive"),
])  # fmt: skip
def test_a_rank_is_raised_only_beyond_its_interval(ends, word):
    assert rank.word(*ends) == word


@pytest.mark.parametrize(("factors", "says"), [
    ((1.2, 1.3, 1.25), "**The gate increases the effective rank of head outputs before W_O**: 1.2"),
    ((0.8, 0.7, 0.75), "**The gate reduces the effective rank of head outputs before W_O**: 0.7"),
    ((0.8, 1.3, 1.0), "**It is inconclusive how the gate changes the effective rank of head"),
    ((1.2, 1.3), "too few seeds for a verdict"),
])  # fmt: skip
def test_ranks_are_compared_with_those_of_models_without_a_gate(ranks, factors, says):
    """What happens inside the gated model, whose rank before the gate may be lower, is another."""
    ungated = np.stack([ranks["ranks.outputs"]] * len(factors))
    ungated[:, 1] = ungated[:, 0]
    gated = ungated * np.array([[0.5] * len(factors), factors, factors]).T[..., None, None]
    assert says in rank.against_ungated(gated, ungated)
    assert rank.summary(ranks, gated, ungated, 7).startswith(rank.against_ungated(gated, ungated))


def test_the_page_gives_the_shipped_ratios_of_gated_to_ungated_models():
    for name, mixed, projected in (
        ("G1, per channel", "1.27 ± 0.05", "1.58 ± 0.14"),
        ("G1, per head", "0.768 ± 0.044", "0.73 ± 0.08"),
    ):
        text = said(open_page(PAGE, tab_at_work=RANK, gated_at=name), "**The gate")
        assert f"before W_O**: {mixed} times that of models without a gate" in text
        assert f"and {projected} times after W_O" in text


def test_the_summary_counts_heads_and_never_claims_a_rank_above_d(ranks):
    outputs = ranks["ranks.outputs"]
    text = rank.summary(ranks, outputs[None], outputs[None], 7)
    assert (
        "Within this model the gate raises it in 2, lowers it in 1, is inconclusive in 1 of 4"
        in text
    )
    assert "most lifted is 1.1 (1.00 → 3.00), least lifted is 2.2 (3.00 → 2.00)" in text
    assert "over 7 texts" in text
    assert f"{(3 + 1.5 + 1 + 2 / 3) / 4:.3f}" in text
    assert "No rank lies above d = 4, and none can" in text
    # A number that algebra forbids would be said, not hidden.
    wrong = ranks | {"ranks.outputs": outputs + 2}
    assert "above d = 4, and none can" not in rank.summary(wrong, outputs[None], outputs[None], 7)


def test_the_reason_has_the_numbers_of_its_head(ranks):
    text = rank.reason(ranks, (0, 0), 8, between=True)
    for part in ("head 1.1", "8 × 4 times 4 × 8", "4.00 to 1.00", "1.00 → 3.00", "× 2.95 to 3.05",
                 "2.50 after W_O", "query's character", "above d = 4 (proved)"):  # fmt: skip
        assert part in text
    assert "key's character" in rank.reason(ranks, (0, 0), 8, between=False)


def test_ranks_are_drawn_with_d_and_saved(ranks):
    chart = rank.rank_chart(ranks["ranks.outputs"], ranks["ranks.range"], D, (1, 0))
    assert list(chart.data[0].y) == [1, 2, 2, 3]
    np.testing.assert_allclose(chart.data[1].error_y.array, 0.1)
    line, marked = chart.layout.shapes
    assert line.y0 == line.y1 == D
    assert (marked.x0, marked.x1) == (1.5, 2.5)
    lines = rank.values_chart(ranks["ranks.maps"], (1, 0)).data
    assert [line.mode for line in lines] == ["lines", "lines", "lines+markers", "lines"]
    head, *rows = csv_rows(rank.ranks_csv({("g2", 1): ranks}))
    assert all(len(row) == len(head) for row in rows)
    assert rows[3][2:7] == ["2", "2", "3.0", "2.0", "1.5"]
    assert rows[3][head.index("after gate, low")] == "1.9"


# --- Confidence -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("by_seed", "half", "word"), [
    ([0.001, 0.002, 0.0], 0.003, "hardly different"), ([0.02] * 3, 0.01, "higher"),
    ([-0.02] * 3, 0.01, "lower"), ([0.004] * 3, 0.003, "higher"), ([0.0] * 3, 0.02, "undecided"),
    ([0.02] * 2, 0.001, "too few seeds"), ([0.003] * 3, 0.001, "hardly different"),
])  # fmt: skip
def test_verdicts_follow_interval_and_margin(by_seed, half, word):
    assert confidence.word(difference(by_seed, half), 0.005) == word


def test_the_summary_has_no_verdict_with_few_seeds():
    values = np.ones((3, len(QUANTITIES)))
    resamples = np.ones((*values.shape, 4))
    found = confidence.differences((values, values), (resamples, resamples))
    text = confidence.summary(found, values, values)
    assert text.count("**hardly different**") == len(QUANTITIES)
    assert "too few" not in text
    found = confidence.differences((values, values - 0.9), (resamples, resamples))
    text = confidence.summary(found, values - 0.9, values)
    assert text.count("**lower**") == len(QUANTITIES)  # gated less ungated
    for count in (1, 2):
        values, found = values[:count], {
            name: replace(of, by_seed=of.by_seed[:count]) for name, of in found.items()
        }  # fmt: skip
        text = confidence.summary(found, values, values)
        assert "too few for a verdict" in text
        assert "**lower**" not in text


def test_bins_off_the_diagonal_are_counted():
    bins = np.array([[0.2, 0.5, 0.9], [0.2, 0.3, 0.6], [9, 9, 9]])
    ends = np.array([bins[1] - 0.05, bins[1] + 0.05])
    text = confidence.diagram_text(bins, ends)
    assert text == "2 of 3 bins lie off the diagonal, 2 of them overconfident"
    under = confidence.diagram_text(bins, np.array([bins[0] + 0.01, bins[0] + 0.1]))
    assert under == "3 of 3 bins lie off the diagonal, 3 of them underconfident"
    one_each = np.array([bins[0] - [0.1, -0.05, 0.2], bins[0] + [0.1, 0.1, -0.1]])
    tie = confidence.diagram_text(bins, one_each)
    assert tie == "2 of 3 bins lie off the diagonal, as many overconfident as underconfident"
    right = confidence.diagram_text(bins[[0, 0, 2]], np.array([bins[0] - 1, bins[0] + 1]))
    assert right == "0 of 3 bins lie off the diagonal"
    chart = reliability_chart([("a", bins, ends)], 300)
    assert list(chart.data[0].x) == [0.2, 0.5, 0.9]
    np.testing.assert_allclose(chart.data[0].error_y.arrayminus, 0.05)
    diagonal = chart.layout.shapes[0]
    assert (diagonal.x0, diagonal.y0, diagonal.x1, diagonal.y1) == (0, 0, 1, 1)


def test_differences_are_drawn_in_margins():
    found = {name: difference([margin, 3 * margin], margin) for name, margin in (
        (name, x.margin) for name, x in confidence.TABLE.items())}  # fmt: skip
    dots, means = confidence.difference_chart(found).data
    np.testing.assert_allclose(dots.x, [1, 3] * len(QUANTITIES))
    np.testing.assert_allclose(means.x, 2)
    np.testing.assert_allclose(means.error_x.array, 1)


# --- Wiring ---------------------------------------------------------------------------------------


def test_diagrams_follow_the_table():
    for name, row in WIRINGS.items():
        chart = wiring_picture.diagram(row, 3)
        colours = [note.arrowcolor for note in chart.layout.annotations]
        own = 3 if row.reads_own else 1
        assert colours.count(wiring_picture.OWN) == own + 1  # the last is the stream's
        assert colours.count(wiring_picture.FIRST) == (2 if row.reads_first else 0)
        boxes = [shape for shape in chart.layout.shapes if shape.type == "rect"]
        assert [box.label.text for box in boxes] == ["A1", "M1", "A2", "M2", "A3", "M3"]
        same_time = boxes[2].x0 == boxes[3].x0
        assert same_time != row.reads_own
        series = {colour for colour, *_ in wiring_picture.STYLE_OF.values()}
        assert not series & {wiring_picture.OWN, wiring_picture.FIRST}  # a colour means one thing
        text = wiring.feeds(name)
        assert ("A of its block" in text, "A1" in text) == (row.reads_own, row.reads_first)


def test_losses_have_verdicts_and_a1_is_credited_only_where_the_control_is_not_ahead():
    losses = {"usual": np.array([1.3, 1.3, 1.3]), "fal": np.array([1.2, 1.2, 1.2])}
    text = wiring.loss_text(losses, {"fal": difference([-0.1] * 3, 0.02)}, "usual")
    assert "standard 1.300 nats" in text
    assert "FAL **lower** (−0.10 ± 0.02)" in text
    few = wiring.loss_text(losses, {"fal": difference([-0.1] * 2, 0.02)}, "usual")
    assert "no verdict" in few
    assert "**lower**" not in few
    down, same = difference([-0.1] * 3, 0.02), difference([0.0] * 3, 0.005)
    assert "**A1 reduces the loss**" in wiring.gain_text(down, same)
    assert "**It is inconclusive whether A1 reduces the loss**" in wiring.gain_text(down, down)
    assert "**A1 hardly changes the loss**" in wiring.gain_text(same, same)
    assert "**A1 increases the loss**" in wiring.gain_text(difference([0.1] * 3, 0.02), same)
    assert "**It is inconclusive" in wiring.gain_text(difference([0.1] * 3, 0.2), same)
    assert wiring.gain_text(difference([-0.1], 0.02), same) == ""


def test_blocks_are_compared_with_the_usual_wiring():
    links = np.broadcast_to([0.1, 0.5, 0.2], (2, 5, 3))
    gradients = np.ones((2, 5, 3))
    text = wiring.blocks_text(
        {"usual": links, "fal": links[..., ::-1] / 10},
        {"usual": gradients, "fal": 2 * gradients},
        "usual",
    )
    assert "standard 0.5 (block 2), FAL 0.05 (block 2)" in text
    assert "over that of standard: FAL 2" in text
    totals = {"usual": np.array([[1.0, 3.0]]), "fal": np.array([[1.0, 2.0], [1.0, 2.2]])}
    errors = {name: np.full_like(of, 0.1) for name, of in totals.items()}
    text = wiring.curvature_text(totals, errors, complete=False)
    assert "standard 3.0 ± 0.1" in text
    assert "lower estimates" in text
    assert "lower estimates" not in wiring.curvature_text(totals, errors, complete=True)


@pytest.mark.parametrize(("side", "word"), [
    ((1.1, 0.9, 1.0), "no gain"), ((0.5, 0.6, 0.7), "faster"), ((1.5, 1.6, 1.7), "slower"),
])  # fmt: skip
def test_times_are_of_this_machine_and_the_papers_are_not(side, word):
    times = StepTime(2, 1, 8, (2.0,) * 3, (1.0,) * 3, side)
    text = wiring.time_text(times)
    assert f"**{word}**" in text
    assert "2 cores" in text
    assert "not measured here" in text
    assert wiring.time_text(None).startswith("Kim et al.")


def test_charts_of_blocks_have_a_line_a_wiring():
    values = {"usual": np.ones((2, 3, 4)), "parallel": np.ones((2, 3, 1))}
    chart = wiring_picture.block_chart(values, "nats", "%{y}")
    lines = [trace for trace in chart.data if "lines" in trace.mode]
    assert [len(line.x) for line in lines] == [4, 1]
    curves = wiring_picture.curvature_chart({"fal": np.ones((2, 4))}, {"fal": np.ones((2, 4))})
    assert len(curves.data) == 2
    losses = wiring_picture.loss_chart({"usual": np.array([1.0, 3.0]), "fal": np.array([2.0])})
    assert [list(trace.y) for trace in losses.data] == [[1, 3], [2], [2], [2]]


# --- The page -------------------------------------------------------------------------------------


def test_abbreviations_of_the_diagrams_are_expanded_beside_them():
    app = open_page(PAGE, tab_at_work=WIRING)
    legend = next(c.value for c in app.caption if c.value.startswith("A: attention. M: MLP."))
    for part in ("*FAL*, First Attentions Last", "*FAL+*", "A1, the first block's attention"):
        assert part in legend
    assert "First Attentions Last" in figure(app, "diagram_fal")["layout"]["title"]["text"]


@pytest.mark.parametrize("tab", [RANK, CONFIDENCE, WIRING])
def test_a_tab_opens_with_what_is_shipped(tab):
    app = open_page(PAGE, tab_at_work=tab)
    assert not app.exception
    assert app.get("plotly_chart") or app.info


def test_the_tab_rank_shows_the_head_of_the_link():
    if not measured.models():
        pytest.skip("no models are shipped yet")
    app = open_page(PAGE, tab_at_work=RANK, ranked_head="2.3")
    assert "head 2.3 is one map" in said(app, "**Why.**")
    marked = figure(app, "ranks")["layout"]["shapes"][1]
    assert marked["x0"] == 4 + 2 - 0.5
