"""Sentences of the tab Write that are built from its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from gating_core.at_work import STRENGTHS
from gating_core.language import CHARACTERS
from ui.at_work.write_picture import losses
from ui.common.language_models import TITLES
from ui.common.words import percent
from ui.drawing.characters import named
from ui.foreign import as_code, as_words


def continued(beginning: str, written: str) -> str:
    """Return both as Markdown, the beginning in bold."""
    bold = beginning.rstrip()
    start = f"**{as_words(bold)}**" if bold else ""
    return f"{start}{as_words(beginning[len(bold) :] + written)}"


def next_text(probabilities: np.ndarray) -> str:
    """Say which character most probably follows the beginning."""
    best = int(probabilities.argmax())
    name = "the end of the text" if best == 0 else as_code(named(best))
    return f"Most probable next: {name}, {percent(float(probabilities[best]))}."


def loss_text(gated: np.ndarray, ungated: np.ndarray, strength: float) -> str:
    """Say what turning the gates down costs: losses (S, n), and (S, 1) without a gate."""
    means, without = gated.mean(0), float(ungated.mean())
    of, others = "Loss over the held-out verses", f"Trained without a gate: {without:.3f}."
    full = f"{means[-1]:.3f} nats a character"
    if strength == 1:
        return f"{of}: {full}. With all gates left out: {means[0]:.3f}. {others}"
    at = float(np.interp(strength, STRENGTHS, means))
    return f"{of} at λ = {strength:g}: **{at:.3f} nats a character**. At λ = 1: {full}. {others}"


def losses_csv(models: Mapping[tuple[str, int], Mapping[str, np.ndarray]]
               ) -> Iterator[Sequence[object]]:  # fmt: skip
    """Yield a row for every model: its loss at each strength."""
    yield "model", "seed", *(f"λ = {strength:g}" for strength in STRENGTHS)
    for (name, seed), arrays in models.items():
        (row,) = losses(arrays["strengths.sums"][None], arrays["strengths.counts"][None])
        padding = [""] * (len(STRENGTHS) - len(row))
        yield TITLES.get(name, name), seed, *padding, *row.tolist()


def next_csv(probabilities: np.ndarray, full: np.ndarray, strength: float
             ) -> Iterator[Sequence[object]]:  # fmt: skip
    """Yield a row for every character: its probability after the beginning."""
    yield "character", f"λ = {strength:g}", "λ = 1"
    for number, character in enumerate(CHARACTERS):
        name = named(number) if number == 0 else character
        yield name, float(probabilities[number]), float(full[number])
