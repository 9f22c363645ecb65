"""Does the tab Correction draw what was computed, and claim no more than its intervals allow?"""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

from gating_core.at_work import PairedDifference
from gating_core.left_out_at_work import (
    GAMMA_STEPS,
    GAMMAS,
    GAPS,
    RETRIEVAL_SEEDS,
    WINDOWS,
    Correction,
    CorrectionRequest,
)
from tests.ui.opening import open_page
from ui.common.lessons import sections
from ui.common.parts import csv_text
from ui.left_out import correction_results as results
from ui.left_out.correction_results import NONE
from ui.left_out.request import CORRECTION
from ui.left_out.words import gate_saves, nearest

PAGE = "pages/8_Left_out.py"
TEXTS = 6


@pytest.fixture(scope="module")
def page():
    return open_page(PAGE, tab_left_out=CORRECTION)


@pytest.fixture
def one():
    """A specimen whose numbers are all different."""
    draw = np.random.default_rng(0)
    return Correction(
        points=draw.normal(size=(3, 40, 2)), first=20, explained=0.7, shift=np.array([0.9, 0.2]),
        cosine=np.array([0.5, 0.8]), by_gamma=draw.uniform(size=(2, len(GAMMA_STEPS))),
        by_window=draw.uniform(size=(4, 5)), share=np.array([0.1, 0.2]), ratio=0.5,
        change=np.linspace(0.2, 1.4, 19),
    )  # fmt: skip


def model(offset, seed):
    """Measurements of a model: windows cost 0.1 × their number, correction adds ``offset``."""
    draw = np.random.default_rng(seed)
    full = draw.uniform(10, 12, TEXTS)
    sums = np.stack(
        [
            np.stack(
                [full + 10 * (0.1 * (w + 1) + (offset if g else 0)) for g in range(1 + len(GAMMAS))]
            )
            for w in range(len(WINDOWS))
        ]
    )
    ratios = np.full((len(WINDOWS), len(GAMMAS), 2, 2), 1.5)
    ratios[:, :, 0, 0] = 0.5
    return {"correction.sums": sums, "correction.full": full,
            "correction.counts": np.full(TEXTS, 10.0), "correction.ratios": ratios}  # fmt: skip


def test_the_page_shows_both_specimens_and_explains_them(page):
    assert not page.exception
    text = next(m.value for m in page.markdown if m.value.startswith("**On tokens"))
    assert "On characters, in head" in text
    texts = " ".join(m.value for m in page.markdown).replace("\u00a0", " ")
    assert "Retrieval over 256 tokens: full attention finds 100" in texts
    drawn = {c.proto.id.rpartition("left_out_")[2] for c in page.get("plotly_chart")}
    assert {"correct_slow", "correct_head", "correct_change", "correct_gamma", "correct_windows",
            "correct_retrieval"} <= drawn  # fmt: skip
    assert len(sections("left_out")["correction"].split("\n\n")) == 4


@pytest.mark.parametrize(("kind", "said"), [
    ("slow tokens", "On tokens that vary slowly"), ("Gaussian scores", "independent tokens"),
])  # fmt: skip
def test_few_tokens_are_corrected_too(kind, said):
    app = open_page(PAGE, tab_left_out=CORRECTION, left_from=kind, left_tokens="16",
                    left_keys="16", left_memory="0")  # fmt: skip
    assert not app.exception
    assert any(said in m.value for m in app.markdown)


def test_a_text_that_is_too_short_is_said():
    app = open_page(PAGE, tab_left_out=CORRECTION, left_text="a")
    assert not app.exception
    assert [i.value for i in app.info] == ["Correction needs a text of at least 3 characters."]


@pytest.mark.parametrize(("ratios", "verdict"), [
    ((0.5, 0.6, 0.55), "correction helps"), ((0.5, 1.4, 0.8), "it is undecided whether"),
    ((1.5, 1.6, 1.55), "correction does harm"),
])  # fmt: skip
def test_the_verdict_on_slow_tokens_needs_its_interval(one, ratios, verdict):
    text = results.slow_text([replace(one, ratio=ratio) for ratio in ratios])
    assert verdict in text.partition("**:")[0]
    assert "0.5 → 0.8" in text


def test_a_head_is_told_with_the_number_that_decides(one):
    text = results.head_text("characters", replace(one, ratio=1.3), [one], gamma=4)
    assert "correction does harm" in text
    assert f"Its relative squared change 2 queries later is {one.change[1]:.3g}" in text
    nothing = results.head_text("characters", replace(one, ratio=np.nan), [one], gamma=4)
    assert "nothing is missing" in nothing
    short = replace(one, change=one.change[:1])  # slow tokens may be fewer than characters
    assert "1 query later" in results.head_text("a", one, [short], gamma=64)


def test_losses_are_told_above_full_attention():
    tables = [model(0.05, seed) for seed in range(3)]
    losses = results.losses_of(tables, 16)
    of = losses.above(results.COLUMNS)
    assert list(of) == [*map(str, GAMMAS), NONE]
    assert of[NONE].mean == pytest.approx(0.2)
    assert of["8"].mean == pytest.approx(0.25)
    worth = results.worth(losses, 8)
    assert worth.mean == pytest.approx(0.05)
    text = results.loss_text({"no gate": of}, {"no gate": worth}, 16, 8)
    assert "(worse: " in text
    assert "helps in 3 of 12 heads" in results.heads_text(tables, "a", 16, 8)
    assert nearest(WINDOWS, 64) == 32
    assert nearest(GAMMAS, 2) == 4


@pytest.mark.parametrize(("half_width", "seeds", "text"), [
    (0.01, 3, "A gate makes the window cheaper"), (0.1, 3, "It is undecided"),
    (0.01, 2, "too few seeds"),
])  # fmt: skip
def test_a_gate_is_praised_only_beyond_the_interval(half_width, seeds, text):
    saves = PairedDifference(np.full(seeds, -0.05), half_width)
    assert text in results.gate_text(saves)


def test_a_gate_saves_the_difference_of_what_windows_cost():
    plain, gated = ([model(0.0, seed) for seed in range(3)] for _ in range(2))
    for of in gated:
        of["correction.full"] = of["correction.full"] + 1.0  # so that its window costs 0.1 less
    losses = (results.losses_of(tables, 8) for tables in (gated, plain))
    assert gate_saves(*losses, -1).mean == pytest.approx(-0.1)


def test_curves_are_drawn_as_they_are_and_saved(one):
    others = [replace(one, cosine=one.cosine + 0.1, by_gamma=one.by_gamma + 0.1)]
    chart = results.gamma_chart([one, *others], one, "a")
    np.testing.assert_allclose(chart.data[0].y[:-1], one.by_gamma[0] + 0.05)
    np.testing.assert_allclose(chart.data[1].y, [*one.by_gamma[0], one.cosine[0]])
    np.testing.assert_allclose(chart.data[3].y, [*one.by_gamma[1], one.share[0]])
    plane = results.plane_chart(one)
    np.testing.assert_allclose(plane.data[4].x, one.points[[0, 1], 20:, 0].mean(1))
    assert len(results.window_chart([one], one, "a").data) == 6
    assert results.change_chart([one], one, 4, "a").layout.shapes[1].x0 == 4
    rows = [*csv.DictReader(io.StringIO(csv_text(results.correction_csv(
        CorrectionRequest(), [one], one, {}, "characters"))))]  # fmt: skip
    assert sum(row["what"] == "cosine" for row in rows) == 2 * (len(GAMMA_STEPS) + 2 * 5)
    assert {row["of"] for row in rows} == {"slow tokens", "characters"}


def test_retrieval_is_drawn_with_chance_and_told():
    accuracy = np.stack([np.full((len(GAPS), len(RETRIEVAL_SEEDS)), value)
                         for value in (1.0, 0.25, 0.125)])  # fmt: skip
    chart = results.retrieval_chart(accuracy)
    assert [trace.y[-1] for trace in chart.data] == [1, 0.25, 0.125]
    assert chart.layout.shapes[0].y0 == 1 / 16
    text = results.retrieval_text(accuracy).replace("\u00a0", " ")
    assert "the window 25 %, corrected 12.5 %" in text
