"""Measured times: of a token and a training step, of attention by its kind.

They are bundled, of one machine and of untrained weights, on which no time depends; commit
`1f4177a5` has the code that took them. What is compared took turns in each repeat, so that ratios
are of one repeat.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gating_core.lm.shipped import FOLDER
from gating_core.records import load_record

TIMES = FOLDER / "times.safetensors"
QUARTILES = (25, 50, 75)
Seconds = dict[str, tuple[float, ...]]  # by what was timed: of each repeat


@dataclass(frozen=True)
class AttentionTimes:
    """Seconds of each kind of attention on one core, by length."""

    lengths: tuple[int, ...]  # tokens
    seconds: tuple[Seconds, ...]

    def ratios(self, way: str) -> np.ndarray:
        """(lengths, 3): quartiles of the time of a kind divided by that of softmax attention."""
        shares = [np.array(x[way]) / np.array(x["softmax"]) for x in self.seconds]
        return np.percentile(shares, QUARTILES, axis=-1).T

    def crossing(self, way: str) -> int | None:
        """The shortest length from which on a kind's median time is less; None: there is none."""
        slower = np.flatnonzero(self.ratios(way)[:, 1] >= 1)
        first = slower[-1] + 1 if len(slower) else 0
        return self.lengths[first] if first < len(self.lengths) else None


@dataclass(frozen=True)
class Times:
    """All that was timed; processor seconds of a token and of a training step by architecture."""

    tokens: Seconds
    steps: Seconds
    attention: AttentionTimes


def load_times() -> Times:
    """Return the bundled times; ``ValueError`` for a file of another kind."""
    return load_record(Times, TIMES, "holds no times")
