"""The tab Overview: every shipped architecture in one table, for a choice between them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import streamlit as st

from gating_core.characters import CHARACTERS
from gating_core.lm.measurements.gate_sparsity import SHUT
from gating_core.lm.measurements.overview import BASE, OverviewRow
from gating_core.lm.measurements.resampling import LEVEL, PairedDifference, family_p
from gating_core.lm.shipped import load_model
from gating_core.training import MeanInterval
from ui.common import charts as c
from ui.common.language_models import TITLES
from ui.common.lessons import section
from ui.language_models import shared
from ui.language_models.shared import LEAST_SEEDS, interval_text, listed
from ui.language_models.topology import SHORT

NONE = "–"
GRANULARITY = {"elementwise": "per channel", "headwise": "per head"}


def draw() -> None:
    """Draw the tab."""
    rows = shared.architectures()
    if not rows:
        st.info("This version comes without language models.")
        return
    charts = c.Charts("overview")
    st.caption(caveat(rows))
    st.markdown(finding(rows))
    charts.draw_table("models", st, "Gates and block topologies, held-out texts", columns(rows))
    charts.draw_footer(section("language_models", "overview", shut=f"{SHUT:g}"))


def title(row: OverviewRow) -> str:
    """Name an architecture."""
    return TITLES.get(row.name) or SHORT[row.config.topology]


def columns(models: Sequence[OverviewRow]) -> dict[str, list[str]]:
    """Return the table, cells by heading."""
    channels = models[0].config.width // models[0].config.heads
    cells: dict[str, list[str]] = {}
    significant = significant_differences(models)
    for row in models:
        gate, delta = row.config.gate, row.delta_loss
        is_significant = bool(significant.get(row.name))
        for heading, cell in {
            "block topology": SHORT[row.config.topology],
            "gate position": gate.position if gate else NONE,
            "granularity": GRANULARITY[gate.granularity] if gate else NONE,
            "parameters": f"{row.parameters:,}",
            "test loss, nats per character": cell_of(row.loss, 3),
            "Δ loss, paired": cell_of(delta, 3, bold=is_significant) if delta else NONE,
            "first-token share, %": cell_of(row.first_share, 1, 100),
            f"effective rank, of {channels}": cell_of(row.rank, 1),
            f"gates below {SHUT:g}, %": cell_of(row.shut, 1, 100) if row.shut else NONE,
            "ECE, %": cell_of(row.calibration, 2, 100),
            "time per token, µs": NONE if row.seconds is None else f"{1e6 * row.seconds[1]:.1f}",
            "time ratio, quartiles": NONE
            if row.time_ratio is None
            else f"{row.time_ratio[0]:.2f} to {row.time_ratio[2]:.2f}",
        }.items():
            cells.setdefault(heading, []).append(cell)
    return cells


def significant_differences(models: Sequence[OverviewRow]) -> dict[str, int]:
    """Return the sign of each loss less that of `BASE` by name; 0 where it is not significant.

    By Holm's p over all models that are compared.
    """
    found = {
        row.name: of
        for row in models
        if (of := row.delta_loss) is not None and len(of.by_seed) >= LEAST_SEEDS
    }
    adjusted = family_p([*found.values()])
    return {
        name: int(np.sign(of.mean)) if p < LEVEL else 0
        for (name, of), p in zip(found.items(), adjusted, strict=True)
    }


def cell_of(
    interval: MeanInterval | PairedDifference,
    digits: int,
    scale: float = 1.0,
    bold: bool = False,
) -> str:
    """Format a mean and its half-width, rounded up; a difference with its sign, perhaps in bold."""
    unit = 10.0**digits
    half = math.ceil(unit * scale * interval.half_width - 1e-9) / unit
    if not isinstance(interval, PairedDifference):
        return f"{scale * interval.mean:.{digits}f}\u00a0±\u00a0{half:.{digits}f}"
    text = f"{scale * interval.mean:+.{digits}f}\u00a0±\u00a0{half:.{digits}f}".replace("-", "−")
    return f"**{text}**" if bold else text


def caveat(models: Sequence[OverviewRow]) -> str:
    """Say how small the models are."""
    sizes, seeds = [row.parameters for row in models], {len(row.seeds) for row in models}
    card = load_model(models[0].name, models[0].seeds[0])[1]
    recipe = card.recipe
    return (
        f"Small models: {min(sizes):,} to {max(sizes):,} weights, {len(CHARACTERS)} characters,"
        f" {recipe.steps:,} steps of {recipe.batch} texts, {min(seeds)} seeds. What holds at this"
        " size need not hold at a larger one."
    )


def finding(models: Sequence[OverviewRow]) -> str:
    """Say which models have a significantly other test loss than the standard one."""
    names: dict[str, list[str]] = {"lower": [], "higher": [], "inconclusive": []}
    signs = significant_differences(models)
    for row in models:
        if (of := row.delta_loss) is not None:
            word = {-1: "lower", 1: "higher"}.get(signs.get(row.name, 0), "inconclusive")
            names[word].append(f"{title(row)} ({interval_text(of)})")
    base = next(title(row) for row in models if row.name == BASE)
    parts = [
        f"**significantly {word}** with {listed(names[word])}"
        for word in ("lower", "higher")
        if names[word]
    ]
    if names["inconclusive"]:
        verdict = "inconclusive" if parts else "**inconclusive**"
        parts.append(f"the difference is {verdict} for {listed(names['inconclusive'])}")
    return (
        f"Test loss against *{base}*: {'; '.join(parts)}. Tests are adjusted by Holm over"
        f" {len(signs)} comparisons; intervals are of 95\u00a0% each."
    )
