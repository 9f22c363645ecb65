"""How does a model's surface change while it learns? Every frame of a run, sampled.

A model's snapshots are evaluated as one ensemble whose members are the frames. Shapes: T frames,
R x C grid points, D model dimension, P data points, K classes, S seeds.
"""

from __future__ import annotations

import numpy as np
import torch

from gating_core.attention import LayerLook
from gating_core.classifier import Classifier, restore
from gating_core.film_sides import FilmData, FilmSide
from gating_core.results import TrainedEnsemble
from gating_core.runs import TrainedRun
from gating_core.sample import square_grid
from gating_core.specimen import cost

FILM_GRID = 31  # points along each side
DRAWN_POINTS = 150  # of the training points, and of the test points as many again
MOST_FRAMES = 48  # so that a film stays below 8 MB
FEWEST_FRAMES = 8
AFFORDABLE = 2.5e8  # of `cost` times points and frames: about half a second
SHOWN = ("best", "median", "worst")


def shown_member(ensemble: TrainedEnsemble, which: str) -> int:
    """The member with the best, median or worst training accuracy; test points are not looked at.

    Among equals the training loss decides.
    """
    order = ensemble.ranking
    place = {"best": 0, "median": (len(order) - 1) // 2, "worst": len(order) - 1}[which]
    return int(order[place])


def drawn_frames(run: TrainedRun) -> np.ndarray:
    """(T,): which of a run's frames are drawn, evenly spread, the first and the last among them.

    All, unless there are too many to send or, of a large model, to compute at once.
    """
    dearest = max(cost(variant.ensemble.config) for variant in run.variants.values())
    most = min(MOST_FRAMES, max(FEWEST_FRAMES, int(AFFORDABLE / (dearest * FILM_GRID**2))))
    count = len(run.frames)
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))


def film_data(run: TrainedRun, member: int) -> FilmData:
    """The points that seed ``member`` was trained on and tested with, as many as are drawn."""
    task, own = run.task, run.setting.own
    train, test = (_some(x.shape[1]) for x in (task.train_points, task.test_points))
    parts = ((task.train_points, train), (task.test_points, test))
    names = own.names if own else tuple(f"class {label}" for label in range(task.class_count))
    return FilmData(
        steps=run.steps[drawn_frames(run)],
        axis=square_grid(FILM_GRID).axis.numpy(),
        points=np.concatenate([x[member, chosen] for x, chosen in parts]),
        labels=np.concatenate([task.train_labels[member, train], task.test_labels[member, test]]),
        tested=np.arange(len(train) + len(test)) >= len(train),
        names=names,
        colours=own.colours[: len(names)] if own else tuple(range(len(names))),
    )


def _some(count: int) -> np.ndarray:
    """The places of as many of ``count`` points as are drawn, from all over: a table is sorted."""
    return np.linspace(0, count - 1, min(count, DRAWN_POINTS)).round().astype(int)


def film_side(run: TrainedRun, name: str, member: int) -> FilmSide:
    """Variant ``name`` of seed ``member`` along the run, in the drawn frames."""
    model = frames_model(run, name, member)
    shape = (FILM_GRID, FILM_GRID)
    values = model.attention(square_grid(FILM_GRID).points)
    return FilmSide(
        values=values.unflatten(1, shape).numpy(),
        logits=model.read_out(values).unflatten(1, shape).numpy(),
        weight=model.weight.numpy(),
        bias=model.bias.numpy(),
        data_values=model.attention(torch.from_numpy(film_data(run, member).points)).numpy(),
    )


def frames_model(run: TrainedRun, name: str, member: int) -> Classifier:
    """One member's drawn snapshots as an ensemble of T; the frames' numbers stand for seeds."""
    variant, frames = run.variants[name], drawn_frames(run)
    states = {part: np.ascontiguousarray(x[frames, member]) for part, x in variant.states.items()}
    return restore(variant.ensemble.config, range(len(frames)), states)


def inside(run: TrainedRun, name: str, member: int) -> dict[str, np.ndarray]:
    """What goes on inside the final model: every attention weight and gate, (R, C) by name."""
    ensemble = run.variants[name].ensemble
    model = restore(ensemble.config, ensemble.seeds, ensemble.state).attention.member(member)
    looks: list[LayerLook] = []
    model(square_grid(FILM_GRID).points, looks)
    fields = {}
    for layer, look in enumerate(looks, 1):
        for head, weights in enumerate(look.weights[0], 1):
            for slot in range(weights.shape[-1]):
                place = f"layer {layer} · α{slot + 1}"
                place += f" · head {head}" if len(look.weights[0]) > 1 else ""
                fields[place] = weights[:, slot].reshape(FILM_GRID, FILM_GRID).numpy()
        if look.gate is not None:
            gates = look.gate[0].expand(FILM_GRID**2, -1)
            for channel in range(gates.shape[-1]):
                field = gates[:, channel].reshape(FILM_GRID, FILM_GRID).numpy()
                fields[f"layer {layer} · gate {channel + 1}"] = field
    return fields
