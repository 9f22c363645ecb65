"""The look of all pictures of claims: Plotly figures as dictionaries, in the colours of a palette.

A figure is a dictionary of ``data`` and ``layout``. Colour is never the only channel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

HEIGHT = 420  # pixels
SPREAD = 0.22  # of single seeds, above and below their line


@dataclass(frozen=True)
class Palette:
    """Colours for one theme. Paper is transparent: the page's shows through."""

    ink: str = "#1f2933"
    faint: str = "#c3c8cf"
    gated: str = "#a21caf"
    ungated: str = "#6b7280"
    control: str = "#0e7490"
    band: str = "rgba(14, 116, 144, 0.14)"
    tasks: tuple[str, ...] = ("#2b6cb0", "#c2660c", "#2a7d53", "#8b3fc0", "#b0344a", "#5d6b1c",
                              "#127f8c", "#75533a")  # fmt: skip


LIGHT = Palette()
DARK = Palette(
    ink="#e4e7eb", faint="#444b54", gated="#e06bf0", ungated="#a5adb8", control="#4fc3d9",
    band="rgba(79, 195, 217, 0.18)",
    tasks=("#6aa8ee", "#f0974a", "#5cc492", "#c48bef", "#f0788c", "#b9c95a", "#58cbd8", "#c79f80"),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Figure:
    """One picture: ``figure`` for Plotly, what it shows in a sentence, and how to read it."""

    title: str
    figure: dict[str, Any]
    alt: str
    explain: str


def colours(palette: Palette) -> tuple[str, ...]:
    """Return all colours of a palette, in one order: one theme's can be put for another's."""
    own = (palette.ink, palette.faint, palette.gated, palette.ungated, palette.control)
    return (*own, palette.band, *palette.tasks)


def layout_of(palette: Palette, x: str, y: str) -> dict[str, Any]:
    axis = {"gridcolor": palette.faint, "linecolor": palette.faint, "zeroline": False}
    return {
        "height": HEIGHT, "paper_bgcolor": "rgba(0,0,0,0)", "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": palette.ink}, "margin": {"l": 70, "r": 20, "t": 20, "b": 60},
        "hovermode": "closest", "legend": {"orientation": "h", "y": -0.22},
        "xaxis": axis | {"title": {"text": x}}, "yaxis": axis | {"title": {"text": y}},
    }  # fmt: skip


def rows_axis(labels: list[str], below: float, above: float) -> dict[str, Any]:
    """One labelled row for each of ``labels``, from the bottom up, with room at both ends."""
    return {"tickvals": [*range(len(labels))], "ticktext": labels, "showgrid": False,
            "range": [-below, len(labels) - above], "automargin": True}  # fmt: skip


def markers(name: str, x: Any, y: Any, **more: Any) -> dict[str, Any]:
    return {"type": "scatter", "mode": "markers", "name": name, "x": x, "y": y, **more}


def lines(name: str, x: Any, y: Any, **more: Any) -> dict[str, Any]:
    return {"type": "scatter", "mode": "lines", "name": name, "x": x, "y": y, **more}


def vertical(x: float, colour: str, dash: str = "solid") -> dict[str, Any]:
    return {"type": "line", "xref": "x", "yref": "paper", "x0": x, "x1": x, "y0": 0, "y1": 1,
            "line": {"color": colour, "width": 1, "dash": dash}}  # fmt: skip


def jittered(row: int, count: int) -> list[float]:
    """Heights of single seeds round their row, in order, so that equal ones stay apart."""
    return (row + SPREAD * np.linspace(-1, 1, count) * (count > 1)).tolist()
