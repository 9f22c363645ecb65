"""A trained ensemble as a weights file and a log, and one model as a program of plain PyTorch.

The program rebuilds the model without this project. It reads sizes and parts from the metadata of
the weights file. Two functions are put in: how the mechanism attends, and what the kind of gate
computes (in its row of `GATE_KINDS`).

S seeds, T snapshots; tensors in the file have the seeds as their leading axis.
"""

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import asdict
from string import Template
from textwrap import fill

import numpy as np

from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.gates import GATE_KINDS
from gating_core.records import tensor_file
from gating_core.tasks.task import Task
from gating_core.training.trained import TrainedEnsemble

# --- Weights and log ------------------------------------------------------------------------------


HISTORY = ("steps", "train_loss", "train_accuracy", "test_accuracy")


def weights_file(
    ensemble: TrainedEnsemble, task: Task, about: Mapping[str, object] | None = None
) -> bytes:
    """A safetensors file: weights, history, and the points that were learned and tested.

    Its metadata are JSON: ``config`` and ``seeds`` of the ensemble, the ``task``'s name, and any
    notes ``about`` the run. Points are float32, as in training.
    """
    if task.seeds != ensemble.seeds:
        raise ValueError(f"task has the seeds {task.seeds}; it must have {ensemble.seeds}")
    tensors = {f"state.{name}": array for name, array in ensemble.state.items()}
    tensors |= {name: getattr(ensemble, name) for name in HISTORY}
    for part, points, labels in (
        ("train", task.train_points, task.train_labels),
        ("test", task.test_points, task.test_labels),
    ):
        tensors[f"{part}_points"] = points.astype(np.float32)
        tensors[f"{part}_labels"] = labels
    metadata = {
        "config": asdict(ensemble.config),
        "seeds": ensemble.seeds,
        "task": task.name,
        "about": dict(about or {}),
    }
    return tensor_file(tensors, metadata)


def log_csv(ensembles: Mapping[str, TrainedEnsemble]) -> str:
    """The history of each variant as a table: one row for each snapshot and seed."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["variant", "step", "seed", "train_loss", "train_accuracy", "test_accuracy"])
    for variant, ensemble in ensembles.items():
        for row, step in enumerate(ensemble.steps):
            for column, seed in enumerate(ensemble.seeds):
                numbers = (getattr(ensemble, name)[row, column] for name in HISTORY[1:])
                writer.writerow([variant, step, seed, *(f"{number:.9g}" for number in numbers)])
    return out.getvalue()


# --- The program ----------------------------------------------------------------------------------


WEIGHTS_NAME = "model.safetensors"
WHERE = {
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
N points, D model dimension, H heads of d = D / H channels, n slots or tokens.
"""

import json
from pathlib import Path

import torch
from safetensors import safe_open

SEED = $seed

with safe_open(Path(__file__).with_name("$weights_name"), "pt") as file:
    tensors = {name: file.get_tensor(name) for name in file.keys()}
    metadata = {name: json.loads(text) for name, text in file.metadata().items()}
config, member = metadata["config"], metadata["seeds"].index(SEED)


def part_of(tensors, prefix):
    """The tensors whose names begin with prefix, under the rest of their names."""
    return {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}


weights = {name: tensor[member] for name, tensor in part_of(tensors, "state.").items()}


def gated(position, x, state, w):
    """x (..., D), gated by the state (..., D) if this is where the gate sits."""
    gate = config["gate"]
    if gate is None or gate["position"] != position or gate["strength"] == 0:
        return x
    strength = gate["strength"]
    z = state @ w["gate.weight"] + w["gate.bias"] if "gate.weight" in w else x
    value = $sigma
    value = value.repeat_interleave(x.shape[-1] // value.shape[-1], -1)  # one gate per head
    return $gated


def normalised(x):
    """x (..., D) divided by its root mean square."""
    return x / x.square().mean(-1, keepdim=True).sqrt()


def by_head(x):
    """(..., D) to (H, ..., d), with the axis before the last one kept beside it."""
    return x.unflatten(-1, (config["heads"], -1)).transpose(-3, -2)


$attend


def layer(h, w):
    """The next hidden states from h, with the layer's weights w."""
    state = normalised(h) if config["norm"] == "pre" else h
    y = attend(state, w).transpose(-3, -2).flatten(-2)
    y = gated("G1", y, state, w)
    if config["output_projection"]:
        y = y @ w["projection"]
    y = gated("G5", y, state, w)
    if config["residual"]:
        y = y + h
    return normalised(y) if config["norm"] == "post" else y


def model(points):
    """Logits (N, classes) of points (N, input_dim)."""
    h = torch.einsum("Ni,...iD->N...D", points, weights["attention.input_map"])
    h = h + weights["attention.input_bias"]  # (N, D) with slots, (N, n, D) with tokens
    for index in range(config["depth"]):
        h = layer(h, part_of(weights, f"attention.layers.{index}."))
    h = h if h.ndim == 2 else h[:, 0]  # token 1 is read out
    return h @ weights["weight"] + weights["bias"]


def accuracy(part):
    """The share of the file's "train" or "test" points whose class the model finds."""
    points, labels = tensors[f"{part}_points"][member], tensors[f"{part}_labels"][member]
    return (model(points).argmax(-1) == labels).double().mean().item()


if __name__ == "__main__":
    for part in ("train", "test"):
        before = tensors[f"{part}_accuracy"][-1, member].item()
        print(f"{part} accuracy {accuracy(part):.6f}; right after training {before:.6f}")
''')


# ``attend(state, w)`` in plain PyTorch by mechanism, a key of `MECHANISMS`. It has ``gated``,
# ``by_head`` and, in ``w``, what `make_weights` drew. Mechanisms over slots share a frame.
SLOTS = '''\
def attend(state, w):
    """{0} over n slots: the mixed values (H, N, d) of states (N, D)."""
    query = by_head(gated("G4", state @ w["query"], state, w))  # (H, N, d)
    keys = by_head(gated("G3", w["keys"], w["keys"], w))  # (H, n, d)
    values = by_head(gated("G2", w["values"], w["values"], w))
{1}
    return weights @ values'''
ATTEND = {
    "memory": SLOTS.format(
        "Softmax attention",
        """\
    logits = query @ keys.mT / keys.shape[-1] ** 0.5 + w["bias"].unsqueeze(-2)  # (H, N, n)
    weights = logits.softmax(-1)""",
    ),
    "linear": SLOTS.format(
        "Linear attention",
        """\
    def phi(x):  # elu + 1, up to a factor of each row, which cancels
        above = (x > 0).any(-1, keepdim=True)
        return torch.where(above, torch.nn.functional.elu(x) + 1, torch.softmax(x, -1))
    keys = phi(keys.flatten(-2)).reshape(keys.shape)
    weights = phi(query) @ keys.mT  # (H, N, n)
    weights = weights / weights.sum(-1, keepdim=True)""",
    ),
    "unnormalised": SLOTS.format(
        "Unnormalised linear attention",
        """\
    query, keys = torch.nn.functional.elu(query) + 1, torch.nn.functional.elu(keys) + 1
    weights = query @ keys.mT  # (H, N, n)""",
    ),
    "tokens": '''\
def attend(state, w):
    """Softmax attention among n tokens: the mixed values (N, H, n, d) of states (N, n, D)."""
    query = by_head(gated("G4", state @ w["query"], state, w))  # (N, H, n, d)
    keys = by_head(gated("G3", state @ w["key_map"], state, w))
    values = by_head(gated("G2", state @ w["value_map"], state, w))
    logits = query @ keys.mT / keys.shape[-1] ** 0.5  # (N, H, n, n)
    return logits.softmax(-1) @ values''',
}
# Stands before ``attend`` where a model has a sink.
SINK_SCRIPT = '''\
def beside_sink(logits, w):
    """Softmax of logits (..., H, rows, n) over n, beside a sink that takes its share."""
    sink = w["sink"] if "sink" in w else logits.new_zeros(config["heads"])
    sink = sink.reshape(-1, 1, 1).expand(*logits.shape[:-1], 1)
    return torch.cat([logits, sink], -1).softmax(-1)[..., :-1]


'''


def script_text(ensemble: TrainedEnsemble, seed: int, weights_name: str = WEIGHTS_NAME) -> str:
    """The text of a script that rebuilds the member with ``seed`` and measures it again.

    It needs torch and safetensors, and beside it the file of `weights_file`, called
    ``weights_name``. ``ValueError`` for a model that has no script (`script_problem`), an unknown
    seed, and a name that is not plain.
    """
    config = ensemble.config
    problem = script_problem(config)
    if problem:
        raise ValueError(problem)
    if seed not in ensemble.seeds:
        raise ValueError(f"seed is {seed!r}; it must be one of {ensemble.seeds}")
    if not re.fullmatch(r"[\w-]+\.safetensors", weights_name, re.ASCII):
        raise ValueError(f"weights_name is {weights_name!r}; it must be like {WEIGHTS_NAME!r}")
    kind, attend = (config.gate or GateConfig()).record, ATTEND[config.source]
    if config.sink != "none":
        attend = SINK_SCRIPT + attend.replace("logits.softmax(-1)", "beside_sink(logits, w)")
    return SCRIPT.substitute(
        seed=seed,
        steps=int(ensemble.steps[-1]),
        weights_name=weights_name,
        description=_description(config),
        sigma=kind.script,
        gated="x + strength * value" if kind.additive else "x * (1 - strength + strength * value)",
        attend=attend,
    )


def script_problem(config: AttentionConfig) -> str | None:
    """Why there is no script for ``config``, in a sentence; ``None`` if there is one."""
    if config.source not in ATTEND:
        return f"source is {config.source!r}; its mechanism has no script"
    if config.gate is not None and GATE_KINDS[config.gate.kind].script is None:
        return f"gate.kind is {config.gate.kind!r}; this kind of gate has no script"
    return None


def _description(config: AttentionConfig) -> str:
    """One sentence: the mechanism, its size and its parts."""
    parts = [
        f"{config.depth} layer" + "s" * (config.depth > 1),
        f"{config.heads} head" + "s" * (config.heads > 1),
        _gate_description(config),
    ]
    parts += ["output projection"] * config.output_projection + ["residual"] * config.residual
    norms = {"pre": "RMSNorm before query and gate", "post": "RMSNorm after each layer"}
    sinks = {"zero": "sink logit 0", "learned": "learned sink logit for each head"}
    parts += [norms.get(config.norm, ""), sinks.get(config.sink, "")]
    sizes = f"D = {config.model_dim}, n = {config.value_count}"
    return fill(f"{config.layer.title}: {', '.join(filter(None, parts))}. {sizes}.", 100)


def _gate_description(config: AttentionConfig) -> str:
    gate = config.gate
    if gate is None or gate.strength == 0:
        return "no gate"
    name = gate.record.control or gate.record.title
    name += f" of strength {gate.strength:g}" if gate.strength < 1 else ""
    if gate.record.control:
        return f"{name} in place of a gate"
    position = gate.position if config.output_projection or gate.position != "G5" else "G1"
    one = gate.position == "G5" and gate.granularity == "headwise"  # whatever the heads
    return f"{'single' if one else gate.granularity} {name} {WHERE[position]}"
