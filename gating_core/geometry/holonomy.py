"""How far does a tangent frame turn when it is carried round a loop? The integral of K inside it.

A second, independent way to K, which needs first derivatives only. Source: do Carmo, *Differential
Geometry of Curves and Surfaces*, 4-5.
"""

from __future__ import annotations

import torch


def frame_turn(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The angle (...) by which frame ``b`` (..., D, 2) is turned against ``a``, aligned polarly."""
    m = a.mT @ b
    return torch.atan2(m[..., 1, 0] - m[..., 0, 1], m[..., 0, 0] + m[..., 1, 1])


def loop_holonomy(frames: list[torch.Tensor]) -> torch.Tensor:
    """The integral of K inside a loop of points, from the frames (..., D, 2) met along it.

    Counter-clockwise in the chart; between -pi and pi. What a frame lacks of a full turn when it
    is carried round the loop.
    """
    turns = sum(frame_turn(a, b) for a, b in zip(frames, [*frames[1:], frames[0]], strict=True))
    # The frames of the chart turn by `turns` against a carried one, up to whole turns.
    return -torch.remainder(torch.as_tensor(turns) + torch.pi, 2 * torch.pi) + torch.pi
