"""Which linear classifier is the best one for each version of a model's surface?

The surface stays as it is; the read-out is fitted anew to every version by logistic regression: a
convex problem with one answer, so that nothing but the surface decides how well a plane can do.

Shapes: T versions, D model dimension, C classes.
"""

from __future__ import annotations

import numpy as np
import torch

from gating_core.attention.classifier import Classifier

SOFTNESS = 1e-4  # weight of the squares of the weights: one answer, too, where classes separate


def refitted(model: Classifier, points: np.ndarray, labels: np.ndarray) -> Classifier:
    """``model`` with the read-outs that fit ``labels`` (P,) at ``points`` (P, 2) best.

    Each member's representations of the points are centred and divided by their root mean square
    distance from the centre first, so that its size does not matter. Labels go from 0 to C - 1.
    """
    values = model.attention(torch.from_numpy(points)).numpy()
    found = [_read_out(surface, labels, model.bias.shape[-1]) for surface in values]
    weight, bias = (np.stack(parts) for parts in zip(*found, strict=True))
    out = Classifier(model.attention, model.bias.shape[-1]).requires_grad_(False)
    out.weight.data, out.bias.data = torch.from_numpy(weight), torch.from_numpy(bias)
    return out


def _read_out(
    values: np.ndarray, labels: np.ndarray, classes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Weights (D, C) and bias (C,) for representations (P, D)."""
    from sklearn.linear_model import LogisticRegression  # here: slow to import

    centre = values.mean(0)
    scale = max(float(np.sqrt(((values - centre) ** 2).sum(1).mean())), np.finfo(float).tiny)
    fit = LogisticRegression(C=1 / (SOFTNESS * len(labels)), max_iter=1000, tol=1e-8)
    fit.fit((values - centre) / scale, labels)
    slopes, offsets = fit.coef_.T / scale, fit.intercept_
    if classes == 2:  # the fit has one margin; the model one logit for each class
        slopes, offsets = np.concatenate([-slopes, slopes], 1) / 2, np.tile(offsets, 2) / 2
        offsets = offsets * [-1, 1]
    return slopes, offsets - centre @ slopes
