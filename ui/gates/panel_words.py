"""Sentences of the folded parts, written from the numbers beside them."""

from __future__ import annotations

import numpy as np

from gating_core.geometry import SurfaceResult
from gating_core.theory import Design
from ui.common.words import error_text, percent, short, verdict_text
from ui.gates.layers import SEEDS, STEPS, TASK, MeasuredLayer, TrainedLayer
from ui.gates.shapes import FittedGate
from ui.gates.words import range_text

# --- The law for a real layer ---------------------------------------------------------------------

LAYER_LAW = (
    r"\begin{gathered} 1/g = 1 + c\,\alpha_1^{\,p}\,\alpha_2^{\,q}\,\alpha_3^{\,r},\quad"
    r" p + q + r = 0 \\ \operatorname{sign} K = \operatorname{sign}\left(qr\,\alpha_1^2"
    r" + pr\,\alpha_2^2 + pq\,\alpha_3^2 + pqr\right) \end{gathered}"
)


def exponents_text(found: MeasuredLayer) -> str:
    """p, q, r and c of the layer's gate."""
    e = found.exponents
    parts = [f"{name} = {short(value)}" for name, value in (("p", e.p), ("q", e.q), ("r", e.r))]
    return f"{', '.join(parts)} (each ± {error_text(e.error)}), log c = {short(e.log_scale)}"


def signs_text(found: MeasuredLayer) -> str:
    """At how many points the two signs agree, and at how many that cannot be told."""
    agree, differ, undecided = found.counts
    decided, count = agree + differ, agree + differ + undecided
    if not decided:
        return (
            f"The sign is undecided at all {count} grid points: |K| and the formula are within"
            " their errors."
        )
    rest = f"undecided at {undecided} of {count}" if undecided else "undecided at none"
    return (
        f"The formula's sign and that of the exact K **agree at {agree} of {decided}** decided grid"
        f" points; {rest}."
    )


def line_text(found: MeasuredLayer) -> str:
    """Whether the conic meets the triangle, and what K is there."""
    ends = np.where(found.conic.decided, found.conic.gaussian, np.nan)
    if not np.isfinite(ends).any():
        return "Nothing is known of a line K = 0."
    low, high = float(np.nanmin(ends)), float(np.nanmax(ends))
    if low < 0 < high:
        return f"Across the black conic K changes its sign: {range_text((low, high))}."
    sign, end = (
        ("positive", f"up to {short(high)}") if low > 0 else ("negative", f"down to {short(low)}")
    )
    return (
        f"K is {sign} at every decided point, {end}: no sign change is seen in this part of the"
        " triangle, where no weight is below 0.02."
    )


def trained_text(found: TrainedLayer) -> str:
    """Where a trained layer comes from."""
    return (
        f"The best of {SEEDS} seeds by training accuracy (seed {found.seeds[found.best]}), after"
        f" {STEPS} steps on *{TASK}*: {percent(found.train_accuracy)} of training points,"
        f" {percent(found.test_accuracy)} of new ones are right."
    )


# --- The theorem ----------------------------------------------------------------------------------

THEOREM = (
    "**The theorem** (Bathula and Joshi, arXiv 2604.14702, in our words). Ungated attention writes"
    " averages $\\sum_i \\alpha_i U_i$ of its values. All of them together, for *all* weights"
    " $\\alpha$, are an open piece of an affine subspace: intrinsically flat, K = 0.\n\n"
    "**What it assumes.** Fixed values $U_i$ · one layer · no residual · no normalisation after"
    " attention. An output projection is allowed. And it speaks of all weights, not of the surface"
    " that the inputs cut out of them."
)


def known_range(surface: SurfaceResult) -> tuple[float, float] | None:
    """The least and the largest known K of a surface's last version."""
    known = surface.known[-1]
    return (float(np.nanmin(known)), float(np.nanmax(known))) if np.isfinite(known).any() else None


def largest_doubt(surface: SurfaceResult) -> str:
    """The largest error of a known K."""
    errors = surface.known_error[-1][np.isfinite(surface.known[-1])]
    return error_text(float(errors.max())) if errors.size else "no bound"


def range_with_doubt(surface: SurfaceResult) -> str:
    """The range of K and the largest error in it."""
    ends = known_range(surface)
    doubt = largest_doubt(surface)
    return f"{range_text(ends or (None, None))}, each known to {doubt} or better"


def counterexample_text(surface: SurfaceResult, twin: SurfaceResult, exact: float | None) -> str:
    """What an ungated model and its twin do."""
    (said,), (other,) = surface.verdicts, twin.verdicts
    closed = ""
    if exact is not None:
        gap = np.abs(surface.known[-1] - exact)
        held = bool((gap <= surface.known_error[-1])[np.isfinite(gap)].all())
        agrees = "within its error everywhere" if held else "**not within its error everywhere**"
        closed = f" Exact K = {exact:.6g}: {agrees}."
    return (
        f"**{verdict_text(said)}**; {range_with_doubt(surface)}.{closed}  \nWithout it:"
        f" **{verdict_text(other)}**."
    )


# --- A gate for a shape ---------------------------------------------------------------------------


def design_text(found: Design, reached: float) -> str:
    """The gate's range, and whether a sigmoid has such values; ``reached`` a size at which it has.

    Everything is said of the grid's points.
    """
    agree = "agree" if found.agrees else "**do not agree**"
    said = (
        f"The gate's values lie between {short(found.lowest)} and {short(found.highest)}. K of its"
        f" image and of the shape itself, {range_with_doubt(found.image.surface)}, {agree} within"
        " their errors."
    )
    if found.sigmoid_reaches:
        return f"{said} **A sigmoid reaches it**: all are between 0 and 1."
    return (
        f"{said} **No sigmoid reaches it**: that needs values below 1, a size below"
        f" {short(found.size_limit)}. For the fit the shape has size {short(reached)}."
    )


def fit_text(found: FittedGate) -> str:
    """How good the fit is, in the gate and in K."""
    images = found.exact.surface, found.fitted.surface
    exact, fitted = map(known_range, images)
    if exact is None or fitted is None:
        return "K of the images is not known."
    gap = np.abs(images[1].known[-1] - images[0].known[-1])
    place = np.unravel_index(int(np.nanargmax(gap)), gap.shape)
    error = float(sum(image.known_error[-1][place] for image in images))
    apart = float(gap[place])
    said = (
        f"The fitted gate is at most {error_text(found.largest_error)} off the wanted one. Its"
        f" image has **{range_text(fitted)}** where the wanted one has **{range_text(exact)}**:"
        f" they are up to {short(apart)} apart."
    )
    if apart <= error:
        return f"{said} That is within their errors."
    return (
        f"{said} A gate may be close and its curvature far off: K hangs on the gate's *second"
        " derivatives*, and the fit saw its values only."
    )
