"""Does what stands on a shelf stay as it was put there? All visitors are given the same objects."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import torch

from ui.work.cache import Cache


def digest(item: Any) -> bytes:
    """Of all numbers, arrays, tensors and texts in dataclasses, sequences and mappings."""
    told = blake2b(digest_size=16)
    seen = set()

    def tell(part: Any) -> None:
        told.update(f"|{type(part).__qualname__}:".encode())
        if isinstance(part, torch.Tensor):
            part = part.detach().numpy()
        if isinstance(part, np.ndarray):
            told.update(f"{part.dtype}{part.shape}".encode())
            told.update(repr(part.tolist()).encode() if part.dtype.hasobject else part.tobytes())
        elif isinstance(part, str | bytes | int | float | complex | None):
            told.update(repr(part).encode())
        elif id(part) not in seen:
            seen.add(id(part))
            for inner in _parts(part):
                tell(inner)

    tell(item)
    return told.digest()


def _parts(item: Any) -> list[Any]:
    if isinstance(item, list | tuple):
        return list(item)
    if isinstance(item, Mapping):
        return [part for pair in item.items() for part in pair]
    if is_dataclass(item) and not isinstance(item, type):
        return [getattr(item, field.name) for field in fields(item)]
    return []


def digests_of(shelf: Cache) -> dict[Any, bytes]:
    """Of all that stands on ``shelf``, by key."""
    with shelf._lock:
        there = dict(shelf._entries.items())
    return {key: digest(entry.item) for key, entry in there.items()}


def changed(before: Mapping[Any, bytes], shelf: Cache) -> list[Any]:
    """Keys on ``shelf`` under which something else stands than that of which ``before`` tells."""
    return [key for key, now in digests_of(shelf).items() if now != before[key]]
