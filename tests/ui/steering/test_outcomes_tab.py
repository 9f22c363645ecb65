"""Does the tab Measured draw the shipped experiment, with intervals, and no verdict of its own?"""

import csv
import io

import numpy as np
import pytest

from gating_core.at_work import PairedDifference
from gating_core.steering import (
    DIRECTIONS,
    MODES,
    QUANTITIES,
    STRENGTHS,
    load_opening,
    load_steering,
    other_verses,
    windows,
)
from gating_core.training import mean_interval
from tests.ui.opening import figure, open_page
from ui.common.csv_text import csv_text
from ui.steering import outcomes, outcomes_picture, outcomes_words
from ui.steering.controls import BOTH
from ui.steering.outcomes import BACK, FEATURE, NATS, PROMPTED, SUCCESS, UNSTEERED, WORDS, Outcome
from ui.steering.request import HELD, MEASURED, RELEASED

PAGE = "pages/9_Steering.py"
L, K, A = 4, len(DIRECTIONS), len(STRENGTHS)


def of(mean, half=0.0):
    return PairedDifference(np.array([mean] * 3), half)


def made(success=0.9, nats=1.8, words=0.8, back=0.01, prompted_back=0.3):
    """Outcomes that are best after layer 2 at the third strength."""
    means = {SUCCESS: np.full((L, K, A), 0.05), NATS: np.full((L, K, A), 9.0),
             WORDS: np.full((L, K, A), 0.1), BACK: np.zeros((L, K, A))}  # fmt: skip
    for name, value in zip((SUCCESS, NATS, WORDS, BACK), (success, nats, words, back), strict=True):
        means[name][1, FEATURE, 2] = value
    widths = {name: np.full((L, K, A), 0.02) for name in means}
    references = {UNSTEERED: {SUCCESS: of(0.0), NATS: of(1.7), WORDS: of(0.1), BACK: of(0.0)},
                  PROMPTED: {SUCCESS: of(1.0), NATS: of(1.6), WORDS: of(0.9),
                             BACK: of(prompted_back)}}  # fmt: skip
    return Outcome(means, widths, references)


# --- Means and intervals --------------------------------------------------------------------------


def test_means_are_over_seeds_prompts_and_languages():
    shipped = load_steering()
    result = outcomes.outcome("none", RELEASED, BOTH)
    row = list(MODES).index(RELEASED)
    for at in ((0, 0, 4), (3, 2, 1)):
        layer, kind, strength = at
        cells = [shipped["none", seed][SUCCESS][layer, kind, strength, row] for seed in range(3)]
        assert result.means[SUCCESS][at] == pytest.approx(np.mean(cells), abs=1e-6)
        seeds = mean_interval(np.array([cell.mean() for cell in cells])).half_width
        assert result.widths[SUCCESS][at] >= seeds - 1e-9
    english = outcomes.outcome("none", HELD, "english")
    want = np.mean([shipped["none", seed][NATS][1, 0, 2, 0, 0] for seed in range(3)])
    assert english.means[NATS][1, 0, 2] == pytest.approx(want, rel=1e-6)
    want = np.mean([shipped["none", seed]["unsteered.nats"][0] for seed in range(3)])
    assert english.references[UNSTEERED][NATS].mean == pytest.approx(want, rel=1e-6)


def test_verses_without_names_are_left_out_and_texts_without_words_have_none():
    values = np.tile(np.array([[[0.5, np.nan, 1.0]], [[0.5, np.nan, 0.0]]]), 12)  # (S, 1, N)
    values[0, 0, 1] = 0.9  # what one seed lacks is left out of both
    values[:, :, 4::3] = np.nan
    assert outcomes.mean_of(values).mean == pytest.approx(0.5)
    np.testing.assert_allclose(outcomes.mean_of(values).by_seed, [0.75, 0.25])
    shipped = load_steering()
    words = np.nan_to_num([shipped["none", seed][WORDS][2, 1, 3, 0] for seed in range(3)])
    assert np.isnan(shipped["none", 0][WORDS]).any()
    result = outcomes.outcome("none", HELD, BOTH)
    assert result.means[WORDS][2, 1, 3] == pytest.approx(words.mean(), abs=1e-6)


def test_the_gates_part_is_paired_by_seed():
    shipped = load_steering()
    result = outcomes.gate_difference("g1_channel", "none", HELD, "spanish")
    for layer in range(L):
        gated, plain = (np.array([shipped[name, seed][SUCCESS][layer, FEATURE, :, 0, 1].mean()
                                  for seed in range(3)])
                        for name in ("g1_channel", "none"))  # fmt: skip
        np.testing.assert_allclose(result[layer].by_seed, gated - plain, atol=1e-6)


def test_the_classifier_is_judged_on_all_windows_that_it_has_not_seen():
    bins, ends, right = outcomes.calibration()
    texts, spanish = windows(other_verses())
    judged = load_opening().judged
    assert bins[2].sum() == len(texts)
    assert right == pytest.approx(((judged > 0.5) == spanish).mean())
    weighted = np.average(bins[0], weights=bins[2])
    assert weighted == pytest.approx(np.maximum(judged, 1 - judged).mean(), rel=1e-5)
    assert np.average(bins[1], weights=bins[2]) == pytest.approx(right)
    assert (ends[0] <= bins[1] + 1e-9).all()
    assert (bins[1] <= ends[1] + 1e-9).all()


# --- Words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("success", "dearer", "words", "says"), [
    (0.79, 0.0, 0.9, "it does not work reliably"),
    (0.95, 3.0, 0.2, "gibberish that passes the classifier"),
    (0.95, 0.2, 0.4, "the language changes, the fluency suffers"),
    (0.95, 0.8, 0.9, "the language changes, the fluency suffers"),
    (0.8, 0.5, 0.5, "the language changes, the fluency stays"),
])  # fmt: skip
def test_verdicts_follow_from_three_numbers(success, dearer, words, says):
    assert outcomes_words.verdict(success, dearer, words) == says


def test_the_best_place_is_said_with_what_the_texts_are_like():
    text = outcomes_words.best_text(made(), RELEASED).replace("\u00a0", " ")
    assert text.startswith(
        "Released after 16 characters, the feature succeeds most after **layer 2"
    )
    assert "at strength 3: 90 % ± 2 of texts" in text
    assert "(means 5 %, random direction 5 %, random feature 5 %)" in text
    assert "at 1.80 nats a character (unsteered 1.70), with 80 % real words" in text
    assert text.endswith("**the language changes, the fluency stays**.")
    assert outcomes_words.best_text(made(nats=5.0, words=0.1), HELD).endswith(
        "**gibberish that passes the classifier**."
    )


def test_the_paper_is_compared_with_the_best_layer():
    early = outcomes_words.layers_text(made()).replace("\u00a0", " ")
    assert "here layer 2 of 4 wins" in early
    assert "5 %, 90 %, 5 %, 5 %" in early
    late = made()
    late.means[SUCCESS][3, FEATURE, 0] = 1.0
    assert "as here" in outcomes_words.layers_text(late)


def test_names_that_come_back_are_compared_with_prompted_texts():
    text = outcomes_words.back_text(made()).replace("\u00a0", " ")
    assert "1.0 % ± 2.0 come back there (unsteered 0.0 %, prompted 30.0 %)" in text
    assert text.endswith("**the meaning is not carried over**.")
    weak = outcomes_words.back_text(made(prompted_back=0.02))
    assert "this test is weak" in weak
    assert "**meaning is carried over**" in outcomes_words.back_text(made(back=0.4))


def test_what_a_gate_does_is_not_known_where_the_interval_holds_zero():
    text = outcomes_words.gate_text([of(0.1, 0.05), of(-0.1, 0.05), of(0.1, 0.2)])
    assert "layer 1 **more** (+10 ± 5 points), layer 2 **less** (−10 ± 5 points)" in text
    assert "layer 3 not known" in text
    one = PairedDifference(np.array([0.5]), 0.0)
    assert "layer 1 not known" in outcomes_words.gate_text([one])


def test_the_classifier_is_said_to_be_too_sure_or_not_sure_enough():
    bins = np.array([[0.6, 0.9], [0.9, 1.0], [1, 3]])
    text = outcomes_words.calibration_text(bins, 1.0, 4).replace("\u00a0", " ")
    assert "right in 100 % of 4 windows" in text
    assert "15.0 points less sure than it is right" in text
    assert "surer than it is right" in outcomes_words.calibration_text(bins[[1, 0, 2]], 1.0, 4)


# --- Pictures and the page ------------------------------------------------------------------------


def test_every_layer_has_a_panel_for_success_nats_and_words():
    chart = outcomes_picture.outcome_chart(made(), 9.5)
    lines = chart.data
    assert len(lines) == 3 * L * K
    best = lines[(0 * L + 1) * K + FEATURE]
    assert best.y[2] == 0.9
    assert best.error_y.array[2] == 0.02
    assert lines[(1 * L + 1) * K + FEATURE].y[2] == 1.8
    assert lines[(2 * L + 1) * K + FEATURE].y[2] == 0.8
    levels = {shape.yref: [] for shape in chart.layout.shapes}
    for shape in chart.layout.shapes:
        levels[shape.yref].append(shape.y0)
    assert levels["y"] == [0.0, 1.0]
    assert levels["y9"] == pytest.approx([0.1, 0.9])
    assert chart.layout.yaxis5.range == (0, 9.5)
    gate = outcomes_picture.gate_chart([of(0.1, 0.05), of(-0.2, 0.1)])
    np.testing.assert_allclose(gate.data[1].y, [10, -20])
    np.testing.assert_allclose(gate.data[1].error_y.array, [5, 10])


def test_the_tab_opens_with_both_ways_to_push():
    app = open_page(PAGE, tab_steering=MEASURED, steered_gate="G1, per channel",
                    steered_to="English")  # fmt: skip
    assert not app.exception
    for mode in (RELEASED, HELD):
        drawn = figure(app, f"steering_outcomes_{mode}")
        want = outcomes.outcome("g1_channel", mode, "english")
        assert drawn["data"][0]["name"] == DIRECTIONS[0]
        shown = [m.value for m in app.markdown if m.value == outcomes_words.best_text(want, mode)]
        assert len(shown) == 1


def test_the_outcomes_are_saved_as_csv():
    shipped = {("none", 0): load_steering()["none", 0]}
    head, *rows = csv.reader(io.StringIO(csv_text(outcomes_words.outcomes_csv(shipped))))
    assert len(rows) == 2 * 2 + L * K * A * len(MODES) * 2
    assert head[-len(QUANTITIES) :] == list(QUANTITIES)
    last = shipped["none", 0][SUCCESS][-1, -1, -1, -1, -1].mean()
    assert rows[-1][:7] == ["no gate", "0", "4", DIRECTIONS[-1], "6.0", "released", "spanish"]
    assert float(rows[-1][7]) == pytest.approx(last)
