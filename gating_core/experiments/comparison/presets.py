"""Shipped experiments: trained pairs in safetensors files, and the command that makes them.

    python -m gating_core.experiments.comparison.presets

writes ``assets/presets/NAME.safetensors`` for every preset. Tensors are called
``ungated.NAME`` and ``gated.NAME``; the comparison stands in the metadata as JSON.
"""

from __future__ import annotations

import json
import logging
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from gating_core.checks import check_choice
from gating_core.experiments.comparison.pair import Comparison, TrainedPair, train_pair
from gating_core.export.weights import ensemble_from_tensors, ensemble_tensors

FOLDER = Path(__file__).resolve().parents[3] / "assets" / "presets"
PRESETS = {"circle": Comparison()}  # the defaults: what the landing page opens with


def make_preset(name: str) -> TrainedPair:
    """Train the preset called ``name``, from nothing but its configuration."""
    check_choice("preset", name, PRESETS)
    *_, pair = train_pair(PRESETS[name])
    assert isinstance(pair, TrainedPair)
    return pair


def save_pair(pair: TrainedPair, path: Path) -> None:
    """Write ``pair`` to a safetensors file."""
    sides = {"ungated.": pair.ungated, "gated.": pair.gated}
    tensors: dict = {}
    for prefix, ensemble in sides.items():
        tensors |= ensemble_tensors(ensemble, prefix)
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file(tensors, path, {"comparison": json.dumps(asdict(pair.comparison))})


def load_pair(path: Path) -> TrainedPair:
    """Read a pair that `save_pair` wrote; ``ValueError`` if the file is not one."""
    try:
        with safe_open(path, "numpy") as file:
            comparison = Comparison(**json.loads(file.metadata()["comparison"]))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        sides = [
            ensemble_from_tensors(tensors, config, comparison.seeds, prefix)
            for prefix, config in zip(("ungated.", "gated."), comparison.configs, strict=True)
        ]
    except (SafetensorError, OSError, KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path.name} is not a trained pair: {error}") from error
    return TrainedPair(comparison, *sides)


def load_preset(name: str) -> TrainedPair:
    """The shipped preset called ``name``."""
    check_choice("preset", name, PRESETS)
    return load_pair(FOLDER / f"{name}.safetensors")


def main() -> None:
    torch.set_num_threads(1)  # models this small only wait for each other on more
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    for name in PRESETS:
        pair = make_preset(name)
        path = FOLDER / f"{name}.safetensors"
        save_pair(pair, path)
        accuracies = [float(e.test_accuracy[-1, e.best]) for e in (pair.ungated, pair.gated)]
        logging.info("%s: ungated %.3f, gated %.3f", path.name, *accuracies)


if __name__ == "__main__":
    main()
