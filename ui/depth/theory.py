"""The tab Theory: when curvature adds up with depth, where the growth ends, and our reading."""

from __future__ import annotations

import numpy as np
import streamlit as st

import gating_core.experiments.depth as core
from gating_core.experiments.depth import DepthResult
from ui.common.formatting import short
from ui.common.lessons import section
from ui.depth import shared


def draw() -> None:
    """Draw the text, with the numbers of the regimes that it names."""
    results = shared.measured(tuple(core.REGIMES), "Measuring all stacks")
    st.markdown(theory_text(results))


def theory_text(results: dict[str, DepthResult]) -> str:
    """Return the theory, its limits and our reading, with the numbers of ``results``, by regime."""
    measured = cap = ""
    if "aligned" in results and "random" in results:
        exponents = [
            f"{name} {shared.exponent_text(results[name].curves[quantity].exponent)} ({quantity})"
            for name in ("aligned", "random")
            for quantity in ("total", "centre", "proxy")
        ]
        measured = f"Measured: {', '.join(exponents)}."
    strong = results.get("strong")
    if strong is not None and strong.eps is not None:
        curve = strong.curves["total"]
        depth = int(curve.depths[-1])
        ellipsoid = np.median(core.cap_curvature(2 * depth * strong.eps))
        cap = (
            f"With strong gates, after {depth} layers, the measured median is"
            f" {short(curve.median[-1])}. The cap with the same a has {short(ellipsoid)}."
        )
    stacks = [
        f"{core.REGIMES[name].title}: diameter {result.curves['diameter'].course.word}, total"
        f" curvature {result.curves['total'].course.word}"
        for name, result in results.items()
        if core.REGIMES[name].arrangement is not None
    ]
    return section(
        "depth",
        "theory",
        small=f"{core.STRUCTURED_LIMIT:g}",
        measured=measured,
        most=f"{core.MOST_CURVATURE:.2f}",
        cap=cap,
        dimension=shared.UNTRAINED.model_dim,
        stacks=f"Measured: {'; '.join(stacks)}." if stacks else "",
    )
