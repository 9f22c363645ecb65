"""What numbers are drawn and read off of one side, strength by strength?

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
from ui.drawing.creases import crease_curves
from ui.drawing.lines import border, grid_lines, hatch, lies_in_a_plane, lifted, zero_curve
from ui.drawing.panels import closed
from ui.drawing.sheet import stacked
from ui.manifold.whole import PLAIN, Frame, Whole

SIMPLEX = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])  # corners of the triangle
MOST_READ = 8  # weights or gates that are read off at a point
Arrays = dict[str, np.ndarray]
Readout = list[tuple[str, list[str]]]


def draws_plane(ungated: MeasuredSpecimen) -> bool:
    """Whether lines are drawn that are straight on the ungated sheet: it is flat, in one plane."""
    values = ungated.surface.values[0]
    return values.shape[-1] > 2 and bool(ungated.surface.flat[0]) and lies_in_a_plane(values)


def draws_simplex(config: AttentionConfig) -> bool:
    """Whether the weights are drawn as points of a triangle."""
    return config.value_count == 3 and config.layer.weights_on_simplex


@dataclass(frozen=True, eq=False)
class DrawnSide:
    """One side of the view: ``frames`` in the drawn ``axes``, with the ``fields`` (R, C) in colour.

    ``lines`` (M, 2) of the chart are drawn in place of its grid; ``corners`` (T, 3, 3) are the
    three values whose plane the side lies in. What is settled before all strengths are measured
    stands in ``whole``, and in ``frame`` the axes that the side is drawn in.
    """

    name: str
    frames: Sequence[MeasuredSpecimen]
    fields: Sequence[np.ndarray]
    axes: Axes
    whole: Whole
    frame: Frame = PLAIN
    lines: np.ndarray | None = None
    corners: np.ndarray | None = None

    @property
    def flat(self) -> bool:
        """Whether lines are drawn on it that are straight there."""
        return self.lines is not None and all(map(draws_plane, self.frames))

    @cached_property
    def values(self) -> np.ndarray:
        """(T, R, C, 2 or 3): in the axes of the side."""
        return np.stack([self._placed(frame.surface.values[0]) for frame in self.frames])

    @cached_property
    def reach(self) -> dict[float, np.ndarray]:
        """(R, C, 2 or 3) by strength: where the surfaces of all strengths lie."""
        return {strength: self._placed(values) for strength, values in self.whole.values.items()}

    @cached_property
    def full(self) -> np.ndarray:
        """(R, C, 2 or 3): the surface at full strength."""
        return self._placed(self.whole.full.surface.values[0])

    def _placed(self, values: np.ndarray) -> np.ndarray:
        drawn = self.axes.project(values)
        return self.frame.place(drawn) if drawn.shape[-1] == 3 else drawn

    def arrays(self, scale: ColourScale) -> Arrays:
        """By name, with a frame axis where there are several frames."""
        found = [
            _surface_arrays(frame, values, field, self.lines) | _colour_arrays(field, scale)
            for frame, values, field in zip(self.frames, self.values, self.fields, strict=True)
        ]
        if self.corners is not None:
            for arrays, corners in zip(found, self.corners, strict=True):
                ring = closed(corners)
                arrays |= {f"ring_{x}": ring[:, i] for i, x in enumerate("xyz")}
        return self._named(found)

    def inner_arrays(self, layer: int, head: int) -> tuple[Arrays, Readout]:
        """Weights and gates of a ``layer``, and how they are read off."""
        found = [_inner_arrays(frame, layer, head) for frame in self.frames]
        counts: dict[str, int] = {}
        for key in found[0]:
            label = key.rstrip("0123456789")
            if not label.startswith("simplex"):
                counts[label] = counts.get(label, 0) + 1
        read = [
            (label, [f"{self.name}_{label}{i}" for i in range(count)])
            for label, count in counts.items()
        ]
        return self._named(found), read

    def _named(self, found: list[Arrays]) -> Arrays:
        single = len(found) == 1
        return {
            f"{self.name}_{key}": found[0][key] if single else stacked([x[key] for x in found])
            for key in found[0]
        }


def _surface_arrays(
    side: MeasuredSpecimen, values: np.ndarray, field: np.ndarray, lines: np.ndarray | None
) -> Arrays:
    """What is drawn and read off whatever the colours show; hatched where ``field`` is not known.

    Of a K that is known to be zero the measured digits are rounding.
    """
    surface = side.surface
    axis = surface.axis
    decided = surface.gaussian_where(surface.decided)[0]
    (crease,) = crease_curves(surface, values[None])
    on_surface = {"": values, "edge": lifted(border(axis), axis, values[None])[0]}
    on_surface["grid"] = (
        grid_lines(values[None])[0] if lines is None else lifted(lines, axis, values[None])[0]
    )
    in_chart = {"hatch": hatch(np.isnan(field), axis)}
    for name, curve in (
        ("zero", zero_curve(decided, axis, values)),
        ("crease", (crease[:, :2], crease[:, 2:])),
    ):
        in_chart[name], on_surface[name] = curve
    arrays = {"gaussian": surface.known[0], "error": surface.known_error[0]}
    for name, points in in_chart.items():
        arrays |= {f"{name}_{u}": points[:, i] for i, u in enumerate("uv")}
    for name, points in on_surface.items():
        letters = "xyz"[: values.shape[-1]]
        arrays |= {f"{name}_{x}".lstrip("_"): points[..., i] for i, x in enumerate(letters)}
    return arrays


def _colour_arrays(field: np.ndarray, scale: ColourScale) -> Arrays:
    """The field, what its colours show of it, and the same with no holes for the surface.

    What lies beyond the scale has the colour of its end: said so, and safe for float32.
    """
    colour = np.clip(scale.apply(field), scale.low, scale.high)
    blank = 0.0 if scale.low < 0 < scale.high else scale.low
    return {"field": field, "shade": colour, "colour": np.nan_to_num(colour, nan=blank)}


def _inner_arrays(side: MeasuredSpecimen, layer: int, head: int) -> Arrays:
    heads = side.weights[layer]
    weights = heads[head if head < len(heads) else 0]
    parts = {"α": np.moveaxis(weights, -1, 0)}
    if side.gates:
        parts["gate"] = side.gates[layer]
    arrays = {
        f"{label}{i}": x for label, stack in parts.items() for i, x in enumerate(stack[:MOST_READ])
    }
    if draws_simplex(side.specimen.config):
        flat = weights @ SIMPLEX
        lines = grid_lines(flat[None])[0]
        for i, letter in enumerate("xy"):
            arrays[f"simplex_{letter}"] = flat[..., i]
            arrays[f"simplex_grid_{letter}"] = lines[:, i]
    return arrays
