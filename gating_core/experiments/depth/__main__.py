"""Make what is shipped of depth, trained stacks and curves of gates, in ``assets/depth``.

python -m gating_core.experiments.depth
"""

import logging

import torch

from gating_core.experiments.depth.request import TrainedRequest
from gating_core.experiments.depth.shipped import SHIPPED, save_gates
from gating_core.experiments.depth.trained import DEPTH_VARIANTS, train_depths
from gating_core.records import save_record


def main() -> None:
    """Train the stacks, measure the scalar gates, and write both; log medians by depth."""
    torch.set_num_threads(1)  # models this small only wait for each other on more
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    trained = train_depths(TrainedRequest())
    save_record(SHIPPED, trained)
    save_gates()
    for variant in DEPTH_VARIANTS:
        total = trained.results[variant].curves["total"]
        rows = zip(total.depths, total.median, trained.accuracy(variant).mean(0), strict=True)
        texts = [f"{depth}: {median:.3g} ({share:.3f})" for depth, median, share in rows]
        logging.info("%s, total curvature (accuracy) by depth: %s", variant, ", ".join(texts))


if __name__ == "__main__":
    main()
