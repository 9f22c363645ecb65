"""The shipped dictionaries of some language models, one file for each model, and their training."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch

from gating_core.lm.corpus import CORPUS, Verse, excerpt_texts, read_verses, texts_of
from gating_core.lm.model import LanguageModel
from gating_core.lm.processes import in_processes
from gating_core.lm.shipped import FOLDER, SEEDS, load_model
from gating_core.lm.steering.dictionary import (
    NESTED,
    PLAIN,
    Dictionary,
    DictionaryCard,
    DictionaryRecipe,
    FeatureStatistics,
    describe,
    language_gap,
    statistics,
    train_dictionary,
)
from gating_core.lm.steering.judge import write_words
from gating_core.lm.steering.streams import Streams, streams, trailing_means
from gating_core.records import load_record, save_record

STEERED = ("none", "g1_channel")  # models that have dictionaries
TRAINED_ON = 400  # verses in each language
KINDS = {  # by what it is trained on (`states_for`): how; a further kind is a row
    "means": DictionaryRecipe(NESTED),
    "characters": DictionaryRecipe(NESTED),
    "plain": DictionaryRecipe(PLAIN),
}
ONE_SEED = ("plain",)  # kinds that the first seed alone has


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


def train_dictionaries(
    model: LanguageModel, verses: Sequence[Verse], seed: int, kinds: Sequence[str]
) -> Dictionaries:
    """Train ``kinds`` of dictionaries on ``verses``, and measure them on the shipped ones."""
    began = time.process_time()
    learned = streams(model, texts_of(verses))
    trained = {}
    for kind in kinds:
        *_, (_, trained[kind]) = train_dictionary(
            states_for(kind, learned).states, KINDS[kind], seed
        )
    seconds = time.process_time() - began
    texts = excerpt_texts()
    held_out, spanish = streams(model, texts), are_spanish(texts)
    results = {}
    for kind, dictionary in trained.items():
        residual = states_for(kind, held_out)
        cards = [describe(dictionary.layer(k), x) for k, x in enumerate(residual.states)]
        results[kind] = Trained(dictionary, statistics(dictionary, residual, spanish), cards)
    return Dictionaries(
        results, language_gap(held_out, spanish), held_out.states.norm(dim=-1).mean(-1), seconds
    )


def dictionaries_path(name: str, seed: int, folder: Path = FOLDER) -> Path:
    """The file of the dictionaries of a model."""
    return folder / f"dictionary-{name}-{seed}.safetensors"


def save_dictionaries(dictionaries: Dictionaries, path: Path) -> None:
    """Write what `load_dictionaries` reads, in half precision."""
    kinds = {}
    for kind, trained in dictionaries.kinds.items():
        found = trained.statistics
        statistics = FeatureStatistics(
            *(x.astype(np.float16) for x in (found.fires, found.mean, found.auc)),
            *(x.astype(np.int16) for x in (found.texts, found.places)),
        )
        half = trained.dictionary.mapped(lambda tensor: tensor.half())
        kinds[kind] = replace(trained, dictionary=half, statistics=statistics)
    save_record(path, replace(dictionaries, kinds=kinds))


def load_dictionaries(name: str, seed: int, folder: Path = FOLDER) -> Dictionaries:
    """The shipped dictionaries of a model; ``ValueError`` where there is no such file."""
    path = dictionaries_path(name, seed, folder)
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


def shipped_dictionaries() -> list[tuple[str, int]]:
    """Name and seed of the models whose dictionaries there are."""
    return [
        (name, seed) for name in STEERED for seed in SEEDS if dictionaries_path(name, seed).exists()
    ]


def make_dictionaries() -> None:
    """Train what is missing, a process for each core, and write the words of the corpus."""
    verses = read_verses(CORPUS)
    write_words(verses)
    missing = [
        (name, seed)
        for seed in SEEDS
        for name in STEERED
        if not dictionaries_path(name, seed).exists()
    ]
    for name, seed in in_processes(_make, missing):
        logging.info("dictionaries of %s, seed %d", name, seed)


def _make(name: str, seed: int) -> tuple[str, int]:
    verses = [verse for verse in read_verses(CORPUS) if not verse.held_out]
    chosen = sorted(verses, key=lambda verse: verse.draw)[:TRAINED_ON]
    kinds = [kind for kind in KINDS if seed == 0 or kind not in ONE_SEED]
    dictionaries = train_dictionaries(load_model(name, seed)[0], chosen, seed, kinds)
    save_dictionaries(dictionaries, dictionaries_path(name, seed))
    return name, seed
