"""Does the tab Linear compare with the right reference, and claim no more than intervals allow?"""

import csv
import io

import numpy as np
import pytest

from gating_core.left_out_at_work import CHEAPER, RECALL_PAIRS, Cheaper, RecallCurves
from tests.ui.opening import figure, numbers, open_page
from ui.common.lessons import sections
from ui.common.parts import csv_text
from ui.left_out import conversions
from ui.left_out import linear_results as results
from ui.left_out.request import LINEAR

PAGE = "pages/8_Left_out.py"
TEXTS, EACH = 8, 10.0
COUNTS = np.full(TEXTS, EACH)


@pytest.fixture(scope="module")
def page():
    return open_page(PAGE, tab_left_out=LINEAR, linear_at="5")


def losses(seeds=3, **means):
    """Losses by conversion: a mean a character above 1, the same noise of texts in all."""
    noise = np.random.default_rng(0).uniform(0.9, 1.1, (seeds, TEXTS))
    result = {}
    for key, mean in means.items():
        name, _, part = key.partition("__")
        result.setdefault(name, {})[part or "whole"] = EACH * (noise + mean)
    return result


def test_the_page_shows_the_head_its_state_and_the_toy(page):
    assert not page.exception
    assert any("cosine with softmax attention" in m.value for m in page.markdown)
    text = next(m.value for m in page.markdown if "recognises nine in ten pairs" in m.value)
    assert "On paper, linear attention over 1,000,000 tokens takes" in text
    drawn = {c.proto.id.rpartition("left_out_")[2] for c in page.get("plotly_chart")}
    assert {"linear_maps", "linear_state", "linear_recall", "linear_cost"} <= drawn
    for lesson in ("linear", "linear_learned"):
        assert len(sections("left_out")[lesson].split("\n\n")) == 4


def test_a_specimen_that_is_no_head_has_maps_and_says_what_it_is():
    app = open_page(PAGE, tab_left_out=LINEAR, left_from="slow tokens", left_tokens="2048",
                    linear_features="learned")  # fmt: skip
    assert not app.exception
    assert any("Slow tokens: cosine with softmax" in m.value for m in app.markdown)
    said = " ".join(caption.value for caption in app.caption)
    assert "the first 128 tokens" in said
    assert "Only heads can be converted, not tokens" in said
    chart = figure(app, "left_out_linear_maps")
    assert numbers(chart["data"][0]["z"]).shape == (128, 128)


@pytest.mark.parametrize(("alone", "verdict"), [
    (0.021, "**the linear branch is bypassed**"), (0.2, "**the linear branch is needed**"),
])  # fmt: skip
def test_the_branch_is_judged_against_the_window_trained_alone(alone, verdict):
    of = losses(window_16=alone, hybrid_16=0.02, hybrid_16__without_linear=0.15)
    text = conversions.bypass_text(of, COUNTS)
    assert verdict[2:] in text
    assert conversions.branch_worth(of, COUNTS, 16).mean == pytest.approx(alone - 0.02)
    assert conversions.taken_out(of, COUNTS, 16).mean == pytest.approx(0.13)
    assert ("which is co-adaptation" in text) == (alone < 0.1)  # it suggests more than it is worth
    few = {name: {part: rows[:2] for part, rows in parts.items()} for name, parts in of.items()}
    assert "too few seeds" in conversions.bypass_text(few, COUNTS)
    assert "co-adaptation" not in conversions.bypass_text(few, COUNTS)
    assert conversions.bypass_text({}, COUNTS) == ""


def test_a_branch_whose_worth_is_doubtful_is_open():
    of = losses(window_4=0.02, hybrid_4=0.02, hybrid_4__without_linear=0.1)
    of["window_4"]["whole"] = of["window_4"]["whole"] + np.array([[1.0], [-1.0], [0.5]])
    assert "At window 4 **it is undecided" in conversions.bypass_text(of, COUNTS)


@pytest.mark.parametrize(("gated", "text"), [
    (0.01, "A gate makes the window cheaper"), (0.3, "A gate makes the window dearer"),
])  # fmt: skip
def test_a_gate_is_compared_by_what_the_window_costs(gated, text):
    of = losses(softmax=0.0, window_16=0.1, gated_softmax=0.0, gated_window_16=gated)
    assert text in conversions.gate_text(of, COUNTS)
    assert conversions.gate_text({"softmax": of["softmax"]}, COUNTS) == ""


def test_losses_are_drawn_above_softmax_trained_as_long():
    of = losses(softmax=0.1, window_16=0.2, hybrid_16=0.12, hybrid_16__without_window=0.9,
                linear=0.3, linear__x=1.0)  # fmt: skip
    of["linear"] |= {"added_16.whole": of["linear"]["whole"] - 1}
    rows = conversions.above_softmax(of, COUNTS)
    assert list(rows) == ["window 16 alone", "16, hybrid", "linear alone", "16 added later"]
    assert rows["16, hybrid"]["whole"].mean == pytest.approx(0.02)
    chart = conversions.conversion_chart(rows)
    assert list(chart.data[0].x) == pytest.approx([0.1, 0.02, 0.2, 0.1])
    assert list(chart.data[1].y) == ["16, hybrid"]
    assert [shape.x0 for shape in chart.layout.shapes] == pytest.approx([0.1])
    assert conversions.above_softmax({}, COUNTS) == {}


def test_a_capacity_is_where_nine_in_ten_are_recognised():
    shares = np.ones((len(RECALL_PAIRS), 4))
    assert results.capacity(shares) == "128 or more"
    shares[3:] = 0.2
    assert results.capacity(shares) == f"{RECALL_PAIRS[2]}"
    shares[2] = [0.8, 1.0, 0.8, 1.0]
    assert results.capacity(shares) == f"{RECALL_PAIRS[1]} to {RECALL_PAIRS[2]}"
    assert results.capacity(np.zeros((len(RECALL_PAIRS), 4))) == "0"


def test_costs_on_paper_are_closed_forms():
    costs = results.paper_costs(24, 16)
    n = 10**6
    assert costs["full"][:, -1].tolist() == [n * (n + 1) // 2, 2 * n * 24]
    assert costs["linear"][:, -1].tolist() == [n * 24, 24 * 24 + 24]
    text = results.cost_text(24, 16, None)
    assert "4.8e-5 of the products" in text
    assert "Measured" not in text


def test_maps_state_and_recall_are_drawn_as_they_are():
    draw = np.random.default_rng(1)
    weights = np.tril(draw.normal(size=(len(CHEAPER), 3, 3)))
    of = Cheaper(weights, np.linspace(1, 0.5, len(CHEAPER)), draw.normal(size=(3, 2, 2)))
    chart = results.map_chart(of, "\nab")
    np.testing.assert_allclose(chart.data[4].z[2], weights[4][2], rtol=1e-6)
    assert np.isnan(chart.data[0].z[0, 1])
    state = results.state_chart(of, 1).data[0]
    np.testing.assert_array_equal(state.z, of.states[1])
    assert state.zmax == -state.zmin == np.abs(of.states).max()  # one scale for all characters
    curves = RecallCurves({"linear": np.full((len(RECALL_PAIRS), 3), 0.5)})
    assert set(results.recall_chart(curves, 16).data[0].y) == {0.5}
    rows = [*csv.DictReader(io.StringIO(csv_text(results.linear_csv(
        losses(softmax=0.5), COUNTS, curves))))]  # fmt: skip
    first = rows[0]
    assert (first["what"], first["of"], first["seed"]) == ("loss, whole", "softmax", "0")
    assert len(rows) == 3 + 3 * len(RECALL_PAIRS)
