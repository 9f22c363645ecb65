"""Time the forward pass of every shipped architecture, per token and on one core.

python -m gating_core.lm.measurements.token_time

Writes the file that the page reads: processor seconds, which other work on the machine hardly
changes. The architectures take turns in each repeat, so that their ratios can be compared.
"""

from __future__ import annotations

import json
import logging
import time
from pathlib import Path

import numpy as np
import torch

from gating_core.lm import MODELS, LanguageModel
from gating_core.lm.shipped import FOLDER

TOKEN_TIMES = FOLDER / "token_time.json"
BATCH = 32  # texts
REPEATS = 60


@torch.no_grad()
def time_tokens(repeats: int = REPEATS, texts: int = BATCH) -> dict[str, list[float]]:
    """Return processor seconds per token by architecture and repeat; sets torch's thread count.

    Weights are untrained: the time does not depend on them.
    """
    torch.set_num_threads(1)
    models = {name: LanguageModel(config).requires_grad_(False) for name, config in MODELS.items()}
    draw = torch.Generator().manual_seed(0)
    seconds: dict[str, list[float]] = {name: [] for name in models}
    for repeat in range(repeats + 1):
        for name, model in models.items():
            shape = texts, model.config.context
            tokens = torch.randint(model.config.characters, shape, generator=draw)
            began = time.thread_time()
            model(tokens)
            if repeat:  # the first warms up
                seconds[name].append((time.thread_time() - began) / tokens.numel())
    return seconds


def load_token_times(path: Path = TOKEN_TIMES) -> dict[str, np.ndarray]:
    """Return the seconds (R,) per token by architecture; none where there is no file."""
    if not path.exists():
        return {}
    return {name: np.array(seconds) for name, seconds in json.loads(path.read_text()).items()}


def main() -> None:
    """Time all architectures and write the file; log medians and ratios."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    seconds = time_tokens()
    rounded = {name: [float(f"{x:.4g}") for x in values] for name, values in seconds.items()}
    TOKEN_TIMES.write_text(json.dumps(rounded) + "\n")
    for name, values in seconds.items():
        ratio = np.median(np.array(values) / seconds["none"])
        logging.info("%s: %.3g µs, × %.3f", name, 1e6 * np.median(values), ratio)


if __name__ == "__main__":
    main()
