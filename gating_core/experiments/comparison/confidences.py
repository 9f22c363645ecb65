"""How sure trained classifiers are at new points, and where they are right.

Shapes: S seeds, P test points of each.
"""

from __future__ import annotations

import numpy as np
import torch

from gating_core.attention.classifier import restore
from gating_core.tasks.task import Task
from gating_core.training.scores import right
from gating_core.training.trained import TrainedEnsemble


def sure_and_right(ensemble: TrainedEnsemble, task: Task) -> tuple[np.ndarray, np.ndarray]:
    """(S, P): the probability of each test point's likeliest class; (S, P): whether it is right.

    Of the final weights, in float64.
    """
    logits = restore(ensemble.config, ensemble.seeds, ensemble.state)(
        torch.from_numpy(task.test_points)
    )
    labels = torch.from_numpy(task.test_labels)
    return logits.softmax(-1).amax(-1).numpy(), right(logits, labels).numpy()
