"""Surfaces drawn in three dimensions, some as shadows: two trained ones, and three to cut.

Shadows are upright on the direction of a classifier.

The two trained models of D = 16 solve the circle, one without and one with a price on curvature.
Both have the setting of the first page with D = 16; the same seed has the same initial weights and
points. So the price alone differs. ``assets/bent`` is data: commit ee773080 trained sixteen seeds
of both, with the price on |K| dA at weight .3, and kept the seed nearest to all medians of accuracy
and total curvature of both.

A visitor cuts the other three with a plane: a trained layer, a saddle, a flat torus. All are about
as large as the unit sphere, in coordinates of which the first three are drawn; the cutting plane
(a, b, c, d), class 1 where a x + b y + c z + d > 0, depends on these alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import torch

from gating_core.assets import ASSETS
from gating_core.attention.stack import Attention, Classifier, restore
from gating_core.checks import check_choice
from gating_core.experiments.comparison.frames import strengths_model
from gating_core.experiments.comparison.presets import load_preset
from gating_core.experiments.comparison.setting import FIRST_SETTING, variant_config
from gating_core.geometry.curvature import curvature
from gating_core.geometry.grid import Grid, square_grid
from gating_core.geometry.integrals import Integral
from gating_core.geometry.islands import Island, islands, may_fold
from gating_core.jets.second_order import second_order_jet
from gating_core.records import load_record


@dataclass(frozen=True, eq=False)
class Upright:
    """A similarity of R^D and a projection: places are (y - ``centre``) @ ``axes``.T / ``unit``.

    ``axes`` (3, D) are orthonormal rows: the two widest directions of the surface on which the
    classifier does not depend, and the one along which it grows. ``unit`` is the surface's root
    mean square distance from its ``centre`` (D,).
    """

    centre: torch.Tensor
    axes: torch.Tensor
    unit: float

    def __call__(self, values: torch.Tensor) -> torch.Tensor:
        """(..., 3): the places of ``values`` (..., D)."""
        return (values - self.centre) @ self.axes.mT / self.unit


def upright(values: torch.Tensor, normal: torch.Tensor) -> Upright:
    """Return the shadow of a surface with sampled ``values`` (N, D), D >= 3, along ``normal`` (D,).

    For D = 3 it is a similarity: nothing is lost.
    """
    centre = values.mean(0)
    centred = values - centre
    up = normal / torch.linalg.vector_norm(normal)
    flat = centred - torch.outer(centred @ up, up)
    across, along = torch.linalg.svd(flat, full_matrices=False).Vh[:2]
    if values.shape[1] == 3:
        along = torch.linalg.cross(up, across)  # right-handed
    unit = float(centred.square().sum(1).mean().sqrt())
    return Upright(centre, torch.stack([across, along, up]), unit)


@dataclass(frozen=True, eq=False)
class Shadow:
    """The shadow of a classified surface on a grid of R x R points of the chart.

    ``places`` (R, R, 3) are those of `upright`, in ``unit``; ``height`` (R, R) of the classifier is
    positive for class 1. ``gaussian`` (R, R) is K times the squared unit, 0 where K is within its
    error.
    """

    places: np.ndarray
    height: np.ndarray
    gaussian: np.ndarray
    unit: float


def cast_shadow(attention: Attention, normal: torch.Tensor, offset: float, size: int) -> Shadow:
    """Cast the shadow of one surface, an ensemble of one, cut by <``normal``, y> + ``offset``."""
    jet = second_order_jet(attention, square_grid(size).points, "rigorous")
    field, values = curvature(jet), jet.value[0]
    shadow = upright(values, normal)
    places, height, gaussian = (
        x.float().numpy().reshape(size, size, *x.shape[1:])
        for x in (
            shadow(values),
            values @ normal + offset,
            torch.where(field.decided, field.gaussian, 0.0)[0] * shadow.unit**2,
        )
    )
    return Shadow(places, height, gaussian, shadow.unit)


# --- Two trained surfaces -------------------------------------------------------------------------

PAIR_FILE = ASSETS / "bent" / "pair.safetensors"
PAIR_DIM = 16


@dataclass(frozen=True, eq=False)
class PricedModel:
    """A trained model, its seed's results beside those of all S seeds, and its shadow.

    ``places``, ``height`` and ``gaussian`` are those of its `Shadow`. ``needed_mean`` and ``mean``
    are |H| at the point where a sphere touches the island, per unit of the picture.
    """

    seed: int
    accuracies: np.ndarray  # (S,): test accuracies of all seeds
    totals: np.ndarray  # (S,): integrals of |K| dA on a coarse grid
    accuracy: float
    total: Integral  # of |K| dA
    bending: Integral  # of |II|^2 dA
    needed_mean: float
    mean: float
    places: np.ndarray
    height: np.ndarray
    gaussian: np.ndarray
    state: dict[str, np.ndarray]

    def model(self) -> Classifier:
        """Restore the classifier, an ensemble of one."""
        setting = replace(FIRST_SETTING, model_dim=PAIR_DIM)
        config = variant_config("sigmoid", setting.base, setting.class_count)
        return restore(config, (self.seed,), self.state)


@cache
def load_pair() -> dict[str, PricedModel]:
    """Return both bundled models by their name, "no price" and "price on K"."""
    found: dict[str, PricedModel] = load_record(
        dict[str, PricedModel], PAIR_FILE, "holds no pair of priced models"
    )
    return found


# --- Surfaces to cut ------------------------------------------------------------------------------

Map = Callable[[torch.Tensor], torch.Tensor]
Plane = Sequence[float]  # (4,), (a, b, c) of length 1
RUN, SEED = "circle", 47  # of the first page's run, the seed that `member_score` prefers
TURN = 1.65  # radians of each circle of the torus, to either side


@dataclass(frozen=True, eq=False)
class Example:
    """A ``function`` (N, 2) -> (N, D) and the ``plane`` (4,) that cuts it at first."""

    function: Map
    plane: tuple[float, ...]


def gated_layer() -> Example:
    """A gated layer of the first page's run, and its classifier's own plane."""
    run = load_preset(RUN)
    ensemble = run.variants[run.setting.compared[1]].ensemble
    model = strengths_model(ensemble, run.setting.seeds.index(SEED), [1.0])
    values = model.attention(square_grid().points)[0]
    normal = model.weight[0, :, 1] - model.weight[0, :, 0]
    offset = float(model.bias[0, 1] - model.bias[0, 0])
    place = upright(values, normal)
    length = float(torch.linalg.vector_norm(normal))
    level = (float(normal @ place.centre) + offset) / (length * place.unit)

    def function(points: torch.Tensor) -> torch.Tensor:
        return place(model.attention(points)[0])

    return Example(function, (0.0, 0.0, 1.0, level))


def saddle() -> Example:
    """(u, v, 0.6 (u^2 - v^2)), K < 0 everywhere."""

    def function(points: torch.Tensor) -> torch.Tensor:
        u, v = points.unbind(-1)
        return torch.stack([u, v, 0.6 * (u * u - v * v)], -1)

    return Example(function, (0.0, 0.0, 1.0, -0.15))


def flat_torus() -> Example:
    """Part of (cos u, sin u, cos v, sin v), K = 0, whose shadow is a dome.

    The coordinates are sin u, sin v, (cos u + cos v) / sqrt(2) and (cos u - cos v) / sqrt(2), the
    third one shifted. Turned by 45 degrees towards the fourth it is cos u, and the shadow a roll.
    """

    def function(points: torch.Tensor) -> torch.Tensor:
        u, v = (TURN * points).unbind(-1)
        up, aside = (u.cos() + v.cos()) / 2**0.5, (u.cos() - v.cos()) / 2**0.5
        return torch.stack([u.sin(), v.sin(), up - 0.7, aside], -1)

    return Example(function, (0.0, 0.0, 1.0, -0.25))


EXAMPLES = {"gated layer": gated_layer, "saddle": saddle, "flat torus": flat_torus}


@cache
def _example(name: str) -> Example:
    check_choice("name", name, EXAMPLES)
    return EXAMPLES[name]()


def first_plane(name: str) -> tuple[float, ...]:
    """Return the plane (4,) that cuts the example ``name`` at first."""
    return _example(name).plane


@dataclass(frozen=True, eq=False)
class CutSurface:
    """An example at R x R grid points, with K where its sign is known, 0 where it is within error.

    ``values`` (R, R, D), ``gaussian`` (R, R, 1 / length^2), ``positive``, max(K, 0) dA per area of
    the chart, ``mean`` |H| (1 / length), and ``thin``: whether the map may fold around there.
    """

    values: np.ndarray
    gaussian: np.ndarray
    positive: np.ndarray
    mean: np.ndarray
    thin: np.ndarray


def sample_example(name: str, grid: Grid) -> CutSurface:
    """Measure the example ``name``, a key of `EXAMPLES`, on ``grid``."""
    jet = second_order_jet(_example(name).function, grid.points, "rigorous")
    field = curvature(jet)
    known = torch.where(field.decided, field.gaussian, 0.0)
    shape = tuple(grid.weights.shape)
    return CutSurface(
        values=jet.value.unflatten(0, shape).numpy(),
        gaussian=known.reshape(shape).numpy(),
        positive=(known.clamp(min=0) * field.area_element).reshape(shape).numpy(),
        mean=field.mean_norm.reshape(shape).numpy(),
        thin=_thin(_example(name).function, len(grid.axis)),
    )


def _thin(function: Map, size: int) -> np.ndarray:
    """(R, R): where a surface may fold between a point of the grid and its neighbours.

    Seen on a grid three times as fine, because on this one the answer would be yes too often.
    """
    fine = 3 * (size - 1) + 1
    jet = second_order_jet(function, square_grid(fine).points)
    thin = may_fold(jet, torch.full((2,), 1 / (fine - 1), dtype=torch.float64))
    near = torch.nn.functional.max_pool2d(thin.double().reshape(1, 1, fine, fine), 3, 3, 1)
    return near[0, 0].bool().numpy()


def cut_example(name: str, plane: Plane) -> Island | None:
    """Return the highest island that ``plane`` cuts out of an example, on either of its sides."""
    example = _example(name)
    dim = example.function(torch.zeros(1, 2, dtype=torch.float64)).shape[-1]
    normal = torch.zeros(dim, dtype=torch.float64)
    normal[:3] = torch.tensor(plane[:3], dtype=torch.float64)
    found = [
        island
        for side in (1.0, -1.0)
        for island in islands(example.function, side * normal, side * plane[3])
    ]
    return max(found, key=lambda island: island.height, default=None)
