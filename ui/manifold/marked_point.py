"""What is known of the marked point?"""

from __future__ import annotations

from gating_core.experiments.specimen import MeasuredSpecimen
from gating_core.geometry import POINT_TYPES
from ui.common.words import curvature_text, plus_minus, short, vector_text
from ui.manifold.picture import Look
from ui.manifold.words import side_name


def point_rows(sides: list[MeasuredSpecimen], at: tuple[int, int], look: Look) -> dict[str, list]:
    """The table of the marked point: one column a side."""
    rows: dict[str, list] = {"At the marked point": []}
    table = [_point(side, at, look) for side in sides]
    rows["At the marked point"] = list(table[0])
    for side, column in zip(sides, table, strict=True):
        rows[side_name(side)] = [column.get(name, "–") for name in table[0]]
    return rows


def _point(side: MeasuredSpecimen, at: tuple[int, int], look: Look) -> dict[str, str]:
    row, column = at
    surface, axis = side.surface, side.surface.axis
    weights = side.weights[look.layer][:, row, column]
    found = {
        "Chart": f"({axis[column]:z.3f}, {axis[row]:z.3f})",
        "Output y": vector_text(surface.values[0, row, column]),
        "Attention weights": " | ".join(vector_text(head) for head in weights),
        "Gate": "none",
        "K": curvature_text(surface, (0, row, column)),
        "|H|": "unresolved",
        "Principal curvatures": "for D = 3 only" if side.principal is None else "unresolved",
        "Point": POINT_TYPES[side.types[row, column]],
    }
    if side.gates:
        found["Gate"] = vector_text(side.gates[look.layer][:, row, column])
    if surface.resolved[0, row, column]:
        found["|H|"] = short(float(side.mean_norm[row, column]))
        if side.principal is not None and side.principal_error is not None:
            error = float(side.principal_error[row, column])
            pair = (plus_minus(float(k), error) for k in side.principal[row, column])
            found["Principal curvatures"] = ", ".join(pair)
    return found
