"""The nearest run is trained whatever is asked for, and every difference has a note."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gating_core.attention import MECHANISMS, NORMS
from gating_core.experiments.comparison import VARIANTS
from gating_core.tasks import TASK_NAME, TASKS
from ui.decision_boundary.controls import DECISION_BOUNDARY
from ui.decision_boundary.request import FIRST, BoundaryRequest, resolve, setting

ANYTHING = st.builds(
    BoundaryRequest,
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
    assert resolve(BoundaryRequest(), None) == (BoundaryRequest(), [])
    assert setting(BoundaryRequest(), None) == FIRST


@given(ANYTHING)
def test_whatever_is_asked_for_there_is_a_run_and_a_note_for_each_difference(request):
    resolved, notes = resolve(request, None)
    assert setting(resolved, None).variants[:2] == (resolved.left, resolved.right)
    assert all(note.endswith(".") for _, note in notes)
    assert {field for field, _ in notes} <= FEEDS
    again, more = resolve(resolved, None)
    assert again == resolved  # what can be is left as it is
    assert not [note for _, note in more if "Shown" in note]
    text = " ".join(note for _, note in notes)
    for name in ("task", "left", "right", "heads"):
        assert getattr(resolved, name) == getattr(request, name) or "Shown" in text


NEEDS = "Gate on the values (G2): keys and values must come from tokens, because a memory slot"


@pytest.mark.parametrize(
    ("fields", "sentences", "variants"),
    [
        (dict(heads=2), ["2 heads do not divide D = 3. Shown: 1."], None),
        (dict(heads=4, model_dim=6), ["4 heads do not divide D = 6. Shown: 2."], None),
        (dict(right="value"), [NEEDS], ("ungated", "sigmoid")),
        (dict(left="value", right="silu"), ["Shown: no gate."], ("ungated", "silu")),
        (dict(left="silu", right="silu"), ["Left and right are the same"], ("silu", "ungated")),
        (dict(right="ungated"), ["Left and right are the same"], ("ungated", "sigmoid")),
        (dict(left="sigmoid", right="value"), [NEEDS, "are the same"], ("sigmoid", "ungated")),
        (dict(task="blobs3", balance=0.3), ["cannot be set for three blobs"], None),
        (dict(task="own"), ["There are no points of your own yet. Shown: circle."], None),
        (dict(right="matched"), ["The matched model is wider"], ("ungated", "matched")),
        (dict(left="half", right="matched"), [], ("half", "matched")),  # half has no weights
        (dict(left="matched", right="matched"), ["are the same", "is wider"], None),
        (dict(also=("matched",)), [], ("ungated", "sigmoid", "matched")),
        (dict(also=("value", "silu")), ["Left out"], ("ungated", "sigmoid", "silu")),
        (dict(also=("sigmoid", "ungated")), [], ("ungated", "sigmoid")),
        (dict(train_share=0.05), ["At least 10% of the points must train. Shown: 10%."], None),
        (
            dict(right="half", norm="post"),
            ["Constant gate of ½: a gate that scales all channels alike"],
            None,
        ),
        (dict(right="half", norm="post", residual=True), [], None),
        (dict(right="headwise", norm="post"), ["Sigmoid gate, one per head: a gate"], None),
        (dict(entropy_bonus=0.05), ["spread out, by 0.05 × their entropy"], None),
    ],
    ids=str,
)
def test_what_cannot_be_gets_one_note_each(fields, sentences, variants):
    resolved, notes = resolve(BoundaryRequest(**fields), None)
    assert len(notes) == len(sentences)
    for (_, note), sentence in zip(notes, sentences, strict=True):
        assert sentence in note
    if variants:
        assert setting(resolved, None).variants == variants


def test_the_task_that_is_shown_instead_is_the_one_that_is_named():
    resolved, ((control, note),) = resolve(replace(BoundaryRequest(), task=TASK_NAME), None)
    assert control == "task"
    assert note.endswith(f"Shown: {resolved.task}.")
