"""A table to choose a row of: by a click anywhere on it, or by keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from ui.components import wire
from ui.components.source import declare

_component = declare("rows")


def rows(
    *,
    key: str,
    label: str,
    columns: Sequence[str],
    cells: Mapping[str, Sequence[str]],
    chosen: str,
    on_choose: Callable[[str], None],
) -> None:
    """Draw ``cells``, a row of plain texts for each word, one text for each of ``columns``.

    The row of ``chosen`` is marked. Whoever chooses a row calls ``on_choose`` with its word, once.
    ``label`` is read aloud.
    """
    for word, texts in cells.items():
        if len(texts) != len(columns):
            raise ValueError(
                f"The row “{word}” has {len(texts)} cells; the table has {len(columns)} columns."
            )

    def hear() -> None:
        picked = st.session_state[key]["picked"]
        if _is_sound(picked, cells) and wire.is_news(key, picked["serial"]):
            wire.keep(key, picked["serial"])
            on_choose(picked["word"])

    _component(
        key=key,
        data={
            "label": label,
            "columns": list(columns),
            "rows": [{"word": word, "cells": list(texts)} for word, texts in cells.items()],
            "chosen": chosen,
            "heard": wire.heard(key),
        },
        on_picked_change=hear,
    )


def _is_sound(picked: Any, cells: Mapping[str, Sequence[str]]) -> bool:
    """Whether a browser's message is one that our own script could have sent."""
    try:
        return picked["word"] in cells and wire.is_serial(picked["serial"])
    except (TypeError, KeyError):
        return False
