"""Base class of everything that carries a tensor: shape, type and device of its value."""

from __future__ import annotations

from typing import Any

import torch


class Carrier:
    """Answers for its ``value``, a tensor or another carrier."""

    __slots__ = ()

    value: Any

    @property
    def shape(self) -> torch.Size:
        return self.value.shape

    @property
    def ndim(self) -> int:
        return self.value.ndim

    @property
    def dtype(self) -> torch.dtype:
        return self.value.dtype

    @property
    def device(self) -> torch.device:
        return self.value.device

    def __len__(self) -> int:
        return self.shape[0]
