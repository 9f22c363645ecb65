"""Sentences of the tab Sparse gates that are built from its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from gating_core.at_work import SHUT
from gating_core.language import CHARACTERS
from gating_core.training import mean_interval
from ui.at_work.gates_picture import openers
from ui.common.language_models import TITLES
from ui.common.words import percent, plus_minus
from ui.drawing.characters import sign
from ui.foreign import as_code

MANY, FEW = 0.5, 0.1  # shares of shut gates from which on gates are sparse, and are not
SPARSE, PARTLY, NOT_SPARSE = "sparse", "partly sparse", "not sparse"
UNDECIDED = "too uncertain to call sparse or not"


def word(low: float, high: float) -> str:
    """Say whether gates are sparse, from the interval of the share that is shut."""
    if low >= MANY:
        return SPARSE
    if high <= FEW:
        return NOT_SPARSE
    return PARTLY if low > FEW and high < MANY else UNDECIDED


def summary(shut: np.ndarray, seed: int, name: str) -> str:
    """Say how many gate values are nearly 0: by seed, layer and head (S, L, H)."""
    seeds = shut.mean((1, 2))
    shown = shut[seed]
    sparsest, openest = (np.unravel_index(k, shown.shape) for k in (shown.argmax(), shown.argmin()))
    if len(seeds) > 1:
        mean = mean_interval(seeds)
        low, high = max(mean.mean - mean.half_width, 0.0), mean.mean + mean.half_width
        share = f"{plus_minus(100 * mean.mean, 100 * mean.half_width, 0.0)} %"
    else:
        low = high = float(seeds[0])
        share = percent(low)
    return (
        f"**The gates are {word(low, high)}**: {share} of their values are below {SHUT:g}"
        f" ({TITLES[name]}, {_seeds(len(seeds))}). Head {_head(sparsest)} has most of them"
        f" ({percent(float(shown.max()))} of its values), head {_head(openest)} fewest"
        f" ({percent(float(shown.min()))})."
    )


def in_text(opened: np.ndarray, text: str) -> str:
    """Say where in ``text`` a head is widest open, against its own mean, of (L, H, T).

    The break before the text does not count.
    """
    above = (opened - opened.mean(-1, keepdims=True))[..., 1:]
    layer, head, before = np.unravel_index(above.argmax(), above.shape)
    position = int(before) + 1
    return (
        f"In this text head {_head((layer, head))} opens most at"
        f" {as_code(sign(text[position]))} (character {position}):"
        f" {opened[layer, head, position]:.2f} against {opened[layer, head].mean():.2f} on average."
    )


def opener_text(measured: Mapping[str, np.ndarray]) -> str:
    """Say which character opens which head most, over all verses."""
    above = openers(measured)
    if not np.isfinite(above).any():
        return "No character was read often enough."
    number, layer, head = np.unravel_index(np.nanargmax(above), above.shape)
    return (
        f"Over all verses head {_head((layer, head))} opens most at"
        f" {as_code(sign(CHARACTERS[number]))}: {above[number, layer, head]:.2f} above its mean."
    )


def gates_csv(models: Mapping[tuple[str, int], Mapping[str, np.ndarray]]
              ) -> Iterator[Sequence[object]]:  # fmt: skip
    """Yield a row for every head of every gated model: the share shut, and all bins."""
    yield "model", "seed", "layer", "head", f"share below {SHUT:g}", "bins from 0 to 1"
    for (name, seed), arrays in models.items():
        if "gates.shut" not in arrays:
            continue
        for (layer, head), share in np.ndenumerate(arrays["gates.shut"]):
            bins = arrays["gates.histogram"][layer, head].tolist()
            yield TITLES.get(name, name), seed, layer + 1, head + 1, float(share), *bins


def text_csv(opened: np.ndarray, text: str) -> Iterator[Sequence[object]]:
    """Yield a row for every character: how far each head (L, H, T) is open."""
    layers, heads, _ = opened.shape
    yield "place", "character", *(_head(position) for position in np.ndindex(layers, heads))
    for position, character in enumerate(text):
        yield position, sign(character), *opened[..., position].ravel().tolist()


def _head(position: Sequence[int] | tuple[np.intp, ...]) -> str:
    return ".".join(str(int(number) + 1) for number in position)


def _seeds(count: int) -> str:
    return f"mean of {count} seeds, 95 % interval" if count > 1 else "one seed"
