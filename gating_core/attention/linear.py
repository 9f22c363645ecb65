"""Linear attention over learned slots: the weight of slot j is phi(q) . phi(k_j).

Source: Katharopoulos et al., *Transformers are RNNs*, arXiv 2006.16236, equations 4 and 7. As
there, logits are neither scaled nor offset.

A head of d channels mixes d fixed vectors at most, however many slots there are: channel c of
phi(q) weighs the sum over slots of phi(k_jc) U_j. Normalised, with one head and d = 3, outputs lie
in a plane for every n. Shapes: as in `gating_core.attention.memory`.
"""

from __future__ import annotations

import torch

from gating_core.attention.layer import LayerConfig
from gating_core.attention.memory import SlotLayer
from gating_core.points_last import product


def feature_map(x: torch.Tensor) -> torch.Tensor:
    """elu(x) + 1, positive: exp(x) where x <= 0, x + 1 elsewhere; accurate at both ends.

    The first derivative is continuous, and the second one jumps from 1 to 0 at x = 0: so does the
    curvature of a model where a channel of a query is 0. At 0 itself derivatives are those of the
    left side. Error bounds hold on either side; where rounding decides the side, there is no rule,
    and a jet has an estimate in place of a rigorous bound.
    """
    above = x > 0
    return torch.where(above, x + 1, torch.where(above, 0.0, x).exp())


def relative_features(x: torch.Tensor) -> torch.Tensor:
    """Return phi of x (..., M), up to a factor of each row; the largest never underflows.

    phi is exp where a row has no positive entry, so its softmax differs by a factor alone.
    """
    above = (x > 0).any(-1, keepdim=True).expand(x.shape)
    return torch.where(above, feature_map(x), torch.softmax(x, -1))


class UnnormalisedLinearLayer(SlotLayer):
    """Linear attention without normalisation: the sum over slots of phi(q) . phi(k_j) v_j.

    The output is any point of the values' span.
    """

    title = "Unnormalised linear attention over learned slots"
    come_from = "learned slots, weighed by linear attention without normalisation"
    weights_on_simplex = False
    no_weight_chart = "the weights of unnormalised linear attention do not add up to one"

    @staticmethod
    def mixed_count(config: LayerConfig) -> int:
        """Return min(n, d): phi(q) has d entries, so the sum mixes d vectors at most."""
        return min(config.value_count, config.model_dim // config.heads)

    def key_features(self) -> torch.Tensor:
        """(S, H, n, d): phi of the keys in force."""
        return feature_map(self.by_head(self.slot_keys()))

    def weights(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return phi(q) . phi(k_j), (S, H, N, n), of hidden states (S, N, D); not normalised."""
        query = self.gated("G4", product(hidden, self.query), hidden)
        features = feature_map(self.by_head(query))  # (S, H, N, d)
        return product(features, self.key_features().transpose(-1, -2))


class LinearLayer(UnnormalisedLinearLayer):
    """Linear attention whose weights are divided by their sum: an average of the values."""

    title = "Linear attention over learned slots"
    come_from = "learned slots, weighed by linear attention"
    weights_on_simplex = True
    no_weight_chart = "no hidden state is known that gives linear attention prescribed weights"

    def key_features(self) -> torch.Tensor:
        """(S, H, n, d): phi of the keys in force, of each head up to a factor.

        That factor cancels. Without it, all weights of a head whose keys are far below zero would
        underflow, and their shares would be 0 / 0.
        """
        keys = self.by_head(self.slot_keys())
        return relative_features(keys.flatten(-2)).unflatten(-1, tuple(keys.shape[-2:]))

    def mixed_values(self) -> torch.Tensor:
        """Return the n values, or if d < n the d averages of them that a head mixes (S, d, D)."""
        values = self.slot_values()
        if self.mixed_count(self.config) == self.config.value_count:
            return values
        features = relative_features(self.by_head(self.slot_keys()).mT)  # (S, H, d, n)
        means = features / features.sum(-1, keepdim=True) @ self.by_head(values)
        return means.transpose(1, 2).flatten(-2)

    def weights(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return weights (S, H, N, n) of hidden states (S, N, D); those of a head add up to one."""
        weights = super().weights(hidden)
        return weights / weights.sum(-1, keepdim=True)
