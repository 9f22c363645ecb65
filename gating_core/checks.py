"""Checks of arguments. Each error says in one sentence what arrived and what must be."""

import reprlib
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import torch

QUOTED = 60  # characters of a value that an error quotes
# Nothing of a long or deeply nested value is written out that is not quoted.
_SHORT = reprlib.Repr()
_SHORT.maxlevel = 3
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = _SHORT.maxset = 10
_SHORT.maxstring = _SHORT.maxlong = _SHORT.maxother = QUOTED


def quoted(value: object) -> str:
    """Return ``value`` as in Python, at most 60 characters of it.

    >>> quoted("a" * 1000) == "'" + "a" * 58 + "…"
    True
    """
    text = repr(value[: QUOTED + 1]) if isinstance(value, str) else _SHORT.repr(value)
    return text if len(text) <= QUOTED + 2 else f"{text[: QUOTED - 1]}…"


def check_choice(name: str, value: object, allowed: Iterable[str]) -> None:
    """Raise ``ValueError`` unless ``value`` is one of the ``allowed`` words."""
    allowed = tuple(allowed)
    if value not in allowed:
        known = ", ".join(map(repr, allowed))
        raise ValueError(f"{name} is {quoted(value)}; it must be one of {known}")


def check_integer(name: str, value: Any, low: int, high: int) -> None:
    """Raise ``ValueError`` unless ``value`` is a whole number from ``low`` to ``high``."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not low <= value <= high:
        raise ValueError(
            f"{name} is {quoted(value)}; it must be a whole number from {low} to {high}"
        )


def check_number(name: str, value: Any, low: float, high: float) -> None:
    """Raise ``ValueError`` unless ``value`` is a finite number from ``low`` to ``high``."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not low <= value <= high:
        raise ValueError(f"{name} is {quoted(value)}; it must be a number from {low:g} to {high:g}")


def check_flag(name: str, value: object) -> None:
    """Raise ``ValueError`` unless ``value`` is ``True`` or ``False``."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} is {quoted(value)}; it must be True or False")


def check_seeds(seeds: Iterable[int]) -> tuple[int, ...]:
    """``seeds`` as a tuple; ``ValueError`` if empty, repeated, negative or not whole."""
    seeds = tuple(seeds)
    if not seeds or len(set(seeds)) < len(seeds):
        raise ValueError(f"seeds is {quoted(seeds)}; it must name at least one seed, each once")
    for seed in seeds:
        check_integer("seeds", seed, 0, 2**31 - 1)
    return seeds


def check_points(points: torch.Tensor) -> torch.Tensor:
    """``points`` in float64; ``ValueError`` unless they are (N, 2) or (N, 3), N > 0, finite."""
    points = torch.as_tensor(points, dtype=torch.float64)
    if points.ndim != 2 or points.shape[1] not in (2, 3) or not len(points):
        raise ValueError(
            f"points has shape {tuple(points.shape)}; it must be (N, 2) or (N, 3) with N > 0"
        )
    if not points.isfinite().all():
        raise ValueError("points contains NaN or infinite values; all must be finite")
    return points


def check_weights(module: torch.nn.Module) -> None:
    """``ValueError`` unless all of a module's parameters are finite."""
    for name, parameter in module.named_parameters():
        if not parameter.isfinite().all():
            raise ValueError(f"{name} contains NaN or infinite values; all weights must be finite")
