"""Twins of a head: what its numbers are without what it has learned.

Total curvature of a head goes with the sharpness of its attention, so twins have its mean entropy.
That is not all that they must share: a head leans on single tokens wherever its query is, and
random queries and keys do not. Hence two twins of scores: `sharp_twin` has random queries and keys,
`offset_twin` their slopes and the head's own offsets. `dealt_twin` keeps all scores and deals the
values to other tokens. A twin of shuffled text is the head itself on the states of tokens in
`shuffled_order`.

Shapes: n keys, N points, d channels of a head.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from gating_core.checkpoints.head_map import HeadMap, Plane, entropies, head_map
from gating_core.checkpoints.layer import Layer
from gating_core.randomness import generator

LARGEST_LOG_FACTOR = 30.0  # of scores, to base 2, either way
ENTROPY_TOLERANCE = 1e-9  # nats, between the mean entropies of a head and of its twin


@torch.no_grad()
def sharp_twin(
    layer: Layer,
    states: torch.Tensor,
    head: int,
    plane: Plane,
    seed: int = 0,
    *,
    points: torch.Tensor,
    keys: Sequence[int] | torch.Tensor | None = None,
) -> HeadMap:
    """Return the head with random queries and keys, at its own mean entropy.

    The weights of queries and keys are normal, of the layer's own norms; biases, values and gate
    are the head's. Scores are multiplied by one number, so that the mean entropy of the attention
    weights over ``points`` (N, 2) of the chart is the head's to `ENTROPY_TOLERANCE`. Other
    arguments as `head_map`.

    Raises:
        ValueError: The plane is an attention-weight chart, where there are no scores, or no factor
            gives the head's entropy.
    """
    if plane.weights is not None:
        raise ValueError("on an attention-weight chart weights are prescribed: no scores")
    own = head_map(layer, states, head, plane, keys=keys)
    draw = generator(seed, f"twin {layer.number}.{head}")
    query, key = (
        torch.randn(weight[0].shape, generator=draw, dtype=torch.float64)
        * weight.square().mean().sqrt()
        for weight in (layer.query, layer.key)
    )
    of_head = "query_bias key_bias value value_bias output gate gate_bias".split()
    alone = {name: getattr(layer, name) for name in of_head}
    alone = {name: x if x is None else x[head : head + 1] for name, x in alone.items()}
    drawn = replace(layer, query=query[None], key=key[None], **alone)
    twin = head_map(drawn, states, 0, plane, keys=keys)
    twin = replace(twin, gate_logits=own.gate_logits, value_gate=own.value_gate)
    return _as_sharp(twin, float(entropies(own.weights(points)).mean()), points)


@torch.no_grad()
def offset_twin(head: HeadMap, twin: HeadMap, *, points: torch.Tensor) -> HeadMap:
    """Return the head with its own offsets and another's slopes, at its own size and entropy.

    On a chart the score of key i is affine, c_i + u a_i + v b_i. The head's offsets c stay: how it
    leans on single tokens wherever the query is. Its slopes a and b are replaced by those of the
    ``twin``, each less its mean over the keys and scaled to the standard deviation over keys that
    the head's own has. All scores are then multiplied by one number, so that the mean entropy of
    the attention weights over ``points``
    (N, 2) is the head's to `ENTROPY_TOLERANCE`. Values and gate are the head's.

    Args:
        head: As `head_map` returns it.
        twin: Its `sharp_twin`: from random queries and keys.
        points: Of the chart, over which the mean is taken.

    Raises:
        ValueError: Weights are prescribed, so there are no scores, or no factor gives the head's
            entropy.
    """
    if head.prescribed is not None:
        raise ValueError("on an attention-weight chart weights are prescribed: no scores")
    scores, others = (x.queries @ x.keys.mT for x in (head, twin))
    own, drawn = (x[1:] - x[1:].mean(1, keepdim=True) for x in (scores, others))
    sizes = own.norm(dim=1, keepdim=True) / drawn.norm(dim=1, keepdim=True)
    change = torch.zeros_like(scores)
    change[1:] = drawn * sizes.nan_to_num(0.0, 0.0) - own  # a single key has no slope but its mean
    # Three channels hold any scores.
    keys = (scores + change).mT * (3 / head.keys.shape[1]) ** 0.5
    found = replace(head, queries=torch.eye(3, dtype=torch.float64), keys=keys)
    return _as_sharp(found, float(entropies(head.weights(points)).mean()), points)


def dealt_twin(head: HeadMap, seed: int = 0, name: str = "") -> HeadMap:
    """Return the head with its own scores and its values dealt to other tokens.

    Heads of different ``name`` are dealt independently for the same seed.
    """
    order = torch.randperm(len(head.tokens), generator=generator(seed, f"dealt values {name}"))
    gate = None if head.value_gate is None else head.value_gate[order]
    return replace(head, plain_values=head.plain_values[order], value_gate=gate)


def _as_sharp(head: HeadMap, goal: float, points: torch.Tensor) -> HeadMap:
    """``head`` with its scores multiplied so that their mean entropy at ``points`` is ``goal``.

    Entropy falls as the factor grows, so there is one factor at most.
    """
    from scipy.optimize import brentq  # here: a fifth of a second to import

    scores = head.scores(points)

    def excess(log_factor: float) -> float:
        return float(entropies((scores * 2.0**log_factor).softmax(-1)).mean()) - goal

    found, low, high = 0.0, -LARGEST_LOG_FACTOR, LARGEST_LOG_FACTOR
    if abs(excess(found)) > ENTROPY_TOLERANCE and excess(low) > 0 > excess(high):
        found = brentq(excess, low, high, xtol=1e-13)
    if not abs(excess(found)) <= ENTROPY_TOLERANCE:  # NaN is no entropy, either
        raise ValueError(f"no factor of the scores gives a mean entropy of {goal:.9g} nats")
    return replace(head, sharpness=head.sharpness * 2.0**found)


# --- The twin of shuffled text --------------------------------------------------------------------


@dataclass(frozen=True)
class Tokens:
    """A text as a model reads it: ``ids``, ``words``, and which are ``special``, such as [CLS].

    Words are the tokeniser's own names ("##ing" goes on with one).
    """

    ids: tuple[int, ...]
    words: tuple[str, ...]
    special: tuple[bool, ...]

    def __len__(self) -> int:
        return len(self.ids)


def shuffled_order(tokens: Tokens, seed: int = 0) -> tuple[int, ...]:
    """Return for each place of a shuffled text the token that stands there, from 0.

    The same tokens in random order; special ones stay where they are.
    """
    places = [i for i, special in enumerate(tokens.special) if not special]
    draw = torch.randperm(len(places), generator=generator(seed, "shuffled text")).tolist()
    order = list(range(len(tokens)))
    for place, other in zip(places, draw, strict=True):
        order[place] = places[other]
    return tuple(order)
