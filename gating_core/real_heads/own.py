"""A layer of a visitor's checkpoint: its heads on one text, measured one after the other.

Shapes: L = 1 layer, H heads, S twins, T tokens, D width.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from gating_core.checkpoints import (
    Checkpoint,
    Tokens,
    head_map,
    measure_head,
    open_checkpoint,
    principal_plane,
    read_layer,
    read_states,
    read_tokens,
    shuffled,
)
from gating_core.checkpoints.reading import TensorFile, file_stamp
from gating_core.geometry import square_grid
from gating_core.progress import Progress, silent
from gating_core.real_heads.charts import HeadChart, HeadCharts, chart_heads
from gating_core.real_heads.measured import (
    GRID_SIZE,
    Arrays,
    Dial,
    Reading,
    Three,
    dial_head,
    keys_of,
    measure_one,
    open_head,
    stacked,
)

STATES = "states.safetensors"  # beside the weights: tensors "layer.N" (T, D), what attention reads
MOST_TOKENS = 256
LARGEST_WIDTH = 8192
LARGEST_CHANNELS = 256


@dataclass(frozen=True)
class OwnRequest:
    """A ``layer``, from 0, of the checkpoint in a ``folder``, on a ``text``.

    ``digest`` tells the checkpoint from another in the same folder, and ``stamp`` its other files,
    such as states or a tokeniser, from those of before. Where the folder holds the states, the text
    is not read.
    """

    folder: str
    digest: str
    layer: int
    text: str = ""
    special: bool = False
    stamp: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class OwnLayer:
    """The charts and measures of all heads of a layer; arrays as those of `measure_heads`.

    For a layer with a gate or sinks, ``ungated`` (1, H) are totals without: λ = 0.
    """

    tokens: Tokens
    keys: tuple[int, ...]
    charts: HeadCharts
    measures: Arrays


def has_states(checkpoint: Checkpoint) -> bool:
    """Return whether the folder holds states, so that no text is read."""
    return checkpoint.folder.is_dir() and (checkpoint.folder / STATES).is_file()


def own_states(
    checkpoint: Checkpoint, layer: int, text: str, shuffle: bool = False, most: int = MOST_TOKENS
) -> tuple[Tokens, Tensor, Tensor | None]:
    """Return tokens, the states (T, D) that the attention of a layer reads, and those shuffled.

    The last are of the tokens in another order; ``None`` where the folder holds the states, or
    nothing is to ``shuffle``.

    ``ValueError`` if there are neither states in the folder nor a tokeniser and a forward pass.
    """
    if has_states(checkpoint):
        file = TensorFile(checkpoint.folder / STATES)
        name = f"layer.{layer}"
        if name not in file.places:
            raise ValueError(f"{STATES} has no tensor {name!r}")
        states = file.read(name)
        if states.ndim != 2 or states.shape[1] != checkpoint.width or len(states) > most:
            raise ValueError(
                f"tensor {name!r} in {STATES} has shape {tuple(states.shape)}; it must be"
                f" (T, {checkpoint.width}) with at most {most} tokens"
            )
        return _words_of(file, len(states)), states, None
    tokens = read_tokens(checkpoint, text, most)
    states = read_states(checkpoint, tokens)[layer]
    return tokens, states, read_states(checkpoint, shuffled(tokens))[layer] if shuffle else None


def _words_of(file: TensorFile, count: int) -> Tokens:
    """Return the words in the file's metadata, or numbers."""
    text = (file.metadata or {}).get("words")
    try:
        words = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        words = None
    if not (
        isinstance(words, list)
        and len(words) == count
        and all(isinstance(word, str) for word in words)
    ):
        return Tokens.numbered(count)
    return Tokens(tuple(range(count)), tuple(words), (False,) * count)


def check_size(checkpoint: Checkpoint) -> None:
    """Raise ``ValueError`` for a checkpoint whose heads are too large to be measured here."""
    for name, value, most in (
        ("channels of a state", checkpoint.width, LARGEST_WIDTH),
        ("channels of a head", checkpoint.channels, LARGEST_CHANNELS),
    ):
        if value > most:
            raise ValueError(f"the model has {value:,} {name}; at most {most:,} are measured here")


def opened_layer(request: OwnRequest, shuffle: bool = True) -> Reading:
    """Return the layer of a request, and the text that it reads, where asked for also shuffled.

    ``ValueError`` in one sentence for whatever is wrong with the checkpoint or the text.
    """
    checkpoint = open_checkpoint(Path(request.folder))
    check_size(checkpoint)
    layer = read_layer(checkpoint, request.layer)
    tokens, states, other = own_states(checkpoint, request.layer, request.text, shuffle)
    # Afterwards: what was read is of one checkpoint, the requested one.
    same = not request.stamp or file_stamp(checkpoint.folder) == request.stamp
    if checkpoint.digest != request.digest or not same:
        raise ValueError("the checkpoint has changed since the page was drawn")
    seen = layer.visible(len(tokens) - 1, len(tokens))
    keys = keys_of(tokens, request.special or all(tokens.special))
    return Reading(layer, tokens, states, tuple(key for key in keys if seen[key]), other)


def dial_own(request: OwnRequest, head: int) -> Dial | None:
    """Measure a head by λ of its own gate; ``None`` where it has none, or fewer than three keys.

    The attention-weight chart is that of the first, the middle and the last key.
    """
    reading = opened_layer(request, shuffle=False)
    keys = reading.keys
    if reading.layer.gate is None or len(keys) < 3:
        return None
    three = keys[0], keys[len(keys) // 2], keys[-1]
    return dial_head(reading.layer, reading.states, head, keys, three, None)


def open_own(request: OwnRequest, head: int, kind: str, three: Three) -> tuple[HeadChart, Arrays]:
    """Return `open_head` of a request; ``ValueError`` as in `opened_layer`, too."""
    return open_head(opened_layer(request), head, kind, three)


def measure_own(request: OwnRequest, progress: Progress = silent) -> OwnLayer:
    """Measure a layer; ``progress`` is called with the share done after every head.

    ``ValueError`` as in `opened_layer`.
    """
    reading = opened_layer(request)
    charts = chart_heads([reading.layer], [reading.states], reading.keys)
    progress(0.0)
    row = []
    for head in range(reading.layer.heads):
        row.append(measure_one(reading, head) | ungated(reading, head))
        progress((head + 1) / reading.layer.heads)
    return OwnLayer(reading.tokens, reading.keys, charts, stacked([row]))


def ungated(reading: Reading, head: int) -> dict[str, list[float]]:
    """Return the total of a head at λ = 0 as ``ungated``; nothing for a layer without a gate."""
    if not reading.layer.gated:
        return {}
    own = head_map(
        reading.layer,
        reading.states,
        head,
        principal_plane(reading.states),
        keys=reading.keys,
        strength=0.0,
    )
    return {"ungated": [float(measure_head(own, square_grid(GRID_SIZE)).total.value)]}
