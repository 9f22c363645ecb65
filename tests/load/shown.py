"""What does a page show at this moment? Its elements by their place, as a browser keeps them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from streamlit.proto.Delta_pb2 import Delta

from ui.common.link_check import LINE_BREAK

Place = tuple[int, ...]


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
        """Take in what the server sent; what lay below an element that is replaced goes."""
        sort = delta.WhichOneof("type")
        if sort == "new_transient":  # a spinner, which lies over what comes
            return None
        whole = delta.new_element if sort == "new_element" else delta.add_block
        kind = whole.WhichOneof("type") or "container"
        message = getattr(whole, kind, whole)
        if sort == "new_element":
            self._clear_below(place)
        name = getattr(message, "id", "") or getattr(whole, "id", "")
        node = Node(kind, message, name, run, delta.fragment_id)
        self.nodes[place] = node
        return node

    def _clear_below(self, place: Place) -> None:
        for other in [p for p in self.nodes if len(p) > len(place) and p[: len(place)] == place]:
            del self.nodes[other]

    def end_run(self, run: str, fragments: Collection[str]) -> None:
        """Drop what the finished ``run``, of the whole page or of ``fragments``, did not draw."""
        for place, node in list(self.nodes.items()):
            if node.run != run and (not fragments or node.fragment in fragments):
                del self.nodes[place]

    def all(self, *kinds: str) -> Iterator[Node]:
        """Elements of these kinds, as they stand on the page."""
        nodes = (self.nodes[place] for place in sorted(self.nodes))
        return (node for node in nodes if node.kind in kinds)

    def widget(self, key: str) -> Node:
        """The widget that is called ``key``; ``LookupError`` where it is not on the page."""
        found = [node for node in self.nodes.values() if node.id.endswith(f"-{key}")]
        if len(found) != 1:
            raise LookupError(f"{len(found)} widgets are called {key!r}; there must be one")
        return found[0]

    def has(self, key: str) -> bool:
        return any(node.id.endswith(f"-{key}") for node in self.nodes.values())

    def header(self, key: str) -> dict[str, Any]:
        """What a linked view was told, but for its arrays."""
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
        """What is said of work under way, and of a place in the queue."""
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
