"""Shared by the tabs of Should I gate: measured models, their controls, lines over layers.

Shapes: S seeds, N texts, L layers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gating_core.lm.generate import Reading, read_text
from gating_core.lm.measurements import QUANTITIES, load_measured
from gating_core.lm.overview import OverviewRow, compared, load_overview
from gating_core.lm.resampling import LEVEL, PairedDifference
from gating_core.lm.shipped import SEEDS
from gating_core.training import MeanInterval, mean_interval
from ui.common import charts as c
from ui.common.formatting import plus_minus
from ui.common.language_models import GATES, TITLES, UNGATED, Model, loaded
from ui.common.links import LINK
from ui.limits import READINGS_BYTES
from ui.work.cache import Cache, cached

NO_GATE = next(title for title, name in GATES.items() if name == UNGATED)
ROWS = {**TITLES, "sink_logit": "sink logit"}  # of the table of gates, by name
GATED = [title for title in GATES if title != NO_GATE]
READINGS_CACHE = Cache(READINGS_BYTES)  # what is typed displaces nothing else
LOWER, HIGHER, EQUIVALENT = "lower", "higher", "equivalent"
INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class Quantity:
    """A compared number: its name, and the margin within which models are equivalent."""

    title: str
    margin: float
    unit: str = ""


MARGINS = dict(zip(QUANTITIES, (
    Quantity("ECE", 0.003),
    Quantity("classwise ECE", 0.0001),
    Quantity("loss", 0.01, " nats"),
    Quantity("entropy of predictions", 0.02, " nats"),
    Quantity("entropy of attention", 0.1, " nats"),
), strict=True))  # fmt: skip


@dataclass(frozen=True)
class Comparison:
    """A gated model, compared over all seeds with models without a gate."""

    title: str
    seed: int

    @property
    def model(self) -> Model:
        """Name and seed of the gated model."""
        return GATES[self.title], self.seed

    def over_seeds(self, title: str, name: str) -> np.ndarray:
        """The measurement ``name`` of the models called ``title``, (S, ...)."""
        return np.stack([table()[GATES[title], seed][name] for seed in SEEDS]).astype(float)

    def pair(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """The measurement ``name`` without a gate and with it, (S, ...) each."""
        return self.over_seeds(NO_GATE, name), self.over_seeds(self.title, name)


@st.cache_resource(show_spinner=False)
def table() -> dict[Model, dict[str, Any]]:
    """Return the shipped measurements: arrays by model and name."""
    return load_measured()


@st.cache_resource(show_spinner=False)
def architectures() -> list[OverviewRow]:
    """Return a row for each architecture that is shipped."""
    return load_overview()


def widened(rows: Sequence[OverviewRow], name: str) -> dict[str, PairedDifference]:
    """Return `compared` over the gates; for the number "loss" over all architectures."""
    return compared(rows if name == "loss" else [x for x in rows if x.name in ROWS], name)


def signs(rows: Sequence[OverviewRow], name: str) -> dict[str, int]:
    """Return the sign of each difference, 0 where it is not significant: `widened`, it has 0."""
    return {row: (of.low > 0) - (of.high < 0) for row, of in widened(rows, name).items()}


def difference_text(change: PairedDifference, digits: int, scale: float = 1.0) -> str:
    """Format a difference with its sign and its half-width, rounded up."""
    unit = 10.0**digits
    half = math.ceil(unit * scale * change.half_width - 1e-9) / unit
    return f"{scale * change.mean:+z.{digits}f}\u00a0±\u00a0{half:.{digits}f}".replace("-", "−")


def word(difference: PairedDifference, margin: float, p: float) -> str:
    """Return the verdict on a difference, from its p-value adjusted over all that are told with it.

    *equivalent*: the whole 95 % interval lies within the margin. *lower*, *higher*: ``p`` is below
    5 %. Otherwise *inconclusive*.
    """
    if -margin <= difference.low and difference.high <= margin:
        return EQUIVALENT
    if not p < LEVEL:
        return INCONCLUSIVE
    return HIGHER if difference.mean > 0 else LOWER


def choose_model(row: DeltaGenerator) -> Comparison:
    """Draw the controls of a gated model in ``row``."""
    title = row.selectbox(
        "Gate",
        GATED,
        key="lm_gate",
        width=160,
        **LINK,
        help="The model's multiplicative gate. G1: on the attention output. G2: on the values. One"
        " factor per channel, or per head. All models read the same text in the same order.",
    )
    seed = row.selectbox(
        "Seed",
        SEEDS,
        key="lm_seed",
        width=75,
        **LINK,
        help="Of the initialisation and of the order of the training texts.",
    )
    return Comparison(title, seed)


@cached(on=READINGS_CACHE)
def reading(model: Model, text: str, strength: float) -> Reading:
    """Read ``text``, in this process: it takes some ten milliseconds."""
    return read_text(loaded(model), text, strength)


def interval_text(interval: MeanInterval | PairedDifference, scale: float = 1.0) -> str:
    """Format a mean with its half-width, both times ``scale``, with a sign if a difference."""
    text = plus_minus(scale * interval.mean, scale * interval.half_width)
    signed = isinstance(interval, PairedDifference) and interval.mean > 0
    return f"+{text}" if signed and not text.startswith("between") else text


def half_widths(values: np.ndarray) -> np.ndarray:
    """Return half-widths (n,) of 95 % intervals of means over the first axis of (S, n)."""
    return np.array([mean_interval(column).half_width for column in values.T])


def layer_lines(name: str, values: np.ndarray, **style: Any) -> Iterator[c.Trace]:
    """Yield each seed of (S, N, L) with intervals over N, and the mean with one over seeds."""
    means, layers = values.mean(1), np.arange(1, values.shape[-1] + 1)
    for seed, (mean, texts) in enumerate(zip(means, values, strict=True)):
        dots = c.line(
            f"{name}, a seed",
            layers + 0.06 * (seed + 1),
            mean,
            half_widths(texts),
            mode="markers",
            legend=False,
            **style,
        )
        yield dots | {"opacity": 0.5}
    yield c.line(name, layers, means.mean(0), half_widths(means), **style)


def layer_axis(layers: int, room: float = 0.5) -> dict[str, Any]:
    """Return an axis of layers or blocks, with ``room`` behind the last."""
    return {"tickvals": [*range(1, layers + 1)], "range": [0.7, layers + room]}


def listed(names: Sequence[str], last: str = "and") -> str:
    """Join names: "a, b and c"."""
    return f" {last} ".join(filter(None, (", ".join(names[:-1]), names[-1])))
