"""What is one piece of work? A batched ensemble, or the stacks of the structured regime.

A row's key is a hash of everything that its numbers follow from: the code's version, all of the
setting that it was trained in (with which seeds and variants together, because rounding depends on
that), and which member it is. It is the same in every process and on every machine.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TypeVar

from gating_core.claims.version import code_version
from gating_core.experiments.comparison import Setting
from gating_core.experiments.depth import DepthRequest

REGIME = "aligned"  # the structured regime, in our reading
# Once measured on one core: what is left is told by it, in proportion to what has been done.
TRAINING_SECONDS = 8e-8  # for one of a setting's `training_numbers`
MEASURING_SECONDS = 0.04  # for one layer of one model
STACK_SECONDS = 0.7


@dataclass(frozen=True)
class ModelUnit:
    """All variants and seeds of ``setting``, which are trained as one ensemble."""

    part: str  # of the grid
    setting: Setting

    @cached_property
    def keys(self) -> dict[tuple[str, int], str]:
        """The keys of its rows, by variant and seed."""
        setting = self.setting
        return _keys(
            "model", setting, [(x, seed) for x in setting.variants for seed in setting.seeds]
        )

    @property
    def key(self) -> str:
        """What the work itself is known by."""
        return _hashed(_text("models", self.setting))

    @property
    def seconds(self) -> float:
        """Roughly how long it takes on one core; up to twice as long, or half."""
        layers = len(self.keys) * self.setting.depth
        return self.setting.training_numbers * TRAINING_SECONDS + layers * MEASURING_SECONDS

    @property
    def text(self) -> str:
        """What it is, as one says it in a message."""
        setting = self.setting
        names = ", ".join(setting.variants)
        return (
            f"{setting.task}: {names}; {setting.source}, depth {setting.depth},"
            f" n = {setting.value_count}, seeds {setting.seeds[0]} to {setting.seeds[-1]}"
        )

    def dumped(self) -> str:
        """As a text that `loaded` reads."""
        return json.dumps({"part": self.part, "setting": asdict(self.setting)})


@dataclass(frozen=True)
class StackUnit:
    """Aligned scalar gates on the flat sheet, after each layer, for every seed of ``request``."""

    request: DepthRequest

    @cached_property
    def keys(self) -> dict[tuple[int, int], str]:
        """The keys of its rows, by seed and depth."""
        request = self.request
        depths = range(1, request.depth + 1)
        return _keys(
            "stack", request, [(seed, depth) for seed in request.seeds for depth in depths]
        )

    @property
    def key(self) -> str:
        """As of `ModelUnit`."""
        return _hashed(_text("stacks", self.request))

    @property
    def seconds(self) -> float:
        """As of `ModelUnit`."""
        return STACK_SECONDS

    @property
    def text(self) -> str:
        """As of `ModelUnit`."""
        seeds = self.request.seeds
        return f"structured regime: {self.request.depth} layers, seeds {seeds[0]} to {seeds[-1]}"

    def dumped(self) -> str:
        """As a text that `loaded` reads."""
        request = self.request
        kept = {name: getattr(request, name) for name in ("depth", "seed", "seed_count", "grid")}
        return json.dumps({"request": kept})


Unit = ModelUnit | StackUnit


def loaded(text: str) -> Unit:
    """The unit whose text it is."""
    parts = json.loads(text)
    if "request" in parts:
        return StackUnit(DepthRequest(**parts["request"]))
    setting = parts["setting"] | {"variants": tuple(parts["setting"]["variants"])}
    return ModelUnit(parts["part"], Setting(**setting))


Place = TypeVar("Place", bound=tuple)


def _keys(kind: str, setting: Setting | DepthRequest, places: list[Place]) -> dict[Place, str]:
    text = _text(kind, setting)
    return {place: _hashed(f"{text}\n{json.dumps(place)}") for place in places}


def _text(kind: str, setting: Setting | DepthRequest) -> str:
    return json.dumps([code_version(), kind, asdict(setting)], sort_keys=True)


def _hashed(text: str) -> str:
    """Half of SHA-256: no two of all rows that there will ever be are alike."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]
