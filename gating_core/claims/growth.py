"""Claim C7: curvature adds up with depth in a structured regime. Decided by exponents.

Shapes: S seeds, L depths.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gating_core.claims.claim import CONSTRUCTION, Claim, Needs, Thresholds, Word, Wording
from gating_core.claims.design import STACKS
from gating_core.claims.models import Models
from gating_core.claims.text import MISSING, TextTable, counted, fixed, fixed_interval, spans
from gating_core.experiments.depth import STRUCTURED_LIMIT
from gating_core.experiments.depth.exponents import FEWEST_DEPTHS, FEWEST_SEEDS, fittable
from gating_core.training.trained import mean_interval

CENTRE, PROXY, TOTAL = QUANTITIES = ("centre_curvature", "proxy", "total_curvature")
TITLES = {CENTRE: "|K(0)|", PROXY: "the paper's proxy", TOTAL: "∫|K| dA"}
ERRORS = {CENTRE: "centre_bound", TOTAL: "total_error"}  # the proxy's is rounding: nothing


@dataclass(frozen=True, eq=False)
class GrowthExponent:
    """Slopes of all seeds (S,), NaN where there are too few depths, and Student's interval.

    ``mean``, ``low`` and ``high`` are NaN where fewer than half of the seeds have a slope.
    ``depths`` are the least and largest depth that any seed's line goes through, if there is one.
    """

    slopes: np.ndarray
    mean: float = np.nan
    low: float = np.nan
    high: float = np.nan
    depths: tuple[int, int] | None = None


def exponent(depths: np.ndarray, values: np.ndarray, fitted: np.ndarray) -> GrowthExponent:
    """Fit log ``values`` (S, L) to log ``depths`` (L,) by least squares, where ``fitted`` (S, L).

    As the rule was written; *Depth* fits robustly. Source: Draper & Smith, *Applied Regression
    Analysis*, 3rd ed., 1.2.
    """
    enough = fitted.sum(1) >= FEWEST_DEPTHS
    slopes = np.full(len(values), np.nan)
    for seed in np.flatnonzero(enough):
        here = fitted[seed]
        slopes[seed] = np.polyfit(np.log(depths[here]), np.log(values[seed, here]), 1)[0]
    if enough.sum() < max(2, FEWEST_SEEDS * len(values)):
        return GrowthExponent(slopes)
    reached = depths[(fitted & enough[:, None]).any(0)]
    of = mean_interval(slopes[enough])
    ends = of.mean - of.half_width, of.mean + of.half_width
    return GrowthExponent(slopes, of.mean, *ends, (int(reached[0]), int(reached[-1])))


@dataclass(frozen=True, eq=False)
class Slopes:
    """Values (S, L) of every quantity, NaN where there is no row, and their exponents over seeds.

    ``seeds`` (S,), ``depths`` (L,); ``small`` (S, L) is where exponents are fitted.
    """

    seeds: np.ndarray
    depths: np.ndarray
    values: dict[str, np.ndarray]
    small: np.ndarray
    exponents: dict[str, GrowthExponent]
    keys: np.ndarray  # (S, L) of str
    in_doubt: dict[str, int]  # values in the regime that are not fitted, because of their errors

    @property
    def fewest_slopes(self) -> int:
        """The number of seeds with a slope of the curvature, or of the proxy if that is fewer."""
        both = (self.exponents[name].slopes for name in (CENTRE, PROXY))
        return min(int(np.isfinite(slopes).sum()) for slopes in both)


def slopes(models: Models, _: Thresholds) -> Slopes:
    """Fit the stacks of the models' version if there are any, else of that with the most rows.

    A value is fitted where the regime's condition holds and its error is below half of it.
    """
    versions = [row.code for row in models.stacks]
    most = max(sorted(set(versions)), key=versions.count, default="")
    version = models.code if models.code in versions else most
    used = {
        (row.seed, row.depth): row
        for row in sorted(models.stacks, key=lambda x: x.key, reverse=True)
        if row.code == version
    }
    seeds = np.unique(np.array([seed for seed, _ in used], dtype=int))
    depths = np.unique(np.array([depth for _, depth in used], dtype=int))
    shape = len(seeds), len(depths)
    values = {name: np.full(shape, np.nan) for name in QUANTITIES}
    errors = {name: np.zeros(shape) for name in QUANTITIES}
    small, keys = np.zeros(shape, dtype=bool), np.full(shape, "", dtype=object)
    for (seed, depth), row in used.items():
        at = np.searchsorted(seeds, seed), np.searchsorted(depths, depth)
        small[at], keys[at] = row.small, row.key
        for name in QUANTITIES:
            values[name][at] = abs(getattr(row, name))
            errors[name][at] = getattr(row, ERRORS[name]) if name in ERRORS else 0.0
    known = {name: fittable(values[name], errors[name], small) for name in QUANTITIES}
    exponents = {
        name: exponent(depths, values[name], small & known[name])
        if len(seeds)
        else GrowthExponent(np.zeros(0))
        for name in QUANTITIES
    }
    in_doubt = {name: int((small & ~known[name]).sum()) for name in QUANTITIES}
    return Slopes(seeds, depths, values, small, exponents, keys, in_doubt)


def expected(t: Thresholds) -> dict[str, tuple[float, float]]:
    """Return the slopes that the claim speaks of, each with its tolerance."""
    return {
        CENTRE: (t.curvature_slope, t.curvature_tolerance),
        PROXY: (t.proxy_slope, t.proxy_tolerance),
    }


def grow_with_depth(evidence: Slopes, t: Thresholds) -> Word:
    """Decide by both exponents: their whole intervals must be within the tolerance."""
    if evidence.fewest_slopes < t.fewest_seeds:
        return Word.NOT_ENOUGH
    within = [
        all(
            abs(end - slope) <= tolerance
            for end in (evidence.exponents[name].low, evidence.exponents[name].high)
        )
        for name, (slope, tolerance) in expected(t).items()
    ]
    if all(within):
        return Word.SUPPORTED
    return Word.PARTLY if any(within) else Word.NOT_SUPPORTED


# --- Text -----------------------------------------------------------------------------------------


def _wording(evidence: Slopes, word: Word, t: Thresholds) -> Wording:
    table = _table(evidence, t)
    if not len(evidence.seeds):
        text = "There are no stacks of the structured regime."
        return Wording("no stacks", text, table, "Stacks of the structured regime.")
    sentences, short = [], []
    for name, (slope, tolerance) in expected(t).items():
        of, title = evidence.exponents[name], TITLES[name]
        sentences.append(
            f"{title[0].upper()}{title[1:]} grows with exponent {fixed(of.mean, 4)}"
            f" {fixed_interval(of.low, of.high, 4)}; the rule asks for {slope:g} ± {tolerance:g}."
        )
        of_what = "of K(0)" if name == CENTRE else "of the proxy"
        short.append(f"{fixed(of.mean, 3)} {fixed_interval(of.low, of.high, 3)} {of_what}")
    for name in expected(t):
        without = evidence.seeds[np.isnan(evidence.exponents[name].slopes)].tolist()
        if without:
            sentences.append(f"Without a slope of {TITLES[name]}: seed {spans(without)}.")
        if count := evidence.in_doubt[name]:
            sentences.append(
                f"{counted(count, 'value')} of {TITLES[name]} in the regime"
                f" {'is' if count == 1 else 'are'} not fitted, because of errors above half of it."
            )
    sentences.append(
        "Other stacks need not do this: random stacks without a residual connection collapse with"
        " depth."
    )
    change = "Intervals of both exponents within their tolerance would support it."
    if word == Word.SUPPORTED:
        change = "An interval that leaves its tolerance."
    elif word == Word.NOT_ENOUGH:
        change = f"Slopes of at least {t.fewest_seeds} seeds, of K and of the proxy."
    return Wording(f"exponents {', '.join(short)}", " ".join(sentences), table, change)


def _table(evidence: Slopes, t: Thresholds) -> TextTable:
    columns = ("quantity", "seeds", "depths", "mean slope", "95 % interval", "farthest seed")
    rows = []
    for name in QUANTITIES:
        of = evidence.exponents[name]
        count = str(int(np.isfinite(of.slopes).sum()))
        if of.depths is None:
            rows.append((TITLES[name], count, *[MISSING] * 4))
            continue
        aim, _ = expected(t).get(name, (of.mean, 0.0))
        farthest = int(np.nanargmax(np.abs(of.slopes - aim)))
        rows.append((
            TITLES[name], count, f"{of.depths[0]} to {of.depths[1]}", fixed(of.mean, 4),
            fixed_interval(of.low, of.high, 4),
            f"{fixed(float(of.slopes[farthest]), 4)} (seed {evidence.seeds[farthest]})",
        ))  # fmt: skip
    return TextTable(columns, tuple(rows))


C7 = Claim(
    name="C7",
    title="Curvature adds up with depth, in a structured regime",
    claim="In a structured regime curvature accumulates with depth. Our reading of that regime:"
    " the flat sheet (u, v, 1), multiplied in each layer by 1 − ε·(first two coordinates)²,"
    " without a residual connection. There K(0) = 4 L² ε² by algebra.",
    test="The slopes of log |K(0)| and of the log of the paper's proxy against log depth, for each"
    " seed, which draws ε; only where depth·ε·max(u² + v²) is at most"
    f" {STRUCTURED_LIMIT:g}, with a Student interval over seeds.",
    verdict="Supported: the whole interval is within {t.curvature_tolerance:g} of"
    " {t.curvature_slope:g} for K and within {t.proxy_tolerance:g} of {t.proxy_slope:g} for"
    " the proxy. Partly: one of them. Not supported here: neither. Not enough data: fewer than"
    " {t.fewest_seeds} seeds have both slopes.",
    failures="Seeds without a slope are left out, and named.",
    needs=Needs(parts=(STACKS,)),
    evidence=slopes,
    decide=grow_with_depth,
    wording=_wording,
    kind=CONSTRUCTION,
)
