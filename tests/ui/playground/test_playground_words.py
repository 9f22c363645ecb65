"""Do the sentences about runs say what is in the numbers, in words that one needs not learn?"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from gating_core.experiments.comparison import (
    CurvatureSummary,
    Setting,
    TrainedRun,
    film_data,
    film_frames,
    train_setting,
)
from gating_core.geometry import Integral
from ui.drawing.axes import film_axes
from ui.playground import film_words, words
from ui.playground.picture import _reading

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


def summary(value: float, error: float, curved: float, unresolved: float) -> CurvatureSummary:
    total = Integral(torch.tensor([value]), torch.tensor([error]), torch.tensor([True]))
    shares = np.array([curved]), np.array([unresolved])
    return CurvatureSummary("silu", 0, total, np.array([False]), *shares)


@pytest.mark.parametrize(
    ("curved", "unresolved", "text"),
    [
        (0.0, 0.0, "undecided: errors too large to tell"),
        (0.0, 0.25, "undecided: errors too large to tell; 25\u00a0% of the points are unresolved"),
        (0.5, 0.0, "50\u00a0% of the area is known to curve"),
    ],
)
def test_a_surface_of_which_nothing_is_known_is_undecided(curved, unresolved, text):
    assert words.final_doubt(summary(4.0, 0.1, curved, unresolved)) == text


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
