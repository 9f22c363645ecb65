"""Steering and features on demand, for a page: requests are plain values, results are arrays.

And the shipped first view: texts, steered and not, and their judge's tests.

Shapes: L layers, H heads, M features, T characters of a text, V characters of the alphabet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch

from gating_core.characters import decode, encode
from gating_core.checks import check_choice, check_integer, check_number
from gating_core.lm.corpus import LANGUAGES, excerpt_texts, texts_of
from gating_core.lm.losses import Rows, rows_of, text_losses
from gating_core.lm.model import LanguageModel
from gating_core.lm.shipped import FOLDER
from gating_core.lm.steering.outcomes import (
    JUDGED_FROM,
    MODES,
    WRITTEN,
    bayes_probabilities,
    fluency_range,
    other_verses,
    real_words,
    spanish_probabilities,
)
from gating_core.lm.steering.streams import (
    KINDS,
    Steering,
    are_spanish,
    direct_attribution,
    model_and_dictionaries,
    states_for,
    streams,
    write_steered,
)
from gating_core.randomness import generator
from gating_core.records import load_record

ALONG = ("feature", "means", "random")  # directions
STRONGEST_PUSH = 10.0
EFFECT_VERSES = 8  # in each language
OPENING = FOLDER / "steered.safetensors"
BEGINNING = "And God said to "
# Of the seeds 0 to this one, the median by nats per character of the steered texts, mean of both
# gates: a rule that was fixed before seeds 1 to 20 were tried.
OPENING_DRAW = 20
SURE = 0.9  # the probability from which on a text is said to be in a language
# On the language of a steered text. "fooled": the classifiers see another language, in a text that
# lies beyond the range of unsteered ones; "degenerate": they see the same language in such a text.
VERDICTS = ("changed", "unchanged", "fooled", "degenerate", "inconclusive")
LETTERS = 2  # the last ones before a feature fires


@dataclass(frozen=True)
class DirectionRequest:
    """A direction of the residual stream after one layer of a shipped model."""

    name: str = "none"  # of the model
    model_seed: int = 0
    layer: int = 0  # 0 is the first
    along: str = "feature"  # one of ALONG
    kind: str = "means"  # of dictionary
    feature: int = 0  # of that dictionary; the seed, where ``along`` is "random"

    def __post_init__(self) -> None:
        check_choice("along", self.along, ALONG)
        check_choice("kind", self.kind, KINDS)


@dataclass(frozen=True)
class SteerRequest:
    """The text to write, and how it is steered."""

    direction: DirectionRequest
    text: str  # the beginning
    push: float = 4.0  # in lengths of the difference of the languages' means; may be negative
    mode: str = "released"  # one of MODES
    draw: int = 0  # the seed of the characters
    temperature: float = 0.7

    def __post_init__(self) -> None:
        check_choice("mode", self.mode, MODES)
        check_number("push", self.push, -STRONGEST_PUSH, STRONGEST_PUSH)


def unit_direction(request: DirectionRequest) -> torch.Tensor:
    """(D,) float32 of length one: the direction requested.

    The difference of means points from English to Spanish. ``ValueError`` for a model, layer,
    dictionary or feature that does not exist.
    """
    model, dictionaries = model_and_dictionaries(request.name, request.model_seed)
    check_integer("layer", request.layer, 0, model.config.depth - 1)
    if request.along == "means":
        chosen = dictionaries.gap[request.layer]
    elif request.along == "random":
        draw = generator(request.feature, f"direction after layer {request.layer}")
        chosen = torch.randn(model.config.width, generator=draw)
    else:
        check_choice("kind", request.kind, dictionaries.kinds)
        rows = dictionaries.kinds[request.kind].dictionary.directions[request.layer]
        check_integer("feature", request.feature, 0, len(rows) - 1)
        chosen = rows[request.feature]
    return torch.nn.functional.normalize(chosen, dim=-1)


def write_both(request: SteerRequest) -> Iterator[tuple[str, str]]:
    """Yield `WRITTEN` pairs of characters, without and with steering, from equal random numbers."""
    model, dictionaries = model_and_dictionaries(
        request.direction.name, request.direction.model_seed
    )
    step = request.push * dictionaries.gap[request.direction.layer].norm()
    steering = Steering(
        request.direction.layer, step * unit_direction(request.direction), MODES[request.mode]
    )
    prompt = encode(request.text)[None]
    both = zip(
        range(WRITTEN),
        write_steered(model, prompt, None, request.draw, request.temperature),
        write_steered(model, prompt, steering, request.draw, request.temperature),
        strict=False,
    )
    for _, plain, steered in both:
        yield decode(plain), decode(steered)


@dataclass(frozen=True)
class Step:
    """A character without and one with steering, and the classifier's judgement of both texts."""

    plain: str
    steered: str
    spanish: tuple[float, float]  # probabilities of Spanish, from the last `WINDOW` characters


def written_texts(steps: Sequence[Step]) -> tuple[str, str]:
    """Return the texts written without and with steering."""
    return "".join(step.plain for step in steps), "".join(step.steered for step in steps)


def write_judged(request: SteerRequest) -> Iterator[Step]:
    """Write as `write_both` does, and judge every text, its beginning included, as it grows."""
    texts = [request.text, request.text]
    for plain, steered in write_both(request):
        texts = [texts[0] + plain, texts[1] + steered]
        first, second = map(float, spanish_probabilities(texts))
        yield Step(plain, steered, (first, second))


@dataclass(frozen=True)
class Ending:
    """The judgement of the last characters of a text, as in the experiment."""

    spanish: float  # its probability by logistic regression
    bayes: float  # its probability by naive Bayes
    nats: float  # loss per character under the unsteered model
    words: float  # the share of real words of the likelier language; NaN: no whole word
    fluent: bool  # within the `FluencyRange` of that language

    @property
    def language(self) -> int | None:
        """Return the index in `LANGUAGES`; ``None``: the classifiers disagree, or one is unsure."""
        if (self.spanish > 0.5) != (self.bayes > 0.5) or 1 - SURE < self.spanish < SURE:
            return None
        return int(self.spanish > 0.5)


def endings(
    name: str, model_seed: int, texts: Sequence[str], judged: Sequence[float]
) -> list[Ending]:
    """Judge what a model has written, from the character `JUDGED_FROM` of ``texts`` on.

    ``judged``: their `spanish_probabilities`, which are known: training that classifier takes long.
    """
    texts = [text[JUDGED_FROM:] for text in texts]
    sums, counts = text_losses(model_and_dictionaries(name, model_seed)[0], texts)
    losses, results = (sums / counts).numpy(), []
    for text, spanish, bayes, nats in zip(
        texts, judged, bayes_probabilities(texts), losses, strict=True
    ):
        language = int(spanish > 0.5)
        words = real_words(text, LANGUAGES[language])
        fluent = bool(fluency_range(name, language).contains(nats, np.array(words)))
        results.append(Ending(float(spanish), float(bayes), float(nats), words, fluent))
    return results


def verdict(plain: Ending, steered: Ending) -> str:
    """Return which of `VERDICTS` two texts, without and with steering, support."""
    if plain.language is None or steered.language is None:
        return "inconclusive"
    changed = plain.language != steered.language
    if not steered.fluent:
        return "fooled" if changed else "degenerate"
    return "changed" if changed else "unchanged"


@dataclass(frozen=True, eq=False)
class TopExample:
    """A shipped verse, and how strongly a feature fires at each of its characters."""

    text: str  # T characters
    values: np.ndarray  # (T,); for the kind "means" zero before the 16th character


@torch.no_grad()
def top_examples(request: DirectionRequest) -> list[TopExample]:
    """Return the top-activating examples of a feature, the strongest first."""
    model, dictionaries = model_and_dictionaries(request.name, request.model_seed)
    trained = dictionaries.kinds[request.kind]
    texts = excerpt_texts()
    chosen = [int(row) for row in trained.statistics.texts[request.layer][request.feature]]
    shown = [texts[row] for row in chosen if row >= 0]
    if not shown:
        return []
    residual = states_for(request.kind, streams(model, shown, skipped=1))
    features = trained.dictionary.layer(request.layer).encode(residual.states[request.layer])
    results = []
    for row, text in enumerate(shown):
        values, in_text = np.zeros(len(text), np.float32), residual.texts == row
        values[residual.positions[in_text].numpy() - 1] = features[in_text, request.feature].numpy()
        length = model.config.context - 1
        results.append(TopExample(text[:length], values[:length]))
    return results


@lru_cache(maxsize=32)
def letter_shares(name: str, model_seed: int, kind: str, layer: int) -> np.ndarray:
    """(M,): the share of a feature's strongest positions that end in its commonest `LETTERS`.

    1 for a feature that fires after one pair of letters only; NaN for one that never fires.
    """
    statistics = model_and_dictionaries(name, model_seed)[1].kinds[kind].statistics
    texts = excerpt_texts()
    shares = []
    for chosen, positions in zip(statistics.texts[layer], statistics.places[layer], strict=True):
        ends = [
            texts[row][max(0, position - LETTERS) : position]
            for row, position in zip(chosen, positions, strict=True)
            if row >= 0
        ]
        shares.append(max(map(ends.count, ends)) / len(ends) if ends else np.nan)
    return np.array(shares)


@dataclass(frozen=True, eq=False)
class WrittenAlong:
    """The mean product of each part with a direction, Spanish minus English."""

    embedding: float
    heads: np.ndarray  # (L, H)
    mlps: np.ndarray  # (L,)
    total: float  # of the residual stream itself


@torch.no_grad()
def written_along(request: DirectionRequest) -> WrittenAlong:
    """Attribute the difference of the two languages along a direction, on held-out verses."""
    model, _ = model_and_dictionaries(request.name, request.model_seed)
    rows, spanish = _effect_rows(model)
    exact = deepcopy(model).double()  # the model itself is shared by all visitors
    parts = direct_attribution(exact, rows.read, request.layer, unit_direction(request).double())

    def gap(values: torch.Tensor) -> torch.Tensor:
        means = [
            (values * counted).sum((-1, -2)) / counted.sum()
            for counted in (rows.counted & ~spanish[:, None], rows.counted & spanish[:, None])
        ]
        return means[1] - means[0]

    return WrittenAlong(
        float(gap(parts.embedding)),
        gap(parts.heads).numpy(),
        gap(parts.mlps).numpy(),
        float(gap(parts.total)),
    )


@torch.no_grad()
def effect_on_next(request: DirectionRequest, push: float) -> np.ndarray:
    """(V,): the mean change of each next character's probability under a push, on held-out verses.

    ``push`` is in lengths of the difference of the languages' means.
    """
    check_number("push", push, -STRONGEST_PUSH, STRONGEST_PUSH)
    model, dictionaries = model_and_dictionaries(request.name, request.model_seed)
    rows, _ = _effect_rows(model)
    step = push * dictionaries.gap[request.layer].norm()
    steering = Steering(request.layer, step * unit_direction(request))
    plain, pushed = (
        model(rows.read, hooks=hooks).softmax(-1)[rows.counted].mean(0)
        for hooks in (None, steering.hooks(0))
    )
    return (pushed - plain).numpy()


def _effect_rows(model: LanguageModel) -> tuple[Rows, torch.Tensor]:
    """Some verses as rows, and (B,) which are Spanish."""
    texts = texts_of(other_verses()[:EFFECT_VERSES])
    return rows_of(texts, model.config.context), torch.tensor(are_spanish(texts))


@dataclass(frozen=True)
class Example:
    """A text as it is written, and how it ends."""

    request: SteerRequest
    steps: list[Step]
    endings: list[Ending]  # without and with steering


@dataclass(frozen=True, eq=False)
class Opening:
    """A text of each model that has dictionaries.

    The texts are steered towards Spanish by the first layer's `language_feature`.
    """

    examples: list[Example]


def load_opening() -> Opening:
    """The bundled texts; ``ValueError`` for a file of another kind."""
    return load_record(Opening, OPENING, "holds no steered texts")
