"""Measure the gallery's cases and draw their tiles, and write both to ``assets/gates``.

python -m ui.gates

Tiles are drawn off-screen by PyVista, coloured by K on the page's scale, lit from the same side,
with the chart's grid lines.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gating_core.geometry import square_grid
from gating_core.theory import GALLERY, MeasuredGate, measure_gate
from ui.drawing import palette
from ui.drawing.camera import best_camera
from ui.drawing.colours import scale_of
from ui.drawing.lines import GRID_STEP, triangles
from ui.gates.frames import GRID_SIZE
from ui.gates.shipped import FOLDER, numbers_of, picture_file, save

SIZE = (240, 150)  # pixels: twice of what is shown
LIGHT = (1e5, 1e5, 1e5)  # as on the page
AMBIENT, DIFFUSE = 0.75, 0.45
OVERSAMPLED = 3  # times as many pixels each way, of which one is made
MARGIN = 1.06  # around what is drawn


def draw_tile(measured: MeasuredGate, path: Path) -> None:
    """Draw the surface of a measured gate as a PNG with a transparent background."""
    import pyvista  # here: seconds to import, and no page needs it

    surface = measured.surface
    values = surface.values[0]
    size = len(values)
    faces = np.c_[np.full(2 * (size - 1) ** 2, 3), triangles(size)]
    mesh = pyvista.PolyData(values.reshape(-1, 3), faces.ravel())
    scale = scale_of("curvature", [surface.known[0]])
    shade = np.clip(scale.apply(surface.known[0]), scale.low, scale.high)
    share = (np.nan_to_num(shade).ravel() - scale.low) / (scale.high - scale.low)
    mesh["colour"] = _colours(share, scale.colours)
    plotter = pyvista.Plotter(
        off_screen=True, window_size=[OVERSAMPLED * x for x in SIZE], lighting="none"
    )
    plotter.add_mesh(
        mesh, scalars="colour", rgb=True, ambient=AMBIENT, diffuse=DIFFUSE, smooth_shading=True
    )
    for index in range(0, size, GRID_STEP):
        for line in (values[index], values[:, index]):
            plotter.add_mesh(
                pyvista.lines_from_points(line),
                color=palette.GRID_LINE,
                line_width=OVERSAMPLED,
                lighting=False,
            )
    plotter.add_light(pyvista.Light(position=LIGHT, light_type="scene light"))
    _aim(plotter, values.reshape(-1, 3), best_camera([values])["eye"])
    picture = np.asarray(plotter.screenshot(transparent_background=True, return_img=True))
    plotter.close()
    _save(picture, path)


def _aim(plotter: Any, points: np.ndarray, eye: dict[str, float]) -> None:
    """From afar in the direction ``eye``, so near that the ``points`` (M, 3) fill the picture."""
    towards = np.array([eye[x] for x in "xyz"])
    towards /= np.linalg.norm(towards)
    across = np.cross([0.0, 0.0, 1.0], towards)
    across /= np.linalg.norm(across)
    flat = points @ np.stack([across, np.cross(towards, across), towards], 1)
    low, high = flat.min(0), flat.max(0)
    middle = (low + high) / 2 @ np.stack([across, np.cross(towards, across), towards])
    far = 10 * float((high - low).max())
    plotter.camera_position = [tuple(middle + far * towards), tuple(middle), (0.0, 0.0, 1.0)]
    plotter.enable_parallel_projection()
    width, height, _ = high - low
    plotter.camera.parallel_scale = MARGIN * max(height, width * SIZE[1] / SIZE[0]) / 2
    plotter.reset_camera_clipping_range()


def _colours(share: np.ndarray, scale: palette.Scale) -> np.ndarray:
    """(M, 3) bytes: the colours of ``scale`` at shares (M,) of it."""
    stops = [position for position, _ in scale]
    rows = np.array([[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for _, colour in scale])
    mixed = [np.interp(share, stops, column) for column in rows.T]
    return np.stack(mixed, -1).round().astype(np.uint8)


def _save(picture: np.ndarray, path: Path) -> None:
    from PIL import Image  # Streamlit brings it; no page needs it

    Image.fromarray(picture).resize(SIZE, Image.Resampling.LANCZOS).save(path, optimize=True)


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    grid = square_grid(GRID_SIZE)
    gates = {name: measure_gate(case, 1.0, grid) for name, case in GALLERY.items()}
    save({name: numbers_of(gate.whole, gate.curvature_range) for name, gate in gates.items()})
    for name, gate in gates.items():
        draw_tile(gate, picture_file(name))


if __name__ == "__main__":
    main()
