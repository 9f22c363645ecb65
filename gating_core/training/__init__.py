"""Training of ensembles: batches, training configurations, snapshots, and accuracies."""

from gating_core.training.recipe import GOOD_START, OPTIMISERS
from gating_core.training.trained import MeanInterval, TrainedEnsemble, mean_interval
from gating_core.training.trainer import (
    Snapshot,
    TrainingDiverged,
    ensemble_of,
    train_ensemble,
)

__all__ = [
    "GOOD_START",
    "OPTIMISERS",
    "MeanInterval",
    "Snapshot",
    "TrainedEnsemble",
    "TrainingDiverged",
    "ensemble_of",
    "mean_interval",
    "train_ensemble",
]
