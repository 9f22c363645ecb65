"""A proof as a map of cells and in sentences, and what contradicts it.

Shares that are proved are rounded down, what is undetermined is rounded up, intervals outwards.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import plotly.graph_objects as go

from gating_core.geometry import Integral
from gating_core.proved import FLAT, LABELS, NEGATIVE, OPEN, POSITIVE, Interval, ProvedCurvature
from ui.common.formatting import between_text, plus_minus, total_text
from ui.common.lessons import section
from ui.drawing import palette
from ui.drawing.chart_map import CellKind, cell_map, kinds_of_pixels

SIZE = 380  # pixels
KINDS = {
    POSITIVE: CellKind("K > 0", palette.SIGNED_SCALE[-1][1]),
    NEGATIVE: CellKind("K < 0", palette.SIGNED_SCALE[0][1]),
    FLAT: CellKind("K = 0", palette.NEUTRAL),
    OPEN: CellKind("undetermined", None),
}
assert tuple(KINDS) == LABELS
SIGNS = np.array([1, -1, 0, 0, 0])  # by label, the last for pixels of several kinds
SPEAKS = np.array([True, True, True, False, False])  # whether a sign is proved there
TENTHS = 1000  # of a percent, in a share of 1
INTEGRALS = {"absolute": "∫|K| dA", "gaussian": "∫K dA", "area": "the area"}


def proof_map(proof: ProvedCurvature, names: tuple[str, str]) -> go.Figure:
    """Draw the map of cells with the proved sign of K; ``names`` are those of the chart's axes."""
    return cell_map(*_arrays(proof), [*KINDS.values()], names, SIZE)


def contradicted(proof: ProvedCurvature, axis: np.ndarray, known: np.ndarray) -> int:
    """Count grid points whose measured sign of K contradicts the proved one.

    ``known`` (R, C) is K over the chart ``axis`` x ``axis``, NaN where its sign is not known. A
    point is compared where its pixel of the map is of one kind.
    """
    pixels = kinds_of_pixels(*_arrays(proof), len(KINDS))
    pixel = np.clip(((axis + 1) * len(pixels) / 2).astype(int), 0, len(pixels) - 1)
    label = pixels[np.ix_(pixel, pixel)]
    return int((SPEAKS[label] & np.isfinite(known) & (np.sign(known) != SIGNS[label])).sum())


def _arrays(proof: ProvedCurvature) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    cells = proof.cells
    return cells.centres.numpy(), cells.radius.numpy(), proof.labels.numpy()


# --- Shares ---------------------------------------------------------------------------------------


def shares_text(proof: ProvedCurvature) -> str:
    """Say on which share of the area, and of the chart, each sign is proved."""
    if proof.proof:
        return f"K = 0 on the whole chart, proved: {proof.proof}."
    signs = {
        "K > 0": (proof.positive, proof.positive_area),
        "K < 0": (proof.negative, proof.negative_area),
    }
    found = {sign: shares for sign, shares in signs.items() if shares[0]}
    if not found:
        return "Nothing is proved of the sign of K yet: all of the chart is undetermined."
    if len(found) == 1 and not proof.open:
        why = f": {proof.one_sign}" if proof.one_sign else ""
        return f"{next(iter(found))} on the whole chart, proved{why}."
    parts = [
        f"{sign} on at least {_down(area)} of the surface's area ({_down(share)} of the chart)"
        for sign, (share, area) in found.items()
    ]
    rest = f"{_up(proof.open)} of the chart" if proof.open else "nothing"
    return f"Proved: {' and '.join(parts)}; {rest} is undetermined."


def _down(share: float) -> str:
    """Format a share in percent, rounded down to a tenth."""
    tenths = math.floor(TENTHS * Fraction(share))
    return f"{tenths / 10:.1f}\u00a0%" if tenths else "less than 0.1\u00a0%"


def _up(share: float) -> str:
    """Format a share > 0 in percent, rounded up to a tenth."""
    tenths = math.ceil(TENTHS * Fraction(share))
    return "less than 0.1\u00a0%" if TENTHS * Fraction(share) < 1 else f"{tenths / 10:.1f}\u00a0%"


# --- Totals ---------------------------------------------------------------------------------------


def total_sentence(proof: ProvedCurvature, estimate: Integral | None) -> str:
    """Say between which numbers the total curvature lies, and whether the estimate agrees."""
    if proof.proof:
        return f"Its total curvature ∫|K| dA is 0; its area is {_interval(proof.area)}, proved."
    text = f"Its total curvature ∫|K| dA is {_interval(proof.absolute)}, proved"
    if math.isinf(proof.absolute.high):
        text = f"{text}; no upper bound is proved"
    if estimate is None:
        return f"{text}. The estimate is not there yet."
    if not bool(estimate.quotable()):
        return f"{text}. The estimate does not converge."
    agrees = ", which agrees" if not contradiction("absolute", proof.absolute, estimate) else ""
    return f"{text}. The estimate is {total_text(estimate, flat=False)}{agrees}."


def _interval(interval: Interval) -> str:
    return between_text(*interval, least=0.0)


def contradiction(name: str, proved: Interval, estimate: Integral) -> bool:
    """Return whether an estimate with its error lies outside what is proved.

    An incomplete estimate of an integral that is not negative may lie below; one of ∫K dA cannot
    contradict.
    """
    value, error = float(estimate.value), float(estimate.error)
    if math.isnan(value) or math.isnan(error):
        return False
    if not bool(estimate.complete):
        return name != "gaussian" and value - error > proved.high
    return value - error > proved.high or value + error < proved.low


def contradictions(
    proof: ProvedCurvature, estimates: Mapping[str, Integral], points: int
) -> Iterator[str]:
    """Yield a sentence for every estimate that the proof contradicts; ``points``: signs of K."""
    for name, estimate in estimates.items():
        interval = getattr(proof, name)
        if contradiction(name, interval, estimate):
            yield section(
                "proved",
                "contradiction",
                what=INTEGRALS[name],
                proved=between_text(*interval),
                estimate=plus_minus(float(estimate.value), float(estimate.error)),
            )
    if points:
        yield section("proved", "contradicted_points", count=f"{points:,}")


def alt(name: str, proof: ProvedCurvature) -> str:
    """Describe the map."""
    return f"Map of the chart of cells. {name}: {shares_text(proof)}"


def cells_table(proof: ProvedCurvature) -> dict[str, list[Any]]:
    """Return the columns of the table of cells by name."""
    (u, v), (half_u, half_v) = (x.T.tolist() for x in (proof.cells.centres, proof.cells.radius))
    signs = [KINDS[LABELS[label]].words for label in proof.labels.tolist()]
    return {
        "u": u,
        "v": v,
        "half_width_u": half_u,
        "half_width_v": half_v,
        "sign_of_K": signs,
        "immersed": proof.immersed.tolist(),
    }
