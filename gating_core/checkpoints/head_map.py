"""A head of a checkpoint as a map of two numbers, and the measures of its surface and attention.

The query's state lies on a plane, a chart [-1, 1]^2; keys and values are those of a text and do not
move. The plane is projected once: what the weights make of it are three queries and three logits of
each gate. Scores are then affine in the two coordinates, whatever D is.

Bounds are those of the map with these projected numbers: the projection itself is one product in
float64, and its rounding is not followed.

Total curvature goes with the sharpness of a head. It is to be read beside that of twins
(`gating_core.checkpoints.twins`), and beside the span of the surface: a total has no scale, and a
speck may have a large one.

Shapes: T tokens, n keys that may be attended to, N points, D width, d channels of a head.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch

from gating_core.attention import SMALLEST_WEIGHT
from gating_core.checkpoints.layer import Layer, by_head, check_states, factor
from gating_core.checks import check_choice, check_integer, check_number
from gating_core.geometry import (
    Grid,
    Integral,
    MeasuredSurface,
    square_grid,
    total_absolute_curvature,
)
from gating_core.randomness import generator

# --- Planes of states -----------------------------------------------------------------------------


# Chart coordinates of the three tokens of a `token_plane`.
TRIANGLE = ((-0.75, -0.65), (0.75, -0.65), (0.0, 0.65))


@dataclass(frozen=True, eq=False)
class Plane:
    """A chart (u, v) of states: origin + u e1 + v e2.

    Attributes:
        state: (3, D): the origin and the directions e1 and e2.
        tokens: The three tokens that the plane goes through, or ``None``.
        corners: (3, 2): where they stand in the chart, or ``None``.
        weights: (3, 3) or ``None``: on the attention-weight chart the weights of the three tokens,
            at the origin and along e1 and e2; a head's scores are then not asked.
    """

    state: torch.Tensor
    tokens: tuple[int, int, int] | None = None
    corners: torch.Tensor | None = None
    weights: torch.Tensor | None = None

    def project(self, states: torch.Tensor) -> torch.Tensor:
        """Return the chart coordinates (T, 2) of the points of the plane nearest to ``states``."""
        return (states - self.state[0]) @ torch.linalg.pinv(self.state[1:])


def principal_plane(states: torch.Tensor, width: float = 2.0) -> Plane:
    """Return the principal plane of ``states`` (T, D).

    The chart reaches ``width`` standard deviations from the mean along the two leading principal
    axes. ``ValueError`` for states that span no plane.
    """
    states = _checked(states)
    check_number("width", width, 1e-6, 1e6)
    mean = states.mean(0)
    centred = states - mean
    # From the (T, T) products: D is the larger. Their eigenvectors are the left singular vectors.
    squares, left = torch.linalg.eigh(centred @ centred.T)
    lengths = squares[-2:].flip(0).clamp(min=0).sqrt()
    if len(states) < 3 or not lengths[1] > 1e-7 * lengths[0]:
        raise ValueError(f"the {len(states)} states span no plane; take a longer text")
    axes = left[:, -2:].flip(1).T @ centred / lengths[:, None]
    axes = axes * axes.gather(1, axes.abs().argmax(1, keepdim=True)).sign()  # one of two signs
    deviations = lengths / len(states) ** 0.5
    return Plane(torch.cat([mean[None], axes * (deviations * width)[:, None]]))


def token_plane(states: torch.Tensor, a: int, b: int, c: int) -> Plane:
    """Return the plane through the states of three tokens, which stand at `TRIANGLE`."""
    corners = torch.tensor(TRIANGLE, dtype=torch.float64)
    three, tokens = _three(states, a, b, c)
    raised = torch.cat([torch.ones(3, 1, dtype=torch.float64), corners], 1)
    return Plane(torch.linalg.inv(raised) @ three, tokens, corners)


def weight_plane(states: torch.Tensor, a: int, b: int, c: int) -> Plane:
    """Return the attention-weight chart through three tokens of a context.

    At each point the attention weights of the tokens are prescribed, all others are 0, and the
    state is the same average of the three tokens' states. On the chart every weight is at least
    .02; the tokens themselves stand outside of it.
    """
    three, tokens = _three(states, a, b, c)
    # Orthogonal to (1, 1, 1), and as long as each other.
    directions = torch.tensor([[1.0, -1.0, 0.0], [1.0, 1.0, -2.0]], dtype=torch.float64)
    directions = directions / directions.norm(dim=1, keepdim=True)
    directions = directions * ((1 / 3 - SMALLEST_WEIGHT) / directions.abs().sum(0).max())
    weights = torch.cat([torch.full((1, 3), 1 / 3, dtype=torch.float64), directions])
    corners = (torch.eye(3, dtype=torch.float64) - 1 / 3) @ torch.linalg.pinv(directions)
    return Plane(weights @ three, tokens, corners, weights)


def _three(
    states: torch.Tensor, a: int, b: int, c: int
) -> tuple[torch.Tensor, tuple[int, int, int]]:
    states = _checked(states)
    for token in (a, b, c):
        check_integer("token", token, 0, len(states) - 1)
    three = states[[a, b, c]]
    if len({a, b, c}) < 3:
        raise ValueError("a token is named twice, and two states span no plane; name a third one")
    if torch.linalg.matrix_rank(three[1:] - three[0]) < 2:
        raise ValueError("the three states lie on one line and span no plane; name other tokens")
    return three, (a, b, c)


def _checked(states: torch.Tensor) -> torch.Tensor:
    states = torch.as_tensor(states, dtype=torch.float64)
    if states.ndim != 2 or not states.isfinite().all():
        raise ValueError(f"states has shape {tuple(states.shape)}; it must be (T, D), all finite")
    return states


# --- The map --------------------------------------------------------------------------------------


OptionalTensor = torch.Tensor | None


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
        check_choice("per", self.per, ("channel", "head"))
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


# --- Measures -------------------------------------------------------------------------------------


SIDE = 31  # points along each side of the chart


@dataclass(frozen=True, eq=False)
class HeadMeasures:
    """The measurements of one head on a grid over a chart.

    Attributes:
        total: The integral of |K| dA, without a unit, and its error: rounding and discretisation.
        negative_share: Share of it where K < 0, from 0 to 1; 0 where the total is.
        span: Largest distance of an output from the outputs' mean, over that of a value from the
            values' mean: the size of the surface within the hull of its values.
        entropy: Of the attention weights, in nats: the mean over the chart.
        proved_share: Share of the points whose |K| exceeds a rigorous bound of its error.
    """

    total: Integral
    negative_share: float
    span: float
    entropy: float
    proved_share: float


@torch.no_grad()
def measure_head(head: HeadMap, grid: Grid | None = None, bound: str = "rigorous") -> HeadMeasures:
    """Measure a head over its chart, by default at 31 x 31 points, with rigorous bounds.

    ``bound`` as in `second_order_jet`: "estimate" takes a third of the time, and proves nothing.
    """
    grid = square_grid(SIDE) if grid is None else grid
    surface = MeasuredSurface(head, grid, bound=bound)
    jet, field = surface.jet, surface.field
    total = total_absolute_curvature(field, grid.weights)
    density = field.gaussian * field.area_element * grid.weights.flatten()
    negative = -float(density.clamp(max=0)[field.resolved].sum())
    outputs = jet.value - jet.value.mean(0)
    values = head.values - head.values.mean(0)
    size, hull = (float(x.norm(dim=-1).max()) for x in (outputs, values))
    proved = field.decided if field.bound_kind == "rigorous" else torch.zeros(1)
    return HeadMeasures(
        total=total,
        negative_share=negative / float(total.value) if total.value > 0 else 0.0,
        span=size / hull if hull else 0.0,
        entropy=float(entropies(head.weights(grid.points)).mean()),
        proved_share=float(proved.double().mean()),
    )


def entropies(weights: torch.Tensor) -> torch.Tensor:
    """(...): the entropy in nats of each row of ``weights`` (..., n)."""
    return torch.special.entr(weights).sum(-1)
