"""Sentences of the Experts page that are built from its numbers."""

from __future__ import annotations

import csv
import io

import numpy as np

from gating_core.experts import EntryTree
from ui.common.words import error_text, short, vector_text
from ui.experts.request import NO_GATE, RANDOM, ExpertsSelection

COLUMNS = ("head", "expert", "token", "expert gives", "gate G2", "attention weight", "gate G1",
           "W_O", "gate G5", "term")  # fmt: skip
MULTIPLIES = ("G1", "G2", "G5")  # where a gate is a factor of each term; elsewhere it is within α


def summary(selection: ExpertsSelection, entry: EntryTree) -> str:
    """Return the sentence below the tree, for the input in the link."""
    terms, experts = entry.terms, entry.channels
    head, channel = np.unravel_index(np.abs(experts).argmax(), experts.shape)
    rounding = "Model and sum are the same number."
    if entry.rounding:
        rounding = f"Model and sum differ by {error_text(abs(entry.rounding))}: rounding."
    return (
        f"**Y[{selection.channel}] = {short(entry.value)}** at x = {vector_text(selection.point)}"
        f" is a sum of {terms.size} terms. Their sizes add up to {short(entry.size)}. The largest"
        f" part is that of expert {head + 1}.{channel + 1}:"
        f" {short(float(experts[head, channel]))}. {rounding}"
    )


def alt_text(selection: ExpertsSelection, entry: EntryTree) -> str:
    """Return the finding, for those who do not see the tree."""
    heads: list[float] = entry.channels.sum(1).tolist()
    parts = ", ".join(f"head {h + 1} {short(x)}" for h, x in enumerate(heads))
    gate = "no gate" if selection.position == NO_GATE else f"a gate at {selection.position}"
    return (
        f"Output {selection.channel} of a model with {gate}, as a tree of {entry.terms.size} terms:"
        f" {short(entry.value)} is the sum of {parts}."
    )


def position_sections(selection: ExpertsSelection) -> tuple[str, str]:
    """Return the names of the texts with the formula and with what it means."""
    position, per_head = selection.position, selection.granularity == "headwise"
    formula, place = f"formula_{position}", f"place_{position}"
    if per_head and position in MULTIPLIES:
        formula += "_head"
        place += "_head" if position != "G5" else ""
    return formula, place


def tree_fields(selection: ExpertsSelection, entry: EntryTree) -> dict[str, object]:
    """Return the numbers of the tree's explanation."""
    heads, size, tokens = entry.terms.shape
    gate = short(entry.gates[0, 0] * entry.value_gates[0, 0, 0] * entry.outside)
    numbers = entry.projection[0, 0], entry.weights[0, 0], entry.experts[0, 0, 0]
    factors = [short(number) for number in numbers]
    first, box, named = factors, "", ""
    if selection.gate_setting is not None:
        box = "The box is the gate. It stands where the gate multiplies."
        if selection.position in MULTIPLIES:
            first, named = [factors[0], gate, *factors[1:]], ", where the second factor is the gate"
    return {
        "box": box, "first": f"{' · '.join(first)} = {short(entry.terms[0, 0, 0])}{named}",
        "heads": heads, "size": size, "tokens": tokens, "count": entry.terms.size,
        "channel": selection.channel,
        "value": short(entry.value), "rounding": error_text(abs(entry.rounding)),
    }  # fmt: skip


def terms_csv(entry: EntryTree) -> str:
    """Return all terms with their factors as CSV."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for (h, c, t), term in np.ndenumerate(entry.terms):
        factors = (
            entry.experts[h, t, c], entry.value_gates[h, t, c], entry.weights[h, t],
            entry.gates[h, c], entry.projection[h, c], entry.outside, term,
        )  # fmt: skip
        writer.writerow([h + 1, c + 1, t + 1, *map(float, factors)])
    return out.getvalue()


def code(selection: ExpertsSelection) -> str:
    """Return lines that make the page's numbers from the library."""
    source, made = "", f"build_attention(config, seeds=({selection.seed},))"
    if selection.task != RANDOM:
        source = ", trained_state, with_state"
        state = f"trained_state(config, {selection.task!r}, {selection.seed})"
        made = f"with_state(config, {selection.seed}, {state})"
    return f"""\
from gating_core.attention import AttentionConfig, GateConfig, build_attention
from gating_core.experts import entry_tree, undecidable_directions{source}

config = AttentionConfig(
    "tokens", model_dim={selection.model_dim}, heads={selection.heads},
    value_count={selection.value_count}, output_projection=True,
    gate={selection.config.gate!r},
)
model = {made}
tree = entry_tree(model, {selection.point!r}, channel={selection.channel - 1})
print(tree.value, tree.total, tree.rounding)
print(tree.terms)  # (H, d, n): heads, channels, tokens
directions = undecidable_directions(model)
print(directions.count, directions.theory, directions.ends)
"""
