"""Shared by the tabs of Efficient attention: the input, and the losses of whole models.

Shapes: S seeds, N texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gating_core.characters import BREAK
from gating_core.lm.efficient.samples import (
    LONGEST_ROW,
    LONGEST_TEXT,
    HeadSample,
    ar1_tokens,
    gaussian_scores,
    normal_tokens,
)
from gating_core.lm.generate import read_head
from gating_core.lm.measurements import load_efficient
from gating_core.lm.resampling import PairedDifference, loss_difference
from gating_core.lm.shipped import SEEDS
from ui.common.charts import GATED, UNGATED, Style, Trace, line
from ui.common.formatting import by_interval, figures, percent, plus_minus
from ui.common.language_models import GATES, HEADS, choose_text, head_of, loaded
from ui.common.links import LINK
from ui.limits import LEFT_OUT_KEYS, LEFT_OUT_SEEDS
from ui.work.cache import cached

HEIGHT = 370  # pixels of the first chart, whose axis a laptop shows without scrolling
WORDS = {"tickfont": {"size": 14}, "title_font": {"size": 14}}  # of its axes
HEAD, GAUSSIAN, AR1 = "trained head", "Gaussian scores", "AR(1) tokens"
NO_GATE = "no gate"
MOST_NORMAL = 512  # tokens, where i.i.d. Gaussian scores need values
DELTA_LOSS = "Δ loss, nats per character"  # an axis: against full attention


@dataclass(frozen=True)
class Sample:
    """The input; fields that do not matter to its ``kind`` keep their defaults."""

    kind: str
    gate: str  # of the models whose losses are shown, and of the head
    seed: int = 0
    head: str = ""
    text: str = ""
    strength: float = 1.0
    n: int = 0
    sigma: float = 0.0
    memory: int = 0
    draw: int = 0

    @property
    def with_gate(self) -> str:
        """The gate that is compared with no gate."""
        return "G1, per channel" if self.gate == NO_GATE else self.gate

    @property
    def characters(self) -> str | None:
        """The characters that the head reads, the line break before the text included."""
        return BREAK + self.text if self.kind == HEAD else None


def choose_gate(row: DeltaGenerator) -> str:
    """Draw the control of the gate; return its title."""
    return row.selectbox(
        "Gate",
        [*GATES],
        1,
        key="sample_gate",
        width=165,
        **LINK,
        help="Where the model has a multiplicative gate. G1: on the attention output. G2: on the"
        " values.",
    )


def front_row() -> tuple[DeltaGenerator, str, str]:
    """Draw the row of a tab's own controls and the gate; return both, and the gate compared.

    That is the gate which is compared with no gate.
    """
    row = st.container(horizontal=True, vertical_alignment="bottom", key="front-row")
    gate = choose_gate(row)
    return row, gate, Sample(HEAD, gate).with_gate


@contextmanager
def fold(title: str, key: str) -> Iterator[bool]:
    """Draw what follows in a fold; yield whether it is open, and worth computing."""
    expander = st.expander(title, key=key, on_change="rerun", **LINK)
    with expander:
        yield bool(expander.open)


def choose_sample(most: int = 0, gate: str = "") -> tuple[Sample, DeltaGenerator]:
    """Draw the controls of the input; return it, and the row for the controls of the tab.

    The tab reads at most ``most`` tokens, and needs their values; 0: of any number, without values.
    ``gate``: where it is chosen elsewhere.
    """
    row = st.container(horizontal=True, vertical_alignment="bottom", key="input-row")
    below = st.container(horizontal=True, vertical_alignment="bottom", key="control-row")
    kind = row.selectbox(
        "Input",
        (HEAD, GAUSSIAN, AR1),
        key="sample",
        width=165,
        **LINK,
        help="*Trained head*: queries, keys and values of one attention head over a text."
        " *Gaussian scores*: i.i.d. scores. *AR(1) tokens*: queries, keys and values that follow an"
        " autoregressive process.",
    )
    gate = gate or choose_gate(row)
    if kind != HEAD:
        gaussian = kind == GAUSSIAN
        n = row.number_input(
            "Keys n" if gaussian else "Tokens n",
            LEFT_OUT_KEYS,
            LONGEST_ROW if gaussian else LONGEST_TEXT,
            20_000 if gaussian else 512,
            key="sample_keys" if gaussian else "sample_tokens",
            width=165,
            **LINK,
        )
        if gaussian:
            sigma = row.number_input(
                "σ of the scores", 0.0, 10.0, 2.0, 0.5, width=165, key="sample_sigma", **LINK
            )
            more: Any = {"sigma": sigma}
        else:
            more = {
                "memory": row.number_input(
                    "Correlation time, tokens",
                    0,
                    LONGEST_TEXT,
                    128,
                    key="sample_memory",
                    width=190,
                    **LINK,
                    help="The number of tokens after which the autocorrelation of a channel is"
                    " 1/e. 0: independent tokens.",
                )
            }
        draw = row.number_input(
            "Random seed", *LEFT_OUT_SEEDS, 0, key="sample_draw", width=150, **LINK
        )
        used = min(n, MOST_NORMAL, most) if gaussian else min(n, most)
        if most and used < n:
            what = "tokens with independent Gaussian scores" if gaussian else "tokens"
            st.caption(f":material/info: This tab uses {used} {what}.")
        return Sample(kind, gate, n=n, draw=draw, **more), below
    seed = row.selectbox(
        "Seed",
        SEEDS,
        key="sample_seed",
        width=80,
        **LINK,
        help="Of the initialisation and of the order of the training texts.",
    )
    head = row.selectbox(
        "Head",
        HEADS,
        HEADS.index("2.2"),
        key="sample_head",
        width=90,
        **LINK,
        help="Layer and head, counted from 1.",
    )
    text = choose_text(row, "sample")
    strength = 1.0
    if gate != NO_GATE:
        strength = below.slider(
            "Gate interpolation λ",
            0.0,
            1.0,
            1.0,
            0.1,
            key="sample_strength",
            **LINK,
            help="Each gate factor is (1 − λ) + λ g: as trained at λ = 1, ablated at"
            " λ = 0. The losses of whole models are those at λ = 1.",
        )
    return Sample(kind, gate, seed, head, text, strength), below


@cached()
def head_sample(sample: Sample) -> HeadSample:
    """Return queries, keys and values; for Gaussian scores those of tokens with such scores."""
    if sample.kind == GAUSSIAN:
        return normal_tokens(min(sample.n, MOST_NORMAL), sample.sigma, sample.draw)
    if sample.kind == AR1:
        return ar1_tokens(sample.n, float(sample.memory), seed=sample.draw)
    model = loaded((GATES[sample.gate], sample.seed))
    return read_head(model, sample.text, *head_of(sample.head), sample.strength)


def scores_of(sample: Sample) -> Any:
    """Return scores alone where these are Gaussian, else as `head_sample`."""
    if sample.kind == GAUSSIAN:
        return gaussian_scores(sample.n, sample.sigma, sample.draw)
    return head_sample(sample)


# --- Measured losses of whole models, on the held-out verses ----------------------------------


@st.cache_resource(show_spinner=False)
def measured(gate: str, name: str) -> np.ndarray:
    """(S, ...): the measurement ``name`` of the models with this ``gate``, by seed."""
    results = load_efficient()
    return np.stack([results[GATES[gate], seed][name] for seed in SEEDS]).astype(float)


def sums(gate: str, method: str, setting: tuple[int, ...]) -> np.ndarray:
    """(S, N): losses of texts with the approximation ``method``, at these indices of settings."""
    index: Any = (slice(None), *setting)
    return measured(gate, f"{method}.sums")[index]


def full(gate: str, method: str) -> np.ndarray:
    """(S, N): losses of the same texts with full attention."""
    if method == "truncation":
        return measured(gate, "truncation.sums")[:, -1]
    return measured(gate, f"{method}.full")


@cached()
def delta_loss(gate: str, method: str, setting: tuple[int, ...]) -> PairedDifference:
    """Return the loss per character minus that with full attention."""
    counts = measured(gate, f"{method}.counts")[0]
    return loss_difference(sums(gate, method, setting), full(gate, method), counts)


@cached()
def between(
    gate: str, method: str, setting: tuple[int, ...], other: tuple[int, ...]
) -> PairedDifference:
    """Return the loss per character with one setting minus that with the ``other``."""
    counts = measured(gate, f"{method}.counts")[0]
    return loss_difference(sums(gate, method, setting), sums(gate, method, other), counts)


@cached()
def gate_change(gate: str, method: str, setting: tuple[int, ...]) -> PairedDifference:
    """Return the Δ loss with a gate minus that without."""
    gated, plain = (sums(name, method, setting) - full(name, method) for name in (gate, NO_GATE))
    return loss_difference(gated, plain, measured(gate, f"{method}.counts")[0])


@cached()
def gate_effect(
    what: str, how: str, gate: str, method: str, setting: tuple[int, ...]
) -> tuple[str, str]:
    """Say whether a gate reduces what ``what`` costs, and by which numbers; ``how`` is it done."""
    plain, gated = ((sums(name, method, setting), full(name, method)) for name in (NO_GATE, gate))
    return effect_text(what, how, gate, plain, gated, measured(gate, f"{method}.counts")[0])


Losses = tuple[np.ndarray, np.ndarray]  # (S, N) of texts: approximated, and with full attention


def effect_text(
    what: str, how: str, gate: str, plain: Losses, gated: Losses, counts: np.ndarray
) -> tuple[str, str]:
    """Say whether a gate changes the Δ loss of ``what``, from losses of texts with ``counts``."""
    means = [loss_difference(*losses, counts).mean for losses in (plain, gated)]
    share = f"{percent(means[1] / means[0])} as much, " if means[1] > 0 else ""
    costs = (
        f"{what} costs {share}{figures(means[1], 2)} instead of {figures(means[0], 2)} nats per"
        " character"
    )
    change = loss_difference(gated[0] - gated[1], plain[0] - plain[1], counts)
    says = by_interval(
        change.low,
        change.high,
        f"Less with this gate: {costs}.",
        f"Whether this gate changes what {what} costs is inconclusive: {change.mean:+.3f} nats per"
        " character.",
        f"More with this gate: {costs}.",
    ).replace("-0", "−0")
    return says, (
        f"Δ loss of {how} with {gate}, less that without a gate:"
        f" {plus_minus(change.mean, change.half_width)} nats per character"
        f" ({len(change.by_seed)} seeds, 95 % interval over seeds and texts)."
    )


def loss_line(
    name: str, x: Iterable[object], losses: list[PairedDifference], **style: Any
) -> Trace:
    """Return a line of losses with 95 % intervals over seeds and texts."""
    return line(
        name, x, [loss.mean for loss in losses], [loss.half_width for loss in losses], **style
    )


def gate_styles(with_gate: str) -> Iterator[tuple[str, Style]]:
    """Yield models without a gate and with one, and how they are drawn."""
    yield NO_GATE, UNGATED
    yield with_gate, GATED
