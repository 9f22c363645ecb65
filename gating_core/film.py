"""What is there to see along a run? Surfaces, decision curves and data of one seed, frame by frame.

Shapes: T frames, R x C grid points (R = C), D model dimension, A drawn axes (2 or 3), K classes,
P data points. What is drawn is float32.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from gating_core.axes import DRAWN, Axes, coordinate_axes, principal_axes
from gating_core.config import check_choice, check_integer
from gating_core.reel import Reel, reel, thinned
from gating_core.runs import TrainedRun
from gating_core.sample import square_grid
from gating_core.views import zero_curve

GRID_SIZE = 41
DRAWN_POINTS = 200  # of the training and of the test points each
PLANE_TOLERANCE = 0.01  # of the largest margin: how far the drawn plane may miss the classifier
COARSE = 4  # every fourth grid point along each side finds the principal components


@dataclass(frozen=True, eq=False)
class FilmSide:
    """One variant along the run.

    ``margin`` is the logit of class 1 less that of class 0; with more classes the largest logit
    less the second. ``probability`` is what the classifier gives class 1, with more classes the
    ``likeliest``. ``curve`` is the decision curve, x1, x2 and then its points on the surface,
    pieces parted by NaN. The classifier's plane is ``normal . y + offset = 0`` in the drawn axes;
    it is ``honest`` where nothing that it decides lies in other directions, and there is none with
    more than two classes. ``share`` of the surface's variance is in the drawn axes.
    """

    variant: str
    axes: Axes
    surface: np.ndarray  # (T, R, C, A)
    margin: np.ndarray  # (T, R, C)
    probability: np.ndarray  # (T, R, C)
    likeliest: np.ndarray  # (T, R, C) uint8
    curve: np.ndarray  # (T, M, 2 + A)
    train_values: np.ndarray  # (T, P, A)
    test_values: np.ndarray  # (T, P, A)
    normal: np.ndarray  # (T, A)
    offset: np.ndarray  # (T,)
    honest: np.ndarray  # (T,) bool
    share: np.ndarray  # (T,)


@dataclass(frozen=True, eq=False)
class Film:
    """One seed's models along a run; ``frames`` says which of the run's frames are here.

    Sides of the same D share their axes. Points and labels are those that are drawn.
    """

    seed: int
    frames: np.ndarray  # (T,)
    steps: np.ndarray  # (T,)
    axis: np.ndarray  # (R,)
    sides: tuple[FilmSide, ...]
    train_points: np.ndarray  # (P, 2)
    train_labels: np.ndarray  # (P,)
    test_points: np.ndarray  # (P, 2)
    test_labels: np.ndarray  # (P,)

    @property
    def nbytes(self) -> int:
        """How much there is to send."""
        parts = [self, *self.sides]
        arrays = [value for part in parts for value in vars(part).values()]
        return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))


def film(
    run: TrainedRun, variants: Sequence[str], member: int, grid_size: int = GRID_SIZE
) -> Iterator[Film | None]:
    """The film of the ``variants`` for one member (a place among the seeds).

    Yields ``None`` now and then, and at the end the `Film`. A run of more than 48 frames is
    thinned out evenly. ``ValueError`` for variants and members that the run has not.
    """
    for name in variants:
        check_choice("variant", name, run.variants)
    check_integer("member", member, 0, len(run.setting.seeds) - 1)
    return _film(run, variants, member, grid_size)


def _film(
    run: TrainedRun, variants: Sequence[str], member: int, grid_size: int
) -> Iterator[Film | None]:
    grid, task = square_grid(grid_size), run.task
    frames = thinned(len(run.frames))
    drawn = slice(0, DRAWN_POINTS)
    data = [task.train_points[member, drawn], task.test_points[member, drawn]]
    points = torch.cat([grid.points, *map(torch.from_numpy, data)])
    reels = []
    for name in variants:
        reels.append((yield from reel(run.variants[name], member, frames, points)))
    sides = []
    for name, shown, axes in zip(variants, reels, _axes(reels, grid_size), strict=True):
        sides.append((yield from _side(name, shown, axes, grid.axis.numpy(), len(data[0]))))
    yield Film(
        seed=run.setting.seeds[member],
        frames=frames,
        steps=run.steps[frames],
        axis=grid.axis.numpy().astype(np.float32),
        sides=tuple(sides),
        train_points=data[0].astype(np.float32),
        train_labels=task.train_labels[member, drawn],
        test_points=data[1].astype(np.float32),
        test_labels=task.test_labels[member, drawn],
    )


def _axes(reels: list[Reel], size: int) -> list[Axes]:
    """The axes of each side; sides of the same D > 3 have their principal components together."""
    rows = np.arange(size**2).reshape(size, size)[::COARSE, ::COARSE].ravel()
    found: dict[int, Axes] = {}
    for dim in {shown.values.shape[-1] for shown in reels}:
        alike = [shown.values[:, rows] for shown in reels if shown.values.shape[-1] == dim]
        clouds = [values.reshape(-1, dim) for values in alike]
        found[dim] = coordinate_axes(dim) if dim <= DRAWN else principal_axes(clouds)
    return [found[shown.values.shape[-1]] for shown in reels]


def _side(
    name: str, shown: Reel, axes: Axes, axis: np.ndarray, train_count: int
) -> Generator[None, None, FilmSide]:
    size = len(axis)
    on_grid, begin, end = slice(0, size**2), size**2, size**2 + train_count
    values = axes.project(shown.values)
    surface = values[:, on_grid].reshape(-1, size, size, values.shape[-1])
    logits = shown.logits[:, on_grid].reshape(-1, size, size, shown.logits.shape[-1])
    curves = []
    for frame in range(len(logits)):
        curves.append(_curve(logits[frame], axis, surface[frame]))
        yield
    curve = np.full((len(curves), max(map(len, curves)), curves[0].shape[-1]), np.nan)
    for frame, pieces in enumerate(curves):
        curve[frame, : len(pieces)] = pieces
    margin, probability, likeliest = _decided(logits)
    normal, offset, honest = _plane(shown, axes, surface, margin)
    return FilmSide(
        variant=name,
        axes=axes,
        surface=surface.astype(np.float32),
        margin=margin.astype(np.float32),
        probability=probability.astype(np.float32),
        likeliest=likeliest.astype(np.uint8),
        curve=curve.astype(np.float32),
        train_values=values[:, begin:end].astype(np.float32),
        test_values=values[:, end:].astype(np.float32),
        normal=normal.astype(np.float32),
        offset=offset.astype(np.float32),
        honest=honest,
        share=np.array([axes.share(frame) for frame in shown.values[:, on_grid]], np.float32),
    )


def _decided(logits: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Margin, probability and likeliest class of logits (..., K), as `FilmSide` has them."""
    ranked = np.sort(logits, -1)
    powers = np.exp(logits - ranked[..., -1:])
    probabilities = powers / powers.sum(-1, keepdims=True)
    likeliest = logits.argmax(-1)
    if logits.shape[-1] == 2:
        return logits[..., 1] - logits[..., 0], probabilities[..., 1], likeliest
    return ranked[..., -1] - ranked[..., -2], probabilities.max(-1), likeliest


def _curve(logits: np.ndarray, axis: np.ndarray, surface: np.ndarray) -> np.ndarray:
    """(M, 2 + A): where the likeliest class changes; logits (R, C, K)."""
    count = logits.shape[-1]
    pieces = []
    for own in range(1, count):  # every border has a side that is not class 0
        others = np.delete(logits, own, -1).max(-1)
        pieces.append(np.concatenate(zero_curve(logits[..., own] - others, axis, surface), -1))
    return np.concatenate(pieces)


def _plane(
    shown: Reel, axes: Axes, surface: np.ndarray, margin: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Normal (T, A), offset (T,) and honesty (T,) of the classifier's plane in the drawn axes."""
    frames, drawn = len(surface), surface.shape[-1]
    if shown.bias.shape[-1] != 2:
        nothing = np.full((frames, drawn + 1), np.nan)
        return nothing[:, :-1], nothing[:, -1], np.zeros(frames, dtype=bool)
    across = shown.weight[..., 1] - shown.weight[..., 0]  # (T, D)
    offset = shown.bias[:, 1] - shown.bias[:, 0] + across @ axes.origin
    normal = across @ axes.basis
    missed = np.einsum("trca,ta->trc", surface, normal) + offset[:, None, None] - margin
    worst, largest = (np.abs(x).max((1, 2)) for x in (missed, margin))
    return normal, offset, worst <= PLANE_TOLERANCE * largest
