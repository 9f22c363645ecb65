"""Two models of D = 16 that solve the circle: one trained without, one with a price on curvature.

Both have the setting of the first page with D = 16; the same seed has the same initial weights and
points. So the price alone differs. ``assets/bent`` is data: this module of commit ee773080 trained
sixteen seeds of both, with the price on |K| dA at weight .3, and kept the seed nearest to all
medians of accuracy and total curvature of both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from gating_core.assets import ASSETS
from gating_core.attention.config import AttentionConfig
from gating_core.attention.stack import Classifier, restore
from gating_core.experiments.comparison.setting import FIRST_SETTING, variant_config
from gating_core.geometry.integrals import Integral
from gating_core.records import load_record

FILE = ASSETS / "bent" / "pair.safetensors"
DIM = 16


@dataclass(frozen=True, eq=False)
class PricedModel:
    """A trained model, its seed's results beside those of all S seeds, and its shadow.

    ``places``, ``height`` and ``gaussian`` are those of its `Shadow`. ``needed_mean`` and ``mean``
    are |H| at the point where a sphere touches the island, per unit of the picture.
    """

    seed: int
    accuracies: np.ndarray  # (S,): test accuracies of all seeds
    totals: np.ndarray  # (S,): integrals of |K| dA on a coarse grid
    accuracy: float
    total: Integral  # of |K| dA
    bending: Integral  # of |II|^2 dA
    needed_mean: float
    mean: float
    places: np.ndarray
    height: np.ndarray
    gaussian: np.ndarray
    state: dict[str, np.ndarray]

    def model(self) -> Classifier:
        """Restore the classifier, an ensemble of one."""
        return restore(config(), (self.seed,), self.state)


def config() -> AttentionConfig:
    """Return the configuration of both models."""
    setting = replace(FIRST_SETTING, model_dim=DIM)
    return variant_config("sigmoid", setting.base, setting.class_count)


@cache
def load_pair() -> dict[str, PricedModel]:
    """Return both bundled models by their name, "no price" and "price on K"."""
    found: dict[str, PricedModel] = load_record(
        dict[str, PricedModel], FILE, "holds no pair of priced models"
    )
    return found
