"""The study from a shell: run it, see how far it is, take the rows home.

    python -m gating_core.claims run --quick
    python -m gating_core.claims status
    python -m gating_core.claims export tables
    python -m gating_core.claims report report

Exit codes: 0 everything asked for is there, 1 something could not be done, 2 the arguments are
wrong, 3 the store is refused, 4 no scheduler answers, 130 it was stopped.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from gating_core.claims.claim import PARTS, V2
from gating_core.claims.rows import ModelRow, StackRow, csv_text
from gating_core.claims.store import Refused, Store, default_path
from gating_core.claims.study import (
    SELECTIONS,
    Selection,
    Unreachable,
    progress_of,
    progress_text,
    run_study,
)
from gating_core.claims.verdicts import CLAIMS, report

COMPLETE, INCOMPLETE, WRONG, REFUSED, NO_SCHEDULER, STOPPED = 0, 1, 2, 3, 4, 130
COMMANDS = ("run", "status", "export", "report")
WORKERS_PER_CORE = 4  # more would only wait for each other


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what ``arguments`` say, and return the exit code."""
    options, selection = _options(arguments)
    try:
        if options.command == "run":
            return _run(options, selection)
        with Store(options.store, readable=True) as store:
            if options.command == "status":
                progress = progress_of(selection, store, options.workers)
                counts = {name: len(keys) for name, keys in store.keys().items()}
                print(f"{options.store}: {counts['models']} models and {counts['stacks']} stacks")
                print(progress_text(progress))
                return COMPLETE if progress["complete"] else INCOMPLETE
            rows, stacks = store.models(), store.stacks()
        if options.command == "export":
            files = {
                "models.csv": csv_text(ModelRow, rows),
                "stacks.csv": csv_text(StackRow, stacks),
            }
        else:
            files = {"claims.md": report(rows, stacks)}
        options.folder.mkdir(parents=True, exist_ok=True)
        paths = [options.folder / name for name in files]
        for path, text in zip(paths, files.values(), strict=True):
            path.write_text(text, encoding="utf-8", newline="")
        print(*paths, sep="\n")
        return COMPLETE
    except Refused as error:
        return _failed(error, REFUSED)
    except (Unreachable, ImportError) as error:
        return _failed(error, NO_SCHEDULER)
    except OSError as error:
        return _failed(f"{options.folder} cannot be written to: {error.strerror}", INCOMPLETE)


def _run(options: argparse.Namespace, selection: Selection) -> int:
    """Do what is missing; lines on stderr say how far it is."""
    stopped: list[int] = []  # an exception could be lost in a callback of the garbage collector
    for number in (signal.SIGINT, signal.SIGTERM):  # workers are ended, too
        signal.signal(number, lambda number, _: stopped.append(number))
    with Store(options.store) as store:
        study = run_study(selection, store, options.scheduler, options.workers)
        said = None
        with closing(study):
            for progress in study:
                if stopped:
                    return _failed("stopped; the same command goes on from here", STOPPED)
                news = progress["done"], progress["workers"] == 0
                if news != said:
                    print(progress_text(progress), file=sys.stderr, flush=True)
                said = news
    for failure in progress["failures"]:
        _failed(failure, INCOMPLETE)
    return COMPLETE if progress["complete"] else INCOMPLETE


def _options(arguments: Sequence[str] | None) -> tuple[argparse.Namespace, Selection]:
    """Read the arguments, and select the named grid, changed by the options that are given."""

    def names(text: str) -> tuple[str, ...]:
        return tuple(text.split(","))

    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "python -m gating_core.claims", description=__doc__, formatter_class=form
    )
    add = parser.add_argument
    add("command", choices=COMMANDS, help="run a study, say how far it is, write its rows, report")
    add("folder", type=Path, nargs="?", default=Path("claims"), help="of tables or of the report")
    grid = parser.add_mutually_exclusive_group()
    grid.add_argument(
        "--grid",
        choices=SELECTIONS,
        help="by default full, of criteria v1, or with --only that of the claim's criteria; v2:"
        " seeds and settings of criteria v2",
    )
    for name in ("quick", "full", "v2"):
        grid.add_argument(f"--{name}", dest="grid", action="store_const", const=name)
    add("--only", choices=CLAIMS, help="what one claim needs")
    add("--tasks", type=names, help="names with commas between them")
    add("--variants", type=names, help="names with commas between them")
    add("--parts", type=names, help=f"of the grid: some of {','.join(PARTS)}")
    add("--seeds", type=int, dest="seed_count", help="how many")
    add("--first", type=int, dest="first_seed", help="the first of the seeds, by default 0")
    add("--steps", type=int, help="of training")
    add("--store", type=Path, default=default_path(), help="the file; by default %(default)s")
    add("--scheduler", help="address of a Dask cluster; by default this machine works")
    add("--workers", type=int, default=2, help="processes of this machine (%(default)s)")
    options = parser.parse_intermixed_args(arguments)
    most = WORKERS_PER_CORE * (os.cpu_count() or 1)
    if not 1 <= options.workers <= most:
        parser.error(
            f"--workers is {options.workers}; it must be a whole number from 1 to {most}, which is"
            f" {WORKERS_PER_CORE} for each core of this machine"
        )
    second = options.only and CLAIMS[options.only].criteria is V2
    chosen = SELECTIONS[options.grid or ("v2" if second else "full")]
    fields = ("only", "tasks", "variants", "parts", "seed_count", "first_seed", "steps")
    given = {name: getattr(options, name) for name in fields}
    try:
        return options, replace(chosen, **{k: x for k, x in given.items() if x is not None})
    except ValueError as error:
        parser.error(str(error))


def _failed(why: object, code: int) -> int:
    print(why, file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
