"""What a component was sent: the same few lines as in arrays.js, in Python."""

import json

import numpy as np

KEPT: dict[str, bytes] = {}  # by address: what the pages under test have told browsers to get


def unpack(message: bytes):
    """Header and arrays."""
    header = json.loads(message)
    return header, arrays_in(header["arrays"], KEPT[header["source"]])


def arrays_in(entries, content: bytes):
    """Arrays by their names."""
    arrays = {}
    for name, entry in entries.items():
        count = int(np.prod(entry["shape"]))
        kind = {1: "u1", 2: "<u2", 4: "<f4"}[entry["bytes"]]
        values = np.frombuffer(content, kind, count, entry["offset"])
        arrays[name] = values.reshape(entry["shape"])
    return arrays
