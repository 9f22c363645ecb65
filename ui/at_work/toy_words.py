"""Sentences about the toy that are built from its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from gating_core.at_work import EPSILON, ToyRun
from ui.at_work.toy_picture import TITLES, interval
from ui.common.words import plus_minus, short

COLUMNS = ("sink", "sink_at_triggers", "value_ratio", "gate_at_triggers", "gate_elsewhere",
           "copied", "loss_elsewhere")  # fmt: skip


def shares(run: ToyRun) -> dict[str, tuple[float, float]]:
    """Return mean and half-width, over seeds, of each kind's weight on the first letter."""
    means, widths = interval(run.sink[-1])
    pairs = zip(map(float, means), map(float, widths), strict=True)
    return dict(zip(run.request.kinds, pairs, strict=True))


def summary(run: ToyRun) -> str:
    """Say how large the sink is in each kind of layer, and what the gate does."""
    by_kind = shares(run)
    texts = [f"{plus_minus(mean, width, 0.0)} ({TITLES[kind]})"
             for kind, (mean, width) in by_kind.items()]  # fmt: skip
    first = by_kind.get("none", (0.0, 0.0))[0]
    has = "has a sink" if first > EPSILON else "has no sink"
    at, elsewhere = (interval(x[-1])[0] for x in (run.gate_at_triggers, run.gate_elsewhere))
    row = run.request.kinds.index("elementwise")
    return (
        f"**The toy {has}**: where there is nothing to copy, the first letter gets"
        f" {', '.join(texts)} of the weight, after {run.steps[-1]} steps. {_change(by_kind)} The"
        f" mean of the gate per channel is {short(float(at[row]))} at triggers and"
        f" {short(float(elsewhere[row]))} elsewhere."
    )


def _change(by_kind: dict[str, tuple[float, float]]) -> str:
    """Say which gates make the sink smaller beyond the intervals, and by which factor."""
    mean, width = by_kind["none"]
    parts = []
    for kind in ("elementwise", "headwise"):
        own, half = by_kind[kind]
        if own + half < mean - width:
            parts.append(f"the gate {TITLES[kind]} leaves {short(own / mean)} of that")
        elif own - half > mean + width:
            parts.append(f"the gate {TITLES[kind]} makes it larger")
        else:
            parts.append(f"the gate {TITLES[kind]} does not change it beyond the intervals")
    text = " and ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def toy_csv(run: ToyRun) -> Iterator[Sequence[object]]:
    """Yield a row for every kind, seed and measurement."""
    yield "step", "attention", "seed", *COLUMNS
    for (n, k, s), _ in np.ndenumerate(run.sink):
        numbers = (float(getattr(run, name)[n, k, s]) for name in COLUMNS)
        yield int(run.steps[n]), TITLES[run.request.kinds[k]], run.request.seeds[s], *numbers
