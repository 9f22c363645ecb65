"""What is drawn on the page of depth, with its numbers, and how could one misread it?"""

from __future__ import annotations

import numpy as np

from gating_core.experiments.depth import (
    MOST_CURVATURE,
    QUANTITIES,
    QUARTILES,
    REGIMES,
    STRUCTURED_LIMIT,
    DepthResult,
    cap_curvature,
)
from gating_core.geometry import SurfaceResult
from ui.common.explain import beats
from ui.common.words import curvature_text, percent, short
from ui.depth import words
from ui.depth.chart import Drawn
from ui.depth.request import UNTRAINED


def chart_text(drawn: list[Drawn]) -> str:
    """Of the curves against depth."""
    quantity = QUANTITIES[drawn[0].quantity]
    low, high = (percent(share) for share in QUARTILES)
    fits = "; ".join(f"{each.title}: {words.exponent_text(each.curve.exponent)}" for each in drawn)
    count = len(drawn[0].curve.values)
    return beats(
        f"The {quantity.title} of the surface after so many layers, both axes logarithmic: the"
        f" median of {count} seeds, the band from {low} to {high} of them, one seed as a thin line."
        " Dashed: the mean of lines fitted seed by seed.",
        f"log {quantity.symbol} = exponent · log L + constant. Exponents, with 95 % intervals over"
        f" seeds: {fits}.",
        "A power of depth is a straight line, and its slope the exponent. A curve that bends down"
        " and stays there saturates.",
        "A ring is a depth at which some seeds are not known, and the curve ends where fewer than"
        " half are: the median of those that are left speaks for survivors. A constant slope over"
        " sixteen layers says nothing of a hundred.",
    )


def replay_text(surface: SurfaceResult, frame: int) -> str:
    """Of the surface and its maps."""
    middle = len(surface.axis) // 2
    centre = curvature_text(surface, (frame, middle, middle))
    return beats(
        "One model's outputs after each of its layers, from the square [-1, 1]²: the same stack,"
        " read on the way, not several stacks. Below, K over the chart after every layer.",
        f"K = (⟨n_uu, n_vv⟩ − |n_uv|²) / det g. After layer {frame + 1}, at the centre: {centre}.",
        "Where K gathers, and whether a layer adds to it or only shrinks the surface.",
        "Where surfaces differ much in size each is drawn as large as the others, and coloured by"
        " K·d², d its diameter: that is the curvature of what is drawn. K itself is read off under"
        " the pointer. One seed is one seed: the chart has all of them. Trained stacks of the"
        " chart are each trained for their own depth; the replay goes through the layers of one.",
    )


def why_text(results: dict[str, DepthResult]) -> str:
    """Theory, its end, and our reading, with the numbers that are known."""
    parts = [
        "**Our reading of the paper.** The paper that the claims come from says that in a"
        " structured regime curvature accumulates with depth; only its abstract was at hand. We"
        " read *structured* as: every layer multiplies y by the scalar gate 1 − ε(y₁² + y₂²), the"
        " same in all layers (*aligned*); the sheet is (u, v, 1), and each seed draws ε.",
        "**Aligned gates add up.** After L of them the sheet is (u, v, 1) times G ="
        " 1 − Lε(u² + v²) + …, so |K(0)| = 4L²ε² exactly: exponent 2 for K, and 1 for the paper's"
        f" proxy, as long as L·ε·max(u² + v²) ≤ {STRUCTURED_LIMIT:g}. The mean of |K| is fitted a"
        " little above 2, because it has terms of the next order: over a square it is steeper"
        " by about 4a/3, a = 2Lε.",
        "**Random gates walk.** With coefficients of mean zero, drawn anew for every layer,"
        " Hessians add up like a random walk: as √L, so K as L. Exponents 1 and ½, not 2 and 1:"
        " it is the alignment that makes growth systematic.",
    ]
    if "aligned" in results and "random" in results:
        found = [
            f"{name} {words.exponent_text(results[name].curves[quantity].exponent)} ({quantity})"
            for name in ("aligned", "random")
            for quantity in ("total", "centre", "proxy")
        ]
        parts.append(f"Measured: {', '.join(found)}.")
    parts.append(
        "**Where it ends.** Where each layer does little, G tends to (1 + a r²)^(−1/2), a = 2Lε:"
        " the sheet becomes a cap of the ellipsoid a(x² + y²) + z² = 1. Its total curvature is the"
        " solid angle of the square [−a, a]² from a distance of one, 4·arctan(a²/√(1 + 2a²)):"
        f" 4a² at first, never more than 2π = {MOST_CURVATURE:.2f}, half a sphere, however many"
        " layers follow." + _cap(results)
    )
    parts.append(
        "**Random stacks need not do either.** Without a residual each layer averages what stands"
        " for the one before, and size goes; with one it adds to it. All have D = "
        f"{UNTRAINED.model_dim} here; more dimensions may go other ways." + _stacks(results)
    )
    return "\n\n".join(parts)


def _cap(results: dict[str, DepthResult]) -> str:
    strong = results.get("strong")
    if strong is None or strong.eps is None:
        return ""
    curve = strong.curves["total"]
    depth = int(curve.depths[-1])
    cap = np.median(cap_curvature(2 * depth * strong.eps))
    return (
        f" Strong gates, after {depth} layers: measured median {short(curve.median[-1])}, the cap"
        f" of as small steps {short(cap)}."
    )


def _stacks(results: dict[str, DepthResult]) -> str:
    """What size and total curvature of those stacks do that are known."""
    found = [
        f"{REGIMES[name].title}: diameter {result.curves['diameter'].course.word}, total curvature"
        f" {result.curves['total'].course.word}"
        for name, result in results.items()
        if REGIMES[name].arrangement is not None
    ]
    return f" Measured: {'; '.join(found)}." if found else ""
