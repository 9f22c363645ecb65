"""Is the nearest run trained whatever is asked for, and is every difference said?"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gating_core.attention import MECHANISMS, NORMS
from gating_core.experiments.comparison import VARIANTS
from gating_core.tasks import TASK_NAME, TASKS
from tests.profiles import fuzz
from ui.common.possible import fitting_heads
from ui.decision_boundary.controls import DECISION_BOUNDARY
from ui.decision_boundary.request import FIRST, Request, resolve, setting
from ui.manifold.request import ManifoldRequest
from ui.manifold.request import resolve as resolve_manifold

ANYTHING = st.builds(
    Request,
    task=st.sampled_from((*TASKS, TASK_NAME)),
    left=st.sampled_from(tuple(VARIANTS)),
    right=st.sampled_from(tuple(VARIANTS)),
    also=st.lists(st.sampled_from(tuple(VARIANTS)), max_size=4).map(tuple),
    train_share=st.floats(0, 0.9),
    noise=st.floats(0, 0.5),
    label_noise=st.floats(0, 0.5),
    balance=st.floats(0, 0.9),
    source=st.sampled_from(tuple(MECHANISMS)),
    model_dim=st.integers(3, 16),
    heads=st.integers(1, 4),
    residual=st.booleans(),
    norm=st.sampled_from(NORMS),
)
FEEDS = {control.feeds for control in DECISION_BOUNDARY.values()}


def test_the_default_has_nothing_to_excuse():
    assert resolve(Request(), None) == (Request(), [])
    assert setting(Request(), None) == FIRST


@fuzz()
@given(ANYTHING)
def test_whatever_is_asked_for_there_is_a_run_and_a_sentence_for_each_difference(request):
    found, notes = resolve(request, None)
    assert setting(found, None).variants[:2] == (found.left, found.right)
    assert all(note.endswith(".") for _, note in notes)
    assert {field for field, _ in notes} <= FEEDS
    again, more = resolve(found, None)
    assert again == found  # what can be is left as it is
    assert not [note for _, note in more if "Shown" in note]
    said = " ".join(note for _, note in notes)
    for name in ("task", "left", "right", "heads"):
        assert getattr(found, name) == getattr(request, name) or "Shown" in said


@pytest.mark.parametrize("dim", range(3, 17))
@pytest.mark.parametrize("heads", range(1, 5))
def test_both_pages_answer_alike_how_many_heads_there_are(heads, dim):
    found, notes = resolve(Request(heads=heads, model_dim=dim), None)
    manifold = resolve_manifold(ManifoldRequest(heads=heads, model_dim=dim, grid=31))
    assert found.heads == manifold.variants[0].config.heads
    assert dim % found.heads == 0
    assert dict(notes).get("heads") == manifold.notes.get("heads")


def test_four_heads_in_six_dimensions_are_two():
    assert fitting_heads(4, 6) == (2, "4 heads do not divide D = 6. Shown: 2.")
    assert fitting_heads(3, 6) == (3, "")


def test_the_task_that_is_shown_instead_is_the_one_that_is_named():
    found, ((control, note),) = resolve(replace(Request(), task=TASK_NAME), None)
    assert control == "task"
    assert note.endswith(f"Shown: {found.task}.")
