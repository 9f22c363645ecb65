"""The residual stream of a model: read over texts, steered along a direction, and decomposed.

Read character by character and as trailing means. Steering adds a direction to the stream after one
layer while a model writes (Turner et al., arXiv 2308.10248, activation addition; Chou et al.,
*Causal Language Control in Multilingual Transformers via Sparse Feature Steering*). Direct
attribution: the stream after a layer is a sum of embeddings and, for each layer up to it, the
outputs of its heads and of its MLP; its product with a direction is the same sum of products
(Elhage et al., *A Mathematical Framework for Transformer Circuits*, 2021).

Shapes: B texts, T characters, L layers, H heads, N characters of all texts, D width.

Sparse autoencoders write a state as the sum of a few directions of a dictionary.
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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import torch

from gating_core.characters import encode
from gating_core.checks import check_integer
from gating_core.lm.generate import draw_next
from gating_core.lm.losses import rows_of
from gating_core.lm.model import Hooks, KeyValueCache, LanguageModel
from gating_core.lm.shipped import FOLDER, load_model
from gating_core.randomness import generator
from gating_core.records import load_record

MEAN_OVER = 16  # characters
SKIPPED = 8  # characters at the beginning of a text, that hardly show the language
TEXTS_AT_ONCE = 64
RELEASED_AFTER = 16  # characters that are steered, of those that a model writes
# A line break would end the text, and the next text may be in either language.
FORBIDDEN = tuple(encode("").tolist())


@dataclass(frozen=True, eq=False)
class Streams:
    """Residual streams after each layer, with the text and the character of each."""

    states: torch.Tensor  # (L, N, D)
    texts: torch.Tensor  # (N,) int64: which text
    positions: torch.Tensor  # (N,) int64: which character of it; the line break before it is 0


@torch.no_grad()
def streams(model: LanguageModel, texts: Sequence[str], skipped: int = SKIPPED) -> Streams:
    """Read ``texts`` and return the stream after each character but the first ``skipped``."""
    states, owners, positions = [], [], []
    for start in range(0, len(texts), TEXTS_AT_ONCE):
        rows = rows_of(texts[start : start + TEXTS_AT_ONCE], model.config.context)
        _, records = model.record(rows.read)
        use = rows.counted.clone()
        use[:, :skipped] = False
        text, position = use.nonzero(as_tuple=True)
        states.append(torch.stack([record.stream[use] for record in records]))
        owners.append(text + start)
        positions.append(position)
    return Streams(torch.cat(states, 1), torch.cat(owners), torch.cat(positions))


def trailing_means(residual: Streams, over: int = MEAN_OVER) -> Streams:
    """The means of the stream over ``over`` characters of a text, each at the last of them."""
    sums = torch.nn.functional.pad(residual.states.double().cumsum(1), (0, 0, 1, 0))
    means = (sums[:, over:] - sums[:, :-over]) / over
    last = torch.arange(over - 1, len(residual.texts))
    within_text = residual.texts[last] == residual.texts[last - over + 1]
    last = last[within_text]
    return Streams(
        means[:, within_text].to(residual.states.dtype),
        residual.texts[last],
        residual.positions[last],
    )


@dataclass(frozen=True, eq=False)
class Steering:
    """A vector that is added to the stream after ``layer``, at every character that is read."""

    layer: int  # 0 is the first
    addition: torch.Tensor  # (D,) or (B, 1, D): direction times strength
    released_after: int | None = None  # characters written; None: it is held

    def hooks(self, written: int) -> Hooks | None:
        """Return the edit of the stream once ``written`` characters are written; or ``None``."""
        if self.released_after is not None and written >= self.released_after:
            return None
        if not self.addition.any():
            return None  # a sum with zero is not always the same bits
        return {"stream": lambda layer, x: x + self.addition if layer == self.layer else x}


def write_steered(
    model: LanguageModel,
    prompts: torch.Tensor,
    steering: Steering | None,
    seed: int,
    temperature: float = 0.7,
) -> Iterator[torch.Tensor]:
    """Write after ``prompts`` (B, T) int64 until the context is full; yield (B,) at a time.

    The same ``seed`` gives the same random numbers, steered or not. ``ValueError`` for one out of
    range.
    """
    check_integer("seed", seed, 0, 2**31 - 1)
    draw, cache, unread, written = generator(seed, "steering"), KeyValueCache(), prompts, 0
    while cache.length + unread.shape[-1] <= model.config.context:
        hooks = None if steering is None else steering.hooks(written)
        unread = draw_next(
            model, unread, cache, draw, temperature, hooks=hooks, forbidden=FORBIDDEN
        )
        written += 1
        yield unread[:, 0]


@dataclass(frozen=True, eq=False)
class Attribution:
    """The product of each part of the stream with a direction; the parts add up to ``total``."""

    embedding: torch.Tensor  # (B, T)
    heads: torch.Tensor  # (L, H, B, T)
    mlps: torch.Tensor  # (L, B, T)
    total: torch.Tensor  # (B, T): the stream's own product with the direction


@torch.no_grad()
def direct_attribution(
    model: LanguageModel, numbers: torch.Tensor, layer: int, direction: torch.Tensor
) -> Attribution:
    """Attribute the stream after ``layer`` (0 is the first), for characters ``numbers`` (B, T).

    Each part is computed by itself, none as the remainder. ``ValueError`` for a layer that does
    not exist, and for a ``direction`` of another shape than (D,).
    """
    if not 0 <= layer < model.config.depth:
        raise ValueError(f"layer is {layer}; the model has layers 0 to {model.config.depth - 1}")
    if direction.shape != (model.config.width,):
        raise ValueError(
            f"direction has shape {tuple(direction.shape)}; it must be ({model.config.width},)"
        )
    _, records = model.record(numbers)
    heads, mlps = [], []
    for block, record in zip(model.layers[: layer + 1], records, strict=False):
        # (D,) through the projection: the product per unit of each channel of each head.
        written = (direction @ block.attention.project.weight).unflatten(
            0, (model.config.heads, -1)
        )
        heads.append(torch.einsum("bhtc,hc->hbt", record.mixed, written))
        mlps.append(block.mlp(record.mlp_input) @ direction)
    return Attribution(
        embedding=model.embedded(numbers) @ direction,
        heads=torch.stack(heads),
        mlps=torch.stack(mlps),
        total=records[layer].stream @ direction,
    )


# --- Dictionaries ---------------------------------------------------------------------------------


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


# --- Bundled dictionaries -------------------------------------------------------------------------


STEERED = ("none", "g1_channel")  # models that have dictionaries
# See `states_for`; only the first seed has a plain one.
KINDS = ("means", "characters", "plain")
SIZE = 192  # M, features of a dictionary


@dataclass(frozen=True, eq=False)
class Trained:
    """One kind of dictionary of a model, all layers, with its measurements."""

    dictionary: Dictionary
    statistics: FeatureStatistics
    cards: list[DictionaryCard]  # of each layer


@dataclass(frozen=True, eq=False)
class Dictionaries:
    """The dictionaries of one model by kind, and statistics of the model's states."""

    kinds: dict[str, Trained]
    gap: torch.Tensor  # (L, D): the mean state of Spanish minus that of English
    length: torch.Tensor  # (L,): the mean length of a state
    seconds: float  # of processor time, for training


def are_spanish(texts: Sequence[str]) -> list[bool]:
    """Return True for the Spanish ones of ``texts`` in the order of `texts_of`: the second half."""
    return [row >= len(texts) // 2 for row in range(len(texts))]


def states_for(kind: str, residual: Streams) -> Streams:
    """The states that a ``kind`` of dictionary reads: at single characters, or trailing means."""
    return trailing_means(residual) if kind == "means" else residual


def load_dictionaries(name: str, seed: int) -> Dictionaries:
    """The shipped dictionaries of a model; ``ValueError`` where there is no such file."""
    path = FOLDER / f"dictionary-{name}-{seed}.safetensors"
    stored = load_record(Dictionaries, path, "holds no dictionaries")
    kinds = {
        kind: replace(trained, dictionary=trained.dictionary.mapped(lambda tensor: tensor.float()))
        for kind, trained in stored.kinds.items()
    }
    return replace(stored, kinds=kinds)


@lru_cache(maxsize=8)
def model_and_dictionaries(name: str, seed: int) -> tuple[LanguageModel, Dictionaries]:
    """A shipped model and its dictionaries, cached; ``ValueError`` where there are none."""
    return load_model(name, seed)[0], load_dictionaries(name, seed)
