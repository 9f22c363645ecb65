"""What is selected on the page Left out: the specimen, which all tabs share."""

from __future__ import annotations

from dataclasses import dataclass

from gating_core.left_out_at_work import EvictionRequest
from ui.common.language_models import UNGATED
from ui.language.selection import TextSelection

TOP_K, EVICTION, CORRECTION, LINEAR = "Top-k", "Eviction", "Correction", "Linear"
HEAD, GAUSSIAN, SLOW = "a head", "Gaussian scores", "slow tokens"
EPSILONS = {"20 %": 0.2, "10 %": 0.1, "5 %": 0.05, "1 %": 0.01, "0.1 %": 0.001}
EVICT_BY = {"recency": "recency", "mass": "mass", "value": "value", "key": "key",
            "value and key": "joint", "exact error": "exact"}  # fmt: skip
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
        layer, head = self.head.split(".")
        return int(layer) - 1, int(head) - 1

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
class EvictionSelection:
    """The controls of the tab Eviction, beside those that tabs share."""

    policy: str = "mass"  # a value of EVICT_BY
    budget: int = 16  # keys
    protects: bool = True  # half of the budget stays for the most recent keys

    @property
    def request(self) -> EvictionRequest:
        """What is computed."""
        return EvictionRequest(self.policy, self.budget, self.protects)
