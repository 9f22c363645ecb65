"""Units of work: a batched ensemble, or the stacks of the structured regime.

A row's key is a hash of everything that its numbers follow from: the study's version, all of the
setting that it was trained in (with which seeds and variants together, because rounding depends on
that), and which member it is. It is the same in every process and on every machine. What a setting
has at its default is left out, so that a new field changes no key.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from itertools import product
from typing import TypeVar

from gating_core.experiments.comparison import Setting
from gating_core.experiments.depth import DepthRequest

# Raise it when the numbers of rows change: a test computes some shipped rows anew and says so.
STUDY_VERSION = "1"
REGIME = "aligned"  # the structured regime, in our reading
# Once measured on one core: the time left follows from it, in proportion to what has been done.
TRAINING_SECONDS = 8e-8  # for one of a setting's `training_numbers`
MEASURING_SECONDS = 0.04  # for one layer of one model
STACK_SECONDS = 0.7
Member = TypeVar("Member", bound=tuple)


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
        """Of the unit itself, as its lease is called."""
        return _hashed(_text("models", self.setting))

    @property
    def seconds(self) -> float:
        """Roughly how long it takes on one core; up to twice as long, or half."""
        layers = len(self.keys) * self.setting.depth
        return self.setting.training_numbers * TRAINING_SECONDS + layers * MEASURING_SECONDS

    @property
    def text(self) -> str:
        """What it is, for a message."""
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
        depths = range(1, self.request.depth + 1)
        return _keys("stack", self.request, product(self.request.seeds, depths))

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
    text = _text(kind, setting)
    return {member: _hashed(f"{text}\n{json.dumps(member)}") for member in members}


def _text(kind: str, setting: Setting | DepthRequest) -> str:
    defaults = {field.name: field.default for field in fields(setting)}
    given = {name: x for name, x in asdict(setting).items() if x != defaults[name]}
    return json.dumps([STUDY_VERSION, kind, given], sort_keys=True)


def _hashed(text: str) -> str:
    """Half of SHA-256: no two of all rows that there will ever be are alike."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]
