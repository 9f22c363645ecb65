"""What is a control? Declared once, it draws itself, checks a link, reads itself and is set.

A control's key is its parameter's name in the link.
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


@dataclass(frozen=True)
class Control(ABC):
    """One thing that a visitor can choose; its ``default`` is a value as requests hold it."""

    key: str
    label: str = ""  # nothing for what stands in the link alone and is never drawn
    _: KW_ONLY
    default: Any = None
    shown_instead: str = ""  # of a value that cannot be used; the default, unless said
    help: str | None = None
    field: str = ""  # of the request; the key, unless said
    on_move: Callable[[], None] = forget

    @property
    def feeds(self) -> str:
        """The field of the request that it feeds."""
        return self.field or self.key

    @property
    @abstractmethod
    def wanted(self) -> str:
        """What a link must say."""

    @property
    def times(self) -> int:
        """How often a link may say it."""
        return 1

    @property
    def instead(self) -> str:
        """What is shown where a link says something else."""
        return self.shown_instead or self.raw(self.default)

    @abstractmethod
    def parse(self, text: str) -> Any:
        """The value that ``text`` in a link stands for; ``None`` if there is none."""

    def nearest(self, text: str) -> str | None:
        """What is shown for ``text`` in a link: itself, another value, or ``None``: the default."""
        return None if self.parse(text) is None else text

    @abstractmethod
    def widget(self, where: Where, **more: Any) -> Any:
        """Draw it; what Streamlit says its value is."""

    def raw(self, value: Any) -> Any:
        """A request's value as the widget holds it."""
        return value

    def clean(self, raw: Any) -> Any:
        """The widget's value as requests hold it; the default for ``None``.

        An empty value in a link reaches us as ``None``, even where a control requires one.
        """
        return self.default if raw is None else raw

    def draw(self, where: Where, **more: Any) -> Any:
        """Draw it in ``where``; its value."""
        bound = {"key": self.key, "bind": "query-params", "on_change": self.on_move}
        return self.clean(self.widget(where, help=self.help, **bound, **more))

    @property
    def value(self) -> Any:
        """Its value, once it is drawn."""
        return self.clean(st.session_state.get(self.key))

    @property
    def linked(self) -> Any:
        """The value in the link, of what stands there alone; ``None`` if there is none."""
        return self.parse(st.query_params.get(self.key, ""))

    def texts(self, value: Any) -> list[str]:
        """What a link says of ``value``: nothing of the default."""
        return [] if value == self.default else [f"{self.raw(value)}"]

    def set(self, value: Any) -> None:
        """Move it to ``value``; for callbacks only."""
        st.session_state[self.key] = self.raw(value)


@dataclass(frozen=True, kw_only=True)
class Choice(Control):
    """One of a few words; where they are a mapping, each stands for a value."""

    words: Sequence[str] | Mapping[str, Any]
    shape: Literal["segments", "selectbox", "pills", "slider"] = "segments"
    width: Literal["content", "stretch"] = "content"

    @property
    def wanted(self) -> str:
        return "one of " + ", ".join(self.words)

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
    """One of a few tabs; drawing gives them."""

    def draw(self, where: Where, **more: Any) -> Any:
        return where.tabs(
            tuple(self.words), key=self.key, bind="query-params", on_change="rerun", **more
        )


@dataclass(frozen=True, kw_only=True)
class Choices(Control):
    """Any of a few words, each as a parameter of its own."""

    words: Sequence[str]
    most: int
    default: tuple[str, ...] = ()

    @property
    def times(self) -> int:
        return self.most

    @property
    def wanted(self) -> str:
        return "any of " + ", ".join(self.words)

    def parse(self, text: str) -> tuple[str, ...] | None:
        return (text,) if text in self.words else None if text else ()

    def clean(self, raw: Any) -> tuple[str, ...]:
        return tuple(raw or self.default)

    def raw(self, value: Any) -> list[str]:
        return list(value)

    def texts(self, value: Any) -> list[str]:
        return self.raw(value)

    def widget(self, where: Where, **more: Any) -> Any:
        return where.multiselect(self.label, self.words, max_selections=self.most, **more)


@dataclass(frozen=True, kw_only=True)
class Number(Control):
    """A number ``within`` a range, ends included; a whole one if they are."""

    within: tuple[float, float]
    step: float | None = None  # of the widget; None: what Streamlit thinks fit
    shape: Literal["slider", "box"] = "slider"

    @property
    def wanted(self) -> str:
        low, high = self.within
        text = f"a {'whole ' if self._type is int else ''}number from {low:g} to {high:g}"
        return f"{text} in steps of {self.step:g}" if self._is_stepped else text

    @property
    def instead(self) -> str:
        return self.shown_instead or f"{self.default:g}"

    @property
    def _type(self) -> type[int] | type[float]:
        return type(self.within[0])

    @property
    def _is_stepped(self) -> bool:
        """Whether it stands at steps only; what is typed into a box may lie between."""
        return self.shape == "slider" and self.step is not None

    def nearest(self, text: str) -> str | None:
        """A slider can show its steps only: the nearest of them."""
        value = self.parse(text)
        if value is None or not self._is_stepped:
            return super().nearest(text)
        low, steps = self.within[0], (value - self.within[0]) / self.step  # type: ignore[operator]
        if abs(steps - round(steps)) < SLIGHT:
            return text
        return f"{low + round(steps) * self.step:g}"  # type: ignore[operator]

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

    def texts(self, value: Any) -> list[str]:
        return [text.removesuffix(".0") for text in super().texts(value)]

    def widget(self, where: Where, **more: Any) -> Any:
        draw = where.slider if self.shape == "slider" else where.number_input
        return draw(self.label, *self.within, self.raw(self.default), self.step, **more)


@dataclass(frozen=True, kw_only=True)
class Flag(Control):
    """Yes or no; no unless said."""

    @property
    def wanted(self) -> str:
        return "one of true, false"

    @property
    def instead(self) -> str:
        return str(self.clean(None)).lower()

    def parse(self, text: str) -> bool | None:
        return {"true": True, "false": False}.get(text)

    def clean(self, raw: Any) -> bool:
        return bool(self.default if raw is None else raw)

    def texts(self, value: Any) -> list[str]:
        return [text.lower() for text in super().texts(value)]

    def widget(self, where: Where, **more: Any) -> Any:
        return where.toggle(self.label, self.clean(None), **more)


@dataclass(frozen=True, kw_only=True)
class Fold(Flag):
    """Something to unfold; drawing gives the container."""

    default: bool = False
    reruns: bool = True  # whether the page asks if it is open

    def draw(self, where: Where, **more: Any) -> Any:
        if self.reruns:
            more["on_change"] = "rerun"
        return where.expander(self.label, key=self.key, bind="query-params", **more)
