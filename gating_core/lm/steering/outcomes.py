"""Steering that changes the language, by layer, direction and strength, with controls.

Each prompt is the beginning of a bundled verse that the classifier was not trained on. A model
continued it, steered towards the *other* language, by the language's feature, by the difference of
the languages' means, by a random direction, or by another feature. Outcomes are bundled for every
model that has dictionaries; commit `1f4177a5` has the code that measured them. The steering vector
was applied to all characters (mode "held") or to the first 16 ("released").

Shapes: L layers, K kinds of direction, A strengths, 2 modes, 2 target languages, N prompts.

Two classifiers of character n-grams are trained on some of the shipped held-out verses and tested
on the others: a logistic regression (scikit-learn), and an independent one, a multinomial naive
Bayes. Texts unlike both languages are beyond what either has learned, and there they part. Real
words are those that occur three times at least in the verses that models were trained on.

Intervals are 95 %: those over prompts (bootstrap) and over seeds (Student's t) add in quadrature.
Those of shares are then as `share_interval` bounds them.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from gating_core.assets import read_asset
from gating_core.lm.corpus import LANGUAGES, Verse, read_excerpt
from gating_core.lm.resampling import (
    PairedDifference,
    ends,
    loss_difference,
    text_draws,
)
from gating_core.lm.shipped import FOLDER, SEEDS
from gating_core.lm.steering.streams import RELEASED_AFTER, STEERED
from gating_core.records import load_record
from gating_core.training import mean_interval

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

# --- Judges ---------------------------------------------------------------------------------------


WORDS = FOLDER / "words.tsv"
LEAST_LETTERS = 2  # of a word that counts: one letter is no evidence of a language
WINDOW = 32  # characters that the classifiers see
BAYES_LENGTHS = (1, 2, 3)  # of the n-grams of the second classifier
STRIDE = 8
FOR_CLASSIFIER = 120  # shipped verses; the others test the classifiers and are prompts
WORD = re.compile(r"[^\W\d_]+")


@cache
def classifier_verses() -> list[Verse]:
    """The shipped verses that the classifiers are trained on."""
    return read_excerpt()[:FOR_CLASSIFIER]


@cache
def other_verses() -> list[Verse]:
    """The shipped verses that the classifiers are not trained on."""
    return read_excerpt()[FOR_CLASSIFIER:]


def windows(verses: Sequence[Verse]) -> tuple[list[str], np.ndarray]:
    """N stretches of `WINDOW` characters of verses, and (N,) 1 for each that is Spanish, else 0."""
    texts, spanish = [], []
    for number, language in enumerate(LANGUAGES):
        for verse in verses:
            text = getattr(verse, language)
            for start in range(0, max(1, len(text) - WINDOW), STRIDE):
                texts.append(text[start : start + WINDOW])
                spanish.append(number)
    return texts, np.array(spanish)


@cache
def classifier() -> Pipeline:
    """The classifier: tf-idf of one to four characters, and a logistic regression."""
    # Imported here: scikit-learn takes a second or more, and pages show shipped results without it.
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    texts, spanish = windows(classifier_verses())
    made = make_pipeline(
        TfidfVectorizer(analyzer="char", ngram_range=(1, 4), sublinear_tf=True, min_df=2),
        LogisticRegression(C=10.0, max_iter=300),
    )
    return made.fit(texts, spanish)


def spanish_probabilities(texts: Sequence[str]) -> np.ndarray:
    """(N,): the probability that each of ``texts`` is Spanish, from its last `WINDOW` letters."""
    if not texts:
        return np.zeros(0)
    return classifier().predict_proba([text[-WINDOW:] for text in texts])[:, 1]


def ngrams(text: str) -> Iterator[str]:
    """Yield all n-grams of ``text`` in lower case, for n in `BAYES_LENGTHS`."""
    text = text.lower()
    for length in BAYES_LENGTHS:
        yield from (text[start : start + length] for start in range(len(text) - length + 1))


@cache
def bayes_weights() -> dict[str, float]:
    """The log-likelihood ratio, Spanish to English, of each n-gram of the classifiers' verses.

    Relative frequencies with add-one (Laplace) smoothing. Both languages have as many verses, so
    the prior odds are even.
    """
    english, spanish = (
        Counter(gram for verse in classifier_verses() for gram in ngrams(getattr(verse, language)))
        for language in LANGUAGES
    )
    known = english.keys() | spanish.keys()
    offset = math.log((english.total() + len(known)) / (spanish.total() + len(known)))
    return {gram: math.log((spanish[gram] + 1) / (english[gram] + 1)) + offset for gram in known}


def bayes_probabilities(texts: Sequence[str]) -> np.ndarray:
    """Return (N,) probabilities of Spanish by naive Bayes, from the last `WINDOW` letters.

    N-grams that occur in no verse of `classifier_verses` are left out. Naive Bayes takes n-grams
    for independent, so its probabilities lie near 0 and 1: only their side of 0.5 means something.
    """
    weights = bayes_weights()
    odds = [sum(weights.get(gram, 0.0) for gram in ngrams(text[-WINDOW:])) for text in texts]
    return np.array([1 / (1 + math.exp(-min(max(odd, -500.0), 500.0))) for odd in odds])


@cache
def vocabulary() -> dict[str, Counter[str]]:
    """Return the counts of the words of the verses that models were trained on, by language."""
    lines = io.StringIO(read_asset(WORDS).decode(), newline="")
    rows = [*csv.reader(lines, delimiter="\t")]
    return {
        language: Counter({row[0]: int(row[column]) for row in rows if int(row[column])})
        for column, language in enumerate(LANGUAGES, 1)
    }


def real_words(text: str, language: str) -> float:
    """The share of the words of ``text`` that are words of ``language``; NaN without words.

    The first and the last word may be cut off, and are left out; so are words of one letter, which
    are no evidence of a language (letters that a model repeats are words of Spanish, too).
    """
    words = [word for word in WORD.findall(text.lower())[1:-1] if len(word) >= LEAST_LETTERS]
    real = vocabulary()[language]
    return float(np.mean([word in real for word in words])) if words else float("nan")


# --- The experiment -------------------------------------------------------------------------------


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


# --- Means and intervals --------------------------------------------------------------------------


FEATURE = DIRECTIONS.index("feature")
# And the shares that follow: "fluent", see `fluent_success`; "wordless": texts without a whole
# word, which have no share of real words.
SUMMARISED = (*QUANTITIES, "fluent", "wordless")
NORMAL = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True, eq=False)
class Outcome:
    """Means of outcomes, with their intervals over prompts and seeds."""

    texts: int  # of each cell
    means: dict[str, np.ndarray]  # by quantity (L, K, A)
    intervals: dict[str, np.ndarray]  # (2, L, K, A): the ends
    references: dict[str, dict[str, float]]  # means by name and quantity


def means_of(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the means (C,) of values (S, C, languages, N), and the half widths of their intervals.

    With one seed the interval is over prompts alone. NaN are left out; the mean of a cell of NaN
    alone is NaN.
    """
    counted = np.isfinite(values)
    sums = np.where(counted, values, 0.0).sum(-2, dtype=float)  # (S, C, N)
    counts = counted.sum(-2)
    draws = text_draws(values.shape[-1])
    with np.errstate(invalid="ignore"):  # 0 / 0
        by_seed = sums.sum(-1) / counts.sum(-1)
        means = sums.sum((0, -1)) / counts.sum((0, -1))
        resampled = draws @ sums.sum(0).T / (draws @ counts.sum(0).T)
    some = np.isfinite(means)
    half_widths = np.full(len(means), np.nan)
    if some.any():
        low, high = ends(resampled[:, some])
        finite = [cell[np.isfinite(cell)] for cell in by_seed.T[some]]
        seeds = [mean_interval(cell).half_width if len(cell) > 1 else 0.0 for cell in finite]
        half_widths[some] = np.hypot(seeds, (high - low) / 2)
    return means, half_widths


def share_interval(shares: np.ndarray, half_widths: np.ndarray, texts: int) -> np.ndarray:
    """Return the ends (2, C) of intervals of ``shares`` (C,), which lie within 0 and 1.

    Wilson's score interval [1] of as many independent texts as have that half width by the normal
    approximation [2]. Where all texts agree, which leaves no half width, of as many ``texts``.

    References:
        1. Wilson, Journal of the American Statistical Association 22 (1927), 209.
        2. Dean and Pagano, Journal of Survey Statistics and Methodology 3 (2015), 484.
    """
    variance = shares * (1 - shares)
    agree = variance == 0
    ratio = np.where(agree, NORMAL**2 / texts, half_widths**2 / np.where(agree, 1.0, variance))
    half = np.hypot(np.where(agree, 0.0, half_widths), ratio / 2)
    return (shares + ratio / 2 + np.multiply.outer([-1.0, 1.0], half)) / (1 + ratio)


def summarise(tables: Sequence[Arrays], gate: str, mode: str, languages: slice) -> Outcome:
    """Return the means of the outcomes of models with a ``gate``, one of ``tables`` for each seed.

    Args:
        tables: Outcomes as in `load_steering`.
        gate: Name of the models.
        mode: One of `MODES`.
        languages: The target languages, of `corpus.LANGUAGES`.
    """
    row, whole = [*MODES].index(mode), []
    for arrays in tables:
        wordless = {
            key.replace("words", "wordless"): np.isnan(values).astype(float)
            for key, values in arrays.items()
            if key.endswith("words")
        }
        whole.append({**arrays, **fluent_success(arrays, gate), **wordless})
    means, intervals = {}, {}
    for name in SUMMARISED:
        values = np.stack([table[name][:, :, :, row, languages] for table in whole])
        mean, half = means_of(values.reshape(len(values), -1, *values.shape[-2:]))
        both = np.stack([mean - half, mean + half])
        if name != "nats":
            both = share_interval(mean, half, values.shape[-1])
        means[name] = mean.reshape(values.shape[1:4])
        intervals[name] = both.reshape(2, *values.shape[1:4])
    references = {
        what: {
            name: float(
                means_of(np.stack([table[f"{what}.{name}"][None, languages] for table in whole]))[
                    0
                ][0]
            )
            for name in SUMMARISED
        }
        for what in REFERENCES
    }
    return Outcome(values[:, 0, 0, 0].size, means, intervals, references)


def gate_difference(languages: slice, mode: str) -> list[PairedDifference]:
    """Return by layer how much more often the feature succeeds with a gate than without.

    Means over all strengths, bundled models, paired by seed.
    """
    outcomes = load_steering()
    plain, gated = (
        np.stack(
            [_success(outcomes[name, seed], languages, mode).mean((1, 2)) for seed in SEEDS], 1
        )
        for name in STEERED
    )  # (L, S, N)
    return [
        loss_difference(*both, np.ones(plain.shape[-1])) for both in zip(gated, plain, strict=True)
    ]


def _success(arrays: Arrays, languages: slice, mode: str = "released") -> np.ndarray:
    """Success (L, A, languages, N) of the feature."""
    return arrays["success"][:, FEATURE, :, [*MODES].index(mode), languages]
