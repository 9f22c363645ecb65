"""Words of tokens as they are drawn, heads as they are named, and the sentences about a head."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ui.common.words import percent, plus_minus, short

WORD_START, PIECE = "Ġ", "##"  # of tokens: of GPT-2's family, and of BERT's
CLOSING = set(".,;:!?’'”)]-")


def drawn_words(tokens: Sequence[str]) -> tuple[list[str], list[bool]]:
    """Return the words of tokens, and which of them follow without a space."""
    starts = any(token.startswith(WORD_START) for token in tokens)
    words, glued = [], []
    for number, token in enumerate(tokens):
        word = token.removeprefix(PIECE).removeprefix(WORD_START).replace("Ċ", "¶") or "␣"
        joined = token.startswith(PIECE) or (starts and not token.startswith(WORD_START))
        words.append(word)
        glued.append(number > 0 and (joined or word in CLOSING))
    return words, glued


def head_line(
    total: float, error: float, span: float, proved: float, points: int, twins: Sequence[float]
) -> tuple[str, str]:
    """Return a finding about one head and the rest of its line; ``twins`` are totals (S,)."""
    low, high = min(twins), max(twins)
    flat = proved == 0
    known = "at no point" if flat else f"at {_all(proved)} {points:,} points"
    return (
        f"∫|K| dA = {plus_minus(total, error)}; an equally sharp head with random queries and"
        f" keys: {short(sum(twins) / len(twins))}.",
        f"({len(twins)} seeds, {short(low)} to {short(high)}.) K ≠ 0 is proved {known};"
        f" outputs span {percent(span)} of the values’ hull.",
    )


def _all(share: float) -> str:
    return "all" if share == 1 else f"{percent(share)} of"


def times_text(ratio: float) -> str:
    """Format a ratio: ".26 ×" is written 0.26×."""
    return "–" if math.isnan(ratio) else f"{ratio:.1f}×" if ratio >= 1 else f"{ratio:.2f}×"


def sharp_sentence(totals: np.ndarray, twins: np.ndarray) -> str:
    """Compare totals (L, H) with those of equally sharp random heads (S, L, H)."""
    ratio = float(np.median(twins.mean(0) / totals))
    more = float((totals > twins.mean(0)).mean())
    verb = "curves" if ratio > 1 else "curves only"
    return (
        f"An equally sharp head with random queries and keys {verb} {short(round(ratio, 1))} times"
        f" as much (median of {totals.size} heads); the trained one curves more in"
        f" {percent(more)} of them."
    )
