"""How sure classifiers are, against accuracy and loss as training measured them."""

import numpy as np
import pytest

from gating_core.experiments.comparison import confidence_and_correctness


@pytest.mark.sampled(1)
def test_confidence_and_correctness_give_the_accuracy_and_with_two_classes_the_loss(run):
    classes = run.task.class_count
    for variant in run.variants.values():
        sure, right = confidence_and_correctness(variant.ensemble, run.task)
        assert sure.shape == right.shape == run.task.test_labels.shape
        assert 1 / classes <= sure.min() <= sure.max() <= 1
        np.testing.assert_allclose(right.mean(-1), variant.ensemble.test_accuracy[-1], atol=0.01)
        if classes == 2:
            losses = -np.log(np.where(right, sure, 1 - sure)).mean(-1)
            np.testing.assert_allclose(losses, variant.test_loss[-1], rtol=1e-4)
