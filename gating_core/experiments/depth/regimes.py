"""Which maps are followed from layer to layer? A dictionary from name to what builds one.

Shapes: L layers, S seeds, N points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gating_core.attention.every_layer import EveryLayer
from gating_core.attention.stack import build_attention
from gating_core.experiments.depth.arrangements import ARRANGEMENTS
from gating_core.experiments.depth.request import DepthRequest
from gating_core.experiments.depth.sheets import MILD, STRONG, Sheets, aligned_sheets, random_sheets

Layers = Sheets | EveryLayer  # callables (N, 2) -> (L, S, N, D)


@dataclass(frozen=True)
class Regime:
    """A kind of map: ``build`` makes a callable (N, 2) -> (L, S, N, D) from a request.

    ``gated`` and ``arrangement`` are a stack's, and ``None`` where the regime is one of scalar
    gates on a sheet.
    """

    title: str  # in words
    build: Callable[[DepthRequest], Layers]
    gated: bool | None = None
    arrangement: str | None = None  # a key of ARRANGEMENTS


def _sheets(make: Callable[..., Sheets], between: tuple[float, float]) -> Callable:
    return lambda request: make(request.seeds, request.depth, between)


def _stack(gated: bool, arrangement: str) -> Regime:
    def build(request: DepthRequest) -> EveryLayer:
        config = request.stack(request.depth, gated, arrangement)
        return EveryLayer(build_attention(config, request.seeds))

    title = f"{'gated' if gated else 'ungated'}, {ARRANGEMENTS[arrangement].words}"
    return Regime(title, build, gated, arrangement)


REGIMES: dict[str, Regime] = {
    "aligned": Regime("aligned gates", _sheets(aligned_sheets, MILD)),
    "strong": Regime("strong aligned gates", _sheets(aligned_sheets, STRONG)),
    "random": Regime("random gates with mean zero", _sheets(random_sheets, MILD)),
    **{
        f"{'gated' if gated else 'ungated'}_{name}": _stack(gated, name)
        for name in ARRANGEMENTS
        for gated in (False, True)
    },
}
