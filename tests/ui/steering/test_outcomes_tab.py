"""Does the tab Measured draw the shipped experiment, with intervals, and no verdict of its own?"""

import csv
import io
import time

import numpy as np
import pytest

from gating_core.at_work import PairedDifference, loss_difference
from gating_core.pauses import drained
from gating_core.steering import (
    DIRECTIONS,
    MODES,
    STRENGTHS,
    WINDOW,
    GridRequest,
    Part,
    experiment,
    load_dictionaries,
    load_opening,
    load_steering,
    other_verses,
    specimen,
    windows,
)
from gating_core.training import mean_interval
from tests.ui.opening import figure, notes, open_page
from ui.common.parts import csv_text
from ui.steering import outcomes, outcomes_words, picture
from ui.steering.outcomes import (
    BACK,
    FEATURE,
    NATS,
    PROMPTED,
    SHOWN,
    SUCCESS,
    UNSTEERED,
    WORDLESS,
    WORDS,
    Outcome,
)
from ui.steering.request import BOTH, HELD, MEASURED, RELEASED, OutcomeSelection
from ui.work import cached_jobs

PAGE = "pages/9_Steering.py"
L, K, A = 4, len(DIRECTIONS), len(STRENGTHS)


def of(mean, half=0.0):
    return PairedDifference(np.array([mean] * 3), half)


def made(success=0.9, nats=1.8, words=0.8, back=0.01, prompted_back=0.3, bayes=0.85, fluent=0.85,
         wordless=0.0):  # fmt: skip
    """Outcomes that are best after layer 2 at the third strength."""
    means = {name: np.full((L, K, A), 0.05) for name in SHOWN}
    means |= {NATS: np.full((L, K, A), 9.0), WORDS: np.full((L, K, A), 0.1)}
    at_best = (success, bayes, nats, words, back, fluent, wordless)
    for name, value in zip(SHOWN, at_best, strict=True):
        means[name][1, FEATURE, 2] = value
    widths = {name: np.full((L, K, A), 0.02) for name in means}
    references = {UNSTEERED: dict(zip(SHOWN, (0.0, 0.0, 1.7, 0.1, 0.0, 0.0, 0.0), strict=True)),
                  PROMPTED: dict(zip(SHOWN, (1.0, 1.0, 1.6, 0.9, prompted_back, 0.95, 0.0),
                                     strict=True))}  # fmt: skip
    return Outcome(240, means, widths, references)


def shipped_outcome(name, mode, target, seeds=(0, 1, 2)):
    source, arrays = outcomes.source_of(OutcomeSelection(name), None)
    if len(seeds) == 1:
        source, arrays = outcomes.source_of(OutcomeSelection(name, *seeds), None)
    return outcomes.outcome(source, mode, target, tuple(arrays.values()))


# --- Means and intervals --------------------------------------------------------------------------


def test_means_are_over_seeds_prompts_and_languages():
    shipped = load_steering()
    result = shipped_outcome("none", RELEASED, BOTH)
    assert result.texts == 3 * 2 * 40
    row = list(MODES).index(RELEASED)
    for at in ((0, 0, 4), (3, 2, 1)):
        layer, kind, strength = at
        cells = [shipped["none", seed][SUCCESS][layer, kind, strength, row] for seed in range(3)]
        assert result.means[SUCCESS][at] == pytest.approx(np.mean(cells), abs=1e-6)
        seeds = mean_interval(np.array([cell.mean() for cell in cells])).half_width
        assert result.widths[SUCCESS][at] >= seeds - 1e-9
    english = shipped_outcome("none", HELD, "english")
    assert english.texts == 3 * 40
    want = np.mean([shipped["none", seed][NATS][1, 0, 2, 0, 0] for seed in range(3)])
    assert english.means[NATS][1, 0, 2] == pytest.approx(want, rel=1e-6)
    want = np.mean([shipped["none", seed]["unsteered.nats"][0] for seed in range(3)])
    assert english.references[UNSTEERED][NATS] == pytest.approx(want, rel=1e-6)


def test_verses_without_names_are_left_out_and_texts_without_words_are_counted_apart():
    values = np.tile(np.array([[[0.5, np.nan, 1.0]], [[0.5, np.nan, 0.0]]]), 12)  # (S, 1, N)
    values[:, :, 4::3] = np.nan
    values[0, 0, 3] = np.nan  # one text of one seed
    (mean,), (width,) = outcomes.means_of(values[:, None])
    assert mean == pytest.approx(np.nanmean(values))
    assert width >= mean_interval(np.nanmean(values, (1, 2))).half_width
    (none,), (unknown,) = outcomes.means_of(values[:, None] * np.nan)
    assert np.isnan([none, unknown]).all()
    shipped = load_steering()
    words = np.stack([shipped["none", seed][WORDS][2, 1, 3, 0] for seed in range(3)])
    assert np.isnan(words).any()
    result = shipped_outcome("none", HELD, BOTH)
    assert result.means[WORDS][2, 1, 3] == pytest.approx(np.nanmean(words), abs=1e-6)
    assert result.means[WORDLESS][2, 1, 3] == pytest.approx(np.isnan(words).mean())


@pytest.mark.parametrize("count", [1, 3])
def test_intervals_are_those_of_a_difference_from_zero(count):
    draw = np.random.default_rng(0)
    values = draw.random((count, 5, 2, 12))
    values[:, :, :, 3] = np.nan
    means, widths = outcomes.means_of(values)
    counts = np.where(np.arange(12) == 3, 0, 2)
    for cell in range(5):
        sums = np.nansum(values[:, cell], 1)
        want = loss_difference(sums, np.zeros_like(sums), counts)
        assert means[cell] == pytest.approx(want.mean)
        assert widths[cell] == pytest.approx(want.half_width)


def test_the_gates_part_is_paired_by_seed():
    shipped = load_steering()
    result = outcomes.gate_difference(HELD, "spanish")
    for layer in range(L):
        gated, plain = (np.array([shipped[name, seed][SUCCESS][layer, FEATURE, :, 0, 1].mean()
                                  for seed in range(3)])
                        for name in ("g1_channel", "none"))  # fmt: skip
        np.testing.assert_allclose(result[layer].by_seed, gated - plain, atol=1e-6)


def test_the_classifier_is_judged_on_all_windows_that_it_has_not_seen():
    texts, spanish = windows(other_verses())
    of = outcomes.calibrations()
    assert [one.characters for one in of] == [WINDOW, 8]
    for one, judged in zip(of, load_opening().judged, strict=True):
        bins, ends, right = one.bins, one.ends, one.right
        assert one.count == len(texts)
        assert right == pytest.approx(((judged > 0.5) == spanish).mean())
        sure = np.maximum(judged, 1 - judged).mean()
        assert np.average(bins[0], weights=bins[2]) == pytest.approx(sure, rel=1e-5)
        assert one.gap == pytest.approx(right - sure, abs=1e-5)
        assert (ends[0] <= bins[1] + 1e-9).all()
        assert (bins[1] <= ends[1] + 1e-9).all()
    assert of[0].right > of[1].right


def test_the_gates_part_in_telling_languages_apart_is_that_of_the_best_features():
    result = outcomes.apart_difference()
    best = {
        name: np.array(
            [load_dictionaries(name, seed).kinds["means"].statistics.auc for seed in range(3)],
            float,
        )
        for name in ("g1_channel", "none")
    }
    for layer in range(L):
        gated, plain = (np.maximum(auc, 1 - auc)[:, layer].max(-1) for auc in best.values())
        np.testing.assert_allclose(result[layer].by_seed, gated - plain, atol=1e-6)
        assert result[layer].half_width == mean_interval(gated - plain).half_width


# --- Words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("success", "bayes", "fluent", "says"), [
    (0.79, 0.9, 0.9, "it does not work reliably"),
    (0.95, 0.79, 0.9, "the classifiers disagree"),
    (0.95, 0.95, 0.4, "the classifiers are fooled"),
    (0.95, 0.95, 0.6, "the language changes, the fluency suffers"),
    (0.95, 0.95, 0.76, "the language changes; it is inconclusive whether the fluency suffers"),
    (0.8, 0.8, 0.86, "the language changes, the fluency stays"),
])  # fmt: skip
def test_verdicts_follow_from_shares_and_an_interval(success, bayes, fluent, says):
    assert outcomes_words.verdict(success, bayes, fluent, 0.05) == says


def test_the_best_place_is_said_with_what_the_texts_are_like():
    text = outcomes_words.best_text(made(), RELEASED).replace("\u00a0", " ")
    assert text.startswith(
        "Released after 16 characters, the feature succeeds most after **layer 2"
    )
    assert "at strength 3. The other language is seen in 90 % ± 2 of texts" in text
    assert "(means 5 %, random direction 5 %, random feature 5 %), by naive Bayes in 85 %" in text
    assert "1.80 ± 0.02 nats per character (unsteered 1.70) and 80 % ± 2 real words (prom" in text
    assert "within the range of unsteered texts are 85 % ± 2 of texts (prompted 95 %)" in text
    assert text.endswith("(prompted 95 %): **the language changes, the fluency stays**.")
    assert outcomes_words.best_text(made(nats=5.0, fluent=0.0), HELD).endswith(
        "**the classifiers are fooled**."
    )


@pytest.mark.parametrize(("words", "wordless", "says"), [
    (0.37, 0.43, "37 % ± 4 real words in the 57 % of texts that have a whole word"),
    (0.37, 0.0, "37 % ± 4 real words"),
    (np.nan, 1.0, "no whole word"),
])  # fmt: skip
def test_texts_without_a_whole_word_are_counted_apart(words, wordless, says):
    assert outcomes_words.words_text(words, 0.04, wordless).replace("\u00a0", " ") == says


def test_texts_that_all_agree_have_no_interval():
    alike = made(success=1.0)
    alike.widths[SUCCESS][:] = 0
    text = outcomes_words.best_text(alike, RELEASED).replace("\u00a0", " ")
    assert "seen in 100 % of texts (all of 240)" in text
    assert "± 0" not in text.partition("by naive Bayes")[0]


def test_it_is_said_where_the_classifiers_part_and_who_is_fooled():
    released, held = made(bayes=0.88), made(success=1.0, bayes=0.7, fluent=0.0)
    text = outcomes_words.classifiers_text(released, held).replace("\u00a0", " ")
    assert (
        "Released after 16 characters, they part by 2.0 points at most (layer 2, strength 3: 90 %"
        " and 88 %); up to 3 % of texts pass both and lie beyond" in text
    )
    assert "Held, they part by 30.0 points at most (layer 2, strength 3: 100 % and 70 %)" in text
    assert "up to 70 % of texts pass both" in text


@pytest.mark.parametrize(("mean", "half_width", "says"), [
    (0.2, 0.1, "Here early layers succeed more (layer 2 minus layer 4: +20 ± 10 points;"),
    (-0.2, 0.1, "It is so here, too (layer 2 minus layer 4: −20 ± 10 points;"),
    (0.2, 0.3, "Here it is inconclusive (layer 2 minus layer 4: +20 ± 30 points;"),
])  # fmt: skip
def test_the_paper_is_compared_only_beyond_the_interval(mean, half_width, says):
    text = outcomes_words.layers_text(made(), 1, 3, of(mean, half_width)).replace("\u00a0", " ")
    assert says in text
    assert text.endswith("released: 5 %, 90 %, 5 %, 5 %).")


def test_both_halves_are_compared_at_their_best():
    shipped = [load_steering()["none", seed] for seed in range(3)]
    source = outcomes.source_of(OutcomeSelection(), None)[0]
    first, second, difference = outcomes.depth_difference(source, "english", tuple(shipped))
    success = np.stack([one[SUCCESS][:, FEATURE, :, 1, 0] for one in shipped])  # (S, L, A, N)
    means = success.mean((0, -1))
    assert (means[first].max(), means[second].max()) == (means[:2].max(), means[2:].max())
    one, two = (success[:, layer, means[layer].argmax()].mean(-1) for layer in (first, second))
    np.testing.assert_allclose(difference.by_seed, one - two, atol=1e-6)


def test_names_that_come_back_are_compared_with_prompted_texts():
    text = outcomes_words.back_text(made()).replace("\u00a0", " ")
    assert "1.0 % ± 2.0 come back" in text
    assert "(unsteered 0.0 %, prompted 30.0 %)" in text
    assert text.endswith("**Names and numbers hardly come back**.")
    weak = outcomes_words.back_text(made(prompted_back=0.02))
    assert "**not known** whether the meaning is carried over, because even a prompt" in weak
    assert "hardly come back" not in weak
    assert "**Names and numbers come back**" in outcomes_words.back_text(made(back=0.4))
    near = made(back=0.11)
    near.references[UNSTEERED][BACK] = 0.1
    assert "**not known** whether steering" in outcomes_words.back_text(near)


def test_what_a_gate_does_is_not_known_where_the_interval_holds_zero():
    text = outcomes_words.gate_text([of(0.1, 0.05), of(-0.1, 0.05), of(0.1, 0.2)])
    assert "layer 1 **more** (+10 ± 5), layer 2 **less** (−10 ± 5)" in text
    assert "layer 1 **better** (+10 ± 5), layer 2" in outcomes_words.apart_text([of(0.1, 0.05)] * 2)
    assert "layer 3 not known" in text
    one = PairedDifference(np.array([0.5]), 0.0)
    assert "layer 1 not known" in outcomes_words.gate_text([one])


def test_the_classifier_is_said_to_be_too_sure_or_not_sure_enough():
    bins = np.array([[0.6, 0.9], [0.9, 1.0], [1, 3]])
    both = [outcomes.Calibration(32, bins, bins[:2], 0.975),
            outcomes.Calibration(8, bins[[1, 0, 2]], bins[:2], 0.825)]  # fmt: skip
    text = outcomes_words.calibration_text(both).replace("\u00a0", " ")
    assert "on 4 texts" in text
    assert (
        "With 32 characters it is right on 97.5 % of the texts, and its mean confidence is"
        " 15.0 points lower." in text
    )
    assert (
        "With 8 characters it is right on 82.5 % of the texts, and its mean confidence is"
        " 15.0 points higher." in text
    )


# --- Pictures and the page ------------------------------------------------------------------------


def test_every_layer_has_a_panel_for_success_nats_and_words():
    chart = picture.outcome_chart(made(), 9.5)
    lines = chart.data
    assert len(lines) == 3 * L * K + L
    best, nats, words = (
        next(line for line in lines if (line.name, line.xaxis) == (DIRECTIONS[FEATURE], axis))
        for axis in ("x2", "x6", "x10")
    )
    assert (best.y[2], nats.y[2], words.y[2]) == (0.9, 1.8, 0.8)
    assert best.error_y.array[2] == 0.02
    bayes = [line for line in lines if "Bayes" in line.name]
    assert [line.y[2] for line in bayes] == [0.05, 0.85, 0.05, 0.05]
    levels = {shape.yref: [] for shape in chart.layout.shapes}
    for shape in chart.layout.shapes:
        levels[shape.yref].append(shape.y0)
    assert levels["y"] == [0.0, 1.0]
    assert levels["y9"] == pytest.approx([0.1, 0.9])
    assert chart.layout.yaxis5.range == (0, 9.5)
    gate = picture.gate_chart([of(0.1, 0.05), of(-0.2, 0.1)], "points")
    np.testing.assert_allclose(gate.data[1].y, [10, -20])
    np.testing.assert_allclose(gate.data[1].error_y.array, [5, 10])


def test_the_tab_opens_with_both_ways_to_push():
    app = open_page(PAGE, tab_steering=MEASURED, steered_gate="G1, per channel",
                    steered_to="English")  # fmt: skip
    assert not app.exception
    for mode in (RELEASED, HELD):
        drawn = figure(app, f"steering_{mode}")
        want = shipped_outcome("g1_channel", mode, "english")
        assert drawn["data"][0]["name"] == DIRECTIONS[0]
        shown = [m.value for m in app.markdown if m.value == outcomes_words.best_text(want, mode)]
        assert len(shown) == 1


def test_the_outcomes_are_saved_as_csv():
    shipped = {("none", 0): load_steering()["none", 0]}
    head, *rows = csv.reader(io.StringIO(csv_text(outcomes_words.outcomes_csv(shipped))))
    assert len(rows) == 2 * 2 + L * K * A * len(MODES) * 2
    assert head[-len(SHOWN) :] == list(SHOWN)
    last = shipped["none", 0][SUCCESS][-1, -1, -1, -1, -1].mean()
    assert rows[-1][:7] == ["no gate", "0", "4", DIRECTIONS[-1], "6.0", "released", "spanish"]
    assert float(rows[-1][7]) == pytest.approx(last)


# --- Measured here --------------------------------------------------------------------------------


def test_one_model_is_shown_with_intervals_over_prompts_and_a_button():
    app = open_page(PAGE, tab_steering=MEASURED, outcomes_of="1", grid_draw="4")
    assert not app.exception
    (note,) = notes(app)
    assert "Texts of seed 4 have not been measured here yet" in note
    want = shipped_outcome("none", HELD, BOTH, (1,))
    assert want.texts == 80
    assert any(m.value == outcomes_words.best_text(want, HELD) for m in app.markdown)
    assert app.button(key=outcomes.START_BUTTON).label.startswith("Measure this model here, about")
    assert not notes(open_page(PAGE, tab_steering=MEASURED, outcomes_of="1"))


def test_a_model_is_measured_in_a_job_and_kept_for_all_visitors(monkeypatch):
    request = GridRequest("none", 2, 7)
    made_here = load_steering()["g1_channel", 2]  # what a job brings, at once
    begun = []

    def measure(wanted):
        begun.append(wanted)
        yield 0.5
        yield made_here

    monkeypatch.setattr(outcomes.GRID, "make", measure)
    link = dict(tab_steering=MEASURED, outcomes_of="2", grid_draw="7")
    app = open_page(PAGE, **link)
    assert not begun
    app.button(key=outcomes.START_BUTTON).click().run()
    assert not app.exception
    assert begun == [request]
    for other in (app, open_page(PAGE, **link)):  # the second is another visitor's
        assert not notes(other)
        assert any("Measured on this server" in c.value for c in other.caption)
        source, arrays = outcomes.source_of(OutcomeSelection("none", 2, 7), made_here)
        want = outcomes.outcome(source, RELEASED, BOTH, tuple(arrays.values()))
        assert any(m.value == outcomes_words.best_text(want, RELEASED) for m in other.markdown)
    assert begun == [request]
    shipped = shipped_outcome("none", RELEASED, BOTH, (2,))
    assert outcomes_words.best_text(want, RELEASED) != outcomes_words.best_text(shipped, RELEASED)


def test_a_job_that_was_cancelled_leaves_what_is_shipped_and_begins_again_on_a_click(monkeypatch):
    begun = []

    def measure(wanted):
        begun.append(wanted)
        while True:
            yield None
            time.sleep(0.01)

    monkeypatch.setattr(outcomes.GRID, "make", measure)
    monkeypatch.setattr(cached_jobs, "AT_ONCE_SECONDS", 0.05)
    app = open_page(PAGE, tab_steering=MEASURED, outcomes_of="0", grid_draw="8")
    app.button(key=outcomes.START_BUTTON).click().run()
    assert [button.key for button in app.button].count(outcomes.START_BUTTON) == 0
    job, _ = app.session_state["_jobs"][outcomes.GRID.name]
    job.cancel(True)
    assert job.join(20)
    app.run()
    assert not app.exception
    assert any("was cancelled after" in info.value for info in app.info)
    assert notes(app)
    app.button(key=f"{outcomes.GRID.name}_again_button").click().run()
    assert len(begun) == 2
    second, _ = app.session_state["_jobs"][outcomes.GRID.name]
    app.selectbox(key="outcomes_of").select("1").run()  # another model: this job ends
    assert second.join(20)


def test_workers_measure_the_parts_that_make_up_the_experiment(monkeypatch):
    monkeypatch.setattr(outcomes, "split_over_workers", lambda function, parts, request: iter(
        [0.5, tuple(one for one in function(parts, request) if one is not None)]))  # fmt: skip
    parts = Part("released", 1, 1), Part("unsteered", 1)
    monkeypatch.setattr(outcomes.core, "parts_of", lambda depth: parts)
    monkeypatch.setattr(experiment, "WRITTEN", 22)
    monkeypatch.setattr(experiment, "STRENGTHS", (4.0,))
    monkeypatch.setattr(experiment, "prompt_verses", lambda: other_verses()[:2])
    share, arrays = outcomes.GRID.make(GridRequest("g1_channel", 1, 3))
    assert share == 0.5
    model, dictionaries = specimen("g1_channel", 1)
    want = drained(experiment.measure_part(model, dictionaries, parts[0], 3))
    np.testing.assert_allclose(arrays["nats"][1, :, :, 1, 1], want.nats, rtol=1e-5)
    assert np.isnan(arrays["nats"]).sum() == arrays["nats"].size * 15 / 16
