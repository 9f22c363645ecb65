"""The mechanisms of attention: over learned slots by softmax or linear attention, and among tokens.

Slots have keys and values that are the same for every input; tokens' keys and values are computed
from the input, and move with it.

Linear attention weighs slot j by phi(q) . phi(k_j) (Katharopoulos et al., *Transformers are RNNs*,
arXiv 2006.16236, equations 4 and 7). As there, logits are neither scaled nor offset. A head of d
channels mixes d fixed vectors at most, however many slots there are: channel c of phi(q) weighs the
sum over slots of phi(k_jc) U_j. Normalised, with one head and d = 3, outputs lie in a plane for
every n.

Shapes: S seeds, N points, D model dimension, H heads of d = D / H channels, n slots or tokens;
hidden states are (S, N, D) with slots. With tokens they are (S, n, N, D), and m tokens have
queries: all, or in the last layer token 1.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
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
from gating_core.rational import integers

# --- Learned slots --------------------------------------------------------------------------------


class SlotLayer(AttentionLayer):
    """The base class of mechanisms that weigh n slots, each with a key and a value.

    A subclass computes `weights` from queries and `slot_keys`. With a weight chart it has a
    `logit_map`, which must use the same keys; with fewer fixed vectors than slots, `mixed_values`.
    """

    fixed_values = True
    weights: Callable[[torch.Tensor], torch.Tensor]  # (S, H, N, n), of hidden states (S, N, D)

    def make_weights(self, draw: Draw) -> None:
        """Draw the query map (D, D), and keys and values (n, D) of the slots."""
        dim, count = self.config.model_dim, self.config.value_count
        self.query = draw("query", (dim, dim), dim**-0.5)
        self.keys = draw("keys", (count, dim), 1.0)
        self.values = draw("values", (count, dim), 1.0)

    def attend(
        self,
        query_states: OptionalTensor,
        states: OptionalTensor,
        weights: OptionalTensor,
    ) -> Mixed:
        """Return outputs (S, N, D) and weights (S, H, N, n): the given ones or the queries'."""
        if weights is None:
            assert query_states is not None
            weights = self.weights(query_states)
        values = self.by_head(self.slot_values())
        return product(weights, values).transpose(1, 2).flatten(-2), weights

    def plain_values(self, states: OptionalTensor) -> torch.Tensor:
        """Return the slots' values (S, n, 1, D) before any gate, the same for all states."""
        return self.values.unsqueeze(2)

    def sharpen(self, factor: float) -> None:
        """Multiply the slots' keys by ``factor``, in place; biases stay."""
        self.keys.data *= factor

    def slot_keys(self) -> torch.Tensor:
        """(S, n, D): the keys in force, gated by themselves at G3."""
        return self.gated("G3", self.keys, self.keys)

    def slot_values(self) -> torch.Tensor:
        """Return the slots' values (S, n, D) in force, gated by themselves at G2."""
        return self.gated("G2", self.values, self.values)

    def by_head(self, matrix: torch.Tensor) -> torch.Tensor:
        """(S, R, D) to (S, H, R, d)."""
        return matrix.unflatten(-1, (self.config.heads, -1)).transpose(1, 2)

    def recorded_gate(self, states: OptionalTensor, mixed: torch.Tensor) -> OptionalTensor:
        """Return the gate (S, N, D or H); at G2 and G3 its mean over slots, for all points."""
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
    has_softmax = True
    no_weight_chart = None

    def make_weights(self, draw: Draw) -> None:
        """Draw what `SlotLayer` draws, and a bias (H, n) of the logits."""
        super().make_weights(draw)
        self.bias = draw("bias", (self.config.heads, self.config.value_count), OFFSET_SCALE)

    def logit_map(self) -> torch.Tensor:
        """Return the map (S, H, D, n) from states to logits without bias: W_q k_j / sqrt(d)."""
        query, keys = self.by_head(self.query), self.by_head(self.slot_keys())
        return query @ keys.transpose(-1, -2) * (query.shape[-1] ** -0.5)

    def exact_slots(self, member: int) -> tuple[np.ndarray, np.ndarray]:
        """Return keys (n, D) and values (n, D) in integers; with a sink, one more slot of zeros."""
        keys = integers(self.keys[member]) @ integers(self.query[member]).T
        values = integers(self.values[member])
        if self.config.sink == "none":
            return keys, values
        return np.vstack([keys, 0 * keys[:1]]), np.vstack([values, 0 * values[:1]])

    def mixed_values(self) -> torch.Tensor:
        """Return the values (S, n, D) in force; a sink adds the origin as one more."""
        values = self.slot_values()
        if self.config.sink == "none":
            return values
        return torch.cat([values, torch.zeros_like(values[:, :1])], 1)

    def weights(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return softmax weights (S, H, N, n) of states (S, N, D); a sink's share is left out."""
        logits = product(hidden.unsqueeze(1), self.logit_map())
        if self.gate is not None and self.gate.config.position == "G4" and not self.gate.idle:
            # What the gate changes, added on: a gate that is one then changes no bit.
            query = product(hidden, self.query)
            change = self.by_head(self.gate(query, hidden) - query)
            keys = self.by_head(self.slot_keys()).transpose(-1, -2)
            logits = logits + product(change, keys * keys.shape[-2] ** -0.5)
        return self.beside_sink(softmax, logits + self.bias.unsqueeze(2))


# --- Linear attention over learned slots ----------------------------------------------------------


def feature_map(x: torch.Tensor) -> torch.Tensor:
    """elu(x) + 1, positive: exp(x) where x <= 0, x + 1 elsewhere; accurate at both ends.

    The first derivative is continuous, and the second one jumps from 1 to 0 at x = 0: so does the
    curvature of a model where a channel of a query is 0. At 0 itself derivatives are those of the
    left side. Error bounds hold on either side; where rounding decides the side of a query, there
    is no rule, and a jet has an estimate in place of a rigorous bound.
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


# --- Tokens ---------------------------------------------------------------------------------------


class TokenLayer(AttentionLayer):
    """Softmax self-attention without positions; all tokens read each other."""

    title = "Softmax attention among tokens, read out at the first"
    come_from = "tokens, each an affine map of the input"
    fixed_values = False
    weights_on_simplex = True
    has_softmax = True
    no_weight_chart = "tokens' values move with their weights"

    @staticmethod
    def state_axes(config: LayerConfig) -> tuple[int, ...]:
        """Return the axis of the n tokens: hidden states are (S, n, N, D)."""
        return (config.value_count,)

    def make_weights(self, draw: Draw) -> None:
        """Draw the maps (D, D) of queries, keys and values."""
        dim = self.config.model_dim
        self.query = draw("query", (dim, dim), dim**-0.5)
        self.key_map = draw("key_map", (dim, dim), dim**-0.5)
        self.value_map = draw("value_map", (dim, dim), dim**-0.5)

    def attend(
        self,
        query_states: OptionalTensor,
        states: OptionalTensor,
        weights: OptionalTensor,
    ) -> Mixed:
        """Return outputs (S, m, N, D) of m tokens, and weights (S, H, N, n) of the first one."""
        assert query_states is not None
        assert states is not None
        weights = self.weights(query_states, states)
        return self.mix(weights, states), weights[:, :, 0].transpose(-1, -2)

    def plain_values(self, states: OptionalTensor) -> torch.Tensor:
        """Return the tokens' values (S, n, N, D) before any gate."""
        assert states is not None
        return product(states, self.value_map.unsqueeze(1))

    def sharpen(self, factor: float) -> None:
        """Multiply the key map by ``factor``, in place."""
        self.key_map.data *= factor

    def weights(self, query_states: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
        """(S, H, m, n, N): how the m tokens of ``query_states`` (S, m, N, D) weigh all n."""
        query = self.gated("G4", product(query_states, self.query.unsqueeze(1)), query_states)
        keys = self.gated("G3", product(states, self.key_map.unsqueeze(1)), states)
        query, keys = self._by_head(query), self._by_head(keys)
        logits = query.transpose(2, 3) @ keys.permute(0, 1, 3, 4, 2)  # (S, H, N, m, n)
        logits = logits * query.shape[-1] ** -0.5
        weights = self.beside_sink(partial(torch.softmax, dim=-1), logits)
        return weights.permute(0, 1, 3, 4, 2)

    def mix(self, weights: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
        """(S, m, N, D): the tokens' values averaged with ``weights`` (S, H, m, n, N)."""
        values = self.gated("G2", self.plain_values(states), states)
        values = self._by_head(values).permute(0, 1, 3, 2, 4)  # (S, H, N, n, d)
        mixed = weights.permute(0, 1, 4, 2, 3) @ values  # (S, H, N, m, d)
        return mixed.permute(0, 3, 2, 1, 4).flatten(-2)

    def _by_head(self, states: torch.Tensor) -> torch.Tensor:
        """(S, n, N, D) to (S, H, n, N, d)."""
        return states.unflatten(-1, (self.config.heads, -1)).permute(0, 3, 1, 2, 4)

    def recorded_gate(self, states: OptionalTensor, mixed: torch.Tensor) -> OptionalTensor:
        """Return the gate (S, N, D or H) of token 1; at G2 and G3 its mean over all tokens."""
        gate = super().recorded_gate(states, mixed)
        if self.gate is None or gate is None:
            return None
        return gate.mean(1) if self.gate.config.position in ("G2", "G3") else gate[:, 0]
