"""The log: a line for each job and each error, and nothing about visitors."""

import json
import logging
import re

import pytest
from streamlit.testing.v1 import AppTest

from tests.ui.work import tasks
from tests.ui.work.work import DEADLINE_SECONDS, Work, await_true, failing
from ui.work import errors, log


def lines(caplog):
    return [json.loads(record.message) for record in caplog.records if record.name == "ui.log"]


@pytest.fixture
def written(caplog):
    with caplog.at_level(logging.INFO, "ui.log"):
        yield lambda: lines(caplog)


@pytest.mark.parametrize(
    ("make", "outcome"), [(lambda: iter("ab"), "done"), (failing, "failed"), (Work(), "cancelled")]
)
def test_each_job_has_one_line_with_its_outcome_and_its_times(run, written, make, outcome):
    job = run(make, kind="boundary", about="seed 4711", expected=(ZeroDivisionError,))
    await_true(lambda: job.items)
    if outcome == "cancelled":
        job.cancel()
    assert job.join(DEADLINE_SECONDS)
    (line,) = written()
    assert re.fullmatch("[0-9a-f]{8}", line["id"])
    assert (line["event"], line["kind"], line["outcome"]) == ("job", "boundary", outcome)
    assert 0 <= line["seconds"] < DEADLINE_SECONDS
    assert 0 <= line["waited_seconds"] < DEADLINE_SECONDS
    assert "traceback" not in line
    assert "4711" not in json.dumps(line)


def test_an_error_of_ours_has_its_traceback_also_from_a_worker_and_an_id_on_the_page(
    run, written, one
):
    job = run(lambda: one.stream(tasks.failing, "zero"))
    assert job.join(DEADLINE_SECONDS)
    (line,) = written()
    assert line["id"] in job.error_text
    assert "ZeroDivisionError: the count went astray" in line["traceback"]
    assert "in failing" in line["traceback"]  # where it happened, in the other process


def page():
    import streamlit as st

    from ui.work.errors import reported

    with reported("Somewhere"):
        st.text("before")
        raise ZeroDivisionError("secret of a visitor")
    st.text("after")


def test_an_error_of_a_page_is_a_sentence_with_its_id(written, monkeypatch):
    monkeypatch.setattr(errors, "log", log)
    app = AppTest.from_function(page, default_timeout=DEADLINE_SECONDS).run()
    assert not app.exception
    (line,) = written()
    (shown,) = app.error
    error = f"an error of ours (ZeroDivisionError, in the log as {line['id']})"
    assert shown.value == f"This could not be drawn: {error}. The rest of the page works."
    assert [text.value for text in app.text] == ["before", "after"]
    assert "secret of a visitor" in line["traceback"]
    assert (line["event"], line["where"]) == ("page", "Somewhere")


def test_a_line_is_json_with_the_time_first():
    handler = log.LOG.handlers[0]
    record = logging.makeLogRecord({"msg": "%s", "args": ('{"event": "job"}',), "created": 0.0})
    line = json.loads(handler.format(record))
    assert list(line) == ["time", "event"]
    assert re.match(r"19(70|69)-", line["time"])
