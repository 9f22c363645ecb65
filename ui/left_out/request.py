"""What is selected on the page Left out: the specimen, which all tabs share."""

from __future__ import annotations

from dataclasses import dataclass

from ui.common.language_models import UNGATED
from ui.language.selection import TextSelection, head_of

TOP_K, EVICTION, CORRECTION, LINEAR = "Top-k", "Eviction", "Correction", "Linear"
HEAD, GAUSSIAN, SLOW = "a head", "Gaussian scores", "slow tokens"
EPSILONS = {"20 %": 0.2, "10 %": 0.1, "5 %": 0.05, "1 %": 0.01, "0.1 %": 0.001}
EVICT_BY = {"recency": "recency", "mass": "mass", "value": "value", "key": "key",
            "value and key": "joint", "exact error": "exact"}  # fmt: skip
BY_HAND, LEARNED = "by hand", "learned"  # how w, decay and step of linear attention are set
SHARES = {
    f"{percent:g} %": percent / 100
    for percent in (0.01, 0.1, 0.5, 1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99)
}


@dataclass(frozen=True)
class LeftOutSelection(TextSelection):
    """The controls that choose the specimen: a head over a text, or synthetic scores or tokens."""

    kind: str = HEAD
    head: str = "2.2"  # layer and head, both counted from 1
    strength: float = 1.0  # λ of the gates
    keys: int = 20_000  # Gaussian scores
    sigma: float = 2.0  # of these
    tokens: int = 512  # that vary slowly
    memory: int = 128  # tokens, over which these are correlated
    draw: int = 0  # the seed of what is random

    @property
    def layer_and_head(self) -> tuple[int, int]:
        """Layer and head, counted from 0."""
        return head_of(self.head)

    @property
    def dialled(self) -> float:
        """The strength of the gates; 1 where there is none."""
        return self.strength if self.name != UNGATED else 1.0

    @property
    def gated(self) -> str:
        """The name of the models with a gate that are compared with those without."""
        return self.name if self.name != UNGATED else TextSelection.name


@dataclass(frozen=True)
class TopKSelection:
    """The controls of the tab Top-k, beside those that tabs share."""

    k: int = 8  # keys of a head
    share: float = 0.1  # of the keys of a synthetic specimen
    epsilon: float = 0.05  # the mass that may be left out

    def size(self, n: int, kind: str) -> int:
        """Return how many of ``n`` keys a specimen of this ``kind`` keeps."""
        return min(n, self.k if kind == HEAD else max(1, round(self.share * n)))


@dataclass(frozen=True)
class LinearSelection:
    """The selections of the tab besides the parameters of cheaper attention."""

    features: str = BY_HAND
    at: int = 64  # the character after which the state is shown
    channels: int = 16  # d, of the toy's state
    overlap: float = 0.0  # of the toy's keys
