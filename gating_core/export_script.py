"""What is a trained model without this project? A short script of plain PyTorch.

The script has only the lines that its model needs: memory slots, and no gate or one at G1.
"""

from __future__ import annotations

import re
from dataclasses import fields
from string import Template
from textwrap import fill

from gating_core.config import AttentionConfig, GateConfig
from gating_core.results import TrainedEnsemble

LINE_LENGTH = 100
WEIGHTS_NAME = "model.safetensors"
PLAIN_NAME = re.compile(r"[\w-]+\.safetensors", re.ASCII)
GATES = {
    "sigmoid": "torch.sigmoid",
    "silu": "torch.nn.functional.silu",
    "tanh": "torch.tanh",
}
GATE_NAMES = {"sigmoid": "sigmoid", "silu": "SiLU", "tanh": "tanh"}
KNOWN_FIELDS = {
    AttentionConfig: {"source", "input_dim", "model_dim", "value_count", "heads", "depth",
                      "residual", "norm", "output_projection", "gate"},
    GateConfig: {"kind", "granularity", "position", "strength"},
}  # fmt: skip
NORMALISE = "{0} / {0}.square().mean(-1, keepdim=True).sqrt()  # RMSNorm"

SCRIPT = Template('''\
"""One trained attention model in plain PyTorch: seed $seed, after $steps steps of training.

    pip install torch safetensors
    python this_file.py            (with $weights_name beside it)

$description
N points, D = $dim model dimension, n = $slots slots$heads_note.
"""

from pathlib import Path

import torch
from safetensors.torch import load_file

MEMBER = $member  # which of the file's $count models, one for each seed
LAYERS = $depth
$heads_constant
file = load_file(Path(__file__).with_name("$weights_name"))


def part_of(tensors, prefix):
    """The tensors whose names begin with prefix, under the rest of their names."""
    return {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}


weights = {name: tensor[MEMBER] for name, tensor in part_of(file, "state.").items()}

$by_head
def layer(h, w):
    """The next hidden states (N, D) from h (N, D), with the layer's weights w."""
    $layer
    return y


def model(points):
    """Logits (N, $classes) of points (N, $inputs)."""
    h = points @ weights["attention.input_map"] + weights["attention.input_bias"]
    for index in range(LAYERS):
        h = layer(h, part_of(weights, f"attention.layers.{index}."))
    return h @ weights["weight"] + weights["bias"]


def accuracy(part):
    """The share of the file's "train" or "test" points whose class the model finds."""
    points, labels = file[f"{part}_points"][MEMBER], file[f"{part}_labels"][MEMBER]
    return (model(points).argmax(-1) == labels).double().mean().item()


if __name__ == "__main__":
    for part, before in (("train", $train), ("test", $test)):
        print(f"{part} accuracy {accuracy(part):.6f}; right after training {before:.6f}")
''')
BY_HEAD = '''
def by_head(x):
    """(N or n, D) to (H, N or n, D / H)."""
    return x.unflatten(-1, (HEADS, -1)).transpose(0, 1)

'''


def script(ensemble: TrainedEnsemble, seed: int, weights_name: str = WEIGHTS_NAME) -> str:
    """The text of a script that rebuilds the member with ``seed`` and measures it again.

    It needs torch and safetensors, and beside it the file of `export.weights_file`, called
    ``weights_name``. ``ValueError`` for a model that it has no lines for, see `script_problem`.
    """
    config = ensemble.config
    problem = script_problem(config)
    if problem:
        raise ValueError(problem)
    if seed not in ensemble.seeds:
        raise ValueError(f"seed is {seed!r}; it must be one of {ensemble.seeds}")
    if not PLAIN_NAME.fullmatch(weights_name):
        raise ValueError(f"weights_name is {weights_name!r}; it must be like {WEIGHTS_NAME!r}")
    member = ensemble.seeds.index(seed)
    several = config.heads > 1
    return SCRIPT.substitute(
        seed=seed,
        steps=int(ensemble.steps[-1]),
        weights_name=weights_name,
        description=_description(config),
        dim=config.model_dim,
        slots=config.value_count,
        heads_note=f", H = {config.heads} heads" if several else "",
        member=member,
        count=len(ensemble.seeds),
        depth=config.depth,
        heads_constant=f"HEADS = {config.heads}\n" if several else "",
        by_head=BY_HEAD if several else "",
        layer="\n    ".join(_layer_lines(config)),
        classes=ensemble.state["bias"].shape[-1],
        inputs=config.input_dim,
        train=f"{ensemble.train_accuracy[-1, member]:.6f}",
        test=f"{ensemble.test_accuracy[-1, member]:.6f}",
    )


def script_problem(config: AttentionConfig) -> str | None:
    """Why there is no script for ``config``, in a sentence; ``None`` if there is one."""
    if config.source != "memory":
        return f"source is {config.source!r}; there is a script for 'memory' only"
    gate = config.gate
    if gate is not None and gate.position != "G1":
        return f"gate.position is {gate.position!r}; there is a script for 'G1' only"
    if gate is not None and gate.kind not in GATES:
        return f"gate.kind is {gate.kind!r}; there is a script for {', '.join(GATES)} only"
    # A field of a later version, set to something: better no script than a wrong one.
    for part in (config, gate):
        for field in fields(part) if part is not None else ():
            value = getattr(part, field.name)
            if field.name not in KNOWN_FIELDS[type(part)] and value != field.default:
                return f"{field.name} is {value!r}; there is a script for {field.default!r} only"
    return None


def _gate_in_force(config: AttentionConfig) -> GateConfig | None:
    """The gate, unless its strength is 0."""
    return config.gate if config.gate is not None and config.gate.strength > 0 else None


def _description(config: AttentionConfig) -> str:
    gate = _gate_in_force(config)
    parts = [
        f"{config.depth} layer" + "s" * (config.depth > 1),
        f"{config.heads} head" + "s" * (config.heads > 1),
        "no gate" if gate is None else f"{gate.granularity} {GATE_NAMES[gate.kind]} gate",
    ]
    if gate is not None and gate.strength < 1:
        parts[-1] += f" of strength {gate.strength:g}"
    if config.residual:
        parts.append("residual")
    if config.norm != "none":
        where = {"pre": "before query and gate", "post": "after each layer"}[config.norm]
        parts.append(f"RMSNorm {where}")
    return fill(f"Softmax attention over learned slots: {', '.join(parts)}.", LINE_LENGTH)


def _layer_lines(config: AttentionConfig) -> list[str]:
    """The body of ``layer`` without its return."""
    state, lines = "h", []
    if config.norm == "pre":
        state = "state"
        lines.append("state = " + NORMALISE.format("h"))
    if config.heads == 1:
        lines += [
            f'query = {state} @ w["query"]',
            'logits = query @ w["keys"].T / query.shape[-1] ** 0.5 + w["bias"]  # (N, n)',
            'y = logits.softmax(-1) @ w["values"]  # (N, D)',
        ]
    else:
        lines += [
            f'query, keys = by_head({state} @ w["query"]), by_head(w["keys"])',
            "logits = query @ keys.mT / query.shape[-1] ** 0.5"
            ' + w["bias"].unsqueeze(1)  # (H, N, n)',
            'y = logits.softmax(-1) @ by_head(w["values"])  # (H, N, D / H)',
            "y = y.transpose(0, 1).flatten(-2)  # (N, D)",
        ]
    gate = _gate_in_force(config)
    if gate is not None:
        inner = f'{state} @ w["gate.weight"] + w["gate.bias"]'
        width = "D" if gate.granularity == "elementwise" else "H" if config.heads > 1 else "1"
        lines.append(f"gate = {GATES[gate.kind]}({inner})  # (N, {width})")
        if gate.strength < 1:
            lines.append(f"gate = {1 - gate.strength:.9g} + {gate.strength:.9g} * gate  # strength")
        if gate.granularity == "headwise" and config.heads > 1:
            lines.append("gate = gate.repeat_interleave(y.shape[-1] // HEADS, -1)  # (N, D)")
        lines.append("y = y * gate")
    if config.output_projection:
        lines.append('y = y @ w["projection"]')
    if config.residual:
        lines.append("y = y + h")
    if config.norm == "post":
        lines.append("y = " + NORMALISE.format("y"))
    return lines
