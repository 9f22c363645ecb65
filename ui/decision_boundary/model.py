"""The run that Decision boundary is asked for, the nearest that can be trained, and its names.

`resolve` gets fields of `Setting` as controls and links give them, changes what cannot be trained,
and notes each change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

from gating_core.attention import MECHANISMS
from gating_core.experiments.comparison import (
    FIRST_COMPARISON,
    MATCHED,
    NO_PRICE,
    PRICE_FULL,
    SINK,
    VARIANTS,
    Setting,
    impossible_variants,
)
from gating_core.tasks import TASK_NAME, TASKS, TRAIN_SHARE_RANGE, OwnData
from gating_core.training import GOOD_START
from ui.common.formatting import fitting_heads
from ui.common.lessons import section
from ui.limits import EXPERTS_CHANNELS, EXPERTS_HEADS, EXPERTS_TOKENS, TRAINING_NUMBERS

FIRST = FIRST_COMPARISON
OWN_SHARE = 0.75  # the train fraction of own points
LEAST_BALANCE = 0.1
TYPICAL, PICKED = "typical", "picked"
WHO = {  # the variant and the choice that the seed shown is of
    TYPICAL: None,
    "best left": ("left", "best"),
    "best right": ("right", "best"),
    "worst left": ("left", "worst"),
    "worst right": ("right", "worst"),
}
PAINTS = ("class", "curvature")
CELL_END = re.compile(r"(?<=\s)\|(?=\s)")  # not those of an absolute value

text = partial(section, "decision_boundary")


@dataclass(frozen=True)
class Named:
    """A ``name`` as within a sentence, one ``line`` that says what it is, perhaps a ``formula``."""

    name: str
    line: str
    formula: str = ""  # in TeX


def _table(name: str) -> dict[str, Named]:
    """Return a table of the lesson by its first column."""
    rows = [CELL_END.split(row.strip("|")) for row in text(name).splitlines()]
    return {word.strip(): Named(*map(str.strip, cells)) for word, *cells in rows}


def _kinds() -> dict[str, Named]:
    """Return the kinds of attention, those without a row as the records of their gates say."""
    gates = {word: gate.record for word, gate in VARIANTS.items() if gate is not None}
    named = {word: Named(x.title, x.line, x.formula) for word, x in gates.items()}
    named |= _table("kinds")
    return {word: named[word] for word in VARIANTS}


DATA, KINDS = _table("data"), _kinds()
TITLES = {word: kind.name for word, kind in KINDS.items()}


@dataclass(frozen=True)
class BoundaryView:
    """The options of the pictures of a run; none of them trains anything."""

    paint: str = PAINTS[0]
    discrete: bool = False  # the predicted class alone
    tested: bool = True  # the test points, too


class TooLong(ValueError):
    """A training that would take longer than a page lets anyone wait."""


def resolve(
    given: Mapping[str, Any], own: OwnData | None = None, lost: bool = False
) -> tuple[Setting, list[str]]:
    """Return the nearest setting to the fields ``given`` that can be trained, and notes.

    Fields that are not given are those of the first run. 0 as ``train_share`` or ``balance`` means
    automatic. ``lost`` says that the link is about a table that did not fit into it; ``own`` is
    then another one, or ``None``. ``ValueError`` if nothing near can be trained, `TooLong` if it
    would take more than `TRAINING_NUMBERS`.
    """
    asked = {field.name: getattr(FIRST, field.name) for field in fields(Setting)}
    asked |= {"train_share": 0.0, "balance": 0.0} | dict(given)
    notes = []
    if asked["task"] == TASK_NAME and (own is None or lost):
        shown = "the points that were drawn" if own else DATA[FIRST.task].name
        notes.append(f"{text('lost_table' if lost else 'no_own_points')} Shown: {shown}.")
        asked["task"] = TASK_NAME if own else FIRST.task
    is_own = asked["task"] == TASK_NAME
    asked["own"] = own if is_own else None
    source, mechanism = asked["source"], MECHANISMS[asked["source"]]
    asked["variants"], more = _possible_variants(asked["variants"], source)
    notes += more
    if asked["sink"] != "none" and not mechanism.has_softmax:
        asked["sink"] = "none"
        notes.append(text("no_sink"))
    asked["heads"], note = fitting_heads(asked["heads"], asked["model_dim"])
    notes += [note] if note else []
    share = round(asked["train_share"], 2) or (OWN_SHARE if is_own else FIRST.train_share)
    if share < TRAIN_SHARE_RANGE[0]:
        share = TRAIN_SHARE_RANGE[0]
        notes.append(text("least_share", share=f"{share:.0%}"))
    asked["train_share"] = share
    if (asked["balance"] or 0) < LEAST_BALANCE:
        asked["balance"] = None
    elif is_own or TASKS[asked["task"]].class_count != 2:
        asked["balance"] = None
        notes.append(text("no_balance", data=DATA[asked["task"]].name))
    if is_own and (asked["noise"] or asked["label_noise"]):
        asked["noise"] = asked["label_noise"] = 0.0
        notes.append(text("no_noise"))
    setting = Setting(**asked | {"momentum": GOOD_START[asked["optimiser"]][1]})
    if setting.training_numbers > TRAINING_NUMBERS:
        raise TooLong(f"training would take {setting.training_numbers / 1e6:,.0f} million numbers")
    return setting, notes + _remarks(setting)


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]


def _possible_variants(asked: tuple[str, ...], source: str) -> tuple[tuple[str, ...], list[str]]:
    """Return two different variants that the mechanism can have, then others of ``asked``."""
    impossible, pair, notes = impossible_variants(source), [*asked[:2]], []
    for side, instead in enumerate(FIRST.variants):
        if pair[side] in impossible:
            needs = "needs_softmax" if pair[side] == SINK else "needs_tokens"
            notes.append(text(needs, variant=_capital(TITLES[pair[side]]), instead=TITLES[instead]))
            pair[side] = instead
    if pair[0] == pair[1]:
        pair[1] = next(name for name in FIRST.variants if name != pair[0])
        notes.append(text("same", variant=TITLES[pair[1]]))
    notes += [
        text("not_trained", variant=_capital(TITLES[name]), source=source)
        for name in asked[2:]
        if name in impossible
    ]
    others = (name for name in asked[2:] if name not in impossible)
    return (*dict.fromkeys((*pair, *others)),), notes


def _remarks(setting: Setting) -> list[str]:
    """Return notes on what can be trained but may surprise."""
    notes = []
    gates = {name: gate for name in setting.variants if (gate := VARIANTS[name]) is not None}
    alike = [
        TITLES[name]
        for name, gate in gates.items()
        if gate.record.constant or (gate.granularity == "headwise" and setting.heads == 1)
    ]
    if setting.norm == "post" and not setting.residual and alike:
        notes.append(text("undone", names=_capital(" and ".join(alike))))
    if MATCHED in setting.compared and setting.configs[MATCHED].model_dim != setting.model_dim:
        notes.append(text("matched"))
    if SINK in setting.variants and setting.sink == "learned":
        notes.append(text("sink_twice"))
    if setting.entropy_bonus:
        notes.append(text("soft", bonus=f"{setting.entropy_bonus:g}"))
    if setting.price != NO_PRICE and setting.steps <= PRICE_FULL:
        notes.append(text("price_later", steps=setting.steps, full=PRICE_FULL))
    return notes


def experts_link(run: Setting, variant: str, seed: int) -> dict[str, str] | None:
    """Return the parameters of a link to the experts of the model ``seed`` of a ``variant``.

    ``None`` unless it is one layer among tokens with an output projection and a gate or none, of a
    size that Mixture of experts shows, trained like the first run.
    """
    gate = run.configs[variant].gate
    sizes = {"model_dim": EXPERTS_CHANNELS, "value_count": EXPERTS_TOKENS, "heads": EXPERTS_HEADS}
    required = {"source": "tokens", "output_projection": True}
    free = {"task", "variants", "seed", "seed_count", *sizes}
    like_first = all(
        getattr(run, field.name) == required.get(field.name, getattr(FIRST, field.name))
        for field in fields(run)
        if field.name not in free
    )
    fits = all(low <= getattr(run, name) <= high for name, (low, high) in sizes.items())
    control = gate is not None and gate.record.control is not None
    if not (like_first and fits) or variant in (MATCHED, SINK) or control:
        return None
    place = {"gate_at": "no gate"}
    if gate is not None:
        per = "channel" if gate.granularity == "elementwise" else "head"
        place = {"gate_at": gate.position, "gate_per": per, "gate_kind": gate.kind}
    return place | {
        "weights": run.task,
        "model_seed": f"{seed}",
        "channels": f"{run.model_dim}",
        "head_count": f"{run.heads}",
        "tokens": f"{run.value_count}",
    }
