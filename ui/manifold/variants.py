"""The variants of a model as they are drawn: what is settled of them, and their arrays by strength.

The strengths of a gate are measured while the page is already there. So colours and camera come
from both ends of the dial alone, no gate and a full one, and boxes from where the surfaces of all
strengths lie: that is known at once, for it takes no curvature.

Shapes: T frames (strengths of the gate), R x C grid points, M points of a line, in which rows of
NaN separate pieces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gating_core.attention import AttentionConfig
from gating_core.experiments.instance import NEAR_DEGENERATE, MeasuredInstance, elongation
from ui.drawing.axes import Axes
from ui.drawing.colours import ColourScale
from ui.drawing.lines import (
    Arrays,
    framed,
    grid_lines,
    in_space,
    lies_in_a_plane,
    on_chart,
    plane_lines,
)
from ui.drawing.panels import closed
from ui.drawing.surfaces import TRUE_SIZE, colour_arrays, ridge_curves, surface_arrays

SHORTEST = 2.0  # times as long as broad: what a near-degenerate surface is drawn as
LONGEST = 1e4  # beyond it a surface has no breadth in single precision: it stays a line
ALONG = ("along", "across<sub>1</sub>", "across<sub>2</sub>")  # axes of a stretched picture
SIMPLEX = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])  # corners of the triangle
MOST_READ = 8  # weights or gates that are read off at a point
Variants = Sequence[Sequence[MeasuredInstance]]  # each at one or more strengths
Fields = Sequence[Sequence[np.ndarray]]
Readout = list[tuple[str, list[str]]]


@dataclass(frozen=True, eq=False)
class Settled:
    """A variant at full strength, and by strength the outputs (R, C, D) of all that it has."""

    full: MeasuredInstance
    values: Mapping[float, np.ndarray]


def strength_of(variant: MeasuredInstance) -> float:
    """Return the strength of its gate; 0 without one."""
    gate = variant.instance.config.gate
    return 0.0 if gate is None else gate.strength


def settled_by(frames: Sequence[MeasuredInstance]) -> Settled:
    """Return what ``frames`` settle by themselves, where no more will come."""
    return Settled(frames[-1], {strength_of(x): x.surface.values[0] for x in frames})


@dataclass(frozen=True, eq=False)
class OwnAxes:
    """Axes that a variant is drawn in, ``stretch`` times broader than true.

    A point p of the drawn axes stands at (p - ``middle``) @ ``turn``.
    """

    middle: np.ndarray  # (3,)
    turn: np.ndarray  # (3, 3), columns: along the surface, and across it
    stretch: float

    @property
    def factors(self) -> np.ndarray:
        """(3,): how many times its true size everything is drawn along each axis."""
        return np.array([1.0, self.stretch, self.stretch])

    def to_own(self, points: np.ndarray) -> np.ndarray:
        """(..., 3): ``points`` (..., 3) in these axes, in their true size."""
        return (points - self.middle) @ self.turn if self.stretch > 1 else points

    def as_seen(self, points: np.ndarray) -> np.ndarray:
        """(..., 3): ``points`` (..., 3) of these axes, stretched as they are drawn."""
        return points * self.factors


SHARED_AXES = OwnAxes(np.zeros(3), np.diag(TRUE_SIZE), 1.0)  # those of all variants, true to scale


def own_axes(settled: Settled, axes: Axes) -> OwnAxes:
    """Return the own axes of a variant near-degenerate at full strength, else those of all."""
    values = axes.project(settled.full.surface.values[0])
    times = elongation(values)
    if values.shape[-1] < 3 or not NEAR_DEGENERATE < times < LONGEST:
        return SHARED_AXES
    points = values.reshape(-1, 3)
    middle = points.mean(0)
    turn = np.linalg.svd(points - middle, full_matrices=False)[2].T
    return OwnAxes(middle, turn, float(f"{times / SHORTEST:.2g}"))


# --- What is drawn --------------------------------------------------------------------------------


def draws_plane(ungated: MeasuredInstance) -> bool:
    """Return whether lines are drawn that are straight without a gate: there it lies in a plane."""
    values = ungated.surface.values[0]
    return values.shape[-1] > 2 and bool(ungated.surface.flat[0]) and lies_in_a_plane(values)


def draws_simplex(config: AttentionConfig) -> bool:
    """Return whether the weights are drawn as points of a triangle."""
    return config.value_count == 3 and config.weights_on_simplex


def averaged(variant: MeasuredInstance) -> np.ndarray | None:
    """(3, D): the last layer's three values, where the outputs are averages of them and no more."""
    config, gate = variant.instance.config, variant.instance.config.gate
    plain = not config.residual and config.norm != "post" and not config.output_projection
    plain = plain and (gate is None or gate.position in ("G2", "G3", "G4"))
    plain = plain and config.weights_on_simplex
    return variant.values if plain and config.value_count == 3 and config.heads == 1 else None


@dataclass(frozen=True, eq=False)
class DrawnVariant:
    """One variant: its ``frames`` in the drawn ``axes``, with the ``fields`` (R, C) in colour.

    ``lines`` (M, 2) of the chart are drawn in place of its grid; ``corners`` (T, 3, 3) are the
    three values whose plane the outputs lie in. ``settled`` is there before all strengths are
    measured, and so is ``own``, the axes that the variant is drawn in.
    """

    name: str
    frames: Sequence[MeasuredInstance]
    fields: Sequence[np.ndarray]
    axes: Axes
    settled: Settled
    own: OwnAxes
    lines: np.ndarray | None
    corners: np.ndarray | None

    @property
    def flat(self) -> bool:
        """True if lines are drawn on it that are straight there."""
        return self.lines is not None and all(map(draws_plane, self.frames))

    @cached_property
    def values(self) -> np.ndarray:
        """(T, R, C, 2 or 3): in the axes of the variant."""
        return np.stack([self._drawn(frame.surface.values[0]) for frame in self.frames])

    @cached_property
    def reach(self) -> dict[float, np.ndarray]:
        """(R, C, 2 or 3) by strength: where the surfaces of all strengths lie."""
        return {strength: self._drawn(values) for strength, values in self.settled.values.items()}

    @cached_property
    def full(self) -> np.ndarray:
        """(R, C, 2 or 3): the surface at full strength."""
        return self._drawn(self.settled.full.surface.values[0])

    @property
    def corner_points(self) -> np.ndarray | None:
        """(M, 3): the corners of the triangle of its values, at all strengths."""
        return None if self.corners is None else self.corners.reshape(-1, 3)

    def _drawn(self, values: np.ndarray) -> np.ndarray:
        drawn = self.axes.project(values)
        return self.own.to_own(drawn) if drawn.shape[-1] == 3 else drawn

    def arrays(self, scale: ColourScale) -> Arrays:
        """By name, with a frame axis where there are several frames."""
        rows = [
            _surface_arrays(frame, values, field, self.lines) | colour_arrays(field, scale)
            for frame, values, field in zip(self.frames, self.values, self.fields, strict=True)
        ]
        if self.corners is not None:
            for row, corners in zip(rows, self.corners, strict=True):
                row |= in_space("ring", closed(corners))
        return self._named(rows)

    def inner_arrays(self, layer: int, head: int) -> tuple[Arrays, Readout]:
        """Weights and gates of a ``layer``, and how they are read off."""
        rows = [_inner_arrays(frame, layer, head) for frame in self.frames]
        counts: dict[str, int] = {}
        for key in rows[0]:
            label = key.rstrip("0123456789")
            if not label.startswith("simplex"):
                counts[label] = counts.get(label, 0) + 1
        readout = [
            (label, [f"{self.name}_{label}{i}" for i in range(count)])
            for label, count in counts.items()
        ]
        return self._named(rows), readout

    def _named(self, rows: list[Arrays]) -> Arrays:
        arrays = framed(self.name, rows)
        return arrays if len(rows) > 1 else {key: array[0] for key, array in arrays.items()}


def drawn_variants(
    variants: Variants, fields: Fields, axes: Axes, settled: Sequence[Settled]
) -> list[DrawnVariant]:
    """Return what is drawn of the left and the right variant, with the same lines on both."""
    first, solid = variants[0][0], axes.basis.shape[1] == 3
    corners = [_corners(frames, axes) if solid else None for frames in variants]
    lines = None
    if solid and draws_plane(first):
        triangle = None if corners[0] is None else corners[0][0]
        lines = plane_lines(axes.project(first.surface.values[0]), first.surface.axis, triangle)
    drawn = []
    for index, name in enumerate(("left", "right")[: len(variants)]):
        own, triangles = own_axes(settled[index], axes), corners[index]
        drawn.append(
            DrawnVariant(
                name,
                variants[index],
                fields[index],
                axes,
                settled[index],
                own,
                lines,
                None if triangles is None else own.to_own(triangles),
            )
        )
    return drawn


def _corners(frames: Sequence[MeasuredInstance], axes: Axes) -> np.ndarray | None:
    """(T, 3, 3): the values in use, where the outputs of all frames are averages of them."""
    values = [average for frame in frames if (average := averaged(frame)) is not None]
    return axes.project(np.stack(values)) if len(values) == len(frames) else None


def _surface_arrays(
    variant: MeasuredInstance, values: np.ndarray, field: np.ndarray, lines: np.ndarray | None
) -> Arrays:
    """The arrays that do not depend on the colours; hatched where ``field`` is not known.

    Where K is proved to be zero the measured digits are rounding.
    """
    surface = variant.surface
    decided = surface.gaussian_where(surface.decided)[0]
    (ridge,) = ridge_curves(surface, values[None])
    read_off = {"gaussian": surface.known[0], "error": surface.known_error[0], "field": field}
    drawn = surface_arrays(values, surface.axis, field, decided, lines)
    return read_off | drawn | on_chart(ridge=ridge[:, :2]) | in_space("ridge", ridge[:, 2:])


def _inner_arrays(variant: MeasuredInstance, layer: int, head: int) -> Arrays:
    heads = variant.weights[layer]
    weights = heads[head if head < len(heads) else 0]
    parts = {"α": np.moveaxis(weights, -1, 0)}
    if variant.gates:
        parts["gate"] = variant.gates[layer]
    arrays = {
        f"{label}{i}": x for label, stack in parts.items() for i, x in enumerate(stack[:MOST_READ])
    }
    if weights.shape[-1] == 3:
        flat = weights @ SIMPLEX
        arrays |= in_space("simplex", flat) | in_space("simplex_grid", grid_lines(flat[None])[0])
    return arrays
