"""The models that a study trains: the quick selection, the full one, one's own.

Every model is one member of a batched ensemble, and a `Unit` of work is such an ensemble: some
variants of one setting with up to 16 seeds. The study begins with the first 16 seeds of all
settings, so that every claim has something to go by early, and the quick study is the first part
of the full one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from gating_core.checks import check_choice, check_flag, check_integer
from gating_core.claims.claim import Needs
from gating_core.claims.design import (
    BASE_SETTING,
    BASE_VARIANTS,
    FIRST_PARTS,
    FULL_TASKS,
    LABEL_NOISE,
    LINEAR,
    PARTS,
    PRODUCT,
    SECOND_PARTS,
    SECOND_VARIANTS,
    STACKS,
    VARIED,
    VARIED_TASKS,
    VARIED_VARIANTS,
)
from gating_core.claims.units import ModelUnit, StackUnit, Unit
from gating_core.claims.verdicts import CLAIMS, SECOND
from gating_core.experiments.comparison import LIMITS, VARIANTS, Setting
from gating_core.experiments.depth import DepthRequest
from gating_core.tasks import TASKS
from gating_core.training.ensemble import batches_of

UNIT_SEEDS = 16
STACK_DEPTH = 16
SIZES_CACHED = 64  # three numbers each
EVERYTHING = Needs(tuple(TASKS), tuple(VARIANTS), PARTS)


@dataclass(frozen=True)
class Size:
    """How much is to be done: models to train, stacks, and roughly the ``seconds`` of one core."""

    models: int
    stacks: int
    seconds: float


@dataclass(frozen=True)
class Selection:
    """Which tasks, variants and parts of the grid, and how many seeds of each.

    In parts other than "base" there are no more than `VARIED_TASKS` and `VARIED_VARIANTS`.
    ``only`` is a claim: units that it does not need are left out, and what a unit trains beside
    what is needed is kept. ``product`` is the complete product of everything that is varied, and
    then ``parts`` say only whether the structured regime is there, too. Everything is checked
    here; ``ValueError`` says what must be.
    """

    tasks: tuple[str, ...] = FULL_TASKS  # keys of TASKS
    variants: tuple[str, ...] = BASE_VARIANTS  # keys of VARIANTS
    parts: tuple[str, ...] = FIRST_PARTS
    first_seed: int = 0
    seed_count: int = 32  # 1 to 64
    steps: int = 400
    only: str | None = None  # a key of CLAIMS
    product: bool = False

    def __post_init__(self) -> None:
        check_flag("product", self.product)
        check_integer("first seed", self.first_seed, *LIMITS["seed"])
        check_integer("seeds", self.seed_count, *LIMITS["seed_count"])
        check_integer("steps", self.steps, *LIMITS["steps"])
        if self.only is not None:
            check_choice("only", self.only, CLAIMS)
        for name, choices in (("tasks", TASKS), ("variants", VARIANTS), ("parts", PARTS)):
            chosen = getattr(self, name)
            if not isinstance(chosen, tuple) or not chosen or len(set(chosen)) < len(chosen):
                raise ValueError(f"{name} is {chosen!r}; it must name at least one, each once")
            for each in chosen:
                check_choice(name, each, choices)
        for _ in self._settings(self.first_seed, 1):  # which checks what goes together
            pass

    def units(self) -> Iterator[Unit]:
        """Yield all that is to be done, in order."""
        needed = CLAIMS[self.only].needs if self.only else EVERYTHING
        end = self.first_seed + self.seed_count
        for first in range(self.first_seed, end, UNIT_SEEDS):
            count = min(UNIT_SEEDS, end - first)
            if STACKS in self.parts and STACKS in needed.parts:
                yield StackUnit(DepthRequest(depth=STACK_DEPTH, seed=first, seed_count=count))
            for part, setting in self._settings(first, count):
                trains = needed.parts != (STACKS,) and part in (*needed.parts, "all")
                if trains and setting.task in needed.tasks:
                    for names in batches_of(setting.configs):
                        if set(names) & set(needed.variants):
                            yield ModelUnit(part, replace(setting, variants=names))

    @property
    def size(self) -> Size:
        """The models and stacks, and roughly the time."""
        return _size(self)

    def _settings(self, first: int, count: int) -> Iterator[tuple[str, Setting]]:
        """All settings, each with the part of the grid that it belongs to."""
        grid: list[tuple[str, dict]] = [
            (part, varied) for part in VARIED if part in self.parts for varied in VARIED[part]
        ]
        if self.product:
            every = itertools.product(*PRODUCT.values())
            grid = [("all", dict(zip(PRODUCT, values, strict=True))) for values in every]
        for (part, varied), task in itertools.product(grid, self.tasks):
            base = part in ("base", "all")
            names = tuple(x for x in self.variants if base or x in VARIED_VARIANTS)
            if names and (base or task in VARIED_TASKS):
                noise = LABEL_NOISE if task in LINEAR else 0.0
                yield part, Setting(
                    task=task, variants=names, label_noise=noise, seed=first, seed_count=count,
                    steps=self.steps, **(BASE_SETTING | varied),
                )  # fmt: skip


@lru_cache(maxsize=SIZES_CACHED)
def _size(selection: Selection) -> Size:
    """Cached: to list the complete product takes a fifth of a second."""
    models, stacks, seconds = 0, 0, 0.0
    for unit in selection.units():
        if isinstance(unit, ModelUnit):
            models += len(unit.setting.variants) * len(unit.setting.seeds)
        else:
            stacks += len(unit.request.seeds) * unit.request.depth
        seconds += unit.seconds
    return Size(models, stacks, seconds)


SELECTIONS = {
    "quick": Selection(
        tasks=("linear", "offset", "xor", "circle"),
        variants=("ungated", "sigmoid", "silu", "additive"),
        parts=("base", STACKS),
        seed_count=UNIT_SEEDS,
    ),
    "full": Selection(),
    "second": Selection(
        variants=SECOND_VARIANTS,
        parts=("base", *SECOND_PARTS),
        first_seed=SECOND.seeds[0],
        seed_count=len(SECOND.seeds),
    ),
    "all": Selection(product=True),
}
