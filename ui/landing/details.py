"""Below the landing page's pictures: shares, losses, proofs, and data to save."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.experiments.comparison import STRENGTHS, Setting, measure_fields, strengths_model
from gating_core.export import Surface
from gating_core.geometry import SurfaceResult
from gating_core.training import TrainedEnsemble, mean_interval
from ui.common import charts as c
from ui.common import formatting as common
from ui.common.lessons import section
from ui.common.take_along import OfferedSurface, offered, with_unit
from ui.drawing import palette
from ui.drawing.colours import class_colours, exported
from ui.landing.pair import MODEL_NAMES, Result, curvature_colours
from ui.landing.picture import MeasuredModel
from ui.proved import Code, Compared, ProvableSurface, run_code
from ui.work import pool

COLOURS = dict(zip(MODEL_NAMES, palette.SIDE_COLOURS.values(), strict=True))
SHARES = {
    "K > 0 (dome)": "positive",
    "K < 0 (saddle)": "negative",
    "K = 0": "flat",
    "undetermined": "undetermined",
}


def draw_details(result: Result, charts: c.Charts) -> None:
    """Draw the gate's effect, shares of the area, and loss curves."""
    ensembles = {
        name: variant.ensemble
        for name, variant in zip(MODEL_NAMES, result.run.variants.values(), strict=True)
    }
    counts = ", ".join(f"{name.lower()} {x.parameter_count}" for name, x in ensembles.items())
    without, gated = result.test_accuracies.values()
    effect = common.difference_text(
        mean_interval(gated - without), result.run.setting.seed_count, "the gate", "no gate"
    )
    st.markdown(f"{effect} Parameters: {counts}.")
    if result.pair.seen:
        surfaces = {name: model.surface.frame(frame) for name, model, frame in result.models}
        charts.tables["curvature"] = curvature_table(surfaces)
        charts.draw_table(
            "shares",
            st,
            "Share of the area",
            {"model": [*surfaces]}
            | {
                title: [f"{100 * max(share, 0.0):.1f} %" for share in shares]
                for title, shares in share_columns(surfaces.values()).items()
            },
        )
        st.caption(section("landing", "undetermined"))
    charts.draw(
        "training_loss",
        st,
        learning_curves(ensembles, COLOURS),
        "Training loss against steps for every seed, the shown seed thick.",
    )


def share_columns(surfaces: Iterable[SurfaceResult]) -> dict[str, list[float]]:
    """Return the four shares of the area by title, each of all frames of ``surfaces``."""
    shares = [surface.shares for surface in surfaces]
    return {
        title: [float(x) for each in shares for x in getattr(each, part)]
        for title, part in SHARES.items()
    }


def learning_curves(ensembles: dict[str, TrainedEnsemble], colours: dict[str, str]) -> go.Figure:
    """Draw training loss against steps: every seed thin, the shown one thick."""
    traces = []
    for name, ensemble in ensembles.items():
        losses, steps = ensemble.train_loss, ensemble.steps
        others = np.delete(losses, ensemble.best, axis=1)
        gap = np.full((1, others.shape[1]), np.nan)
        thin = c.line(
            f"{name}, other seeds",
            np.tile(np.append(steps, steps[-1]), others.shape[1]),
            np.concatenate([others, gap]).T.ravel(),
            colour=colours[name],
            width=1,
            mode="lines",
            legend=False,
        )
        thick = c.line(
            f"{name}, shown seed",
            steps,
            losses[:, ensemble.best],
            colour=colours[name],
            width=3,
            mode="lines",
        )
        traces += [thin | {"opacity": 0.35, "hoverinfo": "skip", "hovertemplate": None}, thick]
    return c.chart("Training loss", traces, "step", "training loss", height=300)


# --- What can be taken along ----------------------------------------------------------------------


def offer_surfaces(result: Result, both: bool) -> None:
    """Offer the gated surface, and that of ``both`` models the one without a gate, as files."""
    setting, offer = result.run.setting, offered()
    for name, model, frame in result.models:
        gated = model is result.pair.right
        variant = setting.compared[gated or result.left == "same"]
        stem = f"{setting.task}_{variant}_seed{model.seed}"
        if gated or result.left == "same":
            stem = f"{stem}_lambda{STRENGTHS[frame] if gated else 0:.2f}"
        if gated:
            offer.name = stem
        if gated or both:
            shown = f"{name}, λ = {STRENGTHS[frame]:.2f}" if gated else name
            ensemble = result.run.variants[variant].ensemble
            offer.surfaces[shown] = OfferedSurface(
                stem, partial(_exported, result, model, frame, ensemble)
            )
    offer.settings["lambda"] = STRENGTHS[result.frame]


def _exported(
    result: Result, model: MeasuredModel, frame: int, ensemble: TrainedEnsemble, line: str
) -> Surface:
    shown, gated = model.frame(frame), model is result.pair.right
    strengths = [STRENGTHS[frame] if gated else 0.0] if ensemble.config.gate else None
    attention = strengths_model(ensemble, ensemble.seeds.index(model.seed), strengths).attention
    _, more = pool.POOL.call(measure_fields, attention, len(shown.surface.axis))
    class_one = class_colours(shown.frames.logits)[0]
    return exported(
        shown.surface,
        line,
        shown.frames.values[0],
        curvature_colours(result.pair.right.surface),
        more=more | {"probability of class 1": class_one},
    )


def data_tables(result: Result) -> dict[str, dict[str, list[Any]]]:
    """Return test accuracies by seed, and accuracy, total curvature and shares by strength."""
    right, total = result.pair.right, result.sweep.total
    models = {MODEL_NAMES[0]: result.pair.left, MODEL_NAMES[1]: right}
    names = [name for name, model in models.items() for _ in model.test_accuracy]
    flat = [0.0 if x else "" for x in result.pair.left.surface.without_curvature]
    no_gate = 0.0 if result.left == "same" else ""
    values, errors = (
        np.where(right.surface.without_curvature, 0.0, x).tolist()
        for x in (total.value.numpy(), total.error.numpy())
    )
    return {
        "seeds": {"seed": [*result.run.setting.seeds]}
        | {f"test accuracy, {n.lower()}": x.tolist() for n, x in result.test_accuracies.items()},
        "strengths": {
            "model": names,
            "λ": [no_gate, *STRENGTHS],
            "test accuracy": [float(x) for m in models.values() for x in m.test_accuracy],
            "∫|K| dA (estimate)": [*flat, *values],
            "estimated error of ∫|K| dA": [*flat, *errors],
        }
        | {
            f"share of the area, {title}": shares
            for title, shares in share_columns(m.surface for m in models.values()).items()
        },
    }


def curvature_table(surfaces: dict[str, SurfaceResult]) -> dict[str, list[float]]:
    """Return K of each surface at every grid point; NaN where it is undetermined."""
    x1, x2 = np.meshgrid(*[next(iter(surfaces.values())).axis] * 2)
    return {"x1": x1.ravel().tolist(), "x2": x2.ravel().tolist()} | {
        f"{with_unit('K')}, {name.lower()}": surface.known[0].ravel().tolist()
        for name, surface in surfaces.items()
    }


# --- What is proved -------------------------------------------------------------------------------


def compared(result: Result) -> tuple[list[Compared], Code]:
    """Return the gated model at the shown strength with its measurements, and its code."""
    run, sweep, frame = result.run, result.sweep, result.frame
    strength, member, setting = STRENGTHS[frame], sweep.member, run.setting
    variant = setting.compared[1]
    model = strengths_model(run.variants[variant].ensemble, member, [strength])
    surface = Compared(
        f"With its gate at λ = {strength:.2f}",
        ProvableSurface((setting, member, strength), model.attention),
        {"absolute": sweep.total.at(frame)} if sweep.measured[frame] else {},  # refined
        result.pair.right.surface.frame(frame),
    )
    return [surface], code(setting, variant, member, strength)


def code(setting: Setting, variant: str, member: int, strength: float) -> Code:
    """Return imports and lines that make the model from the library."""
    imports, run = run_code(setting, "strengths_model")
    lines = (
        run,
        f"ensemble = run.variants[{variant!r}].ensemble",
        f"surface = strengths_model(ensemble, {member}, [{strength}]).attention",
    )
    return imports, "\n".join(lines)
