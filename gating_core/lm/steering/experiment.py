"""Steering that changes the language, by layer, direction and strength, with controls.

Each prompt is the beginning of a bundled verse that the classifier was not trained on. A model
continued it, steered towards the *other* language, by the language's feature, by the difference of
the languages' means, by a random direction, or by another feature. Outcomes are bundled for every
model that has dictionaries; commit `1f4177a5` has the code that measured them. The steering vector
was applied to all characters (mode "held") or to the first 16 ("released").

Shapes: L layers, K kinds of direction, A strengths, 2 modes, 2 target languages, N prompts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product

import numpy as np

from gating_core.lm.corpus import LANGUAGES, Verse
from gating_core.lm.shipped import FOLDER, SEEDS
from gating_core.lm.steering.judge import other_verses
from gating_core.lm.steering.shipped import STEERED
from gating_core.lm.steering.streams import RELEASED_AFTER
from gating_core.records import load_record

DIRECTIONS = ("feature", "means", "random direction", "random feature")
STRENGTHS = (1.0, 2.0, 3.0, 4.0, 6.0)  # in lengths of the difference of the languages' means
MODES = {"held": None, "released": RELEASED_AFTER}
PROMPT = 24  # characters
WRITTEN = 60  # characters
JUDGED_FROM = 20  # characters; the later ones are judged
PROMPTS = 40
# Of a text: 1 where the logistic regression takes it for the target language; 1 where naive Bayes
# does; its loss a character, read alone without steering; the share of its words that are words of
# the target language, NaN without words; the share of the verse's names and numbers that recur, NaN
# where it has none.
QUANTITIES = ("success", "success_bayes", "nats", "words", "back")
REFERENCES = ("unsteered", "prompted")  # prompts in the other, and in the target language
BEYOND = 0.025  # the share of unsteered texts that lie beyond their range, in loss and in words
MEASURED = FOLDER / "steering.safetensors"
Model = tuple[str, int]  # name and seed
Arrays = dict[str, np.ndarray]


@cache
def prompt_verses() -> list[Verse]:
    """The verses whose beginnings are prompts."""
    long = [
        verse
        for verse in other_verses()
        if min(len(verse.english), len(verse.spanish)) > 2 * PROMPT
    ]
    return long[:PROMPTS]


@dataclass(frozen=True)
class FluencyRange:
    """The range of texts that a model generates in one language without steering."""

    nats: float  # nats per character: all but `BEYOND` of the texts have at most this loss
    words: float  # all but `BEYOND` of them have at least this share of real words

    def contains(self, nats: np.ndarray, words: np.ndarray) -> np.ndarray:
        """Return for each text whether it lies within; one without a whole word does not."""
        return (nats <= self.nats) & (words >= self.words)


@lru_cache(maxsize=16)
def fluency_range(name: str, language: int) -> FluencyRange:
    """Return the range of the bundled unsteered texts of a gate's models in a language.

    Args:
        name: The gate, a name of the models that have outcomes.
        language: The index in `LANGUAGES`.
    """
    # A verse's beginning in the target language, without steering: an unsteered text in it.
    nats, words = (
        np.stack(
            [
                arrays[f"prompted.{quantity}"][language]
                for (gate, _), arrays in load_steering().items()
                if gate == name
            ]
        )
        for quantity in ("nats", "words")
    )
    return FluencyRange(float(np.quantile(nats, 1 - BEYOND)), float(np.nanquantile(words, BEYOND)))


def fluent_success(arrays: Mapping[str, np.ndarray], name: str) -> Arrays:
    """Return the outcomes ``fluent`` of a model with the gate ``name``, by names of arrays.

    1 where both classifiers take a text for the target language and it lies within the
    `FluencyRange` of that language, else 0.
    """
    results = {}
    for start in ("", *(f"{what}." for what in REFERENCES)):
        success, bayes, nats, words = (
            np.moveaxis(arrays[start + quantity], -2, 0)
            for quantity in ("success", "success_bayes", "nats", "words")
        )  # (2 targets, ..., N)
        within = [
            fluency_range(name, language).contains(nats[language], words[language])
            for language in range(len(LANGUAGES))
        ]
        fluent = success * bayes * np.stack(within)
        results[f"{start}fluent"] = np.moveaxis(fluent, 0, -2)
    return results


def load_steering() -> dict[Model, Arrays]:
    """The outcomes of each model, by name of the array.

    For each of `QUANTITIES`, ``quantity`` (L, K, A, 2 modes, 2 targets, N), and
    ``unsteered.quantity`` and ``prompted.quantity`` (2 targets, N): without steering, after the
    same prompts, and after the same verses' beginnings in the target language.
    """
    stored = load_record(dict[str, Arrays], MEASURED, "holds no outcomes of steering")
    return {
        model: {key: array.astype(np.float32) for key, array in arrays.items()}
        for model in product(STEERED, SEEDS)
        if (arrays := stored.get("{}-{}".format(*model)))
    }
