"""The files that come with the app's repository: trained models, texts and results.

An installed library has none of them: `read_asset` and `check_assets` say so in a sentence.
"""

from __future__ import annotations

from pathlib import Path

ASSETS = Path(__file__).resolve().parents[1] / "assets"


def check_assets(folder: Path) -> None:
    """Raise ``FileNotFoundError`` if a ``folder`` of shipped files is not there."""
    if not folder.is_dir():
        raise FileNotFoundError(
            f"there is no folder {folder}: its files come with the repository of gating-curvature,"
            " not with the installed library; clone the repository and install it from there with"
            " pip install -e ."
        )


def read_asset(path: Path) -> bytes:
    """Return the bytes of a file, shipped or not; ``OSError`` if it cannot be read."""
    if ASSETS in path.parents:
        check_assets(path.parent)
    return path.read_bytes()
