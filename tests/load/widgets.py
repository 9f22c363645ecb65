"""What does a browser say that a widget's value is, to the server and in the link?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from streamlit.proto.Common_pb2 import FileUploaderState
from streamlit.proto.WidgetStates_pb2 import WidgetState

from tests.load.shown import Node

Value = bool | float | str | list[str] | FileUploaderState | None


def value_of(node: Node) -> Value:
    """What the browser holds for a widget that the server has just drawn; ``None``: nothing.

    What the server has set, else the default.
    """
    read = READERS.get(node.kind)
    return None if read is None else read(node.message)


def default_of(node: Node) -> Value:
    """What the link leaves out."""
    read = READERS.get(node.kind)
    if node.kind == "expandable":
        return node.message.default_expanded
    if read is None:
        return None
    plain = type(node.message)()
    plain.CopyFrom(node.message)
    if hasattr(plain, "set_value"):
        plain.set_value = False
    return read(plain)


def was_set(node: Node) -> bool:
    """Whether the server, and not the visitor, says what its value is."""
    return bool(getattr(node.message, "set_value", False))


def _slider(x: Any) -> Value:
    numbers = list(x.value if x.set_value else x.default)
    if x.options:  # of words
        return list(x.raw_value) if x.set_value else [x.options[int(numbers[0])]]
    return numbers[0] if numbers else None


def _group(x: Any) -> Value:
    return list(x.raw_values) if x.set_value else [x.options[i].content for i in x.default]


def _selectbox(x: Any) -> Value:
    if x.set_value:
        return x.raw_value
    return x.options[x.default] if x.HasField("default") else None


def _multiselect(x: Any) -> Value:
    return list(x.raw_values) if x.set_value else [x.options[i] for i in x.default]


def _plain(x: Any) -> Value:
    return x.value if x.set_value else x.default


def _number(x: Any) -> Value:
    return _plain(x) if x.set_value or x.HasField("default") else None


READERS: dict[str, Callable[[Any], Value]] = {
    "slider": _slider,
    "button_group": _group,
    "selectbox": _selectbox,
    "multiselect": _multiselect,
    "checkbox": _plain,
    "number_input": _number,
    "text_area": _plain,
    "text_input": _plain,
    "expandable": lambda x: x.expanded,
    "tab_container": lambda x: x.default_tab_label or None,
}


def state_of(node: Node, value: Value) -> WidgetState:
    """The message that says that a widget has a ``value``."""
    state = WidgetState(id=node.id)
    if isinstance(value, bool):
        state.bool_value = value
    elif isinstance(value, list):
        state.string_array_value.data.extend(value)
    elif isinstance(value, str):
        state.string_value = value
    elif isinstance(value, FileUploaderState):
        state.file_uploader_state_value.CopyFrom(value)
    elif node.kind == "slider":
        state.double_array_value.data.append(value)
    elif value is not None:
        state.double_value = value
    return state


def texts_of(node: Node, value: Value) -> list[str]:
    """What the link says of it: nothing of the default."""
    if value is None or value == default_of(node):
        return []
    if isinstance(value, list):
        return value
    if isinstance(value, bool):
        return [str(value).lower()]
    return [f"{value:g}" if isinstance(value, float) else str(value)]
