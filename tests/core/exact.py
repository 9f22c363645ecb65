"""The models a second time, in plain numbers, and their curvature at 200 digits.

A second implementation, number by number, that can share neither our shapes nor our rounding.
Functions are written once, over a namespace ``m`` (math or mpmath here, torch in the tests): they
take coordinates and return a list of D numbers. Derivatives are central differences with a step of
1e-60, good to 1e-75 or so: saturated models have derivatives of 1e-44 and less.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import mpmath

DIGITS = 200
STEP = mpmath.mpf(10) ** -60
OWN_ERROR = mpmath.mpf(10) ** -70  # what the differences themselves may be off


def jet(function: Callable, u: float, v: float) -> list[list]:
    """Value, u, v, uu, uv, vv of ``function(mpmath, u, v)``, each a list of D numbers."""
    with mpmath.workdps(DIGITS):
        h = STEP

        def at(i: int, j: int) -> list:
            return function(mpmath, mpmath.mpf(u) + i * h, mpmath.mpf(v) + j * h)

        c, e, w, n, s = at(0, 0), at(1, 0), at(-1, 0), at(0, 1), at(0, -1)
        ne, nw, se, sw = at(1, 1), at(-1, 1), at(1, -1), at(-1, -1)
        rows = range(len(c))
        return [
            c,
            [(e[i] - w[i]) / (2 * h) for i in rows],
            [(n[i] - s[i]) / (2 * h) for i in rows],
            [(e[i] - 2 * c[i] + w[i]) / h**2 for i in rows],
            [(ne[i] - nw[i] - se[i] + sw[i]) / (4 * h**2) for i in rows],
            [(n[i] - 2 * c[i] + s[i]) / h**2 for i in rows],
        ]


def geometry(coefficients: list[list]) -> dict[str, mpmath.mpf]:
    """K, the mean curvature vector, |II|^2 and the area element, from a jet."""
    with mpmath.workdps(DIGITS):
        _, a, b, uu, uv, vv = coefficients
        e, f, g = dot(a, a), dot(a, b), dot(b, b)
        det = e * g - f * f

        def normal(y: list) -> list:
            p = (g * dot(y, a) - f * dot(y, b)) / det
            q = (e * dot(y, b) - f * dot(y, a)) / det
            return [y[i] - p * a[i] - q * b[i] for i in range(len(y))]

        n_uu, n_uv, n_vv = normal(uu), normal(uv), normal(vv)
        inverse, normals = [[g / det, -f / det], [-f / det, e / det]], [[n_uu, n_uv], [n_uv, n_vv]]
        mean = [(g * n_uu[i] - 2 * f * n_uv[i] + e * n_vv[i]) / (2 * det) for i in range(len(a))]
        return {
            "gaussian": (dot(n_uu, n_vv) - dot(n_uv, n_uv)) / det,
            "mean": mean,
            "bending": mpmath.fsum(
                inverse[i][k] * inverse[j][m] * dot(normals[i][j], normals[k][m])
                for i, j, k, m in itertools.product(range(2), repeat=4)
            ),
            "area": mpmath.sqrt(det),
        }


def dot(a: list, b: list) -> mpmath.mpf:
    return mpmath.fsum(x * y for x, y in zip(a, b, strict=True))


def attention(m, model, point: list, member: int = 0) -> tuple[list, list[tuple]]:
    """(y, looks) of one member at one ``point``, in the arithmetic of ``m``: math or mpmath.

    No batch, no matrix: one number after the other, straight from the definition. ``looks`` has
    for every layer the attention weights [head][slot] and the gate, or ``None``, of token 1.
    Weights are the floats that the model holds; Python numbers such as d ** -0.5 count as exact.
    """
    maps, offsets = (_read(m, x, member) for x in (model.input_map, model.input_bias))
    if model.config.source != "tokens":
        maps, offsets = [maps], [offsets]
    states = [_affine(point, *token) for token in zip(maps, offsets, strict=True)]
    return _run(m, model, states, member)


def on_weight_chart(m, chart, point: list, member: int = 0) -> tuple[list, list[tuple]]:
    """The same at a ``point`` of an attention-weight chart, from the numbers that it holds."""
    n = chart.model.config.value_count
    weights = [w + 1 / n for w in _affine(point, _read(m, chart.slices, member))]
    if chart.model.blocks[0].reads_only_weights:
        return _run(m, chart.model, [None], member, weights)
    logs = [m.log(w) for w in weights]
    (offset,) = _read(m, chart.offset, member)
    centred = [x - m.fsum(logs) / n - o for x, o in zip(logs, offset, strict=True)]
    solved = _affine(centred, _read(m, chart.inverse, member))
    if n == 3:  # then it is an input
        solved = _affine(solved, _read(m, chart.model.input_map, member))
    bias = _read(m, chart.model.input_bias, member)
    hidden = [x + b for x, b in zip(solved, bias, strict=True)]
    return _run(m, chart.model, [hidden], member, weights)


def _run(m, model, states: list, member: int, weights: list | None = None):
    looks = []
    for layer in model.blocks:
        states, look = _layer(m, layer, states, member, weights)
        looks.append(look)
        weights = None  # given for the first layer only
    return states[0], looks


def _layer(m, layer, hidden: list, member: int, given: list | None) -> tuple[list, tuple]:
    """The next states, and the first one's attention weights and gate."""
    config, gate = layer.config, layer.gate
    width = config.model_dim // config.heads
    read = {name: _read(m, x, member) for name, x in layer.named_parameters()}
    if config.sink == "zero":
        read["sink"] = [0] * config.heads
    states = [_normalised(m, h) if config.norm == "pre" else h for h in hidden]

    def opened(state: list | None) -> list | None:
        """The gate that ``state`` opens, its strength included."""
        if gate is None or state is None:
            return None
        if isinstance(gate.strength, float):
            rest, part = 1 - gate.strength, gate.strength
        else:
            part = _number(m)(gate.strength[member].item())
            rest = 1 - part
        z = _affine(state, read["gate.weight"], read["gate.bias"])
        return [rest + part * gate_value(m, gate.config.kind, x) for x in z]

    def gated(position: str, x: list, state: list) -> list:
        if gate is None or gate.config.position != position or state is None:
            return x
        g = opened(state)
        if gate.config.granularity == "elementwise":
            return [a * b for a, b in zip(x, g, strict=True)]
        if position == "G5":
            (g,) = g  # one scalar, however many heads
            return [a * g for a in x]
        return [a * g[channel // width] for channel, a in enumerate(x)]

    if config.source != "tokens":
        keys = [gated("G3", k, k) for k in read["keys"]]
        values = [gated("G2", v, v) for v in read["values"]]
        gate_readers = {"G2": read["values"], "G3": read["keys"]}
    else:
        keys = [gated("G3", _affine(t, read["key_map"]), t) for t in states]
        values = [gated("G2", _affine(t, read["value_map"]), t) for t in states]
        gate_readers = {"G2": states, "G3": states}

    after, seen = [], []
    for before, state in zip(hidden, states, strict=True):
        y, weights = [], []
        query = None if given else gated("G4", _affine(state, read["query"]), state)
        for head in range(config.heads):
            part = slice(head * width, (head + 1) * width)
            alpha = given or attention_weights(
                m, config.source, read, head, query[part], [key[part] for key in keys]
            )
            weights.append(alpha)
            y += [
                m.fsum(a * v for a, v in zip(alpha, channel, strict=True))
                for channel in zip(*(v[part] for v in values), strict=True)
            ]
        y = gated("G1", y, state)
        if config.output_projection:
            y = _affine(y, read["projection"])
        y = gated("G5", y, state)
        if config.residual:
            y = [a + b for a, b in zip(y, before, strict=True)]
        after.append(_normalised(m, y) if config.norm == "post" else y)
        seen.append(weights)

    readers = gate_readers.get(gate.config.position if gate else "", states[:1])
    open_gates = [opened(reader) for reader in readers]
    look = None
    if open_gates[0] is not None:
        look = [m.fsum(g) / len(readers) for g in zip(*open_gates, strict=True)]
    return after, (seen[0], look)


def attention_weights(m, source: str, read: dict, head: int, query: list, keys: list) -> list:
    """Weights of one ``head`` for its part of a query and of all keys; ``read`` are parameters."""
    assert source in WEIGHTS, (
        f"the mechanism {source!r} needs a row in WEIGHTS of tests/core/exact.py"
    )
    return WEIGHTS[source](m, read, head, query, keys)


def _softmax(m, read: dict, head: int, query: list, keys: list) -> list:
    biases = read["bias"][head] if "bias" in read else [0] * len(keys)
    scale = _number(m)(len(query) ** -0.5)
    logits = [
        m.fsum(q * k for q, k in zip(query, key, strict=True)) * scale + bias
        for key, bias in zip(keys, biases, strict=True)
    ]
    if "sink" not in read:
        return _shares(m, [m.exp(z - max(logits)) for z in logits])
    logits.append(read["sink"][head])  # one more, whose share is of nothing
    return _shares(m, [m.exp(z - max(logits)) for z in logits])[:-1]


def _products(m, read: dict, head: int, query: list, keys: list) -> list:
    return [
        m.fsum(_feature(m, q) * _feature(m, k) for q, k in zip(query, key, strict=True))
        for key in keys
    ]


def _feature(m, x):
    """elu(x) + 1."""
    return m.exp(x) if x < 0 else x + 1


def _shares(m, weights: list) -> list:
    return [weight / m.fsum(weights) for weight in weights]


WEIGHTS = {  # of each mechanism, once more
    "memory": _softmax,
    "tokens": _softmax,
    "linear": lambda m, *numbers: _shares(m, _products(m, *numbers)),
    "unnormalised": _products,
}


def _sigmoid(m, z):
    """1 / (1 + exp(-z)), without an exponential that overflows."""
    return m.exp(min(z, 0)) / (1 + m.exp(-abs(z)))


GATES = {  # a function of each kind, once more
    "sigmoid": _sigmoid,
    "silu": lambda m, z: z * _sigmoid(m, z),
    "tanh": lambda m, z: m.tanh(z),
}


def gate_value(m, kind: str, z):
    """sigma of z of a gate, in the arithmetic of ``m``."""
    assert kind in GATES, f"the gate kind {kind!r} needs a row in GATES of tests/core/exact.py"
    return GATES[kind](m, z)


def _number(m) -> Callable:
    return getattr(m, "mpf", float)


def _read(m, tensor, member: int) -> list:
    """One member's numbers as nested lists."""

    def converted(x):
        return [converted(part) for part in x] if isinstance(x, list) else _number(m)(x)

    return converted(tensor[member].tolist())


def _affine(x: list, matrix: list, offset: list | None = None) -> list:
    """The row ``x`` times ``matrix``, plus ``offset``."""
    columns = zip(*matrix, strict=True)
    out = [sum(a * b for a, b in zip(x, column, strict=True)) for column in columns]
    return out if offset is None else [a + b for a, b in zip(out, offset, strict=True)]


def _normalised(m, x: list) -> list:
    root = m.sqrt(m.fsum(a * a for a in x) / len(x))
    return [a / root for a in x]
