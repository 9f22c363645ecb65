"""Measure the gallery's cases and draw their tiles, and write both to ``assets/gates``.

python -m ui.gates
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from gating_core.export import picture_pixels
from gating_core.records import save_record
from gating_core.theory import BENT, GALLERY
from ui.drawing.colours import sheet
from ui.drawing.first_view import best_eye
from ui.gates.frames import GateFrame, GateRequest, measure_frames
from ui.gates.gallery import NUMBERS, numbers_of, picture_file

SIZE = (240, 150)  # pixels: twice of what is shown
ROOM = 4  # pixels, around what is drawn
LINE_WIDTH = 14  # of the chart's grid, in pixels of a picture for print


def draw_tile(frame: GateFrame, path: Path) -> None:
    """Draw the surface of a gate as a PNG with a transparent background."""
    is_bent = frame.whole.word == BENT  # and would not look it from where most is seen
    azimuth, elevation = best_eye([frame.values], crossing=is_bent)
    level = math.cos(elevation)
    eye = level * math.cos(azimuth), level * math.sin(azimuth), math.sin(elevation)
    resolved = np.isfinite(frame.known)
    surface = replace(sheet(frame.axis, frame.values, frame.known, resolved, ""), eye=eye)
    picture = Image.fromarray(picture_pixels(surface, line_width=LINE_WIDTH, bar=False))
    drawn = picture.crop(picture.getchannel("A").getbbox())
    drawn = ImageOps.contain(drawn, (SIZE[0] - 2 * ROOM, SIZE[1] - 2 * ROOM))
    tile = Image.new("RGBA", SIZE)
    tile.paste(drawn, ((SIZE[0] - drawn.width) // 2, (SIZE[1] - drawn.height) // 2))
    tile.save(path, optimize=True)


def main() -> None:
    gates = {name: next(measure_frames((1.0,), GateRequest(name))) for name in GALLERY}
    save_record(NUMBERS, {name: numbers_of(gate.whole, gate.range) for name, gate in gates.items()})
    for name, gate in gates.items():
        draw_tile(gate, picture_file(name))


if __name__ == "__main__":
    main()
