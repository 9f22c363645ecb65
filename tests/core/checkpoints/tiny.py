"""Tiny checkpoints with random weights, written as others write them."""

import json

import torch
from safetensors.torch import save_file

LLAMA = {
    "model_type": "llama",
    "hidden_size": 32,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_hidden_layers": 2,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1e4,
}


def llama_tensors(seed=0, dtype=torch.float32):
    """Tensors of `LLAMA` by name; those of the MLP and the embeddings are missing."""
    draw = torch.Generator().manual_seed(seed)
    shapes = {"q_proj": (32, 32), "k_proj": (16, 32), "v_proj": (16, 32), "o_proj": (32, 32)}
    named = {f"self_attn.{name}": shape for name, shape in shapes.items()}
    named["input_layernorm"] = (32,)
    return {
        f"model.layers.{i}.{name}.weight": (torch.randn(shape, generator=draw) * 0.3).to(dtype)
        for i in range(2)
        for name, shape in named.items()
    }


def drawn_states(count, width, seed=0):
    """(count, width), standard normal."""
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(count, width, generator=draw, dtype=torch.float64)


def write(folder, config, tensors, shards=None):
    """Write a checkpoint: one file, or ``shards`` (names of tensors by file) with their index."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    tensors = {name: tensor.contiguous() for name, tensor in tensors.items()}
    if shards is None:
        save_file(tensors, folder / "model.safetensors")
        return folder
    for file, names in shards.items():
        save_file({name: tensors[name] for name in names}, folder / file)
    index = {name: file for file, names in shards.items() for name in names}
    write_index(folder, index)
    return folder


def write_index(folder, index):
    """Write the index of a checkpoint in shards: the file of each tensor by name."""
    text = json.dumps({"metadata": {}, "weight_map": index})
    (folder / "model.safetensors.index.json").write_text(text)
