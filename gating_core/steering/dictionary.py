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
from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
import torch
from torch.nn import functional

from gating_core.checks import check_integer
from gating_core.randomness import generator

NESTED = (2, 16, 64, 192)
PLAIN = (192,)


@dataclass(frozen=True)
class DictionaryRecipe:
    """How a dictionary is trained: by Adam, with warm-up and a linear decay at the end."""

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
        return Dictionary(**{k: x[layer] for k, x in self.tensors.items()}, active=self.active)

    @property
    def tensors(self) -> dict[str, torch.Tensor]:
        """Its tensors by name."""
        return {field.name: value for field in fields(self)
                if isinstance(value := getattr(self, field.name), torch.Tensor)}  # fmt: skip

    def encode(self, states: torch.Tensor) -> torch.Tensor:
        """(..., N, M): the features of ``states`` (..., N, D), at most k of them above zero.

        ``ValueError`` for states of another width.
        """
        if states.shape[-1] != self.mean.shape[-1]:
            raise ValueError(
                f"states have {states.shape[-1]} channels; the dictionary has {self.mean.shape[-1]}"
            )
        centred = (states - self.mean[..., None, :]) / self.scale[..., None, None]
        return sparse(centred @ self.encoder.mT + self.bias[..., None, :], self.active)

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
    centred = (states - dictionary.mean[..., None, :]) / dictionary.scale[..., None, None]
    errors = []
    for start, stop in zip((0, *prefixes), prefixes, strict=False):
        part = features[..., start:stop] @ dictionary.directions[..., start:stop, :]
        centred = centred - part
        errors.append(centred.square().sum(-1).mean(-1))
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
    scale = (states - mean[..., None, :]).square().sum(-1).mean(-1).sqrt() / math.sqrt(
        states.shape[-1]
    )
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


def dictionary_of(tensors: dict[str, np.ndarray], active: int) -> Dictionary:
    """The dictionary with these tensors by name, in float32."""
    return Dictionary(**{k: torch.from_numpy(x).float() for k, x in tensors.items()}, active=active)
