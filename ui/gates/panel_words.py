"""Sentences of the folded parts, written from the numbers beside them."""

from __future__ import annotations

import numpy as np

from gating_core.geometry import SurfaceResult
from gating_core.theory import ConicResult, GateDesign
from ui.common.lessons import section
from ui.common.words import error_text, percent, rounded_error, short, verdict_text
from ui.gates.folded import TASK, TRAINED_SEEDS, TRAINING_STEPS, FittedGate, TrainedLayer
from ui.gates.words import range_text

# --- The law for a real layer ---------------------------------------------------------------------


def exponents_text(conic: ConicResult) -> str:
    """p, q, r and c of the layer's gate."""
    e = conic.exponents
    parts = [f"{name} = {short(value)}" for name, value in (("p", e.p), ("q", e.q), ("r", e.r))]
    return f"{', '.join(parts)} (each ± {rounded_error(e.error)}), log c = {short(e.log_scale)}"


def signs_text(conic: ConicResult) -> str:
    """At how many points the two signs agree, and at how many that cannot be told."""
    agree, undecided = conic.agreeing, conic.undecided
    decided = agree + conic.disagreeing
    count = decided + undecided
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


def line_text(conic: ConicResult) -> str:
    """Whether the conic meets the triangle, and what K is there."""
    ends = np.where(conic.decided, conic.gaussian, np.nan)
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


def trained_text(trained: TrainedLayer) -> str:
    """Where a trained layer comes from."""
    return (
        f"The best of {TRAINED_SEEDS} seeds by training accuracy (seed"
        f" {trained.seeds[trained.best]}), after {TRAINING_STEPS} steps on *{TASK}*:"
        f" {percent(trained.train_accuracy)} of training points, {percent(trained.test_accuracy)}"
        " of new ones are right."
    )


# --- The theorem ----------------------------------------------------------------------------------


def range_with_doubt(surface: SurfaceResult) -> str:
    """The range of a surface's known K and the largest error in it."""
    known = np.isfinite(surface.known[-1])
    errors = surface.known_error[-1][known]
    doubt = error_text(float(errors.max())) if errors.size else "no bound"
    return f"{range_text(_known_range(surface))}, error at most {doubt} each"


def _known_range(surface: SurfaceResult) -> tuple[float, float] | None:
    known = surface.known[-1]
    return (float(np.nanmin(known)), float(np.nanmax(known))) if np.isfinite(known).any() else None


def counterexample_text(surface: SurfaceResult, twin: SurfaceResult, exact: float | None) -> str:
    """What an ungated model and its twin do."""
    closed = ""
    if exact is not None:
        gap = np.abs(surface.known[-1] - exact)
        held = bool((gap <= surface.known_error[-1])[np.isfinite(gap)].all())
        agrees = "within its error everywhere" if held else "**not within its error everywhere**"
        closed = f" Exact K = {exact:.6g}: {agrees}."
    return (
        f"**{verdict_text(surface.verdicts[0])}**; {range_with_doubt(surface)}.{closed}"
        f"  \nWithout it: **{verdict_text(twin.verdicts[0])}**."
    )


# --- A gate for a shape ---------------------------------------------------------------------------


def design_text(design: GateDesign, reached: float) -> str:
    """The gate's range, and whether a sigmoid has such values; ``reached`` a size at which it has.

    It is about the grid's points.
    """
    agree = "agree" if design.agrees else "**do not agree**"
    text = (
        f"The gate's values lie between {short(design.lowest)} and {short(design.highest)}. K of"
        f" its image and of the shape itself, {range_with_doubt(design.image.surface)}, {agree}"
        " within their errors."
    )
    if design.sigmoid_reaches:
        return f"{text} **A sigmoid reaches it**: all values are between 0 and 1."
    return (
        f"{text} **No sigmoid reaches it**: that needs values below 1, a size below"
        f" {short(design.size_limit)}. For the fit the shape has size {short(reached)}."
    )


def fit_text(fit: FittedGate) -> str:
    """How good the fit is, in the gate and in K."""
    images = fit.exact.surface, fit.fitted.surface
    exact, fitted = map(_known_range, images)
    if exact is None or fitted is None:
        return "K of the images is not known."
    gap = np.abs(images[1].known[-1] - images[0].known[-1])
    worst = np.unravel_index(int(np.nanargmax(gap)), gap.shape)
    error = float(sum(image.known_error[-1][worst] for image in images))
    apart = float(gap[worst])
    text = (
        f"The fitted gate differs from the exact one by at most {error_text(fit.largest_error)}."
        f" Its image has **{range_text(fitted)}**, the exact one has **{range_text(exact)}**:"
        f" they differ by up to {short(apart)}."
    )
    if apart <= error:
        return f"{text} That is within their errors."
    return text + " " + section("gates", "second_derivatives")
