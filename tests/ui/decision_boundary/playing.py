"""Opening the Decision boundary page, waiting for it and reading it."""

import re
import threading
import time
from functools import partial

import numpy as np

from gating_core.experiments import budget
from gating_core.experiments.comparison import frames, run_curvature
from gating_core.experiments.comparison.run import TrainedRun
from tests.ui.opening import TIMEOUT_SECONDS, component, open_page, report
from tests.ui.payload import unpack
from ui.decision_boundary import training
from ui.decision_boundary.controls import VIEW_KEY
from ui.work import runs

PAGE = "pages/2_Decision_boundary.py"
QUICK = dict(seeds="2", steps="50", points="64")
GRID = 15
# Measured on fewer points; the default experiment is measured as visitors see it.
QUICKLY = (
    (budget, "AFFORDABLE_COST", 1e5),
    (frames, "FRAME_GRID", GRID),
    (run_curvature, "FRAME_GRID", GRID),
    (run_curvature, "FINAL_GRID", GRID),
)
AS_IT_IS = [(module, name, getattr(module, name)) for module, name, _ in QUICKLY]
DOWNLOADS = {"take_weights", "take_script", "take_log", "take_figure"}


def open_boundary(finished=True, **query):
    app = open_page(PAGE, **QUICK | query)
    return finish(app) if finished else app


def job_of(app):
    return app.session_state["_jobs"][training.JOB][0]


def finish(app):
    """Wait for the job as a browser does that polls; then nothing may be wrong."""
    assert job_of(app).join(TIMEOUT_SECONDS)
    app.run()
    assert not app.exception
    return app


def run_of(app) -> TrainedRun:
    return app.session_state[runs.last_key(training.JOB)].run


def picture(app):
    """What the linked view was sent: header and arrays."""
    return unpack(component(app, VIEW_KEY).proto.bytes)


def draw_points(app, points, labels, serial=1):
    """A message of the drawing square, as the browser sends it."""
    report(app, "own_draw", "drawn", {"points": points, "labels": labels, "serial": serial})
    return finish(app)


def choose(app, menu, word):
    """Open a menu of tiles and click one."""
    app.button(key=f"{menu}_menu").click().run()
    app.button(key=f"choose_{menu}_{word}").click().run()
    return app


def texts_of(app):
    return " ".join(e.value for e in (*app.caption, *app.markdown, *app.get("text")))


def totals(app, frame=-1):
    """The text on total curvature over both models in a frame."""
    captions = [column["captions"] for column in picture(app)[0]["columns"][:2]]
    return [lines[frame].split(" · ")[1] for lines in captions]


def total_shown(app, side):
    """The total curvature over the last frame of a side, without its doubt."""
    return float(re.search(r"total curvature \*\*([\d.]+) ±", totals(app)[side])[1])


def table_of(app):
    """Return the columns of the table of variants."""
    (text,) = [each.value for each in app.markdown if each.value.startswith("| Variant |")]
    titles, _, *rows = [line.strip("| ").split(" | ") for line in text.splitlines()]
    return dict(zip(titles, zip(*rows, strict=True), strict=True))


def downloads(app):
    return {button.key: button for button in app.get("download_button")}


def assert_shown(app):
    """A picture with a total over each side, a table and four things to take home."""
    assert not app.exception
    header, arrays = picture(app)
    assert header["frames"] > 1
    assert header["frame"] == header["frames"] - 1
    for name in ("left_x", "right_x", "left_colour", "right_colour"):
        assert np.isfinite(arrays[name]).all()
    assert len(table_of(app)["Variant"]) == len(run_of(app).setting.variants)
    assert all("total curvature" in line for line in totals(app))
    assert set(downloads(app)) >= DOWNLOADS
    return header, arrays


class Halted:
    """`train_setting` and `train_further`, but they wait after so many items until let go."""

    def __init__(self, monkeypatch, items):
        self.items, self.release = items, threading.Event()
        for name in ("train_setting", "train_further"):
            monkeypatch.setattr(runs, name, partial(self.run, getattr(runs, name)))

    def run(self, original, *arguments):
        for count, item in enumerate(original(*arguments)):
            yield item
            while count == self.items and not self.release.wait(0.01):
                yield 0.5


def at_a_halt(app, frames):
    """Wait until the job has a run of so many frames."""
    until(
        lambda: any(
            isinstance(x, TrainedRun) and len(x.frames) >= frames for x in job_of(app).items
        ),
        app,
    )


def until(reached, app):
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not reached():
        assert time.monotonic() < deadline
        job_of(app).join(0.05)


def endless(*_, **__):
    """What measures, and never finds anything."""
    while True:
        time.sleep(0.01)
        yield None
