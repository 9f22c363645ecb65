"""Measure the gallery's cases and draw their tiles, and write both to ``assets/gates``.

python -m ui.gates
"""

from gating_core.geometry import square_grid
from gating_core.theory import GALLERY, measure_gate
from ui.gates.request import GRID_SIZE
from ui.gates.shipped import FOLDER, numbers_of, picture_file, save
from ui.gates.tile_pictures import draw_tile


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    grid = square_grid(GRID_SIZE)
    gates = {name: measure_gate(case, 1.0, grid) for name, case in GALLERY.items()}
    save({name: numbers_of(gate) for name, gate in gates.items()})
    for name, gate in gates.items():
        draw_tile(gate, picture_file(name))


if __name__ == "__main__":
    main()
