"""The model: an ensemble of attention stacks, evaluated as one batched computation.

Shapes: S seeds (the leading axis of every parameter), N points, D model dimension, H heads, n
values. Hidden states are (S, N, D) with memory slots and (S, n, N, D) with tokens: points always
stand next to last. One model is an ensemble of one. Ungated is the same class with gate ``None``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import cast

import numpy as np
import torch
from torch import nn

from gating_core.attention.config import AttentionConfig
from gating_core.attention.layer import OFFSET_SCALE, AttentionLayer, LayerRecord
from gating_core.checks import check_integer, check_seeds, check_weights
from gating_core.points_last import product
from gating_core.randomness import normal
from gating_core.rational import integers

INPUT_SCALE = 1.5  # standard deviation of the input map times sqrt(2)


class Attention(nn.Module):
    """An ensemble of attention stacks with the same configuration.

    Each member has one of the ``seeds``, which may repeat here, and one of the gate ``strengths``
    (S,); without these, all have the configuration's.
    """

    pure = True  # several threads may call it: it changes nothing while it computes

    def __init__(
        self,
        config: AttentionConfig,
        seeds: tuple[int, ...],
        strengths: Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        if strengths is not None and config.gate is None:
            raise ValueError("strengths were given for a model without a gate")
        self.config, self.seeds = config, seeds
        self.strengths = None if strengths is None else tuple(strengths)
        # Tokens have an affine map each, memory models one for the query.
        axes = config.layer.state_axes(config)
        name = "token" if axes else "input"
        scale = INPUT_SCALE * config.input_dim**-0.5
        shape = (*axes, config.input_dim, config.model_dim)
        self.input_map = nn.Parameter(normal(seeds, f"{name}_map", shape, scale))
        shape = (*axes, config.model_dim)
        self.input_bias = nn.Parameter(normal(seeds, f"{name}_bias", shape, OFFSET_SCALE))
        self.layers = nn.ModuleList(
            config.layer(config, seeds, f"layers.{depth}", strengths)
            for depth in range(config.depth)
        )
        self._tokens = bool(axes)

    @property
    def blocks(self) -> list[AttentionLayer]:
        """The layers in order."""
        return [cast(AttentionLayer, layer) for layer in self.layers]

    def embed(self, points: torch.Tensor) -> torch.Tensor:
        """The first hidden states of points (N, input_dim) or (S, N, input_dim)."""
        if points.ndim not in (2, 3) or points.shape[-1] != self.config.input_dim:
            raise ValueError(
                f"points has shape {tuple(points.shape)}; it must be (N, {self.config.input_dim})"
                f" or (S, N, {self.config.input_dim}) for this model"
            )
        if self._tokens and points.ndim == 3:
            points = points.unsqueeze(1)
        return product(points, self.input_map) + self.input_bias.unsqueeze(-2)

    def states(
        self,
        hidden: torch.Tensor | None,
        weights: torch.Tensor | None = None,
        records: list[LayerRecord] | None = None,
    ) -> Iterator[torch.Tensor]:
        """The outputs after each layer in order; arguments and shapes as `run`."""
        final = len(self.layers) - 1
        for depth, layer in enumerate(self.blocks):
            last = depth == final  # then nobody reads the other tokens
            hidden = layer(hidden, weights if depth == 0 else None, last, records)
            assert hidden is not None
            yield hidden[:, 0] if self._tokens else hidden

    def run(
        self,
        hidden: torch.Tensor | None,
        weights: torch.Tensor | None = None,
        records: list[LayerRecord] | None = None,
    ) -> torch.Tensor:
        """All layers, the first with prescribed ``weights`` if they are given; see `forward`."""
        *_, out = self.states(hidden, weights, records)
        return out

    def forward(
        self, points: torch.Tensor, records: list[LayerRecord] | None = None
    ) -> torch.Tensor:
        """Representations (S, N, D) of points (N, input_dim) or (S, N, input_dim).

        What each layer did is appended to ``records`` if that is given.
        """
        return self.run(self.embed(points), None, records)

    @property
    def spanned_by(self) -> str:
        """The kind of vectors that `spans` returns, in words."""
        if self.config.sink != "none":
            return "fixed values, one of them the sink's 0"
        few = self.config.layer.mixed_count(self.config) < self.config.value_count
        return "fixed averages of values" if few else "fixed values"

    def spans(self, index: int = -1) -> list[tuple[torch.Tensor, ...] | None]:
        """Return, for each member and head, the fixed vectors (n, d) that the outputs average.

        Up to a fixed linear map; ``None`` for members whose outputs are anything else. Layers
        before the last one only move the weights. ``index`` chooses the outputs of another layer.
        """
        last = self.blocks[index]
        true = last.averages_fixed_values.expand(len(self.seeds)).tolist()
        if not any(true):
            return [None] * len(true)
        heads = last.mixed_values().unflatten(-1, (self.config.heads, -1)).unbind(-2)
        return [
            tuple(head[i] for head in heads) if averages else None
            for i, averages in enumerate(true)
        ]

    def hulls(self) -> list[tuple[torch.Tensor, ...] | None]:
        """Return, for each member and head, fixed vectors (n, d) whose affine hull holds outputs.

        Those of `spans`; and with 0 where fixed values are scaled, by a headwise gate or by weights
        off the simplex. ``None`` for members whose outputs are anything else.
        """
        last, spans = self.blocks[-1], self.spans()
        if not last.scales_fixed_values:
            return spans
        values = last.mixed_values()
        scaled = torch.cat([values, torch.zeros_like(values[:, :1])], 1)
        heads = scaled.unflatten(-1, (self.config.heads, -1)).unbind(-2)
        return [span or tuple(head[i] for head in heads) for i, span in enumerate(spans)]

    def four_slots(self) -> list[tuple[np.ndarray, np.ndarray] | None]:
        """Return, for each member, keys pulled back to the plane (4, 2) and values (4, D), exact.

        Each up to a positive factor, in Python integers. ``None`` unless the outputs are ungated
        softmax averages over four slots with logits that are affine in the point: one layer, one
        head, no residual, no normalisation. (`gating_core.geometry.keys` says why they matter.)
        """
        config, layer = self.config, self.blocks[0]
        plain = config.depth == config.heads == 1 and config.input_dim == 2
        plain = plain and config.norm == "none" and not config.residual
        slots = config.value_count + (config.sink != "none")
        plain = plain and layer.no_weight_chart is None and slots == 4
        if not plain or not all(x.isfinite().all() for x in self.parameters()):
            return [None] * len(self.seeds)
        still = torch.as_tensor(True if layer.gate is None else layer.gate.strength == 0)

        def of_member(i: int) -> tuple[np.ndarray, np.ndarray]:
            keys, values = layer.exact_slots(i)
            if layer.projection is not None:
                values = values @ integers(layer.projection[i])
            return keys @ integers(self.input_map[i]).T, values

        ungated = still.expand(len(self.seeds)).tolist()
        return [of_member(i) if true else None for i, true in enumerate(ungated)]

    def member(self, index: int, strengths: Sequence[float] | None = None) -> Attention:
        """Member ``index`` alone, or as many copies of it as there are gate ``strengths``.

        Copies share their weights and differ in the strength of the gate, so that a sweep is one
        batched evaluation. A strength of 0 gives the ungated numbers bit for bit.
        """
        check_integer("index", index, 0, len(self.seeds) - 1)
        if strengths is None and self.strengths is not None:
            strengths = self.strengths[index : index + 1]
        copies = 1 if strengths is None else len(strengths)
        out = Attention(self.config, (self.seeds[index],) * copies, strengths)
        for own, parameter in zip(self.parameters(), out.parameters(), strict=True):
            parameter.data = own.data[index : index + 1].expand(copies, *own.shape[1:])
        return out.requires_grad_(False)


class EveryLayer:
    """A callable (N, 2) -> (L, S, N, D): the outputs of ``model`` after each of its layers.

    With tokens they are token 1's. The last of them is the model's own output. ``ValueError`` for
    a model with weights that are not finite.
    """

    pure = True  # as the model is

    def __init__(self, model: Attention) -> None:
        check_weights(model)
        self.model = model
        self.spanned_by = model.spanned_by

    def __call__(self, points: torch.Tensor) -> torch.Tensor:
        """(L, S, N, D): the outputs of all layers at ``points`` (N, 2)."""
        return torch.stack(list(self.model.states(self.model.embed(points))))

    def spans(self) -> list[tuple[torch.Tensor, ...] | None]:
        """Return `Attention.spans` of all layers: the members of the first one come first."""
        layers = range(len(self.model.blocks))
        return [span for layer in layers for span in self.model.spans(layer)]


def build_attention(config: AttentionConfig, seeds: Iterable[int] = (0,)) -> Attention:
    """A float64 ``nn.Module`` from points (N, input_dim) or (S, N, input_dim) to (S, N, D).

    The weights of a member depend on its seed and on the parameter's name alone. Gradients are
    off; the trainer turns them on. ``ValueError`` for seeds that are empty, repeated or negative.
    """
    return Attention(config, check_seeds(seeds)).requires_grad_(False)


# --- A read-out -----------------------------------------------------------------------------------


class Classifier(nn.Module):
    """An attention ensemble and a linear read-out: ``logits = y W + b``.

    ``attention`` gives the surface y (S, N, D); forward gives logits (S, N, C).
    """

    def __init__(self, attention: Attention, class_count: int) -> None:
        super().__init__()
        self.attention = attention
        dim, seeds = attention.config.model_dim, attention.seeds
        self.weight = nn.Parameter(
            normal(seeds, "classifier.weight", (dim, class_count), dim**-0.5)
        )
        self.bias = nn.Parameter(torch.zeros(len(seeds), class_count, dtype=torch.float64))

    def read_out(self, outputs: torch.Tensor) -> torch.Tensor:
        """Logits (S, N, C) of representations (S, N, D)."""
        return product(outputs, self.weight) + self.bias.unsqueeze(1)

    def forward(self, points: torch.Tensor) -> torch.Tensor:
        """Return logits (S, N, C) of input points (N, k) or (S, N, k)."""
        return self.read_out(self.attention(points))


UNIT_LOGITS = 8.0  # a radius of the surface
REFERENCE_SIDE = 8  # points along each side of the chart, of which centre and radius are


class UnitClassifier(Classifier):
    """A read-out that cannot amplify: a unit normal on the surface scaled to unit radius.

    A free read-out makes up for a shallow surface by larger weights, so that nothing follows from
    amounts of curvature. Here the logits of two classes differ by 8 for one radius: the root mean
    square distance of the surface over [-1, 1]² from its centre, both taken at the 8 x 8 midpoints
    of equal cells.
    """

    def read_out(self, outputs: torch.Tensor) -> torch.Tensor:
        """Logits (S, N, 2) of representations (S, N, D)."""
        normal, offset = self.plane()
        margin = product(outputs, normal.unsqueeze(-1)) + offset[:, None, None]
        return torch.cat([-margin, margin], -1) / 2

    def plane(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return normal (S, D) and offset (S,): logits differ by their product with y, plus it."""
        axis = (torch.arange(REFERENCE_SIDE, dtype=self.bias.dtype) + 0.5) / REFERENCE_SIDE
        grid = torch.cartesian_prod(2 * axis - 1, 2 * axis - 1).T.contiguous().T
        surface = self.attention(grid)
        centre = surface.mean(1)
        radius = (surface - centre.unsqueeze(1)).square().sum(-1).mean(1).sqrt()
        direction = self.weight[..., 1] - self.weight[..., 0]
        direction = direction / torch.linalg.vector_norm(direction, dim=-1, keepdim=True)
        normal = UNIT_LOGITS * direction / radius.unsqueeze(-1)
        return normal, UNIT_LOGITS * (self.bias[:, 1] - self.bias[:, 0]) - (normal * centre).sum(-1)


def build_classifier(
    config: AttentionConfig, seeds: Iterable[int], class_count: int = 2
) -> Classifier:
    """A float64 classifier at its initial weights, gradients off."""
    check_integer("class_count", class_count, 2, 16)
    return Classifier(build_attention(config, seeds), class_count).requires_grad_(False)


def restore(
    config: AttentionConfig, seeds: Iterable[int], state: dict[str, np.ndarray]
) -> Classifier:
    """The float64 classifier that a snapshot's ``state`` describes: measure in float64."""
    model = build_classifier(config, seeds, state["bias"].shape[-1])
    model.load_state_dict({name: torch.from_numpy(array) for name, array in state.items()})
    return model


@lru_cache(1000)  # a model is built to be counted
def parameter_count(config: AttentionConfig, class_count: int = 2) -> int:
    """Trainable numbers of one member, classifier included."""
    member = build_classifier(config, (0,), class_count)
    return sum(parameter.numel() for parameter in member.parameters())
