"""The tab Layer by layer: one stack's surface after every layer, and the growth of all seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import streamlit as st

import gating_core.experiments.depth as core
from gating_core.experiments.comparison import LIMITS
from gating_core.experiments.depth import TrainedDepths, TrainedRequest
from gating_core.geometry import UNKNOWN, SurfaceResult
from gating_core.training import TrainingDiverged, mean_interval
from ui.common import charts as c
from ui.common import formatting as common
from ui.common.lessons import section
from ui.common.links import LINK, link_value, parse_pick, pick_text
from ui.common.page import draw_finding
from ui.common.take_along import OfferedSurface, offer_notebook, offered
from ui.components.pair import Point, draw_pair
from ui.depth import shared
from ui.depth.shared import (
    ALIGNED,
    BUNDLED,
    QUANTITIES,
    RANDOM,
    REPLAY_GRID,
    STACKS,
    TRAINED,
    UNTRAINED,
    Replay,
    replay_of,
)
from ui.drawing.colours import exported
from ui.limits import MANIFOLD_LAYERS
from ui.work import jobs, pool
from ui.work.cache import NUMBERS_CACHE, cached

VIEW = "depth_view"
TRAINING: jobs.Jobs[TrainedRequest, TrainedDepths] = jobs.Jobs(
    "depth_training",
    lambda request: pool.POOL.stream(core.train_depths, request),
    NUMBERS_CACHE,
    (TrainingDiverged,),
)
CLEAR = 0.5  # of the points: a surface of which less is resolved is not shown first
AROUND = {arrangement.words: name for name, arrangement in core.ARRANGEMENTS.items()}
SEEDS = UNTRAINED.seed_count  # also of trained stacks
T = TypeVar("T", int, None)
COMMAND = "python -m gating_core.experiments.depth"


@dataclass(frozen=True)
class Stack:
    """A stack to replay; fields that do not matter to its ``kind`` keep their defaults."""

    kind: str = TRAINED
    second: bool = True  # the gated, or strong, one of two regimes
    around: str = "residual"  # of random stacks: a key of the core's ARRANGEMENTS
    layers: int = UNTRAINED.depth
    member: int = 0  # index of the seed
    first_seed: int = UNTRAINED.seed
    live: bool = False  # trained on this server: not the bundled one, if only in the last digits

    @property
    def regimes(self) -> dict[str, str]:
        """Titles of the regimes that are compared, by name."""
        if self.kind == ALIGNED:
            return {"aligned": "weak gates", "strong": "strong gates"}
        if self.kind == RANDOM:
            return {"random": "random gates"}
        end = "" if self.kind == TRAINED else f"_{self.around}"
        return {f"{name}{end}": name for name in ("ungated", "gated")}

    @property
    def regime(self) -> str:
        """The regime that is replayed."""
        return [*self.regimes][-1 if self.second else 0]

    @property
    def seed(self) -> int:
        """The seed of the stack."""
        return self.first_seed + self.member


def draw() -> None:
    """Draw the controls, the replay, and in a fold the growth of all seeds of its kind."""
    row = st.container(horizontal=True, vertical_alignment="bottom", key="control-row")
    first, fold = st.container(key="first"), st.container()
    training = st.container(horizontal=True, vertical_alignment="bottom")
    stack = choose(row, training)
    trained = None
    if stack.kind == TRAINED:  # on this server, or else the bundled ones
        asked = TrainedRequest(seed=stack.first_seed)
        trained = live_stacks(asked) or (shared.bundled() if asked == BUNDLED else None)
        draw_training(stack, trained, training)
        if trained is None:
            first.info(f"Stacks from seed {stack.first_seed} are not trained yet: press *Train*.")
            return
    charts = c.Charts("depth")
    surface, twin = replayed(stack, trained), replace(stack, second=not stack.second)
    both = (stack, twin) if stack.kind in (TRAINED, STACKS) else (stack,)
    stacks = {own.regimes[own.regime]: replayed(own, trained) for own in both}
    draw_finding(stack_text(stacks), seeds_text(stack, trained) if trained else "")
    with first:
        layer = draw_replay(stack, surface, stacks=stacks, trained=trained) + 1
    with fold:
        draw_seeds(charts, stack, trained)
    if stack.kind == STACKS:
        link = manifold_link(stack, layer)
        st.page_link(
            "pages/1_Manifold.py",
            icon=":material/blur_on:",
            query_params=link,
            label=f"This stack on *Manifold*, with {common.layers_text(int(link['layers']))},"
            " without and with its gate",
        )
    offer_layer(stack, trained, surface, layer)
    middle = len(surface.axis) // 2
    origin = common.curvature_text(surface, (layer - 1, middle, middle))
    low, high = map(common.percent, core.QUARTILES)
    charts.draw_footer(
        section("depth", "layers", layer=layer, origin=origin, low=low, high=high, count=SEEDS)
    )


def draw_seeds(charts: c.Charts, stack: Stack, trained: TrainedDepths | None) -> None:
    """Draw a fold: a quantity of all seeds over the number of layers, and what the gate changes."""
    expander = st.expander(
        f"All {SEEDS} seeds over the number of layers", key="depth_seeds", on_change="rerun", **LINK
    )
    with expander:
        quantity = st.selectbox(
            "Quantity",
            [*QUANTITIES],
            key="quantity",
            width=220,
            **LINK,
            help="; ".join(f"{q.symbol}: {q.title}" for q in core.QUANTITIES.values()),
        )
        if not expander.open:
            return
        names = tuple(stack.regimes)
        results = trained.results if trained else shared.measured(names, f"Measuring {SEEDS} seeds")
        if not set(names) <= set(results):
            return
        growths = shared.pair(results, stack.regimes, QUANTITIES[quantity])
        gated = stack.kind in (TRAINED, STACKS)
        st.markdown(
            shared.gate_text(*growths) if gated else " ".join(map(shared.course_text, growths))
        )
        charts.draw(
            "growth", st, shared.growth_chart(growths, stack.member), shared.alt_text(growths)
        )
        few = [
            f"{growth.title} from {common.layers_text(int(growth.curve.depths[here.argmax()]))} on"
            for growth in growths
            if (here := growth.curve.count < len(growth.curve.values)).any()
        ]
        missing = (
            f"Open circle: not all of {SEEDS} seeds are resolved ({', '.join(few)})."
            " The curve ends where fewer than half are."
        )
        st.caption(f"{shared.courses_text(*growths) if gated else ''} {missing * bool(few)}")


def offer_layer(
    stack: Stack, trained: TrainedDepths | None, surface: SurfaceResult, layer: int
) -> None:
    """Offer the surface after a ``layer``, and a notebook that measures K at its marked point."""
    name = f"{stack.kind}_{stack.regime}_seed{stack.seed}_layer{layer}"
    offered().name, shown = name, surface.frame(layer - 1)
    offered().surfaces[f"After layer {layer}"] = OfferedSurface(
        name, lambda line: exported(shown, line, more=fields_after(stack, layer, trained))
    )
    middle = len(surface.axis) // 2
    point = link_value("stacked_point", lambda text: parse_pick(text, REPLAY_GRID), None)
    row, column = point or (middle, middle)
    offer_notebook(
        f"{stack.kind.capitalize()}, seed {stack.seed}, after layer {layer}",
        name,
        code_text(stack, layer),
        shown.values.shape[-1],
        (float(shown.gaussian[0, row, column]), float(shown.gaussian_error[0, row, column])),
        (float(surface.axis[column]), float(surface.axis[row])),
        "These stacks were trained on this server." if stack.live else None,
    )


def code_text(stack: Stack, layer: int) -> tuple[str, str]:
    """Return imports and lines that make the surface after a ``layer`` from the library."""
    package = "from gating_core.experiments.depth import"
    last = f"surface = lambda uv: layers(uv)[{layer - 1}]"
    if stack.kind == TRAINED:
        layers = f"load_shipped().layers({stack.regime!r}, {stack.layers}).model"
        return (
            f"{package} load_shipped\nfrom gating_core.attention import EveryLayer",
            f"layers = EveryLayer({layers}.member({stack.member}))\n{last}",
        )
    return (
        f"{package} REGIMES, DepthRequest",
        f"layers = REGIMES[{stack.regime!r}].build(DepthRequest(seed={stack.seed}, seed_count=1))"
        f"\n{last}",
    )


def choose(row: Any, training: Any) -> Stack:
    """Draw the controls in two rows; return the stack that they name."""
    kind = row.selectbox(
        "Stack",
        (TRAINED, STACKS, ALIGNED, RANDOM),
        key="stacked",
        width=170,
        help=section("depth", "stacked"),
        **LINK,
    )
    fields: dict[str, Any] = {}
    if kind == TRAINED:
        fields["layers"] = row.selectbox(
            "Layers",
            BUNDLED.depths,
            len(BUNDLED.depths) - 1,
            key="stacked_layers",
            width=90,
            help="Each depth is trained separately.",
            **LINK,
        )
    if kind == STACKS:
        around = row.selectbox(
            "Around attention",
            [*AROUND],
            [*AROUND.values()].index("residual"),
            key="around",
            width=210,
            **LINK,
            help="What each random layer has besides attention and its gate.",
        )
        fields["around"] = AROUND[around]
    if kind == ALIGNED:
        fields["second"] = (
            row.radio(
                "Gate",
                ("weak", "strong"),
                1,
                key="strong",
                horizontal=True,
                help=section("depth", "strong"),
                **LINK,
            )
            == "strong"
        )
    elif kind != RANDOM:
        fields["second"] = (
            row.radio("Gate", ("ungated", "gated"), 1, key="gated", horizontal=True, **LINK)
            == "gated"
        )
    fields["member"] = row.number_input(
        "Seed",
        0,
        SEEDS - 1,
        0,
        key="stacked_seed",
        width=120,
        **LINK,
        help=f"The one of {SEEDS} seeds that"
        " is replayed, and drawn as a thin line. Seeds are counted from 0.",
    )
    if kind == TRAINED:
        first = training.number_input(
            "First seed of the training",
            *LIMITS["seed"],
            BUNDLED.seed,
            key="stacked_first",
            width=210,
            help=section("depth", "first_seed", count=SEEDS),
            **LINK,
        )
        fields |= {
            "first_seed": first,
            "live": live_stacks(TrainedRequest(seed=first)) is not None,
        }
    return Stack(kind, **fields)


# --- The replay -----------------------------------------------------------------------------------


@cached("Measuring curvature …")
def replayed(stack: Stack, _trained: TrainedDepths | None) -> SurfaceResult:
    """Measure one stack's surface after every layer."""
    return pool.POOL.call(core.replay, layers_of(stack, _trained), REPLAY_GRID)


@cached("Measuring curvature …")
def fields_after(stack: Stack, layer: int, _trained: TrainedDepths | None) -> dict[str, np.ndarray]:
    """Measure |H|, gates and attention weights after a ``layer``, for its files."""
    return pool.POOL.call(core.replay_fields, layers_of(stack, _trained), layer, REPLAY_GRID)


def layers_of(stack: Stack, trained: TrainedDepths | None) -> core.Layers:
    """Build the layers of one stack."""
    if trained is None:
        return core.regime_layers(UNTRAINED, stack.regime, stack.member)
    return trained.layers(stack.regime, stack.layers, stack.member)


@cached()
def replay(stack: Stack, layers: int, _surface: SurfaceResult) -> Replay:
    """Return the picture of the first ``layers`` of a replayed stack."""
    return replay_of(_surface.first(layers), len(_surface.total))


def draw_replay(
    stack: Stack,
    surface: SurfaceResult,
    key: str = VIEW,
    layers: int = UNTRAINED.depth,
    follow: str = "",
    stacks: Mapping[str, SurfaceResult] | None = None,
    trained: TrainedDepths | None = None,
) -> int:
    """Draw the surface, its map, and the maps of all layers; return the frame that is shown.

    That is the layer of the link, or the last at which K is resolved at enough points. Only the
    first ``layers`` are shown; they play once for a new text ``follow``. With ``stacks``, it and
    perhaps its twin by title, total curvature is drawn as they play, and at the end the middle half
    of all seeds that were ``trained``.
    """
    picture, shown = replay(stack, layers, surface), surface.first(layers)
    clear = np.flatnonzero(np.isfinite(shown.known).mean((1, 2)) >= CLEAR)
    last = int(clear[-1]) + 1 if clear.size else 1
    size = "drawn at one size (diameter d)" if picture.enlarged else "all drawn to one scale"
    frames, ranges = (
        range(len(shown.total)),
        [
            trained.results[name]
            .curves["total"]
            .band[:, trained.request.depths.index(stack.layers)]
            for name in stacks or ()
            if trained
        ],
    )
    draw_pair(
        picture.pair,
        key=key,
        scene=f"{stack}",
        frame=min(linked_layer(last), len(shown.total)) - 1,
        point=link_value("stacked_point", lambda text: parse_pick(text, REPLAY_GRID), None),
        exact=[[common.exact_text(shown.integral(frame)) for frame in frames]],
        verdicts=[
            [
                (
                    f"Total curvature {known_total_text(shown, frame)}",
                    "±: numerical error; " * (" ± " in known_total_text(shown, frame))
                    + f"diameter {common.short(float(picture.diameters[frame]))}, {size}",
                )
                for frame in frames
            ]
        ],
        findings=[
            (
                f"After layer {frame + 1} of {len(surface.total)}",
                f"the surface is {common.verdict_text(shown.verdicts[frame])}.",
            )
            for frame in frames
        ],
        quantity=f"{picture.symbol} over the chart; black: K = 0",
        names=("u", "v") if stack.kind in (ALIGNED, RANDOM) else ("x₁", "x₂"),
        note=f"Asinh scale, the same for all layers; {common.percent(picture.scale.beyond)} of a"
        " layer's points exceed it"
        + " · hatched: not resolved"
        * bool(np.isnan(shown.known).any()),
        on_leave=_on_leave,
        strip=frames,
        curve=None
        if stacks is None
        else {
            "title": "Total curvature by layer"
            + " (hatched: at least)" * (not all(own.complete.all() for own in stacks.values())),
            "bars": [
                (
                    title,
                    c.GREY if title == "ungated" else c.MAGENTA,
                    own.total.tolist(),
                    own.complete.tolist(),
                )
                for title, own in stacks.items()
            ],
            "ranges": np.array(ranges).tolist() if np.isfinite(ranges).all() else [],
            "seeds": SEEDS,
        },
        follow=follow,
    )
    return min(linked_layer(last), len(shown.total)) - 1


def linked_layer(last: T) -> int | T:
    """Return the layer of the link, 1 to 16; without one the ``last`` layer that is resolved."""

    def parse(text: str) -> int | None:
        number = int(text) if text.isascii() and text.isdigit() and len(text) <= 2 else 0
        return number if 1 <= number <= UNTRAINED.depth else None

    return link_value("after", parse, last, "the last layer that is resolved")


def _on_leave(frame: int, point: Point | None, corners: np.ndarray | None) -> None:
    """Put the layer and the marked point into the link."""
    st.query_params["after"] = f"{frame + 1}"
    if point:
        st.query_params["stacked_point"] = pick_text(point)


def stack_text(stacks: Mapping[str, SurfaceResult]) -> str:
    """Say how total curvature changes over the layers of a stack, and of its twin, by title."""
    said: dict[str, list[str]] = {}
    for title, surface in stacks.items():
        first, last = surface.integral(0), surface.integral(-1)
        low = last.value - last.error - first.value - first.error
        high = last.value + last.error - first.value + first.error
        ends = [f"from {known_total_text(surface, 0)} to "] * (len(surface.total) > 1)
        # What is incomplete is a lower estimate.
        verdict = common.by_interval(
            float(low) if first.complete else -math.inf,
            float(high) if last.complete else math.inf,
            "Depth removes curvature from this stack",
            "It is inconclusive whether depth adds curvature to this stack"
            if len(surface.total) > 1
            else "The total curvature of this stack",
            "Depth adds curvature to this stack",
        )
        said.setdefault(verdict, []).append(
            "".join([*ends, known_total_text(surface, -1), f" {title}"])
        )
    return " ".join(
        f"{verdict}{', with or without a gate' * (len(totals) > 1)}:"
        f" over {common.layers_text(len(surface.total))} {', '.join(totals)}."
        for verdict, totals in said.items()
    )


def seeds_text(stack: Stack, trained: TrainedDepths) -> str:
    """Say whether the gate changes the mean over all seeds of where they end."""
    column = trained.request.depths.index(stack.layers)
    curves = [trained.results[name].curves["total"] for name in ("gated", "ungated")]
    gated, ungated = (np.where(x.known, x.values, np.nan)[:, column] for x in curves)
    gap = mean_interval(gated - ungated)
    verdict = common.by_interval(
        gap.mean - gap.half_width,
        gap.mean + gap.half_width,
        "the gate reduces the mean",
        "gated and ungated show no significant difference",
        "the gate increases the mean",
    )
    return f"Seed {stack.seed} is shown. Over all {SEEDS} seeds, {verdict} at the last layer."


def known_total_text(surface: SurfaceResult, frame: int) -> str:
    """Return the total curvature after one layer, if anything is known of it."""
    text = common.headline_text(surface.integral(frame), bool(surface.without_curvature[frame]))
    if surface.complete[frame] or surface.total[frame] > 0:
        return UNKNOWN if UNKNOWN in text else text
    return UNKNOWN  # "at least 0" says nothing


def manifold_link(stack: Stack, layer: int) -> dict[str, str]:
    """Return the parameters of a link to Manifold, for a random stack up to ``layer``.

    Manifold shows no more layers than `MANIFOLD_LAYERS`.
    """
    around = core.ARRANGEMENTS[stack.around]
    return {
        "layers": f"{min(layer, MANIFOLD_LAYERS[1])}",
        "dim": f"{UNTRAINED.model_dim}",
        "n": f"{UNTRAINED.value_count}",
        "model": f"{stack.seed}",
        "residual": f"{around.residual}".lower(),
        "norm": UNTRAINED.norm if around.normalised else "none",
    }


# --- Training -------------------------------------------------------------------------------------


def live_stacks(request: TrainedRequest) -> TrainedDepths | None:
    """Return the stacks that were trained on this server, if they are cached."""
    return TRAINING.cached((request,)).get(request)


def draw_training(stack: Stack, trained: TrainedDepths | None, row: Any) -> None:
    """Draw the button that trains, where trained stacks come from, and their accuracy."""
    job, request = jobs.current(TRAINING.name), TrainedRequest(seed=stack.first_seed)
    row.button(
        "Train again" if trained else "Train",
        icon=":material/model_training:",
        key="train_depths",
        disabled=job is not None and not job.over,
        on_click=TRAINING.start,
        args=(request,),
        help=section("depth", "train"),
    )
    if job:
        if job.over:
            jobs.draw_end(job, "Training")
        jobs.watch(job, "Training")
    if trained is None:
        return
    source = "Trained on this server."
    if not stack.live:
        source = f"Bundled with the app; made by `{COMMAND}`."
    elif request == BUNDLED:
        before, after = (x.results["gated"].curves for x in (shared.bundled(), trained))
        apart = max(np.nanmax(np.abs(after[x].median / before[x].median - 1)) for x in before)
        source += (
            " The medians differ from the bundled ones by at most"
            f" {common.short(100 * float(apart))}\u00a0%."
        )
    column = trained.request.depths.index(stack.layers)
    shares = [
        f"{common.percent(float(trained.accuracy(name)[:, column].mean()))} {name}"
        for name in stack.regimes
    ]
    st.caption(
        f"{source} Task: {BUNDLED.task}, {BUNDLED.points} points, {BUNDLED.steps} steps, residual"
        f" connection. Test accuracy with {common.layers_text(stack.layers)}:"
        f" {' and '.join(shares)} (means of {SEEDS} seeds)."
    )
