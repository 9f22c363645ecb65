"""Claims opens on what was found, shows the core's numbers, and runs the study."""

import io
import json
import shlex
import time
from dataclasses import replace

import pandas as pd
import pytest
import streamlit as st

from gating_core.claims import FIRST, SECOND, STUDY_VERSION, Store, verdicts
from tests.ui.opening import figure, mistakes, numbers, open_page
from ui.claims import running, shared, study
from ui.claims.running import Status, StudyState
from ui.claims.shared import FILES, Source, file_bytes, judge_rows, refined_of, rows_of

PAGE = "pages/5_Claims.py"


@pytest.fixture(autouse=True)
def own_place(store):
    """No test sees the user's study."""


@pytest.fixture(scope="module")
def rows():
    """The bundled ones: models and stacks."""
    return rows_of(Source())


def texts(app):
    """All that is said in sentences."""
    return [x.value for x in (*app.markdown, *app.caption)]


def said(app, words):
    return any(words in text for text in texts(app))


def charts(app):
    return app.get("plotly_chart")


def awaited(is_so):
    """Wait until it is."""
    for _ in range(6000):
        if is_so():
            return
        time.sleep(0.01)
    raise AssertionError("it never was")


def status(monkeypatch, **about):
    """Let the server's study be as is said."""
    found = Status(StudyState.RUNNING, 10, 40, 75.0, options=("--quick",), owner="somebody")
    monkeypatch.setattr(running, "look", lambda store: replace(found, **about))


def present(monkeypatch, *sessions):
    """Let visitors of these ``sessions`` be here."""

    class Server:
        def is_active_session(self, session):
            return session in sessions

    monkeypatch.setattr(study, "exists", lambda: True)
    monkeypatch.setattr(study, "get_instance", Server)


def is_in_the_dock(block, element, docked=False):
    """Whether it stands where the style sheet puts it over the page, so that it moves nothing."""
    docked |= block.proto is not None and "dock-" in getattr(block.proto, "id", "")
    inner = getattr(block, "children", {}).values()
    return (docked and block is element) or any(is_in_the_dock(x, element, docked) for x in inner)


@pytest.fixture(scope="module")
def first():
    """The page as it opens."""
    return open_page(PAGE)


@pytest.fixture(scope="module")
def found(rows):
    """What the core says of the bundled rows, by edition and claim."""
    refined = refined_of(Source())
    return {edition.name: verdicts(*rows, edition=edition, refined=refined)
            for edition in (FIRST, SECOND)}  # fmt: skip


def test_it_opens_on_a_finding_of_every_claim(first, found):
    assert not first.exception
    assert not first.error
    (claims,) = [radio for radio in first.radio if radio.key == "claim"]
    assert claims.value == "C4"
    findings = dict(zip(claims.options, claims.proto.captions, strict=True))
    assert list(findings) == [f"C{n}" for n in range(1, 8)]
    for name, text in findings.items():
        one = found["second"].get(name) or found["first"][name]
        assert f"**{one.claim.title}**" in text
        assert f"**{one.word}**, {one.summary}" in text
        assert ("a check of our code" in text) == (name in ("C1", "C7"))
    assert "(criteria v1: ✓ supported)" in findings["C3"]
    assert said(first, f"{found['second']['C4'].sentences}")
    assert said(first, ", bundled. Version")


@pytest.mark.parametrize(("claim", "link", "charted"), [
    *((f"C{n}", {}, "") for n in range(1, 8)),
    ("C3", {"criteria": "v1"}, ""), ("C4", {"criteria": "v1", "show": "all variants"}, ""),
    ("C4", {"show": "all variants"}, ""), ("C6", {"measure": "proxy"}, "proxy"),
    ("C6", {"criteria": "v1", "measure": "∫|K| dA"}, "∫|K| dA"),
])  # fmt: skip
def test_every_claim_has_its_verdict_chart_rule_and_download(claim, link, charted, found):
    app = open_page(PAGE, claim=claim, **link)
    assert not app.exception
    edition = "second" if claim in SECOND.claims and link.get("criteria") != "v1" else "first"
    one = found[edition][claim]
    assert said(app, f"**{one.word}**: {one.sentences}")
    version = {"first": "v1", "second": "v2"}[edition]
    assert said(app, f"**The rule of {claim}, criteria {version}, preregistered on")
    other = any(text.startswith("*Criteria v") for text in texts(app))
    assert other == (claim in SECOND.claims)
    (chart,) = charts(app)
    assert len(chart.proto.alt) > 20
    assert charted in json.loads(chart.proto.spec)["layout"]["xaxis"]["title"]["text"]
    assert len(app.get("download_button")) == 1
    assert not mistakes(app)


def test_a_chart_has_the_means_of_the_core(found):
    app = open_page(PAGE, claim="C4")
    layout = figure(app, "claims_chart_C4_second_0_False")
    rows = layout["layout"]["yaxis"]["ticktext"]
    means = {}
    for trace in layout["data"]:
        if "customdata" not in trace:
            means |= {
                rows[int(y)]: x
                for x, y in zip(numbers(trace["x"]), numbers(trace["y"]), strict=True)
            }
    for variant in ("sigmoid", "additive"):
        for one in found["second"]["C4"].evidence.families[variant]:
            mean = 100 * one.measured.mean
            assert means[f"{one.pairs.task}: {variant}"] == pytest.approx(mean)


def test_all_variants_are_shown_if_asked_for():
    def lines(**link):
        (chart,) = charts(open_page(PAGE, **link))
        return len(json.loads(chart.proto.spec)["layout"]["yaxis"]["ticktext"])

    assert (lines(criteria="v1"), lines(criteria="v1", show="all variants")) == (6, 42)
    assert (lines(), lines(show="all variants")) == (12, 24)


def test_a_link_names_what_it_could_not_use():
    app = open_page(PAGE, claim="C9", rows="yours", study="x", tab="Nowhere")
    assert not app.exception
    assert {text.split("`")[1] for text in mistakes(app)} >= {"claim", "rows", "study"}
    assert len(charts(app)) == 1


def test_live_rows_and_what_is_excluded_of_them(store, rows, first):
    assert said(open_page(PAGE, rows="live"), "No study has been run here yet. Bundled rows are")
    assert not store.exists()
    some = [row for row in rows[0] if row.task == "xor" and row.seed < 4]
    others = [replace(row, key=f"{row.key}x", steps=50) for row in some[:5]]
    with Store(store) as opened:
        opened.write([*some, *others])
    app = open_page(PAGE, rows="live", claim="C3")
    assert not app.exception
    assert said(app, ", trained here.")
    assert said(app, "Excluded: 5 models. They have another version")
    assert said(app, "**The rule of C3, criteria v1")  # none of its seeds is of v2
    assert said(app, "*Criteria v2* (24 November 2026, seeds –): ? **not enough data**")
    assert not said(first, "Excluded")


def test_rows_of_an_older_version_are_named(store, rows):
    with Store(store) as opened:
        opened.write([replace(row, code="d1d7abe7b131") for row in rows[0][:20]])
    app = open_page(PAGE, rows="live")
    assert said(app, f"of version d1d7abe7b131 of the study; version {STUDY_VERSION} runs here.")


def test_a_file_that_is_no_store_is_one_sentence_and_stays(store):
    store.write_text("a letter to my aunt, which is no store of any study" * 9)
    before = store.read_bytes()
    app = open_page(PAGE, rows="live")
    assert not app.exception
    assert said(app, "The live rows cannot be read:")
    assert said(app, "Bundled rows are shown.")
    assert store.read_bytes() == before


def test_the_fold_has_the_whole_rule_and_all_numbers(found):
    app = open_page(PAGE, claim="C5", numbers="true")
    assert said(app, f"**What would change it.** {found['first']['C5'].changes}")
    (table,) = app.dataframe
    assert [*table.value.columns] == [*found["first"]["C5"].table.columns]
    assert len(table.value) == len(found["first"]["C5"].table.rows)


# --- Models ---------------------------------------------------------------------------------------


def test_the_models_are_a_table_with_accuracies_and_files(rows):
    app = open_page(PAGE, tab="Trained models")
    assert not app.exception
    table, accuracies = app.dataframe
    assert len(table.value) == len(rows[0])
    complete = [row.total_complete for row in rows[0]]
    assert table.value["complete"].sum() == sum(complete) < len(complete)
    assert len(accuracies.value) == 64
    assert said(app, "Choose a row to open its model")
    assert len(app.get("download_button")) == len(FILES) + 1


def test_a_clicked_point_opens_its_model(monkeypatch, rows):
    row = next(row for row in rows[0] if row.variant == "sigmoid" and row.seed == 17)
    event = {"selection": {"points": [{"customdata": row.key}]}}
    monkeypatch.setattr(st, "plotly_chart", lambda *a, **k: event)
    app = open_page(PAGE)
    assert not app.exception
    assert said(app, f"**{row.task}, sigmoid, seed 17")
    (link,) = [x.proto for x in app.get("page_link") if "This model" in x.proto.label]
    assert "picked_seed=17" in link.query_string
    assert "first=16" in link.query_string
    event["selection"]["points"] = [{"x": 1.0}]
    assert said(open_page(PAGE), "This point is no trained model.")


# --- The study ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ({}, ["--quick"]),
        ({"study": "full (v1)"}, ["--full"]),
        ({"study": "criteria v2"}, ["--second"]),
        (
            dict(study="own selection", tasks="xor", variants=["ungated", "silu"], many="9"),
            ["--full", "--tasks", "xor", "--variants", "ungated,silu", "--seeds", "9"],
        ),
        (
            dict(study="own selection", only="C6", study_parts="base", study_steps="200",
                 many="32"),
            ["--full", "--only", "C6", "--parts", "base", "--steps", "200"],
        ),
        (
            dict(study="own selection", product="true", tasks="moons"),
            ["--grid", "all", "--tasks", "moons", "--seeds", "16"],
        ),
        ({"scheduler": "tcp://127.0.0.1:8786"}, ["--quick", "--scheduler", "tcp://127.0.0.1:8786"]),
    ],
)  # fmt: skip
def test_the_command_equals_the_page(query, options, store, monkeypatch):
    begun = []
    monkeypatch.setattr(study, "silence_trouble", lambda address: "")
    monkeypatch.setattr(running, "start", lambda *about: begun.append(about) or "")
    app = open_page(PAGE, tab="Run the study", **query)
    (code,) = app.code
    words = ["python", "-m", "gating_core.claims", "run", *options, "--store", str(store)]
    assert shlex.split(code.value) == words
    app.button(key="claims_run").click().run()
    assert not app.exception
    assert [list(one[0]) for one in begun] == [options]
    assert app.query_params["rows"] in ("live", ["live"])


def test_an_address_elsewhere_is_refused_unless_the_server_names_it(monkeypatch):
    begun = []
    monkeypatch.setattr(study, "silence_trouble", lambda address: "")
    monkeypatch.setattr(running, "start", lambda *about: begun.append(about) or "")
    for named in ("", "tcp://cluster:8786"):
        monkeypatch.setenv("GATING_CLAIMS_SCHEDULERS", named)
        app = open_page(PAGE, tab="Run the study", scheduler="tcp://cluster:8786")
        app.button(key="claims_run").click().run()
        assert bool(begun) == bool(named)
        assert bool(app.error) != bool(named)
    assert not app.exception


def test_everybody_sees_a_running_study_and_may_stop_it_once_its_owner_is_gone(monkeypatch):
    status(monkeypatch)
    present(monkeypatch, "another")
    stopped = []
    monkeypatch.setattr(running, "stop", lambda store, why: stopped.append(why))
    app = open_page(PAGE, tab="Run the study")
    for docked, page in ((False, app), (True, open_page(PAGE))):  # beside its button, if seen
        (bar,) = page.get("progress")
        assert "10 of 40 rows, about 1 min 15 s left" in bar.proto.text
        assert is_in_the_dock(page.main, bar) == docked
    assert app.button(key="claims_run").disabled
    app.button(key="claims_Pause").click().run()
    app.button(key="claims_Cancel").click().run()
    assert stopped == [StudyState.PAUSED, StudyState.CANCELLED]


def test_a_study_that_has_no_worker_says_so_and_may_be_cancelled(monkeypatch):
    status(monkeypatch, done=0, workers=0)
    present(monkeypatch)
    app = open_page(PAGE)
    (bar,) = app.get("progress")
    assert bar.proto.text.endswith("0 of 40 rows, 0 workers connected")
    assert not app.button(key="claims_Cancel").disabled


def test_only_its_owner_may_stop_it(monkeypatch):
    status(monkeypatch)
    present(monkeypatch, "somebody")
    app = open_page(PAGE)
    assert app.button(key="claims_Pause").disabled
    assert app.button(key="claims_Cancel").disabled


def test_results_are_shown_while_they_arrive(monkeypatch, store, rows):
    """Nobody waits for newer verdicts: those of before are shown until they are there."""
    status(monkeypatch)
    present(monkeypatch)
    some = [row for row in rows[0] if row.task == "xor" and row.seed < 9]
    with Store(store) as opened:
        opened.write(some[:20])
    shared._so_far.clear()
    shared._seen.clear()
    shared._judging.add(str(store))  # as if it took longer than a run of the page
    app = open_page(PAGE, rows="live")
    assert said(app, "The live rows are being judged. Bundled rows are shown.")

    def judge():
        shared._judging.discard(str(store))
        app.run()
        awaited(lambda: not shared._judging)
        app.run()

    judge()
    assert said(app, "Rows: 20 trained models")
    with Store(store) as opened:
        opened.write(some)
    shared._seen.clear()  # some seconds later
    shared._judging.add(str(store))
    app.run()
    assert said(app, "Rows: 20 trained models")
    judge()
    assert said(app, f"Rows: {len(some)} trained models")
    assert not app.exception


@pytest.mark.parametrize(
    ("state", "told", "resumes"),
    [
        (StudyState.PAUSED, "The study is paused", True),
        (StudyState.CANCELLED, "The study was cancelled", False),
        (StudyState.COMPLETE, "The study is complete", False),
        (StudyState.ENDED, "The study has ended: the disk is full", True),
    ],
)
def test_an_end_is_said_until_it_is_closed_and_can_be_taken_up(monkeypatch, state, told, resumes):
    def is_told(app):
        return any(text.removeprefix(":material/info: ").startswith(told)
                   for text in (*texts(app), *(x.value for x in app.error)))  # fmt: skip

    status(monkeypatch, began=5.0)
    app = open_page(PAGE)
    status(monkeypatch, state=state, trouble="the disk is full", began=5.0)
    begun = []
    monkeypatch.setattr(running, "start", lambda *about: begun.append(about) or "")
    assert is_told(app.run())
    buttons = [x for x in app.button if x.key == "claims_resume"]
    assert bool(buttons) == resumes
    if resumes:
        buttons[0].click().run()
        assert begun[0][0] == ("--quick",)
    app.button(key="claims_close").click().run()
    assert not app.exception
    assert not is_told(app)
    status(monkeypatch, state=state, trouble="the disk is full", began=6.0)
    assert is_told(app.run()) == resumes  # another study, which this visitor has not seen run
    newcomer = open_page(PAGE, tab="Run the study")
    assert is_told(newcomer) == resumes
    assert said(newcomer, f"The last one here: {told}")


def test_what_cannot_be_run_from_a_page_is_said_and_its_command_still_shown(monkeypatch):
    begun = []
    monkeypatch.setattr(running, "start", lambda *about: begun.append(about) or "")
    app = open_page(PAGE, tab="Run the study", study="own selection", product="true")
    assert "hours, and a page's study 1 at most" in app.warning[0].value
    assert app.button(key="claims_run").disabled
    assert "--grid all" in app.code[0].value
    app = open_page(PAGE, tab="Run the study", study="own selection", tasks="xor", many="8")
    assert not app.warning
    assert said(app, "144 models and 128 stacks, without those that are there already.")


# --- What is taken home ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["models.csv", "stacks.parquet"])
def test_files_hold_every_row(name, rows):
    data = io.BytesIO(file_bytes(Source(), name))
    frame = pd.read_csv(data) if name.endswith("csv") else pd.read_parquet(data)
    wanted = rows[name.startswith("stacks")]
    assert len(frame) == len(wanted)
    assert set(frame["key"]) == {row.key for row in wanted}


def test_the_report_is_made_of_what_is_shown(store, rows):
    with Store(store) as opened:
        opened.write([row for row in rows[0] if row.task == "xor" and row.seed < 9])
        opened.write(rows[1])
    source = Source(str(store), (1,))
    report = file_bytes(source, "claims.md").decode()
    assert report.startswith("# Does the paper hold here?")
    found = judge_rows(source)
    for one in found.claims.values():
        assert f"{one.claim} {one.title}: {one.word}\n" in report
    for one in found.second.values():
        assert f"{one.claim} {one.title}, second edition: {one.word}\n" in report


def test_rows_that_wait_in_the_log_of_the_store_are_noticed(store):
    """SQLite writes there first."""
    store.touch()
    before = shared.read_stamp(store)
    store.with_name(f"{store.name}-wal").write_bytes(b"rows")
    assert shared.read_stamp(store) != before
