"""The nearest run is trained whatever is asked for, and every difference has a note."""

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gating_core.attention import MECHANISMS, NORMS
from gating_core.experiments.comparison import VARIANTS, TooLarge
from gating_core.tasks import TASK_NAME, TASKS
from gating_core.training import OPTIMISERS
from tests.profiles import fuzz
from ui import limits
from ui.decision_boundary.controls import (
    DATA,
    FIRST,
    KINDS,
    TooLong,
    resolve,
)

ANYTHING = st.builds(
    dict,
    task=st.sampled_from((*TASKS, TASK_NAME)),
    variants=st.lists(st.sampled_from(tuple(VARIANTS)), min_size=2, max_size=6).map(tuple),
    points=st.integers(*limits.BOUNDARY_POINTS),
    train_share=st.floats(0, 0.9),
    noise=st.floats(0, 0.5),
    label_noise=st.floats(0, 0.5),
    balance=st.floats(0, 0.9),
    source=st.sampled_from(tuple(MECHANISMS)),
    model_dim=st.integers(*limits.BOUNDARY_CHANNELS),
    value_count=st.integers(*limits.BOUNDARY_VALUES),
    heads=st.integers(*limits.BOUNDARY_HEADS),
    depth=st.integers(*limits.BOUNDARY_LAYERS),
    residual=st.booleans(),
    norm=st.sampled_from(NORMS),
    steps=st.integers(*limits.BOUNDARY_STEPS),
    seed_count=st.integers(*limits.BOUNDARY_SEEDS),
    optimiser=st.sampled_from(tuple(OPTIMISERS)),
    weight_decay=st.floats(0, 1),
    entropy_bonus=st.floats(0, 0.3),
)


def test_the_default_has_nothing_to_excuse():
    assert resolve({}) == (FIRST, [])


@fuzz()
@given(ANYTHING)
def test_whatever_is_asked_for_there_is_a_run_within_limits_and_a_note_for_each_difference(asked):
    try:
        found, notes = resolve(asked)
    except (TooLarge, TooLong):
        return
    assert all(note.endswith(".") for note in notes)
    assert found.training_numbers <= limits.TRAINING_NUMBERS
    again, more = resolve({each.name: getattr(found, each.name) for each in fields(found)})
    assert again == found  # what can be is left as it is
    assert not [note for note in more if "Shown" in note]
    same = found.variants[:2] == asked["variants"][:2]
    same &= (found.task, found.heads) == (asked["task"], asked["heads"])
    assert same or "Shown" in " ".join(notes)


NEEDS = "Gate on the values (G2): keys and values must come from tokens, because a learned slot"


@pytest.mark.parametrize(
    ("fields", "sentences", "variants"),
    [
        (dict(heads=4, model_dim=6), ["4 heads do not divide D = 6. Shown: 2."], None),
        (dict(right="value"), [NEEDS], ("ungated", "sigmoid")),
        (dict(left="value", right="silu"), ["Shown: no gate."], ("ungated", "silu")),
        (dict(left="silu", right="silu"), ["Left and right are the same"], ("silu", "ungated")),
        (dict(left="sigmoid", right="value"), [NEEDS, "are the same"], ("sigmoid", "ungated")),
        (dict(right="sink"), [], ("ungated", "sink")),
        (dict(right="sink", source="linear"),
         ["No gate, learned sink logit: this attention has no softmax"], ("ungated", "sigmoid")),
        (dict(sink="zero"), [], ("ungated", "sigmoid")),
        (dict(sink="learned", source="linear"), ["which this attention does not have"], None),
        (dict(sink="learned", right="sink"), ["is the model without a gate"], ("ungated", "sink")),
        (dict(task="blobs3", balance=0.3), ["cannot be set for three blobs"], None),
        (dict(task="own"), ["There are no points of your own yet. Shown: circle."], None),
        (dict(right="matched"), ["The matched model is wider"], ("ungated", "matched")),
        (dict(left="half", right="matched"), [], ("half", "matched")),  # half has no weights
        (dict(also=("value", "silu")), ["Not trained"], ("ungated", "sigmoid", "silu")),
        (dict(also=("sigmoid", "ungated")), [], ("ungated", "sigmoid")),
        (dict(train_share=0.05), ["At least 10% of the points must train. Shown: 10%."], None),
        (dict(right="half", norm="post"),
         ["Constant gate of ½: a gate that scales all channels alike"], None),
        (dict(right="half", norm="post", residual=True), [], None),
        (dict(right="headwise", norm="post"), ["Sigmoid gate, one per head: a gate"], None),
        (dict(price="K", price_weight=0.1, steps=375), ["in a run of 375 steps"], None),
        (dict(price="K", price_weight=0.1), [], None),
        (dict(entropy_bonus=0.05), ["by 0.05 × the entropy"], None),
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_gets_one_note_each(fields, sentences, variants):
    fields = dict(fields)
    left, right = (
        fields.pop(side, first)
        for side, first in zip(("left", "right"), FIRST.variants, strict=True)
    )
    setting, notes = resolve({"variants": (left, right, *fields.pop("also", ())), **fields})
    assert len(notes) == len(sentences)
    for note, sentence in zip(notes, sentences, strict=True):
        assert sentence in note
    if variants:
        assert setting.variants == variants


def test_every_data_set_and_every_kind_of_attention_has_a_name_and_a_line_of_its_own():
    assert set(DATA) == {*TASKS, TASK_NAME}, "rows of assets/lessons/decision_boundary.md, ## data"
    assert set(KINDS) == set(VARIANTS)
    for names in (DATA, KINDS):
        assert len({named.name for named in names.values()}) == len(names)
        assert len({named.line for named in names.values()}) == len(names)
