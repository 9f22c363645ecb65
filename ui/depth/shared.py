"""Shared by the tabs of Depth: stacks, their measured curves and its chart, a picture of a stack.

Shapes: S seeds, L depths or layers, R x R grid points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
import streamlit as st

import gating_core.experiments.depth as core
from gating_core.experiments.depth import Curve, DepthResult, Exponent, Middle, TrainedDepths
from gating_core.geometry import SurfaceResult
from ui.common import charts as c
from ui.common.formatting import rough, short
from ui.components.pair import Pair, Side
from ui.drawing.colours import ColourScale, scale_of
from ui.drawing.first_view import NO_SEGMENTS, best_eye, level, scale_share, straight_segments
from ui.drawing.lines import lies_in_a_plane
from ui.work import jobs, pool
from ui.work.cache import NUMBERS_CACHE
from ui.work.jobs import Jobs

UNTRAINED = core.DepthRequest()  # of all regimes that need no training
BUNDLED = core.TrainedRequest()  # of the stacks that come with the app
ALIGNED, RANDOM, STACKS, TRAINED = (
    "aligned gates",
    "random gates",
    "random stacks",
    "trained stacks",
)
QUANTITIES = {
    "total ∫|K| dA": "total",
    "mean |K|": "mean",
    "|K| at the origin": "centre",
    "the paper's proxy": "proxy",
    "diameter": "diameter",
}
THEORY = {  # the exponent where gates are small
    "aligned": {"total": 2.0, "mean": 2.0, "centre": 2.0, "proxy": 1.0},
    "random": {"total": 1.0, "mean": 1.0, "centre": 1.0, "proxy": 0.5},
}
COURSES = {
    core.GROWS: "{} grows like a power of depth",
    core.SATURATES: "{} saturates",
    core.SHRINKS: "{} shrinks",
    core.STEADY: "{} hardly changes",
    core.ZERO: "{} stays zero",
    core.INCONCLUSIVE: "Inconclusive: no course of {} is significant",
}
DECADES = 1e-12  # of the largest value: what has collapsed further is cut off

RESULTS: Jobs[str, DepthResult] = Jobs(
    "depth_measuring",
    lambda name: pool.POOL.stream(core.measure_regime, UNTRAINED, name),
    NUMBERS_CACHE,
)


@st.cache_resource(show_spinner=False)
def bundled() -> TrainedDepths:
    """Load the trained stacks that come with the app."""
    return core.load_shipped()


def measured(names: tuple[str, ...], what: str) -> dict[str, DepthResult]:
    """Return the results of the regimes ``names`` that are there; draw the job that measures."""
    with jobs.dock(RESULTS.name, names):
        results, job = RESULTS.fetch_all(names)
        if job is not None:
            RESULTS.watch(job, what, again="Measure")
    return results


@dataclass(frozen=True, eq=False)
class Growth:
    """A quantity of one regime against depth, with the ``title`` and colour of its curve."""

    title: str
    result: DepthResult
    quantity: str  # a key of the core's QUANTITIES
    colour: str = c.MAGENTA

    @property
    def curve(self) -> Curve:
        """The measured values."""
        return self.result.curves[self.quantity]

    @property
    def theory(self) -> float | None:
        """The exponent of theory, where there is one."""
        return THEORY.get(self.result.regime, {}).get(self.quantity)

    @property
    def exponent(self) -> Exponent:
        """Where the regime's condition holds, or else over all depths."""
        exponent = self.curve.exponent
        return exponent if exponent.over_seeds.known else self.curve.course.whole


def pair(results: dict[str, DepthResult], titles: dict[str, str], quantity: str) -> list[Growth]:
    """Return the curves of one or two regimes, by ``titles``; one alone has the second colour."""
    colours = (c.GREY, c.MAGENTA)[-len(titles) :]
    return [
        Growth(title, results[name], quantity, colour)
        for (name, title), colour in zip(titles.items(), colours, strict=True)
    ]


def name_of(growth: Growth) -> str:
    """Return the title of its quantity as a sentence begins."""
    title = core.QUANTITIES[growth.quantity].title
    return title[:1].upper() + title[1:]


# --- Sentences ------------------------------------------------------------------------------------


def middle_text(middle: Middle, seeds: int) -> str:
    """Format a median with its interval, or "none"; name how many of ``seeds`` if not all."""
    if not middle.known:
        return "none"
    value, low, high = (
        f"{x:z.2f}".replace("-", "−") for x in (middle.value, middle.low, middle.high)
    )
    few = f" ({middle.count} of {seeds} seeds)" if middle.count < seeds else ""
    return f"{value} [{low}, {high}]{few}"


def exponent_text(exponent: Exponent) -> str:
    """Format the median exponent with its interval."""
    return middle_text(exponent.over_seeds, len(exponent.slopes))


def course_text(growth: Growth) -> str:
    """Say how one curve goes on with depth, with its exponent."""
    course, exponent = growth.curve.course, growth.exponent
    name = name_of(growth)
    if course.word == core.INCONCLUSIVE and not name.startswith("|"):
        name = name[0].lower() + name[1:]
    says = f"**{COURSES[course.word].format(name)}** (*{growth.title}*)"
    if course.word == core.ZERO:
        return f"{says}."
    if course.word == core.SATURATES:
        known = growth.curve.median[np.isfinite(growth.curve.median)]
        return (
            f"{says}, from {short(known[0])} to {short(known[-1])}: exponent"
            f" {exponent_text(course.early)} at first, {exponent_text(course.late)} at the end."
        )
    if exponent.depths is None:
        return f"{says}: too few seeds are resolved for an exponent."
    theory = "" if growth.theory is None else f", theory {growth.theory:g}"
    layers = f"layers {exponent.depths[0]} to {exponent.depths[1]}{theory}"
    return f"{says}: exponent {exponent_text(exponent)} ({layers})."


def gate_text(without: Growth, with_gate: Growth) -> str:
    """Say what the paired interval allows to say of a gate's effect on the exponent."""
    wholes = [growth.curve.course.whole for growth in (without, with_gate)]
    change = core.middle(wholes[1].slopes - wholes[0].slopes)
    of = f"growth exponent of {core.QUANTITIES[without.quantity].title}"
    seeds = len(wholes[0].slopes)
    if not change.known:
        return (
            f"**Too few of {seeds} seeds are resolved to compare the {of} with and without gate.**"
        )
    says = f"It is inconclusive whether the gate changes the {of}"
    if not change.is_zero:
        says = f"The gate {'increases' if change.low > 0 else 'reduces'} the {of}"
    return (
        f"**{says}**: {exponent_text(wholes[0])} ungated, {exponent_text(wholes[1])} gated, paired"
        f" difference {middle_text(change, seeds)}; medians over {seeds} seeds with 95 % intervals."
    )


def courses_text(without: Growth, with_gate: Growth) -> str:
    """Say how both curves go on; nothing where no paired test tells their courses apart."""
    one, other = without.curve.course, with_gate.curve.course
    bends = [course.late.slopes - course.early.slopes for course in (one, other)]
    changes = core.middle(other.whole.slopes - one.whole.slopes), core.middle(bends[1] - bends[0])
    known = one.whole.over_seeds.known and other.whole.over_seeds.known
    if known and one.word != other.word and all(change.is_zero for change in changes):
        return ""
    return f"{course_text(without)} {course_text(with_gate)}"


def alt_text(growths: list[Growth]) -> str:
    """Return what a growth chart shows."""
    courses = [
        f"{growth.title} {growth.curve.course.word}, exponent"
        f" {exponent_text(growth.curve.course.whole)}"
        for growth in growths
    ]
    return f"{name_of(growths[0])} against layers: {'; '.join(courses)}."


# --- Charts ---------------------------------------------------------------------------------------


def growth_chart(growths: list[Growth], member: int | None = None) -> go.Figure:
    """Draw medians with the middle half of the seeds, and fitted lines, on logarithmic axes.

    A curve ends where fewer than half of its seeds are resolved. Zero is not drawn. ``member``: the
    index of a seed that is drawn as a thin line.
    """
    curves = [growth.curve for growth in growths]
    parts = [part for x in curves for part in (x.median, *x.band)]
    if member is not None:
        parts += [x.values[member][x.known[member]] for x in curves]
    values = np.concatenate(parts)
    values = values[values > 0]  # without NaN
    least = DECADES * values.max(initial=0)
    decades = np.ptp(np.log10(values[values >= least])) if len(values) else 0
    if decades > 1.5:
        ticks = {"dtick": int(decades / 6) + 1}
    else:  # Plotly writes digits between powers of ten in 9 pixels
        between = [digit * 10.0**power for power in range(-9, 10) for digit in (1, 2, 5)]
        ticks = c.ticks(between, [f"{x:g}" for x in between])

    def seen(part: np.ndarray) -> np.ndarray:
        return np.where((part > 0) & (part >= least), part, np.nan)

    traces = []
    for growth, dash in zip(growths, ("dot", "solid")[-len(growths) :], strict=True):
        curve, line = growth.curve, {"colour": growth.colour, "mode": "lines"}
        ends, fitted = curve.fitted_line()
        both = np.isfinite(seen(curve.band[0])) & np.isfinite(seen(curve.band[1]))
        depths, low, high = curve.depths[both], curve.band[0][both], curve.band[1][both]
        band = c.line(
            f"{growth.title}, middle half",
            [*depths, *depths[::-1]],
            [*low, *high[::-1]],
            **line,
            width=0,
            legend=False,
        )
        traces.append(band | {"fill": "toself", "fillcolor": f"{growth.colour}33"})
        if member is not None:
            one = np.where(curve.known[member], curve.values[member], np.nan)
            traces.append(
                c.line(
                    f"{growth.title}, seed {member}",
                    curve.depths,
                    seen(one),
                    **line,
                    width=1,
                    legend=False,
                )
            )
        whole = curve.count == len(curve.values)
        median = c.line(
            growth.title, curve.depths, seen(curve.median), colour=growth.colour, dash=dash
        )
        median["marker"]["symbol"] = np.where(whole, "circle", "circle-open").tolist()
        traces.append(median)
        traces.append(
            c.line(
                f"{growth.title}, fitted",
                ends,
                fitted,
                **line,
                dash="dash",
                width=1.5,
                legend=False,
            )
        )
        if growth.theory is not None and len(ends):
            # Parallel to the slope of theory, above the curve, to be seen.
            level = np.exp(0.35 * max(growth.theory, 0.5)) * np.sqrt(fitted.prod())
            slope = level * (ends / np.sqrt(ends.prod())) ** growth.theory
            traces.append(
                c.line(
                    f"slope {growth.theory:g} (theory)",
                    ends,
                    slope,
                    colour=c.TEAL,
                    dash="dashdot",
                    width=1.5,
                    mode="lines",
                )
            )
        if growth.result.regime == "strong" and growth.quantity == "total":
            # The cap that strong gates tend to where their steps are small, and its limit.
            eps, most = growth.result.eps, np.full(len(curve.depths), core.MOST_CURVATURE)
            assert eps is not None  # of scalar gates
            cap = np.median(core.cap_curvature(2 * eps[:, None] * curve.depths), 0)
            traces += [
                c.line(name, curve.depths, y, colour=c.TEAL, dash=dash, width=1.5, mode="lines")
                for name, y, dash in (
                    ("ellipsoid's cap", cap, "dot"),
                    ("2π, half a sphere", most, "dash"),
                )
            ]
    quantity = core.QUANTITIES[growths[0].quantity]
    depths = curves[0].depths
    return c.chart(
        name_of(growths[0]),
        traces,
        "layers L",
        quantity.symbol,
        height=300,
        x_axis={"type": "log", "range": np.log10([0.93, depths[-1] * 1.08])}
        | c.ticks((1, 2, 4, 8, 16), "1 2 4 8 16".split()),
        y_axis=c.log_axis() | ticks,
        margin={"l": 62, "r": 8, "t": 68 if growths[0].theory and growths[1:] else 48, "b": 40},
    )


# --- The picture of one stack ---------------------------------------------------------------------


REPLAY_GRID = 61
ALIKE = 0.25  # of the largest diagonal: where no surface is smaller, all are drawn to one scale
SMALLEST = np.finfo(float).tiny


@dataclass(frozen=True, eq=False)
class Replay:
    """The picture of one stack, its colour scale, and the ``diameters`` (L,) of its surfaces.

    Where surfaces are ``enlarged`` to one size, colours show the curvature of what is drawn: K
    times the square of the surface's diameter.
    """

    pair: Pair
    scale: ColourScale
    diameters: np.ndarray
    enlarged: bool

    @property
    def symbol(self) -> str:
        return "K·d²" if self.enlarged else "K"


def replay_of(surface: SurfaceResult, of: int) -> Replay:
    """Draw a surface whose frames are the first layers ``of`` so many."""
    sizes, values, diameters = surface.diagonal, surface.values, surface.diameter
    enlarged = bool(sizes.min() < ALIKE * sizes.max())
    field = surface.known
    if enlarged:
        field = field * diameters[:, None, None] ** 2
        centre = (values.max((1, 2), keepdims=True) + values.min((1, 2), keepdims=True)) / 2
        values = (values - centre) / np.maximum(sizes, SMALLEST)[:, None, None, None]
    # One for all layers, which holds 98 % of the points of each.
    scale = scale_of("curvature", list(field), each=True)
    middle, turn, unit = level(values[0], values[-1])
    drawn = (values - middle) @ turn * unit
    last = drawn[-1, ..., 2]
    if last[len(last) // 2, len(last) // 2] < np.mean([last[0], last[-1], last[:, 0], last[:, -1]]):
        drawn = drawn * [1, -1, -1]  # a dome stands upright
    proved = [verdict.proof is not None for verdict in surface.verdicts]
    lines = [NO_SEGMENTS[0]] * len(drawn)
    for layer in np.flatnonzero(proved):
        if lies_in_a_plane(values[layer]):
            lines[layer] = straight_segments(values[layer], drawn[layer], surface.axis)
    most = max(map(len, lines))
    side = Side(
        name="The surface after each layer",
        short="",
        values=drawn,
        shares=scale_share(field, scale),
        signed=surface.signed,
        gaussian=surface.known,
        error=surface.known_error,
        flat=proved,
        corners=None,
        lines=np.stack([np.pad(x, [(0, most - len(x)), (0, 0), (0, 0)]) for x in lines]),
        lined=False,  # folded as it is, the grid's line has teeth there
    )
    layers = [*range(1, len(values) + 1)]
    low, high = ("", "") if scale.collapsed else map(rough, scale.ends)
    pair = Pair(
        (side,),
        [f"Layer {layer} of {of}" for layer in layers],
        layers,
        best_eye([drawn[0], drawn[-1]]),
        scale.colours,
        (low, high),
    )
    return Replay(pair, scale, diameters, enlarged)
