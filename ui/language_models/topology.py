"""The tab Block topology: what each MLP reads, and what that is worth.

By name of a topology, in the order of `TOPOLOGIES`. Shapes: S seeds, N texts, L blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.lm.measurements import BEFORE, CORNERS
from gating_core.lm.model import TOPOLOGIES, ModelConfig, Topology
from gating_core.lm.resampling import PairedDifference, family_p, loss_difference
from gating_core.lm.shipped import MODELS, SEEDS
from gating_core.training import mean_interval
from ui.common import charts as c
from ui.common.charts import chart_columns
from ui.common.formatting import figures, plus_minus
from ui.common.lessons import section
from ui.common.page import draw_finding
from ui.language_models import shared
from ui.language_models.shared import (
    EQUIVALENT,
    HIGHER,
    LOWER,
    MARGINS,
    ROWS,
    interval_text,
    layer_axis,
    word,
)

LEAD = "Four ways to wire attention and MLP in a block, as pictures; below, what each costs."
BASE, FAL, CONTROL = "usual", "fal", "parallel"
GAIN = "gain"  # of FAL over the control
MODEL_OF = {
    config.topology: name
    for name, config in MODELS.items()
    if config == ModelConfig(topology=config.topology)
}
SHORT = {"usual": "standard", "fal": "FAL", "fal_plus": "FAL+", "parallel": "parallel"}
LONG = {
    "usual": "standard",
    "fal": "FAL: First Attentions Last",
    "fal_plus": "FAL+: A and A1",
    "parallel": "parallel attention and MLP",
}
STYLES: dict[str, c.Style] = {
    "usual": {"colour": c.GREY, "dash": "dot", "symbol": "x"}, "fal": {"colour": c.MAGENTA},
    "fal_plus": {"colour": c.ORANGE, "dash": "dash", "symbol": "square"},
    "parallel": {"colour": c.GREEN, "dash": "dashdot", "symbol": "diamond"},
}  # fmt: skip
OWN, FIRST = c.FAINT, c.BLUE  # links in the diagrams: no colour of `STYLES`
MARGIN = MARGINS["loss"].margin
BUS = 2.5  # height of the first attention's link; the stream is at 0
HALF_WIDTH, HALF_HEIGHT = 0.19, 0.32  # of a box
Trace = dict[str, Any]


def draw() -> None:
    """Draw the tab."""

    def of(part: str) -> dict[str, np.ndarray]:
        return {
            name: np.stack([shared.table()[MODEL_OF[name], seed][part] for seed in SEEDS]).astype(
                float
            )
            for name in TOPOLOGIES
        }

    sums, counts = of("strengths.sums"), of("strengths.counts")[BASE][0]
    losses = {name: x[:, -1].sum(-1) / counts.sum() for name, x in sums.items()}
    # Without a link, attention reaches the MLP of the first block alone.
    linked = {name for name, row in TOPOLOGIES.items() if row.reads_own or row.reads_first}
    links = {
        name: x.swapaxes(1, 2)[..., : None if name in linked else 1]
        for name, x in of("wiring.links").items()
    }
    gradients = {name: x.swapaxes(1, 2) for name, x in of("wiring.gradients").items()}
    totals, errors = of("wiring.total"), of("wiring.total_error")

    def less(name: str, other: str) -> PairedDifference:
        return loss_difference(sums[name][:, -1], sums[other][:, -1], counts)

    against = {name: less(name, BASE) for name in TOPOLOGIES if name != BASE}
    told = against | {GAIN: less(FAL, CONTROL)}
    # One family with the gates of the tab Decision: no difference has two verdicts on one page.
    gates = {
        row.name: row.changes["loss"]
        for row in shared.architectures()
        if row.name in ROWS and "loss" in row.changes
    }
    words = loss_words(told | gates)
    says, about = gain_text(told[GAIN], words[GAIN], words[CONTROL])
    draw_finding(says, lead=LEAD)
    finding = f"{loss_text(losses, against, words)} {about}"
    blocks = blocks_text(links, gradients)
    complete = all(x.all() for x in of("wiring.complete").values())
    curvature = curvature_text(totals, complete)

    charts = c.Charts("topology")
    columns = chart_columns("diagrams", len(TOPOLOGIES))
    for column, (name, row) in zip(columns, TOPOLOGIES.items(), strict=True):
        figure = diagram(LONG[name], row, MODELS[MODEL_OF[name]].depth)
        charts.draw(f"diagram_{name}", column, figure, reads(name))
    st.caption(section("language_models", "topology_legend"))
    left, right = chart_columns("topology", 2)
    charts.draw("loss", left, loss_chart(losses), finding)
    charts.draw("curvature", right, curvature_chart(totals, errors), curvature)
    st.markdown(f"{finding} {blocks} {curvature}")
    charts.draw_footer(
        section(
            "language_models",
            "topology",
            before=BEFORE,
            margin=f"{MARGIN:g}",
            corners=", ".join(CORNERS),
            texts=gradients[BASE].shape[1],
        )
    )


def diagram(heading: str, topology: Topology, depth: int) -> go.Figure:
    """Draw what feeds attention A and MLP M of every block; time goes to the right.

    Boxes above each other can run at the same time.
    """
    shapes: list[Trace] = [line(-0.2, 0, depth + 0.1, 0, c.FAINT, 2.5)]
    notes = [arrow(depth + 0.1, 0, depth + 0.25, 0, c.FAINT)]
    for block in range(depth):
        in_turn = block == 0 or topology.reads_own  # the first block is a standard one
        attention = (block + (0.25 if in_turn else 0.5), 0.85)
        mlp = (block + 0.75, 0.85) if in_turn else (block + 0.5, 1.7)
        # Reads the stream, and adds to it.
        shapes.append(line(attention[0], 0, attention[0], attention[1] - HALF_HEIGHT))
        if in_turn:
            shapes.append(line(mlp[0], 0, mlp[0], mlp[1] - HALF_HEIGHT))
            notes.append(
                arrow(attention[0] + HALF_WIDTH, attention[1], mlp[0] - HALF_WIDTH, mlp[1], OWN)
            )
        else:
            side = mlp[0] - HALF_WIDTH - 0.08
            shapes += [line(side, 0, side, mlp[1]), line(side, mlp[1], mlp[0] - HALF_WIDTH, mlp[1])]
        if topology.reads_first and block:
            notes.append(arrow(mlp[0], BUS, mlp[0], mlp[1] + HALF_HEIGHT, FIRST))
            last = mlp[0]
        shapes += [box(*attention, f"A{block + 1}"), box(*mlp, f"M{block + 1}")]
    if topology.reads_first and depth > 1:
        shapes += [line(0.25, 0.85 + HALF_HEIGHT, 0.25, BUS, FIRST, 2, "dot"),
                   line(0.25, BUS, last, BUS, FIRST, 2, "dot")]  # fmt: skip
    hidden = {"visible": False, "fixedrange": True}
    return c.chart(
        heading,
        [],
        height=165,
        margin={"l": 2, "r": 2, "t": 26, "b": 2},
        shapes=shapes,
        annotations=notes,
        showlegend=False,
        x_axis={**hidden, "range": [-0.25, depth + 0.3]},
        y_axis={**hidden, "range": [-0.3, 2.8]},
    )


def box(x: float, y: float, text: str) -> Trace:
    """Return a box with a text, centred at (x, y)."""
    return {"type": "rect", "x0": x - HALF_WIDTH, "x1": x + HALF_WIDTH, "y0": y - HALF_HEIGHT,
            "y1": y + HALF_HEIGHT, "line": {"width": 1, "color": c.FAINT},
            "fillcolor": f"{c.FAINT}33", "label": {"text": text, "font": {"size": 12}}}  # fmt: skip


def line(
    x0: float,
    y0: float,
    x1: float,
    y1: float,
    colour: str = c.FAINT,
    width: float = 1,
    dash: str = "solid",
) -> Trace:
    """Return a straight line."""
    return {
        "type": "line",
        "x0": x0,
        "y0": y0,
        "x1": x1,
        "y1": y1,
        "layer": "below",
        "line": {"color": colour, "width": width, "dash": dash},
    }


def arrow(x0: float, y0: float, x1: float, y1: float, colour: str) -> Trace:
    """Return an arrow from the first point to the second."""
    return {"x": x1, "y": y1, "ax": x0, "ay": y0, "axref": "x", "ayref": "y", "text": "",
            "showarrow": True, "arrowhead": 2, "arrowwidth": 2, "arrowsize": 0.8,
            "arrowcolor": colour}  # fmt: skip


def loss_chart(losses: Mapping[str, np.ndarray]) -> go.Figure:
    """Draw losses (S,): every seed a dot, the mean with its interval over seeds."""
    traces = []
    for name, values in losses.items():
        colour, symbol = STYLES[name]["colour"], STYLES[name].get("symbol", "circle")
        mean = c.line(
            f"{SHORT[name]}, mean",
            [SHORT[name]],
            [values.mean()],
            shared.half_widths(values[:, None]),
            colour=colour,
            mode="markers",
        )
        mean["marker"] = {
            "size": 16,
            "symbol": "line-ew",
            "color": colour,
            "line": {"width": 2.5, "color": colour},
        }
        traces += [
            c.line(
                SHORT[name],
                [SHORT[name]] * len(values),
                values,
                colour=colour,
                symbol=symbol,
                mode="markers",
            ),
            mean,
        ]
    return c.chart(
        "Test loss", traces, "", "nats per character", showlegend=False, x_axis={"type": "category"}
    )


def curvature_chart(
    totals: Mapping[str, np.ndarray], errors: Mapping[str, np.ndarray]
) -> go.Figure:
    """Draw ∫|K| dA (S, L) by block with its error, and the mean over seeds."""
    traces = []
    for name, total in totals.items():
        numbers = np.arange(1, total.shape[-1] + 1)
        seeds = c.line(
            f"{SHORT[name]}, a seed",
            np.tile(numbers + 0.06, len(total)),
            total.ravel(),
            errors[name].ravel(),
            mode="markers",
            **STYLES[name],
        )
        traces += [
            seeds | {"opacity": 0.6},
            c.line(f"{SHORT[name]}, mean", numbers, total.mean(0), **STYLES[name]),
        ]
    return c.chart(
        "Curvature of block outputs",
        traces,
        "block",
        "∫|K| dA",
        showlegend=False,
        x_axis=layer_axis(numbers[-1]),
        y_axis={"rangemode": "tozero"},
    )


def reads(name: str) -> str:
    """Say what the MLP of a later block reads, from the table of topologies."""
    topology = TOPOLOGIES[name]
    read = [
        "x",
        *(["A of its block"] if topology.reads_own else []),
        *(["A1"] if topology.reads_first else []),
    ]
    return f"{SHORT[name]}: from the second block on, M reads {' + '.join(read)}"


def loss_words(differences: Mapping[str, PairedDifference]) -> dict[str, str]:
    """Return the verdict on each of the differences of losses, by Holm over all of them."""
    adjusted = family_p([*differences.values()])
    return {
        name: word(of, MARGIN, p)
        for (name, of), p in zip(differences.items(), adjusted, strict=True)
    }


def loss_text(
    losses: Mapping[str, np.ndarray],
    against: Mapping[str, PairedDifference],
    words: Mapping[str, str],
) -> str:
    """Say which topologies have another loss than `BASE`: losses (S,), differences from it."""
    parts = [
        f"{SHORT[name]} **{words[name]}** ({interval_text(of)})" for name, of in against.items()
    ]
    seeds = min(len(of.by_seed) for of in against.values())
    return (
        f"Test loss after equally many steps: {SHORT[BASE]} {losses[BASE].mean():.3f} nats per"
        f" character. Difference, paired over {seeds} seeds, tests adjusted by Holm over"
        f" {len(words)} comparisons, gates among them, and intervals of 95\u00a0% each:"
        f" {', '.join(parts)}."
    )


def gain_text(fal: PairedDifference, *words: str) -> tuple[str, str]:
    """Say whether A1 reduces the loss, and by which difference.

    ``fal`` is FAL minus the control without A1; the ``words`` are the verdicts on that and on the
    control minus the standard.
    """
    verdict = {
        HIGHER: "Reading the first attention in later blocks increases the loss",
        EQUIVALENT: "Reading the first attention in later blocks leaves the loss equivalent",
    }.get(words[0], "The effect of reading the first attention in later blocks is inconclusive")
    if words[0] == LOWER != words[1]:
        verdict = "Reading the first attention in later blocks reduces the loss"
    return f"{verdict}: {fal.mean:+.3f} nats per character.".replace("-", "−"), (
        f"That is FAL minus *parallel*, the same without A1: {interval_text(fal)}."
    )


def blocks_text(links: Mapping[str, np.ndarray], gradients: Mapping[str, np.ndarray]) -> str:
    """Say where ablating a link costs most, and compare gradients at the first A: (S, N, L)."""
    costs, ratios = [], []
    for name, x in links.items():
        means = x.mean((0, 1))
        costs.append(f"{SHORT[name]} {figures(float(means.max()))} (block {means.argmax() + 1})")
    for name, x in gradients.items():
        if name != BASE:
            ratio = x[..., 0].mean(-1) / gradients[BASE][..., 0].mean(-1)
            ratios.append(f"{SHORT[name]} {over_seeds(ratio)}")
    return (
        f"Largest Δ loss of an ablated link, in nats per character: {', '.join(costs)}. Gradient at"
        f" the first attention, over that of {SHORT[BASE]}: {', '.join(ratios)}."
    )


def over_seeds(values: np.ndarray, least: float = -np.inf) -> str:
    """Format the mean of (S,) with its interval."""
    interval = mean_interval(values)
    return plus_minus(interval.mean, interval.half_width, least)


def curvature_text(totals: Mapping[str, np.ndarray], complete: bool) -> str:
    """Say how much the last block's output curves: ∫|K| dA (S, L)."""
    parts = [f"{SHORT[name]} {over_seeds(total[:, -1], 0.0)}" for name, total in totals.items()]
    least = "" if complete else " (lower estimates: some points are not resolved)"
    return f"∫|K| dA of the last block{least}: {', '.join(parts)}."
