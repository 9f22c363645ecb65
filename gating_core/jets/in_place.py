"""Operations in place: who else sees the change?

A view and what it is a view of share their memory in torch. Jets do not; so those that would are
kept track of. A change of a part (an index, a slice, a piece) is written into the whole, too. All
others that may share its memory, which are views by another layout, can no longer be used: the
function is then differentiated by `torch.func` instead.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn

from gating_core.jets.jet import RULES, Jet, MissingRule, components, rule


def view_of(move: Callable) -> Callable:
    """Let the result of a layout operation be known as a view of its first argument."""

    @wraps(move)
    def moved(jet: Jet, *args: Any, **kwargs: Any) -> Jet:
        return _share(jet, move(jet, *args, **kwargs))

    return moved


def part_of(whole: Jet, index: tuple, part: Jet) -> Jet:
    """Let ``part`` be known as ``whole[index]``."""
    part.origin = whole, index
    return _share(whole, part)


def _share(jet: Jet, view: Jet) -> Jet:
    if view is not jet:
        if jet.views is None:
            jet.views = [weakref.ref(jet)]
        jet.views.append(weakref.ref(view))
        view.views = jet.views
    return view


class _Changed:
    """Stands for the components of a jet whose memory was written to through another one."""

    def __getattr__(self, name: str) -> NoReturn:
        raise MissingRule("a view of what has been changed in place")


CHANGED: Any = _Changed()


@rule("change")
def _change(jet: Jet, new: Jet) -> Jet:
    """Give ``jet`` the components of ``new``, as an operation in place does."""
    _write(jet, new)
    current, at = [jet], jet
    while at.origin is not None:
        whole, index = at.origin
        _write(whole, RULES["setitem"](whole, index, at))
        current.append(whole)
        at = whole
    for reference in jet.views or ():
        other = reference()
        if other is not None and all(other is not x for x in current):
            other.value = other.first = other.second = CHANGED
    return jet


def _write(jet: Jet, new: Jet) -> None:
    if tuple(new.shape) != tuple(jet.shape):
        raise MissingRule(f"{tuple(new.shape)} in place of {tuple(jet.shape)}")
    jet.value, jet.first, jet.second = components(new)


@rule("copy", "fill")
def _copy(jet: Jet, new: Any, non_blocking: bool = False) -> Jet:
    return RULES["setitem"](jet, ..., new)


@rule("zero")
def _zero(jet: Jet) -> Jet:
    return RULES["setitem"](jet, ..., 0.0)
