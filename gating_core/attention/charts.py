"""The attention-weight chart: the outputs that belong to given attention weights.

It prescribes the first layer's weights on an affine slice of the simplex: the setting of the
flatness theorem ([BJ]). The *query chart* is a model itself: its coordinates are the input plane.
"""

from collections.abc import Callable

import torch

from gating_core.attention.layer import LayerRecord
from gating_core.attention.stack import Attention
from gating_core.checks import check_integer, check_points, check_weights
from gating_core.randomness import generator

SMALLEST_WEIGHT = 0.02  # at a corner of the attention-weight chart


class WeightChart:
    """A callable (N, 2) -> (S, N, D): the outputs for first-layer weights c + u e1 + v e2.

    c is the centre of the simplex; the e are orthonormal, orthogonal to (1, ..., 1), drawn from
    the member's seed and scaled until the smallest weight at a corner is 0.02. Every head
    gets the same weights. Where the model reads more than the weights (a gate, a residual), it
    gets the hidden state that would have produced them: for n = 3 that of the input ``inputs``,
    for n > 3 the one of least distance from the state at x = 0, in general no input's state.

    ``ValueError`` for n = 2 (which gives a line, not a surface), for tokens, for ``norm="pre"``,
    and for gated or residual models with several heads or logits of too low a rank: there no query
    reaches the slice.
    """

    pure = True  # as the model is

    def __init__(self, model: Attention) -> None:
        config = model.config
        # Above 49 the centre's weight 1/n is below SMALLEST_WEIGHT.
        check_integer("value_count", config.value_count, 3, 49)
        why = config.no_weight_chart
        if why is not None:
            raise ValueError(
                f"source is {config.source!r}; there is no attention-weight chart, because {why}"
            )
        if config.norm == "pre":
            raise ValueError(
                "norm is 'pre'; the attention-weight chart needs 'none' or 'post', because no"
                " hidden state is known that a normalised query would come from"
            )
        check_weights(model)
        self.model = model
        self.slices = torch.stack([_slice(config.value_count, seed) for seed in model.seeds])
        first = model.blocks[0]
        self._reads_only_weights = first.reads_only_weights
        if self._reads_only_weights:
            return
        # The affine map from centred log-weights to the state (n > 3) or input (n = 3).
        n = config.value_count
        if config.heads != 1:
            raise ValueError(
                f"heads is {config.heads}; a gated or residual model needs heads = 1 on the"
                " attention-weight chart: no query gives all heads the same weights"
            )
        gate = first.gate
        if gate is not None and gate.config.position == "G4" and not gate.idle:
            raise ValueError(
                "gate.position is 'G4' in a residual model; the attention-weight chart needs logits"
                " that are linear in the hidden state, and a gated query's are not"
            )
        centre = torch.eye(n, dtype=torch.float64) - 1 / n
        to_logits = (
            first.logit_map()[:, 0] @ centre
        )  # (S, D, n), from hidden states to centred logits
        self.offset = model.input_bias.unsqueeze(1) @ to_logits + first.bias @ centre  # (S, 1, n)
        solve = model.input_map @ to_logits if n == 3 else to_logits
        if (torch.linalg.matrix_rank(solve) < n - 1).any():
            raise ValueError(
                f"value_count is {n}; no query reaches this slice of the simplex, because the"
                f" logits span fewer than {n - 1} dimensions"
            )
        self.inverse = torch.linalg.pinv(solve)

    def weights(self, points: torch.Tensor) -> torch.Tensor:
        """(S, N, n): first-layer attention weights at chart points (N, 2)."""
        return points @ self.slices + 1 / self.model.config.value_count

    def _centred_logits(self, points: torch.Tensor) -> torch.Tensor:
        logs = self.weights(points).log()
        return logs - logs.mean(-1, keepdim=True) - self.offset

    @property
    def inputs_known(self) -> bool:
        """True if the model reads more than the weights, and every weight has one input (n = 3)."""
        return self.model.config.value_count == 3 and not self._reads_only_weights

    def inputs(self, points: torch.Tensor) -> torch.Tensor:
        """(S, N, input_dim): the inputs that have these weights; n = 3 only."""
        if not self.inputs_known:
            raise ValueError("inputs are known only for n = 3 and a gated or residual model")
        return self._centred_logits(points) @ self.inverse

    def __call__(
        self, points: torch.Tensor, records: list[LayerRecord] | None = None
    ) -> torch.Tensor:
        """(S, N, D): the outputs at chart ``points`` (N, 2); ``records`` gets one of each layer."""
        weights = self.weights(points).unsqueeze(1)  # one head axis, shared by all heads
        if self.model.config.heads > 1:
            weights = torch.cat([weights] * self.model.config.heads, 1)
        if self._reads_only_weights:
            return self.model.run(None, weights, records)
        if self.model.config.value_count == 3:
            hidden = self.model.embed(self.inputs(points))
        else:
            hidden = self._centred_logits(points) @ self.inverse
            hidden = hidden + self.model.input_bias.unsqueeze(1)
        return self.model.run(hidden, weights, records)

    @property
    def spanned_by(self) -> str:
        """The kind of vectors that `spans` returns, in words."""
        return self.model.spanned_by if self.model.config.depth > 1 else "fixed averages of values"

    def spans(self) -> list[tuple[torch.Tensor, ...] | None]:
        """Return `Attention.spans`; of one layer, the outputs at three points of the slice.

        There all heads have the same weights, and these are affine in the chart's coordinates.
        """
        spans = self.model.spans()
        if self.model.config.depth > 1:
            return spans
        ends = torch.cat([torch.zeros_like(self.slices[:, :1]), self.slices], 1)
        weights = ends + 1 / self.model.config.value_count  # (S, 3, n)
        return [
            None if span is None else (own @ torch.cat(span, -1),)
            for own, span in zip(weights, spans, strict=True)
        ]

    def reach(self, points: torch.Tensor) -> torch.Tensor:
        """(S,): the largest |x| among the inputs behind chart points (N, 2); n = 3 only."""
        return torch.linalg.vector_norm(self.inputs(check_points(points)), dim=-1).amax(-1)


weight_chart = WeightChart  # of a model


def _slice(n: int, seed: int) -> torch.Tensor:
    """(2, n): the chart's directions, scaled."""
    draw = torch.randn(n, 2, generator=generator(seed, "weight_chart"), dtype=torch.float64)
    frame = torch.linalg.qr(draw - draw.mean(0)).Q
    # Twice, or two draws that are nearly parallel leave e's that are not quite orthogonal to 1.
    frame, rest = torch.linalg.qr(frame - frame.mean(0))
    frame = (frame * rest.diagonal().sign()).T
    scale = (1 / n - SMALLEST_WEIGHT) / frame.abs().sum(0).max()
    return frame * scale


def through_logs(chart: WeightChart) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return the outputs on ``chart``, its weights written as a softmax of their logarithms.

    On the chart itself outputs are affine, second derivatives exactly zero, and the test empty.
    """

    def outputs(points: torch.Tensor) -> torch.Tensor:
        weights = torch.softmax(chart.weights(points).log(), -1).unsqueeze(1)
        return chart.model.run(None, weights)

    return outputs
