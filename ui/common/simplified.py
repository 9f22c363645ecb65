"""A page with fewer controls: ``?hide=gate,seed&lock=task``, and ``?present=1`` without any.

A bound control that is not drawn has no value, and its parameter leaves the address. So a locked
control is drawn disabled, and a hidden one in a container that the style sheet does not display:
both keep value and link.

Streamlit sends every element through ``DeltaGenerator._enqueue``, every container through
``_block``; there, once for all pages, a control's name is compared with those of the link. In 1.67
nothing public says which controls a page draws, or disables one from outside; with a version that
does both methods can be left alone. A style on the key of a control does not hide it: present mode
hides whatever it does not name, and a page is not to show first what is hidden when it is drawn.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ui.common.links import put_in_link
from ui.foreign import as_code
from ui.limits import LINK_CONTROLS, QUOTED_CHARACTERS

HIDE, LOCK, PRESENT = "hide", "lock", "present"  # parameters of the link
VIEW = "_simplified"
# The style sheet does not display containers whose keys begin like this.
HIDDEN = "hidden-"


@dataclass
class View:
    """The controls of a page that the link hides and locks, and those that were drawn."""

    hidden: frozenset[str] = frozenset()
    locked: frozenset[str] = frozenset()
    presented: frozenset[str] | None = None  # in present mode: controls that stay
    labels: dict[str, str] = field(default_factory=dict)  # of drawn controls, by parameter
    foldable: set[str] = field(default_factory=set)  # of these: what can be hidden, but not locked

    def hides(self, name: str) -> bool:
        """Return whether the control called ``name`` is not displayed."""
        return name in self.hidden or (self.presented is not None and name not in self.presented)

    @property
    def unknown(self) -> list[str]:
        """Names in the link that no drawn control has."""
        return sorted((self.hidden | self.locked) - {*self.labels})


def names_in(parameter: str) -> frozenset[str]:
    """Return the names of controls in ``parameter`` of the link."""
    texts = ",".join(st.query_params.get_all(parameter)).split(",")
    return frozenset(filter(None, (text.strip() for text in texts[:LINK_CONTROLS])))


def is_presenting() -> bool:
    """Return whether the link asks for present mode."""
    return st.query_params.get(PRESENT) == "1"


def begin(staying: Collection[str] = ()) -> View:
    """Read the link, before any control is drawn; ``staying``: controls shown in present mode."""
    presented = frozenset(staying) if is_presenting() else None
    view = st.session_state[VIEW] = View(names_in(HIDE), names_in(LOCK), presented)
    return view


def draw_note(view: View) -> None:
    """Draw the line of a simplified page: nobody may be stranded. Drawn after all controls."""
    st.button(
        "Simplified view · show all controls",
        key="show_all_controls",
        type="tertiary",
        icon=":material/tune:",
        on_click=put_in_link,
        kwargs={HIDE: "", LOCK: ""},
    )
    if view.unknown:
        names = ", ".join(as_code(name[:QUOTED_CHARACTERS]) for name in view.unknown)
        st.warning(
            f"The link hides or locks {names}, which no control on this page is called.",
            icon=":material/link_off:",
        )


def apply() -> None:
    """Let all pages hide and lock controls; a second call does nothing."""
    enqueue, block = DeltaGenerator._enqueue, DeltaGenerator._block
    if hasattr(enqueue, "__wrapped__"):
        return

    @wraps(enqueue)
    def send_element(
        self: DeltaGenerator, delta_type: str, element_proto: Any, *args: Any, **more: Any
    ) -> Any:
        name, view = getattr(element_proto, "query_param_key", ""), st.session_state.get(VIEW)
        if name and view is not None:
            view.labels[name] = element_proto.label
            element_proto.disabled |= name in view.locked
            self = _place(self, view, name)
        return enqueue(self, delta_type, element_proto, *args, **more)

    @wraps(block)
    def send_block(self: DeltaGenerator, block_proto: Any = None, *args: Any, **more: Any) -> Any:
        folds = block_proto is not None and block_proto.WhichOneof("type") == "expandable"
        view = st.session_state.get(VIEW) if folds else None
        if view is not None and (name := block_proto.expandable.query_param_key):
            view.labels[name] = block_proto.expandable.label
            view.foldable.add(name)
            self = _place(self, view, name)
        return block(self, block_proto, *args, **more)

    DeltaGenerator._enqueue = send_element  # type: ignore[method-assign]
    DeltaGenerator._block = send_block  # type: ignore[method-assign]


def _place(where: DeltaGenerator, view: View, name: str) -> DeltaGenerator:
    """Return ``where``, or in it a container that is not displayed."""
    return where.container(key=f"{HIDDEN}{name}") if view.hides(name) else where
