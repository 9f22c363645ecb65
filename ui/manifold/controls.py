"""The Manifold page's controls: four in front, the rest under *More*, all in the link."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gating_core.attention import GATE_NAMES, GATE_POSITIONS, MECHANISMS, NORMS
from gating_core.experiments.comparison import LIMITS
from gating_core.experiments.specimen import CHARTS, COLOURINGS, SEEDS
from gating_core.geometry import Matrix
from ui import limits
from ui.common.control_table import Controls, draw_columns, put, read, table
from ui.common.controls import Choice, Flag, Fold, Number, Tabs, Where
from ui.common.front import front_columns
from ui.common.lessons import section
from ui.common.link_check import change_link, forget
from ui.common.link_controls import GridPoint, Numbers
from ui.common.links import parse_pick
from ui.common.possible import SOURCES_HELP
from ui.manifold.lying import LYING
from ui.manifold.picture import ManifoldView
from ui.manifold.request import METRICS, ManifoldRequest, Metric
from ui.proved.section import PROOF

VARIANCE, ANGLE = (0.05, 20.0), (0, 180)
TABS = ("See", "Inspect", "Doubt")
PER = {"channel": "elementwise", "head": "headwise"}
PAIRS = {"1-2": (0, 1), "1-3": (0, 2), "2-3": (1, 2)}  # drawn axes, by their numbers
DIFFERENCE_STEPS = {f"1e-{power}": float(f"1e-{power}") for power in range(7, 0, -1)}
SHOWN_DEPTH = "manifold_depth"
REVEALED = "manifold_revealed"  # how often the pictures had to come into view
UNDO = "handles_history"  # what was dragged, step by step


@dataclass(frozen=True, kw_only=True)
class SeedBox(Number):
    """A number, or none: then the page chooses one."""

    def raw(self, value: Any) -> Any:
        return None if value is None else super().raw(value)

    def widget(self, where: Where, **more: Any) -> Any:
        return super().widget(where, placeholder=self.shown_instead, **more)


def _depth_moved() -> None:
    """Principal components stay those of the depth that was shown before, of the same seed."""
    forget()
    shown = None if MODEL["model"].value is None else st.session_state.get(SHOWN_DEPTH)
    if shown and "axes" not in st.query_params:
        st.query_params["axes"] = str(shown)


MODEL = table(
    Choice("kind", "Gate", words=GATE_NAMES, width="stretch",
        help=section("manifold", "help_kind")),
    Number("layers", "Layers", field="depth", within=limits.MANIFOLD_LAYERS, on_move=_depth_moved),
    Choice("chart", "Chart", words=CHARTS, width="stretch",
        help=section("manifold", "help_chart")),
    Choice("source", "Keys and values from", words=tuple(MECHANISMS), width="stretch",
        help=SOURCES_HELP),
    Choice("position", "Gate sits at", words=GATE_POSITIONS, width="stretch",
        help=section("manifold", "help_position")),
    Choice("per", "One gate per", field="granularity", words=PER, width="stretch"),
    Number("dim", "Dimension D", field="model_dim", within=limits.MANIFOLD_CHANNELS),
    Number("n", "Values n (slots or tokens)", field="value_count", within=limits.MANIFOLD_VALUES),
    Number("heads", "Heads", within=limits.MANIFOLD_HEADS),
    Choice("norm", "Normalisation (RMSNorm)", words=NORMS, width="stretch"),
    Flag("residual", "Residual connection"),
    Flag("projection", "Output projection", field="output_projection"),
    Number("sharpness", "Sharpness of attention", within=limits.MANIFOLD_SHARPNESS, step=0.5,
        help=section("manifold", "help_sharpness")),
    SeedBox("model", "Seed of the weights", field="seed", within=LIMITS["seed"], step=1,
        shape="box", shown_instead="automatic",
        help=section("manifold", "help_model", last=SEEDS - 1)),
    Choice("grid", "Grid", words={str(size): size for size in limits.GRID_POINTS}, shape="slider",
        help="Points along each side of the chart."),
    of=ManifoldRequest(),
)  # fmt: skip
COLOURS = table(
    Choice("by", "Colour by", field="colouring", words=tuple(COLOURINGS), shape="selectbox",
        help="; ".join(f"*{name}*: {c.name}" for name, c in COLOURINGS.items())),
    Choice("scale", "Colour scale", field="asinh", words={"linear": False, "asinh": True},
        width="stretch", help=section("manifold", "help_scale")),
    Number("layer", "Layer", default=0, within=(0, limits.MANIFOLD_LAYERS[1]), shape="box",
        shown_instead="the last",
        help="The layer whose gate or entropy is shown. 0 is the last one."),
    Number("part", "Channel or head", default=0, within=(0, limits.MANIFOLD_CHANNELS[1]),
        shape="box", shown_instead="the mean", help="0 is the mean over all of them."),
    of=ManifoldView(),
)  # fmt: skip
METRIC = table(
    Choice("metric", "Covariance Σ of the Gaussians", field="kind", words=METRICS,
        help=section("manifold", "help_metric")),
    Number("variance", "Variance s²", within=VARIANCE, step=0.05),
    Numbers("variances", shown_instead="1 in every direction"),
    Number("angle", "Angle to the first drawn axis (°)", within=ANGLE),
    Number("ratio", "Ratio of the variances", within=VARIANCE, step=0.05),
    of=Metric(),
)  # fmt: skip
METRIC_NEEDS = {"isotropic": ["variance"], "diagonal": ["variances"], "turned": ["angle", "ratio"]}
IN_LINK = table(  # alone, as they are dragged or clicked
    Number("lambda", field="strength", within=(0.0, 1.0), step=0.05),
    Number("axes", within=limits.MANIFOLD_LAYERS, shown_instead="the model's own"),
    Numbers("values"),
    Numbers("gates"),
    GridPoint("point", size=limits.GRID_POINTS[-1]),
    of=ManifoldRequest(),
)
PAIR = Choice("pair", "Value vectors of the last layer, along axes", words=PAIRS, default=(0, 1))
WHOSE = Choice("whose", "Of which model", words=("ungated", "gated"), default="gated")
ELSEWHERE = table(
    Fold("more", "More: source, heads, normalisation, seed, scale"),
    Tabs("tab", words=TABS, default=TABS[0]),
    PAIR,
    WHOSE,
    Choice("step", "Step of the finite differences", words=DIFFERENCE_STEPS, default=1e-4,
        shape="slider"),
    Fold("gallery", "Seven misleading pictures, and the numbers that correct them"),
    Choice("fooled", "Which one?", words=tuple(LYING), default=next(iter(LYING)), shape="pills"),
)  # fmt: skip
MANIFOLD: Controls = MODEL | COLOURS | METRIC | IN_LINK | ELSEWHERE | PROOF
FRONT = (["kind"], ["layers"], ["chart"], ["by"])
MORE = (
    ["source", "position", "per"],
    ["dim", "n", "heads"],
    ["norm", "residual", "projection", "sharpness"],
    ["model", "grid", "scale"],
)
Slots = dict[str, DeltaGenerator]  # where a sentence can stand, by the control it is about


def front_controls() -> Slots:
    """Draw the four controls that are always seen."""
    columns = front_columns([4, 3, 3, 3])
    draw_columns(MANIFOLD, columns, FRONT)
    return {"position": columns[0].empty(), "chart": columns[2].empty()}


def fit_axes() -> None:
    """Draw the principal components of the depth that is shown now."""
    st.query_params.pop("axes", None)


def more_controls() -> Slots:
    """Draw the rest."""
    columns = st.columns(4)
    draw_columns(MANIFOLD, columns, MORE)
    _, b, _, d = columns
    draw_columns(MANIFOLD, d.columns(2), (["layer"], ["part"]))
    by_field = {"value_count": b, "heads": b, "grid": d, "part": d}
    return {name: column.empty() for name, column in by_field.items()}


def metric_controls() -> Metric:
    """Draw the covariance that lengths are measured with."""
    kind = METRIC["metric"].draw(st)
    needs = [METRIC[key] for key in METRIC_NEEDS[kind]]
    if kind == "diagonal":
        return Metric(kind, variances=_variances(MODEL["dim"].value))
    columns: list[Where] = [*st.columns(2)] if len(needs) == 2 else [st]
    values = {c.feeds: c.draw(column) for c, column in zip(needs, columns, strict=True)}
    return Metric(kind, **values)


def _variances(dim: int) -> tuple[float, ...]:
    """``dim`` of them; none where the text cannot be read."""
    label = f"The {dim} variances, with commas between them"
    numbers = replace(METRIC["variances"], label=label, default=(1.0,) * dim).draw(st)
    if numbers is None:
        return ()
    if len(numbers) != dim:
        st.caption(f":material/info: {dim} variances are needed. Shown: cut, or filled with 1.")
    return (*numbers, *(1.0,) * dim)[:dim]


def read_request(metric: Metric) -> ManifoldRequest:
    """Return what all controls say, once they are drawn."""
    dim = MODEL["dim"].value
    gates = _rows("gates", dim)
    if gates and len(gates[-1]) == dim:  # in the link one row a gate
        gates = tuple(zip(*gates, strict=True))
    return read(
        MODEL, ManifoldRequest,
        strength=linked_strength(), axes_depth=IN_LINK["axes"].linked, metric=metric,
        values=_rows("values", dim), gate_weight=gates,
    )  # fmt: skip


def linked_strength() -> float:
    """Return the gate's strength, which the view's own slider moves."""
    strength = IN_LINK["lambda"].linked
    return IN_LINK["lambda"].default if strength is None else strength


def put_strength(strength: float) -> None:
    """Keep the gate's strength in the link; for callbacks only."""
    texts = IN_LINK["lambda"].texts(strength)
    if texts:
        st.query_params["lambda"] = texts[0]
    else:
        st.query_params.pop("lambda", None)
    forget()


def _rows(name: str, width: int) -> Matrix | None:
    """Numbers in the link as rows of ``width``; the last one may lack some."""
    numbers = IN_LINK[name].linked
    if numbers is None:
        return None
    return tuple(numbers[i : i + width] for i in range(0, len(numbers), width))


def link_of(matrix: Matrix, transposed: bool = False) -> str:
    """Return a matrix as the link holds it."""
    rows = zip(*matrix, strict=True) if transposed else matrix
    return ",".join(f"{x:g}" for row in rows for x in row)


def read_view(depth: int, inspect: bool) -> ManifoldView:
    """Return what the colours show of ``depth`` layers, once the controls are drawn."""
    layer, part = COLOURS["layer"].value, COLOURS["part"].value
    return read(
        COLOURS, ManifoldView,
        layer=min(layer, depth) - 1 if layer else -1,
        part=part - 1 if part else None,
        inspect=inspect,
    )  # fmt: skip


def marked(grid: int) -> tuple[int, int] | None:
    """Return the marked grid point of the link."""
    return parse_pick(st.query_params.get("point", ""), grid)


def apply_request(request: ManifoldRequest) -> None:
    """Set the page's controls to ``request``, coloured by K, and say so; for callbacks only.

    The link changes as a whole, so that the way back leads to what was there before. What was
    dragged of another model cannot be undone in this one.
    """
    needs = METRIC_NEEDS[request.metric.kind]
    link: dict[str, list[str]] = {name: [] for name in IN_LINK}
    link["lambda"] = IN_LINK["lambda"].texts(request.strength)
    link |= put(MODEL, request) | put({"by": COLOURS["by"]}, ManifoldView())
    link |= put({key: METRIC[key] for key in ("metric", *needs)}, request.metric)
    if MANIFOLD["tab"].value == "Doubt":  # where there are no pictures
        MANIFOLD["tab"].set(TABS[0])
        link["tab"] = []
    change_link(link)
    forget()
    st.session_state.pop(UNDO, None)
    st.session_state[REVEALED] = st.session_state.get(REVEALED, 0) + 1
    st.toast("The pictures above show this model now.", icon=":material/arrow_upward:")
