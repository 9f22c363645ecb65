"""Decision boundary trains a run before its visitor's eyes, and says what its numbers say."""

import csv
import io
import json
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from gating_core import measure
from gating_core.experiments.comparison import (
    FRAME_GRID,
    VARIANTS,
    CurvatureSummary,
    Setting,
    TrainedRun,
    final_curvature,
    impossible_variants,
    measure_each,
    strengths_model,
    train_setting,
    training_frames,
    typical_member,
)
from gating_core.experiments.comparison.frames import curvature_along
from gating_core.geometry import CURVED, FLAT, UNKNOWN, Integral, Verdict, square_grid
from gating_core.training import mean_interval
from tests.ui.decision_boundary.playing import (
    PAGE,
    Halted,
    assert_shown,
    at_a_halt,
    choose,
    finish,
    job_of,
    open_boundary,
    picture,
    run_of,
    shown_of,
    table_of,
    texts_of,
    totals,
)
from tests.ui.opening import (
    TIMEOUT_SECONDS,
    data_of,
    dated_text,
    notes,
    offered,
    open_page,
    report,
)
from ui.common.formatting import doubt_text, exact_text, headline_text
from ui.decision_boundary import controls, film, results
from ui.decision_boundary.controls import FIRST, TITLES, BoundaryView
from ui.decision_boundary.film import VIEW_KEY, MeasurementRequest, gaussian_of, picture_of
from ui.decision_boundary.frames import EYE, film_of
from ui.work import jobs, pool, runs
from ui.work.cache import Cache
from ui.work.jobs import State
from ui.work.pool import Rank

SMALL = Setting(seed_count=3, steps=20, points=400)
quick = pytest.mark.usefixtures("quick")


@cache
def trained(setting: Setting) -> TrainedRun:
    *_, run = train_setting(setting)
    return run


def finding_of(app):
    bold = next(x.value for x in app.markdown if re.search("test accuracy|learned much", x.value))
    rest = next(x.value for x in app.text if "paired by seed" in x.value)
    return f"{bold} {rest}"


def with_finals(run, *shares):
    """``run`` with other final test accuracies of both variants, by seed."""
    frames = [replace(frame, snapshots=dict(frame.snapshots)) for frame in run.frames]
    for name, share in zip(run.setting.compared, shares, strict=True):
        last = frames[-1].snapshots
        last[name] = replace(last[name], test_accuracy=np.array(share))
    return replace(run, frames=tuple(frames))


# --- First sight ----------------------------------------------------------------------------------


def test_the_default_is_shown_without_any_job(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a fresh server computes what is bundled")

    monkeypatch.setattr(runs, "CACHED_RUNS", Cache(1e9))
    for module, name in ((runs, "train_setting"), (pool.POOL, "stream"), (jobs.Job, "run")):
        monkeypatch.setattr(module, name, refuse)
    app = open_page(PAGE, paint="curvature")
    assert not app.exception
    run = run_of(app)
    assert run.setting == FIRST
    assert not MeasurementRequest().lacks(runs.cached_run(FIRST))
    header, arrays = picture(app)
    assert (dated_text(app), header["follow"]) == ("", "")
    assert header["frame"] == len(header["places"]) - 1 == len(run.frames) - 1
    assert abs(arrays["rightK"]).max() > 0  # K is there
    finals = [run.variants[n].ensemble.test_accuracy[-1] for n in run.setting.compared]
    gap = mean_interval(finals[1] - finals[0])
    mean, half = re.match(
        r"The sigmoid gate increases test accuracy by ([\d.]+) ± ([\d.]+) points\."
        r" 11 of 16 seeds with sigmoid gate exceed the best with no gate; the other 5 gain at most"
        r" 0\.3 points\. Mean with no gate 73.4 ± 2.4\u00a0%"
        r" \(step 400, 16 seeds, 95 % interval, paired by seed\)\.$",
        finding_of(app),
    ).groups()
    assert abs(float(mean) - 100 * gap.mean) <= 0.051
    assert 0 <= float(half) - 100 * gap.half_width < 0.1
    member = typical_member(run)
    for side, name in zip(header["sides"], run.setting.compared, strict=True):
        assert side["name"] == f"{TITLES[name]} · seed {run.task.seeds[member]}"
        total = shown_of(app).final[name, member].total
        text = headline_text(total, name == "ungated")
        assert side["more"][-1].startswith(f"total curvature {text} · ")
        assert side["exact"][-1] == exact_text(total)
    left, right = header["sides"]
    assert left["verdict"][-1] == "Flat surface: 2 open lines · test accuracy 74\u00a0%"
    assert right["verdict"][-1] == "Curved surface: a closed loop · test accuracy 92\u00a0%"
    assert re.search(r" · flat \(proved: .*\)$", left["more"][-1])
    assert all(re.match("(Curved surface|Boundary): ", told) for told in right["verdict"])


# --- Training is shown while it happens -----------------------------------------------------------


@quick
def test_a_new_run_is_followed_from_its_first_steps(monkeypatch):
    app = open_boundary()
    monkeypatch.setattr(runs, "REDRAWN_SECONDS", 0)  # all parts of the page show the same run
    halt = Halted(monkeypatch, 5)
    app.query_params["steps"] = "100"
    app.button(key="new_seeds").click().run()
    assert halt.reached.wait(TIMEOUT_SECONDS)
    at_a_halt(app, 3)
    app.run()
    header, _ = picture(app)
    assert dated_text(app) == ""
    assert header["follow"]
    assert header["grows"]
    assert header["labels"][0] == "Step 0, epoch 0"
    assert 1 <= len(header["places"]) == len(run_of(app).frames) < 8
    assert header["eye"] == [*EYE]
    followed = header["follow"]
    assert "the previous run, until the new one is complete" in texts_of(app)
    halt.release.set()
    finish(app)
    header, _ = picture(app)
    assert (header["follow"], header["grows"]) == (followed, False)
    assert run_of(app).setting.seeds == (2, 3)
    assert "previous run" not in texts_of(app)


@quick
def test_the_place_of_the_finding_is_there_before_a_first_run_is(monkeypatch):
    halt = Halted(monkeypatch, 2)
    app = open_boundary(finished=False, first="70")
    assert halt.reached.wait(TIMEOUT_SECONDS)
    rows = data_of(app, "seed_strip")["rows"]
    assert [(row["name"], row["values"]) for row in rows] == [
        (TITLES[x], []) for x in FIRST.compared
    ]
    halt.release.set()
    finish(app)
    finish(app.button(key="train_on").click().run())
    assert [len(row["values"]) for row in data_of(app, "seed_strip")["rows"]] == [2, 2]
    assert run_of(app).setting.steps == 50 + controls.MORE_STEPS


@quick
def test_who_stops_at_a_step_stays_there_and_the_page_shows_it():
    app = open_boundary(seeds="3", curves="true")
    steps = picture(app)[0]["places"]
    report(app, VIEW_KEY, "left", {"frame": 4, "point": [6, 7], "corners": None, "serial": 1})
    header, _ = picture(app)
    assert (header["frame"], header["point"]) == (4, [6, 7])
    charts = [json.loads(c.proto.spec) for c in app.get("plotly_chart")]
    marks = [x["layout"]["shapes"][0]["x0"] for x in charts if "shapes" in x["layout"]]
    assert marks == [steps[4]] * 3
    report(
        app,
        VIEW_KEY,
        "left",
        {"frame": len(steps) - 1, "point": None, "corners": None, "serial": 2},
    )
    assert film.STOPPED not in app.session_state  # whoever looks at the last step sees the next
    assert picture(app)[0]["frame"] == len(steps) - 1


@quick
def test_looking_differently_trains_nothing():
    app = open_boundary(seeds="3", setup="true")
    before, first = run_of(app), picture(app)[0]
    app.selectbox(key="who").set_value("worst right").run()
    app.radio(key="paint").set_value("curvature").run()
    app.toggle(key="discrete").set_value(True).run()
    assert run_of(finish(app)) is before
    assert picture(app)[0]["places"] == first["places"]
    assert picture(app)[0]["ends"][0].startswith("K =")


# --- Nothing is lost of a run that diverges, is cancelled or left ---------------------------------


@quick
def test_a_run_that_diverges_says_where_and_keeps_what_it_had(monkeypatch):
    monkeypatch.setitem(controls.RATES, "0.1", 10.0)
    app = open_boundary(optimiser="sgd", rate="0.1", steps="400")
    run = run_of(app)
    assert run.divergence is not None
    header, _ = assert_shown(app)
    bold = finding_of(app)
    assert f"at step {run.divergence.step} for seed {run.divergence.members[0][1]}" in bold
    assert "Shown: the steps before. " in bold
    assert 1 < len(header["places"]) == len(run.frames) < 40


@quick
def test_a_cancelled_run_keeps_its_part_and_goes_on_from_there(monkeypatch):
    app = open_boundary(first="58")
    halt = Halted(monkeypatch, 5)
    app.button(key="new_seeds").click().run()
    at_a_halt(app, 3)
    job_of(app).cancel_by_visitor()
    finish(app)
    part = run_of(app)
    assert job_of(app).state is State.CANCELLED
    assert "Training was cancelled after" in texts_of(app)
    assert f", at step {part.steps[-1]} of 50. Results so far are kept." in texts_of(app)
    header, _ = assert_shown(app)
    assert (len(header["places"]), header["grows"]) == (len(part.frames), False)
    assert totals(app) == ["total curvature not measured"] * 2
    assert run_of(app.run()) is part  # it waits for a click
    halt.release.set()
    finish(app.button(key="go_on").click().run())
    whole = trained(run_of(app).setting)
    assert run_of(app).steps.tolist() == whole.steps.tolist()
    for name, variant in run_of(app).variants.items():
        for key, array in variant.ensemble.state.items():
            np.testing.assert_array_equal(array, whole.variants[name].ensemble.state[key])
    assert totals(app)[0] == "total curvature 0"


# --- Links ----------------------------------------------------------------------------------------


@quick
def test_a_link_restores_an_experiment():
    query = dict(
        data="blobs3",
        left="silu",
        right="tanh",
        who="worst right",
        paint="curvature",
        noise="0.1",
        flip="0.04",
        share="0.5",
        width="4",
        slots="3",
        attention_heads="2",
        stack="2",
        skip="true",
        rms="pre",
        out="true",
        optimiser="sgd",
        rate="0.05",
        batch="16",
        decay="0.1",
        soft="0.05",
        price="bending",
        price_weight="0.1",
        first="7",
        discrete="true",
        **{"from": "tokens"},
        also=["value"],
    )
    app = open_boundary(**query)
    assert not app.warning
    assert "by 0.05 × the entropy" in notes(app)[0]
    assert "not whole in a run of 50 steps" in notes(app)[1]
    assert run_of(app).setting == Setting(
        task="blobs3",
        points=64,
        train_share=0.5,
        noise=0.1,
        label_noise=0.04,
        variants=("silu", "tanh", "value"),
        source="tokens",
        model_dim=4,
        value_count=3,
        heads=2,
        depth=2,
        residual=True,
        norm="pre",
        output_projection=True,
        seed=7,
        seed_count=2,
        steps=50,
        optimiser="sgd",
        learning_rate=0.05,
        momentum=0.9,
        batch_size=16,
        weight_decay=0.1,
        entropy_bonus=0.05,
        price="bending",
        price_weight=0.1,
    )
    assert_shown(app)


@quick
def test_a_choice_changes_link_and_run():
    app = open_boundary(also="tanh")
    assert app.selectbox(key="right_menu").options == [*TITLES.values()]
    finish(choose(app, "right", "silu"))
    assert run_of(app).setting.variants == ("ungated", "silu", "tanh")
    assert "".join(app.query_params["right"]) == "silu"
    titles = ["no gate", "SiLU gate", "tanh gate"]
    assert list(table_of(app)["Variant"]) == titles
    assert [row["name"] for row in data_of(app, "seed_strip")["rows"]] == titles
    choose(app, "right", "sigmoid")
    assert "right" not in app.query_params  # the default: a link says nothing of it


# --- Numbers on the screen ------------------------------------------------------------------------


@quick
def test_files_to_take_away():
    app = open_boundary()
    run = run_of(app)
    offer = offered(app)
    assert [*offer.files] == ["Weights", "Script", "Notebook"]
    charts = results.c.Charts("decision_boundary")
    charts.later = lambda: results.logs(shown_of(app))
    log, curvature = (
        list(csv.DictReader(io.StringIO(charts.csv_files()[name])))
        for name in ("log", "total curvature")
    )
    for row in log[:: len(log) // 5]:
        ensemble = run.variants[row["variant"]].ensemble
        at = run.steps.tolist().index(int(row["step"])), int(row["seed"])
        assert float(row["test_accuracy"]) == pytest.approx(ensemble.test_accuracy[at])
    assert len(curvature) == 4 * len(run.frames)
    for name in run.setting.compared:
        surface = offer.surfaces[TITLES[name]]
        assert surface.name == f"circle_{name}_seed0_step50"
        want = training_frames(run, name, 0).values[-1]
        made = surface.make("a line")
        np.testing.assert_allclose(made.points, want, atol=1e-12)
        model = strengths_model(run.variants[name].ensemble, 0).attention
        again = measure(model, square_grid(FRAME_GRID).points).field
        known, error = (made.fields[part].ravel() for part in ("K", "error of K"))
        told = ~np.isnan(known) & (known != 0)
        off = np.abs(known - again.gaussian.numpy())
        assert np.all(off[told] <= (error + again.gaussian_error.numpy())[told])
        assert told.any() == (name != "ungated")
        assert {"|H|", "weight 1 of head 1"} <= {*made.fields}
        assert any(part.startswith("gate ") for part in made.fields) == (name != "ungated")


SLOTS_CANNOT = impossible_variants("memory")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("right", [name for name in VARIANTS if name != "ungated"])
def test_every_variant(right):
    drawn(variants=("ungated", right), source="tokens" if right in SLOTS_CANNOT else "memory")


def drawn(**more):
    """What the page makes of a short run: everything is there, and finite."""
    run = trained(Setting(seed_count=2, steps=5, points=64, **more))
    shown = runs.Shown(run)
    made = picture_of(film_of(run, 0, False), run, 0, gaussian_of(shown, 0), BoundaryView())
    frames = len(made.pair.places)
    assert frames > 1
    for name, side in zip(run.setting.compared, made.pair.sides, strict=True):
        assert len(film.verdicts(shown, name, 0, False)) == frames == len(side.values)
        assert np.isfinite(side.values).all()
        assert np.isfinite(side.shares).all()
    assert {len(column) for column in results.table(run).values()} == {len(run.variants)}
    assert results.table_note(run).startswith("After step 5. ")
    return run


# --- Sentences ------------------------------------------------------------------------------------

SPREAD = np.array([-0.01, 0.0, 0.01])


@pytest.mark.parametrize(
    ("left", "right", "start"),
    [
        # One mean: of 73.4, 85.8 and their difference 12.33, rounded, one would seem wrong.
        (0.7344, 0.8577, "The sigmoid gate increases test accuracy by 12.3 ± 0.0 points."
         " 3 of 3 seeds with sigmoid gate exceed the best with no gate. Mean with no gate"
         " 73.4 ± 2.5\u00a0% (step 20, 3"),
        (0.7344, 0.7544, "The sigmoid gate increases test accuracy by 2.0 ± 0.0 points."
         " 2 of 3 seeds with sigmoid gate exceed the best with no gate; the other 1 gains at most"
         " 2.0 points. Mean with no gate 73.4 ± 2.5\u00a0% (step 20, 3 seeds, 95 % interval, paired"
         " by seed)."),
        (0.8577, 0.80, "The sigmoid gate reduces test accuracy by 5.8 ± 0.0 points."),
        (0.80, 0.80, "Whether the sigmoid gate changes test accuracy is inconclusive."
         " no gate 80.0 ± 2.5\u00a0%, difference 0.0 ± 0.0 p"),
        (0.60, 0.61, "Neither model has learned much. no gate 60.0 ± 2.5\u00a0%, sigmoid gate"
         " 61.0 ± 2.5\u00a0% (step 20, 3 seeds, 95 % interval, paired"
         " by seed); always predicting the larger class"),
    ],
)  # fmt: skip
def test_a_finding_follows_from_its_interval(left, right, start):
    run = with_finals(trained(SMALL), left + SPREAD, right + SPREAD)
    assert " ".join(results.finding(run)).startswith(start)


@pytest.mark.parametrize(
    ("accuracy", "learned"),
    [([0.73, 0.74, 0.75], True), ([0.735, 0.74, 0.745], True), ([0.739, 0.74, 0.741], False)],
)  # the upper end of the interval is beyond 0.75, or not
def test_nothing_is_learned_where_an_interval_ends_below_halfway_to_all(accuracy, learned):
    base = np.full(3, 0.5)
    assert results.has_learned(np.array(accuracy), base) is learned
    assert results.has_learned(np.array(accuracy) + 0.1, base + 0.2) is learned  # halfway is 0.85


def test_a_lopsided_class_and_variants_no_better_than_it_are_named():
    run = trained(replace(SMALL, balance=0.1))
    base = np.maximum((run.task.test_labels == 0).mean(1), (run.task.test_labels == 1).mean(1))
    text = f"lways predicting the larger class gets {100 * base.mean():.0f}\u00a0%"
    run = with_finals(run, base, base + 0.08)
    assert f"paired by seed); a{text}." in results.finding(run)[1]
    assert results.table_note(run).endswith(
        f"A{text}. Not significantly better than that: no gate."
    )
    assert "largest class" in results.table_note(trained(replace(SMALL, task="blobs3")))


def exact(number):
    return torch.tensor(number, dtype=torch.bool if isinstance(number, bool) else torch.float64)


@pytest.mark.parametrize(
    ("word", "total", "text"),
    [
        (FLAT, (4.0, 0.1, True), "0"),
        (CURVED, (4.0, 0.1, True), "4.0"),
        (CURVED, (4.0, 0.1, False), "at least 4.0 ± 0.1"),
        (CURVED, (7.0, 3.0, True), "7 ± 3, not converged to 10\u00a0%"),
        (CURVED, (4.0, 3.0, True), UNKNOWN),
    ],
)
def test_a_total_has_its_error_in_its_own_frame(word, total, text):
    run = trained(SMALL)
    verdict = Verdict(word, 1.0, 0.0, 0.0, 0.0, 0.0, 1e-9, "estimate", None, 961)
    end, count, key = Integral(*map(exact, total)), len(run.frames), ("sigmoid", 0)
    along = Integral(
        torch.arange(count) + 2.0,
        torch.full((count,), 0.1, dtype=torch.float64),
        torch.ones(count) > 0,
    )
    shown = runs.Shown(
        run,
        {key: CurvatureSummary(*key, along, (verdict,) * count)},
        {key: CurvatureSummary(*key, end, (verdict,))},
    )
    told = film.verdicts(shown, "sigmoid", 0, False)
    assert told[-1][1].split(" · ")[0] == f"total curvature {text}"
    sure = word == CURVED and total[2] and text != UNKNOWN
    assert (doubt_text(end, verdict) in told[-1][1]) == (not sure)
    earlier = "0" if word == FLAT else "3.0"
    assert told[1][1].split(" · ")[0] == f"total curvature {earlier}"
    assert told[1][1].endswith("none seen at 961 points") == (word == FLAT)
    assert ("the surface folds too sharply · " in told[-1][1]) == (text == UNKNOWN)
    assert told[-1][2] == exact_text(end)


# --- What is measured, in which order -------------------------------------------------------------


def test_the_seed_shown_stays_while_a_run_trains(monkeypatch):
    """Another one would be typical of each step, and all of its frames would be sampled anew."""
    run, request = trained(SMALL), MeasurementRequest()
    typical = iter(range(9))
    monkeypatch.setattr(film.comparison, "typical_member", lambda run: next(typical))
    assert [request.growing_member(replace(run, frames=run.frames[:n])) for n in (1, 4, 9)] == [
        0
    ] * 3
    assert request.member(run) == 1
    request.which = "best left"
    best = request.member(run)
    assert request.growing_member(run) == best
    longer = replace(run, setting=replace(run.setting, seed=7))
    request.which = MeasurementRequest.which
    assert request.growing_member(longer) == 2


@pytest.mark.parametrize(("crowded", "rank"), [(False, Rank.FIRST), (True, Rank.REST)])
def test_nobody_who_waits_for_a_first_picture_waits_for_other_seeds(monkeypatch, crowded, rank):
    asked = []
    monkeypatch.setattr(type(pool.POOL), "crowded", crowded)

    def stream(function, run, works, rank):
        assert function is measure_each
        for kind, name, member in works:
            asked.append((kind, name, member, rank))
            at_end = kind is final_curvature
            yield CurvatureSummary(name, member, None, (), at_end=at_end)

    monkeypatch.setattr(pool.POOL, "stream", stream)
    shown, request = runs.Shown(trained(SMALL)), MeasurementRequest("picked", 1)
    names = SMALL.compared
    work = request.measure(shown)
    next(work)
    request.picked = 2  # whoever turns to another seed in the middle is served that one
    assert len([*work]) == 7
    assert asked == [
        (curvature_along, names[0], 1, rank),
        *((curvature_along, name, 2, rank) for name in names),
        *((final_curvature, name, 2, Rank.REST) for name in names),
        *((curvature_along, name, 0, Rank.REST) for name in names),
        (curvature_along, names[1], 1, Rank.REST),
    ]
