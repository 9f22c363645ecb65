"""The tab Gate design: the gate that turns the surface into a shape, and a network that fits it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
import streamlit as st

import gating_core.theory as theory
from gating_core.geometry import square_grid
from gating_core.progress import Progress, silent
from gating_core.theory import GateDesign
from ui.common.charts import Charts
from ui.common.formatting import error_text, short
from ui.common.lessons import section
from ui.common.links import LINK
from ui.drawing.colours import scale_of
from ui.gates.frames import GRID_SIZE, GateFrame, frame_of
from ui.gates.maps import map_figure
from ui.gates.picture import GatePicture, gate_picture
from ui.gates.shared import (
    CSS,
    SEEDS,
    draw_gate,
    finding,
    known_range,
    range_text,
    range_with_doubt,
)
from ui.work import pool
from ui.work.cache import CACHE, cached
from ui.work.jobs import Jobs

SIZES = (0.25, 2.0)  # of the shape, where the surface is 1 from the origin
UNITS = (4, 8, 16, 32)
FIT_STEPS = 300


@dataclass(frozen=True)
class ShapeRequest:
    """A shape by its name and size; the network's tanh ``units``, and the ``seed`` it starts at."""

    shape: str = "sphere"
    size: float = 0.75
    units: int = 32
    seed: int = 0


@dataclass(frozen=True, eq=False)
class FittedGate:
    """The gate that a sigmoid can reach, the network that learned it, and both images.

    ``size`` is the shape's, made smaller if it had to be. Arrays are (R, C).
    """

    size: float
    largest_error: float  # of the gate
    error: np.ndarray  # network − gate
    exact: theory.MeasuredGate
    fitted: theory.MeasuredGate


def measure_design(request: ShapeRequest, size: int = GRID_SIZE) -> theory.GateDesign:
    """Return the gate for the shape, and what it makes of the surface."""
    return theory.design(request.shape, request.size, square_grid(size))


def fit_shape(
    request: ShapeRequest,
    steps: int = FIT_STEPS,
    size: int = GRID_SIZE,
    progress: Progress = silent,
) -> FittedGate:
    """Fit a network to the gate for the shape; ``progress`` is called with the share done."""
    grid = square_grid(size)
    gate = measure_design(request, size).reachable
    fit = theory.fit_gate(gate, request.seed, request.units, steps, progress)
    exact, fitted = theory.measure_any_gate(gate, grid), theory.measure_any_gate(fit.network, grid)
    error = (fitted.gate - exact.gate)[..., 0]
    return FittedGate(
        size=gate.size,
        largest_error=float(np.abs(error).max()),
        error=error,
        exact=exact,
        fitted=fitted,
    )


def shape_frames(designed: theory.GateDesign, fit: FittedGate | None) -> dict[str, GateFrame]:
    """Return what is drawn of a shape: the surface under its gate, and under the network.

    Where no sigmoid reaches the gate, the smaller shape that was fitted stands between them.
    """
    images = {f"gate, size {short(designed.gate.size)}": designed.image}
    if fit is not None:
        images |= {f"gate, size {short(fit.size)}": fit.exact, "network": fit.fitted}
    return {name: frame_of(image) for name, image in images.items()}


SHAPED: Jobs[ShapeRequest, FittedGate] = Jobs(
    "gate_fit", lambda request: pool.POOL.stream(fit_shape, request), CACHE
)


@cached()
def designed(shape: str, size: float) -> GateDesign:
    """Return the gate for a shape, and what it makes of the surface: some tenth of a second."""
    return pool.POOL.call(measure_design, ShapeRequest(shape, size))


@cached()
def picture(
    request: ShapeRequest, fitted: bool, _design: GateDesign, _fit: FittedGate | None
) -> tuple[dict[str, GateFrame], GatePicture]:
    """Return the frames of a shape by name, the network's once it is ``fitted``, and their view."""
    frames = shape_frames(_design, _fit)
    title = f"A {request.shape}, and what a network makes of it"
    return frames, gate_picture(tuple(frames.values()), title=title, labels=[*frames])


# --- The tab --------------------------------------------------------------------------------------


def draw() -> None:
    """Draw the gate that a shape needs, and what a network makes of it."""
    st.html(CSS)
    charts = Charts("gate_design")
    shape, size, units, seed = st.columns([3, 3, 3, 2], vertical_alignment="bottom")
    request = ShapeRequest(
        shape.selectbox("Shape", [*theory.SHAPES], key="target", **LINK),
        size.slider(
            "Its size",
            *SIZES,
            0.75,
            0.05,
            key="target_size",
            **LINK,
            help=section("gates", "help_size"),
        ),
        int(
            units.radio(
                "Units of the network",
                [*map(str, UNITS)],
                len(UNITS) - 1,
                key="fit_units",
                horizontal=True,
                help=section("gates", "help_units"),
                **LINK,
            )
        ),
        seed.number_input("Initialisation (seed)", *SEEDS, 0, 1, key="fit_seed", **LINK),
    )
    design = designed(request.shape, request.size)
    why = theory.SHAPES[request.shape].why
    st.markdown(f"*{why[:1].upper()}{why[1:]}.* {design_text(design, design.reachable.size)}")
    fit, job = SHAPED.fetch(request)
    with st.container(key="gates_shape"):
        left, right = st.columns(2, gap="medium")
    with left:
        _draw_images(request, design, fit)
    if job is not None:
        SHAPED.watch(job, "Fitting a gate network")
    if fit is None:
        return
    exact, fitted = (range_with_doubt(image.surface) for image in (fit.exact, fit.fitted))
    with right:
        gate, curvature = shape_figures(fit)
        first, second = st.columns(2)
        apart = f"Network − gate: at most {error_text(fit.largest_error)}"
        first.markdown(f"**{apart}**")
        charts.draw("gate", first, gate, apart)
        second.markdown("**K, fitted − exact**")
        charts.draw("curvature", second, curvature, fit_text(fit).replace("*", ""))
        st.markdown(fit_text(fit))
        st.caption(f"Exact: {exact}. Fitted: {fitted}.")
    charts.draw_footer(section("gates", "second_derivatives"))


def _draw_images(request: ShapeRequest, design: GateDesign, fit: FittedGate | None) -> None:
    """The surface under the gate for the shape and under the network, one in place of the other."""
    frames, drawn = picture(request, fit is not None, design, fit)
    draw_gate(
        drawn,
        [*frames.values()],
        "K",
        [finding(f"Under the {name}, the surface is", x, ".") for name, x in frames.items()],
        key="gates_shape_view",
        scene=f"{request.shape} {request.size}",
        frame=0,
    )


def shape_figures(fit: FittedGate) -> list[go.Figure]:
    """Draw how far the network is off, in the gate and in K."""
    exact, fitted = fit.exact.surface, fit.fitted.surface
    apart = (fitted.known - exact.known)[-1]
    doubt = (fitted.known_error + exact.known_error)[-1]
    gate, k = (scale_of("curvature", [field]) for field in (fit.error, apart))
    return [
        map_figure(fit.error, exact.axis, gate, "network − gate"),
        map_figure(apart, exact.axis, k, "K apart", None, doubt),
    ]


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
    """Say how good the fit is, in the gate and in K."""
    images = fit.exact.surface, fit.fitted.surface
    exact, fitted = map(known_range, images)
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
