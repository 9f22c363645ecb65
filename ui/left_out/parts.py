"""What the sections of the page Left out share: its charts and explanations."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from functools import partial

import plotly.graph_objects as go

from ui.common import parts
from ui.common.lessons import section
from ui.drawing.titled import titled

draw_figure = partial(parts.draw_figure, "left_out")
draw_explanation = partial(parts.draw_explanation, "left_out")


def draw_titled(
    where: AbstractContextManager[object], key: tuple[Hashable, ...],
    make: Callable[[], go.Figure], alt: str, **fields: object,
) -> None:  # fmt: skip
    """Draw a figure in a container, below its title: the lesson's section head_NAME.

    NAME is the first of ``key``. The ``fields`` of the title must follow from the ``key``.
    """
    title = section("left_out", f"head_{key[0]}", **fields)
    with where:
        draw_figure(key, lambda: titled(make(), title), alt)
