"""Sparse autoencoders: a state as the sum of a few directions of a dictionary.

A state x is centred and scaled, ``x' = (x - mean) / scale``; its features are the k largest of
``relu(E x' + b)``, all others are zero, and ``mean + scale * features @ directions`` reconstructs x
approximately. Directions have length one. A *Matryoshka* dictionary is trained so that its first 2,
16 or 64 features alone, too, reconstruct x as well as they can: the features that explain most come
first. A plain one is trained on the reconstruction from all features only.

Sources: Makhzani and Frey, arXiv 1312.5663 (k-sparse autoencoders); Bussmann et al., arXiv
2503.17547 (Matryoshka). Shapes: any leading dimensions (the layers, trained side by side), N states
of D channels, M features.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional

from gating_core.checks import check_integer
from gating_core.lm.steering.streams import Streams
from gating_core.randomness import generator

NESTED = (2, 16, 64, 192)
PLAIN = (192,)
STRONGEST = 5  # top-activating examples, of different texts


@dataclass(frozen=True)
class DictionaryRecipe:
    """A dictionary's training configuration: Adam, with warm-up and a linear decay at the end."""

    prefixes: tuple[int, ...] = NESTED  # each reconstructs by itself; the last is M
    active: int = 8  # k
    steps: int = 500
    batch: int = 512
    learning_rate: float = 2e-3
    warmup: int = 50  # steps
    cool: float = 0.3  # the share of steps in which the rate decays to zero

    def __post_init__(self) -> None:
        for size in self.prefixes:
            check_integer("prefixes", size, 1, 65536)
        if not self.prefixes or list(self.prefixes) != sorted(set(self.prefixes)):
            raise ValueError(f"prefixes is {self.prefixes}; it must be numbers that grow")
        check_integer("active", self.active, 1, self.prefixes[-1])
        check_integer("steps", self.steps, 1, 10**6)

    def rate(self, step: int) -> float:
        """The learning rate of step ``step``, the first being 0."""
        end = (self.steps - step) / (self.steps * self.cool)
        return self.learning_rate * min(1.0, (step + 1) / self.warmup, end)


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
        logits = self.centred(states) @ self.encoder.mT + self.bias[..., None, :]
        return sparse(logits, self.active)

    def centred(self, states: torch.Tensor) -> torch.Tensor:
        """(..., N, D): ``states`` (..., N, D) minus the mean, in units of the scale."""
        return (states - self.mean[..., None, :]) / self.scale[..., None, None]

    def decode(self, features: torch.Tensor) -> torch.Tensor:
        """(..., N, D): the states that ``features`` (..., N, M) reconstruct."""
        sums = features @ self.directions
        return self.mean[..., None, :] + self.scale[..., None, None] * sums


def sparse(values: torch.Tensor, active: int) -> torch.Tensor:
    """(..., M): the ``active`` largest of ``values`` where they are above zero; zero elsewhere."""
    largest, indices = values.relu().topk(active, -1)
    return torch.zeros_like(values).scatter(-1, indices, largest)


def prefix_errors(
    dictionary: Dictionary, states: torch.Tensor, prefixes: tuple[int, ...]
) -> torch.Tensor:
    """(P, ...): mean squared errors of ``states`` (..., N, D) reconstructed from each prefix.

    ``prefixes`` are P numbers of first features. Errors are per state, in units of the scale's
    square.
    """
    features = dictionary.encode(states)
    rest, errors = dictionary.centred(states), []
    for start, stop in zip((0, *prefixes), prefixes, strict=False):
        part = features[..., start:stop] @ dictionary.directions[..., start:stop, :]
        rest = rest - part
        errors.append(rest.square().sum(-1).mean(-1))
    return torch.stack(errors)


def train_dictionary(
    states: torch.Tensor, recipe: DictionaryRecipe, seed: int
) -> Iterator[tuple[int, Dictionary]]:
    """Train on ``states`` (..., N, D), and yield each step's number and the dictionary after it.

    The dictionary is one object, whose tensors each step changes. Layers are trained independently.
    The result depends on the arguments alone. ``ValueError`` for states that are not finite or all
    the same.
    """
    states = states.float()
    if not states.isfinite().all():
        raise ValueError("states are not finite")
    mean = states.mean(-2)
    length = (states - mean[..., None, :]).square().sum(-1).mean(-1).sqrt()
    scale = length / math.sqrt(states.shape[-1])
    if not (scale > 0).all():
        raise ValueError("states are all the same")
    draw, size = generator(seed, "dictionary"), recipe.prefixes[-1]
    start = torch.randn((*states.shape[:-2], size, states.shape[-1]), generator=draw)
    start = functional.normalize(start, dim=-1)
    encoder, directions = start.clone().requires_grad_(), start.clone().requires_grad_()
    bias = torch.zeros(start.shape[:-1], requires_grad=True)
    dictionary = Dictionary(encoder, bias, directions, mean, scale, recipe.active)
    trained = Dictionary(
        encoder.detach(), bias.detach(), directions.detach(), mean, scale, recipe.active
    )
    optimiser = torch.optim.Adam([encoder, bias, directions], fused=True)
    for step in range(recipe.steps):
        for group in optimiser.param_groups:
            group["lr"] = recipe.rate(step)
        chosen = torch.randint(states.shape[-2], (recipe.batch,), generator=draw)
        errors = prefix_errors(dictionary, states[..., chosen, :], recipe.prefixes)
        optimiser.zero_grad()
        errors.sum().backward()
        optimiser.step()
        with torch.no_grad():
            directions.copy_(functional.normalize(directions, dim=-1))
        yield step + 1, trained


@dataclass(frozen=True)
class DictionaryCard:
    """Quality of the dictionary of one layer, on states that it was not trained on."""

    explained: float  # the share of variance
    active: float  # features above zero, on average
    dead: int  # features that are never above zero


@torch.no_grad()
def describe(dictionary: Dictionary, states: torch.Tensor) -> DictionaryCard:
    """Measure the dictionary of one layer on ``states`` (N, D)."""
    features = dictionary.encode(states)
    residual = (dictionary.decode(features) - states).square().sum()
    total = (states - states.mean(0)).square().sum()
    fires = features > 0
    return DictionaryCard(
        float(1 - residual / total), float(fires.sum(-1).float().mean()), int((~fires.any(0)).sum())
    )


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
        rows.append(
            (
                torch.stack([(part > 0).float().mean(0) for part in parts]).numpy(),
                torch.stack([part.mean(0) for part in parts]).numpy(),
                np.array([roc_auc_score(language, column) for column in features.T.numpy()]),
                texts,
                positions,
            )
        )
    return FeatureStatistics(*(np.stack(part) for part in zip(*rows, strict=True)))


def strongest(features: torch.Tensor, residual: Streams) -> tuple[np.ndarray, np.ndarray]:
    """(M, S) texts, and positions in them, of the largest ``features`` (N, M), one a text."""
    count = int(residual.texts.max()) + 1
    index = residual.texts[:, None].expand_as(features)
    best = torch.zeros(count, features.shape[1]).scatter_reduce(0, index, features, "amax")
    values, texts = best.topk(min(STRONGEST, count), 0)
    positions = torch.stack(
        [
            residual.positions[(residual.texts == text) & (features[:, feature] == value)][0]
            if value > 0
            else torch.tensor(-1)
            for feature in range(features.shape[1])
            for text, value in zip(texts[:, feature], values[:, feature], strict=True)
        ]
    )
    texts = torch.where(values > 0, texts, -1).T
    return texts.numpy(), positions.view(texts.shape).numpy()


def language_gap(residual: Streams, spanish: Sequence[bool]) -> torch.Tensor:
    """(L, D): the mean state of Spanish texts minus that of English ones."""
    language = torch.tensor(spanish)[residual.texts]
    return residual.states[:, language].mean(1) - residual.states[:, ~language].mean(1)
