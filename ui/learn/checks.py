"""Checks of what a lesson asks to try, from the state that its link says."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import streamlit as st

from gating_core.experiments.comparison import STRENGTHS, first_plane
from gating_core.geometry import affine_hull
from gating_core.theory import BENT, KeySurface, barycentric_coordinates, key_sign
from gating_core.training import mean_interval
from ui.bent import islands
from ui.common.links import link_value, parse_plane
from ui.depth.layers import linked_layer
from ui.keys import four_keys
from ui.landing.page import bundled_result, linked_frame
from ui.landing.stage import linked_plane, stage_of
from ui.learn.facts import STEEP, WHOLE_WEIGHT, at_origin, gains, surface_of
from ui.learn.pictures import LOOPS, State, own_gate
from ui.manifold import misleading

NEARLY_CLOSED = 0.1  # a gate's strength: the fitted plane cuts no ring there
FIFTYFOLD = 50


def _strength(state: State) -> float:
    return STRENGTHS[linked_frame(float(state.base["strength"]))]


def _model(state: State) -> four_keys.FourKeys:
    return four_keys.linked_model(four_keys.model_of(state.base))


def _three(state: State) -> KeySurface:
    """The surface over three keys."""
    return surface_of(_model(state))


def ring(state: State) -> bool:
    """Return whether the visitor's plane cuts only closed rings at a nearly closed gate."""
    strength, plane = _strength(state), linked_plane()
    if plane is None or not 0 < strength <= NEARLY_CLOSED:
        return False
    result = bundled_result(state.base["task"])
    cut = stage_of(result.run.setting, result.run, result.sweep).cut(strength, plane)
    return cut.loops > 0 and not cut.lines


def closed(state: State) -> bool:
    """Return whether the gate is closed again."""
    return _strength(state) == 0


def least_gain(state: State) -> bool:
    """Return whether the task is shown, with its gate open, on which the gate gains least."""
    means = {name: mean_interval(gains(bundled_result(name))).mean for name in LOOPS}
    least = min(means, key=means.__getitem__)
    return st.session_state.get("task") == least and _strength(state) == 1


def corner(state: State) -> bool:
    """Return whether one weight at the marked point is nearly all."""
    surface = _three(state)
    at = surface.keys.new_tensor([_model(state).at])
    return float(surface.weights(at).max()) >= WHOLE_WEIGHT


def curve(state: State) -> bool:
    """Return whether the three keys lie on one line."""
    return affine_hull(_three(state).keys).dimension < 2


def dome_outside(state: State) -> bool:
    """Return whether the surface is a dome though key 4 lies outside the triangle of the others."""
    model = _model(state)
    values = KeySurface(model.keys, model.biases, model.values).values
    is_dome = key_sign(model.keys).sign == 1 and affine_hull(values).dimension == 3
    return is_dome and bool(barycentric_coordinates(model.keys).min() < 0)


def bends(state: State) -> bool:
    """Return whether the visitor's gate bends the surface and does not curve it."""
    formula = str(st.session_state.get("formula") or "")
    return bool(formula) and own_gate(formula).whole.word == BENT


def fiftyfold(state: State) -> bool:
    """Return whether the first layer is shown after which K is fifty times that after the first."""
    k = at_origin()
    return linked_layer(None) == int(np.argmax(k >= FIFTYFOLD * k[0])) + 1


def invented(state: State) -> bool:
    """Return whether another picture is shown that invents curvature on a flat surface."""
    name = st.session_state.get("fooled", state.base["fooled"])
    return name != state.base["fooled"] and misleading.picture(name).flat


def steep_ring(state: State) -> bool:
    """Return whether the visitor's plane cuts a ring out of the layer that proves `STEEP`."""
    name = st.session_state.get("island_surface", state.base["island_surface"])
    plane = link_value("island_plane", parse_plane, first_plane(name), "the first plane")
    island = islands.island_of(name, plane)
    return island is not None and (island.needed_gaussian or 0.0) >= STEEP


CHECKS: dict[str, Callable[[State], bool]] = {
    "corner": corner, "curve": curve, "ring": ring, "bends": bends, "closed": closed,
    "least gain": least_gain, "fiftyfold": fiftyfold, "invented": invented,
    "dome outside": dome_outside, "steep ring": steep_ring,
}  # fmt: skip
