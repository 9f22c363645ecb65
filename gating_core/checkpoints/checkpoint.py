"""The files whose attention layers are read: BERT's, as the bundled extract is one, and our own.

Any other model is measured after its own classes have loaded it: see `state_plane`.

Shapes: D width, H heads, d channels of a head.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from gating_core.attention import GateConfig
from gating_core.checkpoints.layer import Layer
from gating_core.checks import check_integer, quoted

CONFIG, TENSORS = "config.json", "model.safetensors"
OURS = "gating_curvature"
SIZES = {  # by family: the entries of the configuration with D, H and the number of layers
    "bert": ("hidden_size", "num_attention_heads", "num_hidden_layers"),
    OURS: ("width", "heads", "depth"),
}
EXPECTED: dict[str, dict[str, Any]] = {  # other values change what is computed
    "bert": {"position_embedding_type": "absolute", "is_decoder": False, "hidden_act": "gelu"},
    OURS: {"attention": "softmax"},
}
PARTS = ("query", "key", "value")


class Checkpoint:
    """A folder with ``config.json`` and ``model.safetensors``, or one file of our language models.

    Opening reads the configuration and the names of the tensors, but no weights.

    Attributes:
        family: "bert", or `OURS`.
        config: The configuration, as in ``config.json``.
        width: D, channels of a state.
        heads: H, heads of a layer.
        layers: The number of layers.

    Raises:
        ValueError: The files cannot be read, are of another family, or say sizes that do not fit.
    """

    def __init__(self, folder: str | Path) -> None:
        folder = Path(folder)
        try:
            self._file = safe_open(folder / TENSORS if folder.is_dir() else folder, "pt")
            self._names = {*self._file.keys()}
            if folder.is_dir():
                self.config = json.loads((folder / CONFIG).read_bytes())
                self.family = str(self.config["model_type"])
            else:
                self.config = json.loads(self._file.metadata()["config"])
                self.family = OURS
        except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{folder.name} holds no checkpoint that is read: {error}") from error
        if self.family not in SIZES:
            raise ValueError(
                f"{CONFIG} says model_type {quoted(self.family)}; files of BERT and of the language"
                " models of this project are read, and any other model is measured with"
                " state_plane, loaded by its own classes"
            )
        for name, value in EXPECTED[self.family].items():
            if self.config.get(name, value) != value:
                raise ValueError(
                    f"{CONFIG} says {name} {quoted(self.config[name])}; only {quoted(value)} is"
                    " known"
                )
        sizes = [self.config.get(name) for name in SIZES[self.family]]
        for name, size in zip(SIZES[self.family], sizes, strict=True):
            check_integer(f"{name} in {CONFIG}", size, 1, 65_536)
        self.width, self.heads, self.layers = sizes
        if self.width % self.heads:
            raise ValueError(f"{CONFIG} says {self.heads} heads for {self.width} channels")

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def tensor(self, name: str, *shape: int) -> torch.Tensor:
        """Read the tensor ``name`` in float64.

        ``ValueError`` if it is missing, not of real and finite numbers, or not of that ``shape``,
        in which -1 stands for any size.
        """
        if name not in self:
            raise ValueError(f"there is no tensor {quoted(name)}")
        tensor = self._file.get_tensor(name)
        found = tuple(tensor.shape)
        if len(found) != len(shape) or any(
            y not in (-1, x) for x, y in zip(found, shape, strict=True)
        ):
            raise ValueError(
                f"tensor {quoted(name)} has shape {found}; by {CONFIG} it must have {shape}"
            )
        if not tensor.is_floating_point() or not tensor.isfinite().all():
            raise ValueError(f"tensor {quoted(name)} is not of real and finite numbers")
        return tensor.double()


def open_checkpoint(folder: str | Path) -> Checkpoint:
    """Open a folder with ``config.json`` and safetensors files, or one file of our own models.

    Example:
        >>> from gating_core.assets import ASSETS
        >>> checkpoint = open_checkpoint(ASSETS / "models" / "g1_head-0.safetensors")
        >>> checkpoint.layers, checkpoint.heads
        (4, 4)
    """
    return Checkpoint(folder)


def read_layer(checkpoint: Checkpoint | str | Path, layer: int) -> Layer:
    """Read one attention layer of a checkpoint.

    Args:
        checkpoint: As `open_checkpoint` returns it, or its folder.
        layer: The number of the layer, from 0.

    Returns:
        The layer, in float64. The output projection may be missing from the files.

    Raises:
        ValueError: The layer does not exist, or a tensor is missing, malformed or of another shape
            than the configuration says.

    Example:
        >>> from gating_core.assets import ASSETS
        >>> layer = read_layer(ASSETS / "models" / "g1_head-0.safetensors", 2)
        >>> layer.query.shape, layer.gate.shape
        (torch.Size([4, 24, 96]), torch.Size([4, 1, 96]))
    """
    if not isinstance(checkpoint, Checkpoint):
        checkpoint = open_checkpoint(checkpoint)
    check_integer("layer", layer, 0, checkpoint.layers - 1)
    read = _own_layer if checkpoint.family == OURS else _bert_layer
    return read(checkpoint, layer)


def _bert_layer(c: Checkpoint, number: int) -> Layer:
    at, width = f"encoder.layer.{number}.attention.", c.width
    parts: dict[str, Any] = {}
    for name in PARTS:
        weight = c.tensor(f"{at}self.{name}.weight", width, width)
        parts[name] = weight.reshape(c.heads, -1, width)
        parts[f"{name}_bias"] = c.tensor(f"{at}self.{name}.bias", width).reshape(c.heads, -1)
    if f"{at}output.dense.weight" in c:  # an extract may do without
        weight = c.tensor(f"{at}output.dense.weight", width, width)
        parts["output"] = weight.reshape(width, c.heads, -1).movedim(1, 0)
        parts["output_bias"] = c.tensor(f"{at}output.dense.bias", width)
    return Layer(number, causal=False, **parts)


def _own_layer(c: Checkpoint, number: int) -> Layer:
    at, width = f"blocks.{number}.attention.", c.width
    fused = c.tensor(f"{at}qkv.weight", 3 * width, width).chunk(3)
    parts: dict[str, Any] = {
        name: part.reshape(c.heads, -1, width) for name, part in zip(PARTS, fused, strict=True)
    }
    weight = c.tensor(f"{at}project.weight", width, width)
    parts["output"] = weight.reshape(width, c.heads, -1).movedim(1, 0)
    if c.config.get("gate") is not None:
        gate = GateConfig(**c.config["gate"])
        parts["gate"] = c.tensor(f"{at}gate.weight", -1, width).reshape(c.heads, -1, width)
        parts["gate_bias"] = c.tensor(f"{at}gate.bias", -1).reshape(c.heads, -1)
        parts["sigma"], parts["gate_strength"] = gate.record.sigma, gate.strength
        parts["gates_values"] = gate.position == "G2"
    norm = c.tensor(f"blocks.{number}.norm_attention.weight", width)
    return Layer(number, norm=norm, window=c.config.get("window"), **parts)
