"""Sentences and tables of the two sections on a model that are built from its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from gating_core.experts import EntryTree, Moves, Undecidable
from ui.common.words import error_text, percent, short, vector_text
from ui.experts.picture import Counts, setting_text
from ui.experts.request import NO_GATE, RANDOM, ExpertsSelection

COLUMNS = ("head", "expert", "token", "expert gives", "gate G2", "attention weight", "gate G1",
           "W_O", "gate G5", "term")  # fmt: skip
MULTIPLIES = ("G1", "G2", "G5")  # where a gate is a factor of each term; elsewhere it is within α
STILL = 1e-12  # relative: outputs that move less stand still to rounding

# --- One entry, taken apart -----------------------------------------------------------------------


def entry_summary(selection: ExpertsSelection, entry: EntryTree) -> str:
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


def entry_alt(selection: ExpertsSelection, entry: EntryTree) -> str:
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


def terms_rows(entry: EntryTree) -> Iterator[tuple]:
    """Yield all terms with their factors as rows of a table, their names first."""
    yield COLUMNS
    for (h, c, t), term in np.ndenumerate(entry.terms):
        factors = (
            entry.experts[h, t, c], entry.value_gates[h, t, c], entry.weights[h, t],
            entry.gates[h, c], entry.projection[h, c], entry.outside, term,
        )  # fmt: skip
        yield (h + 1, c + 1, t + 1, *map(float, factors))


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


# --- What no data can decide ----------------------------------------------------------------------


def counts_summary(selection: ExpertsSelection, counts: Counts) -> str:
    """Return what is counted for the model on screen, and whether theory agrees everywhere."""
    shown = counts[selection.gate_setting]
    name = setting_text(selection.gate_setting)
    if not shown.clear:
        smallest, null = shown.ends
        return (
            f"With {name} the count is **undecided**: the singular values have no clear gap"
            f" ({short(smallest)} above, {short(null)} below)."
        )
    text = (
        f"With *{name}*, **{shown.count} of {len(shown.singular_values)} directions** of W_V and"
        f" W_O change no output, whatever the data. {theory_text(selection, shown)}"
    )
    differ = [setting_text(setting) for setting, each in counts.items() if not agrees(each)]
    if differ:
        return f"{text} Theory and count differ, or the gap is not clear, for {', '.join(differ)}."
    return f"{text} Theory and count agree in all {len(counts)} rows."


def agrees(directions: Undecidable) -> bool:
    """Whether a clear count is what theory says."""
    return directions.clear and directions.count == directions.theory


def theory_text(selection: ExpertsSelection, directions: Undecidable) -> str:
    """Say where theory's number comes from."""
    dim, heads = selection.model_dim, selection.heads
    size = dim // heads
    tells = selection.granularity == "elementwise" and selection.position in ("G1", "G2")
    tells = tells and selection.strength > 0
    base = dim if tells else heads * size**2
    rule = f"one scale for each channel, D = {dim}" if tells else f"H d² = {heads}·{size}² = {base}"
    assert directions.theory is not None  # one layer, no normalisation
    more = directions.theory - base
    if not more:
        return f"Theory says {rule}."
    spanned = min(dim, 3 * selection.value_count)
    handed = more > dim * (dim - spanned)
    exchanged = ", and with few tokens one head can take over parts of another's output"
    return (
        f"Theory says {rule}, and {more} more. The {selection.value_count} tokens are affine maps"
        f" of a point of the plane. They span only {spanned} of {dim} dimensions"
        f"{exchanged if handed else ''}."
    )


def move_text(selection: ExpertsSelection, moves: Mapping[str, Moves]) -> str:
    """Return what the move to the chosen distance changes."""
    head, first, second = selection.moved
    what = f"Scaling expert {head + 1}.{first + 1}"
    if selection.mixes:
        what = f"Mixing experts {head + 1}.{first + 1} and {head + 1}.{second + 1}"
    plain = next(iter(moves.values()))
    at = int(np.abs(plain.distances - selection.distance).argmin())
    parts = [
        f"With {name} the outputs **{_moved(each.outputs[at], 'stand still', 'move by')}**."
        for name, each in moves.items()
    ]
    experts = _moved(plain.experts[at], "do not change", "change by")
    return (
        f"{what} by t = {short(selection.distance)} moves the head's weights by"
        f" {percent(float(plain.weights[at]))} of their size. Its experts {experts}."
        f" {' '.join(parts)}"
    )


def _moved(change: float, still: str, by: str) -> str:
    if change < STILL:
        return f"{still} (to {error_text(change)})" if change else still
    return f"{by} {percent(float(change))}"


def counts_alt(counts: Counts) -> str:
    """Return the finding of the bars, for those who do not see them."""
    return "Undecidable directions by gate position: " + "; ".join(
        f"{setting_text(setting)} {each.count} (theory {each.theory})"
        for setting, each in counts.items()
    )


def gap_alt(directions: Undecidable) -> str:
    """Return the finding of the singular values."""
    smallest, null = directions.ends
    return (
        f"{len(directions.singular_values)} singular values from large to small."
        f" {directions.count} count as zero: the largest of these is {short(null)}, the smallest of"
        f" the others {short(smallest)}."
    )


def fewer_text(counts: Counts) -> str:
    """Say which gates leave fewer directions non-identifiable than no gate does."""
    plain = counts[None]
    unclear = [setting_text(setting) for setting, each in counts.items() if not each.clear]
    if not plain.clear:
        return "Without a gate the count is inconclusive, so gates cannot be compared with it."
    fewer = [f"*{setting_text(setting)}* ({each.count})" for setting, each in counts.items()
             if each.clear and each.count < plain.count]  # fmt: skip
    text = (
        f"No gate leaves fewer directions non-identifiable than the model without one"
        f" ({plain.count})."
    )
    if fewer:
        text = (
            f"Fewer directions are non-identifiable than without a gate ({plain.count}) with"
            f" {', '.join(fewer)}."
        )
    return f"{text} Inconclusive: {', '.join(unclear)}." if unclear else text


def counts_fields(selection: ExpertsSelection, counts: Counts) -> dict[str, object]:
    """Return the numbers of the counts' explanation."""
    directions = counts[selection.gate_setting]
    smallest, null = directions.ends
    return {
        "fewer": fewer_text(counts),
        "count": directions.count, "parameters": len(directions.singular_values),
        "theory": directions.theory,
        "smallest": short(smallest), "null": short(null), "dim": selection.model_dim,
        "heads": selection.heads, "size": selection.model_dim // selection.heads,
    }  # fmt: skip


def counts_rows(counts: Counts) -> Iterator[tuple]:
    """Yield the counts by gate position as rows of a table, their names first."""
    yield "gate", "counted", "theory", "smallest decided", "largest null", "clear"
    for setting, each in counts.items():
        yield (setting_text(setting), each.count, each.theory, *each.ends, each.clear)


def moves_rows(moves: Mapping[str, Moves]) -> Iterator[tuple]:
    """Yield what moves change as rows of a table, their names first."""
    yield "model", "t", "weights", "experts", "outputs"
    for name, each in moves.items():
        for row in zip(each.distances, each.weights, each.experts, each.outputs, strict=True):
            yield (name, *map(float, row))
