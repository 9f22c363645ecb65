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
        """The shape of the value."""
        return self.value.shape

    @property
    def ndim(self) -> int:
        """The number of axes of the value."""
        return self.value.ndim

    @property
    def dtype(self) -> torch.dtype:
        """The number type of the value."""
        return self.value.dtype

    @property
    def device(self) -> torch.device:
        """The device that holds the value."""
        return self.value.device

    def __len__(self) -> int:
        return self.shape[0]
