"""A table whose rows can be chosen, by a click or by keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

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

    The row of ``chosen`` is marked. Choosing a row calls ``on_choose`` with its word, once.
    ``label`` is read aloud.
    """
    for word, texts in cells.items():
        if len(texts) != len(columns):
            raise ValueError(
                f"The row “{word}” has {len(texts)} cells; the table has {len(columns)} columns."
            )

    def receive() -> None:
        if picked := wire.receive(key, "picked", lambda message: message["word"] in cells):
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
        on_picked_change=receive,
    )
