"""Decision boundary's picture: two models as they learn, frame by frame, and curves beside them.

Shapes: T frames (snapshots of a run), R x C grid points.
"""

from __future__ import annotations

import numpy as np

from gating_core.experiments.comparison import ClassifierFrames, DrawnData
from ui.decision_boundary.curves import Curve, curves_panel
from ui.drawing import palette
from ui.drawing.axes import Axes
from ui.drawing.classified import (
    Look,
    class_colours,
    curvature_scale,
    sheet_arrays,
    sheet_panels,
    sheets_camera,
    style_of,
)
from ui.drawing.colours import ColourScale
from ui.drawing.panels import View, cells
from ui.drawing.sheet import Sheet
from ui.foreign import in_plot

PAINTS = ("class", "curvature")
SIDES = ("left", "right")


def film_view(
    sides: dict[str, ClassifierFrames],
    data: DrawnData,
    steps: np.ndarray,
    axes: dict[str, Axes],
    curves: list[Curve],
    paint: str = "class",
    discrete: bool = False,
    tested: bool = True,
    gaussian: dict[str, np.ndarray] | None = None,
) -> View:
    """Both sides' surfaces and input planes, and the curves with the current one of ``steps`` (T,).

    ``paint`` "class" shows the classifier; "curvature" shows ``gaussian``, K (T, R, C) by side, on
    one scale, neutral and hatched where it is NaN: unresolved. A side that is not in it has not
    been measured yet and is neutral. ``discrete`` shows the likeliest class instead of its
    probability; ``tested`` shows the test points too.
    """
    if paint not in PAINTS:
        raise ValueError(f"paint is {paint!r}; it must be one of {PAINTS}")
    known = (gaussian or {}) if paint == "curvature" else {}
    by_class = paint == "class"
    if by_class:
        scale = ColourScale(palette.class_scale(data.colours), 0.0, data.class_count - 1.0)
    else:
        scale = curvature_scale([field[-1] for field in known.values()], asinh=True)
    reading = _reading(data) if by_class else "K is not measured yet"
    look = Look(style_of(scale), reading, tested=tested, filled=not by_class)
    arrays: dict[str, np.ndarray] = {"axis": data.axis, **cells(len(data.axis))}
    framed: dict[str, np.ndarray] = {}
    columns = []
    sheets: dict[str, Sheet] = {}
    for name, frames in sides.items():
        field = known.get(name)
        # Between classes 0 and 2 there is no class 1: then no colours are between two.
        parted = by_class and data.class_count > 2
        shown = class_colours(frames.logits, discrete) if by_class else _neutral(frames)
        if field is not None:  # K beyond the scale has the colour of its end
            shown = scale.apply(np.nan_to_num(field, nan=0.0).clip(*scale.ends))
        fine = None
        if by_class and frames.fine_logits is not None:
            fine = class_colours(frames.fine_logits, discrete)
        corners = _triangle(frames, axes[name])
        sheet = sheets[name] = Sheet(
            name, frames, data, axes[name], shown, parted, fine, field, corners, labelled=True,
            grounded=by_class,
        )  # fmt: skip
        moving, fixed = sheet_arrays(sheet)
        arrays, framed = arrays | fixed, framed | moving
        columns.append(sheet_panels(sheet, look))
    framed["now"] = np.repeat(steps[:, None], 2, 1).astype(float)
    columns.append([curves_panel(steps, curves, arrays)])
    return View(
        columns=columns,
        arrays=arrays | framed,
        framed=frozenset(framed),
        frames=len(steps),
        camera=sheets_camera(list(sheets.values())),
        colour_range=scale.ends,
        beyond=scale.beyond,
    )


def _triangle(frames: ClassifierFrames, axes: Axes) -> np.ndarray | None:
    """(T, 3, 3): the flat space of averages of three values, where the surface is in it."""
    if frames.averaged is None or frames.averaged.shape[1] != 3:
        return None
    return axes.project(frames.averaged)


def _neutral(frames: ClassifierFrames) -> np.ndarray:
    return np.zeros(frames.logits.shape[:3])


def _reading(data: DrawnData) -> str:
    """What a point of the chart says of its class."""
    names = [in_plot(name) for name in data.names]
    if data.class_count == 2:
        return f"p({names[1]}) = %{{z:.2f}}"
    return f"%{{z}} of {', '.join(f'{place}: {name}' for place, name in enumerate(names))}"
