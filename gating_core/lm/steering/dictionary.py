"""Sparse autoencoders: a state as the sum of a few directions of a dictionary.

A state x is centred and scaled, ``x' = (x - mean) / scale``; its features are the k largest of
``relu(E x' + b)``, all others are zero, and ``mean + scale * features @ directions`` reconstructs x
approximately. Directions have length one. A *Matryoshka* dictionary is trained so that its first 2,
16 or 64 features alone, too, reconstruct x as well as they can: the features that explain most come
first. A plain one is trained on the reconstruction from all features only. Those that are bundled
were trained by commit `1f4177a5`: 500 steps of Adam on 512 states of 400 verses in each language.

Sources: Makhzani and Frey, arXiv 1312.5663 (k-sparse autoencoders); Bussmann et al., arXiv
2503.17547 (Matryoshka). Shapes: any leading dimensions (the layers), N states of D channels, M
features.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch


@dataclass(frozen=True, eq=False)
class Dictionary:
    """A trained sparse autoencoder, or one for each layer."""

    encoder: torch.Tensor  # (..., M, D)
    bias: torch.Tensor  # (..., M)
    directions: torch.Tensor  # (..., M, D), of length one
    mean: torch.Tensor  # (..., D)
    scale: torch.Tensor  # (...,)
    active: int  # k

    def layer(self, layer: int) -> Dictionary:
        """The dictionary of one layer."""
        return self.mapped(lambda tensor: tensor[layer])

    def mapped(self, change: Callable[[torch.Tensor], torch.Tensor]) -> Dictionary:
        """Return the dictionary with each of its tensors changed."""
        return Dictionary(
            change(self.encoder),
            change(self.bias),
            change(self.directions),
            change(self.mean),
            change(self.scale),
            self.active,
        )

    def encode(self, states: torch.Tensor) -> torch.Tensor:
        """(..., N, M): the features of ``states`` (..., N, D), at most k of them above zero.

        ``ValueError`` for states of another width.
        """
        if states.shape[-1] != self.mean.shape[-1]:
            raise ValueError(
                f"states have {states.shape[-1]} channels; the dictionary has {self.mean.shape[-1]}"
            )
        centred = (states - self.mean[..., None, :]) / self.scale[..., None, None]
        values = (centred @ self.encoder.mT + self.bias[..., None, :]).relu()
        largest, indices = values.topk(self.active, -1)
        return torch.zeros_like(values).scatter(-1, indices, largest)

    def decode(self, features: torch.Tensor) -> torch.Tensor:
        """(..., N, D): the states that ``features`` (..., N, M) reconstruct."""
        sums = features @ self.directions
        return self.mean[..., None, :] + self.scale[..., None, None] * sums


@dataclass(frozen=True)
class DictionaryCard:
    """Quality of the dictionary of one layer, on states that it was not trained on."""

    explained: float  # the share of variance
    active: float  # features above zero, on average
    dead: int  # features that are never above zero


@dataclass(frozen=True, eq=False)
class FeatureStatistics:
    """Firing statistics of the features of each layer; languages in the order of `LANGUAGES`."""

    fires: np.ndarray  # (L, 2, M): the share of states of a language where a feature is above zero
    mean: np.ndarray  # (L, 2, M): its mean in a language
    auc: np.ndarray  # (L, M): area under the ROC curve, of telling Spanish from English by it
    texts: np.ndarray  # (L, M, S): the texts where it is strongest; -1: none
    places: np.ndarray  # (L, M, S): the characters of these texts; -1: none

    @property
    def difference(self) -> np.ndarray:
        """(L, M): the mean in Spanish minus that in English."""
        return self.mean[:, 1] - self.mean[:, 0]

    def language_feature(self, layer: int, spanish: bool) -> int:
        """The feature of ``layer`` whose mean is larger in one language by the most."""
        return int((self.difference[layer] * (1 if spanish else -1)).argmax())
