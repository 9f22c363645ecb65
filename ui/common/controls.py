"""Controls: declared once, each draws itself, checks its parameter of the link, is read and set.

The key of a control is the name of its parameter.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from types import ModuleType
from typing import Any, Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ui.common.link_check import forget
from ui.common.links import parse_number

Where = DeltaGenerator | ModuleType  # a container, or ``st`` itself
WHOLE = re.compile(r"-?[0-9]+")
SLIGHT = 1e-6  # of a step: rounding
MOST_NAMED = 40  # choices, where a link has none of them


@dataclass(frozen=True)
class Control(ABC):
    """Something that a visitor can choose; its ``default`` is a value as requests hold it."""

    key: str
    label: str = ""  # empty: it is in the link only and never drawn
    _: KW_ONLY
    default: Any = None
    shown_instead: str = ""  # named instead of a value that cannot be used; empty: the default
    help: str | None = None
    field: str = ""  # of the request; empty: the key
    on_move: Callable[[], None] = forget

    @property
    def feeds(self) -> str:
        """The name of the request's field."""
        return self.field or self.key

    @property
    @abstractmethod
    def expected(self) -> str:
        """What the parameter must be, as text."""

    @property
    def times(self) -> int:
        """How often the parameter may stand in a link."""
        return 1

    @property
    def instead(self) -> str:
        """What is shown in place of an unusable value, as text."""
        return self.shown_instead or self.text(self.default)

    @abstractmethod
    def parse(self, text: str) -> Any:
        """Return the value of ``text`` in a link; ``None`` if it has none."""

    def nearest(self, text: str) -> str | None:
        """Return what is shown for ``text`` in a link: itself, another, or ``None`` (default)."""
        return None if self.parse(text) is None else text

    @abstractmethod
    def widget(self, where: Where, **more: Any) -> Any:
        """Draw it and return Streamlit's value."""

    def raw(self, value: Any) -> Any:
        """Return a request's value as the widget holds it."""
        return value

    def clean(self, raw: Any) -> Any:
        """Return the widget's value as requests hold it; the default for ``None``.

        An empty value in a link arrives as ``None``, even at a control that requires one.
        """
        return self.default if raw is None else raw

    def draw(self, where: Where, **more: Any) -> Any:
        """Draw it in ``where`` and return its value."""
        bound = {"key": self.key, "bind": "query-params", "on_change": self.on_move}
        return self.clean(self.widget(where, help=self.help, **bound, **more))

    @property
    def value(self) -> Any:
        """Its value, after it was drawn."""
        return self.clean(st.session_state.get(self.key))

    @property
    def linked(self) -> Any:
        """The value in the link of a control that is not drawn; ``None`` if there is none."""
        return self.parse(st.query_params.get(self.key, ""))

    def text(self, value: Any) -> str:
        """Return ``value`` as text."""
        return str(self.raw(value))

    def texts(self, value: Any) -> list[str]:
        """Return the texts of ``value`` in a link: none for the default."""
        return [] if value == self.default else [self.text(value)]

    def set(self, value: Any) -> None:
        """Set it to ``value``; for callbacks only."""
        st.session_state[self.key] = self.raw(value)


@dataclass(frozen=True, kw_only=True)
class Choice(Control):
    """One of a few words; in a mapping each word stands for a value."""

    words: Sequence[str] | Mapping[str, Any]
    shape: Literal["segments", "selectbox", "pills", "slider"] = "segments"
    width: Literal["content", "stretch"] = "content"

    @property
    def expected(self) -> str:
        named = [*self.words]
        if len(named) > MOST_NAMED:
            return f"one of {len(named)}, such as {named[0]}"
        return "one of " + ", ".join(named)

    def parse(self, text: str) -> Any:
        if text not in self.words:
            return None
        return self.words[text] if isinstance(self.words, Mapping) else text

    def clean(self, raw: Any) -> Any:
        return self.default if raw not in self.words else self.parse(raw)

    def raw(self, value: Any) -> Any:
        return next(word for word in self.words if self.parse(word) == value)

    def widget(self, where: Where, **more: Any) -> Any:
        words, first = tuple(self.words), self.raw(self.default)
        if self.shape == "selectbox":
            return where.selectbox(self.label, words, words.index(first), **more)
        if self.shape == "slider":
            return where.select_slider(self.label, words, first, **more)
        more |= {"default": first, "required": True, "width": self.width}
        draw = where.pills if self.shape == "pills" else where.segmented_control
        return draw(self.label, words, **more)


@dataclass(frozen=True, kw_only=True)
class Tabs(Choice):
    """One of a few tabs; drawing returns the tabs."""

    def draw(self, where: Where, **more: Any) -> Any:
        return where.tabs(
            tuple(self.words), key=self.key, bind="query-params", on_change="rerun", **more
        )


@dataclass(frozen=True, kw_only=True)
class Choices(Control):
    """Any of a few words, each in a parameter of its own; with none, the default."""

    words: Sequence[str]
    most: int
    default: tuple[str, ...] = ()

    @property
    def times(self) -> int:
        return self.most

    @property
    def expected(self) -> str:
        return "any of " + ", ".join(self.words)

    def parse(self, text: str) -> tuple[str, ...] | None:
        return (text,) if text in self.words else None if text else ()

    def clean(self, raw: Any) -> tuple[str, ...]:
        return tuple(raw or self.default)

    def raw(self, value: Any) -> list[str]:
        return list(value)

    def text(self, value: Any) -> str:
        return ", ".join(value)

    def texts(self, value: Any) -> list[str]:
        return self.raw(value)

    def widget(self, where: Where, **more: Any) -> Any:
        first = list(self.default)
        return where.multiselect(self.label, self.words, first, max_selections=self.most, **more)


@dataclass(frozen=True, kw_only=True)
class Number(Control):
    """A number ``within`` a range, ends included; whole if the ends are."""

    within: tuple[float, float]
    step: float | None = None  # of the widget; None: Streamlit's choice
    shape: Literal["slider", "box"] = "slider"

    @property
    def expected(self) -> str:
        low, high = self.within
        text = f"a {'whole ' if self._type is int else ''}number from {low:g} to {high:g}"
        return f"{text} in steps of {self.step:g}" if self._is_stepped else text

    @property
    def _type(self) -> type[int] | type[float]:
        return type(self.within[0])

    @property
    def _is_stepped(self) -> bool:
        """Whether only steps are possible; a number typed into a box may lie between them."""
        return self.shape == "slider" and self.step is not None

    def nearest(self, text: str) -> str | None:
        """Return the nearest step of a slider."""
        value, step = self.parse(text), self.step
        if value is None or step is None or not self._is_stepped:
            return super().nearest(text)
        low, steps = self.within[0], (value - self.within[0]) / step
        if abs(steps - round(steps)) < SLIGHT:
            return text
        return f"{low + round(steps) * step:g}"

    def parse(self, text: str) -> float | None:
        if self._type is int and not WHOLE.fullmatch(text):
            return None
        number = parse_number(text)
        fits = number is not None and self.within[0] <= number <= self.within[1]
        return self._type(number) if number is not None and fits else None

    def clean(self, raw: Any) -> float:
        return self.default if raw is None else self._type(raw)

    def raw(self, value: Any) -> float:
        return self._type(value)  # Streamlit wants all numbers of a widget to be of one type

    def text(self, value: Any) -> str:
        return super().text(value).removesuffix(".0")

    def move_on(self) -> None:
        """Set it to the next whole number, after the last to the first; for callbacks only."""
        low, high = self.within
        self.set(low + (self.value + 1 - low) % (high + 1 - low))

    def widget(self, where: Where, **more: Any) -> Any:
        draw = where.slider if self.shape == "slider" else where.number_input
        return draw(self.label, *self.within, self.raw(self.default), self.step, **more)


@dataclass(frozen=True, kw_only=True)
class Flag(Control):
    """Yes or no; no by default."""

    @property
    def expected(self) -> str:
        return "one of true, false"

    def parse(self, text: str) -> bool | None:
        return {"true": True, "false": False}.get(text)

    def clean(self, raw: Any) -> bool:
        return bool(self.default if raw is None else raw)

    def text(self, value: Any) -> str:
        return str(bool(value)).lower()

    def widget(self, where: Where, **more: Any) -> Any:
        return where.toggle(self.label, self.clean(None), **more)


@dataclass(frozen=True, kw_only=True)
class Fold(Flag):
    """Something to unfold; drawing returns the container."""

    default: bool = False

    def draw(self, where: Where, **more: Any) -> Any:
        return where.expander(
            self.label, key=self.key, bind="query-params", on_change="rerun", **more
        )
