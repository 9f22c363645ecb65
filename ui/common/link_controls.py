"""Controls that hold text with a meaning of its own, most of them in the link only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from ui.common.controls import Choice, Control, Where
from ui.common.link_check import forget
from ui.common.links import GRID_SIZE, parse_pick


@dataclass(frozen=True, kw_only=True)
class GridPoint(Control):
    """Row and column of a grid point, as "row.column" in the link only."""

    size: int = GRID_SIZE
    shown_instead: str = "no point"

    @property
    def expected(self) -> str:
        return f"row.column of the grid, each from 0 to {self.size - 1}"

    def parse(self, text: str) -> tuple[int, int] | None:
        return parse_pick(text, self.size)

    def widget(self, where: Where, **more: Any) -> Any:
        raise NotImplementedError("a grid point is chosen in a picture")


@dataclass(frozen=True, kw_only=True)
class Typed(Control):
    """A text of at most ``most`` characters; empty by default."""

    most: int
    placeholder: str

    @property
    def expected(self) -> str:
        return f"a text of at most {self.most} characters"

    def parse(self, text: str) -> str | None:
        return text if len(text) <= self.most else None

    def widget(self, where: Where, **more: Any) -> Any:
        return where.text_input(
            self.label, max_chars=self.most, placeholder=self.placeholder, **more
        )


@dataclass(frozen=True, kw_only=True)
class LinkedChoice(Choice):
    """A choice in the link alone: whatever draws it calls `choose`."""

    @property
    def value(self) -> Any:
        return self.clean(self.linked)

    def set(self, value: Any) -> None:
        st.query_params.pop(self.key, None)
        if value != self.default:
            st.query_params[self.key] = self.raw(value)

    def choose(self, word: str) -> None:
        """Set it to what ``word`` stands for, as a visitor does; a callback."""
        self.set(self.parse(word))
        forget()
