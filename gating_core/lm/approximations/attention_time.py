"""Time four kinds of attention against each other, for texts of up to 16,384 tokens.

python -m gating_core.lm.approximations.attention_time

Writes the file that the page reads: seconds on one core, of which the page shows ratios within a
repeat. Number and width of the heads are those of the language models.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch.nn import functional

from gating_core.assets import read_asset
from gating_core.efficient.linear import elu_features, linear_chunked
from gating_core.lm.shipped import FOLDER
from gating_core.randomness import generator

TIMES = FOLDER / "attention_time.json"
LENGTHS = (32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)  # tokens
HEADS, CHANNELS = 4, 24
WINDOW = 64  # keys at most, half as many at least, for queries are read by blocks
LARGEST = 16  # k
QUERIES_AT_ONCE = 256  # of top-k: all scores at once would not fit into memory
REPEATS = 7
Way = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


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


WAYS: dict[str, Way] = {"softmax": softmax, "window": window, "top_k": largest, "linear": linear}


@dataclass(frozen=True)
class AttentionTimes:
    """Seconds of each kind of attention by length and repeat; kinds took turns in each repeat."""

    heads: int
    channels: int
    lengths: tuple[int, ...]
    seconds: dict[str, tuple[tuple[float, ...], ...]]  # by kind: lengths × R repeats

    def ratios(self, way: str) -> np.ndarray:
        """(lengths, 3): quartiles of the time of a kind divided by that of softmax attention."""
        shares = np.array(self.seconds[way]) / np.array(self.seconds["softmax"])
        return np.percentile(shares, (25, 50, 75), axis=-1).T

    def crossing(self, way: str) -> int | None:
        """The shortest length from which on a kind's median time is less; None: there is none."""
        slower = np.flatnonzero(self.ratios(way)[:, 1] >= 1)
        first = slower[-1] + 1 if len(slower) else 0
        return self.lengths[first] if first < len(self.lengths) else None


@torch.no_grad()
def time_attention(lengths: tuple[int, ...] = LENGTHS, repeats: int = REPEATS) -> AttentionTimes:
    """Time all kinds on random heads; sets torch's number of threads to one."""
    torch.set_num_threads(1)
    seconds: dict[str, list[tuple[float, ...]]] = {name: [] for name in WAYS}
    for length in lengths:
        heads = torch.randn(3, HEADS, length, CHANNELS, generator=generator(0, "attention time"))
        times: dict[str, list[float]] = {name: [] for name in WAYS}
        for repeat in range(repeats + 1):
            for name, way in WAYS.items():
                began = time.perf_counter()
                way(*heads)
                if repeat:  # the first warms up
                    times[name].append(round(time.perf_counter() - began, 6))
        for name, measured in times.items():
            seconds[name].append(tuple(measured))
    by_way = {name: tuple(rows) for name, rows in seconds.items()}
    return AttentionTimes(HEADS, CHANNELS, tuple(lengths), by_way)


def load_attention_times() -> AttentionTimes | None:
    """Return the times in the file; ``None`` where there is no file."""
    if not TIMES.exists():
        return None
    fields = json.loads(read_asset(TIMES))
    fields["seconds"] = {name: tuple(map(tuple, rows)) for name, rows in fields["seconds"].items()}
    return AttentionTimes(**fields | {"lengths": tuple(fields["lengths"])})


def main() -> None:
    """Time the ways of attention and write the file; log medians and crossings."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    times = time_attention()
    TIMES.write_text(json.dumps(asdict(times)) + "\n")
    for name in [*WAYS][1:]:
        medians = ", ".join(f"{ratio:.2f}" for ratio in times.ratios(name)[:, 1])
        logging.info("%s over softmax: %s; less from %s on", name, medians, times.crossing(name))


if __name__ == "__main__":
    main()
