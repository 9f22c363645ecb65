"""A checkpoint: its configuration, and its tensors by name, read when they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from gating_core.checkpoints.families import CONFIG, FAMILIES, OURS, Family, check_known
from gating_core.checkpoints.reading import open_tensors, parse_json, read_json
from gating_core.checks import check_integer, check_number, quoted

LARGEST = {"width": 65_536, "heads": 4096, "layers": 1024}


class Checkpoint:
    """A folder with ``config.json`` and safetensors files, or one file of our language models.

    Opening reads the configuration and the headers of the files, but no weights.

    Attributes:
        folder: Where it lies.
        family: A key of `FAMILIES`.
        config: The configuration, as in ``config.json``.
        width: D, channels of a state.
        heads: H, heads of a layer.
        channels: d, of a head.
        layers: The number of layers.

    Raises:
        ValueError: In one sentence, whatever is wrong: no such folder, a malformed file, an unknown
            family, sizes that do not fit.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        try:
            if not self.folder.exists():
                raise ValueError(f"there is no checkpoint {quoted(self.folder.name)}")
            self._tensors = open_tensors(self.folder)
        except OSError as error:  # its name is too long, or the system lets nobody look into it
            name = quoted(self.folder.name)
            raise ValueError(f"{name} cannot be opened: {error.strerror}") from None
        self.config = self._read_config()
        self.family = check_known(self.config)
        width, heads, layers = self.row.sizes
        self.width = self._size(width, "width")
        self.heads = self._size(heads, "heads")
        self.layers = self._size(layers, "layers")
        self.channels = self.width // self.heads
        if self.width % self.heads:
            raise ValueError(f"{CONFIG} says {self.heads} heads for {self.width} channels")
        if not self.attention_layers:
            raise ValueError(f"the files hold no attention of {self.title}")

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
            i for i in range(self.layers) if f"{self.name(i, self.row.key)}.weight" in self
        )

    def name(self, layer: int, part: str) -> str:
        """Return the full name of a ``part`` of a layer's attention."""
        return self.row.layer.format(i=layer) + part

    def __contains__(self, name: str) -> bool:
        return name in self._tensors

    def tensor(self, name: str, *shape: int, rows: Sequence[int] | None = None) -> torch.Tensor:
        """Read the tensor ``name`` in float64.

        ``ValueError`` if it is missing, malformed, or not of that ``shape``, -1 for any size;
        ``rows`` are those of the first axis that are read.
        """
        if name not in self._tensors:
            raise ValueError(f"there is no tensor {quoted(name)}")
        file = self._tensors[name]
        found = file.places[name].shape
        if len(found) != len(shape) or any(
            y not in (-1, x) for x, y in zip(found, shape, strict=True)
        ):
            raise ValueError(
                f"tensor {quoted(name)} has shape {quoted(found)}; by {CONFIG} it must have"
                f" {tuple(shape)}"
            )
        return file.read(name, rows)

    def entry(self, name: str) -> Any:
        """Return an entry of the configuration that the family reads, or its default."""
        return self.config.get(name, self.row.entries[name])

    @property
    def epsilon(self) -> float:
        """The norms' epsilon."""
        value = self.entry(self.row.epsilon)
        check_number(f"{self.row.epsilon} in {CONFIG}", value, 1e-30, 1e30)
        return float(value)

    def _read_config(self) -> dict[str, Any]:
        if self.folder.is_dir():
            return read_json(self.folder / CONFIG)
        file = next(iter(self._tensors.values()), None)
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
        value = self.config.get(entry)
        check_integer(f"{entry} in {CONFIG}", value, 1, LARGEST[what])
        assert isinstance(value, int)
        return value


def open_checkpoint(folder: str | Path) -> Checkpoint:
    """Open a folder with ``config.json`` and safetensors files, or one file of our own models.

    Example:
        >>> from gating_core.assets import ASSETS
        >>> checkpoint = open_checkpoint(ASSETS / "models" / "g1_head-0.safetensors")
        >>> checkpoint.title, checkpoint.layers, checkpoint.heads
        ('the language models of this project', 4, 4)
    """
    return Checkpoint(folder)
