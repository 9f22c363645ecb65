"""What do the fitted numbers say of depth? Every word is the core's, every number has its doubt."""

from __future__ import annotations

import numpy as np

from gating_core.experiments.depth import (
    GROWS,
    QUANTITIES,
    SATURATES,
    SHRINKS,
    STEADY,
    UNDECIDED,
    ZERO,
    Curve,
    Exponent,
)
from gating_core.geometry import UNKNOWN, Integral, SurfaceResult
from gating_core.training import MeanInterval, mean_interval
from ui.common.words import (
    layers_text,
    plus_minus,
    short,
    total_text,
    verdict_text,
)
from ui.depth.chart import Drawn
from ui.depth.request import Request

FEWEST = 0.5  # of the seeds: below it nothing is said of all
ADVERBS = {GROWS: "grows like a power of depth", SATURATES: "saturates", SHRINKS: "shrinks",
           STEADY: "hardly changes", ZERO: "stays zero"}  # fmt: skip


def exponent_text(found: Exponent) -> str:
    """An exponent with its interval, or that there is none."""
    if found.interval is None:
        return "none"
    return plus_minus(found.interval.mean, found.interval.half_width)


def clause(each: Drawn) -> str:
    """What one curve does: its word, and the numbers it is said from."""
    curve = each.curve
    word = curve.course.word
    text = each.title if word == UNDECIDED else f"{each.title}: **{ADVERBS[word]}**"
    if word == ZERO:
        return text
    if word == SATURATES:
        early, late = curve.course.early, curve.course.late
        text += f", {_way(curve)}, exponent {exponent_text(early)} at first"
        return f"{text} and {exponent_text(late)} at the end"
    found = curve.exponent if curve.exponent.interval is not None else curve.course.whole
    if found.interval is None:
        return f"{text}, too few seeds are known for an exponent"
    low, high = found.depths or (0, 0)
    text += f", exponent **{exponent_text(found)}** (layers {low} to {high}"
    if each.theory is not None:
        text += f"; theory {each.theory:g}"
    return f"{text})"


def _way(curve: Curve) -> str:
    known = np.flatnonzero(np.isfinite(curve.median))
    first, last = known[0], known[-1]
    return f"from {short(curve.median[first])} to {short(curve.median[last])}"


def summary(drawn: list[Drawn]) -> str:
    """What is systematic and what these seeds do not decide, with the exponents."""
    title = QUANTITIES[drawn[0].quantity].title.removeprefix("the ")
    sure = [clause(each) for each in drawn if each.curve.course.word != UNDECIDED]
    unsure = [clause(each) for each in drawn if each.curve.course.word == UNDECIDED]
    parts = []
    if sure:
        parts.append(f"Systematic in the {title}: {'; '.join(sure)}.")
    if unsure:
        where = "" if sure else f" in the {title}"
        parts.append(f"Undecided by these seeds{where}: {'; '.join(unsure)}.")
    compared = _compared(drawn)
    return " ".join([*parts, compared] if compared else parts)


def _compared(drawn: list[Drawn]) -> str:
    """Whether a gate changes the exponent, seed by seed."""
    if len(drawn) < 2 or drawn[0].title != "ungated":
        return ""
    slopes = [each.curve.course.whole.slopes for each in drawn]
    change = slopes[1] - slopes[0]
    change = change[np.isfinite(change)]
    if len(change) < max(2, FEWEST * len(slopes[0])):
        return ""
    found = mean_interval(change)
    if abs(found.mean) <= found.half_width:
        return (
            f"No difference that {len(change)} seeds can show between their exponents:"
            f" {_signed(found)}."
        )
    return f"The gate changes the exponent by {_signed(found)}."


def _signed(found: MeanInterval) -> str:
    return plus_minus(found.mean, found.half_width)


def doubts(drawn: list[Drawn]) -> str:
    """Where seeds are missing, and what becomes of a curve there; nothing where none is."""
    found = []
    for each in drawn:
        curve, count = each.curve, len(each.curve.values)
        if (curve.count < count).any():
            first = int(curve.depths[np.argmax(curve.count < count)])
            found.append(f"{each.title} from {layers_text(first)} on")
    if not found:
        return ""
    return (
        f"Open rings: not all of {len(drawn[0].curve.values)} seeds are known"
        f" ({', '.join(found)}); what is left are survivors, and where fewer than half are, the"
        " curve ends."
    )


def spread(drawn: list[Drawn]) -> str:
    """How far single seeds are from their mean exponent."""
    parts = []
    for each in drawn:
        slopes = each.curve.course.whole.slopes
        slopes = slopes[np.isfinite(slopes)]
        if len(slopes):
            parts.append(f"{each.title} {short(slopes.min())} to {short(slopes.max())}")
    return f"Exponents of single seeds: {', '.join(parts)}." if parts else ""


def captions(surface: SurfaceResult, diameters: np.ndarray) -> list[str]:
    """What stands above the surface after every layer, whose ``diameters`` (L,) are these."""
    return [_caption(surface, frame, size) for frame, size in enumerate(diameters.tolist())]


def _caption(surface: SurfaceResult, frame: int, diameter: float) -> str:
    total = Integral(surface.total[frame], surface.total_error[frame], surface.complete[frame])
    text = total_text(total, bool(surface.flat[frame]))
    if not (surface.complete[frame] or surface.total[frame] > 0):
        text = UNKNOWN  # "at least 0" says nothing
    text = f"total curvature **{text}**" if text != UNKNOWN else f"total curvature: {text}"
    return f"{text} · diameter {short(diameter)}"


def readings(surface: SurfaceResult) -> list[str]:
    """What is said below the pictures, after every layer."""
    layers = len(surface.total)
    return [
        f"**After layer {frame + 1} of {layers}:** a surface that is"
        f" {verdict_text(surface.verdicts[frame])}."
        for frame in range(layers)
    ]


def heading(request: Request) -> str:
    """Which stack is replayed."""
    title = request.curves[request.replayed]
    return f"One stack, {title}, seed {request.seed}"


def stale_text(shown: Request, wanted: Request) -> str:
    """What is said over the picture of something else than what is ``wanted``."""
    if shown == wanted:
        return ""
    return f"Still {_what(shown)}. {_what(wanted).capitalize()}: not there yet."


def _what(request: Request) -> str:
    names = {"aligned": "aligned gates", "random": "random gates", "stacks": "random stacks",
             "trained": "trained stacks"}  # fmt: skip
    more = f" from seed {request.first_seed}" if request.is_trained and request.first_seed else ""
    return names[request.stacked] + more


def alt_text(drawn: list[Drawn]) -> str:
    """The finding, for those who do not see the chart."""
    title = QUANTITIES[drawn[0].quantity].title
    return f"{title[:1].upper()}{title[1:]} against layers: " + "; ".join(
        f"{each.title} {each.curve.course.word}, exponent"
        f" {exponent_text(each.curve.course.whole)}" for each in drawn
    )  # fmt: skip


def row(regime: str, curve: Curve) -> dict[str, str]:
    """One row of the table of all regimes."""
    least, most = int(curve.count.min()), int(curve.count.max())
    found = curve.exponent if curve.exponent.interval is not None else curve.course.whole
    reached = "–" if found.depths is None else "{} to {}".format(*found.depths)
    word = "all layers" if curve.exponent.interval is None and found.interval is not None else ""
    return {
        "Stack": regime,
        "It": curve.course.word,
        "Exponent": exponent_text(found),
        "Layers fitted": reached + (f" ({word})" if word and not curve.small.all() else ""),
        "Seeds known": f"{f'{least} to ' if least < most else ''}{most} of {len(curve.values)}",
    }


def again_text(before: dict[str, Curve], after: dict[str, Curve]) -> str:
    """How far stacks that were trained again are from those that are shipped, in a median."""
    apart = max(
        float(np.nanmax(np.abs(after[name].median / before[name].median - 1))) for name in before
    )
    return (
        "Trained again on this server; the medians differ from the shipped ones by at most"
        f" {short(100 * apart)}\u00a0%."
    )
