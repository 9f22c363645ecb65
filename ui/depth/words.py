"""Sentences of the Depth page that are built from its numbers."""

from __future__ import annotations

import numpy as np

import gating_core.experiments.depth as core
from gating_core.experiments.depth import Curve, DepthResult, Exponent, Quantity, middle
from gating_core.geometry import UNKNOWN, Integral, SurfaceResult
from ui.common import words as common
from ui.common.lessons import section
from ui.depth.chart import ChartCurve
from ui.depth.request import STACKED, UNTRAINED, DepthSelection

EXACT = 1e-9  # relative: as exact as rounding lets a ratio be
TIMES = {2: "two", 4: "four", 8: "eight"}
VERBS = {
    core.GROWS: "grows like a power of depth", core.SATURATES: "saturates",
    core.SHRINKS: "shrinks", core.STEADY: "hardly changes", core.ZERO: "stays zero",
}  # fmt: skip


def exponent_text(exponent: Exponent) -> str:
    """Return the median exponent with its interval, and of how many seeds if not of all."""
    return middle_text(exponent.over_seeds, len(exponent.slopes))


def middle_text(middle: core.Middle, whole: int) -> str:
    """Return a median with its interval, or "none"; ``whole`` is how many seeds there are."""
    if not middle.known:
        return "none"
    value, *ends = (f"{x:.2f}".replace("-", "−") for x in (middle.value, middle.low, middle.high))
    few = f" ({middle.count} of {whole} seeds)" if middle.count < whole else ""
    return f"{value} [{', '.join(ends)}]{few}"


def title_of(quantity: Quantity) -> str:
    """Return a quantity's title as it begins a sentence."""
    return quantity.title[:1].upper() + quantity.title[1:]


# --- The chart ------------------------------------------------------------------------------------


def summary(drawn: list[ChartCurve]) -> str:
    """Return what the seeds show of the curves and what they do not decide, with exponents."""
    name = title_of(core.QUANTITIES[drawn[0].quantity])
    if _alike(drawn):
        return " ".join([f"{name}: {_exponents(drawn)}.", *_gate_effect(drawn)])
    decided = [_clause(each) for each in drawn if each.curve.course.word != core.UNDECIDED]
    undecided = [_clause(each) for each in drawn if each.curve.course.word == core.UNDECIDED]
    parts = [f"{'It' if number else name} {clause}." for number, clause in enumerate(decided)]
    if undecided:
        lead = "It" if decided else name
        parts.append(f"{lead} is undecided by these seeds: {'; '.join(undecided)}.")
    return " ".join([*parts, *_gate_effect(drawn)])


def _clause(drawn: ChartCurve) -> str:
    """What one curve does, and the numbers that show it."""
    course = drawn.curve.course
    text = f"*{drawn.title}*"
    if course.word != core.UNDECIDED:
        text = f"**{VERBS[course.word]}** for {text}"
    if course.word == core.ZERO:
        return text
    if course.word == core.SATURATES:
        known = drawn.curve.median[np.isfinite(drawn.curve.median)]
        return (
            f"{text}, from {common.short(known[0])} to {common.short(known[-1])}, exponent"
            f" {exponent_text(course.early)} at first and {exponent_text(course.late)} at the end"
        )
    shown = drawn.shown_exponent
    if not shown.over_seeds.known:
        return f"{text}, too few seeds are known for an exponent"
    low, high = shown.depths or (0, 0)
    theory = "" if drawn.theory is None else f"; theory {drawn.theory:g}"
    return f"{text}, exponent **{exponent_text(shown)}** (layers {low} to {high}{theory})"


def _exponents(drawn: list[ChartCurve]) -> str:
    """The exponents over all depths, without a word that would tell the curves apart."""
    depths = drawn[0].curve.course.whole.depths or (0, 0)
    each = [f"**{exponent_text(x.curve.course.whole)}** *{x.title}*" for x in drawn]
    return f"exponent {' and '.join(each)} (layers {depths[0]} to {depths[1]})"


def _changes(drawn: list[ChartCurve]) -> tuple[core.Middle, core.Middle] | None:
    """By how much a gate changes the exponent and the bend, seed by seed; ``None`` without one."""
    if len(drawn) < 2 or drawn[0].title != "ungated":
        return None
    without, with_gate = (each.curve.course for each in drawn)
    bends = [course.late.slopes - course.early.slopes for course in (without, with_gate)]
    return middle(with_gate.whole.slopes - without.whole.slopes), middle(bends[1] - bends[0])


def _alike(drawn: list[ChartCurve]) -> bool:
    """Whether no paired test tells both courses apart, though each alone has its own word."""
    changes = _changes(drawn)
    if changes is None or not all(each.curve.course.whole.over_seeds.known for each in drawn):
        return False
    return len({each.curve.course.word for each in drawn}) > 1 and all(x.is_zero for x in changes)


def _gate_effect(drawn: list[ChartCurve]) -> list[str]:
    """Whether a gate changes the exponent, seed by seed; nothing where too few seeds are known."""
    changes = _changes(drawn)
    if changes is None or not changes[0].known:
        return []
    change, text = changes[0], middle_text(changes[0], len(drawn[0].curve.values))
    if change.is_zero:
        few = f"{change.count} seeds cannot show a difference between the exponents"
        return [f"{few}: seed by seed it is {text}."]
    return [f"Seed by seed the gate changes the exponent by {text}."]


# --- Three pictures side by side ------------------------------------------------------------------


def doubling(drawn: ChartCurve) -> str:
    """Return what twice as many layers do to |K| at the centre, and how well that is known."""
    curve = drawn.curve
    depths = list(curve.depths)
    pairs = [(depths.index(depth), depths.index(2 * depth)) for depth in depths
             if 2 * depth in depths]  # fmt: skip
    ratios = np.concatenate([curve.values[:, two] / curve.values[:, one] for one, two in pairs])
    exponent = f"exponent {exponent_text(drawn.shown_exponent)}; theory {drawn.theory:g}"
    times = float(np.median(ratios))
    if np.abs(ratios / times - 1).max() < EXACT:
        many = f"**{_times(times)} times**"
        return f"Twice the layers, {many} the curvature at the middle, exactly ({exponent})."
    times = 2**drawn.shown_exponent.over_seeds.value
    return (
        f"Twice the layers, about **{times:.1f} times** the curvature at the middle ({exponent})."
    )


def _times(value: float) -> str:
    whole = round(value)
    return TIMES[whole] if whole in TIMES and abs(value - whole) < EXACT else f"{value:.2f}"


def missing_seeds(drawn: list[ChartCurve]) -> str:
    """Return what the open rings mean; nothing where no seed is missing."""
    first = {
        each.title: int(each.curve.depths[np.argmax(each.curve.count < len(each.curve.values))])
        for each in drawn
        if (each.curve.count < len(each.curve.values)).any()
    }
    if not first:
        return ""
    where = ", ".join(
        f"{title} from {common.layers_text(depth)} on" for title, depth in first.items()
    )
    return (
        f"An open ring: not all of {len(drawn[0].curve.values)} seeds are known ({where}). The"
        " median is that of the others. The curve ends where fewer than half are known."
    )


def spread(drawn: list[ChartCurve]) -> str:
    """Return the range of single seeds' exponents."""
    parts = []
    for each in drawn:
        slopes = each.curve.course.whole.slopes
        slopes = slopes[np.isfinite(slopes)]
        if len(slopes):
            parts.append(
                f"{each.title} {common.short(slopes.min())} to {common.short(slopes.max())}"
            )
    return f"Exponents of single seeds: {', '.join(parts)}." if parts else ""


def alt_text(drawn: list[ChartCurve]) -> str:
    """Return the finding, for those who do not see the chart."""
    return f"{title_of(core.QUANTITIES[drawn[0].quantity])} against layers: " + "; ".join(
        f"{each.title} {each.curve.course.word}, exponent"
        f" {exponent_text(each.curve.course.whole)}" for each in drawn
    )  # fmt: skip


def chart_text(drawn: list[ChartCurve]) -> str:
    """Return the explanation of the curves."""
    quantity = core.QUANTITIES[drawn[0].quantity]
    low, high = map(common.percent, core.QUARTILES)
    fits = [f"{each.title}: {exponent_text(each.curve.exponent)}" for each in drawn]
    return section(
        "depth", "chart", quantity=quantity.title, symbol=quantity.symbol, low=low, high=high,
        count=len(drawn[0].curve.values), exponents="; ".join(fits),
    )  # fmt: skip


def row(regime: str, curve: Curve) -> dict[str, str]:
    """Return one row of the table of all stacks."""
    least, most = int(curve.count.min()), int(curve.count.max())
    fitted = curve.exponent.over_seeds.known
    shown = curve.exponent if fitted else curve.course.whole
    layers = "–" if shown.depths is None else "{} to {}".format(*shown.depths)
    if shown.over_seeds.known and not fitted and not curve.small.all():
        layers += " (all layers)"
    return {
        "Stack": regime,
        "With depth": curve.course.word,
        "Exponent": exponent_text(shown),
        "Layers fitted": layers,
        "Seeds known": f"{f'{least} to ' if least < most else ''}{most} of {len(curve.values)}",
    }


# --- The replay -----------------------------------------------------------------------------------


def captions(surface: SurfaceResult, diameters: np.ndarray) -> list[str]:
    """Return the line above the surface after every layer; ``diameters`` (L,) are theirs."""
    return [_caption(surface, frame, size) for frame, size in enumerate(diameters.tolist())]


def _caption(surface: SurfaceResult, frame: int, diameter: float) -> str:
    total = Integral(surface.total[frame], surface.total_error[frame], surface.complete[frame])
    text = common.settled_total_text(total, bool(surface.flat[frame]))
    if not (surface.complete[frame] or surface.total[frame] > 0):
        text = UNKNOWN  # "at least 0" says nothing
    text = f"total curvature **{text}**" if text != UNKNOWN else f"total curvature: {text}"
    return f"{text} · diameter {common.short(diameter)}"


def readings(surface: SurfaceResult) -> list[str]:
    """Return the sentence below the pictures after every layer."""
    layers = len(surface.total)
    return [
        f"**After layer {layer} of {layers}** the surface is {common.verdict_text(verdict)}."
        for layer, verdict in enumerate(surface.verdicts, 1)
    ]


def heading(selection: DepthSelection) -> str:
    """Return which stack is replayed."""
    title = selection.curves[selection.replayed]
    return f"One stack, {title}, seed {selection.seed}"


def replay_text(surface: SurfaceResult, frame: int) -> str:
    """Return the explanation of the surface and its maps."""
    middle = len(surface.axis) // 2
    centre = common.curvature_text(surface, (frame, middle, middle))
    return section("depth", "replay", layer=frame + 1, centre=centre)


def stale_text(shown: DepthSelection, requested: DepthSelection) -> str:
    """Return the note over pictures of another selection than the one ``requested``."""
    if shown == requested:
        return ""
    verb = "trained" if requested.is_trained else "measured"
    return f"Still showing {_name(shown)}. {_name(requested).capitalize()} are not {verb} yet."


def _name(selection: DepthSelection) -> str:
    name = next(name for name, value in STACKED.items() if value == selection.stacked)
    later = selection.is_trained and selection.first_seed
    return f"{name} from seed {selection.first_seed}" if later else name


def trained_again_text(before: dict[str, Curve], after: dict[str, Curve]) -> str:
    """Return how far the medians of stacks trained here are from those of the shipped ones."""
    apart = max(
        float(np.nanmax(np.abs(after[name].median / before[name].median - 1))) for name in before
    )
    return (
        "Trained again on this server. The medians differ from the shipped ones by at most"
        f" {common.short(100 * apart)}\u00a0%."
    )


# --- Theory ---------------------------------------------------------------------------------------


def theory_text(results: dict[str, DepthResult]) -> str:
    """Return the theory, its limits and our reading, with the numbers of ``results``, by regime."""
    measured = cap = ""
    if "aligned" in results and "random" in results:
        exponents = [
            f"{name} {exponent_text(results[name].curves[quantity].exponent)} ({quantity})"
            for name in ("aligned", "random")
            for quantity in ("total", "centre", "proxy")
        ]
        measured = f"Measured: {', '.join(exponents)}."
    strong = results.get("strong")
    if strong is not None and strong.eps is not None:
        curve = strong.curves["total"]
        depth = int(curve.depths[-1])
        ellipsoid = np.median(core.cap_curvature(2 * depth * strong.eps))
        cap = (
            f"With strong gates, after {depth} layers, the measured median is"
            f" {common.short(curve.median[-1])}. The cap with the same a has"
            f" {common.short(ellipsoid)}."
        )
    stacks = [
        f"{core.REGIMES[name].title}: diameter {result.curves['diameter'].course.word}, total"
        f" curvature {result.curves['total'].course.word}"
        for name, result in results.items()
        if core.REGIMES[name].arrangement is not None
    ]
    return section(
        "depth", "theory", small=f"{core.STRUCTURED_LIMIT:g}", measured=measured,
        most=f"{core.MOST_CURVATURE:.2f}", cap=cap, dimension=UNTRAINED.model_dim,
        stacks=f"Measured: {'; '.join(stacks)}." if stacks else "",
    )  # fmt: skip
