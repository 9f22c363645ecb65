"""The tab Features: the features of a sparse autoencoder, and what one of them does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.lm.steering import live
from gating_core.lm.steering.live import (
    LETTERS,
    DirectionRequest,
    TopExample,
    WrittenAlong,
    effect_on_next,
    letter_shares,
    model_and_dictionaries,
    written_along,
)
from gating_core.lm.steering.streams import SIZE, STEERED, DictionaryCard
from ui.common import charts as c
from ui.common.formatting import percent, short
from ui.common.language_models import TITLES, named
from ui.common.lessons import section
from ui.common.links import LINK
from ui.common.page import draw_finding
from ui.drawing import palette
from ui.foreign import as_code
from ui.steering import shared
from ui.steering.shared import DICTIONARIES, STYLE, Model, signed
from ui.work import pool
from ui.work.cache import NUMBERS_CACHE, cached

GATES = {TITLES[name]: name for name in STEERED}
CHART = "chart_features_order"
SEPARATES, BLIND = 0.9, 0.7  # AUC from which on a feature separates languages; below which not
PATTERN = 0.8  # share of top-activating examples with the same letters, from which on: a pattern
BEFORE, AFTER = 64, 20  # characters shown around the largest activation
CHANGED = 7  # characters with the largest increases, and as many with the largest decreases
SHADES = 5
KIND_TITLES = {kind: title for title, kind in DICTIONARIES.items()}


@dataclass(frozen=True, eq=False)
class Statistics:
    """Statistics of the features of one layer's dictionary; arrays (M,)."""

    active: np.ndarray  # (2, M): share of positions, in English and in Spanish
    difference: np.ndarray  # of mean activations, Spanish minus English
    auc: np.ndarray  # of separating Spanish from English, 0.5 to 1
    cosine: np.ndarray  # with the difference of means
    letters: np.ndarray  # share of the top-activating examples with the same last letters
    card: DictionaryCard


def statistics(model: Model, kind: str, layer: int) -> Statistics:
    """Return what is bundled of a dictionary."""
    dictionaries = model_and_dictionaries(*model)[1]
    trained = dictionaries.kinds[kind]
    gap, auc = dictionaries.gap[layer].numpy(), trained.statistics.auc[layer].astype(float)
    return Statistics(
        trained.statistics.fires[layer].astype(float),
        trained.statistics.difference[layer].astype(float),
        np.maximum(auc, 1 - auc),
        trained.dictionary.directions[layer].numpy() @ gap / np.linalg.norm(gap),
        letter_shares(*model, kind, layer),
        trained.cards[layer],
    )


@cached("Reading the verses …", on=NUMBERS_CACHE)
def top_examples(request: DirectionRequest) -> list[TopExample]:
    """Return the top-activating examples of a feature."""
    return pool.POOL.call(live.top_examples, request)


@cached("Attributing the residual stream …", on=NUMBERS_CACHE)
def attribution(request: DirectionRequest) -> WrittenAlong:
    """Return the residual-stream attribution of a direction."""
    return pool.POOL.call(written_along, request)


@cached("Steering …", on=NUMBERS_CACHE)
def next_change(request: DirectionRequest, strength: float) -> np.ndarray:
    """Return (V,) changes of the next character's probability by a steering vector."""
    return pool.POOL.call(effect_on_next, request, strength)


def draw() -> None:
    """Draw the tab."""
    st.html(STYLE)
    row = shared.control_row("features-row")
    with row:
        gate = st.selectbox(
            "Gate",
            [*GATES],
            key="steering_gate",
            width=165,
            **LINK,
            help="The multiplicative gate with which the model was trained.",
        )
        model = GATES[gate], shared.choose_seed()
    layer = shared.choose_layer(row)
    with row:
        request = shared.choose_feature(model, layer)
    strength = shared.choose_strength(row)
    kinds = {
        kind: statistics(model, kind, layer) for kind in model_and_dictionaries(*model)[1].kinds
    }
    features, charts = kinds[request.kind], c.Charts("features")
    examples = top_examples(request)
    finding, detail = feature_text(features, request.feature)
    draw_finding(finding)
    left, right = st.container(key="first").columns([6, 7])
    figure = order_chart(features, request.feature)
    charts.figures["order"] = figure
    left.plotly_chart(
        figure,
        key=CHART,
        alt=finding,
        config={"displayModeBar": False},
        on_select=select_feature,
        selection_mode="points",
    )
    shared.draw_text(right, "Top-activating examples, held-out verses", examples_html(examples))
    charts.tables["features"] = features_table(kinds)
    st.markdown(f"{detail} {kinds_text(kinds)}")
    more = st.expander(
        "Direct attribution, and the effect on the next character",
        key="steering_parts",
        on_change="rerun",
        **LINK,
    )
    if more.open:
        with more:
            draw_parts(request, strength, kinds, charts)
    with st.container(horizontal=True):
        for name, feature in (("Most Spanish", features.difference.argmax()),
                            ("Most English", features.difference.argmin())):  # fmt: skip
            st.button(
                name,
                icon=":material/target:",
                key=f"steering_{name[5:].lower()}",
                on_click=take_feature,
                args=(int(feature),),
            )
        charts.draw_footer(
            section("steering", "features", letters=LETTERS, pattern=percent(PATTERN))
        )


def draw_parts(
    request: DirectionRequest, strength: float, kinds: Mapping[str, Statistics], charts: c.Charts
) -> None:
    """Draw a feature's attribution, its effect on the next character, and all dictionaries."""
    parts, change = attribution(request), next_change(request, strength)
    along, effect = attribution_text(parts), next_text(change, strength)
    left, right = st.columns([6, 7])
    charts.draw("attribution", left, attribution_chart(parts), along)
    charts.draw("next", right, next_chart(change), effect)
    st.markdown(f"{along} {effect}")
    with st.container(key="steering_kinds"):
        charts.draw_table("dictionaries", st, "Dictionaries of this layer", kinds_table(kinds))


def take_feature(feature: int) -> None:
    """Choose the feature with this index."""
    st.session_state["steering_feature"] = feature + 1


def select_feature() -> None:
    """Choose the feature whose mark was clicked."""
    points = st.session_state[CHART].selection.points
    if points and "customdata" in points[0]:
        take_feature(int(points[0]["customdata"][0]) - 1)


# --- Sentences ------------------------------------------------------------------------------------


def separation(auc: float) -> str:
    """Return what a feature with this AUC does."""
    if auc >= SEPARATES:
        return "separates the languages"
    return "does not separate the languages" if auc < BLIND else "separates the languages in part"


def feature_text(features: Statistics, feature: int) -> tuple[str, str]:
    """Return the finding on one feature, and its numbers."""
    english, spanish = features.active[:, feature]
    return (
        f"Feature {feature + 1} {separation(features.auc[feature])}: AUC"
        f" {features.auc[feature]:.3f}.",
        f"It is active at {percent(english)} of English and {percent(spanish)} of Spanish"
        f" positions. Its cosine with the difference of means is"
        f" {signed(features.cosine[feature])}.",
    )


def kinds_text(kinds: Mapping[str, Statistics]) -> str:
    """Return whether the dictionaries have a feature that separates the languages."""
    parts = [
        f"that of *{KIND_TITLES[kind]}* {separation(features.auc.max())}"
        for kind, features in kinds.items()
    ]
    return f"The best of the {SIZE} features by AUC: {', '.join(parts)}."


def attribution_text(parts: WrittenAlong) -> str:
    """Return which parts contribute most along a direction."""
    contributions = {"the embedding": parts.embedding}
    for layer, (heads, mlp) in enumerate(zip(parts.heads, parts.mlps, strict=True), 1):
        contributions |= {f"head {layer}.{head}": value for head, value in enumerate(heads, 1)}
        contributions[f"the MLP of layer {layer}"] = mlp
    most = sorted(contributions, key=lambda name: -abs(contributions[name]))[:2]
    listed = " and ".join(f"{name} ({signed(contributions[name])})" for name in most)
    return (
        f"Spanish minus English, the residual stream differs by {signed(parts.total)} along the"
        f" feature; the largest contributions are those of {listed}."
    )


def next_text(change: np.ndarray, strength: float) -> str:
    """Return which next characters a steering vector makes more and less probable."""
    up, down = int(change.argmax()), int(change.argmin())
    return (
        f"A steering vector of strength {f'{strength:g}'.replace('-', '−')} changes the probability"
        f" of {as_code(named(up))} by {signed(100 * change[up], 1)} and of {as_code(named(down))}"
        f" by {signed(100 * change[down], 1)} points."
    )


def kinds_table(kinds: Mapping[str, Statistics]) -> dict[str, Sequence[str]]:
    """Return the dictionaries as columns."""
    rows = kinds.values()
    return {
        "dictionary": [KIND_TITLES[kind] for kind in kinds],
        "variance explained": [percent(of.card.explained) for of in rows],
        "active": [f"{short(of.card.active)} of {SIZE}" for of in rows],
        "dead": [str(of.card.dead) for of in rows],
        "best AUC": [f"{of.auc.max():.3f}" for of in rows],
        "letter patterns": [percent(float((of.letters >= PATTERN).mean())) for of in rows],
    }


def features_table(kinds: Mapping[str, Statistics]) -> dict[str, Sequence[object]]:
    """Return all features of all dictionaries as columns."""

    def columns(values: Callable[[Statistics], Iterable[object]]) -> list[object]:
        return [x for of in kinds.values() for x in values(of)]

    return {
        "dictionary": [KIND_TITLES[kind] for kind in kinds for _ in range(SIZE)],
        "feature": [*range(1, SIZE + 1)] * len(kinds),
        "active in English": columns(lambda of: of.active[0]),
        "active in Spanish": columns(lambda of: of.active[1]),
        "mean, Spanish minus English": columns(lambda of: of.difference),
        "AUC": columns(lambda of: of.auc),
        "cosine with the difference of means": columns(lambda of: of.cosine),
        "same letters in the top-activating examples": columns(lambda of: of.letters),
    }


def examples_html(examples: Sequence[TopExample]) -> str:
    """Return examples as HTML: the larger the activation, the darker; a line after the largest."""
    if not examples:
        return '<p class="gc-text">This feature is never active on the held-out verses.</p>'
    most = max(float(example.values.max()) for example in examples)
    lines = []
    for example in examples:
        peak = int(example.values.argmax())
        part = slice(max(0, peak + 1 - BEFORE), peak + 1 + AFTER)
        levels = np.ceil(SHADES * example.values[part] / most).astype(int)
        shades = [f"gc-active-{level}" for level in levels]
        lines.append(shared.coloured(example.text[part], shades, peak + 1 - part.start))
    return f'<div class="gc-examples">{"".join(lines)}</div>'


# --- Charts ---------------------------------------------------------------------------------------


def order_chart(features: Statistics, feature: int) -> go.Figure:
    """Draw all features by their difference of means, and ring the one chosen."""
    order = np.argsort(features.difference, kind="stable")
    ranks = np.empty(len(order), int)
    ranks[order] = np.arange(1, len(order) + 1)
    traces = []
    for side, (name, colour, symbol) in enumerate(shared.LANGUAGES):
        mine = np.flatnonzero((features.difference > 0) == bool(side))
        columns = mine + 1, *(100 * features.active[:, mine]), features.auc[mine]
        traces.append(
            c.line(
                f"more in {name}",
                ranks[mine],
                features.difference[mine],
                colour=colour,
                symbol=symbol,
                mode="markers",
            )
            | {
                # A click brings no row of a packed array.
                "customdata": np.stack(columns, -1).tolist(),
                "hovertemplate": "feature %{customdata[0]:.0f}: active at %{customdata[1]:.1f} % of"
                " English, %{customdata[2]:.1f} % of Spanish;"
                " AUC %{customdata[3]:.3f}<extra></extra>",
            }
        )
    x, y = int(ranks[feature]), float(features.difference[feature])
    figure = c.chart(
        "All features: click one",
        traces,
        "features, in this order",
        "mean, Spanish − English",
        legend={"x": 0.02, "y": 1, "yanchor": "top"},
        x_axis={"range": [-3, 1.05 * SIZE]},  # room for the ring on a phone
    )
    right = x <= SIZE / 2
    figure.add_scatter(
        x=[x],
        y=[y],
        mode="markers+text",
        text=[f"<b>feature {feature + 1}</b>"],
        textposition=f"middle {'right' if right else 'left'}",
        showlegend=False,
        hoverinfo="skip",
        marker={"size": 16, "symbol": "circle-open", "color": c.ACCENT, "line": {"width": 3}},
    )
    return figure


def attribution_chart(parts: WrittenAlong) -> go.Figure:
    """Draw the contribution of each part along a direction, a row for each layer."""
    layers, heads = parts.heads.shape
    z = np.full((layers, heads + 2), np.nan)
    z[0, 0] = parts.embedding
    z[:, 1:-1], z[:, -1] = parts.heads, parts.mlps
    low, high = palette.symmetric_range(float(np.nanmax(np.abs(z))))
    texts = [["" if np.isnan(x) else f"{x:.2f}" for x in row] for row in z]
    names = ["embedding", *(f"head {head + 1}" for head in range(heads)), "MLP"]
    parts_map = c.heatmap(
        z,
        low,
        high,
        palette.SIGNED_SCALE,
        x=names,
        text=texts,
        texttemplate="%{text}",
        y=[f"layer {layer + 1}" for layer in range(layers)],
        hoverongaps=False,
        xgap=2,
        ygap=2,
        hovertemplate="%{y}, %{x}: %{z:.3f}<extra></extra>",
    )
    plain = {"showgrid": False, "ticks": ""}
    return c.chart(
        "Residual-stream attribution",
        [parts_map],
        height=190,
        margin={"l": 56, "r": 8, "t": 32, "b": 28},
        x_axis=plain | {"tickangle": 0, "tickfont": {"size": 12}},
        y_axis=plain | {"autorange": "reversed", "type": "category"},
    )


def next_chart(change: np.ndarray) -> go.Figure:
    """Draw the next characters whose probability changes most."""
    order = np.argsort(-change, kind="stable")
    shown = [*order[:CHANGED], *order[-CHANGED:]]
    labels = [named(int(number)) for number in shown]
    traces = []
    for name, colour, chosen in (("more probable", c.MAGENTA, change > 0),
                                 ("less probable", c.GREY, change <= 0)):  # fmt: skip
        at = [place for place, number in enumerate(shown) if chosen[number]]
        traces.append(
            c.bars(
                name,
                at,
                100 * change[[shown[place] for place in at]],
                colour=colour,
                labels=[labels[place] for place in at],
            )
        )
    return c.chart(
        "Change of the next character",
        traces,
        "",
        "points",
        height=190,
        margin={"l": 50, "r": 8, "t": 48, "b": 28},
        showlegend=False,
        x_axis=c.ticks(range(len(shown)), labels) | {"tickangle": 0},
    )
