"""One attention layer of a checkpoint in float64, read from its files.

Files of BERT are read, as the bundled extract is one, and of our own language models. Any other
model is measured after its own classes have loaded it: see `state_plane`.

Shapes: T tokens, D width, H heads, d channels of a head.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch.nn import functional

from gating_core.attention import GateConfig
from gating_core.checks import check_integer, quoted

OptionalTensor = torch.Tensor | None


@dataclass(frozen=True, eq=False)
class Layer:
    """The weights of one attention layer, float64, each head's on its own.

    Attributes:
        number: Of the layer, from 0.
        query: (H, d, D).
        key: (H, d, D).
        value: (H, d, D).
        query_bias: (H, d) or ``None``.
        key_bias: (H, d) or ``None``.
        value_bias: (H, d) or ``None``.
        output: (H, D, d), the projection after attention; ``None`` if the files hold none.
        output_bias: (D,) or ``None``.
        gate: (H, d, D) or, with one gate for a head, (H, 1, D); ``None`` without a gate.
        gate_bias: (H, d or 1) or ``None``.
        sigma: The gate's function of its logits.
        gate_strength: λ of the gate as the layer was trained.
        gates_values: The gate multiplies each token's values (G2), not the output (G1).
        norm: (D,), the gains of the RMSNorm before attention, or ``None`` where attention reads the
            residual stream.
        causal: A query sees its own key and earlier ones only.
        window: The number of keys that a query sees at most, or ``None``; of a layer that is not
            causal, the distance of the farthest.
    """

    number: int
    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    query_bias: OptionalTensor = None
    key_bias: OptionalTensor = None
    value_bias: OptionalTensor = None
    output: OptionalTensor = None
    output_bias: OptionalTensor = None
    gate: OptionalTensor = None
    gate_bias: OptionalTensor = None
    sigma: Callable[[torch.Tensor], torch.Tensor] = torch.sigmoid
    gate_strength: float = 1.0
    gates_values: bool = False
    norm: OptionalTensor = None
    causal: bool = True
    window: int | None = None

    @property
    def heads(self) -> int:
        """H."""
        return len(self.query)

    @property
    def channels(self) -> int:
        """The number of channels d of a head."""
        return self.query.shape[1]

    @property
    def width(self) -> int:
        """The number of channels D of a state."""
        return self.query.shape[2]

    def read(self, stream: torch.Tensor) -> torch.Tensor:
        """Return the states that attention reads, from the residual stream (T, D)."""
        if self.norm is None:
            return stream
        return functional.rms_norm(stream, (self.width,), self.norm, 1e-6)  # as our own models

    def visible(self, position: int, count: int) -> torch.Tensor:
        """(count,) bool: the keys that the query at ``position`` sees."""
        keys = torch.arange(count)
        if self.causal:
            seen = keys <= position
            return seen if self.window is None else seen & (keys > position - self.window)
        reach = count if self.window is None else self.window  # both ways, as transformers has it
        return (keys - position).abs() <= reach


def by_head(states: torch.Tensor, weight: torch.Tensor, bias: OptionalTensor) -> torch.Tensor:
    """(n, T, d): ``states`` (T, D) times ``weight`` (n, d, D), plus ``bias`` (n, d)."""
    product = states @ weight.mT
    return product if bias is None else product + bias[:, None, :]


def factor(values: torch.Tensor, strength: float) -> torch.Tensor:
    """Return the factor of a gate with ``values`` at λ = ``strength``: (1 - λ) + λ values."""
    return values if strength == 1 else (1 - strength) + strength * values


def check_states(layer: Layer, states: torch.Tensor) -> torch.Tensor:
    """``states`` in float64; ``ValueError`` unless they are (T, D), T > 0, and finite."""
    states = torch.as_tensor(states, dtype=torch.float64)
    if states.ndim != 2 or states.shape[1] != layer.width or not len(states):
        raise ValueError(
            f"states has shape {tuple(states.shape)}; it must be (T, {layer.width}), T > 0"
        )
    if not states.isfinite().all():
        raise ValueError("states contains NaN or infinite numbers; all must be finite")
    return states


# --- Files ----------------------------------------------------------------------------------------


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
        names: Of the tensors.

    Raises:
        ValueError: The files cannot be read, are of another family, or say sizes that do not fit.

    Example:
        >>> from gating_core.assets import ASSETS
        >>> checkpoint = open_checkpoint(ASSETS / "models" / "g1_head-0.safetensors")
        >>> checkpoint.layers, checkpoint.heads
        (4, 4)
    """

    def __init__(self, folder: str | Path) -> None:
        folder = Path(folder)
        try:
            self._file = safe_open(folder / TENSORS if folder.is_dir() else folder, "pt")
            self.names = {*self._file.keys()}
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

    def tensor(self, name: str, *shape: int) -> torch.Tensor:
        """Read the tensor ``name`` in float64.

        ``ValueError`` if it is missing, not of real and finite numbers, or not of that ``shape``,
        in which -1 stands for any size.
        """
        if name not in self.names:
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


open_checkpoint = Checkpoint


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
    width, heads, parts = checkpoint.width, checkpoint.heads, dict[str, Any]()

    def by_output(name: str) -> torch.Tensor:
        return checkpoint.tensor(name, width, width).reshape(width, heads, -1).movedim(1, 0)

    if checkpoint.family != OURS:
        at = f"encoder.layer.{layer}.attention."
        for name in PARTS:
            weight = checkpoint.tensor(f"{at}self.{name}.weight", width, width)
            bias = checkpoint.tensor(f"{at}self.{name}.bias", width)
            parts |= {
                name: weight.reshape(heads, -1, width),
                f"{name}_bias": bias.reshape(heads, -1),
            }
        if f"{at}output.dense.weight" in checkpoint.names:  # an extract may do without
            parts["output"] = by_output(f"{at}output.dense.weight")
            parts["output_bias"] = checkpoint.tensor(f"{at}output.dense.bias", width)
        return Layer(layer, causal=False, **parts)
    at = f"blocks.{layer}.attention."
    fused = checkpoint.tensor(f"{at}qkv.weight", 3 * width, width).chunk(3)
    parts = {name: part.reshape(heads, -1, width) for name, part in zip(PARTS, fused, strict=True)}
    parts["output"] = by_output(f"{at}project.weight")
    if checkpoint.config.get("gate") is not None:
        gate = GateConfig(**checkpoint.config["gate"])
        weight = checkpoint.tensor(f"{at}gate.weight", -1, width)
        bias = checkpoint.tensor(f"{at}gate.bias", -1)
        parts |= dict(
            gate=weight.reshape(heads, -1, width),
            gate_bias=bias.reshape(heads, -1),
            sigma=gate.record.sigma,
            gate_strength=gate.strength,
            gates_values=gate.position == "G2",
        )
    norm = checkpoint.tensor(f"blocks.{layer}.norm_attention.weight", width)
    return Layer(layer, norm=norm, window=checkpoint.config.get("window"), **parts)
