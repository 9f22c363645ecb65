"""Ungated layers that curve: what the flatness theorem leaves open.

The theorem is about all attention weights with fixed values, and one layer. On the query chart,
whose coordinates are the input plane, it leaves three things open: `THEOREM_GAPS`. Every
counterexample differs in one part from a model that is flat by the theorem.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gating_core.attention.config import AttentionConfig
from gating_core.attention.stack import build_attention
from gating_core.checks import check_choice, check_integer
from gating_core.geometry.grid import Grid
from gating_core.geometry.surface import SurfaceResult, measure_surface

THEOREM_GAPS = {
    "slice": "A surface inside a flat space can be curved.",
    "normalisation": "A gate is not the only way to curve.",
    "values": "Input-dependent values are not covered.",
}
PLAIN = AttentionConfig()  # one layer, one head, three fixed values, D = 3


@dataclass(frozen=True)
class Counterexample:
    """An ungated model that curves, and its twin that is flat; both on the query chart.

    ``point`` is a key of `THEOREM_GAPS`; ``why`` one line; ``exact`` is K, if it is
    known and constant.
    """

    title: str
    point: str
    config: AttentionConfig
    twin: AttentionConfig
    why: str
    exact: float | None = None


COUNTEREXAMPLES: dict[str, Counterexample] = {
    "six values": Counterexample(
        "six values instead of three",
        "slice",
        replace(PLAIN, value_count=6),
        PLAIN,
        "All averages of six values fill a piece of space; two inputs cut a curved sheet from it.",
    ),
    "two heads": Counterexample(
        "two heads instead of one",
        "slice",
        replace(PLAIN, model_dim=6, heads=2),
        replace(PLAIN, model_dim=6),
        "Two flat triangles make a flat space of four dimensions; the sheet in it curves.",
    ),
    "residual": Counterexample(
        "a residual connection",
        "slice",
        replace(PLAIN, residual=True),
        PLAIN,
        "The state is added: outputs are no averages of the values alone.",
    ),
    "rms norm": Counterexample(
        "RMSNorm after attention",
        "normalisation",
        replace(PLAIN, norm="post"),
        PLAIN,
        "Normalisation puts the plane of three values on a sphere: K = 1/D.",
        1 / PLAIN.model_dim,
    ),
    "tokens": Counterexample(
        "values of tokens",
        "values",
        replace(PLAIN, source="tokens"),
        PLAIN,
        "In self-attention the values are functions of the input, as the weights are.",
    ),
}


@dataclass(frozen=True, eq=False)
class MeasuredCounterexample:
    """A counterexample and its twin, measured (T = 1); ``exact`` is K where it is known."""

    surface: SurfaceResult
    twin: SurfaceResult
    exact: float | None


def measure_counterexample(name: str, seed: int, grid: Grid) -> MeasuredCounterexample:
    """Build both models of the counterexample ``name`` from ``seed`` and measure them."""
    check_choice("counterexample", name, COUNTEREXAMPLES)
    check_integer("seed", seed, 0, 2**31 - 1)
    record = COUNTEREXAMPLES[name]
    surface, twin = (
        measure_surface(build_attention(config, (seed,)), grid)
        for config in (record.config, record.twin)
    )
    return MeasuredCounterexample(surface, twin, record.exact)
