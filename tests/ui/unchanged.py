"""Digests of cached results, which must not change: all visitors get the same objects."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import torch

from ui.work.cache import Cache

PLAIN = {bool, int, float, str, type(None)}  # their texts differ where they do


def digest(item: Any) -> bytes:
    """Digest all numbers, arrays, tensors and texts in dataclasses, sequences and mappings."""
    result = blake2b(digest_size=16)
    seen = set()

    def add(part: Any) -> None:
        if isinstance(part, list | tuple) and {type(each) for each in part} <= PLAIN:
            result.update(f"|{type(part).__qualname__}:{part!r}".encode())  # without their classes
            return
        result.update(f"|{type(part).__qualname__}:".encode())
        if isinstance(part, torch.Tensor):
            part = part.detach().numpy()
        if isinstance(part, np.ndarray):
            result.update(f"{part.dtype}{part.shape}".encode())
            result.update(repr(part.tolist()).encode() if part.dtype.hasobject else part.tobytes())
        elif isinstance(part, str | bytes | int | float | complex | None):
            result.update(repr(part).encode())
        elif id(part) not in seen:
            seen.add(id(part))
            for inner in _parts(part):
                add(inner)

    add(item)
    return result.digest()


def _parts(item: Any) -> list[Any]:
    if isinstance(item, list | tuple):
        return list(item)
    if isinstance(item, Mapping):
        return [part for pair in item.items() for part in pair]
    if is_dataclass(item) and not isinstance(item, type):
        return [getattr(item, field.name) for field in fields(item)]
    return []


def digests_of(cache: Cache) -> dict[Any, bytes]:
    """Return the digests of all results in ``cache``, by key."""
    with cache._lock:
        there = dict(cache._entries.items())
    return {key: digest(item) for key, item in there.items()}


def changed(before: Mapping[Any, bytes], cache: Cache) -> list[Any]:
    """Return the keys in ``cache`` whose digests differ from those ``before``."""
    return [key for key, now in digests_of(cache).items() if now != before[key]]
