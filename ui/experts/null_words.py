"""Sentences of the second section that are built from its numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from gating_core.experts import Moves, Undecidable
from ui.common.words import error_text, percent, short
from ui.experts.picture import Counts, setting_text
from ui.experts.request import ExpertsSelection

STILL = 1e-12  # relative: outputs that move less stand still to rounding


def summary(selection: ExpertsSelection, counts: Counts) -> str:
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
        f"With {name} the outputs **{_outputs(each.outputs[at])}**." for name, each in moves.items()
    ]
    experts = _moved(plain.experts[at], "do not change", "change by")
    return (
        f"{what} by t = {short(selection.distance)} moves the head's weights by"
        f" {percent(float(plain.weights[at]))} of their size. Its experts {experts}."
        f" {' '.join(parts)}"
    )


def _outputs(change: float) -> str:
    return _moved(change, "stand still", "move by")


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


def fields(selection: ExpertsSelection, directions: Undecidable) -> dict[str, object]:
    """Return the numbers of the counts' explanation."""
    smallest, null = directions.ends
    return {
        "count": directions.count, "parameters": len(directions.singular_values),
        "theory": directions.theory,
        "smallest": short(smallest), "null": short(null), "dim": selection.model_dim,
        "heads": selection.heads, "size": selection.model_dim // selection.heads,
    }  # fmt: skip


def move_fields(selection: ExpertsSelection, moves: Mapping[str, Moves]) -> dict[str, object]:
    """Return the numbers of the move's explanation."""
    return {"distance": short(selection.distance), "sentence": move_text(selection, moves)}


def counts_csv(counts: Counts) -> str:
    """Return the counts by gate position as CSV."""
    rows = [(setting_text(setting), each.count, each.theory, *each.ends, each.clear)
            for setting, each in counts.items()]  # fmt: skip
    return _csv(("gate", "counted", "theory", "smallest decided", "largest null", "clear"), rows)


def moves_csv(moves: Mapping[str, Moves]) -> str:
    """Return what moves change as CSV."""
    rows = [
        (name, *map(float, row))
        for name, each in moves.items()
        for row in zip(each.distances, each.weights, each.experts, each.outputs, strict=True)
    ]
    return _csv(("model", "t", "weights", "experts", "outputs"), rows)


def _csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    out = io.StringIO()
    csv.writer(out).writerows([columns, *rows])
    return out.getvalue()
