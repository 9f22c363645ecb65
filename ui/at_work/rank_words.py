"""Sentences of the tab Rank that are built from its numbers.

Shapes: S seeds, L layers, H heads of d channels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from gating_core.training import mean_interval
from ui.at_work.rank_picture import STAGES, Head
from ui.common.language_models import TITLES
from ui.common.words import figures, plus_minus

MOST, LEAST = "most lifted", "least lifted"  # the heads that a rule chooses
RAISES, LOWERS, UNDECIDED = "raises", "lowers", "undecided"
Arrays = Mapping[str, np.ndarray]


def chosen(name: str, outputs: np.ndarray) -> Head:
    """Return the head called ``name``: "layer.head", or one by the quotient of ranks (3, L, H)."""
    if name not in (MOST, LEAST):
        layer, number = (int(part) - 1 for part in name.split("."))
        return layer, number
    lift = outputs[1] / outputs[0]
    layer, number = np.unravel_index(lift.argmax() if name == MOST else lift.argmin(), lift.shape)
    return int(layer), int(number)


def word(low: float, high: float) -> str:
    """Say what a gate does to a rank, from the interval of the quotient after / before."""
    return RAISES if low > 1 else LOWERS if high < 1 else UNDECIDED


def summary(arrays: Arrays, over_seeds: np.ndarray, texts: int) -> str:
    """Say in how many heads the gate lifts the effective rank, and whether any lies above d.

    ``over_seeds`` (S, 3, L, H): the ranks of all seeds.
    """
    outputs, ends = arrays["ranks.outputs"], arrays["ranks.lift"].reshape(2, -1)
    words = [word(*pair) for pair in ends.T]
    counts = [f"{verb} the effective rank in {words.count(verb)}" for verb in (RAISES, LOWERS)
              if verb in words]  # fmt: skip
    if UNDECIDED in words:
        counts.append(f"does neither for certain in {words.count(UNDECIDED)}")
    seeds = (over_seeds[:, 1] / over_seeds[:, 0]).mean((1, 2))
    mean = f"{seeds[0]:.3f}"
    if len(seeds) > 1:
        lift = mean_interval(seeds)
        mean = f"{plus_minus(lift.mean, lift.half_width)} (mean of heads, {len(seeds)} seeds)"
    channels = arrays["ranks.maps"].shape[-1]
    # To one part in a million: what is shown was rounded to single precision.
    above = int((outputs.max(0) > channels * (1 + 1e-6)).sum())
    none = f"No rank lies above d = {channels}, and none can"
    if above:
        none = f"{above} ranks lie above d"
    return (
        f"**The gate {', '.join(counts)} of {len(words)} heads**: {_example(outputs, MOST)},"
        f" {_example(outputs, LEAST)} (95 % intervals over {texts} texts). After / before:"
        f" {mean}. {none}."
    )


def _example(outputs: np.ndarray, name: str) -> str:
    layer, number = chosen(name, outputs)
    before, after = (figures(float(x[layer, number])) for x in outputs[:2])
    return f"{name} is {layer + 1}.{number + 1} ({before} → {after})"


def reason(arrays: Arrays, head: Head, width: int, between: bool) -> str:
    """Say in two paragraphs why no head's outputs have a rank above d, with this head's numbers.

    ``between``: the gate stands after attention and not on the values.
    """
    values = arrays["ranks.maps"][head]
    d, name = len(values), f"{head[0] + 1}.{head[1] + 1}"
    before, after, projected = (figures(float(x[head])) for x in arrays["ranks.outputs"])
    low, high = (figures(float(x[head])) for x in arrays["ranks.lift"])
    opened = float(arrays["ranks.opened"][head])
    read = "the query's character" if between else "the key's character"
    return (
        f"**Why.** Without a gate head {name} is one map W_V W_O, {width} × {d} times {d} × {width}"
        f". At most {d} singular values are not 0 (here {figures(float(values[0]))} to"
        f" {figures(float(values[-1]))}).\n\n"
        f"The gate stands between them as diag(g) and reads {read}. Outputs are still sums of the"
        f" {d} rows of W_O: **no gate lifts them above d = {d} (proved)**. The gate changes how"
        f" evenly the rows are used: {before} → {after} (× {low} to {high}), {projected} after W_O."
        f" It also makes different maps W_V diag(g) W_O: effectively {figures(opened)}. No gate, or"
        " one factor per head, makes a single map."
    )


def ranks_csv(measured: Mapping[tuple[str, int], Arrays]) -> Iterator[Sequence[object]]:
    """Yield a row for every head of every model."""
    stages = [name for name, *_ in STAGES]
    intervals = [f"{name}, {end}" for name in stages for end in ("low", "high")]
    yield ("model", "seed", "layer", "head", *stages, *intervals, "after / before, low",
           "after / before, high", "different maps", "singular values of W_V W_O")  # fmt: skip
    for (name, seed), arrays in measured.items():
        for layer, number in np.ndindex(*arrays["ranks.opened"].shape):
            at = ..., layer, number
            numbers = [*arrays["ranks.outputs"][at], *arrays["ranks.range"][at].T.ravel(),
                       *arrays["ranks.lift"][at], arrays["ranks.opened"][at]]  # fmt: skip
            values = " ".join(f"{value:.6g}" for value in arrays["ranks.maps"][layer, number])
            yield (TITLES.get(name, name), seed, layer + 1, number + 1, *map(float, numbers),
                   values)  # fmt: skip
