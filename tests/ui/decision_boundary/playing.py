"""Opening the Decision boundary page, waiting for it and reading it."""

import threading
import time
from functools import partial

from gating_core.experiments import measuring
from gating_core.experiments.comparison import frames, run, setting
from gating_core.experiments.comparison.run import TrainedRun
from gating_core.training.trainer import snapshot_steps
from tests.ui.opening import TIMEOUT_SECONDS, component, open_page
from tests.ui.payload import unpack
from ui.decision_boundary.film import JOB, VIEW_KEY
from ui.work import runs

PAGE = "pages/2_Decision_boundary.py"
QUICK = dict(seeds="2", steps="50", points="64")
GRID = 15


def few_steps(steps, count=None):
    """A dozen snapshots, not forty: every one is measured and drawn."""
    return snapshot_steps(steps, 12)


# Measured on fewer points; the default experiment is measured as visitors see it.
QUICKLY = (
    (measuring, "AFFORDABLE_COST", 1e5),
    (frames, "FRAME_GRID", GRID),
    (frames, "FINAL_GRID", GRID),
    (run, "snapshot_steps", few_steps),
    (setting, "snapshot_steps", few_steps),
)


def open_boundary(finished=True, **query):
    app = open_page(PAGE, **QUICK | query)
    return finish(app) if finished else app


def job_of(app):
    return app.session_state["_jobs"][JOB][0]


def finish(app):
    """Wait for the job as a browser does that polls; then nothing may be wrong."""
    job_of(app).join(TIMEOUT_SECONDS)
    assert job_of(app).over
    app.run()
    assert not app.exception
    return app


def shown_of(app) -> runs.Shown:
    return app.session_state[runs.last_key(JOB)]


def run_of(app) -> TrainedRun:
    return shown_of(app).run


def picture(app):
    """What the pair of surfaces was sent: header and arrays."""
    return unpack(component(app, VIEW_KEY).proto.bytes)


def choose(app, menu, word):
    """Choose data or a kind of attention by its word."""
    app.selectbox(key=f"{menu}_menu").set_value(word).run()
    return app


def texts_of(app):
    return " ".join(e.value for e in (*app.caption, *app.markdown, *app.get("text")))


def totals(app, frame=-1):
    """The text on total curvature over both models in a frame."""
    return [side["more"][frame].split(" · ")[0] for side in picture(app)[0]["sides"]]


def table_of(app):
    """Return the columns of the table of variants."""
    (text,) = [each.value for each in app.markdown if each.value.startswith("| Variant |")]
    titles, _, *rows = [line.strip("| ").split(" | ") for line in text.splitlines()]
    return dict(zip(titles, zip(*rows, strict=True), strict=True))


def assert_shown(app):
    """A picture with a total over each side, and the table of its run."""
    header, arrays = picture(app)
    assert header["frame"] == len(header["places"]) - 1 > 0
    assert len(table_of(app)["Variant"]) == len(run_of(app).setting.variants)
    assert all("total curvature" in line for line in totals(app))
    return header, arrays


class Halted:
    """`train_setting` and `train_further`, but they wait after so many items until let go."""

    def __init__(self, monkeypatch, items):
        self.items, self.reached, self.release = items, threading.Event(), threading.Event()
        for name in ("train_setting", "train_further"):
            monkeypatch.setattr(runs, name, partial(self.run, getattr(runs, name)))

    def run(self, original, *arguments):
        for count, item in enumerate(original(*arguments)):
            yield item
            if count == self.items:
                self.reached.set()
            while count == self.items and not self.release.wait(0.01):
                yield 0.5


def at_a_halt(app, frames):
    """Wait until the job has a run of so many frames."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not any(len(x.run.frames) >= frames for x in job_of(app).so_far.values()):
        assert time.monotonic() < deadline
        job_of(app).join(0.05)
