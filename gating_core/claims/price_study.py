"""The study behind C8 and C9: models that pay for curvature, and models that cannot curve.

    python -m gating_core.claims.price_study run FOLDER            # what is missing there, in order
    python -m gating_core.claims.price_study bundle FOLDER         # one file of all that is there
    python -m gating_core.claims.price_study again PIECE           # one bundled piece, compared

A *piece* is one training: all tasks and up to 64 seeds of one architecture as one ensemble, under
one price. Its result is a file of the folder; a piece that is there is not done again, so that a
run may be stopped at any moment. Rows of seeds 0 to 15 choose the weights of prices; rows of seeds
192 to 255 decide; of models whose values' plane is fixed, seeds 256 to 319.

The models are `gating_core.attention.stack.Attention`, one layer over n learned slots, in float32
and measured in float64; the read-out is `UnitClassifier`, which cannot amplify. Training begins
without a price, and goes on from there with each, so that every priced model starts from the
unpriced one.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy import ndimage

from gating_core.assets import ASSETS
from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.stack import UNIT_LOGITS, Attention, UnitClassifier
from gating_core.experiments.price import NO_PRICE, TrainingPrice
from gating_core.geometry.curvature import curvature
from gating_core.geometry.grid import square_grid
from gating_core.geometry.price import TINY, curvature_price
from gating_core.jets.second_order import second_order_jet
from gating_core.records import load_record, save_record
from gating_core.tasks.task import Task, make_task
from gating_core.training.recipe import Recipe
from gating_core.training.trainer import Checkpoint, Trainer, TrainingDiverged

STUDY_FILE = ASSETS / "bent" / "price.safetensors"
WITH_ISLANDS = ("circle", "rings", "islands")
WITHOUT_ISLANDS = ("xor", "moons", "spiral")
TASKS = (*WITH_ISLANDS, *WITHOUT_ISLANDS)
# In the order in which they are done. D = 2 is the elementwise gate that cannot curve.
ARCHITECTURES = (
    ("elementwise", 3), ("elementwise", 16), ("headwise", 8), ("elementwise", 2),
    ("elementwise", 8), ("elementwise", 4), ("headwise", 16),
)  # fmt: skip
RULE_SEEDS = range(16)
DECIDING_SEEDS = range(192, 256)  # of criteria v2
PLANE_SEEDS = range(256, 320)
PLANES = (0.0, 1.0)  # distances of the values' plane from 0, in radii
SEEDS_TOGETHER = 32
WEIGHTS = (0.1, 1.0, 10.0, 100.0)  # of a price on K or bending, nats per unit
SMALL = 0.02  # of the unpriced models' median total: what a priced one may have
TRAIN_POINTS, TEST_POINTS = 256, 1000
STEPS, PRICE_FROM, PRICE_WHOLE = 800, 250, 750
MORE, MORE_VALUES = 4, 8  # times as many steps in second tries, and n there
GRID = 41  # points along each side, for totals and islands
FEWEST_CELLS = 5  # of an island on that grid
NONE = "none"
SLOTS = "attention.layers.0.values"


@dataclass(frozen=True)
class Piece:
    """One training."""

    gate: str  # "none", "elementwise" or "headwise"
    model_dim: int
    price: str = NO_PRICE
    value_count: int = 3
    longer: int = 1  # times the steps
    plane: float | None = None  # distance of the values' plane from 0, in radii; None: free

    @property
    def name(self) -> str:
        """Return the name of its file, without its seeds."""
        parts = f"{self.gate}-D{self.model_dim}-n{self.value_count}-x{self.longer}"
        return f"{parts}-{self.price}" + ("" if self.plane is None else f"-plane{self.plane:g}")

    @property
    def is_shown(self) -> bool:
        """True for a point of the chart on *Price*: its typical models are bundled."""
        gated = self.gate != NONE and self.model_dim > 2
        return gated and self.longer == 1 and self.plane is None

    @property
    def config(self) -> AttentionConfig:
        """Return the model's configuration."""
        gate = None if self.gate == NONE else GateConfig("sigmoid", self.gate)
        return AttentionConfig(model_dim=self.model_dim, value_count=self.value_count, gate=gate)


@dataclass(frozen=True, eq=False)
class PieceResult:
    """The models of one piece: every array but ``weight`` is (T, S), T tasks and S seeds.

    Attributes:
        piece: The architecture, the price and the length of training.
        seeds: S of them.
        steps: Of training.
        weight: (T,): the price's weight, nats per unit; 0 without a price.
        accuracy: Of 1,000 test points.
        loss: Mean cross-entropy of them, in nats.
        margin: Their mean distance to the classifier's plane, in radii of the surface, negative
            where it is on the wrong side.
        total: ∫|K| dA over [-1, 1]², by the trapezoid rule on 41 x 41 points, without softening.
        total_error: An estimate: rounding, and the difference from every second point.
        resolved: Whether no tangent plane was unresolved; else ``total`` is a lower estimate.
        bending: ∫‖II‖² dA.
        bending_error: Its error.
        area: A / r², as a price on it counts it.
        islands: Components of either class that do not touch the chart's border, on the grid.
        height: Of the largest island by area of the chart, in radii; NaN without one.
        width: Twice the largest distance of its border from its top along the plane, in radii.
        folded: Whether the tangent plane turns by more than 90° between neighbours of the grid:
            the map folds there, or is about to, and the total may be too small. ``None`` in the
            bundled study where it was counted by an earlier rule that rounding spoiled.
        typical: (T, 2): the two seeds' places whose accuracy and total are nearest to the medians
            of those seeds that have an island, of all seeds where none has; in the bundled study of
            the first `SEEDS_TOGETHER`.
        state: Float32 weights of the typical models by name, (T, 2, ...), as those of a `restore`d
            `UnitClassifier`; in the bundled study only where the piece `is_shown`.
    """

    piece: Piece
    seeds: np.ndarray
    steps: int
    weight: np.ndarray
    accuracy: np.ndarray
    loss: np.ndarray
    margin: np.ndarray
    total: np.ndarray
    total_error: np.ndarray
    resolved: np.ndarray
    bending: np.ndarray
    bending_error: np.ndarray
    area: np.ndarray
    islands: np.ndarray
    height: np.ndarray
    width: np.ndarray
    folded: np.ndarray | None
    typical: np.ndarray
    state: dict[str, np.ndarray]

    def model(self, task: str, place: int = 0) -> UnitClassifier:
        """Return the first or second typical model of ``task`` in float64: an ensemble of one."""
        at = self.tasks.index(task)
        seed = int(self.seeds[self.typical[at, place]])
        model = UnitClassifier(Attention(self.piece.config, (seed,)), 2).requires_grad_(False)
        model.load_state_dict(
            {name: torch.from_numpy(x[at, place : place + 1]) for name, x in self.state.items()}
        )
        return model

    @property
    def tasks(self) -> tuple[str, ...]:
        """T of them; in second tries those with islands alone."""
        return TASKS[: len(self.weight)]


@dataclass(frozen=True, eq=False)
class PriceStudy:
    """The bundled study: one result for each piece that was done, on the deciding seeds.

    ``chosen`` are the medians by which weights were chosen, on seeds 0 to 15: for each piece's name
    the median totals (W, T) under each of `WEIGHTS`, with those of the unpriced piece first.
    """

    results: tuple[PieceResult, ...]
    chosen: dict[str, np.ndarray]

    def find(self, **wanted: object) -> PieceResult | None:
        """Return the result whose piece has the ``wanted`` fields, the others at their defaults."""
        piece = Piece(**wanted)  # type: ignore[arg-type]
        return next((x for x in self.results if x.piece == piece), None)


@cache
def price_study() -> PriceStudy:
    """Return the bundled study."""
    return load_record(PriceStudy, STUDY_FILE, "holds no study of prices")


# --- Training -------------------------------------------------------------------------------------


def make_data(tasks: tuple[str, ...], seeds: tuple[int, ...]) -> Task:
    """Return all tasks as one: their members one after the other, each task with all seeds."""
    parts = [make_task(x, TRAIN_POINTS, test_points=TEST_POINTS, seeds=seeds) for x in tasks]
    arrays = ("train_points", "train_labels", "test_points", "test_labels")
    joined = [np.concatenate([getattr(part, name) for part in parts]) for name in arrays]
    return Task("all", seeds * len(tasks), 2, *joined)


def trainer_of(
    piece: Piece, data: Task, weights: torch.Tensor, checkpoint: Checkpoint | None = None
) -> Trainer:
    """Return a trainer of ``piece``, whose members pay ``weights`` (M,) times the price."""

    def price(attention: Attention, step: int) -> torch.Tensor | None:
        paid = None if unit is None else unit(attention, step)
        return None if paid is None else weights * paid

    unit = (
        None
        if piece.price == NO_PRICE
        else TrainingPrice(piece.price, 1.0, PRICE_FROM * piece.longer, PRICE_WHOLE * piece.longer)
    )
    return Trainer(
        [piece.config],
        data,
        Recipe(),
        checkpoint,
        price=price,
        kind=UnitClassifier,
    )


# --- Measuring ------------------------------------------------------------------------------------


def measured(
    piece: Piece, data: Task, state: dict[str, torch.Tensor], weight: np.ndarray
) -> PieceResult:
    """Measure all models of a piece, each task's together, in float64."""
    seeds = tuple(dict.fromkeys(data.seeds))
    columns: dict[str, list[np.ndarray]] = {}
    for task in range(len(weight)):
        part = slice(task * len(seeds), (task + 1) * len(seeds))
        model = UnitClassifier(Attention(piece.config, seeds), 2).requires_grad_(False)
        model.load_state_dict({name: x[part] for name, x in state.items()})
        points, labels = data.test_points[part], data.test_labels[part]
        for name, column in (scored(model, points, labels) | shapes(model)).items():
            columns.setdefault(name, []).append(column)
    arrays = {name: np.stack(parts) for name, parts in columns.items()}
    typical = typical_models(arrays)
    grouped = {
        name: x.numpy().reshape(len(weight), len(seeds), *x.shape[1:]) for name, x in state.items()
    }
    rows = np.arange(len(weight))[:, None]
    return PieceResult(
        piece=piece,
        seeds=np.array(seeds),
        steps=STEPS * piece.longer,
        weight=weight,
        typical=typical,
        state={name: x[rows, typical] for name, x in grouped.items()},
        **arrays,
    )


def scored(model: UnitClassifier, points: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
    """(S,) each: accuracy, loss and margin at ``points`` (S, N, 2) with ``labels`` (S, N)."""
    logits = model(torch.from_numpy(points))
    away = (logits[..., 1] - logits[..., 0]) * torch.from_numpy(2 * labels - 1)
    return {
        "accuracy": (away > 0).double().mean(1).numpy(),
        "loss": torch.nn.functional.softplus(-away).mean(1).numpy(),
        "margin": away.mean(1).numpy() / UNIT_LOGITS,
    }


def shapes(model: UnitClassifier) -> dict[str, np.ndarray]:
    """(S,) each: totals with errors, islands, folds."""
    grid, coarse = square_grid(GRID), square_grid(GRID // 2 + 1)
    jet = second_order_jet(model.attention, grid.points)
    field = curvature(jet)
    out: dict[str, np.ndarray] = {"resolved": field.resolved.all(-1).numpy()}
    for name, density, error in (
        ("total", field.gaussian.abs(), field.gaussian_error),
        ("bending", field.bending, field.bending_error),
    ):
        parts = torch.where(field.resolved, torch.stack([density, error]) * field.area_element, 0.0)
        parts = parts.unflatten(-1, (GRID, GRID))
        fine, rounding = (parts * grid.weights).sum((-2, -1))
        half = (parts[0, :, ::2, ::2] * coarse.weights).sum((-2, -1))
        out[name], out[f"{name}_error"] = fine.numpy(), (rounding + (fine - half).abs()).numpy()
    out["area"] = curvature_price(model.attention, grid.points, "area").numpy()
    first = jet.first.unflatten(1, (GRID, GRID))
    resolved = field.resolved.unflatten(1, (GRID, GRID))
    out["folded"] = turns(first, resolved).numpy()
    normal, offset = model.plane()
    height = (jet.value @ normal.unsqueeze(-1)).squeeze(-1) + offset.unsqueeze(-1)
    radius = UNIT_LOGITS / torch.linalg.vector_norm(normal, dim=-1)
    numbers = [
        largest_island(h.reshape(GRID, GRID), y.reshape(GRID, GRID, -1), n)
        for h, y, n in zip(
            (height / UNIT_LOGITS).numpy(),
            (jet.value / radius[:, None, None]).numpy(),
            (normal / torch.linalg.vector_norm(normal, dim=-1, keepdim=True)).numpy(),
            strict=True,
        )
    ]
    for name, column in zip(
        ("islands", "height", "width"), zip(*numbers, strict=True), strict=True
    ):
        out[name] = np.array(column)
    return out


def turns(first: torch.Tensor, resolved: torch.Tensor) -> torch.Tensor:
    """(S,): true if tangent planes of neighbours on the grid differ by over 90° somewhere.

    ``first`` (S, R, R, D, 2) are the tangents; both planes of a pair must be ``resolved``.
    """
    # Of orthonormal frames: where tangents are nearly parallel, the determinant of their own inner
    # products is lost in rounding.
    frame, triangle = torch.linalg.qr(first)
    frame = frame * torch.where(triangle.diagonal(dim1=-2, dim2=-1) < 0, -1.0, 1.0).unsqueeze(-2)
    found = torch.zeros(len(first), dtype=torch.bool)
    for axis in (1, 2):
        planes, known = frame.transpose(1, axis), resolved.transpose(1, axis)
        against = torch.linalg.det(planes[:, :-1].mT @ planes[:, 1:]) < 0
        found |= (against & known[:, :-1] & known[:, 1:]).flatten(1).any(1)
    return found


def largest_island(
    height: np.ndarray, values: np.ndarray, normal: np.ndarray
) -> tuple[int, float, float]:
    """Return the number of islands on a grid, and height and width of the largest.

    ``height`` (R, R) over the plane of unit ``normal`` (D,) and ``values`` (R, R, D), in radii.
    """
    found = []
    for side in (height, -height):
        marks, count = ndimage.label(side > 0)
        rim = {*marks[0], *marks[-1], *marks[:, 0], *marks[:, -1]}
        found += [(marks == mark, side) for mark in range(1, count + 1) if mark not in rim]
    found = [(where, side) for where, side in found if where.sum() >= FEWEST_CELLS]
    if not found:
        return 0, np.nan, np.nan
    where, side = max(found, key=lambda x: x[0].sum())
    top = np.unravel_index(np.where(where, side, -np.inf).argmax(), side.shape)
    rim = where & ~ndimage.binary_erosion(where)
    away = values[rim] - values[top]
    along = away - np.outer(away @ normal, normal)
    return len(found), float(side[top]), 2 * float(np.linalg.norm(along, axis=1).max())


def typical_models(columns: dict[str, np.ndarray]) -> np.ndarray:
    """(T, 2): of each task the two seeds nearest to the medians of accuracy and of total."""
    out = []
    for accuracy, total, islands in zip(
        columns["accuracy"], columns["total"], columns["islands"], strict=True
    ):
        among = np.flatnonzero(islands > 0)
        among = among if len(among) > 1 else np.arange(len(accuracy))
        ranks = [
            np.abs(2 * x[among].argsort().argsort() - len(among) + 1) for x in (accuracy, total)
        ]
        out.append(among[np.add(*ranks).argsort(kind="stable")[:2]])
    return np.array(out)


# --- The run --------------------------------------------------------------------------------------


def train_and_measure(
    piece: Piece,
    tasks: tuple[str, ...],
    seeds: tuple[int, ...],
    weight: np.ndarray,
    start: Checkpoint | None = None,
) -> PieceResult:
    """Train and measure a piece, from the ``start`` of its unpriced models if that is given."""
    data = make_data(tasks, seeds)
    weights = torch.from_numpy(np.repeat(weight, len(seeds))).float()
    trainer = trainer_of(piece, data, weights, start)
    if piece.plane is None:
        trainer.advance(STEPS * piece.longer)
    else:  # projected gradients: a step, and the plane is put back
        for step in range(STEPS * piece.longer + 1):
            trainer.advance(step)
            put_plane(trainer.model.attention.blocks[-1].values, piece.plane)
    state = {name: x.detach().clone() for name, x in trainer.model.state_dict().items()}
    if piece.plane is not None:  # in single precision it misses 0 by a little
        state[SLOTS] = state[SLOTS].double()
        put_plane(state[SLOTS], piece.plane)
    return measured(piece, data, state, weight)


def started(piece: Piece, tasks: tuple[str, ...], seeds: tuple[int, ...]) -> Checkpoint:
    """Train the unpriced models until the price begins."""
    trainer = trainer_of(replace(piece, price=NO_PRICE), make_data(tasks, seeds), torch.zeros(1))
    trainer.advance(PRICE_FROM * piece.longer)
    return trainer.checkpoint


@torch.no_grad()
def put_plane(values: torch.Tensor, distance: float) -> None:
    """Move three ``values`` (S, 3, D) along the normal through 0 of their plane, in place.

    ``distance``: of the plane from 0, in radii: the root mean square distance of the values from
    their mean. At 0 a headwise gate gives K = 0 whatever the other weights are, for all outputs lie
    in that plane; and without a gate a surface is only moved.
    """
    edges = values[:, 1:] - values[:, :1]
    frame = torch.linalg.qr(edges.mT).Q
    first = values[:, 0].unsqueeze(-1)
    foot = (first - frame @ (frame.mT @ first)).mT  # (S, 1, D): the plane's point nearest to 0
    length = torch.linalg.vector_norm(foot, dim=-1, keepdim=True).clamp_min(TINY)
    centred = values - values.mean(1, keepdim=True)
    radius = centred.square().sum(-1).mean(1).sqrt()[:, None, None]
    values += (distance * radius / length - 1) * foot


class Folder:
    """Results of pieces in files, by piece and first seed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def file(self, piece: Piece, first: int, mark: str = "") -> Path:
        """Return the name of a result's file."""
        return self.path / f"{piece.name}{mark}-s{first:03}.safetensors"

    def load(self, piece: Piece, first: int, mark: str = "") -> PieceResult | None:
        """Return a result, ``None`` if it is not there."""
        file = self.file(piece, first, mark)
        return load_record(PieceResult, file, "holds no piece") if file.exists() else None

    def keep(self, result: PieceResult, mark: str = "") -> PieceResult:
        """Write a result, whole or not at all."""
        file = self.file(result.piece, int(result.seeds[0]), mark)
        part = file.with_suffix(".part")
        save_record(part, result)
        part.rename(file)
        return result


def run_pieces(
    folder: Folder,
    pieces: list[Piece],
    tasks: tuple[str, ...],
    seeds: tuple[int, ...],
    weights: dict[str, np.ndarray],
) -> Iterator[PieceResult]:
    """Do all ``pieces`` of one architecture that are missing; ``weights`` by price, (T,)."""
    start: Checkpoint | None = None
    for piece in pieces:
        done = folder.load(piece, seeds[0])
        if done is None:
            begin = time.process_time()
            try:
                if piece.price == NO_PRICE:
                    weight = np.zeros(len(tasks))
                    done = train_and_measure(piece, tasks, seeds, weight)
                else:
                    start = start or started(piece, tasks, seeds)
                    done = train_and_measure(piece, tasks, seeds, weights[piece.price], start)
            except TrainingDiverged as diverged:  # its rows have no verdict
                print(piece.name, diverged, flush=True)
                continue
            folder.keep(done)
            print(summary(done), f"{time.process_time() - begin:.0f} s", flush=True)
        yield done


def choose_weights(
    folder: Folder, piece: Piece, tasks: tuple[str, ...] = TASKS
) -> tuple[np.ndarray, np.ndarray]:
    """Choose the price's weight for each task, on seeds 0 to 15.

    The smallest of `WEIGHTS` under which the median total is at most `SMALL` of the unpriced
    models'; the largest where none is. The total is that of |K|, for a price on bending that of
    bending. A placebo's is such that unpriced models pay as many nats as for |K|.

    Returns:
        The weights (T,), and the medians (1 + W, T): of unpriced models, then under each weight,
        NaN where it was not needed.
    """
    seeds = tuple(RULE_SEEDS)
    free = replace(piece, price=NO_PRICE)
    (unpriced,) = run_pieces(folder, [free], tasks, seeds, {})
    column = "bending" if piece.price == "bending" else "total"
    medians = np.full((1 + len(WEIGHTS), len(tasks)), np.nan)
    medians[0] = np.median(getattr(unpriced, column), axis=1)
    chosen = np.full(len(tasks), np.nan)
    start: Checkpoint | None = None
    for row, number in enumerate(WEIGHTS, 1):
        if not np.isnan(chosen).any():
            break
        weight = np.full(len(tasks), number)
        mark = f"-w{number:g}"
        result = folder.load(piece, seeds[0], mark)
        if result is None:
            start = start or started(piece, tasks, seeds)
            result = folder.keep(train_and_measure(piece, tasks, seeds, weight, start), mark)
            print(mark, summary(result), flush=True)
        medians[row] = np.median(getattr(result, column), axis=1)
        chosen[np.isnan(chosen) & (medians[row] <= SMALL * medians[0])] = number
    return np.where(np.isnan(chosen), WEIGHTS[-1], chosen), medians


def summary(result: PieceResult) -> str:
    """Say in one line what came out."""
    parts = [
        f"{task} {100 * a.mean():.1f} K {np.median(k):.2g}"
        for task, a, k in zip(result.tasks, result.accuracy, result.total, strict=True)
    ]
    return f"{result.piece.name} s{result.seeds[0]}: {'; '.join(parts)}"


def joined(parts: list[PieceResult]) -> PieceResult:
    """Return several results of one piece as one in single precision, typical ones of the first."""
    first, *_ = parts
    columns: dict[str, Any] = {
        name: _single(np.concatenate([getattr(part, name) for part in parts], axis=1))
        for name, value in vars(first).items()
        if isinstance(value, np.ndarray) and value.ndim == 2 and name != "typical"
    }
    if not first.piece.is_shown:
        columns["state"] = {}
    return replace(first, seeds=np.concatenate([part.seeds for part in parts]), **columns)


def _single(array: np.ndarray) -> np.ndarray:
    """Return floats in single precision, beyond it infinite, and counts in 16 bits."""
    with np.errstate(over="ignore"):
        kinds = {np.dtype(np.float64): np.float32, np.dtype(np.int64): np.int16}
        return array.astype(kinds.get(array.dtype, array.dtype))


def bundle(folder: Folder, file: Path = STUDY_FILE) -> PriceStudy:
    """Write all results on the deciding seeds, and the medians by which weights were chosen."""
    found: dict[Piece, list[PieceResult]] = {}
    for path in sorted(folder.path.glob("*.safetensors")):
        result = load_record(PieceResult, path, "holds no piece")
        seeds = DECIDING_SEEDS if result.piece.plane is None else PLANE_SEEDS
        if result.seeds[0] in seeds:
            found.setdefault(result.piece, []).append(result)
    order = dict.fromkeys(pieces_in_order())  # two gates share ungated models
    results = [joined(found[piece]) for piece in order if piece in found]
    chosen = {}
    for path in sorted(folder.path.glob("chosen-*.npy")):
        chosen[path.stem.removeprefix("chosen-")] = np.load(path)
    study = PriceStudy(tuple(results), chosen)
    save_record(file, study)
    return study


# --- What is done, in order -----------------------------------------------------------------------


def first_tries(gate: str, model_dim: int) -> list[Piece]:
    """Return the pieces of one architecture on all tasks: without a gate, gated, and priced."""
    free = Piece(gate, model_dim)
    pieces = [Piece(NONE, model_dim), free]
    if model_dim == 2:  # every map into the plane has K = 0: nothing to pay for
        return pieces
    pieces += [replace(free, price=price) for price in ("K", "area", "bending")]
    return pieces


def second_tries(gate: str, model_dim: int) -> list[Piece]:
    """Return the pieces on tasks with islands alone: four times the steps, n = 3 and n = 8."""
    if model_dim == 2:
        return []
    free = Piece(gate, model_dim)
    return [
        replace(piece, longer=MORE, value_count=count)
        for count in (3, MORE_VALUES)
        for piece in (Piece(NONE, model_dim), free, replace(free, price="K"))
    ]


def plane_tries(gate: str, model_dim: int) -> list[Piece]:
    """Return the pieces of a headwise gate whose values' plane passes through 0, and does not."""
    if gate != "headwise":
        return []
    planes = [Piece(gate, model_dim, plane=distance) for distance in PLANES]
    return [Piece(NONE, model_dim, plane=PLANES[0]), *planes]


def pieces_in_order() -> Iterator[Piece]:
    """Yield all pieces: first tries of all architectures, then second ones, then planes."""
    for tries in (first_tries, second_tries, plane_tries):
        for gate, model_dim in ARCHITECTURES:
            yield from tries(gate, model_dim)


def run(folder: Folder) -> None:
    """Do what is missing: weights, then deciding seeds, 32 at a time, first tries before second."""
    folder.path.mkdir(parents=True, exist_ok=True)
    weights: dict[tuple[str, int], dict[str, np.ndarray]] = {}
    for gate, model_dim in ARCHITECTURES:
        if model_dim > 2:
            weights[gate, model_dim] = weights_of(folder, gate, model_dim)
    for tries, tasks, deciding in (
        (first_tries, TASKS, DECIDING_SEEDS),
        (second_tries, WITH_ISLANDS, DECIDING_SEEDS),
        (plane_tries, TASKS, PLANE_SEEDS),
    ):
        for at in range(0, len(deciding), SEEDS_TOGETHER):
            seeds = tuple(deciding[at : at + SEEDS_TOGETHER])
            for gate, model_dim in ARCHITECTURES:
                paid = weights.get((gate, model_dim), {})
                some = {price: x[: len(tasks)] for price, x in paid.items()}
                for count in (3, MORE_VALUES):
                    pieces = [x for x in tries(gate, model_dim) if x.value_count == count]
                    for _ in run_pieces(folder, pieces, tasks, seeds, some):
                        pass


def weights_of(folder: Folder, gate: str, model_dim: int) -> dict[str, np.ndarray]:
    """Return the weights (T,) of each price, chosen on seeds 0 to 15."""
    weights = {}
    for price in ("K", "bending"):
        piece = Piece(gate, model_dim, price)
        weights[price], medians = choose_weights(folder, piece)
        np.save(folder.path / f"chosen-{piece.name}.npy", medians)
    free = folder.load(Piece(gate, model_dim), RULE_SEEDS[0])
    assert free is not None
    total, area = (np.median(x, axis=1) for x in (free.total, free.area))
    weights["area"] = weights["K"] * total / area
    return weights


def again(stored: PieceResult) -> Iterator[PieceResult]:
    """Train a bundled piece again on its own seeds and weights, as many together as were then.

    On the same processor, with the same torch, every weight has the bits that it had; on another
    one rounding differs, and trainings part.
    """
    for at in range(0, len(stored.seeds), SEEDS_TOGETHER):
        seeds = tuple(stored.seeds[at : at + SEEDS_TOGETHER].tolist())
        paid = stored.piece.price != NO_PRICE
        start = started(stored.piece, stored.tasks, seeds) if paid else None
        yield train_and_measure(stored.piece, stored.tasks, seeds, stored.weight, start)


def main() -> None:
    """Run, bundle, or repeat, as the arguments say."""
    parser = argparse.ArgumentParser(prog="python -m gating_core.claims.price_study")
    parser.add_argument("command", choices=("run", "bundle", "again"))
    parser.add_argument("what", metavar="FOLDER or PIECE")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.command == "run":
        run(Folder(Path(options.what)))
    elif options.command == "bundle":
        bundle(Folder(Path(options.what)))
    else:
        pieces = {x.piece.name: x for x in price_study().results}
        if options.what not in pieces:
            parser.error(f"no piece {options.what}; there are {', '.join(pieces)}")
        print(summary(pieces[options.what]), "(bundled)")
        print(summary(joined([*again(pieces[options.what])])), "(now)")


if __name__ == "__main__":
    main()
