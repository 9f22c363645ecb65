"""How fast does curvature grow with depth in the structured regime? What C7 is decided from.

Shapes: S seeds, L depths.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from gating_core.claims.rows import StackRow
from gating_core.experiments.depth import Exponent
from gating_core.experiments.depth.exponents import exponent, settled

CENTRE, PROXY, TOTAL = QUANTITIES = ("centre_curvature", "proxy", "total_curvature")
TITLES = {CENTRE: "|K(0)|", PROXY: "the paper's proxy", TOTAL: "∫|K| dA"}
ERRORS = {CENTRE: "centre_bound", TOTAL: "total_error"}  # the proxy's is rounding: nothing


@dataclass(frozen=True, eq=False)
class Slopes:
    """Values (S, L) of every quantity, NaN where there is no row, and their exponents over seeds.

    ``seeds`` (S,), ``depths`` (L,); ``small`` (S, L) is where exponents are fitted.
    """

    seeds: np.ndarray
    depths: np.ndarray
    values: dict[str, np.ndarray]
    small: np.ndarray
    exponents: dict[str, Exponent]
    keys: np.ndarray  # (S, L) of str
    set_aside: int  # rows of other versions of the code

    @property
    def without(self) -> tuple[int, ...]:
        """Seeds that have too few depths for a slope of the curvature."""
        missing = np.isnan(self.exponents[CENTRE].slopes)
        return tuple(int(seed) for seed in self.seeds[missing])

    @property
    def fewest_slopes(self) -> int:
        """How many seeds have a slope, of the curvature or of the proxy: the fewer of the two."""
        both = (self.exponents[name].slopes for name in (CENTRE, PROXY))
        return min(int(np.isfinite(slopes).sum()) for slopes in both)


def slopes(rows: Iterable[StackRow], code: str = "") -> Slopes:
    """Of the version ``code`` if any row has it, else of that with the most rows.

    A value is fitted where the regime's condition holds and its error is below half of it.
    """
    rows = list(rows)
    versions = [row.code for row in rows]
    chosen = (
        code if code in versions else max(sorted(set(versions)), key=versions.count, default="")
    )
    kept = {(row.seed, row.depth): row for row in sorted(rows, key=lambda x: x.key, reverse=True)
            if row.code == chosen}  # fmt: skip
    seeds = np.unique(np.array([seed for seed, _ in kept], dtype=int))
    depths = np.unique(np.array([depth for _, depth in kept], dtype=int))
    shape = len(seeds), len(depths)
    values = {name: np.full(shape, np.nan) for name in QUANTITIES}
    errors = {name: np.zeros(shape) for name in QUANTITIES}
    small, keys = np.zeros(shape, dtype=bool), np.full(shape, "", dtype=object)
    for (seed, depth), row in kept.items():
        place = np.searchsorted(seeds, seed), np.searchsorted(depths, depth)
        small[place], keys[place] = row.small, row.key
        for name in QUANTITIES:
            values[name][place] = abs(getattr(row, name))
            errors[name][place] = getattr(row, ERRORS[name]) if name in ERRORS else 0.0
    exponents = {
        name: exponent(depths, values[name], small & settled(values[name], errors[name], small))
        if len(seeds)
        else Exponent(np.zeros(0), None, None)
        for name in QUANTITIES
    }
    return Slopes(seeds, depths, values, small, exponents, keys, len(rows) - len(kept))
