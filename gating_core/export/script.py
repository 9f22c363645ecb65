"""What is a trained model without this project? A short script of plain PyTorch.

The script has only the lines that its model needs, `gating_core.export.script_lines` says which.
"""

from __future__ import annotations

import re
from dataclasses import fields
from string import Template
from textwrap import fill

from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.gate_kinds import GATES
from gating_core.export.script_lines import (
    GATED,
    MECHANISMS,
    by_head_lines,
    embedding_lines,
    gate_in_force,
    layer_lines,
    state_shape,
)
from gating_core.training.trained import TrainedEnsemble

LINE_LENGTH = 100
WEIGHTS_NAME = "model.safetensors"
PLAIN_NAME = re.compile(r"[\w-]+\.safetensors", re.ASCII)


# The fields that a script has lines for, and of words those that it knows; what is added to
# `gating_core.attention.config` is refused until its lines are written.
KNOWN: dict[type, dict[str, tuple[str, ...] | None]] = {
    AttentionConfig: {
        "source": tuple(MECHANISMS), "norm": ("none", "pre", "post"),
        "input_dim": None, "model_dim": None, "value_count": None, "heads": None, "depth": None,
        "residual": None, "output_projection": None, "gate": None,
    },
    GateConfig: {
        "kind": tuple(name for name, kind in GATES.items() if kind.script is not None),
        "granularity": ("elementwise", "headwise"), "position": tuple(GATED), "strength": None,
    },
}  # fmt: skip
PLACES = {
    "G1": "after attention",
    "G2": "on the values",
    "G3": "on the keys",
    "G4": "on the queries",
    "G5": "after the output projection",
}

SCRIPT = Template('''\
"""One trained attention model in plain PyTorch: seed $seed, after $steps steps of training.

    pip install torch safetensors
    python this_file.py            (with $weights_name beside it)

It rebuilds the model from its weights and measures it again; it does not train.

$description
N points, D = $dim model dimension, n = $count_n $slots$heads_note.
"""

from pathlib import Path

${import_torch}from safetensors.torch import load_file

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
    """The next hidden states $states from h $states, with the layer's weights w."""
    $layer
    return y


def model(points):
    """Logits (N, $classes) of points (N, $inputs)."""
    $embedding
    for index in range(LAYERS):
        h = layer(h, part_of(weights, f"attention.layers.{index}."))
    return $read_out @ weights["weight"] + weights["bias"]


def accuracy(part):
    """The share of the file's "train" or "test" points whose class the model finds."""
    points, labels = file[f"{part}_points"][MEMBER], file[f"{part}_labels"][MEMBER]
    return (model(points).argmax(-1) == labels).double().mean().item()


if __name__ == "__main__":
    for part, before in (("train", $train), ("test", $test)):
        print(f"{part} accuracy {accuracy(part):.6f}; right after training {before:.6f}")
''')


def script_text(ensemble: TrainedEnsemble, seed: int, weights_name: str = WEIGHTS_NAME) -> str:
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
    several, mechanism = config.heads > 1, MECHANISMS[config.source]
    embedding, layer = embedding_lines(config), layer_lines(config)
    return SCRIPT.substitute(
        seed=seed,
        steps=int(ensemble.steps[-1]),
        weights_name=weights_name,
        description=_description(config),
        dim=config.model_dim,
        count_n=config.value_count,
        slots=mechanism.values,
        heads_note=f", H = {config.heads} heads" if several else "",
        member=member,
        count=len(ensemble.seeds),
        depth=config.depth,
        heads_constant=f"HEADS = {config.heads}\n" if several else "",
        by_head="\n".join(["", *by_head_lines(config), "", ""]) if several else "",
        states=state_shape(config),
        import_torch="import torch\n" if "torch." in "".join(embedding + layer) else "",
        layer="\n    ".join(layer),
        embedding="\n    ".join(embedding),
        read_out=mechanism.read_out,
        classes=ensemble.state["bias"].shape[-1],
        inputs=config.input_dim,
        train=f"{ensemble.train_accuracy[-1, member]:.6f}",
        test=f"{ensemble.test_accuracy[-1, member]:.6f}",
    )


def script_problem(config: AttentionConfig) -> str | None:
    """Why there is no script for ``config``, in a sentence; ``None`` if there is one.

    There is one for every model of today. Of a later version's fields only the defaults will do,
    and none of its new words: better no script than a wrong one.
    """
    for prefix, part in (("", config), ("gate.", config.gate)):
        for field in fields(part) if part is not None else ():
            value = getattr(part, field.name)
            allowed = KNOWN[type(part)].get(field.name, (field.default,))
            if allowed is not None and value not in allowed:
                words = ", ".join(map(repr, allowed))
                return f"{prefix}{field.name} is {value!r}; there is a script for {words} only"
    return None


def _description(config: AttentionConfig) -> str:
    parts = [
        f"{config.depth} layer" + "s" * (config.depth > 1),
        f"{config.heads} head" + "s" * (config.heads > 1),
        _gate_description(config),
    ]
    if config.output_projection:
        parts.append("output projection")
    if config.residual:
        parts.append("residual")
    if config.norm != "none":
        where = {"pre": "before query and gate", "post": "after each layer"}[config.norm]
        parts.append(f"RMSNorm {where}")
    return fill(f"{MECHANISMS[config.source].title}: {', '.join(parts)}.", LINE_LENGTH)


def _gate_description(config: AttentionConfig) -> str:
    gate = gate_in_force(config)
    if gate is None:
        return "no gate"
    control = gate.record.control
    name = control or gate.record.title
    name += f" of strength {gate.strength:g}" if gate.strength < 1 else ""
    if control:
        return f"{name} in place of a gate"
    position = gate.position if config.output_projection or gate.position != "G5" else "G1"
    one = gate.position == "G5" and gate.granularity == "headwise"  # whatever the heads
    return f"{'single' if one else gate.granularity} {name} {PLACES[position]}"
