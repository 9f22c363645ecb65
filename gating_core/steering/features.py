"""Statistics of a dictionary's features: how they fire in the two languages, and where.

Shapes: L layers, M features, N states, D width, S strongest passages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch

from gating_core.steering.dictionary import Dictionary
from gating_core.steering.streams import Streams

STRONGEST = 5  # passages of different texts


@dataclass(frozen=True, eq=False)
class FeatureStatistics:
    """How the features of each layer fire; languages in the order of `LANGUAGES`."""

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

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """Its arrays by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


@torch.no_grad()
def statistics(
    dictionary: Dictionary, residual: Streams, spanish: Sequence[bool]
) -> FeatureStatistics:
    """Measure a dictionary of L layers on the states of texts; ``spanish``: which texts are."""
    from sklearn.metrics import roc_auc_score  # here: slow to import

    language = torch.tensor(spanish)[residual.texts]
    rows = []
    for layer, states in enumerate(residual.states):
        features = dictionary.layer(layer).encode(states)
        parts = [features[~language], features[language]]
        texts, positions = strongest(features, residual)
        rows.append((
            torch.stack([(part > 0).float().mean(0) for part in parts]).numpy(),
            torch.stack([part.mean(0) for part in parts]).numpy(),
            np.array([roc_auc_score(language, column) for column in features.T.numpy()]),
            texts, positions,
        ))  # fmt: skip
    return FeatureStatistics(*(np.stack(part) for part in zip(*rows, strict=True)))


def strongest(features: torch.Tensor, residual: Streams) -> tuple[np.ndarray, np.ndarray]:
    """(M, S) texts, and positions in them, of the largest ``features`` (N, M), one a text."""
    count = int(residual.texts.max()) + 1
    index = residual.texts[:, None].expand_as(features)
    best = torch.zeros(count, features.shape[1]).scatter_reduce(0, index, features, "amax")
    values, texts = best.topk(min(STRONGEST, count), 0)
    positions = torch.stack([
        residual.positions[(residual.texts == text) & (features[:, feature] == value)][0]
        if value > 0 else torch.tensor(-1)
        for feature in range(features.shape[1])
        for text, value in zip(texts[:, feature], values[:, feature], strict=True)
    ])  # fmt: skip
    texts = torch.where(values > 0, texts, -1).T
    return texts.numpy(), positions.view(texts.shape).numpy()


def language_gap(residual: Streams, spanish: Sequence[bool]) -> torch.Tensor:
    """(L, D): the mean state of Spanish texts minus that of English ones."""
    language = torch.tensor(spanish)[residual.texts]
    return residual.states[:, language].mean(1) - residual.states[:, ~language].mean(1)
