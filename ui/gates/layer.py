"""The tab Gated layer: K of an attention layer with a headwise sigmoid gate, and its conic K = 0.

The layer has one head and three fixed values; it is random, or trained here. Its gate is its own,
or one whose exponents are set by hand. Shapes: M measured points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
import streamlit as st

import gating_core.theory as theory
from gating_core.attention import AttentionConfig, GateConfig, restore
from gating_core.progress import Progress, silent
from gating_core.tasks import make_task
from gating_core.theory import ConicResult
from gating_core.training import TrainedEnsemble, TrainingDiverged, ensemble_of, train_ensemble
from ui.common.charts import Charts
from ui.common.formatting import percent, rounded_error, short
from ui.common.lessons import section
from ui.common.links import LINK
from ui.drawing import palette
from ui.drawing.chart_map import plain_figure, plane_line
from ui.drawing.colours import scale_of
from ui.drawing.lines import zero_curve
from ui.gates.maps import colour_bar, map_layout
from ui.gates.picture import CSS, SEEDS, range_text
from ui.limits import GATED_CHANNELS
from ui.work import pool
from ui.work.cache import NUMBERS_CACHE, cached
from ui.work.jobs import Jobs

FIRST_SEED = 2  # the first whose conic crosses the triangle
TRIANGLE_POINTS = 41  # along a side
TASK, TRAINING_POINTS, TRAINING_STEPS, TRAINED_SEEDS = "circle", 256, 400, 16
EXPONENTS, OFFSETS = (-3.0, 3.0), (-4.0, 4.0)  # of gates: beyond, all of K is in a corner
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.75**0.5]])  # where a1, a2, a3 are 1
LINE_POINTS = 241  # along a side of the triangle, where the conic is looked for
ROOM = 0.06  # of a side, around the triangle


@dataclass(frozen=True)
class LayerRequest:
    """A layer of D = ``width`` channels, by its ``seed``; the gate's exponents if ``by_hand``."""

    source: str = "random"
    seed: int = FIRST_SEED
    width: int = 3
    by_hand: bool = False
    p: float = -0.6
    q: float = -0.4
    log_scale: float = 0.0

    @property
    def as_trained(self) -> LayerRequest:
        """The same with the layer's own gate: what training depends on."""
        return LayerRequest(self.source, self.seed, self.width)


def measure_layer(
    request: LayerRequest, trained: TrainedEnsemble | None = None, size: int = TRIANGLE_POINTS
) -> theory.ConicResult:
    """Measure K of the requested layer over the triangle of its weights, and its conic."""
    if trained is None:
        model = theory.gated_layer(request.seed, request.width)
    else:
        model = restore(trained.config, trained.seeds, trained.state).attention.member(trained.best)
    if request.by_hand:
        model = theory.with_exponents(model, request.p, request.q, request.log_scale)
    return theory.measure_conic(model, size)


def train_layer(
    request: LayerRequest, steps: int = TRAINING_STEPS, progress: Progress = silent
) -> TrainedEnsemble:
    """Train sixteen seeds on a circle, from the request's on.

    ``progress`` is called with the share done.
    """
    config = AttentionConfig(model_dim=request.width, gate=GateConfig(granularity="headwise"))
    seeds = tuple(range(request.seed, request.seed + TRAINED_SEEDS))
    task, snapshots = make_task(TASK, TRAINING_POINTS, seeds=seeds), []
    for snapshot in train_ensemble(config, task, steps):
        snapshots.append(snapshot)
        progress(snapshot.step / steps)
    return ensemble_of(config, seeds, snapshots)


LAYERS: Jobs[LayerRequest, TrainedEnsemble] = Jobs(
    "gate_layer",
    lambda request: pool.POOL.stream(train_layer, request),
    NUMBERS_CACHE,
    (TrainingDiverged,),
)


@cached()
def conic_of(request: LayerRequest, _trained: TrainedEnsemble | None) -> ConicResult:
    """Measure a layer: some tenth of a second."""
    return pool.POOL.call(measure_layer, request, _trained)


# --- The tab --------------------------------------------------------------------------------------


def draw() -> None:
    """Draw K of a layer over the triangle of its attention weights, and the conic of its gate."""
    st.html(CSS)
    charts = Charts("gated_layer")
    with st.container(key="gates_real"):
        left, right = st.columns([5, 6], gap="large")
    with left:
        request = draw_controls()
        trained, job = None, None
        if request.source == "trained":
            trained, job = LAYERS.fetch(request.as_trained)
        if job is not None:
            LAYERS.watch(job, "Training a gated layer")
            return
        conic = conic_of(request, trained)
        finding = f"{signs_text(conic)} {line_text(conic)}"
        st.markdown(finding)
        st.latex(section("gates", "layer_formula"))
        e = conic.exponents
        parts = (f"{name} = {short(value)}" for name, value in (("p", e.p), ("q", e.q), ("r", e.r)))
        error, scale = rounded_error(e.error), short(e.log_scale)
        st.markdown(f"{', '.join(parts)} (each ± {error}), log c = {scale}")
        if trained is not None:
            best = trained.best
            train, test = (x[-1, best] for x in (trained.train_accuracy, trained.test_accuracy))
            st.caption(
                f"The best of {TRAINED_SEEDS} seeds by training accuracy (seed"
                f" {trained.seeds[best]}), after {TRAINING_STEPS} steps on *{TASK}*: training"
                f" accuracy {percent(train)}, test accuracy {percent(test)}."
            )
    with right:
        st.markdown("**K over the attention weights**; black: the conic, from the formula")
        charts.draw("triangle", st, triangle_figure(conic), finding.replace("*", ""))
    weights = {f"weight {n}": column.tolist() for n, column in enumerate(conic.weights.T, 1)}
    charts.tables["points"] = weights | {
        "K": conic.gaussian.tolist(),
        "error": conic.gaussian_error.tolist(),
        "formula": conic.form.tolist(),
    }
    charts.draw_footer(section("gates", "layer"))


def draw_controls() -> LayerRequest:
    """Draw which layer is measured; the gate's exponents if set by hand."""
    row = st.container(horizontal=True, vertical_alignment="bottom")
    source = row.radio(
        "Layer",
        ["random", "trained"],
        key="layer_from",
        horizontal=True,
        **LINK,
        help=section("gates", "help_layer"),
    )
    seed = row.number_input(
        "Layer's seed", *SEEDS, FIRST_SEED, 1, key="layer_seed", width=130, **LINK,
        help=section("gates", "help_seed", first=FIRST_SEED),
    )  # fmt: skip
    width = row.number_input(
        "Channels D", *GATED_CHANNELS, 3, 1, key="layer_dim", width=130, **LINK
    )
    hand = row.radio(
        "Its gate",
        ["its own", "set by hand"],
        key="hand",
        horizontal=True,
        **LINK,
        help=section("gates", "help_hand"),
    )
    if hand == "its own":
        return LayerRequest(source, seed, width)
    first, second, third = st.columns(3)
    return LayerRequest(
        source,
        seed,
        width,
        True,
        first.slider("p, of α₁", *EXPONENTS, -0.6, 0.1, key="exp_p", **LINK),
        second.slider("q, of α₂", *EXPONENTS, -0.4, 0.1, key="exp_q", **LINK),
        third.slider(
            "Offset log c",
            *OFFSETS,
            0.0,
            0.1,
            key="exp_c",
            **LINK,
            help=section("gates", "help_offset"),
        ),
    )


# --- Sentences ------------------------------------------------------------------------------------


def signs_text(conic: ConicResult) -> str:
    """At how many points the two signs agree, and at how many that cannot be told."""
    agree, undetermined = conic.agreeing, conic.undetermined
    decided = agree + conic.disagreeing
    count = decided + undetermined
    if not decided:
        return (
            f"The sign is inconclusive at all {count} grid points: |K| and the formula are within"
            " their errors."
        )
    rest = f"inconclusive at {undetermined} of {count}" if undetermined else "inconclusive at none"
    return (
        f"The signs of the formula and of the exact K **agree at {agree} of {decided}** resolved"
        f" grid points; {rest}."
    )


def line_text(conic: ConicResult) -> str:
    """Say whether the conic meets the triangle, and which signs K has there."""
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


# --- The triangle ---------------------------------------------------------------------------------


def triangle_figure(conic: ConicResult) -> go.Figure:
    """Draw the exact K of the measured points, and the line where the formula is 0."""
    scale = scale_of("curvature", [conic.gaussian])
    smallest = float(conic.weights.min())
    e = conic.exponents
    line = conic_line((e.p, e.q, e.r), smallest)
    read_off = (conic.gaussian, conic.gaussian_error, *conic.weights.T, conic.form)
    colours = bricks(np.clip(scale.apply(conic.gaussian), scale.low, scale.high))
    rows = np.arange(len(colours)) / (len(colours) - 1)
    columns = (np.arange(2 * len(rows)) - 0.5) / (2 * len(rows) - 2)
    bar = colour_bar(scale)
    bar["tickvals"] = [scale.low + share * (scale.high - scale.low) for share in bar["tickvals"]]
    heat = {
        "type": "heatmap", "name": "K", "z": colours,
        "x": 1.5 * smallest + (1 - 3 * smallest) * columns,
        "y": (smallest + (1 - 3 * smallest) * rows) * CORNERS[2, 1],
        "hoverongaps": False, "zmin": scale.low, "zmax": scale.high,
        "colorscale": scale.colours, "colorbar": bar,
        "customdata": np.stack([bricks(values) for values in read_off], -1),
        "hovertemplate": "weights %{customdata[2]:.2f}, %{customdata[3]:.2f}, %{customdata[4]:.2f}"
        "<br>K = %{customdata[0]:.3g}<br>error at most %{customdata[1]:.1g}"
        "<br>formula %{customdata[5]:.3g}<extra></extra>",
    }  # fmt: skip
    outline = plane_line(CORNERS[[0, 1, 2, 0]], {"color": palette.GRID_LINE, "width": 1})
    hidden = {"visible": False, "fixedrange": True}
    layout = map_layout(430) | {
        "xaxis": hidden | {"range": [-ROOM, 1 + ROOM], "constrain": "domain"},
        "yaxis": hidden | {"range": [-ROOM, CORNERS[2, 1] + ROOM], "scaleanchor": "x"},
        "annotations": [
            {
                "x": x,
                "y": y,
                "text": f"α<sub>{number}</sub> = 1",
                "showarrow": False,
                "yshift": -12 if y == 0 else 12,
            }
            for number, (x, y) in enumerate(CORNERS.tolist(), 1)
        ],
    }
    nodal = plane_line(line, {"color": palette.LINE, "width": 3})
    return plain_figure([heat, *nodal, *outline], layout)


def conic_line(exponents: tuple[float, float, float], smallest: float) -> np.ndarray:
    """(M, 2): where qr a1^2 + pr a2^2 + pq a3^2 + pqr = 0, no weight below ``smallest``.

    Rows of NaN separate pieces; none but such rows where it does not meet the triangle.
    """
    p, q, r = exponents
    axis = np.linspace(0.0, 1.0, LINE_POINTS)
    a1, a2 = np.meshgrid(axis, axis)
    weights = np.stack([a1, a2, 1 - a1 - a2], -1)
    form = (np.array([q * r, p * r, p * q]) * weights**2).sum(-1) + p * q * r
    _, there = zero_curve(form, axis, weights)
    return np.where((there.min(-1) >= smallest)[:, None], there @ CORNERS, np.nan)


def bricks(values: np.ndarray) -> np.ndarray:
    """(n, 2 n): ``values`` (M,) of the triangle of `gating_core.theory`, n points along a side.

    Rows hold equal weights a3, each point two columns, half a step apart: a row is half a step
    further to the right than the one below.
    """
    side = round((2 * len(values) + 0.25) ** 0.5 - 0.5)
    a1, rest = np.triu_indices(side)  # rest: a1 + a2
    up = side - 1 - rest
    field = np.full((side, 2 * side), np.nan)
    for half in (0, 1):
        field[up, 2 * (rest - a1) + up + half] = values
    return field
