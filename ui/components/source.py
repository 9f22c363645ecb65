"""The files of the components, joined to what the browser gets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import streamlit as st

from ui.drawing import palette

HERE = Path(__file__).parent
MESSAGES = ("wire.js", "svg.js", "variables.js")
# One surface that the browser draws by itself.
SURFACE = (
    *MESSAGES,
    "motion.js",
    "surface/vectors.js",
    "surface/mesh.js",
    "surface/cut.js",
    "surface/shaders.js",
    "surface/webgl.js",
    "surface/painter.js",
    "surface/view.js",
    "surface/turning.js",
    "surface/hand.js",
)
# A component's script is these files as one module, in this order: they share their names, none
# imports another, and the last one exports the function that Streamlit calls. Beside a file may be
# a style sheet of its name.
SCRIPTS: dict[str, tuple[str, ...]] = {
    "draw": (*MESSAGES, "draw/picture.js", "draw/hand.js", "draw/draw.js"),
    "strip": (*MESSAGES, "strip/strip.js"),
    "tree": (*MESSAGES, "tree/entry.js", "tree/picture.js", "tree/tree.js"),
    "keys": (
        *SURFACE,
        *(
            f"keys/{name}.js"
            for name in (
                "theory", "snapping", "plane", "space", "breaking", "cutting", "words", "keys",
            )
        ),
    ),
    "stage": (*SURFACE, "arrays.js", "stage/square.js", "stage/question.js", "stage/stage.js"),
    "pair": (*SURFACE, "arrays.js", "pair/map.js", "pair/classes.js", "pair/pair.js"),
    "islands": (*SURFACE, "arrays.js", "islands/glass.js", "islands/islands.js"),
    "heads": (
        *SURFACE,
        "arrays.js",
        *(
            f"heads/{name}.js"
            for name in ("affine", "glass", "text", "wall", "chart", "sheet", "heads")
        ),
    ),
    "history": ("history.js",),
    "camera": ("camera.js",),
    "turn": ("turn.js",),
    "leave": ("leave.js",),
    "top": ("top.js",),
    "figures": ("figures/collect.js", "figures/files.js", "figures/figures.js"),
    "saved": (*SURFACE, "figures/saved.js"),
}  # fmt: skip
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
