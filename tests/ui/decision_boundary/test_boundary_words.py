"""The sentences about runs say what is in the numbers."""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from gating_core.attention import MECHANISMS
from gating_core.experiments.comparison import (
    VARIANTS,
    CurvatureSummary,
    Setting,
    TrainedRun,
    train_setting,
    training_data,
    training_frames,
)
from gating_core.geometry import CURVED, FLAT, UNKNOWN, Integral, Verdict
from gating_core.tasks import TASK_NAME, TASKS
from ui.common.words import percent
from ui.decision_boundary import frame_words, words
from ui.decision_boundary.names import DATA, KINDS
from ui.decision_boundary.picture import _reading
from ui.decision_boundary.request import TYPICAL, WHO
from ui.drawing.axes import frame_axes
from ui.work.runs import Shown

SMALL = Setting(seed_count=3, steps=20, points=400)


@cache
def run_of(setting: Setting) -> TrainedRun:
    *_, run = train_setting(setting)
    assert isinstance(run, TrainedRun)
    return run


def test_what_can_be_reached_without_learning_is_said(monkeypatch):
    run = run_of(replace(SMALL, balance=0.1))
    base = np.maximum((run.task.test_labels == 0).mean(1), (run.task.test_labels == 1).mean(1))
    assert abs(base.mean() - 0.9) < 0.04
    gains = {"ungated": 0.0, "sigmoid": 0.05}
    monkeypatch.setattr(words, "_finals", lambda run, name: base + gains[name])
    text = f"Always guessing the larger class gets {100 * base.mean():.0f}\u00a0%."
    assert f"{text} Not known to be better than that: no gate." in words.table_note(run)
    gains["ungated"] = 0.04
    assert words.table_note(run).endswith(text)


def test_of_more_classes_it_is_the_largest():
    note = words.table_note(run_of(replace(SMALL, task="blobs3", points=300)))
    assert "Always guessing the largest class gets " in note


@pytest.mark.parametrize(
    ("word", "shares", "start"),
    [
        (UNKNOWN, (0.0, 0.0, 0.0, 1.0), "∫|K| dA as measured; no point is known to"),
        (FLAT, (0.0, 0.0, 1.0, 0.0), "no curvature beyond rounding error, seen at 961 points, not"),
        (
            CURVED,
            (0.5, 0.3, 0.2, 0.0),
            "curved, established at the sample points: dome-like on 50\u00a0% and",
        ),
    ],
)
def test_the_line_under_a_total_follows_the_verdict(word, shares, start):
    total = Integral(torch.tensor([4.0]), torch.tensor([0.1]), torch.tensor([True]))
    verdict = Verdict(word, *shares, 0.0, 1e-9, "rigorous", None, 961)
    assert words.final_doubt(CurvatureSummary("silu", 0, total, (verdict,))).startswith(start)


def _exact(number):
    return torch.tensor(number, dtype=torch.bool if isinstance(number, bool) else torch.float64)


@pytest.mark.parametrize(
    ("word", "total", "text"),
    [
        (FLAT, (4.0, 0.1, True), "total curvature **0**: none seen at 961 points"),
        (CURVED, (4.0, 0.1, True), "total curvature **4.0 ± 0.1**"),
        (CURVED, (4.0, 0.1, False), "total curvature **at least 4.0 ± 0.1**"),
        (CURVED, (7.0, 3.0, True), "total curvature **7 ± 3, not converged to 10\u00a0%**"),
        (CURVED, (4.0, 3.0, True), "total curvature: undetermined, the sheet folds too sharply"),
    ],
)
def test_the_total_over_a_picture_has_its_doubt(word, total, text):
    verdict = Verdict(word, 1.0, 0.0, 0.0, 0.0, 0.0, 1e-9, "rigorous", None, 961)
    total = Integral(*map(_exact, total))
    assert words.caption_total(total, verdict, refined=True) == text
    assert words.caption_total(total, verdict) == text.replace(", not converged to 10\u00a0%", "")


def test_totals_along_a_run_stand_over_their_frames():
    """Each frame has its own, the last one the refined total."""
    run = run_of(SMALL)
    count = len(run.frames)
    shown = Shown(run)
    assert all(
        frame_words.NOT_YET in line for line in frame_words.captions(shown, "sigmoid", 0, True)
    )
    lines = frame_words.captions(shown, "sigmoid", 0, False)
    assert all(frame_words.NOT_MEASURED in line for line in lines)
    verdict = Verdict(CURVED, 1.0, 0.0, 0.0, 0.0, 0.0, 1e-9, "estimate", None, 961)
    values = torch.arange(count) + 2.0
    error, complete = torch.full((count,), 0.1, dtype=torch.float64), torch.arange(count) != 1
    along = Integral(values, error, complete)
    end = Integral(*map(_exact, (9.0, 0.2, True)))
    key = "sigmoid", 0
    path = {key: CurvatureSummary(*key, along, (verdict,) * count)}
    shown = Shown(run, path, {key: CurvatureSummary(*key, end, (verdict,))})
    lines = frame_words.captions(shown, "sigmoid", 0, False, filled=np.full(count, 0.02))
    accuracy = run.variants["sigmoid"].ensemble.test_accuracy[:, 0]
    for frame, line in enumerate(lines):
        total = "9.0 ± 0.2" if frame == count - 1 else f"{frame + 2}.0 ± 0.1"
        total = f"at least {total}" if frame == 1 else total
        assert line == (
            f"Test accuracy **{percent(accuracy[frame])}** · total curvature **{total}**"
            " · the sheet covers 2\u00a0% of its triangle"
        )
    ends = words.ends_text({"ungated": None, "sigmoid": shown.final["sigmoid", 0]})
    assert ends.startswith("At the last step, sigmoid gate: curved, seen at points: dome-like on 1")
    assert words.ends_text({"ungated": None, "sigmoid": None}) == ""


@pytest.mark.parametrize(
    ("shares", "text"),
    [
        ([0.72, 0.74], "73.0 ± 12.8\u00a0%"),
        ([0.6, 0.61, 0.62], "61.0 ± 2.5\u00a0%"),
        ([0.98, 0.99, 1.0], "99\u00a0% (96 to 100\u00a0%)"),
    ],
)
def test_a_mean_accuracy_has_one_decimal_and_ends_where_accuracies_do(shares, text):
    assert words.mean_text(np.array(shares)) == text


def test_numbers_of_a_sentence_subtract_to_the_difference_that_it_says():
    """73.44 and 85.77 would be 73.4 and 85.8, and their difference is 12.3."""
    spread = np.array([-0.01, 0.0, 0.01])
    run = _with(run_of(SMALL), 0.7344 + spread, 0.8577 + spread)
    reading = frame_words.readings(run)[-1]
    assert "no gate 73.44 ± 2.49\u00a0%, sigmoid gate 85.77 ± 2.49\u00a0%." in reading
    assert "helps by 12.3 ± 0.0 points" in reading
    assert words.table(run)["Accuracy on new points"] == [
        "73.44 ± 2.49\u00a0%", "85.77 ± 2.49\u00a0%",
    ]  # fmt: skip
    run = _with(run_of(SMALL), 0.7344 + spread, 0.8574 + spread)
    assert (
        "no gate 73.4 ± 2.5\u00a0%, sigmoid gate 85.7 ± 2.5\u00a0%."
        in (frame_words.readings(run)[-1])
    )


def test_steps_that_are_not_drawn_are_counted():
    run = run_of(SMALL)
    count = len(run.frames)
    assert frame_words.frames_text(run, count) == ""
    assert (
        frame_words.frames_text(run, count - 1) == f"{count - 1} of {count} saved steps are shown."
    )


def test_a_plane_that_three_components_cannot_show_is_named():
    run = run_of(replace(SMALL, model_dim=8, task="spiral", variants=("ungated", "sigmoid")))
    sides = {
        side: training_frames(run, name, 0)
        for side, name in zip(("left", "right"), run.setting.compared, strict=True)
    }
    assert frame_words.axes_text(sides, frame_axes(sides)).endswith(
        "In these the plane of the left and right models cannot be drawn at any step."
    )


def test_a_point_says_its_probability():
    assert _reading(training_data(run_of(SMALL), 0)) == "p(class 1) = %{z:.2f}"


def test_a_sentence_for_every_frame_says_what_the_seeds_say(monkeypatch):
    run = run_of(SMALL)
    monkeypatch.setattr(words, "has_learned", lambda *_: True)
    readings = frame_words.readings(run)
    assert len(readings) == len(run.frames)
    for frame, reading in enumerate(readings):
        assert reading.startswith(f"Step {run.steps[frame]}, new points right: no gate ")
        assert reading.endswith(words.verdict(run, frame))
    assert readings[0] != readings[-1].replace(str(run.steps[-1]), "0")


def test_which_seed_is_shown_and_why_is_said():
    assert frame_words.shown_text(run_of(SMALL), 1, TYPICAL) == (
        "Seed 1 is shown. It is nearest to the medians over seeds of test accuracies and total"
        " curvatures."
    )
    texts = {frame_words.shown_text(run_of(SMALL), 1, chosen) for chosen in (*WHO, "picked")}
    assert len(texts) == len(WHO) + 1
    assert "Seed 1 is shown. It is the best of the left model on its training points." in texts


@pytest.mark.parametrize(
    ("accuracy", "learned"),
    [
        ([0.73, 0.74, 0.75], True),  # 0.74 ± 0.025: its end is beyond 0.75
        ([0.735, 0.74, 0.745], True),  # 0.74 ± 0.0124
        ([0.739, 0.74, 0.741], False),  # 0.74 ± 0.0025
        ([0.60, 0.60, 0.60], False),
    ],
)
def test_nothing_is_learned_where_an_interval_ends_below_halfway_to_all(accuracy, learned):
    base = np.full(len(accuracy), 0.5)
    assert words.has_learned(np.array(accuracy), base) is learned
    raised = np.array(accuracy) + 0.1  # of a base rate of 0.7, halfway is 0.85
    assert words.has_learned(raised, base + 0.2) is learned


def _with(run, left, right):
    """``run`` with other final accuracies, the same for all seeds."""
    frames = [replace(frame, snapshots=dict(frame.snapshots)) for frame in run.frames]
    for name, share in zip(run.setting.compared, (left, right), strict=True):
        last = frames[-1].snapshots
        last[name] = replace(last[name], test_accuracy=np.array(share))
    return replace(run, frames=tuple(frames))


def test_that_neither_has_learned_is_said_first_beside_the_base_rate():
    run = run_of(SMALL)
    base = words.base_shares(run).mean()
    assert abs(base - 0.5) < 0.03
    low, high = np.array([0.6, 0.61, 0.62]), np.array([0.64, 0.66, 0.65])
    reading = frame_words.readings(_with(run, low, high))[-1]
    assert reading == (
        "Step 20. **Neither has learned much:** no gate 61.0 ± 2.5\u00a0% and sigmoid gate 65.0 ±"
        " 2.5\u00a0% of new points right. Always guessing the larger class gets"
        f" {percent(base)}. The mean difference over 3 seeds is 4.0 ± 2.5 points."
    )
    assert "**Neither has learned much yet:**" in frame_words.readings(_with(run, low, high))[0]
    better = frame_words.readings(_with(run, low, high + 0.3))[-1]
    assert better.startswith("Step 20, new points right: no gate 61.0 ± 2.5\u00a0%, sigmoid")
    assert "**Sigmoid gate helps by 34.0 ± 2.5 points**" in better


@pytest.mark.parametrize("task", ["spiral", "rings"])
def test_a_short_run_of_a_hard_task_has_not_learned_much(task):
    run = run_of(replace(SMALL, task=task))
    reading = frame_words.readings(run)[-1]
    assert reading.startswith("Step 20. **Neither has learned much:** no gate ")
    guess = words.guess_text(run).replace("always", "Always")
    assert f" of new points right. {guess}. The mean difference over 3 seeds is " in reading


def test_where_the_theorem_does_not_apply_the_first_sentence_says_so():
    for source, moves in (("memory", False), ("tokens", True)):
        run = run_of(replace(SMALL, source=source, steps=5))
        for reading in frame_words.readings(run):
            assert reading.startswith("Values come from tokens here") is moves
            assert "difference" in reading or "helps" in reading or "hurts" in reading
    for name, mechanism in MECHANISMS.items():
        text = frame_words.theorem_text(replace(SMALL, source=name))
        assert ("does not apply." in text) is not (
            mechanism.fixed_values and mechanism.weights_on_simplex
        )


def test_epochs_are_those_that_were_trained():
    """Of 100 training points a batch of 64 is 0.64 epochs; of fewer points each is a whole one."""
    assert frame_words.frame_labels(run_of(SMALL))[-1] == "step 20 · epoch 12.8"
    few = run_of(replace(SMALL, points=100))
    assert frame_words.frame_labels(few)[-1] == "step 20 · epoch 20"


def test_a_picture_that_is_out_of_date_says_of_what_it_is():
    run = run_of(SMALL)
    assert frame_words.stale_text(run, run.setting) == ""
    assert frame_words.stale_text(run, replace(SMALL, steps=60)) == ""  # the same run, further
    rings = replace(SMALL, task="rings")
    assert frame_words.stale_text(run, rings) == "Still showing circle. Rings is training."
    assert frame_words.stale_text(run, rings, going=False) == (
        "Still showing circle. Rings is not trained yet."
    )
    assert frame_words.stale_text(run, replace(SMALL, variants=("ungated", "silu"))) == (
        "Still showing no gate and sigmoid gate. No gate and SiLU gate are training."
    )
    assert frame_words.stale_text(run, replace(SMALL, seed=9)) == (
        "Still showing the run before. The new run is training."
    )


def test_every_data_set_and_every_kind_of_attention_has_a_name_and_a_line_of_its_own():
    assert set(DATA) == {*TASKS, TASK_NAME}, "rows of assets/lessons/decision_boundary.md, ## data"
    assert set(KINDS) == set(VARIANTS)
    for names in (DATA, KINDS):
        assert len({named.name for named in names.values()}) == len(names)
        assert len({named.line for named in names.values()}) == len(names)


def test_the_sentence_says_the_base_rate_where_one_class_is_clearly_larger(monkeypatch):
    monkeypatch.setattr(words, "has_learned", lambda *_: True)
    lopsided = run_of(replace(SMALL, balance=0.1))
    for reading in frame_words.readings(lopsided):
        assert f", {words.guess_text(lopsided)}. " in reading
    assert words.guess_text(lopsided) == "always guessing the larger class gets 90\u00a0%"
    for even in (SMALL, replace(SMALL, task="blobs3", points=300)):
        assert all("always" not in text for text in frame_words.readings(run_of(even)))


def test_sentence_and_table_round_a_difference_alike():
    run = run_of(SMALL)
    _, gap = next(rows for name, rows in words.table(run).items() if name.startswith("Against"))
    assert re.fullmatch(r"−?\d+\.\d ± \d+\.\d points", gap)
    value, error = gap.removesuffix(" points").split(" ± ")
    assert f"{value.removeprefix('−')} ± {error}" in words.verdict(run)


@pytest.mark.parametrize(("depth", "said"), [(1, "1 layer, "), (2, "2 layers, ")])
def test_a_figure_counts_its_layers(depth, said):
    run = run_of(replace(SMALL, depth=depth))
    assert said in frame_words.still_text(run, 0)
