"""The files that come with the library: trained models, texts and results.

In the repository they are the folder ``assets``; an installed library has most of them inside its
own package. The weights of most language models would make it too large: `read_asset` says where
those are.
"""

from __future__ import annotations

from pathlib import Path

BUNDLED = Path(__file__).resolve().parent / "bundled"  # of an installed library
ASSETS = BUNDLED if BUNDLED.is_dir() else BUNDLED.parents[1] / "assets"


def is_left_out(path: Path) -> bool:
    """Return whether ``path`` is a file that the repository has and the installed library lacks."""
    return BUNDLED in path.parents and not path.exists()


def read_asset(path: Path) -> bytes:
    """Return the bytes of a file, shipped or not; ``OSError`` if it cannot be read."""
    if is_left_out(path):
        raise FileNotFoundError(
            f"assets/{path.relative_to(BUNDLED).as_posix()} comes with the repository of"
            " gating-curvature, not with the installed library; clone the repository and install it"
            " from there with pip install -e ."
        )
    return path.read_bytes()
