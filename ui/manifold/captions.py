"""What stands over a surface: which model it is, how it is drawn, and how much it curves.

A total has one source: the grid's, where that is known to a tenth, else the refined one. Until that
is there no number is written, so the first number is the one that stays.
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
from ui.common import words as common
from ui.common.lessons import section
from ui.manifold.request import Resolved, at_strength
from ui.manifold.words import degenerate, on_a_line

BEING_REFINED = "being refined …"
REFINED_ELSEWHERE = "refined on the tab See"


def model_text(resolved: Resolved) -> str:
    """Which model both variants are, and how it was chosen."""
    request, model = resolved.request, at_strength(resolved.variants[-1], 1.0)
    config = model.config
    seed = f"{common.layers_text(config.depth)}, D = {config.model_dim}, n = {config.value_count}"
    seed = f"{seed} · seed {request.own_seed}"
    if request.seed is not None:
        return seed
    if config == chosen_config(request.depth) and model.sharpness == 1:
        return f"{seed}, chosen: the broadest of {SEEDS}"
    return f"{seed}, chosen for another gate or size"


def caption(
    variant: MeasuredSpecimen,
    refined: SurfaceIntegrals | None = None,
    stretch: float = 1.0,
    model: str = "",
    unrefined: str = BEING_REFINED,
) -> str:
    """What stands below the heading: the ``model``, how it is drawn, how much it curves.

    The total is as `best_total` says, or ``unrefined``; ``stretch`` is how many times broader than
    true the surface is drawn.
    """
    total = best_total(variant, refined)
    text = unrefined if total is None else _total(variant, total)
    parts = [model, _needle(variant, stretch), f"total curvature {text}"]
    return " · ".join(part for part in parts if part)


def _needle(variant: MeasuredSpecimen, stretch: float) -> str:
    """That a surface is a needle, which looks like a sheet seen edge-on; and what is done."""
    times = needle(variant.surface.values[0])
    parts = []
    if times > NEEDLE:
        much = "more than 1000" if times > 1e3 else common.rough(times)
        parts.append(f"a needle, {much} times as long as broad")
    if stretch > 1:
        parts.append(f"**stretched {common.rough(stretch)} times across: not to scale**")
    return ", ".join(parts)


def best_total(variant: MeasuredSpecimen, refined: SurfaceIntegrals | None) -> Integral | None:
    """Return the grid's total where that is known to a tenth, else the ``refined`` one, if any."""
    flat = degenerate(variant) or variant.verdict.word == FLAT
    if flat or variant.total.sure():
        return variant.total
    return None if refined is None else refined.absolute


def _total(variant: MeasuredSpecimen, total: Integral) -> str:
    text = f"**{total_of(variant, total)}**"
    if degenerate(variant):
        return f"{text}: no {'surface' if on_a_line(variant) else 'tangent plane'}"
    if variant.verdict.word == FLAT:
        return f"{text}: {common.flat_text(variant.verdict)}"
    if not total.sure():
        text += ", refining does not help"
    share = float(concentration(variant.surface)[0])
    if UNKNOWN in text or not share:
        return text
    return f"{text}, {common.percent(share)} of it on {common.percent(MOST_CURVED)} of the area"


def total_caption(variant: MeasuredSpecimen, total: Integral) -> str:
    """The doubt under a total."""
    if degenerate(variant):
        return "no tangent plane is resolved"
    text = common.doubt_text(total, variant.verdict)
    if variant.verdict.word == FLAT or total.sure() or not total.settled():
        return text
    return f"{text}; more than a tenth of it is in doubt, and a few seconds of refining do not help"


def total_of(variant: MeasuredSpecimen, total: Integral) -> str:
    """The headline number."""
    if degenerate(variant):
        return "none" if on_a_line(variant) else UNKNOWN
    return common.total_text(total, variant.verdict.word == FLAT)


def total_help(variant: MeasuredSpecimen) -> str:
    """What a total is, and by which numbers a flat one is called flat."""
    text = section("manifold", "total")
    flat = variant.verdict.word == FLAT
    return f"{text} Here: {common.bound_text(variant.verdict)}" if flat else text
