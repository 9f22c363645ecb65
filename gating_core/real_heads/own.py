"""Any module of a visitor's own model, a folder of `transformers`, on one text."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from gating_core.checkpoints import Tokens
from gating_core.checkpoints.state_plane import state_plane
from gating_core.jets.casts import carried
from gating_core.progress import Progress, silent
from gating_core.real_heads.measured import WithTwin, drawn_surface

MOST_TOKENS = 256


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

    ``stamp`` is the folder's `file_stamp`. ``ValueError`` in one sentence if it cannot be loaded; a
    visitor does not learn where the folder is.
    """
    if not (path := Path(folder)).is_dir():
        raise ValueError(f"there is no folder {path.name!r}; start the app with that of a model")
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
        raise ValueError(
            f"the model cannot be loaded: {first.replace(folder, path.name)}"
        ) from error
    if stamp != file_stamp(path):
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


def measure_own(request: OwnRequest, progress: Progress = silent) -> WithTwin:
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
    own, notes = drawn_surface(carried(plane, "carry"), "rigorous")
    progress(0.7)
    twin = None
    if plane.has_attention:
        twin, _ = drawn_surface(carried(plane.twin(), "carry"), "estimate")
    return WithTwin(own, twin, (*plane.notes, *notes))
