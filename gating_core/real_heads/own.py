"""Any module of a visitor's own model, a folder of `transformers`, on one text.

Shapes: R x R grid points.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gating_core.checkpoints import Tokens
from gating_core.checkpoints.state_plane import state_plane
from gating_core.geometry import Integral, MeasuredSurface, Verdict, square_grid
from gating_core.jets.casts import carried
from gating_core.progress import Progress, silent

MOST_TOKENS = 256
GRID_SIZE = 31  # points along each side
COMPONENTS = 3  # of the outputs: what can be seen


@dataclass(frozen=True)
class OwnText:
    """A ``text`` that the model in a ``folder`` reads.

    ``stamp`` tells the folder's files from those of before.
    """

    folder: str
    stamp: tuple[int, ...]
    text: str


@dataclass(frozen=True)
class OwnModel:
    """The choices that a model offers: names of its ``modules`` with their classes, and words."""

    modules: tuple[tuple[str, str], ...]
    words: tuple[str, ...]


@dataclass(frozen=True)
class OwnRequest:
    """A ``module``, in which one ``token`` of a text moves: see `state_plane`."""

    text: OwnText
    module: str
    token: int
    three: tuple[int, int, int] | None = None
    moves: str = "token"
    residual: bool = False


@dataclass(frozen=True, eq=False)
class OwnSurface:
    """A module's measured surface.

    ``drawn`` (R, R, 3) are its first three principal components, which hold the ``share`` of the
    outputs' variance. ``known`` is K where its sign is known, and 0 where it is 0; ``signed`` where
    it is not 0; NaN elsewhere.
    """

    drawn: np.ndarray
    share: float
    known: np.ndarray
    signed: np.ndarray
    error: np.ndarray
    verdict: Verdict
    total: Integral
    bending: Integral


@dataclass(frozen=True, eq=False)
class OwnResult:
    """The surface of a module and, where it has one attention, that of its twin."""

    own: OwnSurface
    twin: OwnSurface | None
    notes: tuple[str, ...]


def file_stamp(folder: Path) -> tuple[int, ...]:
    """Return what changes when a file of a ``folder``, or a single file, is written or replaced."""
    try:
        files = sorted(folder.iterdir()) if folder.is_dir() else [folder]
        found = [file.stat() for file in files if file.exists()]
    except OSError:  # it may vanish meanwhile
        return ()
    return tuple(x for s in found for x in (s.st_size, s.st_mtime_ns, s.st_dev, s.st_ino))


@lru_cache(maxsize=1)
def load_model(folder: str, stamp: tuple[int, ...]) -> tuple[Any, Any]:
    """Return model and tokeniser of a folder, without running code of its own.

    ``stamp`` is the folder's `file_stamp`. ``ValueError`` in one sentence if it cannot be loaded.
    """
    try:
        from transformers import AutoModel, AutoTokenizer  # an extra, of some seconds
    except ImportError:
        raise ValueError("the package transformers is not installed") from None
    here: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    try:
        found = (
            AutoModel.from_pretrained(folder, use_safetensors=True, **here),
            AutoTokenizer.from_pretrained(folder, **here),
        )
    except Exception as error:  # whatever its files are
        first = (str(error).strip() or type(error).__name__).partition("\n")[0]
        raise ValueError(f"the model cannot be loaded: {first}") from error
    if stamp != file_stamp(Path(folder)):
        raise ValueError("the model has changed since the page was drawn")
    return found


def _read(text: OwnText) -> tuple[Any, dict[str, Any], tuple[str, ...]]:
    """The model, what it is called with, and the text's tokens."""
    model, tokenizer = load_model(text.folder, text.stamp)
    tokens = read_tokens(tokenizer, text.text, MOST_TOKENS)
    if len(tokens) < 3:
        raise ValueError("the text has fewer than three tokens")
    inputs = {"input_ids": torch.tensor([tokens.ids])}
    if model.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = inputs["input_ids"]
    return model, inputs, tokens.words


def read_tokens(tokenizer: Any, text: str, most: int) -> Tokens:
    """Split a text into at most ``most`` tokens, special ones included."""
    found = tokenizer(text, truncation=True, max_length=most, return_special_tokens_mask=True)
    ids = found["input_ids"]
    special = map(bool, found["special_tokens_mask"])
    return Tokens(tuple(ids), tuple(tokenizer.convert_ids_to_tokens(ids)), tuple(special))


def open_own(text: OwnText) -> OwnModel:
    """Return what can be chosen of a model and of a text; ``ValueError`` as `load_model`."""
    model, _, words = _read(text)
    modules = tuple((name, type(x).__name__) for name, x in model.named_modules())
    return OwnModel(modules, words)


def measure_own(request: OwnRequest, progress: Progress = silent) -> OwnResult:
    """Measure a module and its twin; ``ValueError`` as `load_model` and `state_plane`."""
    model, inputs, _ = _read(request.text)
    plane = state_plane(
        model,
        request.module,
        inputs,
        request.token,
        plane=request.three,
        moves=request.moves,
        residual=request.residual,
    )
    progress(0.05)
    own, notes = _measured(plane, "rigorous")
    progress(0.7)
    twin = _measured(plane.twin(), "estimate")[0] if plane.has_attention else None
    return OwnResult(own, twin, (*plane.notes, *notes))


def _measured(plane: Callable, bound: str) -> tuple[OwnSurface, tuple[str, ...]]:
    measured = MeasuredSurface(carried(plane, "carry"), square_grid(GRID_SIZE), bound=bound)
    surface = measured.surface
    values = surface.values[0].reshape(GRID_SIZE**2, -1)
    centred = values - values.mean(0)
    _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    drawn = centred @ axes[:COMPONENTS].T
    drawn = np.pad(drawn, [(0, 0), (0, COMPONENTS - drawn.shape[1])])
    total = float((sizes**2).sum())
    found = OwnSurface(
        drawn.reshape(GRID_SIZE, GRID_SIZE, COMPONENTS),
        float((sizes[:COMPONENTS] ** 2).sum()) / total if total else 1.0,
        surface.known[0],
        surface.signed[0],
        surface.known_error[0],
        surface.verdicts[0],
        measured.total,
        measured.bending,
    )
    return found, surface.notes
