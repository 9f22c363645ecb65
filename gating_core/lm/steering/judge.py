"""Judge texts: their language, and the share of real words.

Two classifiers of character n-grams are trained on some of the shipped held-out verses and tested
on the others: a logistic regression (scikit-learn), and an independent one, a multinomial naive
Bayes. Texts unlike both languages are beyond what either has learned, and there they part. Real
words are those that occur three times at least in the verses that models were trained on.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from gating_core.assets import read_asset
from gating_core.lm.corpus import LANGUAGES, Verse, read_excerpt
from gating_core.lm.shipped import FOLDER

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

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
