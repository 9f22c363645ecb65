"""The tab Inspect: one point of the chart, marked in every picture, and all that is known of it."""

from __future__ import annotations

import streamlit as st

from gating_core.experiments.instance import MeasuredInstance
from gating_core.geometry import POINT_TYPES
from ui.common.formatting import curvature_text, plus_minus, short, vector_text
from ui.manifold.picture import ManifoldView
from ui.manifold.shared import Result
from ui.manifold.surface import draw_explanations, variant_name


def draw(result: Result) -> None:
    """Draw what the tab shows below its picture: explanations, and the table of the point."""
    draw_explanations(result)
    if result.point is None:
        st.caption("No point is marked: click one. The table is about the middle of the chart.")
    columns = [point_column(variant, result.at, result.view) for variant in result.variants]
    names = map(variant_name, result.variants)
    table = {name: [*column.values()] for name, column in zip(names, columns, strict=True)}
    st.table({"At the marked point": [*columns[0]]} | table)


def point_column(
    variant: MeasuredInstance, at: tuple[int, int], view: ManifoldView
) -> dict[str, str]:
    """Return what is known of a variant ``at`` a row and column of the grid, by quantity."""
    surface, axis = variant.surface, variant.surface.axis
    resolved = bool(surface.resolved[0, *at])
    mean_norm, principal = "unresolved", "unresolved"
    if variant.principal is None or variant.principal_error is None:
        principal = "for D = 3 only"
    elif resolved:
        error = float(variant.principal_error[at])
        principal = ", ".join(plus_minus(float(k), error) for k in variant.principal[at])
    if resolved:
        mean_norm = short(float(variant.mean_norm[at]))
    gates = variant.gates[view.layer][:, *at] if variant.gates else None
    return {
        "Chart": f"({axis[at[1]]:z.3f}, {axis[at[0]]:z.3f})",
        "Output y": vector_text(surface.values[0, *at]),
        "Attention weights": " | ".join(map(vector_text, variant.weights[view.layer][:, *at])),
        "Gate": "none" if gates is None else vector_text(gates),
        "K": curvature_text(surface, (0, *at)),
        "|H|": mean_norm,
        "Principal curvatures": principal,
        "Point type": POINT_TYPES[variant.types[at]],
    }
