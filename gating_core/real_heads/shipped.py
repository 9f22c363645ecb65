"""The bundled extract of all-MiniLM-L6-v2: files, and how they are made from the checkpoint.

The folder is itself a checkpoint for `read_layer`: queries, keys and values of its six layers in
half precision, with ``config.json``. Beside them are the states of three texts, what is drawn of
all heads, what was measured of them and of their twins, and of keys, gates and norms.
Shapes: L layers, H heads, T tokens, D width.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load
from torch import Tensor

from gating_core.assets import ASSETS, read_asset
from gating_core.checkpoints import (
    Checkpoint,
    Layer,
    Tokens,
    head_map,
    measure_head,
    open_checkpoint,
    principal_plane,
    read_layer,
    read_states,
    shuffled,
)
from gating_core.geometry import square_grid
from gating_core.real_heads import measured
from gating_core.real_heads.charts import HeadCharts, chart_heads
from gating_core.real_heads.measured import (
    FIRST_THREE,
    PRINCIPAL,
    THREE_TOKENS,
    Reading,
    keys_of,
)
from gating_core.real_heads.own import read_tokens
from gating_core.real_heads.texts import TEXTS, TOKENS
from gating_core.records import load_record, save_record, save_tensors, tensors_of

FOLDER = ASSETS / "models" / "minilm"
WEIGHTS, TEXTS_FILE, CHARTS, HEADS, MEASURED = (
    f"{name}.safetensors" for name in ("model", "texts", "charts", "heads", "measured")
)
PARTS = ("query", "key", "value")
SIZES = (128, 256)  # tokens of the longer texts on which keys are counted
MODELS = ("trained", "random")
MODES = {False: "words", True: "all"}  # whether special tokens are among the keys
BUNDLED_PLANES = {PRINCIPAL: None, THREE_TOKENS: FIRST_THREE}  # and the tokens that span them
# Of `heads.safetensors`: arrays as those of `measure_heads` by text, mode and plane.
HeadRecord = dict[str, dict[str, dict[str, dict[str, np.ndarray]]]]
COMPARED_SIZE = 31  # points along each side: totals of extract and checkpoint are compared
_CONFIG = (
    "model_type",
    "hidden_size",
    "num_attention_heads",
    "num_hidden_layers",
    "layer_norm_eps",
    "position_embedding_type",
)


@dataclass(frozen=True, eq=False)
class ShippedText:
    """A text as the bundled model reads it."""

    title: str
    tokens: Tokens
    states: tuple[Tensor, ...]  # of each layer the (T, D) that its attention reads
    shuffled: tuple[Tensor, ...]  # the same of the tokens in their `shuffled_order`


@cache
def shipped_layers(folder: Path = FOLDER) -> tuple[Layer, ...]:
    """Return the layers of the extract; ``ValueError`` if it cannot be read."""
    checkpoint = open_checkpoint(folder)
    return tuple(read_layer(checkpoint, number) for number in checkpoint.attention_layers)


@cache
def shipped_text(title: str, folder: Path = FOLDER) -> ShippedText:
    """Return one of `TEXTS`; ``ValueError`` if the file lacks it."""
    with tensors_of(folder / TEXTS_FILE, f"lacks the text {title!r}") as (tensors, about):
        each = about["tokens"][title]
        tokens = Tokens(tuple(each["ids"]), tuple(each["words"]), tuple(each["special"]))
        states, other = (
            torch.from_numpy(tensors[name]).double() for name in (title, f"{title}.shuffled")
        )
    return ShippedText(title, tokens, tuple(states), tuple(other))


def shipped_reading(title: str, special: bool, layer: int, folder: Path = FOLDER) -> Reading:
    """Return a layer, from 0, that reads one of `TEXTS`; ``special`` as in `shipped_charts`."""
    text = shipped_text(title, folder)
    return Reading(
        shipped_layers(folder)[layer],
        text.tokens,
        text.states[layer],
        keys_of(text.tokens, special),
        text.shuffled[layer],
    )


@cache
def shipped_charts(title: str, special: bool, folder: Path = FOLDER) -> HeadCharts:
    """Return what is drawn of all heads; ``special`` tokens may be among the keys or not."""
    with tensors_of(folder / CHARTS, f"lacks the charts of {title!r}") as (tensors, _):
        scores, values = (tensors[f"{title}.{MODES[special]}.{x}"] for x in ("scores", "values"))
        return HeadCharts(scores, values, tensors[f"{title}.states"], tensors[f"{title}.ranks"])


@cache
def shipped_measures(
    title: str, special: bool, kind: str = PRINCIPAL, folder: Path = FOLDER
) -> measured.Arrays:
    """Return the arrays of `measure_heads` on one of `BUNDLED_PLANES`.

    On the principal plane also those of `fine_totals`, and those of `measure_keys` for the text.
    """
    heads = _head_record(folder)[title][MODES[special]][kind]
    if kind != PRINCIPAL:
        return heads
    with tensors_of(folder / MEASURED, f"lacks the keys of {title!r}") as (tensors, _):
        return heads | _below(tensors, f"{title}.keys.")


@cache
def _head_record(folder: Path) -> HeadRecord:
    return load_record(HeadRecord, folder / HEADS, "holds no measures of heads")


@cache
def shipped_record(name: str, folder: Path = FOLDER) -> measured.Arrays:
    """Return what was measured on the whole checkpoint.

    "gates" and "norms" are those of `dial_gates` and `measure_norms`; "128.trained" and the like
    those of `measure_keys`; "extract" the totals (2, L, H) of checkpoint and extract.
    """
    with tensors_of(folder / MEASURED, f"lacks {name!r}") as (tensors, _):
        found = _below(tensors, f"{name}.")
        if not found:
            raise KeyError(name)
        return found


def _below(tensors: measured.Arrays, start: str) -> measured.Arrays:
    return {
        name.removeprefix(start): array for name, array in tensors.items() if name.startswith(start)
    }


# --- Making it ------------------------------------------------------------------------------------


def make_extract(source: Path, folder: Path = FOLDER) -> Iterator[str]:
    """Make all files of the extract from the checkpoint ``source``; yield what has been done."""
    checkpoint = open_checkpoint(source)
    whole = [read_layer(checkpoint, number) for number in range(checkpoint.layers)]
    folder.mkdir(parents=True, exist_ok=True)
    config = {name: checkpoint.config[name] for name in _CONFIG}
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    save_tensors(folder / WEIGHTS, extract_weights(whole), {"made_from": "all-MiniLM-L6-v2"})
    yield "weights"
    from transformers import AutoTokenizer  # an extra

    tokenizer = AutoTokenizer.from_pretrained(source, local_files_only=True)
    texts = {title: read_tokens(tokenizer, text, TOKENS) for title, text in TEXTS.items()}
    states = {title: read_states(checkpoint, tokens) for title, tokens in texts.items()}
    others = {
        f"{title}.shuffled": read_states(checkpoint, shuffled(tokens))
        for title, tokens in texts.items()
    }
    save_tensors(
        folder / TEXTS_FILE,
        {name: torch.stack(read).half().numpy() for name, read in (states | others).items()},
        {
            "tokens": {
                title: {"ids": tokens.ids, "words": tokens.words, "special": tokens.special}
                for title, tokens in texts.items()
            }
        },
    )
    shipped_layers.cache_clear()
    shipped_text.cache_clear()
    layers = shipped_layers(folder)
    yield "texts"
    charts: measured.Arrays = {}
    found: measured.Arrays = {}
    heads: HeadRecord = {}
    for title, tokens in texts.items():
        read = shipped_text(title, folder).states
        for special, mode in MODES.items():
            drawn = chart_heads(layers, read, keys_of(tokens, special))
            charts[f"{title}.states"] = drawn.states
            if not special:  # a token keeps its colour
                charts[f"{title}.ranks"] = drawn.ranks.astype(np.int32)
            charts |= {
                f"{title}.{mode}.scores": drawn.scores,
                f"{title}.{mode}.values": drawn.values,
            }
            readings = [shipped_reading(title, special, i, folder) for i in range(len(layers))]
            planes = {
                kind: measured.measure_heads(readings, kind, three)
                for kind, three in BUNDLED_PLANES.items()
            }
            planes[PRINCIPAL] |= measured.fine_totals(readings)
            heads.setdefault(title, {})[mode] = {
                kind: {name: array.astype(np.float32) for name, array in arrays.items()}
                for kind, arrays in planes.items()
            }
            yield f"{title}, {mode}"
        by_token = measured.measure_keys(layers, read, tokens)
        found |= {f"{title}.keys.{name}": array for name, array in by_token.items()}
    save_tensors(folder / CHARTS, charts, {})
    save_record(folder / HEADS, heads)
    first = next(iter(TEXTS))
    rough = shipped_text(first, folder).states
    totals = [compared_totals(whole, states[first], texts[first]),
              compared_totals(list(layers), rough, texts[first])]  # fmt: skip
    found["extract.totals"] = np.array(totals)
    longer = {size: read_tokens(tokenizer, " ".join(TEXTS.values()), size) for size in SIZES}
    for name, array in records(checkpoint, whole, states[first], texts[first], longer):
        found[name] = array
        yield name
    numbers = {name: array.astype(np.float64) for name, array in found.items()}
    save_tensors(folder / MEASURED, numbers, {})


def extract_weights(layers: list[Layer]) -> dict[str, np.ndarray]:
    """Return queries, keys and values of ``layers`` in half precision, under their names."""
    tensors = {}
    for layer in layers:
        for part in PARTS:
            start = f"encoder.layer.{layer.number}.attention.self.{part}"
            weight, bias = getattr(layer, part), getattr(layer, f"{part}_bias")
            tensors[f"{start}.weight"] = weight.reshape(-1, weight.shape[-1]).half().numpy()
            tensors[f"{start}.bias"] = bias.flatten().half().numpy()
    return tensors


def records(
    checkpoint: Checkpoint,
    layers: list[Layer],
    read: tuple[Tensor, ...],
    tokens: Tokens,
    longer: dict[int, Tokens],
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield what `shipped_record` returns of the whole checkpoint, by name."""
    for name, array in measured.dial_gates(layers, read, tokens).items():
        yield f"gates.{name}", array
    for name, array in measured.measure_norms(layers, read).items():
        yield f"norms.{name}", array
    with tempfile.TemporaryDirectory() as name:
        models = {"trained": checkpoint, "random": random_model(checkpoint, Path(name))}
        for size, reading in longer.items():
            for which, model in models.items():
                stack = [read_layer(model, number) for number in range(model.layers)]
                found = measured.measure_keys(stack, read_states(model, reading), reading)
                for part, array in found.items():
                    yield f"{size}.{which}.{part}", array


def compared_totals(
    layers: list[Layer], states: tuple[Tensor, ...], tokens: Tokens
) -> list[list[float]]:
    """Return the totals (L, H) of all heads, special tokens among the keys."""
    grid = square_grid(COMPARED_SIZE)
    keys = keys_of(tokens, True)
    planes = map(principal_plane, states)
    return [
        [
            float(measure_head(head_map(layer, read, head, plane, keys=keys), grid).total.value)
            for head in range(layer.heads)
        ]
        for layer, read, plane in zip(layers, states, planes, strict=True)
    ]


def random_model(checkpoint: Checkpoint, folder: Path, seed: int = 1) -> Checkpoint:
    """Return the same model with every matrix drawn anew, of its own mean and deviation."""
    draw = np.random.default_rng(seed)
    source = Path(checkpoint.folder)
    tensors = load(read_asset(source / WEIGHTS))
    drawn = {name: _redrawn(tensors[name], draw) for name in sorted(tensors)}  # in one order
    save_tensors(folder / WEIGHTS, drawn, {})
    (folder / "config.json").write_text(json.dumps(checkpoint.config), encoding="utf-8")
    return open_checkpoint(folder)


def _redrawn(array: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    if array.ndim < 2 or array.dtype.kind != "f":
        return array
    return draw.normal(array.mean(), array.std(), array.shape).astype(array.dtype)
