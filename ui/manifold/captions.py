"""What stands over a surface: which model it is, how it is drawn, and how much it curves.

A total has one source: the grid's, where that is known to a tenth, else the refined one.
"""

from __future__ import annotations

from gating_core.experiments.specimen import (
    NEEDLE,
    SEEDS,
    MeasuredSpecimen,
    chosen_config,
    needle,
)
from gating_core.geometry import (
    FLAT,
    MOST_CURVED,
    UNKNOWN,
    Integral,
    SurfaceIntegrals,
    concentration,
)
from ui.common.words import bound_text, doubt_text, layers_text, percent, short, total_text
from ui.manifold.request import Resolved, at_strength
from ui.manifold.words import degenerate, on_a_line


def model_text(resolved: Resolved) -> str:
    """Which model both sides are, and who has chosen it."""
    request, model = resolved.request, at_strength(resolved.sides[-1], 1.0)
    config = model.config
    seed = f"{layers_text(config.depth)}, D = {config.model_dim}, n = {config.value_count}"
    seed = f"{seed} · seed {request.own_seed}"
    if request.seed is not None:
        return seed
    if config == chosen_config(request.depth) and model.sharpness == 1:
        return f"{seed}, chosen: the broadest of {SEEDS}"
    return f"{seed}, chosen for another gate or size"


def caption(
    side: MeasuredSpecimen,
    refined: SurfaceIntegrals | None = None,
    stretch: float = 1.0,
    model: str = "",
) -> str:
    """What stands below the heading: how the surface is drawn, how much it curves, how unevenly.

    The total is as `best_total` says; ``stretch`` is how many times broader than true the surface
    is drawn. What ``model`` it is comes first, where that is said.
    """
    parts = [model, _narrow(side, stretch), f"total curvature {_total(side, refined)}"]
    return " · ".join(part for part in parts if part)


def _narrow(side: MeasuredSpecimen, stretch: float) -> str:
    """That a surface is a needle, which looks like one that is seen edge-on; and what is done."""
    times = needle(side.surface.values[0])
    parts = []
    if times > NEEDLE:
        much = "more than 1000" if times > 1e3 else f"{_figures(times)}"
        parts.append(f"a needle, {much} times as long as broad")
    if stretch > 1:
        parts.append(f"**stretched {_figures(stretch)} times across: not to scale**")
    return ", ".join(parts)


def _figures(number: float) -> str:
    return short(float(f"{number:.2g}"))


def best_total(side: MeasuredSpecimen, refined: SurfaceIntegrals | None) -> Integral | None:
    """The grid's total where that is known to a tenth, else the ``refined`` one if it is there.

    So a number that is good enough stays when more is known.
    """
    flat = degenerate(side) or side.verdict.word == FLAT
    if flat or side.total.sure():
        return side.total
    return None if refined is None else refined.absolute


def _total(side: MeasuredSpecimen, refined: SurfaceIntegrals | None) -> str:
    if degenerate(side):
        return f"**{total_of(side)}**: no {'surface' if on_a_line(side) else 'tangent plane'}"
    if side.verdict.word == FLAT:
        return "**0**: flat"
    best = best_total(side, refined)
    text = total_of(side, best)
    if best is None:
        return f"**{text}** on this grid, refined below"
    text = f"**{text}**" if best.sure() else f"**{text}**, not known better"
    share = float(concentration(side.surface)[0])
    if UNKNOWN in text or not share:
        return text
    return f"{text}, {percent(share)} of it on {percent(MOST_CURVED)} of the area"


def total_caption(side: MeasuredSpecimen, total: Integral) -> str:
    """The doubt under a total."""
    if degenerate(side):
        return "no tangent plane is resolved"
    text = doubt_text(total, side.verdict)
    if side.verdict.word == FLAT or total.sure() or not total.settled():
        return text
    return f"{text}; more than a tenth of it is in doubt, and a few seconds of refining do not help"


def total_of(side: MeasuredSpecimen, total: Integral | None = None) -> str:
    """The headline number: this ``total``, or the grid's."""
    if degenerate(side):
        return "none" if on_a_line(side) else UNKNOWN
    return total_text(side.total if total is None else total, side.verdict.word == FLAT)


def total_help(side: MeasuredSpecimen) -> str:
    """What a total is, and by which numbers a flat one is called flat."""
    text = (
        "The integral of |K| over the surface: how much it curves in all, whatever its size. A"
        " sphere has 4π ≈ 12.6, the corner of a cube π/2 ≈ 1.57."
    )
    return f"{text} Here: {bound_text(side.verdict)}" if side.verdict.word == FLAT else text
