"""Measure what is shipped for the page *Mixture of experts*, and write it to ``assets/experts``.

python -m gating_core.experts
"""

import logging

import numpy as np
import torch

from gating_core.experts.learning_curves import (
    COUNTS,
    CURVES,
    CurvesRequest,
    accuracies_at,
    curves_of,
)
from gating_core.experts.sample_efficiency import SAMPLES, SampleRequest, gathered, learn
from gating_core.experts.students import GATES
from gating_core.records import save_record


def main() -> None:
    """Measure sample efficiency and learning curves, and write both; log medians and slopes."""
    torch.set_num_threads(1)  # problems are too small to gain from more
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    request, results = SampleRequest(), {}
    for gate in GATES:
        results[gate] = learned = gathered([*learn(request.seeds, request, gate)])
        for name, slope in learned.slopes.items():
            medians = ", ".join(f"{x:.4g}" for x in np.median(getattr(learned, name), 0))
            interval = f"{slope.mean.mean:.3f} ± {slope.mean.half_width:.3f}"
            logging.info("%s, %s errors: %s; slope %s", gate, name, medians, interval)
    save_record(SAMPLES, results)

    trained = CurvesRequest()
    curves = curves_of(trained, [*accuracies_at(COUNTS, trained)])
    save_record(CURVES, curves)
    for difference in curves.differences():
        logging.info("%d points: %s", difference.count, difference.word)


if __name__ == "__main__":
    main()
