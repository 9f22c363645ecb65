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
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from gating_core.claims.export import export
from gating_core.claims.grid import CLAIMS, PARTS, SELECTIONS, Selection
from gating_core.claims.place import default_place
from gating_core.claims.refusals import Refused, Unreachable
from gating_core.claims.report import report
from gating_core.claims.run import Progress, progress_of, run_study
from gating_core.claims.store import Store

COMPLETE, INCOMPLETE, WRONG, REFUSED, NO_SCHEDULER, STOPPED = 0, 1, 2, 3, 4, 130
COMMAND = "python -m gating_core.claims"
BAR_SIGNS = 24
WORKERS_PER_CORE = 4  # more would only wait for each other
CLEAR_LINE = "\r\x1b[K"


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what ``arguments`` say, and return the exit code."""
    parser = _parser()
    asked = parser.parse_args(arguments)
    try:
        asked.selection = _selection(asked)
    except ValueError as error:
        parser.error(str(error))
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # workers are ended, too
    try:
        return asked.does(asked)
    except Refused as error:
        return _failed(error, REFUSED)
    except Unreachable as error:
        return _failed(error, NO_SCHEDULER)
    except KeyboardInterrupt:
        return _failed("stopped; the same command goes on from here", STOPPED)


def _run(asked: argparse.Namespace) -> int:
    """Do what is missing; a line on stderr shows how far it is."""
    with Store(asked.store) as store:
        study = run_study(asked.selection, store, asked.scheduler, asked.workers)
        with closing(study):  # type: ignore[type-var]
            for found in study:
                _show(found, asked.json)
    if not asked.json:
        sys.stderr.write("\n")
    for failure in found.failures:
        _failed(failure, INCOMPLETE)
    return COMPLETE if found.complete else INCOMPLETE


def _status(asked: argparse.Namespace) -> int:
    """Say how far it is."""
    with Store(asked.store, readable=True) as store:
        found, counts = progress_of(asked.selection, store, asked.workers), store.counts()
    if asked.json:
        _write(json.dumps(_numbers(found) | {"store": str(asked.store), "rows": counts}))
    else:
        _write(f"{asked.store}: {counts['models']} models and {counts['stacks']} stacks")
        _write(_text(found))
    return COMPLETE if found.complete else INCOMPLETE


def _export(asked: argparse.Namespace) -> int:
    """Write all rows as CSV and Parquet."""
    with Store(asked.store, readable=True) as store:
        try:
            paths = export(store, asked.folder)
        except OSError as error:
            return _failed(f"{asked.folder} cannot be written to: {error.strerror}", INCOMPLETE)
    _write(json.dumps([str(path) for path in paths]) if asked.json else "\n".join(map(str, paths)))
    return COMPLETE


def _report(asked: argparse.Namespace) -> int:
    """Write the report: one file of HTML that needs no network, and Markdown beside it."""
    with Store(asked.store, readable=True) as store:
        try:
            paths = report(store, asked.folder, {"command": f"{COMMAND} {' '.join(sys.argv[1:])}"})
        except OSError as error:
            return _failed(f"{asked.folder} cannot be written to: {error.strerror}", INCOMPLETE)
    _write(json.dumps([str(path) for path in paths]) if asked.json else "\n".join(map(str, paths)))
    return COMPLETE


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "run": _run,
    "status": _status,
    "export": _export,
    "report": _report,
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        COMMAND,
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="|".join(COMMANDS))
    for name, does in COMMANDS.items():
        command = commands.add_parser(name, help=does.__doc__, description=does.__doc__)
        command.set_defaults(does=does)
        _add_options(command)
        if name in ("export", "report"):
            command.add_argument("folder", type=Path, nargs="?", default=Path("claims"))
    return parser


def _add_options(command: argparse.ArgumentParser) -> None:
    def names(text: str) -> tuple[str, ...]:
        return tuple(text.split(","))

    grid = command.add_mutually_exclusive_group()
    grid.add_argument("--grid", choices=SELECTIONS, default="full",
                      help="all: the complete product, without a promise of time")  # fmt: skip
    for name in ("quick", "full"):
        grid.add_argument(f"--{name}", dest="grid", action="store_const", const=name)
    add = command.add_argument
    add("--only", choices=CLAIMS, help="what one claim needs")
    add("--tasks", type=names, help="names with commas between them")
    add("--variants", type=names, help="names with commas between them")
    add("--parts", type=names, help=f"of the grid: some of {','.join(PARTS)}")
    add("--seeds", type=int, dest="seed_count", help="how many, from 0")
    add("--steps", type=int, help="of training")
    add("--store", type=Path, default=default_place(), help="the file; by default %(default)s")
    add("--scheduler", help="address of a Dask cluster; by default this machine works")
    add("--workers", type=_workers, default=2, help="processes of this machine (%(default)s)")
    add("--json", action="store_true", help="for programs: JSON, a line each time")


def _selection(asked: argparse.Namespace) -> Selection:
    """The named grid with what was asked otherwise."""
    names = ("only", "tasks", "variants", "parts", "seed_count", "steps")
    given = {name: getattr(asked, name) for name in names if getattr(asked, name) is not None}
    return replace(SELECTIONS[asked.grid], **given)


def _workers(text: str) -> int:
    most = WORKERS_PER_CORE * (os.cpu_count() or 1)
    if not text.isdecimal() or not 1 <= int(text) <= most:
        raise argparse.ArgumentTypeError(
            f"it is {text!r}; it must be a whole number from 1 to {most}, which is"
            f" {WORKERS_PER_CORE} for each core of this machine"
        )
    return int(text)


def _show(found: Progress, as_json: bool) -> None:
    if as_json:
        _write(json.dumps(_numbers(found)))
    elif sys.stderr.isatty():
        filled = BAR_SIGNS * found.done // max(found.total, 1)
        bar = "█" * filled + "·" * (BAR_SIGNS - filled)
        sys.stderr.write(f"{CLEAR_LINE}{bar} {_text(found)}")
    elif found.arrived or found.complete:
        sys.stderr.write(f"{_text(found)}\n")
    sys.stderr.flush()


def _text(found: Progress) -> str:
    rows = f"{found.done} of {found.total} rows"
    if found.complete:
        return f"{rows}: complete"
    minutes, seconds = divmod(round(found.seconds_left), 60)
    failures = f", {len(found.failures)} failed" if found.failures else ""
    return f"{rows}, about {minutes}:{seconds:02} left{failures}"


def _numbers(found: Progress) -> dict:
    return {
        "done": found.done,
        "total": found.total,
        "seconds_left": round(found.seconds_left, 1),
        "complete": found.complete,
        "failures": list(found.failures),
    }


def _write(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _failed(why: object, code: int) -> int:
    sys.stderr.write(f"{why}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
