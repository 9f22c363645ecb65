"""The files of the components, joined to what the browser gets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import streamlit as st

from ui.drawing import palette

HERE = Path(__file__).parent
# One surface that the browser draws by itself: shared, as the files beside this one are.
SURFACE = (
    "address.js",
    "surface/vectors.js",
    "surface/mesh.js",
    "surface/shaders.js",
    "surface/webgl.js",
    "surface/painter.js",
    "surface/traces.js",
    "surface/view.js",
    "surface/turning.js",
)
# A component's script is these files as one module, in this order: they share their names, none
# imports another, and the last one exports the function that Streamlit calls. Beside a file may be
# a style sheet of its name.
SCRIPTS = {
    "pad": ("wire.js", "svg.js", "pad/picture.js", "pad/pad.js"),
    "draw": ("wire.js", "svg.js", "draw/picture.js", "draw/hand.js", "draw/draw.js"),
    "strip": ("wire.js", "svg.js", "strip/strip.js"),
    "tree": ("wire.js", "svg.js", "tree/entry.js", "tree/picture.js", "tree/tree.js"),
    "keys": (
        "wire.js",
        "svg.js",
        *SURFACE,
        "motion.js",
        "surface/plane.js",
        "surface/cut.js",
        "surface/hand.js",
        "keys/theory.js",
        "keys/snapping.js",
        "keys/plane.js",
        "keys/space.js",
        "keys/breaking.js",
        "keys/cutting.js",
        "keys/reveal.js",
        "keys/words.js",
        "keys/keys.js",
    ),
    "stage": (
        "wire.js",
        "svg.js",
        "arrays.js",
        *SURFACE,
        "motion.js",
        "surface/plane.js",
        "surface/cut.js",
        "stage/square.js",
        "surface/hand.js",
        "stage/playing.js",
        "stage/scene.js",
        "stage/stage.js",
    ),
    "pair": (
        "wire.js",
        "svg.js",
        "arrays.js",
        *SURFACE,
        "motion.js",
        "surface/plane.js",
        "pair/map.js",
        "pair/classes.js",
        "pair/pair.js",
    ),
    "islands": (
        "wire.js",
        "svg.js",
        "arrays.js",
        *SURFACE,
        "motion.js",
        "surface/plane.js",
        "surface/cut.js",
        "surface/hand.js",
        "islands/glass.js",
        "islands/islands.js",
    ),
    "heads": (
        "wire.js",
        "svg.js",
        "arrays.js",
        *SURFACE,
        "heads/affine.js",
        "heads/glass.js",
        "heads/text.js",
        "heads/wall.js",
        "heads/chart.js",
        "heads/sheet.js",
        "heads/heads.js",
    ),
    "history": ("history/history.js",),
    "camera": ("camera/camera.js",),
    "turn": ("turn/turn.js",),
    "figures": (
        "figures/load_plotly.js",
        "figures/collect.js",
        "figures/files.js",
        "figures/figures.js",
    ),
    "leave": ("leave/leave.js",),
}
SCRIPTS["one_file"] = (*SCRIPTS["pair"], "one_file/one_file.js")


def script(name: str) -> str:
    """Return the JavaScript module of the component ``name``, which begins with the colours."""
    colours = f"const PALETTE = {json.dumps(palette.NAMED)};"
    return "\n".join([colours, *(read(path) for path in SCRIPTS[name])])


def style(name: str) -> str:
    """Return the style sheet of the component ``name``, which begins with the colours."""
    sheets = (read(path.replace(".js", ".css"), instead="") for path in SCRIPTS[name])
    return palette.css_variables() + "".join(sheets)


def declare(name: str, first: str = "") -> Any:
    """Declare the component ``name`` to Streamlit: once, when its module is imported.

    ``first`` is JavaScript that stands before its files. Its scripts get ``data`` in a list: in a
    dictionary Streamlit looks for data frames, and imports pandas for that.
    """
    mount = st.components.v2.component(
        f"gating_{name}",
        html=read(f"{name}/{name}.html", instead=""),
        css=style(name),
        js=first + script(name),
        isolate_styles=False,  # isolated styles break the pictures of plotly.js
    )

    def draw(*, data: bytes | dict[str, Any], **options: Any) -> Any:
        return mount(data=data if isinstance(data, bytes) else [data], **options)

    return draw


def read(path: str, instead: str | None = None) -> str:
    """Return the text of a file beside this one, or ``instead`` where there is none."""
    file = HERE / path
    if instead is not None and not file.exists():
        return instead
    return file.read_text(encoding="utf-8")
