"""The parts of the landing page and how they are laid out."""

from __future__ import annotations

import streamlit as st

from gating_core.experiments.comparison import (
    PRESETS,
    STRENGTHS,
    Setting,
    load_reference,
    strengths_model,
)
from ui.common import words as common
from ui.common.lessons import section
from ui.common.parts import figures
from ui.common.view_links import frame_to_link, point_to_link
from ui.components.strip import strip
from ui.components.view3d import Legend, view3d
from ui.drawing import palette
from ui.drawing.panels import CHART_NAMES, View
from ui.landing import words
from ui.landing.controls import LANDING, go_to_depth
from ui.landing.measured import MODEL_NAMES, LandingResult, nearest_with_surface
from ui.landing.picture import curvature_colours, curvature_maps, learning_curves
from ui.limits import LANDING_LAYERS
from ui.proved.measured import ProvableSurface
from ui.proved.results import short_code
from ui.proved.section import Code, Compared, draw_proofs

VIEW_KEY = "pair_view"
OTHER_PIXELS = 440  # high: all but the pictures
COLOURS = dict(zip(MODEL_NAMES, palette.SIDE_COLOURS.values(), strict=True))


def draw_pair(result: LandingResult) -> None:
    """Draw both surfaces beside their input planes, with the slider and what it says."""
    request, pair, setting = result.request, result.pair, result.run.setting
    lines = words.fair_lines(setting, *result.accuracies)
    sweeps = None, result.sweep
    if not pair.seen:
        _draw_unseen(setting)
    by_class = request.colouring == "class" or not pair.seen
    view3d(
        result.view,
        key=VIEW_KEY,
        headings=(words.LEFT[request.left], "With a gate"),
        captions=[
            words.captions(model, sweep, pair.seen, line)
            for (_, model, _), sweep, line in zip(result.models, sweeps, lines, strict=True)
        ],
        readings=result.readings,
        frame=result.frame,
        frame_labels=[f"λ = {strength:.2f}" for strength in STRENGTHS],
        ends=("no gate", "full gate"),
        legend=CLASSES if by_class else _curvature_legend(result.view),
        pick=LANDING["pick"].linked,
        scrub=True,
        arrive="strength" not in st.query_params,  # nobody has chosen one yet
        spare=OTHER_PIXELS,
        scene=f"{setting} {request.left}",
        stale=words.stale_text(setting, request.setting),
        on_pick=point_to_link(VIEW_KEY, "pick"),
        on_stop=frame_to_link(VIEW_KEY, "strength", STRENGTHS),
    )


CLASSES = Legend(palette.CLASS_SCALE, "class 0", "class 1")


def _curvature_legend(view: View) -> Legend:
    note = (
        f"saddle-like to dome-like · asinh scale, {common.percent(view.beyond)} of the points at"
        f" λ = 1 exceed it · {common.crease_text()} · hatched: not known"
    )
    low, high = (f"K = {common.rough(end)}" for end in view.colour_range)
    return Legend(palette.SIGNED_SCALE, low, high, note)


def _draw_unseen(setting: Setting) -> None:
    """Say that there is no surface to see, with a button to the nearest depth that has one."""
    text, way = st.columns([4, 1], vertical_alignment="center")
    text.info(section("landing", "unseen", layers=common.layers_text(setting.depth)))
    near = nearest_with_surface(setting)
    depth = near or LANDING_LAYERS[0]
    if depth != setting.depth:
        label = f"{'See' if near else 'Try'} {common.layers_text(depth)}"
        way.button(label, on_click=go_to_depth, args=(depth,), width="stretch")


def draw_seeds(result: LandingResult) -> None:
    """Draw how the shown seed was chosen, what every seed reached, and the marked point."""
    setting, pair = result.run.setting, result.pair
    text, dots = st.columns([3, 2], vertical_alignment="center")
    count = setting.seed_count
    chosen = section(
        "landing", "chosen", seed=pair.right.seed, better=(count + 1) // 2, count=count
    )
    elsewhere = words.elsewhere_text(setting, load_reference("boundary", setting.task))
    text.caption(f"{chosen} {elsewhere}")
    with dots:
        strip(
            key="seed_strip",
            label="Test accuracy, one dot per seed, without and with a gate.",
            title="test accuracy, %, one dot per seed",
            accuracies={name: x.test_accuracy[-1] for name, x in result.ensembles.items()},
            colours=list(COLOURS.values()),
            seeds=setting.seeds,
        )
    if pair.seen and (point := LANDING["pick"].linked):
        row, column = point
        axis = pair.left.surface.axis
        parts = [f"Marked point x = ({axis[column]:.2f}, {axis[row]:.2f})"]
        for name, model, frame in result.models:
            curvature = common.curvature_text(model.surface, (frame, row, column))
            parts.append(f"{name.lower()}: K = {curvature}")
        st.caption(" · ".join(parts))


def draw_details(result: LandingResult) -> None:
    """Draw what the gate is worth, curvature maps, shares of the area, and loss curves."""
    setting, ensembles = result.run.setting, result.ensembles
    counts = ", ".join(f"{name.lower()} {x.parameter_count}" for name, x in ensembles.items())
    *_, difference = result.accuracies
    text = common.difference_text(difference, setting.seed_count, "the gate", "no gate")
    st.markdown(f"{text} Parameters: {counts}.")
    if result.pair.seen:
        _draw_curvature(result)
    (curves,) = figures(("learning", setting), lambda: [learning_curves(ensembles, COLOURS)])
    st.plotly_chart(
        curves,
        alt="Training loss against steps for every seed, the shown seed thick.",
        key="learning_curves",
    )


def _draw_curvature(result: LandingResult) -> None:
    surfaces = {name: model.surface.frame(frame) for name, model, frame in result.models}
    scale = curvature_colours(result.pair.right.surface)
    key = "maps", result.run.setting, result.request.left, result.frame
    (maps,) = figures(key, lambda: [curvature_maps(surfaces, scale)])
    st.plotly_chart(
        maps,
        alt="Gaussian curvature over the input plane, both models on one zero-centred scale.",
        key="curvature_maps",
    )
    st.caption(section("landing", "maps"))
    shares = [surface.shares for surface in surfaces.values()]
    parts = {"K > 0 (dome)": "positive", "K < 0 (saddle)": "negative", "flat": "flat",
             "undecided": "undecided"}  # fmt: skip
    st.table(
        {"Share of the area": MODEL_NAMES}
        | {
            title: [f"{100 * max(getattr(share, part)[0], 0.0):.1f} %" for share in shares]
            for title, part in parts.items()
        }
    )
    st.caption(section("landing", "undecided"))


# --- What is proved -------------------------------------------------------------------------------


def draw_proof(result: LandingResult) -> None:
    """Draw the fold with the map of what is proved."""
    draw_proofs(lambda: _compared(result), CHART_NAMES["inputs"])


def _compared(result: LandingResult) -> tuple[list[Compared], Code]:
    run, sweep, frame = result.run, result.sweep, result.frame
    strength, member, setting = STRENGTHS[frame], sweep.member, run.setting
    variant = setting.compared[1]
    model = strengths_model(run.variants[variant].ensemble, member, [strength])
    compared = Compared(
        f"With its gate at λ = {strength:.2f}",
        ProvableSurface((setting, member, strength), model.attention),
        {"absolute": sweep.total.at(frame)} if sweep.measured[frame] else {},  # refined
        result.pair.right.surface.frame(frame),
    )
    return [compared], code(setting, variant, member, strength)


def code(setting: Setting, variant: str, member: int, strength: float) -> Code:
    """Return imports and lines that make the model from the library."""
    shipped = next((name for name, preset in PRESETS.items() if preset == setting), None)
    names, run = "load_preset, strengths_model", f"run = load_preset({shipped!r})"
    if shipped is None:
        names = "Setting, strengths_model, train_setting"
        run = f"*_, run = train_setting({short_code(setting)})"
    lines = (
        run,
        f"ensemble = run.variants[{variant!r}].ensemble",
        f"surface = strengths_model(ensemble, {member}, [{strength}]).attention",
    )
    return f"from gating_core.experiments.comparison import {names}", "\n".join(lines)
