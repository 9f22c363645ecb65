"""Run a process of Dask that ends when whoever started it has ended; a script for `workers`.

They hold the other end of its standard input, which closes with them, however they end, on every
system. It imports nothing of the package, and watches before it imports Dask, which takes a second.
What a nanny has started watches the nanny, by Dask's own means.
"""

from __future__ import annotations

import os
import threading

STANDARD_INPUT = 0


def watch() -> None:
    """End this process once nobody holds its standard input."""

    def wait() -> None:
        while os.read(STANDARD_INPUT, 1):  # nothing is ever written: it waits
            continue
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


if __name__ == "__main__":  # not in the processes that a nanny starts with this script
    watch()
    from distributed.cli.dask_spec import main

    main()
