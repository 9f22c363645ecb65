"""Which models does a study train, and is every row known by a key of its own?"""

import json
from dataclasses import asdict, dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gating_core.claims import CLAIMS, SELECTIONS, V2, Selection, study
from gating_core.claims.claim import BASE_VARIANTS, FULL_TASKS, LABEL_NOISE, LINEAR, STACKS
from gating_core.claims.study import UNIT_SEEDS, Unit
from gating_core.experiments.comparison import Setting
from tests.core.claims.conftest import TINY

FULL, QUICK = (SELECTIONS[name] for name in ("full", "quick"))


def models(selection):
    return [unit for unit in selection.units() if unit.part != STACKS]


def cells(selection):
    """(part, task, variant, source, depth, n, seed) of every model."""
    return [
        (unit.part, x.task, name, x.source, x.depth, x.value_count, seed)
        for unit in models(selection)
        for x in [unit.setting]
        for name in x.variants
        for seed in x.seeds
    ]


def test_the_full_study_is_what_the_issue_asks_for():
    found = cells(FULL)
    assert FULL.size.models == len(found) == len(set(found)) >= 3000
    base = {cell[1:] for cell in found if cell[0] == "base"}
    assert base == {
        (task, name, "memory", 1, 3, seed)
        for task in FULL_TASKS
        for name in BASE_VARIANTS
        for seed in range(32)
    }
    assert set(LINEAR) < set(FULL_TASKS)
    assert len(FULL_TASKS) == 8
    assert {"additive", "pointwise", "half", "matched"} <= set(BASE_VARIANTS)
    varied = {cell[1:] for cell in found if cell[0] != "base"}
    assert varied == {
        (task, name, *where, seed)
        for task in ("linear", "xor", "circle", "spiral")
        for name in ("ungated", "sigmoid")
        for where in (("memory", 2, 3), ("memory", 3, 3), ("memory", 1, 4), ("memory", 1, 8),
                      ("tokens", 1, 3))
        for seed in range(32)
    }  # fmt: skip


def test_linear_tasks_are_kept_from_their_ceiling():
    for unit in models(FULL):
        linear = unit.setting.task in LINEAR
        assert unit.setting.label_noise == (LABEL_NOISE if linear else 0.0)


def test_the_quick_study_is_done_when_the_full_one_has_begun():
    quick, full = ({unit.key for unit in x.units()} for x in (QUICK, FULL))
    rows, more = ({key for unit in x.units() for key in unit.keys.values()} for x in (QUICK, FULL))
    assert quick < full
    assert rows < more


def test_every_setting_has_its_first_seeds_before_any_has_more():
    firsts = [unit.setting.seed for unit in models(FULL)]
    assert firsts == sorted(firsts)
    assert max(unit.setting.seed_count for unit in models(FULL)) == UNIT_SEEDS


@pytest.mark.sampled(3)
@pytest.mark.parametrize("claim", CLAIMS)
def test_a_claim_gets_all_that_it_needs_and_units_without_it_are_left_out(claim):
    needed = CLAIMS[claim]
    grid = SELECTIONS["v2"] if CLAIMS[claim].criteria is V2 else FULL
    some = list(replace(grid, only=claim).units())
    keys = {unit.key for unit in some}
    assert some
    for unit in grid.units():
        if unit.part == STACKS:
            wanted = claim == "C7"
        else:
            x = unit.setting
            wanted = (
                unit.part in needed.parts
                and x.task in needed.tasks
                and any(name in needed.variants for name in x.variants)
            )
        assert (unit.key in keys) == wanted


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (dict(tasks=("xor", "hexagon")), "hexagon"),
        (dict(tasks=()), "at least one"),
        (dict(tasks=("xor", "xor")), "each once"),
        (dict(variants=("ungated", "relu")), "relu"),
        (dict(variants=("value",)), "tokens"),
        (dict(parts=("width",)), "width"),
        (dict(seed_count=0), "seeds is 0"),
        (dict(seed_count=65), "from 1 to 64"),
        (dict(steps=0), "steps is 0"),
        (dict(only="C8"), "C8"),
    ],
)
def test_what_cannot_be_selected_is_refused_in_a_sentence(wrong, said):
    with pytest.raises(ValueError, match=said):
        Selection(**wrong)


# --- Keys ---

settings = st.builds(
    Setting,
    task=st.sampled_from(["xor", "circle", "linear"]),
    points=st.integers(16, 60),
    label_noise=st.floats(0, 0.5),
    variants=st.sampled_from([("ungated",), ("sigmoid",), ("ungated", "sigmoid"), ("half",)]),
    model_dim=st.integers(2, 9),
    depth=st.integers(1, 3),
    seed=st.integers(0, 50),
    seed_count=st.integers(1, 4),
    steps=st.integers(1, 20),
    learning_rate=st.floats(0, 1),
)


@given(settings, settings)
def test_a_key_stands_for_one_setting_and_one_member_alone(one, other):
    keys = [key for x in (one, other) for key in Unit("base", x).keys.values()]
    distinct = {json.dumps(asdict(x)) for x in (one, other)}
    members = {json.dumps(asdict(x)): len(x.variants) * x.seed_count for x in (one, other)}
    assert len(set(keys)) == sum(members[x] for x in distinct)


def test_where_a_model_stands_in_the_grid_is_no_part_of_its_key():
    (unit, *_) = models(TINY)
    assert Unit("all", unit.setting).keys == unit.keys


def test_keys_change_with_the_version_and_not_with_a_field_at_its_default(monkeypatch):
    @dataclass(frozen=True)
    class WiderSetting(Setting):
        more: float = 0.0

    (unit, *_) = models(TINY)
    wider = WiderSetting(**asdict(unit.setting))
    key = unit.key
    assert Unit("base", wider).key == key
    assert Unit("base", replace(wider, more=1.0)).key != key
    monkeypatch.setattr(study, "STUDY_VERSION", "other")
    assert replace(unit).key != key
