"""The outputs of one stack after each of its layers, as one function.

Not separately built models: every surface is that of the same weights, a layer further on.
Shapes: L layers, S seeds, N points, D model dimension.
"""

from __future__ import annotations

import torch

from gating_core.attention.stack import Attention
from gating_core.checks import check_weights


class EveryLayer:
    """A callable (N, 2) -> (L, S, N, D): what each of the layers of ``model`` writes, in order.

    With tokens that is token 1's. The last of them is the model's own output. ``ValueError`` for a
    model with weights that are not finite.
    """

    pure = True  # as the model is

    def __init__(self, model: Attention) -> None:
        check_weights(model)
        self.model = model
        self.spanned_by = model.spanned_by

    def __call__(self, points: torch.Tensor) -> torch.Tensor:
        return torch.stack(list(self.model.states(self.model.embed(points))))

    def spans(self) -> list[tuple[torch.Tensor, ...] | None]:
        """As `Attention.spans`, of all layers: the members of the first one come first."""
        layers = range(len(self.model.blocks))
        return [span for layer in layers for span in self.model.spans(layer)]
