"""The arrays that are drawn and read off of one variant of a model, strength by strength.

Shapes: T frames (strengths of the gate), R x C grid points, M points of a line, in which rows of
NaN separate pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gating_core.attention import AttentionConfig
from gating_core.experiments.specimen import MeasuredSpecimen
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
from ui.drawing.surfaces import colour_arrays, crease_curves, surface_arrays
from ui.manifold.settled import OwnAxes, Settled, own_axes

SIMPLEX = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])  # corners of the triangle
MOST_READ = 8  # weights or gates that are read off at a point
Variants = Sequence[Sequence[MeasuredSpecimen]]  # each at one or more strengths
Fields = Sequence[Sequence[np.ndarray]]
Readout = list[tuple[str, list[str]]]


def draws_plane(ungated: MeasuredSpecimen) -> bool:
    """Return whether lines are drawn that are straight on the ungated sheet: it lies in a plane."""
    values = ungated.surface.values[0]
    return values.shape[-1] > 2 and bool(ungated.surface.flat[0]) and lies_in_a_plane(values)


def draws_simplex(config: AttentionConfig) -> bool:
    """Return whether the weights are drawn as points of a triangle."""
    return config.value_count == 3 and config.layer.weights_on_simplex


def averaged(variant: MeasuredSpecimen) -> np.ndarray | None:
    """(3, D): the last layer's three values, where the outputs are averages of them and no more."""
    config, gate = variant.specimen.config, variant.specimen.config.gate
    plain = not config.residual and config.norm != "post" and not config.output_projection
    plain = plain and (gate is None or gate.position in ("G2", "G3", "G4"))
    plain = plain and config.layer.weights_on_simplex
    return variant.values if plain and config.value_count == 3 and config.heads == 1 else None


@dataclass(frozen=True, eq=False)
class DrawnVariant:
    """One variant: its ``frames`` in the drawn ``axes``, with the ``fields`` (R, C) in colour.

    ``lines`` (M, 2) of the chart are drawn in place of its grid; ``corners`` (T, 3, 3) are the
    three values whose plane the outputs lie in. ``settled`` is there before all strengths are
    measured, and so is ``own``, the axes that the variant is drawn in.
    """

    name: str
    frames: Sequence[MeasuredSpecimen]
    fields: Sequence[np.ndarray]
    axes: Axes
    settled: Settled
    own: OwnAxes
    lines: np.ndarray | None
    corners: np.ndarray | None

    @property
    def flat(self) -> bool:
        """Whether lines are drawn on it that are straight there."""
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
        drawn.append(DrawnVariant(
            name, variants[index], fields[index], axes, settled[index], own, lines,
            None if triangles is None else own.to_own(triangles),
        ))  # fmt: skip
    return drawn


def _corners(frames: Sequence[MeasuredSpecimen], axes: Axes) -> np.ndarray | None:
    """(T, 3, 3): the values in use, where the outputs of all frames are averages of them."""
    values = [average for frame in frames if (average := averaged(frame)) is not None]
    return axes.project(np.stack(values)) if len(values) == len(frames) else None


def _surface_arrays(
    variant: MeasuredSpecimen, values: np.ndarray, field: np.ndarray, lines: np.ndarray | None
) -> Arrays:
    """What is drawn and read off whatever the colours show; hatched where ``field`` is not known.

    Where K is proved to be zero the measured digits are rounding.
    """
    surface = variant.surface
    decided = surface.gaussian_where(surface.decided)[0]
    (crease,) = crease_curves(surface, values[None])
    read_off = {"gaussian": surface.known[0], "error": surface.known_error[0], "field": field}
    drawn = surface_arrays(values, surface.axis, field, decided, lines)
    return read_off | drawn | on_chart(crease=crease[:, :2]) | in_space("crease", crease[:, 2:])


def _inner_arrays(variant: MeasuredSpecimen, layer: int, head: int) -> Arrays:
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
