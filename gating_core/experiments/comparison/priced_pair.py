"""Two models of D = 16 that solve the circle: one trained without, one with a price on curvature.

    python -m gating_core.experiments.comparison.priced_pair

trains sixteen seeds of both and writes the typical one of them to ``assets/bent``. Both have the
setting of the first page with D = 16; the same seed has the same initial weights and points. So the
price alone differs.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import torch

from gating_core.assets import ASSETS
from gating_core.attention.config import AttentionConfig
from gating_core.attention.stack import Classifier, restore
from gating_core.experiments.comparison.frames import strengths_model
from gating_core.experiments.comparison.run import train_setting
from gating_core.experiments.comparison.run_curvature import nearest_to_medians
from gating_core.experiments.comparison.setting import FIRST_SETTING, variant_config
from gating_core.experiments.comparison.shadows import cast_shadow
from gating_core.geometry.adaptive import adaptive_integrals
from gating_core.geometry.grid import square_grid
from gating_core.geometry.integrals import Integral
from gating_core.geometry.islands import islands
from gating_core.geometry.surface import measure_surface
from gating_core.records import load_record, save_record
from gating_core.training.trained import TrainedEnsemble

FILE = ASSETS / "bent" / "pair.safetensors"
DIM, GATE = 16, "sigmoid"
WEIGHTS = {"no price": 0.0, "price on K": 0.3}  # of the price on |K| dA, in nats
ROUGH_GRID, GRID = 21, 61  # points along each side: enough to rank totals; drawn
SETTINGS = {
    name: replace(FIRST_SETTING, model_dim=DIM, variants=(GATE,))
    if weight == 0
    else replace(FIRST_SETTING, model_dim=DIM, variants=(GATE,), price="K", price_weight=weight)
    for name, weight in WEIGHTS.items()
}


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
    setting = next(iter(SETTINGS.values()))
    return variant_config(GATE, setting.base, setting.class_count)


def typical_seed(accuracies: np.ndarray, totals: np.ndarray) -> int:
    """Return the place of the seed nearest to all medians: of both (2, S) of both models."""
    return nearest_to_medians(np.concatenate([accuracies, totals]))


@cache
def load_pair() -> dict[str, PricedModel]:
    """Return both bundled models by their name in `WEIGHTS`."""
    found: dict[str, PricedModel] = load_record(
        dict[str, PricedModel], FILE, "holds no pair of priced models"
    )
    return found


def measured(ensemble: TrainedEnsemble, totals: np.ndarray, member: int) -> PricedModel:
    """Measure one ``member`` of a trained ensemble and its shadow."""
    model = strengths_model(ensemble, member)
    normal = model.weight[0, :, 1] - model.weight[0, :, 0]
    offset = float(model.bias[0, 1] - model.bias[0, 0])
    shadow = cast_shadow(model.attention, normal, offset, GRID)
    (island,) = islands(model.attention, normal, offset)
    integrals = adaptive_integrals(model.attention, bound="rigorous")
    return PricedModel(
        seed=ensemble.seeds[member],
        accuracies=ensemble.test_accuracy[-1],
        totals=totals,
        accuracy=float(ensemble.test_accuracy[-1, member]),
        total=integrals.absolute,
        bending=integrals.bending,
        needed_mean=(island.needed_mean or torch.nan) * shadow.unit,
        mean=island.mean * shadow.unit,
        places=shadow.places,
        height=shadow.height,
        gaussian=shadow.gaussian,
        state={name: array[member : member + 1] for name, array in ensemble.state.items()},
    )


def main(path: Path = FILE) -> None:
    """Train both settings, choose the typical seed and write its models; log their numbers."""
    torch.set_num_threads(1)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    ensembles, totals = [], []
    for setting in SETTINGS.values():
        *_, run = train_setting(setting)
        ensemble = run.variants[GATE].ensemble
        surfaces = restore(ensemble.config, ensemble.seeds, ensemble.state).attention
        ensembles.append(ensemble)
        totals.append(measure_surface(surfaces, square_grid(ROUGH_GRID), bound="estimate").total)
    accuracies = np.stack([ensemble.test_accuracy[-1] for ensemble in ensembles])
    member = typical_seed(accuracies, np.stack(totals))
    pair = {
        name: measured(ensemble, total, member)
        for name, ensemble, total in zip(WEIGHTS, ensembles, totals, strict=True)
    }
    save_record(path, pair)
    for name, model in pair.items():
        logging.info(
            "%s: seed %d, accuracy %.3f, total |K| %.4g ± %.2g, bending %.4g ± %.2g, |H| %.3g of"
            " %.3g needed", name, model.seed, model.accuracy, model.total.value, model.total.error,
            model.bending.value, model.bending.error, model.mean, model.needed_mean,
        )  # fmt: skip


if __name__ == "__main__":
    main()
