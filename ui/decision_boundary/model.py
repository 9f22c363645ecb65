"""The request of Decision boundary, the nearest run that can be trained, and names of its parts.

A request holds numbers and words as controls and links give them. `resolve` changes what cannot be
trained, with a note for each change; `setting` is the run that a resolved request asks for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

from gating_core.attention import MECHANISMS
from gating_core.experiments.comparison import (
    FIRST_COMPARISON,
    MATCHED,
    SINK,
    VARIANTS,
    Setting,
    impossible_variants,
)
from gating_core.tasks import TASK_NAME, TASKS, TRAIN_SHARE_RANGE, OwnData
from gating_core.training import GOOD_START
from ui.common.lessons import section
from ui.common.possible import fitting_heads
from ui.limits import EXPERTS_CHANNELS, EXPERTS_HEADS, EXPERTS_TOKENS, TRAINING_NUMBERS

FIRST = FIRST_COMPARISON
OWN_SHARE = 0.75
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
    kinds = _table("kinds")
    for word, gate in VARIANTS.items():
        if gate is not None:
            record = gate.record
            kinds.setdefault(word, Named(record.title, record.line, record.formula))
    return {word: kinds[word] for word in VARIANTS}


DATA, KINDS = _table("data"), _kinds()
TITLES = {word: kind.name for word, kind in KINDS.items()}


@dataclass(frozen=True)
class BoundaryRequest:
    """A request for training; fields have the names and meanings of those of `Setting`, if there.

    ``left`` and ``right`` are the compared variants, ``also`` those trained beside them. 0 as
    ``train_share`` or ``balance`` means automatic.
    """

    task: str = FIRST.task
    left: str = FIRST.variants[0]
    right: str = FIRST.variants[1]
    also: tuple[str, ...] = ()
    points: int = FIRST.points
    train_share: float = 0.0
    noise: float = FIRST.noise
    label_noise: float = FIRST.label_noise
    balance: float = 0.0
    source: str = FIRST.source
    model_dim: int = FIRST.model_dim
    value_count: int = FIRST.value_count
    heads: int = FIRST.heads
    sink: str = FIRST.sink
    depth: int = FIRST.depth
    residual: bool = FIRST.residual
    norm: str = FIRST.norm
    output_projection: bool = FIRST.output_projection
    seed: int = FIRST.seed
    seed_count: int = FIRST.seed_count
    steps: int = FIRST.steps
    optimiser: str = FIRST.optimiser
    learning_rate: float = FIRST.learning_rate
    batch_size: int = FIRST.batch_size
    weight_decay: float = FIRST.weight_decay
    entropy_bonus: float = FIRST.entropy_bonus


@dataclass(frozen=True)
class BoundaryView:
    """The options of the pictures of a run; none of them trains anything."""

    paint: str = PAINTS[0]
    discrete: bool = False  # the predicted class alone
    tested: bool = True  # the test points, too


class TooLong(ValueError):
    """A training that would take longer than a page lets anyone wait."""


def setting(request: BoundaryRequest, own: OwnData | None) -> Setting:
    """Return the run that a resolved ``request`` asks for.

    ``ValueError`` if it cannot be, `TooLong` if it would take more than `TRAINING_NUMBERS`.
    """
    alike = {f.name for f in fields(request)} & {f.name for f in fields(Setting)}
    given: dict[str, Any] = {name: getattr(request, name) for name in alike}
    given |= {
        "own": own if request.task == TASK_NAME else None,
        "train_share": request.train_share or automatic_share(request.task),
        "balance": request.balance or None,
        "variants": (request.left, request.right, *request.also),
        "momentum": GOOD_START[request.optimiser][1],
    }
    result = Setting(**given)
    if result.training_numbers > TRAINING_NUMBERS:
        raise TooLong(f"training would take {result.training_numbers / 1e6:,.0f} million numbers")
    return result


def automatic_share(task: str) -> float:
    """Return the train fraction where none is set: of own points, the most."""
    return OWN_SHARE if task == TASK_NAME else FIRST.train_share


# --- The nearest request that can be trained ------------------------------------------------------


def resolve(
    request: BoundaryRequest, own: OwnData | None, lost: bool = False
) -> tuple[BoundaryRequest, list[str]]:
    """Return the nearest request that can be trained, and a note for each difference.

    ``lost`` says that the link is about a table that did not fit into it; ``own`` is then another
    one, or ``None``.
    """
    notes = []
    if request.task == TASK_NAME and (own is None or lost):
        why = text("lost_table" if lost else "no_own_points")
        shown = DATA[FIRST.task].name if own is None else "the points that were drawn"
        notes.append(f"{why} Shown: {shown}.")
        request = replace(request, task=FIRST.task) if own is None else request
    request, more = _with_variants(request)
    notes += more
    if request.sink != "none" and not MECHANISMS[request.source].has_softmax:
        request = replace(request, sink="none")
        notes.append(text("no_sink"))
    heads, note = fitting_heads(request.heads, request.model_dim)
    notes += [note] if note else []
    request, more = _with_split(replace(request, heads=heads))
    return request, notes + more + _remarks(request, own)


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]


def _with_variants(request: BoundaryRequest) -> tuple[BoundaryRequest, list[str]]:
    notes = []
    impossible = impossible_variants(request.source)
    pair = [request.left, request.right]
    for side, instead in enumerate(FIRST.variants):
        if pair[side] in impossible:
            needs = "needs_softmax" if pair[side] == SINK else "needs_tokens"
            notes.append(text(needs, variant=_capital(TITLES[pair[side]]), instead=TITLES[instead]))
            pair[side] = instead
    left, right = pair
    if left == right:
        right = next(name for name in FIRST.variants if name != left)
        notes.append(text("same", variant=TITLES[right]))
    notes += [
        text("not_trained", variant=_capital(TITLES[name]), source=request.source)
        for name in request.also
        if name in impossible
    ]
    also = dict.fromkeys(x for x in request.also if x not in (*impossible, left, right))
    return replace(request, left=left, right=right, also=tuple(also)), notes


def _with_split(request: BoundaryRequest) -> tuple[BoundaryRequest, list[str]]:
    notes = []
    share, balance = round(request.train_share, 2), request.balance
    noise, label_noise = request.noise, request.label_noise
    if 0 < share < TRAIN_SHARE_RANGE[0]:
        share = TRAIN_SHARE_RANGE[0]
        notes.append(text("least_share", share=f"{share:.0%}"))
    if balance < LEAST_BALANCE:
        balance = 0.0
    if balance and (request.task == TASK_NAME or TASKS[request.task].class_count != 2):
        balance = 0.0
        notes.append(text("no_balance", data=DATA[request.task].name))
    if request.task == TASK_NAME and (noise or label_noise):
        noise = label_noise = 0.0
        notes.append(text("no_noise"))
    return replace(
        request, train_share=share, balance=balance, noise=noise, label_noise=label_noise
    ), notes


def _remarks(request: BoundaryRequest, own: OwnData | None) -> list[str]:
    """Return notes on what can be trained but may surprise."""
    notes = []
    names = (request.left, request.right, *request.also)
    gates = {name: gate for name in names if (gate := VARIANTS[name]) is not None}
    alike = [
        name
        for name, gate in gates.items()
        if gate.record.constant or (gate.granularity == "headwise" and request.heads == 1)
    ]
    if request.norm == "post" and not request.residual and alike:
        notes.append(text("undone", names=_capital(" and ".join(TITLES[name] for name in alike))))
    if MATCHED in names[:2] and _is_wider(request, own):
        notes.append(text("matched"))
    if SINK in names and request.sink == "learned":
        notes.append(text("sink_twice"))
    if request.entropy_bonus:
        notes.append(text("soft", bonus=f"{request.entropy_bonus:g}"))
    return notes


def _is_wider(request: BoundaryRequest, own: OwnData | None) -> bool:
    """Return whether "matched" takes more dimensions than asked for, to have as many parameters."""
    try:
        return setting(request, own).configs[MATCHED].model_dim != request.model_dim
    except ValueError:  # which is said where it is trained
        return False


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
