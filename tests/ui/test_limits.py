"""Limits: all in one place, and the most that a page allows is affordable."""

import ast
import time
import tomllib
from dataclasses import replace
from urllib.parse import parse_qs

import pytest

from gating_core.experiments.comparison import Setting
from gating_core.experiments.instance import measure_instance
from gating_core.tasks import LARGEST_BYTES
from gating_core.theory import LONGEST_FORMULA, FormulaError, parse_formula
from tests.browser.addresses import states
from tests.each import each
from tests.test_boundaries import ui_sources
from tests.ui.opening import ROOT, TIMEOUT_SECONDS, jobs_of, open_page
from ui import limits
from ui.common.bar import PAGES, address
from ui.decision_boundary.controls import TooLong
from ui.decision_boundary.controls import resolve as resolve_run
from ui.limits import (
    BOUNDARY_SEEDS,
    BOUNDARY_STEPS,
    CACHE_BYTES,
    MANIFOLD_CHANNELS,
    MANIFOLD_HEADS,
    MANIFOLD_LAYERS,
    MANIFOLD_VALUES,
    TRAINING_NUMBERS,
)
from ui.manifold.shared import GRIDS, ManifoldRequest, at_strength, dial_request, resolve
from ui.work.cache import bytes_of
from ui.work.pool import Rank

CONFIG = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
BOUNDED = {"max_entries", "maxsize", "maxlen", "max_upload_size", "max_chars", "most", "within"}
MEANT_FOR_THE_SERVER = {
    "UPLOAD_MB": "maxUploadSize",
    "MESSAGE_MB": "maxMessageSize",
    "WIDGETS_MB": "maxWidgetStateSize",
}
FREE = {"within": 0, "maxlen": 0}  # which bounds no resource


def written_bounds(source: str) -> list[str]:
    """Arguments that bound something by a number at the place of use."""
    return [
        f"{keyword.arg}={ast.unparse(keyword.value)}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg in BOUNDED
        and isinstance(keyword.value, ast.Constant)
        and keyword.value.value != FREE.get(keyword.arg)
    ]


@each(ui_sources())
def test_no_limit_is_written_elsewhere(path):
    assert not written_bounds(path.read_text(encoding="utf-8"))


def test_a_formula_may_be_as_long_as_the_core_reads_and_what_is_longer_is_explained():
    longest = "u+1.".ljust(LONGEST_FORMULA, "0")
    parse_formula(longest)
    with pytest.raises(FormulaError, match=f"at most {LONGEST_FORMULA}"):
        parse_formula(f"{longest}0")
    assert limits.FORMULA_CHARACTERS > LONGEST_FORMULA


@pytest.mark.parametrize("name", MEANT_FOR_THE_SERVER)
def test_the_server_refuses_what_the_page_refuses(name):
    assert CONFIG["server"][MEANT_FOR_THE_SERVER[name]] == getattr(limits, name)
    assert LARGEST_BYTES <= limits.UPLOAD_MB * 1e6 < LARGEST_BYTES + 1e6
    assert 4 * limits.PASTED_CHARACTERS + limits.HEAD_BYTES < limits.WIDGETS_MB * 1e6


# --- Views ----------------------------------------------------------------------------------------


@pytest.fixture
def seconds(inline, monkeypatch):
    """Seconds of a core of each view by its rank and function; no other work is begun."""
    together, spent = inline.together, []

    def timed(function, calls, *, rank=Rank.FIRST, seconds=0.0, wait=0.0):
        for number, arguments in enumerate(calls):
            began = time.thread_time()
            for event in together(function, [arguments], rank=rank, wait=wait):
                yield (number, event[1]) if isinstance(event, tuple) else event
            spent.append((time.thread_time() - began, rank, function.__name__))

    monkeypatch.setattr(inline, "together", timed)
    with inline.busy():
        yield spent


def move_to_the_ends(app, end):
    """Set all numbers of a page to their ``max`` or ``min``, and those that this changes."""
    for _ in range(3):
        moves = []
        for control in [*app.slider, *app.number_input]:
            to = getattr(control, end)
            if to is not None and not isinstance(control.value, list | tuple):
                moves.append((control, to))
        for control in [*app.selectbox, *app.radio, *app.select_slider]:
            if all(text.replace(".", "").isdigit() for text in control.options):
                moves.append((control, control.options[-1 if end == "max" else 0]))
        moves = [(control, to) for control, to in moves if control.value != to]
        for control, to in moves:
            control.set_value(to)
        if not moves:
            return
        app.run()


LONGEST_GATE = "sin(" * 19 + "u*v" + ")" * 19
QUICK = ("Manifold", "source=tokens"), (
    "Which gates curve?", f"case=own&formula={LONGEST_GATE}"
)  # fmt: skip


@pytest.mark.parametrize("end", ["max", pytest.param("min", marks=pytest.mark.soak)])
@pytest.mark.parametrize(("title", "query"), [
    *QUICK,
    *(
        pytest.param(title, query, marks=pytest.mark.soak)
        for title in PAGES
        for query in states(address(title))
    ),
])  # fmt: skip
def test_no_view_takes_two_seconds_of_a_core_where_all_sliders_are_at_their_ends(
    title, query, end, seconds
):
    """What takes longer is ranked below views; what takes much longer is a job."""
    app = open_page(PAGES[title].path, **parse_qs(query))
    app.default_timeout = 10 * TIMEOUT_SECONDS
    move_to_the_ends(app, end)
    for job in jobs_of(app):
        job.cancel()
        job.join(TIMEOUT_SECONDS)
    assert not app.exception
    slow = [each for each in seconds if each[0] > (2.0 if each[1] is Rank.VIEW else 20.0)]
    assert slow == []


# --- Caches ---------------------------------------------------------------------------------------

FEW = 9  # points along each side, instead of the most
LARGEST = ManifoldRequest(
    source="tokens",
    depth=MANIFOLD_LAYERS[1],
    heads=MANIFOLD_HEADS[1],
    model_dim=MANIFOLD_CHANNELS[1],
    value_count=MANIFOLD_VALUES[1],
)


@pytest.mark.soak
@pytest.mark.parametrize("source", ["memory", "tokens"])
def test_the_largest_model_at_all_strengths_fits_into_the_cache(source):
    """Otherwise it would be measured again and again."""
    gated = resolve(replace(LARGEST, source=source)).variants[1]
    strengths = dial_request(gated, GRIDS[-1]).strengths
    frames = [measure_instance(at_strength(gated, x), FEW) for x in strengths]
    few = bytes_of(tuple(frames))
    finest = few * (GRIDS[-1] / FEW) ** 2
    assert CACHE_BYTES / 10 < finest < CACHE_BYTES


# --- Training -------------------------------------------------------------------------------------

LONG = dict(steps="4000", seeds="32", width="16", stack="4", batch="128")
HEAVY = dict(source="tokens", model_dim=16, value_count=8, heads=4, depth=4)
LONG_REFUSED = (
    "Too long for this page. Choose fewer steps, points, seeds, layers or dimensions. Shown: the"
    " last run that could be trained."
)


def test_a_training_of_minutes_is_refused_in_one_sentence():
    app = open_page("pages/2_Decision_boundary.py", **LONG)
    assert not app.exception
    assert [box.value for box in app.error] == [LONG_REFUSED]


def test_the_longest_training_of_small_models_is_not():
    most = dict(steps=BOUNDARY_STEPS[1], seed_count=BOUNDARY_SEEDS[1])
    assert resolve_run(most)[0].training_numbers <= TRAINING_NUMBERS
    with pytest.raises(TooLong):
        resolve_run(most | dict(model_dim=16, depth=4))


def test_numbers_of_a_training_grow_with_everything_that_takes_time():
    base = Setting()
    alone = base.training_numbers
    for more in (dict(seed_count=32), dict(batch_size=128, points=2048), dict(depth=2)):
        assert replace(base, **more).training_numbers == pytest.approx(2 * alone), more
    beside = replace(base, variants=(*base.variants, "silu"))
    assert beside.training_numbers == pytest.approx(1.5 * alone)
    one_step, two_steps = (replace(base, steps=steps).training_numbers for steps in (1000, 2000))
    assert two_steps - one_step == pytest.approx(1000 * base.step_numbers)  # as many snapshots


def test_a_short_training_with_costly_snapshots_is_refused():
    """Steps of 16 points, snapshots of all 4,000: these would take 80 seconds."""
    heavy = HEAVY | dict(batch_size=16, steps=50, points=4000, seed_count=4)
    with pytest.raises(TooLong):
        resolve_run(heavy)
    resolve_run(heavy | dict(points=1000))
