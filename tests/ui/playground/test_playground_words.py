"""Do the sentences about runs say what is in the numbers, in words that one needs not learn?"""

import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from gating_core.experiments.comparison import (
    VARIANTS,
    CurvatureSummary,
    Setting,
    TrainedRun,
    film_data,
    film_frames,
    train_setting,
)
from gating_core.geometry import CURVED, FLAT, UNKNOWN, Integral, Verdict
from gating_core.tasks import TASK_NAME, TASKS
from ui.drawing.axes import film_axes
from ui.playground import film_words, words
from ui.playground.names import DATA, KINDS
from ui.playground.picture import _reading
from ui.playground.request import TYPICAL, WHO

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
    text = f"Always the larger class: {100 * base.mean():.0f}\u00a0%."
    assert f"{text} No better than that: no gate." in words.table_note(run)
    gains["ungated"] = 0.04
    assert words.table_note(run).endswith(text)


def test_of_more_classes_it_is_the_largest():
    note = words.table_note(run_of(replace(SMALL, task="blobs3", points=300)))
    assert "Always the largest class: " in note


@pytest.mark.parametrize(
    ("word", "shares", "start"),
    [
        (UNKNOWN, (0.0, 0.0, 0.0, 1.0), "∫|K| dA as measured; at no point is it known"),
        (FLAT, (0.0, 0.0, 1.0, 0.0), "flat: no curvature beyond rounding error"),
        (CURVED, (0.5, 0.3, 0.2, 0.0), "curved, dome-like on 50\u00a0% and saddle-like on 30"),
    ],
)
def test_the_line_under_a_total_follows_the_verdict(word, shares, start):
    total = Integral(torch.tensor([4.0]), torch.tensor([0.1]), torch.tensor([True]))
    verdict = Verdict(word, *shares, 0.0, 1e-9, "rigorous", None)
    assert words.final_doubt(CurvatureSummary("silu", 0, total, (verdict,))).startswith(start)


def test_steps_that_are_not_drawn_are_counted():
    run = run_of(SMALL)
    count = len(run.frames)
    assert film_words.frames_text(run, count) == ""
    assert (
        film_words.frames_text(run, count - 1) == f"{count - 1} of {count} saved steps are shown."
    )


def test_a_plane_that_three_components_cannot_show_is_named():
    run = run_of(replace(SMALL, model_dim=8, task="spiral", variants=("ungated", "sigmoid")))
    sides = {
        side: film_frames(run, name, 0)
        for side, name in zip(("left", "right"), run.setting.compared, strict=True)
    }
    assert film_words.axes_text(sides, film_axes(sides)).endswith(
        "On the left and the right no plane: three components cannot show it."
    )


def test_a_point_says_its_probability():
    assert _reading(film_data(run_of(SMALL), 0)) == "p(class 1) = %{z:.2f}"


def test_a_sentence_for_every_frame_says_what_the_seeds_say_and_whose_choice_is_shown():
    run = run_of(SMALL)
    readings = film_words.readings(run, 1, TYPICAL)
    assert len(readings) == len(run.frames)
    for frame, reading in enumerate(readings):
        assert reading.startswith(f"Step {run.steps[frame]}, new points right: no gate ")
        assert words.verdict(run, frame) in reading
    assert readings[0] != readings[-1].replace(str(run.steps[-1]), "0")
    assert readings[-1].endswith(
        "Shown: seed 1, whose difference on new points is the typical one (the median of all"
        " seeds)."
    )
    assert set(film_words.WHOSE) == {*WHO, "picked"}


def test_epochs_are_those_that_were_trained():
    """Of 100 training points a batch of 64 is 0.64 epochs; of fewer points each is a whole one."""
    assert film_words.frame_labels(run_of(SMALL))[-1] == "step 20 · epoch 12.8"
    few = run_of(replace(SMALL, points=100))
    assert film_words.frame_labels(few)[-1] == "step 20 · epoch 20"


def test_a_picture_that_is_out_of_date_says_of_what_it_is():
    run = run_of(SMALL)
    assert film_words.stale_text(run, run.setting) == ""
    assert film_words.stale_text(run, replace(SMALL, steps=60)) == ""  # the same run, further
    text = film_words.stale_text(run, replace(SMALL, task="xor"))
    assert text.startswith("Still circle, no gate beside sigmoid gate. Xor, ")
    assert film_words.stale_text(run, replace(SMALL, seed=9)).startswith("The run before.")


def test_every_data_set_and_every_kind_of_attention_has_a_name_and_a_line_of_its_own():
    assert set(DATA) == {*TASKS, TASK_NAME}
    assert set(KINDS) == set(VARIANTS)
    for names in (DATA, KINDS):
        assert len({named.name for named in names.values()}) == len(names)
        assert len({named.line for named in names.values()}) == len(names)


def test_the_sentence_says_the_base_rate_where_one_class_is_clearly_larger():
    lopsided = run_of(replace(SMALL, balance=0.1))
    for reading in film_words.readings(lopsided, 0, TYPICAL):
        assert f", {words.base_text(lopsided)}. " in reading
    assert words.base_text(lopsided) == "always the larger class: 90\u00a0%"
    for even in (SMALL, replace(SMALL, task="blobs3", points=300)):
        assert all(
            "always the" not in text for text in film_words.readings(run_of(even), 0, TYPICAL)
        )


def test_sentence_and_table_round_a_difference_alike():
    run = run_of(SMALL)
    _, gap = next(rows for name, rows in words.table(run).items() if name.startswith("Against"))
    assert re.fullmatch(r"−?\d+\.\d ± \d+\.\d points", gap)
    value, error = gap.removesuffix(" points").split(" ± ")
    assert f"{value.removeprefix('−')} ± {error}" in words.verdict(run)


@pytest.mark.parametrize(("depth", "said"), [(1, "1 layer, "), (2, "2 layers, ")])
def test_a_figure_counts_its_layers(depth, said):
    run = run_of(replace(SMALL, depth=depth))
    assert said in film_words.still_text(run, 0)
