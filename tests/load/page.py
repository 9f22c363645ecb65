"""The page as a browser holds it: its elements by place, and the values of its widgets."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from streamlit.proto.Common_pb2 import FileUploaderState
from streamlit.proto.Delta_pb2 import Delta
from streamlit.proto.WidgetStates_pb2 import WidgetState

from ui.common.links import LINE_BREAK

Place = tuple[int, ...]
Value = bool | float | str | list[str] | FileUploaderState | None


@dataclass(frozen=True)
class Node:
    """An element or a block: its ``kind``, its message, and the script run that sent it."""

    kind: str
    message: Any
    id: str  # of the widget; empty where it is none
    run: str
    fragment: str  # that it was drawn in; empty outside


@dataclass
class Page:
    """Elements by place."""

    nodes: dict[Place, Node] = field(default_factory=dict)

    def put(self, delta: Delta, place: Place, run: str) -> Node | None:
        """Add what the server sent; an element removes what lay below it."""
        sort = delta.WhichOneof("type")
        if sort == "new_transient":  # a spinner, which lies over what comes
            return None
        whole = delta.new_element if sort == "new_element" else delta.add_block
        kind = whole.WhichOneof("type") or "container"
        message = getattr(whole, kind, whole)
        if sort == "new_element":
            below = [p for p in self.nodes if len(p) > len(place) and p[: len(place)] == place]
            for other in below:
                del self.nodes[other]
        name = getattr(message, "id", "") or getattr(whole, "id", "")
        node = self.nodes[place] = Node(kind, message, name, run, delta.fragment_id)
        return node

    def end_run(self, run: str, fragments: Collection[str]) -> None:
        """Drop what the finished ``run``, of the whole page or of ``fragments``, did not draw."""
        for place, node in list(self.nodes.items()):
            if node.run != run and (not fragments or node.fragment in fragments):
                del self.nodes[place]

    def all(self, *kinds: str) -> Iterator[Node]:
        """Elements of these kinds, in their order on the page."""
        nodes = (self.nodes[place] for place in sorted(self.nodes))
        return (node for node in nodes if node.kind in kinds)

    def widget(self, key: str) -> Node:
        """The widget called ``key``; ``LookupError`` where it is not on the page."""
        nodes = [node for node in self.nodes.values() if node.id.endswith(f"-{key}")]
        if len(nodes) != 1:
            raise LookupError(f"{len(nodes)} widgets are called {key!r}; there must be one")
        return nodes[0]

    def has(self, key: str) -> bool:
        return any(node.id.endswith(f"-{key}") for node in self.nodes.values())

    def button(self, label: str) -> Node | None:
        """The button with this label, if it is there."""
        return next((n for n in self.all("button") if n.message.label == label), None)

    def header(self, key: str) -> dict[str, Any]:
        """The message of a linked view, without its arrays."""
        return json.loads(self.widget(key).message.bytes)

    @property
    def sources(self) -> list[str]:
        """Addresses of the arrays of all linked views."""
        headers = (node.message.bytes for node in self.all("bidi_component"))
        return [x["source"] for x in map(json.loads, filter(None, headers)) if "source" in x]

    @property
    def texts(self) -> list[str]:
        """All paragraphs, captions, headings and plain texts."""
        return [node.message.body for node in self.all("markdown", "text", "heading")]

    @property
    def progress(self) -> list[str]:
        """The texts of progress bars."""
        return [node.message.text for node in self.all("progress")]

    @property
    def metrics(self) -> list[tuple[str, str]]:
        """Labels and numbers."""
        return [(node.message.label, node.message.body) for node in self.all("metric")]

    @property
    def troubles(self) -> list[str]:
        """Tracebacks, errors and warnings."""
        raised = [f"{x.message.type}: {x.message.message}" for x in self.all("exception")]
        alerts = [node.message for node in self.all("alert")]
        loud = [x.body for x in alerts if x.format in (x.ERROR, x.WARNING)]
        return raised + [line for text in loud for line in text.split(LINE_BREAK)]


# --- Widgets --------------------------------------------------------------------------------------


def value_of(node: Node) -> Value:
    """The value of a widget that the server has just drawn: what it has set, else the default."""
    read = READERS.get(node.kind)
    return None if read is None else read(node.message)


def was_set(node: Node) -> bool:
    """Whether the server has set the value."""
    return bool(getattr(node.message, "set_value", False))


def _slider(x: Any) -> Value:
    numbers = list(x.value if x.set_value else x.default)
    if x.options:  # texts
        return list(x.raw_value) if x.set_value else [x.options[int(numbers[0])]]
    return numbers[0] if numbers else None


def _selectbox(x: Any) -> Value:
    if x.set_value:
        return x.raw_value
    return x.options[x.default] if x.HasField("default") else None


def _plain(x: Any) -> Value:
    return x.value if x.set_value else x.default


READERS: dict[str, Callable[[Any], Value]] = {
    "slider": _slider,
    "button_group": lambda x: (
        list(x.raw_values) if x.set_value else [x.options[i].content for i in x.default]
    ),
    "selectbox": _selectbox,
    "radio": _selectbox,
    "multiselect": lambda x: (
        list(x.raw_values) if x.set_value else [x.options[i] for i in x.default]
    ),
    "checkbox": _plain,
    "number_input": lambda x: _plain(x) if x.set_value or x.HasField("default") else None,
    "text_area": _plain,
    "text_input": _plain,
    "expandable": lambda x: x.expanded,
    "tab_container": lambda x: x.default_tab_label or None,
}


def _default_of(node: Node) -> Value:
    if node.kind == "expandable":
        return node.message.default_expanded
    plain = type(node.message)()
    plain.CopyFrom(node.message)
    if hasattr(plain, "set_value"):
        plain.set_value = False
    return value_of(Node(node.kind, plain, "", "", ""))


def state_of(node: Node, value: Value) -> WidgetState:
    """The message that a widget has this ``value``."""
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
    """The value in the link, which leaves out the default."""
    if value is None or value == _default_of(node):
        return []
    if isinstance(value, list):
        return value
    if isinstance(value, bool):
        return [str(value).lower()]
    return [f"{value:g}" if isinstance(value, float) else str(value)]
