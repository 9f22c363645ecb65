"""The Manifold page's controls: five in front, the rest under *More*, all in the link."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from gating_core.attention import GATE_KINDS, GATE_POSITIONS, NORMS, SOURCES
from gating_core.experiments.specimen import CHARTS, COLOURINGS
from gating_core.geometry import Matrix
from ui.common.link_check import forget
from ui.common.links import Allowed, Choice, GridPoint, Number, Numbers, parse_numbers, parse_pick
from ui.manifold.fooled.cases import FOOLED
from ui.manifold.picture import Look
from ui.manifold.request import GRIDS, METRICS, Metric, Request

FIRST = Request()
DEPTHS, DIMENSIONS, COUNTS, HEADS = (1, 8), (2, 16), (2, 12), (1, 4)
SHARPNESS, SEEDS = (1.0, 60.0), (0, 9999)
VARIANCE, ANGLE = (0.05, 20.0), (0, 180)
TABS = ("See", "Inspect", "Doubt")
PER = {"channel": "elementwise", "head": "headwise"}
PAIRS = {"1-2": (0, 1), "1-3": (0, 2), "2-3": (1, 2)}  # drawn axes, by their numbers
SCALES = ("linear", "asinh")
SHOWN_DEPTH = "manifold_depth"
YES_NO = ("true", "false")

MANIFOLD: dict[str, Allowed] = {
    "kind": Choice(GATE_KINDS, FIRST.kind),
    "lambda": Number(0, 1, "1", whole=False),
    "layers": Number(*DEPTHS, str(FIRST.depth)),
    "chart": Choice(CHARTS, FIRST.chart),
    "by": Choice(tuple(COLOURINGS), "curvature"),
    "more": Choice(YES_NO, "false"),
    "source": Choice(SOURCES, FIRST.source),
    "position": Choice(GATE_POSITIONS, FIRST.position),
    "per": Choice(tuple(PER), "channel"),
    "dim": Number(*DIMENSIONS, str(FIRST.model_dim)),
    "n": Number(*COUNTS, str(FIRST.value_count)),
    "heads": Number(*HEADS, str(FIRST.heads)),
    "residual": Choice(YES_NO, "false"),
    "norm": Choice(NORMS, FIRST.norm),
    "projection": Choice(YES_NO, "false"),
    "model": Number(*SEEDS, str(FIRST.seed)),
    "sharpness": Number(*SHARPNESS, "1", whole=False),
    "grid": Choice(tuple(map(str, GRIDS)), str(FIRST.grid)),
    "scale": Choice(SCALES, SCALES[0]),
    "layer": Number(0, DEPTHS[1], "the last"),
    "part": Number(0, DIMENSIONS[1], "the mean"),
    "tab": Choice(TABS, TABS[0]),
    "metric": Choice(METRICS, METRICS[0]),
    "variance": Number(*VARIANCE, "1", whole=False),
    "variances": Numbers(),
    "angle": Number(*ANGLE, str(int(FIRST.metric.angle))),
    "ratio": Number(*VARIANCE, f"{FIRST.metric.ratio:g}", whole=False),
    "axes": Number(*DEPTHS, "the model's own"),
    "values": Numbers(),
    "gates": Numbers(),
    "pair": Choice(tuple(PAIRS), "1-2"),
    "whose": Choice(("ungated", "gated"), "gated"),
    "step": Choice(tuple(f"1e-{power}" for power in range(7, 0, -1)), "1e-4"),
    "fooled": Choice(tuple(FOOLED), next(iter(FOOLED))),
    "gallery": Choice(YES_NO, "false"),
    "point": GridPoint(size=GRIDS[-1]),
}


@dataclass(frozen=True, eq=False)
class Asked:
    """What the visitor asked for, and where a sentence beside each control can be put."""

    request: Request
    look: Look
    slots: dict[str, st.delta_generator.DeltaGenerator] = field(default_factory=dict)


def front_controls(slots: dict) -> dict:
    """The five controls that are always seen; their values by name."""
    first, second, third, fourth, fifth = st.columns([3, 4, 3, 2.6, 3])
    values = {
        "kind": first.segmented_control(
            "Gate", GATE_KINDS, default=FIRST.kind, required=True, key="kind",
            bind="query-params", on_change=forget, width="stretch",
            help="The function of the gate: the output is multiplied by it. SiLU and tanh can"
            " also turn signs.",
        ),
        "strength": second.slider(
            "Gate strength λ", 0.0, 1.0, 1.0, 0.05, key="lambda", bind="query-params",
            on_change=forget,
            help="The gate in force is (1 − λ) + λ · gate: at λ = 0 there is none.",
        ),
        "depth": third.slider(
            "Layers", *DEPTHS, FIRST.depth, key="layers", bind="query-params",
            on_change=_depth_moved,
        ),
        "chart": fourth.segmented_control(
            "Chart", CHARTS, default=FIRST.chart, required=True, key="chart",
            bind="query-params", on_change=forget, width="stretch",
            help="Which two numbers sweep the surface. *inputs*: the input square. *weights*: the"
            " attention weights themselves, on a flat slice: the setting of the theorem.",
        ),
        "by": fifth.selectbox(
            "Colour by", tuple(COLOURINGS), key="by", bind="query-params", on_change=forget,
            help="; ".join(f"*{name}*: {c.title} {c.symbol}" for name, c in COLOURINGS.items()),
        ),
    }  # fmt: skip
    for name, column in (("position", first), ("chart", fourth)):
        slots[name] = column.empty()
    return values


def _depth_moved() -> None:
    """Principal components stay those of the depth that was shown before."""
    forget()
    shown = st.session_state.get(SHOWN_DEPTH)
    if shown and "axes" not in st.query_params:
        st.query_params["axes"] = str(shown)


def fit_axes() -> None:
    """Draw the principal components of the depth that is shown now."""
    st.query_params.pop("axes", None)


def more_controls(slots: dict) -> dict:
    """The rest; their values by name."""
    a, b, c, d = st.columns(4)
    pick: Any = {"required": True, "bind": "query-params", "on_change": forget, "width": "stretch"}
    drag: Any = {"bind": "query-params", "on_change": forget}
    values = {
        "source": a.segmented_control(
            "Keys and values from", SOURCES, default=FIRST.source, key="source", **pick,
            help="*memory*: learned slots, fixed for all inputs. *tokens*: self-attention, where"
            " keys and values move with the input.",
        ),
        "position": a.segmented_control(
            "Gate sits at", GATE_POSITIONS, default=FIRST.position, key="position", **pick,
            help="G1 after attention, G2 on values, G3 on keys, G4 on queries, G5 after the output"
            " projection.",
        ),
        "per": a.segmented_control(
            "One gate per", tuple(PER), default="channel", key="per", **pick
        ),
        "dim": b.slider("Dimension D", *DIMENSIONS, FIRST.model_dim, key="dim", **drag),
        "n": b.slider("Values n (slots or tokens)", *COUNTS, FIRST.value_count, key="n", **drag),
        "heads": b.slider("Heads", *HEADS, FIRST.heads, key="heads", **drag),
        "norm": c.segmented_control(
            "Normalisation (RMSNorm)", NORMS, default=FIRST.norm, key="norm", **pick
        ),
        "residual": c.toggle("Residual connection", key="residual", **drag),
        "projection": c.toggle("Output projection", key="projection", **drag),
        "sharpness": c.slider(
            "Sharpness of attention", *SHARPNESS, 1.0, 0.5, key="sharpness", **drag,
            help="A factor on all keys: the larger, the more the softmax saturates.",
        ),
        "model": d.number_input("Seed of the weights", *SEEDS, FIRST.seed, 1, key="model", **drag),
        "grid": d.select_slider(
            "Grid", tuple(map(str, GRIDS)), str(FIRST.grid), key="grid", **drag,
            help="Points along each side of the chart.",
        ),
        "scale": d.segmented_control(
            "Colour scale", SCALES, default=SCALES[0], key="scale", **pick,
            help="*asinh* is linear near zero and logarithmic far out: it shows peaks and plains"
            " at once, and cuts nothing off.",
        ),
    }  # fmt: skip
    inner, which = d.columns(2)
    values["layer"] = inner.number_input(
        "Layer", 0, DEPTHS[1], 0, key="layer", help="Whose gate or entropy: 0 is the last.", **drag
    )
    values["part"] = which.number_input(
        "Channel or head", 0, DIMENSIONS[1], 0, key="part", help="0 is the mean over them.", **drag
    )
    for name, column in (("value_count", b), ("heads", b), ("grid", d), ("part", d)):
        slots[name] = column.empty()
    return values


def metric_controls(dim: int) -> Metric:
    """The covariance that lengths are measured with."""
    drag: Any = {"bind": "query-params", "on_change": forget}
    kind = st.segmented_control(
        "Covariance Σ of the Gaussians", METRICS, default=METRICS[0], required=True,
        key="metric", **drag,
        help="Lengths are measured in the Fisher–Rao metric of Gaussians with mean y and this"
        " fixed covariance: Σ⁻¹.",
    )  # fmt: skip
    if kind == "diagonal":
        text = st.text_input(
            f"The {dim} variances, with commas between them", ", ".join(["1"] * dim),
            key="variances", **drag,
        )  # fmt: skip
        numbers = parse_numbers(text)
        if numbers is None:
            return Metric("diagonal")
        if len(numbers) != dim:
            st.caption(f":material/info: {dim} variances are needed. Shown: cut, or filled with 1.")
        return Metric("diagonal", variances=(*numbers, *(1.0,) * dim)[:dim])
    if kind == "turned":
        left, right = st.columns(2)
        angle = left.slider("Angle to the first drawn axis (°)", *ANGLE, 30, key="angle", **drag)
        ratio = right.slider(
            "Ratio of the variances", *VARIANCE, FIRST.metric.ratio, 0.05, key="ratio", **drag
        )
        return Metric("turned", angle=float(angle), ratio=float(ratio))
    variance = st.slider("Variance s²", *VARIANCE, 1.0, 0.05, key="variance", **drag)
    return Metric(variance=float(variance))


def asked_request(front: dict, more: dict, metric: Metric) -> Request:
    """All values as a request; an empty value in a link reaches us as None: then the default."""
    parsed = {name: st.query_params.get(name, "") for name in ("values", "gates", "axes")}
    dim, count = int(more["dim"]), int(more["n"])
    axes = parsed["axes"]
    return Request(
        kind=front["kind"] or FIRST.kind,
        strength=float(front["strength"]),
        depth=int(front["depth"]),
        chart=front["chart"] or FIRST.chart,
        source=more["source"] or FIRST.source,
        position=more["position"] or FIRST.position,
        granularity=PER[more["per"] or "channel"],
        model_dim=dim,
        value_count=count,
        heads=int(more["heads"]),
        residual=bool(more["residual"]),
        norm=more["norm"] or FIRST.norm,
        output_projection=bool(more["projection"]),
        seed=FIRST.seed if more["model"] is None else int(more["model"]),
        sharpness=float(more["sharpness"]),
        grid=int(more["grid"]),
        axes_depth=int(axes) if MANIFOLD["axes"].accepts(axes) else None,
        metric=metric,
        values=_rows(parsed["values"], dim),
        gate_weight=_rows(parsed["gates"], None if not parsed["gates"] else dim, True),
    )


def _rows(text: str, width: int | None, transposed: bool = False) -> Matrix | None:
    """Numbers as rows of ``width``; for gates one row a gate, turned into columns."""
    if not text or width is None:
        return None
    numbers = parse_numbers(text)
    if numbers is None:
        return None
    rows = [numbers[i : i + width] for i in range(0, len(numbers), width)]
    if len(rows[-1]) != width:
        return tuple(rows)
    return tuple(zip(*rows, strict=True)) if transposed else tuple(rows)


def link_of(matrix: Matrix, transposed: bool = False) -> str:
    """A matrix as the link holds it."""
    rows = zip(*matrix, strict=True) if transposed else matrix
    return ",".join(f"{x:g}" for row in rows for x in row)


def asked_look(front: dict, more: dict, depth: int, inspect: bool) -> Look:
    """What the colours show, from the controls."""
    layer, part = int(more["layer"] or 0), int(more["part"] or 0)
    return Look(
        colouring=front["by"] or "curvature",
        layer=min(layer, depth) - 1 if layer else -1,
        part=part - 1 if part else None,
        asinh=more["scale"] == "asinh",
        inspect=inspect,
    )


def marked(grid: int) -> tuple[int, int] | None:
    """The marked grid point, from the link."""
    return parse_pick(st.query_params.get("point", ""), grid)


UNBOUND = ("values", "gates", "axes", "point")  # of the Manifold page, in its link alone
WORDS = {granularity: word for word, granularity in PER.items()}


def apply_request(request: Request) -> None:
    """Set the Manifold page's controls to ``request``, coloured by K; for callbacks only."""
    metric = request.metric
    controls: dict[str, object] = {
        "kind": request.kind,
        "lambda": float(request.strength),
        "layers": request.depth,
        "chart": request.chart,
        "by": "curvature",
        "source": request.source,
        "position": request.position,
        "per": WORDS[request.granularity],
        "dim": request.model_dim,
        "n": request.value_count,
        "heads": request.heads,
        "residual": request.residual,
        "norm": request.norm,
        "projection": request.output_projection,
        "model": request.seed,
        "sharpness": float(request.sharpness),
        "grid": str(request.grid),
        "metric": metric.kind,
    }
    if metric.kind == "isotropic":
        controls["variance"] = float(metric.variance)
    elif metric.kind == "diagonal":
        controls["variances"] = ", ".join(f"{x:g}" for x in metric.variances)
    else:
        controls |= {"angle": int(metric.angle), "ratio": float(metric.ratio)}
    for key, value in controls.items():
        st.session_state[key] = value
    for name in UNBOUND:
        st.query_params.pop(name, None)
    forget()
