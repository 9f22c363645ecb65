"""What someone asked to see learned, and what can be learned of it: a sentence for each difference.

A `Request` is plain numbers and words, as controls and links give them. `resolve` makes one that
can be of it; `setting` says which run it asks for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gating_core.attention import MECHANISMS
from gating_core.experiments.comparison import (
    FIRST_COMPARISON,
    MATCHED,
    TOKENS_ONLY,
    Setting,
)
from gating_core.tasks import TASK_NAME, TASKS, TRAIN_SHARE_RANGE, OwnData
from gating_core.training import GOOD_START
from ui.common.possible import fitting_heads
from ui.decision_boundary.names import DATA, TITLES
from ui.limits import TRAINING_NUMBERS

FIRST = FIRST_COMPARISON
OWN_SHARE = 0.75
LOST = "The table of this link was too large to stand in it, and must be pasted or uploaded again."
LEAST_BALANCE = 0.1
TYPICAL = "typical"
WHO = {  # whose choice the shown seed is: one side's best or worst, or nobody's
    TYPICAL: None,
    "best left": ("left", "best"),
    "best right": ("right", "best"),
    "worst left": ("left", "worst"),
    "worst right": ("right", "worst"),
}
Notes = list[tuple[str, str]]  # the field that it is about, and the sentence


@dataclass(frozen=True)
class Request:
    """The controls of the Decision boundary page; most fields are those of a `Setting`."""

    task: str = FIRST.task
    left: str = FIRST.variants[0]
    right: str = FIRST.variants[1]
    also: tuple[str, ...] = ()  # variants that are trained beside them
    points: int = FIRST.points
    train_share: float = 0.0  # 0: automatic
    noise: float = FIRST.noise
    label_noise: float = FIRST.label_noise
    balance: float = 0.0  # 0: automatic
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


class TooLong(ValueError):
    """A training would take longer than a page lets anyone wait."""


@dataclass(frozen=True)
class Look:
    """What a run's colours show, and of which seed: none of it trains anything."""

    which: str = TYPICAL  # of WHO, or "picked"
    paint: str = "class"  # of PAINTS
    discrete: bool = False  # the likeliest class
    tested: bool = True  # the test points, too


def resolve(request: Request, own: OwnData | None, lost: bool = False) -> tuple[Request, Notes]:
    """The nearest that can be asked for, and in which way it is another.

    Each rule is about what the ones before it have left. ``lost`` says that the link is about a
    table that did not fit into it: ``own`` is another one's then, or nobody's.
    """
    request, notes = _data(request, own, lost)
    for rule in (_variants, _heads, _undone, _split):
        request, more = rule(request)
        notes += more
    return request, notes + _matched(request, own) + _soft(request)


def setting(request: Request, own: OwnData | None) -> Setting:
    """The run that a resolved ``request`` asks for; ``ValueError`` if it cannot be.

    `TooLong` if it would take more than `TRAINING_NUMBERS`.
    """
    found = Setting(
        task=request.task,
        own=own if request.task == TASK_NAME else None,
        points=request.points,
        train_share=request.train_share or as_it_comes(request.task),
        noise=request.noise,
        label_noise=request.label_noise,
        balance=request.balance or None,
        variants=(request.left, request.right, *request.also),
        source=request.source,
        model_dim=request.model_dim,
        value_count=request.value_count,
        heads=request.heads,
        depth=request.depth,
        residual=request.residual,
        norm=request.norm,
        output_projection=request.output_projection,
        seed=request.seed,
        seed_count=request.seed_count,
        steps=request.steps,
        optimiser=request.optimiser,
        learning_rate=request.learning_rate,
        momentum=GOOD_START[request.optimiser][1],
        batch_size=request.batch_size,
        weight_decay=request.weight_decay,
        entropy_bonus=request.entropy_bonus,
    )
    if found.training_numbers > TRAINING_NUMBERS:
        raise TooLong(f"training would take {found.training_numbers / 1e6:,.0f} million numbers")
    return found


def as_it_comes(task: str) -> float:
    """The automatic share for training: one's own points are few."""
    return OWN_SHARE if task == TASK_NAME else FIRST.train_share


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _data(request: Request, own: OwnData | None, lost: bool) -> tuple[Request, Notes]:
    if request.task != TASK_NAME or (own is not None and not lost):
        return request, []
    why = LOST if lost else "There are no points of your own yet."
    if own is not None:
        return request, [("task", f"{why} Shown: the points that were drawn.")]
    note = f"{why} Shown: {DATA[FIRST.task].name}."
    return replace(request, task=FIRST.task), [("task", note)]


def _variants(request: Request) -> tuple[Request, Notes]:
    notes: Notes = []
    impossible = TOKENS_ONLY if MECHANISMS[request.source].fixed_values else ()
    names = {"left": request.left, "right": request.right}
    for (side, name), instead in zip(names.items(), FIRST.variants, strict=True):
        if name in impossible:
            names[side] = instead
            note = (
                f"{_capital(TITLES[name])}: keys and values must come from tokens, as a memory slot"
                f" has no state that a gate could read. Shown: {TITLES[instead]}."
            )
            notes.append((side, note))
    if names["left"] == names["right"]:
        names["right"] = next(name for name in FIRST.variants if name != names["left"])
        note = f"Left and right are the same. Shown on the right: {TITLES[names['right']]}."
        notes.append(("right", note))
    notes += [
        ("also", f"{_capital(TITLES[name])}: keys and values must come from tokens. Left out.")
        for name in request.also
        if name in impossible
    ]
    also = [name for name in request.also if name not in (*impossible, *names.values())]
    request = replace(request, left=names["left"], right=names["right"])
    return replace(request, also=tuple(dict.fromkeys(also))), notes


def _heads(request: Request) -> tuple[Request, Notes]:
    heads, note = fitting_heads(request.heads, request.model_dim)
    return replace(request, heads=heads), [("heads", note)] if note else []


def _undone(request: Request) -> tuple[Request, Notes]:
    """What can be, but makes no difference, or is drawn otherwise."""
    notes: Notes = []
    names = (request.left, request.right, *request.also)
    alike = [name for name in names
             if name == "half" or (name == "headwise" and request.heads == 1)]  # fmt: skip
    if request.norm == "post" and not request.residual and alike:
        whose = _capital(" and ".join(TITLES[name] for name in alike))
        note = (
            f"{whose}: a gate that scales all channels alike changes nothing here, as the"
            " normalisation after it undoes that."
        )
        notes.append(("norm", note))
    return request, notes


def _matched(request: Request, own: OwnData | None) -> Notes:
    """Whether the parameters of "matched" take more dimensions than are asked for."""
    sides = {"left": request.left, "right": request.right}
    try:
        asked = setting(request, own) if MATCHED in sides.values() else None
    except ValueError:  # which is said where it is trained
        asked = None
    if asked is None or asked.configs[MATCHED].model_dim == request.model_dim:
        return []
    note = "The matched model is wider: its surface is drawn along principal components."
    return [(side, note) for side, name in sides.items() if name == MATCHED]


def _soft(request: Request) -> Notes:
    """Whether more is asked of training than to be right."""
    bonus = request.entropy_bonus
    if not bonus:
        return []
    text = (
        "Attention is kept soft: training also rewards attention weights that are spread out, by"
        f" {bonus:g} × their entropy. Losses are shown without it."
    )
    return [("entropy_bonus", text)]


def _split(request: Request) -> tuple[Request, Notes]:
    """How the points are made and divided."""
    notes: Notes = []
    share, balance = round(request.train_share, 2), request.balance
    if 0 < share < TRAIN_SHARE_RANGE[0]:
        share = TRAIN_SHARE_RANGE[0]
        notes.append(("train_share", f"At least {share:.0%} of the points train. Shown: that."))
    if balance < LEAST_BALANCE:
        balance = 0.0
    if balance and (request.task == TASK_NAME or TASKS[request.task].class_count != 2):
        balance = 0.0
        note = (
            f"The balance of classes cannot be set for {DATA[request.task].name}. Shown: automatic."
        )
        notes.append(("balance", note))
    request = replace(request, train_share=share, balance=balance)
    if request.task == TASK_NAME and (request.noise or request.label_noise):
        request = replace(request, noise=0.0, label_noise=0.0)
        note = "Your own points are taken as they are: no noise, no wrong labels."
        notes.append(("noise", note))
    return request, notes
