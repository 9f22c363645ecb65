"""How is claim C7 said? From exponents."""

from __future__ import annotations

import numpy as np

from gating_core.claims.said.said import Wording
from gating_core.claims.slopes import CENTRE, QUANTITIES, TITLES, Slopes
from gating_core.claims.slopes import PROXY as DEPTH_PROXY
from gating_core.claims.thresholds import NOT_ENOUGH, SUPPORTED, Thresholds
from gating_core.claims.wording import (
    MISSING,
    Table,
    fixed,
    fixed_interval,
    spans,
)


def deeper(found: Slopes, word: str, t: Thresholds) -> Wording:
    if not len(found.seeds):
        return Wording("There are no stacks of the structured regime.", _slope_table(found, t),
                       "Stacks of the structured regime.")  # fmt: skip
    wanted = {CENTRE: (t.curvature_slope, t.curvature_tolerance),
              DEPTH_PROXY: (t.proxy_slope, t.proxy_tolerance)}  # fmt: skip
    parts = []
    for name, (slope, tolerance) in wanted.items():
        of = found.exponents[name]
        mean = np.nan if of.interval is None else of.interval.mean
        ends = fixed_interval(of.low, of.high, 4)
        parts.append(
            f"{TITLES[name]} grows with exponent {fixed(mean, 4)} {ends}, where {slope:g} ±"
            f" {tolerance:g} is wanted"
        )
    said = "; ".join(parts) + "."
    said = said[0].upper() + said[1:]
    if found.without:
        said += f" Without a slope: seed {spans(found.without)}."
    said += " Other stacks need not do this: random ones collapse with depth."
    return Wording(said, _slope_table(found, t), _change(word, t))


def _change(word: str, t: Thresholds) -> str:
    if word == SUPPORTED:
        return "An interval that leaves its tolerance."
    if word == NOT_ENOUGH:
        return f"Slopes of at least {t.fewest_seeds} seeds, of K and of the proxy."
    return "Intervals of both exponents within their tolerance would support it."


def _slope_table(found: Slopes, t: Thresholds) -> Table:
    columns = ("quantity", "seeds", "depths", "mean slope", "95 % interval", "farthest seed")
    wanted = {CENTRE: t.curvature_slope, DEPTH_PROXY: t.proxy_slope}
    rows = []
    for name in QUANTITIES:
        of = found.exponents[name]
        has = np.isfinite(of.slopes)
        if of.interval is None or of.depths is None:
            rows.append((TITLES[name], str(int(has.sum())), *[MISSING] * 4))
            continue
        aim = wanted.get(name, of.interval.mean)
        place = int(np.nanargmax(np.abs(of.slopes - aim)))
        rows.append((
            TITLES[name], str(int(has.sum())), f"{of.depths[0]} to {of.depths[1]}",
            fixed(of.interval.mean, 4), fixed_interval(of.low, of.high, 4),
            f"{fixed(float(of.slopes[place]), 4)} (seed {found.seeds[place]})",
        ))  # fmt: skip
    return Table(columns, tuple(rows))
