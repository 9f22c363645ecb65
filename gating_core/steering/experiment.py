"""Does steering change the language? Measured for layers, directions and strengths, with controls.

Each prompt is the beginning of a shipped verse that the classifier has not seen. A model goes on
writing, steered towards the *other* language. Shapes: L layers, K kinds of direction, A strengths,
2 modes (held, released), 2 languages that are steered to, N prompts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch

from gating_core.language import LANGUAGES, LanguageModel, Verse, decode, encode, text_losses
from gating_core.randomness import generator
from gating_core.steering.judge import (
    names_and_numbers,
    other_verses,
    real_words,
    spanish_probabilities,
)
from gating_core.steering.shipped import Dictionaries
from gating_core.steering.steer import RELEASED_AFTER, Steering, write_steered

DIRECTIONS = ("feature", "means", "random direction", "random feature")
STRENGTHS = (1.0, 2.0, 3.0, 4.0, 6.0)  # in lengths of the difference of the languages' means
MODES = {"held": None, "released": RELEASED_AFTER}
PROMPT = 24  # characters
WRITTEN = 60  # characters
JUDGED_FROM = 20  # characters: what comes later is judged
PROMPTS = 40
KIND = "means"  # of dictionary, whose features steer
QUANTITIES = ("success", "nats", "words", "back")


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What became of texts, one number a text."""

    success: np.ndarray  # 1 where the classifier sees the language that was wanted
    nats: np.ndarray  # a character, read by itself and unsteered
    words: np.ndarray  # the share of words that are words of that language
    back: np.ndarray  # the share of the verse's names and numbers that come back; NaN: it has none


@cache
def prompt_verses() -> list[Verse]:
    """The verses whose beginnings are prompts."""
    long = [verse for verse in other_verses()
            if min(len(verse.english), len(verse.spanish)) > 2 * PROMPT]  # fmt: skip
    return long[:PROMPTS]


def prompts(language: int) -> torch.Tensor:
    """(N, PROMPT + 1): the beginnings of the verses in a language."""
    return torch.stack([encode(getattr(verse, LANGUAGES[language])[:PROMPT])
                        for verse in prompt_verses()])  # fmt: skip


def directions(dictionaries: Dictionaries, layer: int, target: int, count: int) -> torch.Tensor:
    """(K, N, D): unit vectors towards language ``target`` after ``layer``, for N prompts.

    Random ones are another for each prompt.
    """
    trained = dictionaries.kinds[KIND]
    chosen = trained.statistics.language_feature(layer, spanish=bool(target))
    rows = trained.dictionary.directions[layer]
    gap = dictionaries.gap[layer] * (1 if target else -1)
    draw = generator(layer, f"directions to {LANGUAGES[target]}")
    random = torch.randn(count, len(gap), generator=draw)
    alive = torch.from_numpy(trained.statistics.fires[layer].max(0) > 0)
    alive[chosen] = False
    others = alive.nonzero()[:, 0]
    some = others[torch.randint(len(others), (count,), generator=draw)]
    parts = [rows[chosen].expand(count, -1), gap.expand(count, -1), random, rows[some]]
    return torch.nn.functional.normalize(torch.stack(parts), dim=-1)


def judge(model: LanguageModel, written: torch.Tensor, target: int) -> Outcomes:
    """Judge rows of characters (B, T), those that were written after the N prompts, repeatedly."""
    texts = [decode(row[JUDGED_FROM:]) for row in written]
    wanted = LANGUAGES[target]
    spanish = spanish_probabilities(texts)
    sums, counts = text_losses(model, texts)
    verses = prompt_verses()
    return Outcomes(
        success=((spanish > 0.5) == bool(target)).astype(float),
        nats=(sums / counts).numpy(),
        words=np.array([real_words(text, wanted) for text in texts]),
        back=np.array([returned(decode(row), verses[place % len(verses)], wanted)
                       for place, row in enumerate(written)]),
    )  # fmt: skip


def returned(text: str, verse: Verse, language: str) -> float:
    """The share of a verse's names and numbers, after the prompt, that ``text`` holds; NaN: none.

    Names and numbers are those of the verse in the ``language`` that is written.
    """
    there = names_and_numbers(getattr(verse, language), language)
    return float(np.mean([one in text for one in there])) if there else float("nan")


@torch.no_grad()
def steered_outcomes(
    model: LanguageModel, dictionaries: Dictionaries, layer: int, mode: str, target: int
) -> Outcomes:
    """Outcomes of shape (K, A, N) for all directions and strengths at one layer."""
    start = prompts(1 - target)
    unit = directions(dictionaries, layer, target, len(start))
    steps = torch.tensor(STRENGTHS) * dictionaries.gap[layer].norm()
    additions = unit[:, None] * steps[:, None, None]  # (K, A, N, D)
    shape = additions.shape[:-1]
    rows = start.repeat(shape[0] * shape[1], 1)
    steering = Steering(layer, additions.flatten(0, 2)[:, None], MODES[mode])
    outcomes = judge(model, _write(model, rows, steering), target)
    return Outcomes(*(getattr(outcomes, name).reshape(shape) for name in QUANTITIES))


def plain_outcomes(model: LanguageModel, target: int, language: int) -> Outcomes:
    """Outcomes (N,) without steering, after prompts of ``language``, judged for ``target``."""
    return judge(model, _write(model, prompts(language), None), target)


def _write(model: LanguageModel, rows: torch.Tensor, steering: Steering | None) -> torch.Tensor:
    """(B, WRITTEN): what is written after ``rows``."""
    written = zip(range(WRITTEN), write_steered(model, rows, steering, seed=0), strict=False)
    return torch.stack([characters for _, characters in written], 1)


def run_experiment(
    model: LanguageModel, dictionaries: Dictionaries
) -> Iterator[tuple[float, dict[str, np.ndarray]]]:
    """Run everything; yield the share that is done, and the arrays so far.

    ``quantity`` (L, K, A, 2 modes, 2 targets, N), NaN where it is not done;
    ``unsteered.quantity`` and ``prompted.quantity`` (2 targets, N): after the same prompts, and
    after the same verses' beginnings in the language that is wanted.
    """
    count, depth = len(prompt_verses()), model.config.depth
    shape = (depth, len(DIRECTIONS), len(STRENGTHS), len(MODES), len(LANGUAGES), count)
    arrays = {name: np.full(shape, np.nan, np.float32) for name in QUANTITIES}
    for target in range(len(LANGUAGES)):
        for what, language in (("unsteered", 1 - target), ("prompted", target)):
            outcomes = plain_outcomes(model, target, language)
            for name in QUANTITIES:
                row = arrays.setdefault(
                    f"{what}.{name}", np.full((len(LANGUAGES), count), np.nan, np.float32)
                )
                row[target] = getattr(outcomes, name)
    cells = [(layer, mode, target) for layer in range(depth) for mode in range(len(MODES))
             for target in range(len(LANGUAGES))]  # fmt: skip
    for done, (layer, mode, target) in enumerate(cells, 1):
        outcomes = steered_outcomes(model, dictionaries, layer, list(MODES)[mode], target)
        for name in QUANTITIES:
            arrays[name][layer, :, :, mode, target] = getattr(outcomes, name)
        yield done / len(cells), arrays
