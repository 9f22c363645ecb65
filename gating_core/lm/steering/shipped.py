"""The bundled dictionaries of some language models, one file for each model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import torch

from gating_core.lm.model import LanguageModel
from gating_core.lm.shipped import FOLDER, load_model
from gating_core.lm.steering.dictionary import Dictionary, DictionaryCard, FeatureStatistics
from gating_core.lm.steering.streams import Streams, trailing_means
from gating_core.records import load_record

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
