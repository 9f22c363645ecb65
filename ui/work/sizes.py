"""How much memory do the numbers in a result take?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def array_bytes(item: Any) -> int:
    """Bytes of all NumPy arrays in dataclasses, sequences and mappings; of shared ones once."""
    arrays: dict[int, np.ndarray] = {}
    waiting = [item]
    while waiting:
        found = waiting.pop()
        if isinstance(found, np.ndarray):
            arrays[id(found)] = found
        elif isinstance(found, list | tuple):
            waiting += found
        elif isinstance(found, Mapping):
            waiting += found.values()
        elif is_dataclass(found):
            waiting += [getattr(found, field.name) for field in fields(found)]
    return sum(array.nbytes for array in arrays.values())
