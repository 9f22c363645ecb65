"""Colours of a classified surface."""

from __future__ import annotations

import numpy as np


def class_colours(logits: np.ndarray, discrete: bool = False) -> np.ndarray:
    """(..., R, C): the probability of the second of two classes; the likeliest of several."""
    if logits.shape[-1] > 2 or discrete:
        return logits.argmax(-1).astype(np.uint8)
    # Not SciPy's softmax: its import takes a tenth of a second of a first visit.
    return np.exp(logits[..., 1] - np.logaddexp(logits[..., 0], logits[..., 1]))
