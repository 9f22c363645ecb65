"""Tables of controls by key, read into requests and set from them.

A page's table says what it draws, what it reads, and what a link to it may contain.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from ui.common.controls import Control, Where

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Request = TypeVar("Request", bound="DataclassInstance")
Controls = dict[str, Control]


def table(*controls: Control, of: object = None) -> Controls:
    """Return controls by key; a missing default is the field of ``of``."""
    return {
        c.key: c if c.default is not None else replace(c, default=getattr(of, c.feeds, None))
        for c in controls
    }


def draw_columns(
    controls: Controls, columns: Sequence[Where], keys: Iterable[Iterable[str]]
) -> None:
    """Draw the controls called ``keys``, one group in each column."""
    for column, group in zip(columns, keys, strict=True):
        for key in group:
            controls[key].draw(column)


def read(controls: Controls, kind: type[Request], /, **given: Any) -> Request:
    """Return a request of this ``kind`` from its controls and the ``given`` fields."""
    names = {field.name for field in fields(kind)}
    values = {c.feeds: c.value for c in controls.values() if c.feeds in names - set(given)}
    return kind(**values, **given)


def put(controls: Controls, request: object) -> dict[str, list[str]]:
    """Set every control that feeds a field of ``request``; for callbacks only.

    Returns the parameters of the link then, for `change_link`.
    """
    fed = [control for control in controls.values() if hasattr(request, control.feeds)]
    for control in fed:
        control.set(getattr(request, control.feeds))
    return {control.key: control.texts(getattr(request, control.feeds)) for control in fed}
