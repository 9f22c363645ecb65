"""The models that a study trains: the quick selection, the full one, one's own.

Every model is one member of a batched ensemble, and a `Unit` of work is such an ensemble: some
variants of one setting with up to 16 seeds. The study begins with the first 16 seeds of all
settings, so that every claim has something to go by early, and the quick study is the first part
of the full one.

A row's key is a hash of everything that its numbers follow from: the study's version, all of the
setting that it was trained in (with which seeds and variants together, because rounding depends on
that), and which member it is. It is the same in every process and on every machine. What a setting
has at its default is left out, so that a new field changes no key.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property, lru_cache
from itertools import product
from typing import TypeVar

from gating_core.checks import check_choice, check_flag, check_integer
from gating_core.claims.claim import V2, Needs
from gating_core.claims.design import (
    BASE_SETTING,
    BASE_VARIANTS,
    FULL_TASKS,
    LABEL_NOISE,
    LINEAR,
    PARTS,
    PRODUCT,
    STACKS,
    V1_PARTS,
    V2_PARTS,
    V2_VARIANTS,
    VARIED,
    VARIED_TASKS,
    VARIED_VARIANTS,
)
from gating_core.claims.verdicts import CLAIMS
from gating_core.experiments.comparison import LIMITS, VARIANTS, Setting
from gating_core.experiments.depth import DepthRequest
from gating_core.tasks import TASKS
from gating_core.training.ensemble import batches_of

# Raise it when the numbers of rows change: a test computes some bundled rows anew and says so.
STUDY_VERSION = "1"
REGIME = "aligned"  # the structured regime, in our reading
# Once measured on one core: the time left follows from it, in proportion to what has been done.
TRAINING_SECONDS = 8e-8  # for one of a setting's `training_numbers`
MEASURING_SECONDS = 0.04  # for one layer of one model
STACK_SECONDS = 0.7
Member = TypeVar("Member", bound=tuple)
UNIT_SEEDS = 16
STACK_DEPTH = 16
SIZES_CACHED = 64  # three numbers each
EVERYTHING = Needs(tuple(TASKS), tuple(VARIANTS), PARTS)


@dataclass(frozen=True)
class ModelUnit:
    """All variants and seeds of ``setting``, which are trained as one ensemble."""

    part: str  # of the grid
    setting: Setting

    @cached_property
    def keys(self) -> dict[tuple[str, int], str]:
        """The keys of its rows, by variant and seed."""
        return _keys("model", self.setting, product(self.setting.variants, self.setting.seeds))

    @property
    def key(self) -> str:
        """The name of the unit: the key of its first row."""
        return next(iter(self.keys.values()))

    @property
    def seconds(self) -> float:
        """Roughly how long it takes on one core; up to twice as long, or half."""
        layers = len(self.keys) * self.setting.depth
        return self.setting.training_numbers * TRAINING_SECONDS + layers * MEASURING_SECONDS

    @property
    def text(self) -> str:
        """A description for messages."""
        setting = self.setting
        names = ", ".join(setting.variants)
        return (
            f"{setting.task}: {names}; {setting.source}, depth {setting.depth},"
            f" n = {setting.value_count}, seeds {setting.seeds[0]} to {setting.seeds[-1]}"
        )

    def dumped(self) -> str:
        """Return a text that `loaded` reads."""
        return json.dumps({"part": self.part, "setting": asdict(self.setting)})


@dataclass(frozen=True)
class StackUnit:
    """Aligned scalar gates on the flat sheet, after each layer, for every seed of ``request``."""

    request: DepthRequest

    @cached_property
    def keys(self) -> dict[tuple[int, int], str]:
        """The keys of its rows, by seed and depth."""
        depths = range(1, self.request.depth + 1)
        return _keys("stack", self.request, product(self.request.seeds, depths))

    @property
    def key(self) -> str:
        """The key of the first row, as of `ModelUnit`."""
        return next(iter(self.keys.values()))

    @property
    def seconds(self) -> float:
        """Roughly how long it takes on one core, as of `ModelUnit`."""
        return STACK_SECONDS

    @property
    def text(self) -> str:
        """A description for messages."""
        seeds = self.request.seeds
        return f"structured regime: {self.request.depth} layers, seeds {seeds[0]} to {seeds[-1]}"

    def dumped(self) -> str:
        """Return a text that `loaded` reads."""
        request = self.request
        numbers = {name: getattr(request, name) for name in ("depth", "seed", "seed_count", "grid")}
        return json.dumps({"request": numbers})


Unit = ModelUnit | StackUnit


def loaded(text: str) -> Unit:
    """The unit whose text it is."""
    parts = json.loads(text)
    if "request" in parts:
        return StackUnit(DepthRequest(**parts["request"]))
    setting = parts["setting"] | {"variants": tuple(parts["setting"]["variants"])}
    return ModelUnit(parts["part"], Setting(**setting))


def _keys(
    kind: str, setting: Setting | DepthRequest, members: Iterable[Member]
) -> dict[Member, str]:
    defaults = {field.name: field.default for field in fields(setting)}
    given = {name: x for name, x in asdict(setting).items() if x != defaults[name]}
    text = json.dumps([STUDY_VERSION, kind, given], sort_keys=True)
    # Half of SHA-256: no two of all rows that there will ever be are alike.
    texts = {member: f"{text}\n{json.dumps(member)}" for member in members}
    return {x: hashlib.sha256(each.encode()).hexdigest()[:32] for x, each in texts.items()}


@dataclass(frozen=True)
class Size:
    """The amount of work: models to train, stacks, and roughly the ``seconds`` of one core."""

    models: int
    stacks: int
    seconds: float


@dataclass(frozen=True)
class Selection:
    """A selection of tasks, variants and parts of the grid, and the seeds of each.

    In parts other than "base" there are no more than `VARIED_TASKS` and `VARIED_VARIANTS`.
    ``only`` is a claim: units that it does not need are left out, and what a unit trains beside
    what is needed is kept. ``product`` is the complete product of everything that is varied, and
    then ``parts`` say only whether the structured regime is there, too. Everything is checked
    here; ``ValueError`` says what must be.
    """

    tasks: tuple[str, ...] = FULL_TASKS  # keys of TASKS
    variants: tuple[str, ...] = BASE_VARIANTS  # keys of VARIANTS
    parts: tuple[str, ...] = V1_PARTS
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
            every = product(*PRODUCT.values())
            grid = [("all", dict(zip(PRODUCT, values, strict=True))) for values in every]
        for (part, varied), task in product(grid, self.tasks):
            base = part in ("base", "all")
            names = tuple(x for x in self.variants if base or x in VARIED_VARIANTS)
            if names and (base or task in VARIED_TASKS):
                noise = LABEL_NOISE if task in LINEAR else 0.0
                yield (
                    part,
                    Setting(
                        task=task,
                        variants=names,
                        label_noise=noise,
                        seed=first,
                        seed_count=count,
                        steps=self.steps,
                        **(BASE_SETTING | varied),
                    ),
                )


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
    "v2": Selection(
        variants=V2_VARIANTS,
        parts=("base", *V2_PARTS),
        first_seed=V2.seeds[0],
        seed_count=len(V2.seeds),
    ),
    "all": Selection(product=True),
}
