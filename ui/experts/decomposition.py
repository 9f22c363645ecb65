"""The tab Decomposition: one entry of the output as a sum over heads, experts and tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

import gating_core.experts as core
from gating_core.experts import EntryTree
from ui.common import charts as c
from ui.common.formatting import short, vector_text
from ui.common.lessons import section
from ui.common.links import LINK, link_value, parse_numbers, put_in_link
from ui.common.page import draw_finding
from ui.components.tree import tree
from ui.experts import shared
from ui.experts.shared import NO_GATE, RANDOM, Model
from ui.limits import EXPERTS_CHANNELS

TREE = "experts_tree"
SPARE = 490  # pixels of the window's height that all but the tree takes
EXTENT = 1.0  # of the input's square
POINT = (-0.6, 0.4)  # the input that is shown first
MULTIPLIES = ("G1", "G2", "G5")  # where a gate is a factor of each term; elsewhere it is within α


def draw() -> None:
    """Draw the tree of one entry, the input that can be dragged, and the formula."""
    model, more = shared.choose_model()
    channel = more.number_input(
        "Output j",
        1,
        EXPERTS_CHANNELS[1],
        1,
        key="output",
        help="The channel of the output that is decomposed, counted from 1.",
        **LINK,
    )
    if channel > model.model_dim:
        st.caption(f":material/info: There is no output {channel}. Shown: {model.model_dim}.")
        channel = model.model_dim
    model = shared.with_weights(model)
    point = link_value("input", parse_point, POINT, vector_text(POINT))
    expert = shared.followed_expert(model)
    entry = entry_of(model, point, channel)
    charts = c.Charts("decomposition")

    draw_finding(entry_text(entry))
    with st.container(key="first"):
        tree(
            key=TREE,
            label=entry_alt(model, entry, channel),
            hint="Every number multiplies: the thicker a branch, the larger the product so far;"
            " dashed: negative. Point at an expert to follow it.",
            name=f"Y[{channel}]",
            numbers=browser_numbers(model, channel),
            strength=model.strength,
            point=point,
            expert=expert,
            spare=SPARE,
            on_leave=on_leave,
        )
    charts.tables["terms"] = term_columns(entry)
    place = model.position.replace(" ", "_")
    if model.granularity == "headwise" and place in MULTIPLIES:
        place += "_head"
    formula = section("experts", f"formula_{place}")
    about = section("experts", "decomposition", **explained(model, entry, channel))
    charts.draw_footer(f"{formula}\n\n{about}")
    code = st.expander("The same from the library", key="code", on_change="rerun", **LINK)
    if code.open:
        code.code(library_code(model, point, channel), language="python")


def entry_of(model: Model, point: tuple[float, float], channel: int) -> EntryTree:
    """Decompose the entry ``channel``, counted from 1."""
    return core.entry_tree(shared.attention_of(model), point, channel - 1)


def parse_point(text: str) -> tuple[float, float] | None:
    """Return the input of "-0.6,0.4"; ``None`` if it is not in the square."""
    numbers = parse_numbers(text)
    if numbers is None or len(numbers) != 2 or max(map(abs, numbers)) > EXTENT:
        return None
    return numbers[0], numbers[1]


def on_leave(point: tuple[float, float], strength: float, expert: str) -> None:
    """Write input, strength and followed expert into the link once the visitor lets go of them."""
    text = ",".join(f"{x:.4g}" for x in point)
    linked = "" if strength == 1 else f"{strength:g}"
    put_in_link(input="" if point == POINT else text, gate_lambda=linked, expert=expert)


def browser_numbers(model: Model, channel: int) -> dict[str, Any]:
    """Return the numbers from which the browser computes entries of a model."""
    maps = core.entry_maps(shared.attention_of(model))
    gate = None
    if maps.gate_logits is not None:
        gate = {
            "place": model.position,
            "kind": model.kind,
            "title": f"gate {model.position}",
            "logits": maps.gate_logits.tolist(),
        }
    names = ("values", "queries", "keys", "tokens", "projection")
    lists: dict[str, Any] = {name: getattr(maps, name).tolist() for name in names}
    return {**lists, "valueMap": maps.value_map.tolist(), "gate": gate, "channel": channel - 1}


def entry_text(entry: EntryTree) -> str:
    """Say of what the entry is the sum."""
    heads, size, _ = entry.terms.shape
    return (
        f"In this toy layer, of {heads * size} experts. Attention is the router: it says how much"
        " of each token an expert gets."
    )


def entry_alt(model: Model, entry: EntryTree, channel: int) -> str:
    """Return the finding, for those who do not see the tree."""
    heads: list[float] = entry.channels.sum(1).tolist()
    parts = ", ".join(f"head {h + 1} {short(x)}" for h, x in enumerate(heads))
    gate = NO_GATE if model.position == NO_GATE else f"a gate at {model.position}"
    return (
        f"Output {channel} of a model with {gate}, as a tree of {entry.terms.size} terms:"
        f" {short(entry.value)} is the sum of {parts}."
    )


def explained(model: Model, entry: EntryTree, channel: int) -> dict[str, object]:
    """Return the numbers of the explanation."""
    heads, size, tokens = entry.terms.shape
    factors = [entry.projection[0, 0], entry.weights[0, 0], entry.experts[0, 0, 0]]
    named = ""
    if model.position in MULTIPLIES:
        factors.insert(1, entry.gates[0, 0] * entry.value_gates[0, 0, 0] * entry.outside)
        named = ", where the second factor is the gate"
    product = " · ".join(map(short, factors))
    return {
        "first": f"{product} = {short(entry.terms[0, 0, 0])}{named}",
        "heads": heads,
        "size": size,
        "tokens": tokens,
        "count": entry.terms.size,
        "channel": channel,
        "value": short(entry.value),
    }


def term_columns(entry: EntryTree) -> dict[str, list[Any]]:
    """Return all terms with their factors as columns of a table."""
    h, own, t = (index.ravel() for index in np.indices(entry.terms.shape))
    return {
        "head": (h + 1).tolist(), "expert": (own + 1).tolist(), "token": (t + 1).tolist(),
        "value": entry.experts[h, t, own].tolist(),
        "gate G2": entry.value_gates[h, t, own].tolist(),
        "attention weight": entry.weights[h, t].tolist(), "gate G1": entry.gates[h, own].tolist(),
        "W_O": entry.projection[h, own].tolist(), "gate G5": [entry.outside] * len(h),
        "term": entry.terms[h, own, t].tolist(),
    }  # fmt: skip


def library_code(model: Model, point: tuple[float, float], channel: int) -> str:
    """Return lines that make the page's numbers from the library."""
    source, made = "", f"build_attention(config, seeds=({model.seed},))"
    if model.task != RANDOM:
        source = ", trained_state, with_state"
        state = f"trained_state(config, {model.task!r}, {model.seed})"
        made = f"with_state(config, {model.seed}, {state})"
    return f"""\
from gating_core.attention import AttentionConfig, GateConfig, build_attention
from gating_core.experts import entry_tree, non_identifiable_directions{source}

config = AttentionConfig(
    "tokens", model_dim={model.model_dim}, heads={model.heads},
    value_count={model.value_count}, output_projection=True,
    gate={model.config.gate!r},
)
model = {made}
tree = entry_tree(model, {point!r}, channel={channel - 1})
print(tree.value, tree.total, tree.rounding)
print(tree.terms)  # (H, d, n): heads, channels, tokens
directions = non_identifiable_directions(model)
print(directions.count, directions.theory, directions.ends)
"""
