"""Measured times: of a block's parts, of a token and a training step, of attention by its kind.

python -m gating_core.lm times

Writes the file that pages read. What is compared takes turns in each repeat, so that ratios are of
one repeat. Weights are untrained: no time depends on them.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from gating_core.characters import CHARACTERS
from gating_core.efficient.linear import elu_features, linear_chunked
from gating_core.lm.model import LanguageModel
from gating_core.lm.shipped import FOLDER, MODELS
from gating_core.lm.training import LanguageRecipe, Training, TrainingText
from gating_core.randomness import generator
from gating_core.records import load_record, save_record

TIMES = FOLDER / "times.safetensors"
TEXTS = 32  # of a batch
TEXT = 4096  # random characters that are trained on
QUARTILES = (25, 50, 75)
LENGTHS = (32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)  # tokens, of attention
HEADS, CHANNELS = 4, 24  # as in the language models
WINDOW = 64  # keys at most, half as many at least, for queries are read by blocks
LARGEST = 16  # k
QUERIES_AT_ONCE = 256  # of top-k: all scores at once would not fit into memory
Seconds = dict[str, tuple[float, ...]]  # by what was timed: of each repeat


@dataclass(frozen=True)
class BlockTimes:
    """Seconds of one block's forward pass: one after the other, or attention beside the MLP."""

    cores: int  # of the machine
    # "one_core" and "all_cores": one after the other on one core, and each on two; "side_by_side":
    # at the same time, each on a core of its own.
    seconds: Seconds

    def ratio(self) -> tuple[float, float, float]:
        """Side by side over one after the other on as many cores: median and quartiles."""
        ratios = np.array(self.seconds["side_by_side"]) / np.array(self.seconds["all_cores"])
        low, middle, high = map(float, np.percentile(ratios, QUARTILES))
        return middle, low, high


@dataclass(frozen=True)
class AttentionTimes:
    """Seconds of each kind of attention on one core, by length."""

    lengths: tuple[int, ...]  # tokens
    seconds: tuple[Seconds, ...]

    def ratios(self, way: str) -> np.ndarray:
        """(lengths, 3): quartiles of the time of a kind divided by that of softmax attention."""
        shares = [np.array(x[way]) / np.array(x["softmax"]) for x in self.seconds]
        return np.percentile(shares, QUARTILES, axis=-1).T

    def crossing(self, way: str) -> int | None:
        """The shortest length from which on a kind's median time is less; None: there is none."""
        slower = np.flatnonzero(self.ratios(way)[:, 1] >= 1)
        first = slower[-1] + 1 if len(slower) else 0
        return self.lengths[first] if first < len(self.lengths) else None


@dataclass(frozen=True)
class Times:
    """All that was timed; processor seconds of a token and of a training step by architecture."""

    block: BlockTimes
    tokens: Seconds
    steps: Seconds
    attention: AttentionTimes


def in_turn(
    ways: Mapping[str, Callable[[], object]],
    repeats: int,
    clock: Callable[[], float] = time.perf_counter,
) -> Seconds:
    """Time ``ways``, which take turns in each of the ``repeats`` after one that warms up."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats + 1):
        for name, way in ways.items():
            began = clock()
            way()
            seconds[name].append(float(f"{clock() - began:.4g}"))
    return {name: tuple(values[1:]) for name, values in seconds.items()}


@torch.no_grad()
def time_block(repeats: int = 200, texts: int = TEXTS) -> BlockTimes:
    """Time the second block of a FAL model, whose MLP does not wait for attention.

    It sets torch's number of threads.
    """
    model = LanguageModel(MODELS["fal"]).requires_grad_(False)
    block, size = model.layers[1], model.config
    shape = texts, size.context, size.width
    stream = torch.randn(shape, generator=torch.Generator().manual_seed(0))

    def attention() -> torch.Tensor:
        return block.attention(block.norm_attention(stream))

    def mlp() -> torch.Tensor:
        assert block.norm_first is not None
        return block.mlp(block.norm_mlp(stream) + block.norm_first(stream))

    def after(threads: int) -> None:
        torch.set_num_threads(threads)
        attention()
        mlp()

    def beside() -> None:
        torch.set_num_threads(1)
        mlp_output = pool.submit(mlp)
        attention()
        mlp_output.result()

    with ThreadPoolExecutor(1, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        ways = {"one_core": lambda: after(1), "all_cores": lambda: after(2), "side_by_side": beside}
        return BlockTimes(os.cpu_count() or 1, in_turn(ways, repeats))


@torch.no_grad()
def time_tokens(repeats: int = 60, texts: int = TEXTS) -> Seconds:
    """Time a token by architecture on one core; sets torch's number of threads.

    In processor seconds, which other work on the machine hardly changes.
    """
    torch.set_num_threads(1)
    models = {name: LanguageModel(config).requires_grad_(False) for name, config in MODELS.items()}
    size = models["none"].config
    draw = torch.Generator().manual_seed(0)
    tokens = torch.randint(size.characters, (texts, size.context), generator=draw)
    ways = {name: lambda model=model: model(tokens) for name, model in models.items()}
    seconds = in_turn(ways, repeats, time.thread_time)
    return {name: tuple(x / tokens.numel() for x in values) for name, values in seconds.items()}


def time_steps(repeats: int = 60) -> Seconds:
    """Time a step of training by architecture on one core; sets torch's number of threads.

    In processor seconds, on random characters.
    """
    torch.set_num_threads(1)
    numbers = torch.randint(len(CHARACTERS), (TEXT,), generator=generator(0, "step time"))
    text = TrainingText(numbers, torch.arange(TEXT // 2))

    def step(training: Training) -> None:
        for _ in training.advance(training.step + 1):
            pass

    ways = {
        name: partial(step, Training(config, 0, LanguageRecipe(), text))
        for name, config in MODELS.items()
    }
    return in_turn(ways, repeats, time.process_time)


# --- Attention ------------------------------------------------------------------------------------


def softmax(queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """(H, T, d): causal softmax attention, by the fused kernel."""
    return functional.scaled_dot_product_attention(queries, keys, values, is_causal=True)


def window(queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """(H, T, d): softmax attention of blocks of queries to their own keys and the block before."""
    half = WINDOW // 2
    blocks = queries.unflatten(-2, (-1, half))
    near, mixed = (
        functional.pad(x, (0, 0, half, 0)).unfold(-2, WINDOW, half).mT for x in (keys, values)
    )
    mask = torch.ones(half, WINDOW, dtype=torch.bool).tril(half)
    first = mask & (torch.arange(WINDOW) >= half)  # there is no block before the first
    masks = torch.cat([first[None], mask.expand(blocks.shape[-3] - 1, -1, -1)])
    return functional.scaled_dot_product_attention(blocks, near, mixed, attn_mask=masks).flatten(
        -3, -2
    )


def largest(queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """(H, T, d): softmax attention to the keys of the k largest of all scores."""
    positions, parts = torch.arange(keys.shape[-2]), []
    for queries_at in positions.split(QUERIES_AT_ONCE):
        scores = queries[..., queries_at, :] @ keys.mT * queries.shape[-1] ** -0.5
        best = scores.masked_fill(positions > queries_at[:, None], -torch.inf).topk(LARGEST, -1)
        chosen = values.gather(-2, best.indices.flatten(-2)[..., None].expand(-1, -1, CHANNELS))
        weights = best.values.softmax(-1)[..., None, :]
        parts.append((weights @ chosen.unflatten(-2, (-1, LARGEST)))[..., 0, :])
    return torch.cat(parts, -2)


def linear(queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """(H, T, d): linear attention with elu + 1 features, in chunks."""
    return linear_chunked(elu_features(queries), elu_features(keys), values)[0]


WAYS = {"softmax": softmax, "window": window, "top_k": largest, "linear": linear}


@torch.no_grad()
def time_attention(lengths: tuple[int, ...] = LENGTHS, repeats: int = 7) -> AttentionTimes:
    """Time all kinds on random heads; sets torch's number of threads to one."""
    torch.set_num_threads(1)
    seconds = []
    for length in lengths:
        heads = torch.randn(3, HEADS, length, CHANNELS, generator=generator(0, "attention time"))
        ways = {name: lambda way=way, heads=heads: way(*heads) for name, way in WAYS.items()}
        seconds.append(in_turn(ways, repeats))
    return AttentionTimes(lengths, tuple(seconds))


# --- The file -------------------------------------------------------------------------------------


def load_times(path: Path = TIMES) -> Times:
    """Return the bundled times; ``ValueError`` for a file of another kind."""
    return load_record(Times, path, "holds no times")


def measure_times() -> None:
    """Time everything and write the file; log ratios."""
    times = Times(time_block(), time_tokens(), time_steps(), time_attention())
    save_record(TIMES, times)
    logging.info("side by side over one after the other: %.2f (%.2f to %.2f)", *times.block.ratio())
    for name in times.steps:
        token, step = (np.array(x[name]) / x["none"] for x in (times.tokens, times.steps))
        logging.info("%s: a token × %.3f, a step × %.3f", name, np.median(token), np.median(step))
    for name in WAYS:
        medians = ", ".join(f"{ratio:.2f}" for ratio in times.attention.ratios(name)[:, 1])
        logging.info("%s over softmax: %s", name, medians)
