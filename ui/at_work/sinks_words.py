"""Sentences of the tab Sinks that are built from its numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from gating_core.at_work import EPSILON, Reading
from gating_core.training import mean_interval
from ui.common.language_models import TITLES
from ui.common.words import percent


def share_text(share: float) -> str:
    """Format a share as percent, to one decimal."""
    return f"{100 * share:.1f}\u00a0%"


def summary(shares: Mapping[str, np.ndarray], heads: Mapping[str, np.ndarray],
            metrics: Mapping[str, np.ndarray]) -> str:  # fmt: skip
    """Say whether there is a sink, and by how much the gate changes the first character's share.

    By title of the model, the ungated first: shares (S, N, L), of heads (S, L, H), and the shares
    of texts with a sink (S, L, H).
    """
    largest = max(float(x.max()) for x in heads.values())
    count = sum(int((x > EPSILON).sum()) for x in heads.values())
    whole = sum(x.size for x in heads.values())
    sunk = f"**{count} of {whole} heads have a sink**" if count else "**No head has a sink**"
    most = max(float(x.max()) for x in metrics.values())
    texts = next(iter(shares.values())).shape[1]
    return (
        f"{sunk}: over {texts} texts the first character gets at most {share_text(largest)} of a"
        f" head's weight. No head gives it more than {percent(EPSILON)} in more than"
        f" {math.ceil(100 * most - 1e-9)}\u00a0% of the texts. {change(shares)}"
    )


def change(shares: Mapping[str, np.ndarray]) -> str:
    """Say how far the share (S, N, L) shrinks from the first model to the second, by seed."""
    (name, before), (other, after) = shares.items()
    means = [x.mean((1, 2)) for x in (before, after)]
    from_to = f"from {share_text(means[0].mean())} ({name}) to {share_text(means[1].mean())}"
    if len(means[0]) < 2:
        return f"Its mean share goes {from_to} ({other}); one seed says nothing about others."
    points = mean_interval(100 * (means[1] - means[0]))
    by = f"{points.mean:+.1f} ± {points.half_width:.1f} points".replace("-", "−")
    seeds = f"{len(means[0])} seeds, paired"
    if abs(points.mean) <= points.half_width:
        return f"{len(means[0])} seeds cannot show that the gate changes its mean share: {by}."
    verb = "shrinks" if points.mean < 0 else "grows"
    return f"Its mean share **{verb}** {from_to} ({other}): {by}, {seeds}."


def in_text(readings: Mapping[str, Reading]) -> str:
    """Say which head looks most at the first character of this text."""
    parts = []
    for title, reading in readings.items():
        share = reading.weights[..., 1:, 0].mean(-1)
        layer, head = np.unravel_index(share.argmax(), share.shape)
        parts.append(f"{share_text(float(share.max()))} (head {layer + 1}.{head + 1}, {title})")
    return f"In this text the first character gets at most {' and '.join(parts)}."


def shares_csv(measured: Mapping[tuple[str, int], Mapping[str, np.ndarray]]
               ) -> Iterator[Sequence[object]]:  # fmt: skip
    """Yield a row for every head of every model."""
    yield "model", "seed", "layer", "head", "share on first", "texts with a sink", "|v1| / others"
    for (name, seed), arrays in measured.items():
        for (layer, head), share in np.ndenumerate(arrays["sinks.by_head"]):
            more = (float(arrays[key][layer, head]) for key in ("sinks.metric",
                                                               "sinks.value_ratio"))  # fmt: skip
            yield TITLES.get(name, name), seed, layer + 1, head + 1, float(share), *more
