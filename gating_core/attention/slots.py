"""Attention over learned slots: keys and values are the same for every input.

Shapes: S seeds, N points, D model dimension, H heads of d = D / H channels, n slots; hidden
states are (S, N, D).
"""

from __future__ import annotations

import torch

from gating_core.attention.layer import (
    OFFSET_SCALE,
    AttentionLayer,
    Draw,
    LayerConfig,
    Mixed,
    OptionalTensor,
)
from gating_core.points_last import product, softmax

SCRIPT = '''\
def attend(state, w):
    """{0} over n slots: the mixed values (H, N, d) of states (N, D)."""
    query = by_head(gated("G4", state @ w["query"], state, w))  # (H, N, d)
    keys = by_head(gated("G3", w["keys"], w["keys"], w))  # (H, n, d)
    values = by_head(gated("G2", w["values"], w["values"], w))
{1}
    return weights @ values'''


class SlotLayer(AttentionLayer):
    """What mechanisms have in common that weigh n slots, each with a key and a value.

    A subclass computes `weights` from queries and `slot_keys`. With a weight chart it has a
    `logit_map`, which must use the same keys; with fewer fixed vectors than slots, `mixed_values`.
    """

    fixed_values = True

    def make_weights(self, draw: Draw) -> None:
        dim, count = self.config.model_dim, self.config.value_count
        self.query = draw("query", (dim, dim), dim**-0.5)
        self.keys = draw("keys", (count, dim), 1.0)
        self.values = draw("values", (count, dim), 1.0)

    def weights(self, hidden: torch.Tensor) -> torch.Tensor:
        """(S, H, N, n): attention weights over the slots for hidden states (S, N, D)."""
        raise NotImplementedError

    def attend(
        self,
        query_states: OptionalTensor,
        states: OptionalTensor,
        weights: OptionalTensor,
        mask: OptionalTensor,
    ) -> Mixed:
        if weights is None:
            assert query_states is not None
            weights = self.weights(query_states)
        return self.mix(weights), weights

    def plain_values(self, states: OptionalTensor) -> torch.Tensor:
        return self.values.unsqueeze(2)

    def sharpen(self, factor: float) -> None:
        self.keys.data *= factor

    def slot_keys(self) -> torch.Tensor:
        """(S, n, D): the keys in force, gated by themselves at G3."""
        return self.gated("G3", self.keys, self.keys)

    def slot_values(self) -> torch.Tensor:
        return self.gated("G2", self.values, self.values)

    def mix(self, weights: torch.Tensor) -> torch.Tensor:
        """(S, N, D): the sum of values times attention weights (S, H, N, n)."""
        return product(weights, self.by_head(self.slot_values())).transpose(1, 2).flatten(-2)

    def by_head(self, matrix: torch.Tensor) -> torch.Tensor:
        """(S, R, D) to (S, H, R, d)."""
        return matrix.unflatten(-1, (self.config.heads, -1)).transpose(1, 2)

    def recorded_gate(self, states: OptionalTensor, mixed: torch.Tensor) -> OptionalTensor:
        if self.gate is None or self.gate.config.position not in ("G2", "G3"):
            return super().recorded_gate(states, mixed)
        slots = self.values if self.gate.config.position == "G2" else self.keys
        gate = self.gate.values(slots, slots)
        return gate.mean(1, keepdim=True).expand(-1, mixed.shape[-2], -1)


class MemoryLayer(SlotLayer):
    """Softmax attention over slots that also have a bias for every head."""

    title = "Softmax attention over learned slots"
    come_from = "learned slots"
    weights_on_simplex = True
    no_weight_chart = None
    script = SCRIPT.format(
        "Softmax attention",
        """\
    logits = query @ keys.mT / keys.shape[-1] ** 0.5 + w["bias"].unsqueeze(-2)  # (H, N, n)
    weights = logits.softmax(-1)""",
    )

    def make_weights(self, draw: Draw) -> None:
        super().make_weights(draw)
        self.bias = draw("bias", (self.config.heads, self.config.value_count), OFFSET_SCALE)

    def logit_map(self) -> torch.Tensor:
        query, keys = self.by_head(self.query), self.by_head(self.slot_keys())
        return query @ keys.transpose(-1, -2) * (query.shape[-1] ** -0.5)

    def weights(self, hidden: torch.Tensor) -> torch.Tensor:
        logits = product(hidden.unsqueeze(1), self.logit_map())
        if self.gate is not None and self.gate.config.position == "G4" and not self.gate.idle:
            # What the gate changes, added on: a gate that is one then changes no bit.
            query = product(hidden, self.query)
            change = self.by_head(self.gate(query, hidden) - query)
            keys = self.by_head(self.slot_keys()).transpose(-1, -2)
            logits = logits + product(change, keys * keys.shape[-2] ** -0.5)
        return softmax(logits + self.bias.unsqueeze(2))


# --- Linear attention -----------------------------------------------------------------------------

UNNORMALISED_SCRIPT = """\
    query, keys = torch.nn.functional.elu(query) + 1, torch.nn.functional.elu(keys) + 1
    weights = query @ keys.mT  # (H, N, n)"""
SCRIPT_LINES = """\
    def phi(x):  # elu + 1, up to a factor of each row, which cancels
        above = (x > 0).any(-1, keepdim=True)
        return torch.where(above, torch.nn.functional.elu(x) + 1, torch.softmax(x, -1))
    keys = phi(keys.flatten(-2)).reshape(keys.shape)
    weights = phi(query) @ keys.mT  # (H, N, n)
    weights = weights / weights.sum(-1, keepdim=True)"""


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
    """phi of x (..., M), up to a factor of each row; the largest is never lost to underflow.

    phi is exp where a row has no positive entry, so its softmax differs by a factor alone.
    """
    above = (x > 0).any(-1, keepdim=True).expand(x.shape)
    return torch.where(above, feature_map(x), torch.softmax(x, -1))


class UnnormalisedLinearLayer(SlotLayer):
    """The sum over slots of phi(q) . phi(k_j) times the value: any point of the values' span.

    As in the source, logits are neither scaled nor offset. A head of d channels mixes d fixed
    vectors at most, however many slots there are: channel c of phi(q) weighs the sum over slots of
    phi(k_jc) U_j. Source: Katharopoulos et al., *Transformers are RNNs*, arXiv 2006.16236,
    equations 4 and 7.
    """

    title = "Unnormalised linear attention over learned slots"
    come_from = "learned slots, weighed by linear attention without normalisation"
    weights_on_simplex = False
    no_weight_chart = "the weights of unnormalised linear attention do not add up to one"
    script = SCRIPT.format("Unnormalised linear attention", UNNORMALISED_SCRIPT)

    @staticmethod
    def mixed_count(config: LayerConfig) -> int:
        return min(config.value_count, config.model_dim // config.heads)

    def key_features(self) -> torch.Tensor:
        """(S, H, n, d): phi of the keys in force."""
        return feature_map(self.by_head(self.slot_keys()))

    def weights(self, hidden: torch.Tensor) -> torch.Tensor:
        query = self.gated("G4", product(hidden, self.query), hidden)
        features = feature_map(self.by_head(query))  # (S, H, N, d)
        return product(features, self.key_features().transpose(-1, -2))


class LinearLayer(UnnormalisedLinearLayer):
    """The same with weights that are divided by their sum: an average of the values.

    With one head and d = 3, outputs lie in a plane for every n.
    """

    title = "Linear attention over learned slots"
    come_from = "learned slots, weighed by linear attention"
    weights_on_simplex = True
    no_weight_chart = "no hidden state is known that gives linear attention prescribed weights"
    script = SCRIPT.format("Linear attention", SCRIPT_LINES)

    def key_features(self) -> torch.Tensor:
        """(S, H, n, d): phi of the keys in force, of each head up to a factor.

        That factor cancels. Without it, all weights of a head whose keys are far below zero would
        underflow, and their shares would be 0 / 0.
        """
        keys = self.by_head(self.slot_keys())
        return relative_features(keys.flatten(-2)).unflatten(-1, tuple(keys.shape[-2:]))

    def mixed_values(self) -> torch.Tensor:
        values = self.slot_values()
        if self.mixed_count(self.config) == self.config.value_count:
            return values
        features = relative_features(self.by_head(self.slot_keys()).mT)  # (S, H, d, n)
        means = features / features.sum(-1, keepdim=True) @ self.by_head(values)
        return means.transpose(1, 2).flatten(-2)

    def weights(self, hidden: torch.Tensor) -> torch.Tensor:
        weights = super().weights(hidden)
        return weights / weights.sum(-1, keepdim=True)
