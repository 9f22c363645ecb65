"""What was the linked view sent? The same few lines as in view3d.js, in Python."""

import json
import struct

import numpy as np


def unpack(payload: bytes):
    """Header and arrays."""
    (length,) = struct.unpack_from("<I", payload)
    header = json.loads(payload[4 : 4 + length])
    arrays = {}
    for name, entry in header["arrays"].items():
        count = int(np.prod(entry["shape"]))
        start = 4 + length + entry["offset"]
        kind = {1: "u1", 2: "<u2", 4: "<f4"}[entry["bytes"]]
        arrays[name] = np.frombuffer(payload, kind, count, start).reshape(entry["shape"])
    return header, arrays


def names_in(tree) -> set[str]:
    """The arrays that a tree of traces refers to."""
    if isinstance(tree, dict):
        own = {tree["array"]} if "array" in tree else set()
        return own.union(*(names_in(value) for value in tree.values()))
    return set().union(*map(names_in, tree)) if isinstance(tree, list) else set()
