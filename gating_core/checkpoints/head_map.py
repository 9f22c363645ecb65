"""A head of a checkpoint as a map of two numbers, ready to be measured.

The query's state lies on a plane; keys and values are those of a text and do not move. The plane is
projected once: what the weights make of it are three queries and three logits of each gate. Scores
are then affine in the two coordinates, whatever D is.

Bounds are those of the map with these projected numbers: the projection itself is one product in
float64, and its rounding is not followed.

Shapes: T tokens, n keys that may be attended to, N points, D width, d channels of a head.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch

from gating_core.checkpoints.layer import Layer, by_head, check_states, factor
from gating_core.checkpoints.planes import Plane
from gating_core.checks import check_choice, check_integer, check_number
from gating_core.randomness import generator

OptionalTensor = torch.Tensor | None
PER = ("channel", "head")


@dataclass(frozen=True)
class DrawnGate:
    """A gate that is drawn, for a head without one: a sigmoid of random logits.

    ``per`` is "channel" or "head". Over the states of the text, logits have this ``mean``, and
    ``spread`` is their standard deviation.
    """

    per: str = "channel"
    seed: int = 0
    spread: float = 1.0
    mean: float = -1.0

    def __post_init__(self) -> None:
        check_choice("per", self.per, PER)
        check_integer("seed", self.seed, 0, 2**31 - 1)
        check_number("spread", self.spread, 0.0, 100.0)
        check_number("mean", self.mean, -100.0, 100.0)

    def logits(self, layer: Layer, states: torch.Tensor, head: int, plane: Plane) -> torch.Tensor:
        """(3, d or 1): the logits at the plane's origin and along its directions."""
        rows = layer.channels if self.per == "channel" else 1
        draw = generator(self.seed, f"drawn gate {layer.number}.{head}")
        weight = torch.randn(rows, layer.width, generator=draw, dtype=torch.float64)
        mean = states.mean(0)
        spread = ((states - mean) @ weight.T).square().mean().sqrt()
        if spread > 0:
            weight = weight * (self.spread / spread)
        logits = plane.state @ weight.T
        logits[0] += self.mean - mean @ weight.T
        return logits


@dataclass(frozen=True, eq=False)
class HeadMap:
    """One head as a map (N, 2) -> (N, d) from points of a chart to its outputs.

    Attributes:
        tokens: (n,) int64, the token of each key.
        keys: (n, d).
        plain_values: (n, d), before a gate of values.
        queries: (3, d), at the plane's origin and along its directions.
        prescribed: (3, n) or ``None``: the weights on an attention-weight chart.
        gate_logits: (3, d or 1) or ``None``, as ``queries``.
        sigma: The gate's function of its logits.
        value_gate: (n, d or 1) or ``None``: factors of the values, of a gate that reads each token.
        strength: λ of the gate, from 0 to 1.
        sharpness: A factor of all scores.
    """

    tokens: torch.Tensor
    keys: torch.Tensor
    plain_values: torch.Tensor
    queries: torch.Tensor
    prescribed: OptionalTensor = None
    gate_logits: OptionalTensor = None
    sigma: Callable[[torch.Tensor], torch.Tensor] = torch.sigmoid
    value_gate: OptionalTensor = None
    strength: float = 1.0
    sharpness: float = 1.0

    pure = True  # calls change nothing: threads may share it
    spanned_by = "values"

    @property
    def values(self) -> torch.Tensor:
        """(n, d): the values that are mixed."""
        if self.value_gate is None:
            return self.plain_values
        return self.plain_values * factor(self.value_gate, self.strength)

    @property
    def logits(self) -> OptionalTensor:
        """(3, n): scores at the origin and along u and v; ``None`` where weights are prescribed."""
        if self.prescribed is not None:
            return None
        return self.queries @ self.keys.mT * (self.sharpness * self.keys.shape[1] ** -0.5)

    @property
    def gated(self) -> bool:
        """True if outputs are multiplied by a factor that depends on the point."""
        return self.strength > 0 and self.gate_logits is not None

    def with_strength(self, strength: float) -> HeadMap:
        """Return the map with another λ."""
        check_number("strength", strength, 0.0, 1.0)
        return replace(self, strength=strength)

    def spans(self) -> tuple[tuple[torch.Tensor] | None]:
        """Return the vectors that outputs are averages of, for `flatness_proofs`."""
        return (None if self.gated else (self.values,),)

    def scores(self, points: torch.Tensor) -> torch.Tensor:
        """(N, n): q·k / √d at ``points`` (N, 2); of a query chart only."""
        logits = self.logits
        if logits is None:
            raise ValueError("on an attention-weight chart weights are prescribed: no scores")
        return points @ logits[1:] + logits[0]

    def weights(self, points: torch.Tensor) -> torch.Tensor:
        """(N, n): the attention weights, which add up to one."""
        if self.prescribed is not None:
            return points @ self.prescribed[1:] + self.prescribed[0]
        return self.scores(points).softmax(-1)

    def gate_values(self, points: torch.Tensor) -> OptionalTensor:
        """(N, d or 1): the factors of the outputs, λ included; ``None`` where there are none."""
        if not self.gated or self.gate_logits is None:
            return None
        logits = points @ self.gate_logits[1:] + self.gate_logits[0]
        return factor(self.sigma(logits), self.strength)

    def __call__(self, points: torch.Tensor) -> torch.Tensor:
        """(N, d): the head's outputs at chart points (N, 2)."""
        outputs = self.weights(points) @ self.values
        gate = self.gate_values(points)
        return outputs if gate is None else outputs * gate


@torch.no_grad()
def head_map(
    layer: Layer,
    states: torch.Tensor,
    head: int,
    plane: Plane,
    *,
    keys: Sequence[int] | torch.Tensor | None = None,
    position: int | None = None,
    gate: DrawnGate | None = None,
    strength: float = 1.0,
) -> HeadMap:
    """Return one head as a map of two numbers: its query moves on a plane, the text stays.

    Args:
        layer: As `read_layer` returns it.
        states: (T, D), the states of a text that the layer's attention reads.
        head: The number of the head, from 0.
        plane: Where the query's state lies, as `principal_plane` or another function makes it.
        keys: The tokens that may be attended to: their numbers, or (T,) bool; by default all that
            the query sees.
        position: The token at whose place the query stands; by default the last.
        gate: A drawn gate, in place of the layer's own.
        strength: λ of the gate from 0 to 1; 0 leaves it out.

    Returns:
        The map, which `second_order_jet` and `measure` take as it is.

    Raises:
        ValueError: A number is out of range, or no key is left.

    Example:
        >>> import torch
        >>> from gating_core import measure
        >>> from gating_core.assets import ASSETS
        >>> from gating_core.checkpoints import principal_plane, read_layer
        >>> layer = read_layer(ASSETS / "models" / "none-0.safetensors", 1)
        >>> draw = torch.Generator().manual_seed(0)
        >>> states = torch.randn(12, 96, generator=draw, dtype=torch.float64)
        >>> head = head_map(layer, states, 0, principal_plane(states))
        >>> measure(head, torch.zeros(1, 2)).word
        'curved'
    """
    states = check_states(layer, states)
    count = len(states)
    check_integer("head", head, 0, layer.heads - 1)
    position = count - 1 if position is None else position
    check_integer("position", position, 0, count - 1)
    check_number("strength", strength, 0.0, 1.0)
    tokens = _tokens(layer, plane, keys, position, count)

    def of_states(weight: torch.Tensor, bias: OptionalTensor) -> torch.Tensor:
        part = slice(head, head + 1)
        return by_head(states[tokens], weight[part], None if bias is None else bias[part])[0]

    logits, value_gate, own = None, None, layer.gate if gate is None else None
    if gate is not None:
        logits = gate.logits(layer, states, head, plane)
    elif own is not None and layer.gates_values:
        value_gate = layer.sigma(of_states(own, layer.gate_bias))
    elif own is not None:
        logits = _of_plane(plane, own[head], layer.gate_bias, head)
    return HeadMap(
        tokens=tokens,
        keys=of_states(layer.key, layer.key_bias),
        plain_values=of_states(layer.value, layer.value_bias),
        queries=_of_plane(plane, layer.query[head], layer.query_bias, head),
        prescribed=plane.weights,
        gate_logits=logits,
        sigma=torch.sigmoid if gate is not None else layer.sigma,
        value_gate=value_gate,
        strength=strength if gate is not None else strength * layer.gate_strength,
    )


def _tokens(
    layer: Layer,
    plane: Plane,
    keys: Sequence[int] | torch.Tensor | None,
    position: int,
    count: int,
) -> torch.Tensor:
    """(n,) int64: the tokens whose keys the query sees and may attend to."""
    allowed = layer.visible(position, count)
    if keys is not None:
        chosen = torch.as_tensor(keys)
        if chosen.dtype == torch.bool and chosen.shape != (count,):
            raise ValueError(
                f"keys has shape {tuple(chosen.shape)}; as a mask it must be ({count},)"
            )
        if chosen.dtype != torch.bool:
            for token in chosen.tolist():
                check_integer("keys", token, 0, count - 1)
            chosen = torch.isin(torch.arange(count), chosen)
        allowed = allowed & chosen
    if plane.tokens is not None and plane.weights is not None:
        if len(set(plane.tokens)) < 3 or not all(allowed[token] for token in plane.tokens):
            raise ValueError(
                f"tokens {plane.tokens} are not three keys that the query may attend to"
            )
        return torch.tensor(plane.tokens)
    if not allowed.any():
        raise ValueError("keys leaves the query nothing to attend to")
    return allowed.nonzero()[:, 0]


def _of_plane(plane: Plane, weight: torch.Tensor, bias: OptionalTensor, head: int) -> torch.Tensor:
    """(3, rows): ``weight`` (rows, D) of the origin, plus the bias, and of the directions."""
    product = plane.state @ weight.mT
    if bias is not None:
        product[0] += bias[head]
    return product
