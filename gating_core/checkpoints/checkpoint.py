"""A checkpoint: its configuration, and its tensors by name, read when they are asked for."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from gating_core.checkpoints.families import (
    CONFIG,
    FAMILIES,
    FULL,
    LINEAR,
    OURS,
    SLIDING,
    Family,
    check_known,
)
from gating_core.checkpoints.reading import TensorFile, open_tensors, parse_json, read_json
from gating_core.checks import check_flag, check_integer, check_number, quoted

TOKENIZER = "tokenizer.json"
# What may stand before the names of a family's row.
PREFIXES = ("", "model.", "transformer.", "bert.", "model.language_model.", "language_model.model.")
# What wrappers put into names: of compiled, distributed and checkpointed modules.
WRAPPERS = {"_orig_mod", "module", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"}
# What names of tensors say of weights that are more, or less, than one matrix.
NOT_PLAIN = {
    r"\blora_|\bbase_layer\b": "an adapter; merge it into the weights first (merge_and_unload)",
    r"qweight|qzeros|g_idx|scale|zero_point|absmax|quant_(map|state)|\b(SCB|biases)\b":
    "quantised weights; only weights in F64, F32, F16 and BF16 are read",
}  # fmt: skip
LARGEST = {"width": 65_536, "heads": 4096, "channels": 4096, "layers": 1024}
WORD_EMBEDDINGS = {  # of the families whose forward pass is known
    "bert": "embeddings.word_embeddings.weight",
    "gpt2": "wte.weight",
    OURS: "embed.weight",
}


class Checkpoint:
    """A folder with ``config.json`` and safetensors files, or one file of our language models.

    Opening reads the configuration and the headers of the files, but no weights.

    Attributes:
        folder: Where it lies.
        family: A key of `FAMILIES`.
        config: The configuration of the (text) model, as in ``config.json``.
        width: D, channels of a state.
        heads: H, query heads of a layer.
        key_heads: G, key-value heads; H / G query heads share one.
        channels: d, of a head.
        layers: The number of layers.
        types: For each layer what its attention is: full, sliding or linear.
        digest: Sixteen hexadecimal digits that tell this checkpoint from others: a hash of the
            configuration, the headers, and bytes of the data, evenly spread.

    Raises:
        ValueError: In one sentence, whatever is wrong: no such folder, a malformed file, an unknown
            family, sizes that do not fit.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        try:
            if not self.folder.exists():
                raise ValueError(f"there is no checkpoint {quoted(self.folder.name)}")
            tensors = open_tensors(self.folder)
        except OSError as error:  # its name is too long, or the system lets nobody look into it
            name = quoted(self.folder.name)
            raise ValueError(f"{name} cannot be opened: {error.strerror}") from None
        self._files = set(tensors.values())
        # By the name in use: the file, and the name there.
        self._tensors: dict[str, tuple[TensorFile, str]] = {}
        for name, file in tensors.items():
            other = self._tensors.setdefault(_renamed(name), (file, name))[1]
            if other != name:
                raise ValueError(f"tensors {quoted(other)} and {quoted(name)} are the same one")
        whole = self._read_config()
        self.family, self.config = check_known(whole)
        width, heads, layers = self.row.sizes
        self.width = self._size(width, "width")
        self.heads = self._size(heads, "heads")
        self.layers = self._size(layers, "layers")
        self.key_heads = self.heads
        if self.entry("num_key_value_heads") is not None:
            self.key_heads = self._size("num_key_value_heads", "heads")
        self.channels = self.width // self.heads
        if self.entry("head_dim") is not None:
            self.channels = self._size("head_dim", "channels")
        elif self.width % self.heads:
            raise ValueError(f"{CONFIG} says {self.heads} heads for {self.width} channels")
        if self.heads % self.key_heads:
            raise ValueError(f"{CONFIG} says {self.key_heads} key-value heads for {self.heads}")
        self.types = self._types()
        self._prefix = self._find_prefix()
        self.digest = self._hash(whole)

    @property
    def row(self) -> Family:
        """The row of the family."""
        return FAMILIES[self.family]

    @property
    def title(self) -> str:
        """The name of the family."""
        return self.row.title

    @property
    def attention_layers(self) -> tuple[int, ...]:
        """The numbers of the layers that `read_layer` can read."""
        return tuple(
            i
            for i in range(self.layers)
            if self.types[i] != LINEAR and f"{self.name(i, self.row.key)}.weight" in self._tensors
        )

    @property
    def has_tokenizer(self) -> bool:
        """True if ``tokenizer.json`` lies beside the weights; our own models need none."""
        return self.family == OURS or (self.folder / TOKENIZER).is_file()

    @property
    def has_forward(self) -> bool:
        """True if `read_states` can compute the states of a text."""
        return WORD_EMBEDDINGS.get(self.family, "") in self

    def name(self, layer: int, part: str) -> str:
        """Return the full name of a ``part`` of a layer's attention."""
        return self._prefix + self.row.layer.format(i=layer) + part

    def __contains__(self, name: str) -> bool:
        return self._prefix + name in self._tensors

    def tensor(self, name: str, *shape: int, rows: Sequence[int] | None = None) -> torch.Tensor:
        """Read the tensor ``name``, without the prefix of the model, in float64.

        ``ValueError`` if it is missing, malformed, or not of that ``shape``, -1 for any size;
        ``rows`` are those of the first axis that are read.
        """
        name = self._prefix + name
        if name not in self._tensors:
            raise ValueError(f"there is no tensor {quoted(name)}")
        file, stored = self._tensors[name]
        found = file.places[stored].shape
        if len(found) != len(shape) or any(
            y not in (-1, x) for x, y in zip(found, shape, strict=True)
        ):
            raise ValueError(
                f"tensor {quoted(name)} has shape {quoted(found)}; by {CONFIG} it must have"
                f" {tuple(shape)}"
            )
        return file.read(stored, rows)

    def names_below(self, start: str) -> list[str]:
        """Return the names of tensors that begin so, without the prefix of the model."""
        start = self._prefix + start
        return [x.removeprefix(self._prefix) for x in self._tensors if x.startswith(start)]

    def entry(self, name: str) -> Any:
        """Return an entry of the configuration, or its default; ``None`` if the class has none."""
        entries = self.row.entries
        return self.config.get(name, entries[name]) if name in entries else None

    def flag(self, entry: bool | str) -> bool:
        """Return what a row says, or the entry of the configuration that it names."""
        if isinstance(entry, bool):
            return entry
        value = self.entry(entry)
        check_flag(f"{entry} in {CONFIG}", value)
        return bool(value)

    @property
    def causal(self) -> bool:
        """True if a query sees no later key."""
        return self.row.causal and ("is_causal" not in self.row.entries or self.flag("is_causal"))

    @property
    def window(self) -> Any:
        """The entry with the number of keys that a query of a sliding layer sees at most."""
        used = "use_sliding_window" not in self.row.entries or self.flag("use_sliding_window")
        return self.entry("sliding_window") if used else None

    @property
    def epsilon(self) -> float:
        """The norms' epsilon."""
        return self.number(self.row.epsilon, self.entry(self.row.epsilon), {})

    def number(self, name: str, default: Any, table: Mapping[str, Any]) -> float:
        """Return a positive number of a ``table`` of the configuration, or the ``default``."""
        value = table.get(name)
        value = default if value is None else value
        check_number(f"{name} in {CONFIG}", value, 1e-30, 1e30)
        return float(value)

    def _read_config(self) -> dict[str, Any]:
        if self.folder.is_dir():
            return read_json(self.folder / CONFIG)
        file = next(iter(self._files), None)
        about = None if file is None else file.metadata
        text = about.get("config") if isinstance(about, dict) else None
        if not isinstance(text, str):
            raise ValueError(
                f"{self.folder.name} does not say what model it is; name the folder that holds it"
                f" and {CONFIG}"
            )
        return {
            **parse_json(text.encode(), f"the configuration in {self.folder.name}"),
            "model_type": OURS,
        }

    def _size(self, entry: str, what: str) -> int:
        value = self.config.get(entry, self.row.entries.get(entry))
        check_integer(f"{entry} in {CONFIG}", value, 1, LARGEST[what])
        assert isinstance(value, int)
        return value

    def _types(self) -> tuple[str, ...]:
        """The kind of attention of each layer."""
        other, every = self.row.pattern or (SLIDING, 1)
        listed = self.entry("layer_types")
        if listed is not None:
            if not isinstance(listed, list) or len(listed) != self.layers:
                raise ValueError(f"layer_types in {CONFIG} must name {self.layers} layers")
            for kind in listed:
                if kind not in (FULL, other):
                    raise ValueError(
                        f"layer_types in {CONFIG} names {quoted(kind)}; known of {self.title} are"
                        f" {FULL} and {other}"
                    )
            return tuple(listed)
        if self.row.pattern is not None:
            name, n = (every, self.entry(every)) if isinstance(every, str) else ("", every)
            check_integer(f"{name} in {CONFIG}", n, 1, LARGEST["layers"])
            return tuple(other if (i + 1) % n else FULL for i in range(self.layers))
        first: Any = self.layers if self.window is None else 0
        if self.window is not None and "max_window_layers" in self.row.entries:
            first = self.entry("max_window_layers")
            check_integer(f"max_window_layers in {CONFIG}", first, 0, 10 * LARGEST["layers"])
        return tuple(SLIDING if i >= first else FULL for i in range(self.layers))

    def _find_prefix(self) -> str:
        wanted = [self.row.layer.format(i=i) + self.row.key + ".weight" for i in range(self.layers)]
        fitting = [x for x in PREFIXES if any(x + name in self._tensors for name in wanted)]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            both = " and ".join(quoted(prefix + self.row.layer) for prefix in fitting)
            raise ValueError(f"the files hold several models: there are tensors {both}")
        check_plain(self._tensors)
        raise ValueError(
            f"there is no tensor {quoted(wanted[0])}, nor that of a later layer: the files hold no"
            f" attention of {self.title}"
        )

    def _hash(self, config: Mapping[str, Any]) -> str:
        whole = hashlib.sha256(repr(sorted(config.items())).encode())
        for file in sorted(self._files, key=lambda file: file.name):
            whole.update(file.digest.encode() + file.sample())
        return whole.hexdigest()[:16]


def check_plain(names: Iterable[str]) -> None:
    """Refuse ``names`` of tensors that say that weights are not what they seem."""
    for name in names:
        for part, why in NOT_PLAIN.items():
            if re.search(part, name):
                raise ValueError(f"tensor {quoted(name)} belongs to {why}")


def _renamed(name: str) -> str:
    """The name in use: without wrappers, and weight and bias for the gamma and beta of old BERT."""
    if not WRAPPERS.isdisjoint(parts := name.split(".")):
        name = ".".join(part for part in parts if part not in WRAPPERS)
    for old, new in (("gamma", "weight"), ("beta", "bias")):
        if name.endswith(f"LayerNorm.{old}"):
            return name.removesuffix(old) + new
    return name


def open_checkpoint(folder: str | Path) -> Checkpoint:
    """Open a folder with ``config.json`` and safetensors files, or one file of our own models.

    Example:
        >>> from gating_core.assets import ASSETS
        >>> checkpoint = open_checkpoint(ASSETS / "models" / "g1_head-0.safetensors")
        >>> checkpoint.title, checkpoint.layers, checkpoint.heads
        ('the language models of this project', 4, 4)
    """
    return Checkpoint(folder)
