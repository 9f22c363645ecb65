"""Make the bundled extract: ``python -m gating_core.real_heads FOLDER`` (see the Makefile)."""

from __future__ import annotations

import sys
from pathlib import Path

from gating_core.real_heads.shipped import make_extract


def main() -> None:
    """Make the extract from the checkpoint in the folder that is named."""
    for done in make_extract(Path(sys.argv[1])):
        print(done, flush=True)


if __name__ == "__main__":
    main()
