"""What is selected on the page Steering: a model, a direction after one of its layers, a text."""

from __future__ import annotations

from dataclasses import dataclass

from gating_core.language import MODELS, SEEDS, read_typed
from gating_core.steering import (
    BEGINNING,
    KINDS,
    STEERED,
    DirectionRequest,
    GridRequest,
    SteerRequest,
    specimen,
)
from ui.common.language_models import TITLES, UNGATED, unknown_characters

STEER, FEATURES, MEASURED = "Steer", "Features", "Measured"
LANGUAGE, OWN, MEANS, RANDOM = "language", "feature", "means", "random"
ALONG = {"the language feature": LANGUAGE, "a feature": OWN, "difference of means": MEANS,
         "a random direction": RANDOM}  # fmt: skip
HELD, RELEASED = "held", "released"
PUSHED = {"released": RELEASED, "held": HELD}
NESTED, SINGLE, PLAIN = KINDS
DICTIONARIES = {"means of 16": NESTED, "characters": SINGLE, "plain top-k": PLAIN}
GATES = {TITLES[name]: name for name in STEERED}
BEGINNINGS = {"english": BEGINNING, "spanish": "Y dijo Dios á "}
SIZE = max(prefix for recipe in KINDS.values() for prefix in recipe.prefixes)  # of a dictionary
DEPTH = MODELS[UNGATED].depth
BOTH = "both"  # languages
ALL_SEEDS = "all"
Model = tuple[str, int]  # name and seed


@dataclass(frozen=True)
class SteeringSelection:
    """All that is selected; layers and features are counted from 1, as they are shown."""

    name: str = UNGATED  # one of STEERED
    seed: int = 0
    layer: int = 1
    along: str = LANGUAGE  # a value of ALONG
    kind: str = NESTED  # of dictionary
    feature: int = 2  # that of Spanish after the first layer
    push: float = 4.0  # negative: to English
    mode: str = RELEASED
    typed: str = ""  # empty: the beginning of the language
    language: str = "english"
    draw: int = 0  # the seed of the text

    @property
    def model(self) -> Model:
        """The model that is steered."""
        return self.name, self.seed

    @property
    def language_feature(self) -> int:
        """The feature, counted from 0, that favours the language pushed to most."""
        statistics = specimen(*self.model)[1].kinds[NESTED].statistics
        return statistics.language_feature(self.layer - 1, spanish=self.push >= 0)

    @property
    def text(self) -> str:
        """The beginning: characters that models know."""
        return read_typed(self.typed)[0] or BEGINNINGS[self.language]

    @property
    def shown_kind(self) -> str:
        """The kind of dictionary: the nearest one that this model has."""
        kinds = specimen(*self.model)[1].kinds
        return self.kind if self.kind in kinds else next(iter(kinds))

    @property
    def notes(self) -> list[str]:
        """A sentence for each field that differs from what was selected."""
        named = {kind: title for title, kind in DICTIONARIES.items()}
        shown = self.shown_kind
        other = (f"Seed {self.seed} has no dictionary “{named[self.kind]}”."
                 f" Shown: {named[shown]}.")  # fmt: skip
        return [*([other] if shown != self.kind else []), *unknown_characters(self.typed)]

    def feature_request(self) -> DirectionRequest:
        """The direction of the feature that is selected."""
        return DirectionRequest(
            *self.model, self.layer - 1, "feature", self.shown_kind, self.feature - 1
        )

    def direction_request(self) -> DirectionRequest:
        """The direction that is pushed along."""
        model_and_layer = (*self.model, self.layer - 1)
        if self.along == LANGUAGE:
            return DirectionRequest(*model_and_layer, "feature", NESTED, self.language_feature)
        if self.along == OWN:
            return self.feature_request()
        # A random direction follows from the seed of the text: with another text, another one.
        seed = self.draw if self.along == RANDOM else 0
        return DirectionRequest(*model_and_layer, self.along, feature=seed)

    def steer_request(self) -> SteerRequest:
        """The request to write a steered text."""
        # Each language has a feature of its own, which is pushed along, never against.
        push = abs(self.push) if self.along == LANGUAGE else self.push
        return SteerRequest(self.direction_request(), self.text, push, self.mode, self.draw)


@dataclass(frozen=True)
class OutcomeSelection:
    """Whose outcomes are shown."""

    name: str = UNGATED  # one of STEERED
    seed: int | str = ALL_SEEDS
    draw: int = 0  # the seed of the texts, of one seed of the models
    target: str = BOTH  # or a language

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the models."""
        return SEEDS if isinstance(self.seed, str) else (self.seed,)

    @property
    def grid(self) -> GridRequest | None:
        """The experiment that can be run here: on one model."""
        return None if isinstance(self.seed, str) else GridRequest(self.name, self.seed, self.draw)
