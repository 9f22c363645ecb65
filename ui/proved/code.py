"""Python that makes a surface again with the library, and the notebook that measures it."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from gating_core.experiments.comparison import COMPARISONS, PRESETS, Setting
from gating_core.geometry import Integral, Matrix
from ui.common import take_along

Code = tuple[str, str]  # imports and lines of Python that make a ``surface``


def offer_notebook(
    title: str,
    name: str,
    code: Code,
    total: Integral | None,
    dim: int,
    covariance: Matrix | None = None,
    problem: str | None = None,
) -> None:
    """Offer a notebook that measures a surface again, as *Take along* calls it: ``name``.

    Args:
        title: Of the notebook.
        name: Of its file, without the ending.
        code: Python that makes the surface.
        total: Its total curvature as the page has it, which the notebook compares with.
        dim: Dimensions of its outputs.
        covariance: Of the metric.
        problem: Why there is no notebook.
    """
    if total is None or not bool(total.complete):
        problem = problem or "There is no total curvature yet that a notebook could compare with."
    elif covariance is not None:
        problem = "A notebook measures with the covariance Σ = 1."
    shown = (0.0, 0.0) if total is None else (float(total.value), float(total.error))
    take_along.offer_notebook(title, name, code, dim, shown, problem=problem)


def short_code(item: Any) -> str:
    """Return Python that makes ``item``: a dataclass, with the fields that differ from defaults."""
    if not is_dataclass(item) or isinstance(item, type):
        return repr(item)
    plain = {
        each.name: each.default_factory() if callable(each.default_factory) else each.default
        for each in fields(item)
    }
    values = {name: getattr(item, name) for name in plain}
    own = (f"{name}={short_code(value)}" for name, value in values.items() if value != plain[name])
    return f"{type(item).__name__}({', '.join(own)})"


def run_code(setting: Setting, *names: str) -> Code:
    """Return imports, of the ``names`` too, and the line that makes the run of a ``setting``."""
    bundled = next((name for name, own in (PRESETS | COMPARISONS).items() if own == setting), None)
    if bundled is not None:
        names, line = ("load_preset", *names), f"run = load_preset({bundled!r})"
    else:
        names = "Setting", *names, "train_setting"
        line = f"*_, run = train_setting({short_code(setting)})"
    return f"from gating_core.experiments.comparison import {', '.join(names)}", line
