"""What can be known at each point of a surface? One record for each quantity.

Fields are (R, C), NaN where the quantity is not known: K where it is neither decided nor zero,
others where the tangent plane is unresolved and they need one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gating_core.experiments.specimen.measured import MeasuredSpecimen


@dataclass(frozen=True)
class Colouring:
    """A quantity over the chart. ``inner``: a layer's own, with channels or heads to choose."""

    title: str  # in words
    symbol: str
    field: Callable[[MeasuredSpecimen, int, int | None], np.ndarray]
    range: str = "from zero"  # or "signed", "least to largest", "logarithm"
    inner: str = ""  # "head", "channel" or nothing

    @property
    def name(self) -> str:
        """Title and symbol, where that is not one of its words."""
        return self.title if self.symbol in self.title else f"{self.title} {self.symbol}"


def _resolved(m: MeasuredSpecimen, field: np.ndarray) -> np.ndarray:
    return np.where(m.surface.resolved[0], field, np.nan)


def _gaussian(m: MeasuredSpecimen, layer: int, part: int | None) -> np.ndarray:
    return m.surface.known[0]


def _gaussian_size(m: MeasuredSpecimen, layer: int, part: int | None) -> np.ndarray:
    return np.abs(_gaussian(m, layer, part))


def _mean(m: MeasuredSpecimen, layer: int, part: int | None) -> np.ndarray:
    return _resolved(m, m.mean_norm)


def _area(m: MeasuredSpecimen, layer: int, part: int | None) -> np.ndarray:
    return np.nan_to_num(m.surface.area_element[0])


def _error(m: MeasuredSpecimen, layer: int, part: int | None) -> np.ndarray:
    return _resolved(m, m.surface.gaussian_error[0])


def _gate(m: MeasuredSpecimen, layer: int, part: int | None) -> np.ndarray:
    """Without a gate: 1, which changes nothing."""
    if not m.gates:
        return np.ones_like(m.mean_norm)
    return _part(m.gates[layer], part)


def _part(stack: np.ndarray, part: int | None) -> np.ndarray:
    """One head or channel of ``stack``; the mean over all if ``part`` is none of them."""
    return stack.mean(0) if part is None or part >= len(stack) else stack[part]


def _entropy(m: MeasuredSpecimen, layer: int, part: int | None) -> np.ndarray:
    """In nats, of the weights as shares of their sum: from 0 (one value takes all) to log n."""
    weights = m.weights[layer]
    if not m.specimen.config.layer.weights_on_simplex:
        weights = weights / weights.sum(-1, keepdims=True)
    logs = np.log(np.where(weights > 0, weights, 1.0))
    return _part(-(weights * logs).sum(-1), part)


COLOURINGS: dict[str, Colouring] = {
    "curvature": Colouring("Gaussian curvature", "K", _gaussian, "signed"),
    "size": Colouring("size of the curvature", "|K|", _gaussian_size),
    "mean": Colouring("mean curvature", "|H|", _mean),
    "area": Colouring("area element", "√det g", _area),
    "gate": Colouring("how open the gate is", "gate", _gate, "least to largest", inner="channel"),
    "entropy": Colouring("attention entropy", "entropy", _entropy, inner="head"),
    "error": Colouring("bound on the error of K", "error of K", _error, "logarithm"),
}
