"""Links to models say what the core reads in them."""

from dataclasses import fields, replace
from urllib.parse import urlencode

import pytest

from gating_core.claims import SELECTIONS
from gating_core.claims.claim import STACKS
from tests.ui.opening import mistakes, open_page
from ui.claims.models import model_link, model_text
from ui.claims.shared import Source, rows_of
from ui.decision_boundary.controls import FIRST, resolve
from ui.work import runs


@pytest.fixture(scope="module")
def bundled():
    """Models and stacks."""
    return rows_of(Source())


FIELDS = {  # of `Setting`, by the parameter of the link
    "data": "task", "steps": "steps", "points": "points",
    "share": "train_share", "flip": "label_noise", "decay": "weight_decay", "from": "source",
    "width": "model_dim", "slots": "value_count", "stack": "depth", "skip": "residual",
    "seeds": "seed_count", "first": "seed",
}  # fmt: skip


def opened(row):
    """The setting of the Decision boundary page whose link is that of ``row``."""
    link = model_link(row)
    given = {"variants": (link["left"], link["right"])}
    for name, field in FIELDS.items():
        kind = type(getattr(FIRST, field))
        given[field] = link[name] == "true" if kind is bool else kind(link[name])
    setting, notes = resolve(given)
    assert all("Left and right" in note or "matched" in note for note in notes), notes
    return setting


def test_the_page_reads_the_link(bundled, monkeypatch):
    """As `opened` does, and uses all of it."""
    row = replace(bundled[0][0], task="xor", variant="silu", source="tokens", depth=2, seed=13)

    def nothing(setting):
        yield from ()

    monkeypatch.setattr(runs, "train_setting", nothing)
    app = open_page("pages/2_Decision_boundary.py", **model_link(row))
    assert not app.exception
    assert mistakes(app) == []
    assert app.session_state["boundary_setting"] == opened(row)
    assert set(model_link(row)) == set(FIELDS) | {"left", "right", "who", "picked_seed"}


def units():
    """One unit of every cell of both studies, with 16 seeds."""
    for name in ("full", "v2"):
        for unit in replace(SELECTIONS[name], first_seed=0, seed_count=16).units():
            if unit.part != STACKS:
                yield unit


def as_row(bundled, unit, name):
    """A row of the unit."""
    own, config = unit.setting, unit.setting.configs[name]
    return replace(
        bundled[0][0],
        task=own.task,
        variant=name,
        source=own.source,
        depth=own.depth,
        values=own.value_count,
        model_dim=config.model_dim,
        seed=13,
        steps=own.steps,
        part=unit.part,
    )


def test_a_link_is_the_studys_setting_but_for_what_is_said_of_it(bundled):
    """Fields that may differ: which points are for testing, and what is trained beside."""
    differ = {"points", "train_share", "variants"}
    for unit in units():
        for name in unit.setting.variants:
            found = opened(as_row(bundled, unit, name))
            for field in {each.name for each in fields(unit.setting)} - differ:
                assert getattr(found, field) == getattr(unit.setting, field), (field, unit.text)
            assert found.configs[name] == unit.setting.configs[name]
            assert name in found.compared


def test_a_link_trains_on_the_same_points(bundled):
    for task in ("linear", "spiral"):
        unit = next(unit for unit in units() if unit.setting.task == task)
        ours, theirs = (
            unit.setting.make_task(),
            opened(as_row(bundled, unit, "ungated")).make_task(),
        )
        assert (ours.train_points == theirs.train_points).all()
        assert (ours.train_labels == theirs.train_labels).all()
        assert len(theirs.test_points[0]) == 1024


@pytest.mark.parametrize("seed", [0, 15, 16, 31])
def test_the_seed_is_among_those_that_are_trained(bundled, seed):
    link = model_link(replace(bundled[0][0], seed=seed))
    assert int(link["first"]) <= seed < int(link["first"]) + int(link["seeds"])
    assert f"picked_seed={seed}" in urlencode(link)
    assert link["who"] == "picked"


def test_a_model_is_said_with_its_errors(bundled):
    row = replace(
        bundled[0][0],
        task="xor",
        variant="silu",
        seed=3,
        source="memory",
        depth=1,
        values=3,
        error=None,
        test_accuracy=0.975,
        total_curvature=12.5,
        total_error=0.25,
        total_complete=False,
        resolved_share=0.9,
        positive_share=0.4,
    )
    said = model_text(row)
    assert "**xor, silu, seed 3**: test accuracy" in said
    assert "12.5 ± 0.25 (without its unresolved points)" in said
    known = replace(row, total_complete=True, resolved_share=1.0)
    assert "unresolved" not in model_text(known)
    assert "(not known: the error is larger)" in model_text(replace(known, total_error=1e9))
    assert "depth 3" in model_text(replace(row, depth=3))
    assert model_text(replace(row, error="it diverged")).endswith(": it diverged")
