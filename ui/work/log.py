"""What is written down of the server's work? One line of JSON for each job and each error.

A line says what kind of work it was, how long it took and how it ended, never for whom, nor what
a visitor brought along. Errors have their traceback, and the id that the page shows.
"""

from __future__ import annotations

import json
import logging
import secrets
import traceback


class _Timed(logging.Formatter):
    """A message, which is JSON, with the time before all else."""

    def format(self, record: logging.LogRecord) -> str:
        return json.dumps({"time": self.formatTime(record), **json.loads(record.getMessage())})


LOG = logging.getLogger("ui.log")
if not LOG.handlers:
    handler = logging.StreamHandler()
    handler.setFormatter(_Timed())
    LOG.addHandler(handler)
    LOG.setLevel(logging.INFO)


def new_id() -> str:
    """Eight digits by which a line is found."""
    return secrets.token_hex(4)


def write(event: str, number: str, error: BaseException | None = None, **about: object) -> None:
    """One line: ``event``, its id ``number``, and all else that is said of it."""
    line = {"event": event, "id": number, **about}
    if error is not None:
        line["traceback"] = "".join(traceback.format_exception(error))  # a worker's is a note of it
    LOG.log(logging.ERROR if error is not None else logging.INFO, "%s", json.dumps(line))
