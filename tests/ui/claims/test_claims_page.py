"""Does the page of claims show verdicts, pictures, models and the study, whatever its link says?"""

import io
import json
import shlex
import time
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from streamlit.delta_generator import DeltaGenerator

from gating_core.claims import SECOND, STUDY_VERSION, WORDS, Store
from tests.ui.opening import data_of, mistakes, open_page, report
from ui.claims import measured, running, study
from ui.claims.running import Status, StudyState
from ui.claims.sources import FILES, Source, file_bytes, judge_rows, rows_of

PAGE = "pages/5_Claims.py"
TABLE = "claims_table"


@pytest.fixture(autouse=True)
def own_place(store):
    """No test sees the user's study."""


@pytest.fixture(scope="module")
def rows():
    """The shipped ones: models and stacks."""
    return rows_of(Source())


def texts(app):
    """All that is said in sentences."""
    return [x.value for x in (*app.markdown, *app.caption)]


def said(app, words):
    return any(words in text for text in texts(app))


def claims_of(app):
    """What the table of claims is told."""
    return data_of(app, TABLE)


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

    monkeypatch.setattr(measured, "exists", lambda: True)
    monkeypatch.setattr(measured, "get_instance", Server)


def is_in_the_dock(block, element, docked=False):
    """Whether it stands where the style sheet puts it over the page, so that it moves nothing."""
    docked |= block.proto is not None and "dock-" in getattr(block.proto, "id", "")
    inner = getattr(block, "children", {}).values()
    return (docked and block is element) or any(is_in_the_dock(x, element, docked) for x in inner)


@pytest.fixture(scope="module")
def first():
    """The page as it opens."""
    return open_page(PAGE)


def test_it_opens_with_seven_verdicts_and_the_picture_that_decides(first):
    assert not first.exception
    assert not first.error
    table = claims_of(first)
    assert table["columns"] == ["Claim", "Evidence", "First edition", "Second"]
    assert [row["word"] for row in table["rows"]] == [f"C{n}" for n in range(1, 8)]
    for row in table["rows"]:
        claim, evidence, verdict, again = row["cells"]
        assert claim.startswith(f"{row['word']} ")
        assert ("a check of our code" in claim) == (row["word"] in ("C1", "C7"))
        assert evidence
        assert verdict[2:] in WORDS
        assert again[2:] in WORDS if row["word"] in SECOND.claims else again == "–"
    assert table["chosen"] == "C4"
    (chart,) = charts(first)
    assert chart.proto.alt.startswith("Adding instead of multiplying")
    rule = "**The rule of C4, second edition, written on 24 November 2026, before the results.**"
    assert said(first, f"{rule} Supported: the gated")
    assert any("**supported**: Adding instead" in text for text in texts(first))
    assert said(first, "*First edition* (23 November 2026, seeds 0–31): ✓ **supported**")
    assert said(first, "written and committed") or said(first, "they were committed before")
    assert said(first, ", shipped.")


@pytest.mark.parametrize("claim", ["C3", "C4", "C6"])
def test_both_editions_stand_beside_each_other(claim):
    for name, other in (("second", "First"), ("first", "Second")):
        app = open_page(PAGE, claim=claim, edition=name)
        assert not app.exception
        assert said(app, f"**The rule of {claim}, {name} edition, written on")
        assert said(app, f"*{other} edition* (")
        assert len(charts(app)) == 1


@pytest.mark.parametrize("claim", ["C1", "C2", "C3", "C5", "C6", "C7"])
def test_every_claim_has_a_picture_a_rule_and_an_explanation(claim):
    app = open_page(PAGE, claim=claim)
    assert not app.exception
    assert len(charts(app)) == 1
    assert said(app, f"**The rule of {claim}, ")
    assert claims_of(app)["chosen"] == claim


def test_a_row_that_is_clicked_is_the_claim():
    app = report(open_page(PAGE), TABLE, "picked", {"word": "C6", "serial": 5})
    assert not app.exception
    assert said(app, "**The rule of C6, second edition, written on")
    assert claims_of(app)["chosen"] == "C6"
    assert app.query_params["claim"] in ("C6", ["C6"])
    assert claims_of(app)["heard"] == 5
    app = report(app, TABLE, "picked", {"word": "C5", "serial": 5})  # said twice
    assert claims_of(app)["chosen"] == "C6"


@pytest.mark.parametrize("message", [
    {"word": "C8", "serial": 6}, {"word": ["C1"], "serial": 6}, {"serial": 6}, "C1", None,
    {"word": "C1", "serial": -1}, {"word": "C1", "serial": "6"},
])  # fmt: skip
def test_what_no_table_of_ours_says_is_not_heard(message):
    app = report(open_page(PAGE), TABLE, "picked", message)
    assert not app.exception
    assert claims_of(app)["chosen"] == "C4"


def test_more_can_be_drawn_than_what_decides(first):
    def lines(app):
        return len(json.loads(charts(app)[0].proto.spec)["layout"]["yaxis"]["ticktext"])

    one, other = (open_page(PAGE, edition="first", wide=name) for name in ("sigmoid", "all"))
    assert (lines(one), lines(other)) == (6, 42)
    assert (lines(first), lines(open_page(PAGE, wide="all"))) == (12, 24)


def test_both_measures_of_c6_are_drawn():
    titles = [
        json.loads(charts(open_page(PAGE, claim="C6", measure=name))[0].proto.spec)["layout"]
        ["xaxis"]["title"]["text"]
        for name in ("proxy", "∫|K| dA")
    ]  # fmt: skip
    assert "proxy" in titles[0]
    assert "∫|K| dA" in titles[1]


def test_bad_links_are_one_sentence_each():
    app = open_page(PAGE, claim="C9", rows="yours", many="99", scheduler="tcp://nowhere", study="x")
    assert not app.exception
    assert len(mistakes(app)) == 5
    assert len(charts(app)) == 1


def test_rows_of_an_older_version_are_shown_and_named(store, rows, first):
    version = f"Version {STUDY_VERSION} of the study; recomputed single layers are the same."
    assert said(first, f"shipped. {version}")
    with Store(store) as opened:
        opened.write([replace(row, code="d1d7abe7b131") for row in rows[0][:20]])
    app = open_page(PAGE, rows="here")
    assert said(app, "They are of version d1d7abe7b131 of the study; version 1 runs here.")
    assert said(app, "Rows: 20 trained models")


def test_without_a_study_here_the_shipped_rows_are_shown_and_named(store):
    app = open_page(PAGE, rows="here")
    assert said(app, "No study has been run here yet. Shown: the shipped rows.")
    assert not store.exists()


def test_this_servers_rows_are_shown(store, rows):
    with Store(store) as opened:
        opened.write([row for row in rows[0] if row.task == "xor" and row.seed < 4])
    app = open_page(PAGE, rows="here", claim="C3")
    assert not app.exception
    assert said(app, ", trained here.")
    assert all("not enough data" in cell for cell in claims_of(app)["rows"][2]["cells"][2:])
    assert said(app, "**The rule of C3, first edition")  # none of its seeds is of the second
    assert said(app, "*Second edition* (24 November 2026, seeds –): ? **not enough data**")
    assert claims_of(app)["rows"][3]["cells"][1].startswith("gated ahead on 0 of 1 task")


def test_rows_that_have_no_say_are_counted(store, rows, first):
    some = [row for row in rows[0] if row.task == "xor" and row.seed < 4]
    others = [replace(row, key=f"{row.key}x", steps=50) for row in some[:5]]
    with Store(store) as opened:
        opened.write([*some, *others])
    assert said(open_page(PAGE, rows="here"), "Set aside: 5 models. They have another version")
    assert not said(first, "Set aside")


def test_a_file_that_is_no_store_is_one_sentence_and_stays(store):
    store.write_text("a letter to my aunt, which is no store of any study" * 9)
    before = store.read_bytes()
    app = open_page(PAGE, rows="here")
    assert not app.exception
    assert said(app, "The rows here cannot be read:")
    assert said(app, "Shown: the shipped rows.")
    assert store.read_bytes() == before


# --- Drill down -----------------------------------------------------------------------------------


def test_a_chosen_row_opens_its_model():
    app = open_page(PAGE, models="true")
    assert not app.exception
    (table,) = [x for x in app.dataframe if "variant" in x.value.columns]
    assert len(table.value) == len(rows_of(Source())[0])
    assert said(app, "Choose a row to open its model")


def test_a_clicked_point_opens_its_model(monkeypatch, rows):
    row = next(row for row in rows[0] if row.variant == "sigmoid" and row.seed == 17)
    event = {"selection": {"points": [{"customdata": row.key}]}}
    monkeypatch.setattr(DeltaGenerator, "plotly_chart", lambda *a, **k: event)
    app = open_page(PAGE)
    assert not app.exception
    assert said(app, f"**{row.task}, sigmoid, seed 17")
    (link,) = [x.proto for x in app.get("page_link") if "This model" in x.proto.label]
    assert "picked_seed=17" in link.query_string
    assert "first=16" in link.query_string


def test_a_clicked_point_without_a_model_is_said(monkeypatch):
    event = {"selection": {"points": [{"x": 1.0}]}}
    monkeypatch.setattr(DeltaGenerator, "plotly_chart", lambda *a, **k: event)
    assert said(open_page(PAGE), "This point is no trained model.")


# --- The study ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ({}, ["--quick"]),
        ({"study": "full"}, ["--full"]),
        ({"study": "second edition"}, ["--second"]),
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
    app = open_page(PAGE, run_study="true", **query)
    (code,) = app.code
    words = ["python", "-m", "gating_core.claims", "run", *options, "--store", str(store)]
    assert shlex.split(code.value) == words
    app.button(key="claims_run").click().run()
    assert not app.exception
    assert [list(one[0]) for one in begun] == [options]
    assert app.query_params["rows"] == ["here"] or app.query_params["rows"] == "here"


def test_an_address_elsewhere_is_refused_unless_the_server_names_it(monkeypatch):
    begun = []
    monkeypatch.setattr(study, "silence_trouble", lambda address: "")
    monkeypatch.setattr(running, "start", lambda *about: begun.append(about) or "")
    for named in ("", "tcp://cluster:8786"):
        monkeypatch.setenv("GATING_CLAIMS_SCHEDULERS", named)
        app = open_page(PAGE, run_study="true", scheduler="tcp://cluster:8786")
        app.button(key="claims_run").click().run()
        assert bool(begun) == bool(named)
        assert bool(app.error) != bool(named)
    assert not app.exception


def test_everybody_sees_a_running_study_and_may_stop_it_once_its_owner_is_gone(monkeypatch):
    status(monkeypatch)
    present(monkeypatch, "another")
    stopped = []
    monkeypatch.setattr(study.running, "stop", lambda store, why: stopped.append(why))
    app = open_page(PAGE, run_study="true")
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
    measured._so_far.clear()
    measured._seen.clear()
    measured._judging.add(str(store))  # as if it took longer than a run of the page
    app = open_page(PAGE, rows="here")
    assert said(app, "The rows here are being judged. Shown: the shipped rows.")

    def judge():
        measured._judging.discard(str(store))
        app.run()
        awaited(lambda: not measured._judging)
        app.run()

    judge()
    assert said(app, "Rows: 20 trained models")
    with Store(store) as opened:
        opened.write(some)
    measured._seen.clear()  # some seconds later
    measured._judging.add(str(store))
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
    newcomer = open_page(PAGE, run_study="true")
    assert is_told(newcomer) == resumes
    assert said(newcomer, f"The last one here: {told}")


def test_what_cannot_be_run_from_a_page_is_said_and_its_command_still_shown(monkeypatch):
    begun = []
    monkeypatch.setattr(running, "start", lambda *about: begun.append(about) or "")
    app = open_page(PAGE, run_study="true", study="own selection", product="true")
    assert "hours, and a page's study 1 at most" in app.warning[0].value
    assert app.button(key="claims_run").disabled
    assert "--grid all" in app.code[0].value
    app = open_page(PAGE, run_study="true", study="own selection", tasks="xor", many="8")
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
    before = measured._read_stamp(store)
    store.with_name(f"{store.name}-wal").write_bytes(b"rows")
    assert measured._read_stamp(store) != before


def test_every_fold_opens():
    folds = dict.fromkeys(("numbers", "report", "accuracies"), "true")
    app = open_page(PAGE, claim="C5", **folds)
    assert not app.exception
    assert said(app, "What would change it.")
    assert len(app.get("download_button")) == len(FILES)
    assert [len(x.value) for x in app.dataframe] == [14, 64]  # differences, and 8 × 8 accuracies


def test_the_page_is_short():
    assert len(Path(__file__).parents[3].joinpath(PAGE).read_text().splitlines()) <= 60
