"""The request of the Decision boundary page, and the nearest one that can be trained.

A request holds numbers and words as controls and links give them. `resolve` changes what cannot be,
with a note for each change; `setting` is the run that a resolved request asks for.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from gating_core.attention import MECHANISMS
from gating_core.experiments.comparison import (
    FIRST_COMPARISON,
    MATCHED,
    TOKENS_ONLY,
    VARIANTS,
    Setting,
)
from gating_core.tasks import TASK_NAME, TASKS, TRAIN_SHARE_RANGE, OwnData
from gating_core.training import GOOD_START
from ui.common.possible import fitting_heads
from ui.decision_boundary.names import DATA, TITLES, page_text
from ui.limits import EXPERTS_CHANNELS, EXPERTS_HEADS, EXPERTS_TOKENS, TRAINING_NUMBERS

FIRST = FIRST_COMPARISON
OWN_SHARE = 0.75
LEAST_BALANCE = 0.1
TYPICAL = "typical"
WHO = {  # the variant and the choice that the shown seed is of
    TYPICAL: None,
    "best left": ("left", "best"),
    "best right": ("right", "best"),
    "worst left": ("left", "worst"),
    "worst right": ("right", "worst"),
}
Notes = list[tuple[str, str]]  # the field that it is about, and the sentence


@dataclass(frozen=True)
class BoundaryRequest:
    """What is trained; fields have the names and meanings of those of `Setting`, where it has any.

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
    if not (like_first and fits) or variant == MATCHED or control:
        return None
    place = {"gate_at": "no gate"}
    if gate is not None:
        per = "channel" if gate.granularity == "elementwise" else "head"
        place = {"gate_at": gate.position, "gate_per": per, "gate_kind": gate.kind}
    return place | {
        "weights": run.task, "model_seed": f"{seed}", "channels": f"{run.model_dim}",
        "head_count": f"{run.heads}", "tokens": f"{run.value_count}",
    }  # fmt: skip


class TooLong(ValueError):
    """A training that would take longer than a page lets anyone wait."""


@dataclass(frozen=True)
class BoundaryView:
    """What the pictures show of a run, and of which seed; none of it trains anything."""

    which: str = TYPICAL  # of WHO, or "picked"
    paint: str = "class"  # of PAINTS
    discrete: bool = False  # the likeliest class
    tested: bool = True  # the test points, too


def resolve(
    request: BoundaryRequest, own: OwnData | None, lost: bool = False
) -> tuple[BoundaryRequest, Notes]:
    """Return the nearest request that can be trained, and a note for each difference.

    ``lost`` says that the link is about a table that did not fit into it; ``own`` is then another
    one, or ``None``.
    """
    request, notes = _with_data(request, own, lost)
    for rule in (_with_variants, _with_heads, _with_split):
        request, more = rule(request)
        notes += more
    return request, notes + _remarks(request, own)


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
    """Return the share for training that is used where none is set: of own points, the most."""
    return OWN_SHARE if task == TASK_NAME else FIRST.train_share


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _with_data(
    request: BoundaryRequest, own: OwnData | None, lost: bool
) -> tuple[BoundaryRequest, Notes]:
    if request.task != TASK_NAME or (own is not None and not lost):
        return request, []
    why = page_text("lost_table" if lost else "no_own_points")
    if own is not None:
        return request, [("task", f"{why} Shown: the points that were drawn.")]
    note = f"{why} Shown: {DATA[FIRST.task].name}."
    return replace(request, task=FIRST.task), [("task", note)]


def _with_variants(request: BoundaryRequest) -> tuple[BoundaryRequest, Notes]:
    notes: Notes = []
    impossible = TOKENS_ONLY if MECHANISMS[request.source].fixed_values else ()
    pair = {"left": request.left, "right": request.right}
    for (side, name), instead in zip(pair.items(), FIRST.variants, strict=True):
        if name in impossible:
            pair[side] = instead
            names = {"variant": _capital(TITLES[name]), "instead": TITLES[instead]}
            notes.append((side, page_text("needs_tokens", **names)))
    if pair["left"] == pair["right"]:
        pair["right"] = next(name for name in FIRST.variants if name != pair["left"])
        notes.append(("right", page_text("same", variant=TITLES[pair["right"]])))
    notes += [
        ("also", page_text("left_out", variant=_capital(TITLES[name])))
        for name in request.also
        if name in impossible
    ]
    left, right = pair.values()
    also = dict.fromkeys(x for x in request.also if x not in (*impossible, left, right))
    return replace(request, left=left, right=right, also=tuple(also)), notes


def _with_heads(request: BoundaryRequest) -> tuple[BoundaryRequest, Notes]:
    heads, note = fitting_heads(request.heads, request.model_dim)
    return replace(request, heads=heads), [("heads", note)] if note else []


def _with_split(request: BoundaryRequest) -> tuple[BoundaryRequest, Notes]:
    notes: Notes = []
    share, balance = round(request.train_share, 2), request.balance
    noise, label_noise = request.noise, request.label_noise
    if 0 < share < TRAIN_SHARE_RANGE[0]:
        share = TRAIN_SHARE_RANGE[0]
        notes.append(("train_share", page_text("least_share", share=f"{share:.0%}")))
    if balance < LEAST_BALANCE:
        balance = 0.0
    if balance and (request.task == TASK_NAME or TASKS[request.task].class_count != 2):
        balance = 0.0
        notes.append(("balance", page_text("no_balance", data=DATA[request.task].name)))
    if request.task == TASK_NAME and (noise or label_noise):
        noise = label_noise = 0.0
        notes.append(("noise", page_text("no_noise")))
    changed = replace(
        request, train_share=share, balance=balance, noise=noise, label_noise=label_noise
    )
    return changed, notes


def _remarks(request: BoundaryRequest, own: OwnData | None) -> Notes:
    """Return notes on what can be trained but may surprise."""
    notes: Notes = []
    names = (request.left, request.right, *request.also)
    gates = {name: gate for name in names if (gate := VARIANTS[name]) is not None}
    alike = [name for name, gate in gates.items() if gate.record.constant
             or (gate.granularity == "headwise" and request.heads == 1)]  # fmt: skip
    if request.norm == "post" and not request.residual and alike:
        whose = _capital(" and ".join(TITLES[name] for name in alike))
        notes.append(("norm", page_text("undone", names=whose)))
    if MATCHED in names[:2] and _is_wider(request, own):
        notes.append(("left" if request.left == MATCHED else "right", page_text("matched")))
    if request.entropy_bonus:
        bonus = f"{request.entropy_bonus:g}"
        notes.append(("entropy_bonus", page_text("soft", bonus=bonus)))
    return notes


def _is_wider(request: BoundaryRequest, own: OwnData | None) -> bool:
    """Whether "matched" takes more dimensions than are asked for, to have as many parameters."""
    try:
        return setting(request, own).configs[MATCHED].model_dim != request.model_dim
    except ValueError:  # which is said where it is trained
        return False
