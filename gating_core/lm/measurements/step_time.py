"""Time attention and MLP of one block, one after the other and side by side.

python -m gating_core.lm.measurements.step_time

Writes the file that the page reads. Side by side needs a topology whose MLP does not wait for
attention.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gating_core.assets import read_asset
from gating_core.lm import MODELS, LanguageModel
from gating_core.lm.shipped import FOLDER

TIMES = FOLDER / "step_time.json"
BATCH = 32  # texts
REPEATS = 200


@dataclass(frozen=True)
class StepTime:
    """Seconds of one block's forward pass by repeat; the three ways took turns in each repeat."""

    cores: int  # of the machine
    texts: int
    characters: int  # of each text
    one_core: tuple[float, ...]  # one after the other, on one core
    all_cores: tuple[float, ...]  # one after the other, each on two cores
    side_by_side: tuple[float, ...]  # at the same time, each on a core of its own

    def ratio(self) -> tuple[float, float, float]:
        """Side by side over one after the other on as many cores: median and quartiles."""
        ratios = np.array(self.side_by_side) / np.array(self.all_cores)
        low, middle, high = np.percentile(ratios, (25, 50, 75))
        return float(middle), float(low), float(high)


@torch.no_grad()
def time_steps(repeats: int = REPEATS, texts: int = BATCH) -> StepTime:
    """Time the second block of an untrained FAL model; sets torch's number of threads."""
    model = LanguageModel(MODELS["fal"]).requires_grad_(False)
    block, size = model.layers[1], model.config
    assert block.norm_first is not None
    norms = block.norm_mlp, block.norm_first
    stream = torch.randn(
        texts, size.context, size.width, generator=torch.Generator().manual_seed(0)
    )

    def attention() -> torch.Tensor:
        return block.attention(block.norm_attention(stream))

    def mlp() -> torch.Tensor:
        return block.mlp(norms[0](stream) + norms[1](stream))

    def after(threads: int) -> None:
        torch.set_num_threads(threads)
        attention()
        mlp()

    def beside() -> None:
        torch.set_num_threads(1)
        mlp_output = pool.submit(mlp)
        attention()
        mlp_output.result()

    ways: dict[str, Callable[[], None]] = {
        "one_core": lambda: after(1),
        "all_cores": lambda: after(2),
        "side_by_side": beside,
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    with ThreadPoolExecutor(1, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        for repeat in range(repeats + 1):
            for name, way in ways.items():
                began = time.perf_counter()
                way()
                if repeat:  # the first warms up
                    seconds[name].append(time.perf_counter() - began)
    times = {name: tuple(values) for name, values in seconds.items()}
    return StepTime(os.cpu_count() or 1, texts, size.context, **times)


def load_times(path: Path = TIMES) -> StepTime | None:
    """Return the times in the file; ``None`` where there is no file."""
    if not path.exists():
        return None
    fields: dict[str, Any] = {
        name: tuple(x) if isinstance(x, list) else x
        for name, x in json.loads(read_asset(path)).items()
    }
    return StepTime(**fields)


def main() -> None:
    """Time the steps and write the file; log the ratio of parallel to sequential."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    result = time_steps()
    rounded = {
        name: [round(second, 6) for second in x] if isinstance(x, tuple) else x
        for name, x in asdict(result).items()
    }
    TIMES.write_text(json.dumps(rounded) + "\n")
    logging.info("side by side over one after the other: %.2f (%.2f to %.2f)", *result.ratio())


if __name__ == "__main__":
    main()
