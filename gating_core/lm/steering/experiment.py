"""Measure whether steering changes the language, by layer, direction and strength, with controls.

Each prompt is the beginning of a shipped verse that the classifier was not trained on. A model
continues it, steered towards the *other* language. Outcomes are shipped for every model that has
dictionaries, or measured on request. The steering vector is applied to all characters (mode "held")
or to the first 16 ("released").

Shapes: L layers, K kinds of direction, A strengths, 2 modes, 2 target languages, N prompts.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product
from pathlib import Path

import numpy as np
import torch

from gating_core.characters import decode, encode
from gating_core.checks import check_integer
from gating_core.lm.corpus import LANGUAGES, Verse
from gating_core.lm.losses import text_losses
from gating_core.lm.model import LanguageModel
from gating_core.lm.processes import in_processes
from gating_core.lm.shipped import FOLDER, SEEDS
from gating_core.lm.steering.judge import (
    WORD,
    bayes_probabilities,
    names_and_numbers,
    other_verses,
    real_words,
    spanish_probabilities,
)
from gating_core.lm.steering.shipped import (
    STEERED,
    Dictionaries,
    model_and_dictionaries,
    shipped_dictionaries,
)
from gating_core.lm.steering.streams import RELEASED_AFTER, Steering, write_steered
from gating_core.progress import Progress, silent
from gating_core.randomness import generator
from gating_core.records import load_record, save_record

DIRECTIONS = ("feature", "means", "random direction", "random feature")
STRENGTHS = (1.0, 2.0, 3.0, 4.0, 6.0)  # in lengths of the difference of the languages' means
MODES = {"held": None, "released": RELEASED_AFTER}
PROMPT = 24  # characters
WRITTEN = 60  # characters
JUDGED_FROM = 20  # characters; the later ones are judged
PROMPTS = 40
KIND = "means"  # the kind of dictionary whose features steer
QUANTITIES = ("success", "success_bayes", "nats", "words", "back")
REFERENCES = ("unsteered", "prompted")  # prompts in the other, and in the target language
DRAWS_APART = 1000  # of the seeds of random directions: more than there are layers
BEYOND = 0.025  # the share of unsteered texts that lie beyond their range, in loss and in words
MEASURED = FOLDER / "steering.safetensors"
Model = tuple[str, int]  # name and seed
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The judgement of texts that were written, one number a text."""

    success: np.ndarray  # 1 where the logistic regression takes it for the target language, else 0
    success_bayes: np.ndarray  # 1 where naive Bayes does, else 0
    nats: np.ndarray  # loss a character, of the text alone read without steering
    words: np.ndarray  # the share of words that are words of the target language; NaN: no words
    back: np.ndarray  # the share of the verse's names and numbers that recur; NaN: it has none


@cache
def prompt_verses() -> list[Verse]:
    """The verses whose beginnings are prompts."""
    long = [
        verse
        for verse in other_verses()
        if min(len(verse.english), len(verse.spanish)) > 2 * PROMPT
    ]
    return long[:PROMPTS]


def prompts(language: int) -> torch.Tensor:
    """(N, PROMPT + 1): the beginnings of the verses in a language."""
    return torch.stack(
        [encode(getattr(verse, LANGUAGES[language])[:PROMPT]) for verse in prompt_verses()]
    )


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
    """Return the outcomes ``fluent`` of a model with the gate ``name``, named as in `assembled`.

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


@dataclass(frozen=True)
class Part:
    """A part of the experiment that is measured in one piece."""

    what: str  # one of MODES, or of REFERENCES
    target: int  # the language steered to, of LANGUAGES
    layer: int = 0  # the layer that is steered


def parts_of(depth: int) -> tuple[Part, ...]:
    """All parts of the experiment on a model of ``depth`` layers; the quick ones come last."""
    pushed = (
        Part(mode, target, layer)
        for layer in range(depth)
        for mode in MODES
        for target in range(len(LANGUAGES))
    )
    plain = (Part(what, target) for what in REFERENCES for target in range(len(LANGUAGES)))
    return *pushed, *plain


def directions(
    dictionaries: Dictionaries, layer: int, target: int, count: int, seed: int = 0
) -> torch.Tensor:
    """(K, N, D): unit vectors towards language ``target`` after ``layer``, for N prompts.

    The K kinds are `DIRECTIONS`. Random ones differ by prompt, and are drawn from ``seed``.
    """
    trained = dictionaries.kinds[KIND]
    chosen = trained.statistics.language_feature(layer, spanish=bool(target))
    rows = trained.dictionary.directions[layer]
    gap = dictionaries.gap[layer] * (1 if target else -1)
    draw = generator(DRAWS_APART * seed + layer, f"directions to {LANGUAGES[target]}")
    random = torch.randn(count, len(gap), generator=draw)
    alive = torch.from_numpy(trained.statistics.fires[layer].max(0) > 0)
    alive[chosen] = False
    other_features = alive.nonzero()[:, 0]
    drawn = other_features[torch.randint(len(other_features), (count,), generator=draw)]
    parts = [rows[chosen].expand(count, -1), gap.expand(count, -1), random, rows[drawn]]
    return torch.nn.functional.normalize(torch.stack(parts), dim=-1)


def judge(
    model: LanguageModel, written: torch.Tensor, target: int, progress: Progress = silent
) -> Outcomes:
    """Judge rows of ``written`` characters (B, T): texts after the N prompts, B / N times over."""
    verses, language = prompt_verses(), LANGUAGES[target]
    results = []
    for rows in written.split(len(verses)):
        texts = [decode(row[JUDGED_FROM:]) for row in rows]
        sums, counts = text_losses(model, texts)
        results.append(
            (
                (spanish_probabilities(texts) > 0.5) == bool(target),
                (bayes_probabilities(texts) > 0.5) == bool(target),
                sums / counts,
                [real_words(text, language) for text in texts],
                [
                    returned(decode(row), verse, language)
                    for row, verse in zip(rows, verses, strict=True)
                ],
            )
        )
        progress(None)
    return Outcomes(
        *(np.concatenate(column).astype(float) for column in zip(*results, strict=True))
    )


def returned(text: str, verse: Verse, language: str) -> float:
    """The share of a verse's names and numbers that are words of ``text``; NaN: it has none.

    Names and numbers are those of the whole verse in ``language``.
    """
    expected = names_and_numbers(getattr(verse, language), language)
    words = {*WORD.findall(text), *WORD.findall(text.lower())}
    return len(expected & words) / len(expected) if expected else float("nan")


@torch.no_grad()
def measure_part(
    model: LanguageModel,
    dictionaries: Dictionaries,
    part: Part,
    seed: int = 0,
    progress: Progress = silent,
) -> Outcomes:
    """Measure outcomes (K, A, N) for all directions and strengths; of a reference (N,).

    Texts and random directions are drawn from ``seed``; ``progress`` is called with ``None`` after
    every character.
    """
    start = prompts(part.target if part.what == "prompted" else 1 - part.target)
    steering, shape = None, start.shape[:1]
    if part.what not in REFERENCES:
        unit = directions(dictionaries, part.layer, part.target, len(start), seed)
        steps = torch.tensor(STRENGTHS) * dictionaries.gap[part.layer].norm()
        additions = unit[:, None] * steps[:, None, None]  # (K, A, N, D)
        shape = additions.shape[:-1]
        steering = Steering(part.layer, additions.flatten(0, 2)[:, None], MODES[part.what])
    rows, written = start.repeat(shape[:-1].numel(), 1), []
    for _, characters in zip(
        range(WRITTEN), write_steered(model, rows, steering, seed), strict=False
    ):
        written.append(characters)
        progress(None)
    outcomes = judge(model, torch.stack(written, 1), part.target, progress)
    return Outcomes(*(getattr(outcomes, name).reshape(shape) for name in QUANTITIES))


def assembled(
    depth: int, parts: Sequence[Part], outcomes: Sequence[Outcomes]
) -> dict[str, np.ndarray]:
    """Arrays of all outcomes of a model of ``depth`` layers, NaN where parts are missing.

    For each of `QUANTITIES`, ``quantity`` (L, K, A, 2 modes, 2 targets, N), and
    ``unsteered.quantity`` and ``prompted.quantity`` (2 targets, N): without steering, after the
    same prompts, and after the same verses' beginnings in the target language.
    """
    count = len(prompt_verses())
    cells = (depth, len(DIRECTIONS), len(STRENGTHS), len(MODES), len(LANGUAGES), count)
    shapes = {"": cells} | {f"{what}.": (len(LANGUAGES), count) for what in REFERENCES}
    arrays = {
        start + name: np.full(shape, np.nan, np.float32)
        for start, shape in shapes.items()
        for name in QUANTITIES
    }
    for part, result in zip(parts, outcomes, strict=False):
        for name in QUANTITIES:
            if part.what in REFERENCES:
                arrays[f"{part.what}.{name}"][part.target] = getattr(result, name)
            else:
                mode = list(MODES).index(part.what)
                arrays[name][part.layer, :, :, mode, part.target] = getattr(result, name)
    return arrays


@dataclass(frozen=True)
class GridRequest:
    """The whole experiment on one shipped model."""

    name: str = "none"  # of the model
    model_seed: int = 0
    draw: int = 0  # the seed of the texts and of random directions; 0 gives the shipped outcomes

    def __post_init__(self) -> None:
        check_integer("draw", self.draw, 0, 10**6)


def measure_parts(
    parts: Sequence[Part], request: GridRequest, progress: Progress = silent
) -> Iterator[Outcomes]:
    """Yield the outcomes of each of ``parts`` of an experiment."""
    for part in parts:
        model, dictionaries = model_and_dictionaries(request.name, request.model_seed)
        yield measure_part(model, dictionaries, part, request.draw, progress)


def measure_steering() -> None:
    """Run the experiment for every model without outcomes; write the file after each model."""
    measured = load_steering() if MEASURED.exists() else {}
    missing = [model for model in shipped_dictionaries() if model not in measured]
    for model, arrays in in_processes(measure_model, missing):
        measured[model] = arrays
        save_steering(measured)
        logging.info("steering of %s, seed %d", *model)


def measure_model(name: str, model_seed: int) -> tuple[Model, Arrays]:
    """Run the whole experiment on one shipped model; for the arrays see `assembled`."""
    request = GridRequest(name, model_seed)
    depth = model_and_dictionaries(name, model_seed)[0].config.depth
    parts = parts_of(depth)
    return (name, model_seed), assembled(depth, parts, [*measure_parts(parts, request)])


def save_steering(measured: Mapping[Model, Arrays], path: Path = MEASURED) -> None:
    """Write what `load_steering` reads, in half precision, in the order of the table."""
    record = {
        "{}-{}".format(*model): {key: x.astype(np.float16) for key, x in measured[model].items()}
        for model in product(STEERED, SEEDS)
        if model in measured
    }
    save_record(path, record)


def load_steering(path: Path = MEASURED) -> dict[Model, Arrays]:
    """The outcomes of each model, by name of the array; ``ValueError`` for another file."""
    stored = load_record(dict[str, dict[str, np.ndarray]], path, "holds no outcomes of steering")
    return {
        model: {key: array.astype(np.float32) for key, array in arrays.items()}
        for model in product(STEERED, SEEDS)
        if (arrays := stored.get("{}-{}".format(*model)))
    }
