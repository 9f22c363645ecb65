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
import json
import os
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from gating_core.claims.claim import V1, V2
from gating_core.claims.design import PARTS
from gating_core.claims.errors import Refused, Unreachable
from gating_core.claims.report import PLAIN, Illustrations, write_report
from gating_core.claims.run import Progress, progress_of, run_study
from gating_core.claims.selection import SELECTIONS, Selection
from gating_core.claims.store import Store, default_path
from gating_core.claims.tables import export
from gating_core.claims.text import NO_WORKERS
from gating_core.claims.verdicts import CLAIMS

COMPLETE, INCOMPLETE, WRONG, REFUSED, NO_SCHEDULER, STOPPED = 0, 1, 2, 3, 4, 130
COMMAND = "python -m gating_core.claims"
BAR_SIGNS = 24
WORKERS_PER_CORE = 4  # more would only wait for each other
CLEAR_LINE = "\r\x1b[K"


_interrupts: list[int] = []  # signals that this program has received


def main(arguments: Sequence[str] | None = None, illustrations: Illustrations = PLAIN) -> int:
    """Do what ``arguments`` say, and return the exit code; a report gets ``illustrations``."""
    parser = _parser()
    options = parser.parse_args(arguments)
    options.illustrations = illustrations
    try:
        options.selection = _selection(options)
    except ValueError as error:
        parser.error(str(error))
    _interrupts.clear()
    for number in (signal.SIGINT, signal.SIGTERM):  # workers are ended, too
        signal.signal(number, _interrupt)
    try:
        return options.does(options)
    except Refused as error:
        return _failed(error, REFUSED)
    except Unreachable as error:
        return _failed(error, NO_SCHEDULER)
    except KeyboardInterrupt:
        return _failed("stopped; the same command goes on from here", STOPPED)


def _interrupt(number: int, frame: object) -> None:
    """Handle a signal that ends the program."""
    _interrupts.append(number)
    raise KeyboardInterrupt


def _run(options: argparse.Namespace) -> int:
    """Do what is missing; a line on stderr shows how far it is."""
    with Store(options.store) as store:
        study = run_study(options.selection, store, options.scheduler, options.workers)
        said = None
        with closing(study):
            for progress in study:
                if _interrupts:  # in a callback of the garbage collector its exception was lost
                    raise KeyboardInterrupt
                news = progress.done, progress.workers == 0
                _show(progress, options.json, news != said)
                said = news
    if not options.json:
        sys.stderr.write("\n")
    for failure in progress.failures:
        _failed(failure, INCOMPLETE)
    return COMPLETE if progress.complete else INCOMPLETE


def _status(options: argparse.Namespace) -> int:
    """Say how far it is."""
    with Store(options.store, readable=True) as store:
        progress = progress_of(options.selection, store, options.workers)
        counts = store.counts()
    if options.json:
        _write(json.dumps(progress.as_dict() | {"store": str(options.store), "rows": counts}))
    else:
        _write(f"{options.store}: {counts['models']} models and {counts['stacks']} stacks")
        _write(_text(progress))
    return COMPLETE if progress.complete else INCOMPLETE


def _export(options: argparse.Namespace) -> int:
    """Write all rows as CSV."""
    return _write_files(
        options, lambda store, folder: export(store.models(), store.stacks(), folder)
    )


def _report(options: argparse.Namespace) -> int:
    """Write the report: one file of HTML that needs no network, and Markdown beside it."""
    about = {"store": options.store.name, "command": f"{COMMAND} {' '.join(sys.argv[1:])}"}
    return _write_files(
        options,
        lambda store, folder: write_report(
            folder, store.models(), store.stacks(), about, options.illustrations
        ),
    )


def _write_files(
    options: argparse.Namespace, write: Callable[[Store, Path], Iterable[Path]]
) -> int:
    """Write files of the store's rows, and say where they are."""
    with Store(options.store, readable=True) as store:
        try:
            paths = [str(path) for path in write(store, options.folder)]
        except OSError as error:
            return _failed(f"{options.folder} cannot be written to: {error.strerror}", INCOMPLETE)
    _write(json.dumps(paths) if options.json else "\n".join(paths))
    return COMPLETE


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "run": _run,
    "status": _status,
    "export": _export,
    "report": _report,
}


def _parser() -> argparse.ArgumentParser:
    def names(text: str) -> tuple[str, ...]:
        return tuple(text.split(","))

    parser = argparse.ArgumentParser(
        COMMAND, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, metavar="|".join(COMMANDS))
    for name, does in COMMANDS.items():
        command = commands.add_parser(name, help=does.__doc__, description=does.__doc__)
        command.set_defaults(does=does)
        grid = command.add_mutually_exclusive_group()
        grid.add_argument(
            "--grid",
            choices=SELECTIONS,
            help="by default full, of criteria v1, or"
            " with --only that of the claim's criteria; v2: seeds and settings of"
            " criteria v2; all: the complete product, without a promise of"
            " time",
        )
        for each in (("--quick",), ("--full",), ("--v2", "--second")):
            grid.add_argument(*each, dest="grid", action="store_const", const=each[0].strip("-"))
        add = command.add_argument
        add("--only", choices=CLAIMS, help="what one claim needs")
        add("--tasks", type=names, help="names with commas between them")
        add("--variants", type=names, help="names with commas between them")
        add("--parts", type=names, help=f"of the grid: some of {','.join(PARTS)}")
        add("--seeds", type=int, dest="seed_count", help="how many")
        add("--first", type=int, dest="first_seed", help="the first of the seeds, by default 0")
        add("--steps", type=int, help="of training")
        add("--store", type=Path, default=default_path(), help="the file; by default %(default)s")
        add("--scheduler", help="address of a Dask cluster; by default this machine works")
        add("--workers", type=_workers, default=2, help="processes of this machine (%(default)s)")
        add("--json", action="store_true", help="for programs: JSON, a line each time")
        if name in ("export", "report"):
            add("folder", type=Path, nargs="?", default=Path("claims"))
    return parser


def _selection(options: argparse.Namespace) -> Selection:
    """Return the named grid, changed by the options that were given."""
    criteria = CLAIMS[options.only].criteria if options.only else V1
    grid = options.grid or ("v2" if criteria is V2 else "full")
    names = ("only", "tasks", "variants", "parts", "seed_count", "first_seed", "steps")
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    return replace(SELECTIONS[grid], **given)


def _workers(text: str) -> int:
    most = WORKERS_PER_CORE * (os.cpu_count() or 1)
    if not text.isdecimal() or not 1 <= int(text) <= most:
        raise argparse.ArgumentTypeError(
            f"it is {text!r}; it must be a whole number from 1 to {most}, which is"
            f" {WORKERS_PER_CORE} for each core of this machine"
        )
    return int(text)


def _show(progress: Progress, as_json: bool, news: bool) -> None:
    if as_json:
        _write(json.dumps(progress.as_dict()))
    elif sys.stderr.isatty():
        filled = BAR_SIGNS * progress.done // max(progress.total, 1)
        bar = "█" * filled + "·" * (BAR_SIGNS - filled)
        sys.stderr.write(f"{CLEAR_LINE}{bar} {_text(progress)}")
    elif news:
        sys.stderr.write(f"{_text(progress)}\n")
    sys.stderr.flush()


def _text(progress: Progress) -> str:
    rows = f"{progress.done} of {progress.total} rows"
    if progress.complete:
        return f"{rows}: complete"
    if progress.workers == 0:
        return f"{rows}, {NO_WORKERS}"
    minutes, seconds = divmod(round(progress.seconds_left), 60)
    failures = f", {len(progress.failures)} failed" if progress.failures else ""
    return f"{rows}, about {minutes}:{seconds:02} left{failures}"


def _write(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _failed(why: object, code: int) -> int:
    sys.stderr.write(f"{why}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
