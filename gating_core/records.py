"""Frozen dataclasses of arrays in files: safetensors with a JSON header.

    save_record(path, curves)
    curves = load_record(LearningCurves, path, "holds no learning curves")

Arrays and tensors, however deep in a record, are the tensors of its file, called by their path
("total.value"). The header holds the rest as JSON: a tree in which a dataclass is the object of its
fields, and an array its shape.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.numpy import load, save

from gating_core.assets import read_asset

T = TypeVar("T")


def save_record(path: Path, record: object) -> None:
    """Write a dataclass, or a mapping of its kind, to ``path``; folders on the way are made.

    It may hold arrays, tensors, numbers, strings, ``None``, and dataclasses, tuples, lists and
    mappings from strings of these. ``TypeError`` names what is none of them.
    """
    tensors: dict[str, np.ndarray] = {}
    tree = _packed(record, "", tensors)
    save_tensors(path, tensors, {"record": tree})


def load_record(kind: type[T], path: Path, lacks: str) -> T:
    """Read a record of ``kind``, by its type hints; arrays have the bits that were saved.

    ``ValueError`` says what any file of another kind ``lacks``.
    """
    with tensors_of(path, lacks) as (tensors, about):
        record: T = _unpacked(kind, about["record"], "", tensors)
    return record


def _packed(value: object, name: str, tensors: dict[str, np.ndarray]) -> Any:
    """Return the tree of ``value``, whose arrays are added to ``tensors``."""
    if isinstance(value, np.ndarray | torch.Tensor):
        if name in tensors:
            raise ValueError(f"two arrays of the record are called {name}")
        tensors[name] = np.asarray(value)
        return list(value.shape)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: _packed(part, _below(name, key), tensors) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_packed(part, _below(name, i), tensors) for i, part in enumerate(value)]
    raise TypeError(f"{name} is of {type(value)}, which a record cannot hold")


def _unpacked(kind: Any, tree: Any, name: str, tensors: Mapping[str, np.ndarray]) -> Any:
    """Return the value of ``kind`` that `_packed` made ``tree`` of."""
    parts = get_args(kind)
    if get_origin(kind) is UnionType:
        (other,) = {*parts} - {NoneType}
        return None if tree is None else _unpacked(other, tree, name, tensors)
    if kind in (np.ndarray, torch.Tensor):
        array = tensors[name].reshape(tree)  # a file has no array without an axis
        return array if kind is np.ndarray else torch.from_numpy(array)
    if is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind)
        given = {
            key: _unpacked(hints[key], part, _below(name, key), tensors)
            for key, part in tree.items()
        }
        return kind(**given)
    if get_origin(kind) in (dict, Mapping):
        return {
            key: _unpacked(parts[1], part, _below(name, key), tensors) for key, part in tree.items()
        }
    if get_origin(kind) in (list, tuple):
        if len(parts) == 1 or parts[1] is ...:
            parts = parts[:1] * len(tree)
        values = (
            _unpacked(part, branch, _below(name, i), tensors)
            for i, (part, branch) in enumerate(zip(parts, tree, strict=True))
        )
        return get_origin(kind)(values)
    if type(tree) is not kind and (kind, type(tree)) != (float, int):
        raise TypeError(f"{name} is {tree!r}; it must be of {kind}")
    return kind(tree)


def _below(name: str, part: object) -> str:
    return f"{name}.{part}" if name else str(part)


# --- The file -------------------------------------------------------------------------------------


def tensor_file(tensors: Mapping[str, np.ndarray], metadata: Mapping[str, object]) -> bytes:
    """A safetensors file; every entry of ``metadata`` becomes JSON."""
    whole = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    return save(whole, {name: json.dumps(value) for name, value in metadata.items()})


def tensors_and_metadata(data: bytes) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the arguments of `tensor_file`; ``ValueError`` or ``KeyError`` for any other file."""
    try:
        tensors = load(data)
    except SafetensorError as error:
        raise ValueError(str(error)) from error
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return tensors, {name: json.loads(text) for name, text in header["__metadata__"].items()}


def save_tensors(
    path: Path, tensors: Mapping[str, np.ndarray], metadata: Mapping[str, object]
) -> None:
    """Write a `tensor_file` to ``path``; folders on the way are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(tensor_file(tensors, metadata))


@contextmanager
def tensors_of(path: Path, lacks: str) -> Iterator[tuple[dict[str, np.ndarray], dict[str, Any]]]:
    """Read what `save_tensors` has written.

    If that fails, or the body of the ``with``, ``ValueError`` says what the file ``lacks``.
    """
    try:
        yield tensors_and_metadata(read_asset(path))
    except (OSError, KeyError, TypeError, IndexError, AttributeError, ValueError) as error:
        raise ValueError(f"{path.name} {lacks}: {error}") from error
