"""How do a page's controls become its request, and a request the page's controls?

Controls stand in a table by their key: it is what the page draws, what it reads, and what a link to
it may say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

from ui.common.controls import Control, Where

Request = TypeVar("Request")
Controls = dict[str, Control]


def table(*controls: Control, of: object = None) -> Controls:
    """Controls by their key; defaults that are not said are the fields of ``of``."""
    return {
        c.key: c if c.default is not None else replace(c, default=getattr(of, c.feeds, None))
        for c in controls
    }


def draw_columns(
    controls: Controls, columns: Sequence[Where], keys: Iterable[Iterable[str]]
) -> None:
    """Draw the controls called ``keys``, one group of them in each column."""
    for column, group in zip(columns, keys, strict=True):
        for key in group:
            controls[key].draw(column)


def read(controls: Controls, kind: type[Request], **given: Any) -> Request:
    """A request of this ``kind`` from the controls that feed it; fields ``given`` are as given."""
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    found = {c.feeds: c.value for c in controls.values() if c.feeds in names - set(given)}
    return kind(**found, **given)


def put(controls: Controls, request: object) -> dict[str, list[str]]:
    """Set every control that feeds a field of ``request`` to it; for callbacks only.

    What the link then says, for `change_link`.
    """
    fed = [control for control in controls.values() if hasattr(request, control.feeds)]
    for control in fed:
        control.set(getattr(request, control.feeds))
    return {control.key: control.texts(getattr(request, control.feeds)) for control in fed}
