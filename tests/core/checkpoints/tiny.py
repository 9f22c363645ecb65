"""Tiny layers with random weights, and checkpoints of them, written as others write them."""

import json
from types import SimpleNamespace

import torch
from safetensors.torch import save_file

from gating_core.checkpoints import Layer
from gating_core.checkpoints.layer import by_head, factor

BERT = {
    "model_type": "bert",
    "hidden_size": 32,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
}


def bert_tensors(seed=0, dtype=torch.float32):
    """Tensors of the attention of `BERT` by name."""
    draw = torch.Generator().manual_seed(seed)
    return {
        f"encoder.layer.{i}.attention.{name}.{kind}": torch.randn(shape, generator=draw).to(dtype)
        for i in range(2)
        for name in ("self.query", "self.key", "self.value", "output.dense")
        for kind, shape in (("weight", (32, 32)), ("bias", (32,)))
    }


def drawn_states(count, width, seed=0):
    """(count, width), standard normal."""
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(count, width, generator=draw, dtype=torch.float64)


def drawn_layer(gate=None, **options):
    """A layer of four heads of eight channels, with a gate of so many logits for each."""
    draw = torch.Generator().manual_seed(5)

    def drawn(*shape):
        return torch.randn(shape, generator=draw, dtype=torch.float64) / 3

    parts = {name: drawn(4, 8, 32) for name in ("query", "key", "value")}
    parts |= {f"{name}_bias": drawn(4, 8) for name in parts}
    if gate is not None:
        parts |= {"gate": drawn(4, gate, 32), "gate_bias": drawn(4, gate)}
    return Layer(0, output=drawn(4, 32, 8), **parts, **options)


LAYERS = {
    "plain": dict(causal=False),
    "causal": dict(),
    "a window": dict(window=4),
    "a gate a channel": dict(gate=8),
    "a gate a head": dict(gate=1, causal=False),
}


def write(folder, config, tensors):
    """Write a checkpoint."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    tensors = {name: tensor.contiguous() for name, tensor in tensors.items()}
    save_file(tensors, folder / "model.safetensors")
    return folder


def attend(layer, states, strength=1.0):
    """A whole layer on a text (T, D): keys, values, scores, weights, mixed values, and output.

    ``strength`` multiplies that of the layer's gate.
    """
    queries = by_head(states, layer.query, layer.query_bias)
    keys = by_head(states, layer.key, layer.key_bias)
    values = by_head(states, layer.value, layer.value_bias)
    seen = torch.stack([layer.visible(i, len(states)) for i in range(len(states))])
    scores = (queries @ keys.mT * layer.channels**-0.5).masked_fill(~seen, -torch.inf)
    weights, gate = scores.softmax(-1), torch.ones(())
    if strength and layer.gate is not None:
        logits = by_head(states, layer.gate, layer.gate_bias)
        gate = factor(layer.sigma(logits), strength * layer.gate_strength)
    values = values * gate if layer.gates_values else values
    mixed = weights @ values if layer.gates_values else weights @ values * gate
    output = None if layer.output is None else (mixed @ layer.output.mT).sum(0)
    if layer.output_bias is not None:
        output = output + layer.output_bias
    return SimpleNamespace(
        keys=keys, values=values, scores=scores, weights=weights, mixed=mixed, output=output
    )
