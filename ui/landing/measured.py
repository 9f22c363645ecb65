"""Bounded caches over the core: training, measuring and drawing are kept separately.

What is cached here is frozen and shared by all visitors, so nothing may change it.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import cachetools
import numpy as np
import streamlit as st

from gating_core.attention import restore
from gating_core.experiments.comparison import (
    PRESETS,
    Comparison,
    CutSurface,
    TrainedPair,
    cut_surface,
    load_preset,
    train_pair,
)
from gating_core.geometry import Integral, adaptive_total_absolute_curvature
from ui.drawing.panels import View
from ui.landing.picture import pair_view
from ui.work.runtime import place

STRENGTH_STEPS = 20
STRENGTHS = tuple(round(i / STRENGTH_STEPS, 2) for i in range(STRENGTH_STEPS + 1))
PAIRS_KEPT = 64
MEASURED_KEPT = 24


@dataclass(frozen=True, eq=False)
class MeasuredPair:
    """Both shown members, measured; the gated one at every strength."""

    left: CutSurface
    right: CutSurface


@st.cache_resource
def _pairs() -> tuple[cachetools.LRUCache, threading.Lock]:
    pairs: cachetools.LRUCache = cachetools.LRUCache(PAIRS_KEPT)
    pairs.update({comparison: load_preset(name) for name, comparison in PRESETS.items()})
    return pairs, threading.Lock()


def trained_pair(comparison: Comparison) -> TrainedPair:
    """The trained pair, from the cache or trained now with a progress bar.

    A change of any control stops the training: Streamlit ends the script at the next update of
    the bar. Raises `TrainingDiverged` as the core does.
    """
    pairs, lock = _pairs()
    with lock:
        pair = pairs.get(comparison)
    if pair is None:
        bar = st.progress(0.0, text="Training both models …")

        def wait(position: int) -> None:
            bar.progress(0.0, text=f"Waiting for a free place: number {position} in the queue")

        with place(wait):
            for done in train_pair(comparison):
                if isinstance(done, TrainedPair):
                    pair = done
                else:
                    count = comparison.seed_count
                    bar.progress(done, text=f"Training {count} seeds with and without gate …")
        bar.empty()
        assert pair is not None
        with lock:
            pairs[comparison] = pair
    return pair


@st.cache_resource(max_entries=MEASURED_KEPT, show_spinner="Measuring curvature …")
def measured_pair(comparison: Comparison, _pair: TrainedPair) -> MeasuredPair:
    """The best member of each side, measured on the default grid."""
    task = comparison.make_task()
    with place():
        left = cut_surface(_pair.ungated, task, _pair.ungated.best)
        right = cut_surface(_pair.gated, task, _pair.gated.best, STRENGTHS)
    return MeasuredPair(left, right)


@st.cache_resource(max_entries=400, show_spinner="Adding up curvature …")
def total_curvature(comparison: Comparison, strength: float | None, _pair: TrainedPair) -> Integral:
    """Total absolute curvature of the best member, adaptively; ``None`` is the ungated one."""
    side = _pair.ungated if strength is None else _pair.gated
    model = restore(side.config, side.seeds, side.state).attention
    strengths = None if strength is None else [strength]
    with place():
        return adaptive_total_absolute_curvature(
            model.member(side.best, strengths), bound="rigorous"
        )


@st.cache_resource(max_entries=MEASURED_KEPT, show_spinner=False)
def view_of(comparison: Comparison, colouring: str, _measured: MeasuredPair) -> View:
    """The linked view of a measured pair."""
    return pair_view(_measured.left, _measured.right, colouring)


def frame_of(strength: float) -> int:
    """The frame that shows a strength."""
    return int(np.argmin(np.abs(np.array(STRENGTHS) - strength)))
