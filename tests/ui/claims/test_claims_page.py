"""Claims opens on what was found, shows the core's numbers, and runs the study."""

import json
import xml.etree.ElementTree as ET
from base64 import b64decode
from dataclasses import replace

import pytest
import streamlit as st

from gating_core.claims import (
    CLAIMS,
    STUDY_VERSION,
    ModelRow,
    StackRow,
    Store,
    csv_rows,
    verdicts,
)
from gating_core.claims.price_verdicts import PRICE_CLAIMS, price_study
from tests.ui.opening import mistakes, offered, open_page
from ui.claims import shared, study
from ui.claims.findings import rows_text
from ui.claims.shared import (
    FROZEN,
    Source,
    csv_texts,
    judged,
    load_judged,
    rows_of,
)

PAGE = "pages/5_Claims.py"
ALL = CLAIMS | PRICE_CLAIMS


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


@pytest.fixture(scope="module")
def first():
    """The page as it opens."""
    return open_page(PAGE)


@pytest.fixture(scope="module")
def found(rows):
    """What the core says of the bundled rows, by claim."""
    prices = {name: claim.judge(price_study()) for name, claim in PRICE_CLAIMS.items()}
    return verdicts(*rows) | prices


def test_it_opens_on_a_row_of_every_claim_with_its_verdict_number_and_plot(first, found):
    assert not first.exception
    assert not first.error
    assert not first.get("plotly_chart")  # none is open
    rows = {x.label.split()[0].strip("*"): x.label for x in first.expander}
    grouped = ["C1", "C2", "C4", "C5", "C7", "C3", "C6", "C8", "C9"]  # by their verdicts
    assert list(rows) == grouped
    for name, text in rows.items():
        one, sure = found[name], {"C1": "theorem", "C7": "by construction"}.get(name)
        assert text.startswith(f"**{name} {ALL[name].title}** :")
        word = one.brief.answer or sure or one.word
        assert f" {word}] ***{one.brief.number}** {one.brief.note}* ![" in text
        plot = b64decode(text.partition("base64,")[2][:-1]).decode()
        assert ET.fromstring(plot).tag.endswith("svg")
    told = ":green[✓ 3 supported], :orange[◐ 2 partly], :gray[○ 2 not shown]; C1 is a theorem, and"
    sentences = [text.replace("\u00a0", " ") for text in texts(first)]
    assert f"{told} C7 holds by construction." in sentences
    assert said(first, ", bundled. Version")
    saved = offered(first).charts["claims"].tables["findings"]
    assert saved["number"] == [f"{x.brief.number} {x.brief.note}" for x in found.values()]
    assert {f"{name}_numbers" for name in ALL} < {*offered(first).charts["claims"].tables}


def test_one_row_is_open_at_a_time_and_the_link_says_which(first):
    app = open_page(PAGE, claim="C8")
    assert [x.label[2:4] for x in app.expander if x.proto.expanded] == ["C8"]
    (link,) = [x.proto for x in app.get("page_link") if "Price" in x.proto.label]
    assert "bent_tab=Price" in link.query_string
    (words,) = app.table
    assert words.value["circle"].tolist() == ["not needed"] * 4


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("claim", "link", "charted"), [
    *((claim, {}, "") for claim in CLAIMS),
    ("C3", {"criteria": "v1"}, ""), ("C4", {"criteria": "v1", "show": "all variants"}, ""),
    ("C4", {"show": "all variants"}, ""), ("C6", {"measure": "proxy"}, "proxy"),
    ("C6", {"criteria": "v1", "measure": "∫|K| dA"}, "∫|K| dA"),
])  # fmt: skip
def test_every_claim_has_its_verdict_chart_rule_and_download(claim, link, charted, found):
    app = open_page(PAGE, claim=claim, numbers="true", **link)
    assert not app.exception
    one, version = found[claim], CLAIMS[claim].criteria.name
    if link.get("criteria") == "v1":
        one, version = load_judged(FROZEN)[claim], "v1"
    by = f" by criteria {version}" if claim in load_judged(FROZEN) else ""
    assert said(app, f"**{one.word}**{by}: {one.sentences}")
    assert said(app, f"**The rule of {claim}, criteria {version}, preregistered on")
    other = any(text.startswith("*Criteria v") for text in texts(app))
    assert other == (claim in load_judged(FROZEN))
    assert app.dataframe[0].value.to_dict("records") == one.table
    (chart,) = app.get("plotly_chart")
    assert len(chart.proto.alt) > 20
    assert charted in json.loads(chart.proto.spec)["layout"]["xaxis"]["title"]["text"]
    assert [*offered(app).charts] == ["claims", "bundled rows"]
    assert not mistakes(app)


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
    (about,) = app.info  # none of its seeds is of v2
    assert about.value.endswith("Criteria v2 decide on seeds 64–95.")
    assert not said(first, "Excluded")
    older = rows_text(replace(judged(Source()), code="d1d7abe7b131"), bundled=False)
    assert f"Version d1d7abe7b131 of the study. Version {STUDY_VERSION} runs here:" in older


def test_a_file_that_is_no_store_is_one_sentence_and_stays(store):
    store.write_text("a letter to my aunt, which is no store of any study" * 9)
    before = store.read_bytes()
    app = open_page(PAGE, rows="live")
    assert not app.exception
    assert said(app, "The live rows cannot be read:")
    assert said(app, "Bundled rows are shown.")
    assert store.read_bytes() == before


# --- Models ---------------------------------------------------------------------------------------


def test_a_clicked_point_opens_its_model(monkeypatch, rows):
    row = next(row for row in rows[0] if row.variant == "sigmoid" and row.seed == 17)
    event = {"selection": {"points": [{"customdata": row.key}]}}
    monkeypatch.setattr(st, "plotly_chart", lambda *a, **k: event)
    app = open_page(PAGE, claim="C4")
    assert not app.exception
    assert said(app, f"**{row.task}, sigmoid, seed 17")
    (link,) = [x.proto for x in app.get("page_link") if "This model" in x.proto.label]
    assert "picked_seed=17" in link.query_string
    assert "first=16" in link.query_string
    event["selection"]["points"] = [{"x": 1.0}]
    assert said(open_page(PAGE, claim="C4"), "This point is no trained model.")


# --- The study ------------------------------------------------------------------------------------

PROGRESS = {"done": 10, "total": 40, "seconds_left": 75.0, "failures": [], "workers": 2,
            "complete": False}  # fmt: skip


def test_the_button_starts_the_quick_study_and_shows_its_rows(store, monkeypatch):
    begun = []
    monkeypatch.setattr(study, "start", lambda place: begun.append(place) or "")
    app = open_page(PAGE, tab="Run the study")
    assert said(app, "256 models and 256 stacks, without those that are there already.")
    app.button(key="claims_run").click().run()
    assert not app.exception
    assert begun == [store]
    assert app.query_params["rows"] in ("live", ["live"])
    monkeypatch.setattr(study, "start", lambda place: "A study runs here already.")
    app = open_page(PAGE, tab="Run the study")
    app.button(key="claims_run").click().run()
    assert [x.value for x in app.error] == ["A study runs here already."]


@pytest.mark.parametrize(("about", "told"), [
    ((True, PROGRESS), "A study runs: 10 of 40 rows, about 1 min 15 s left"),
    ((True, PROGRESS | {"workers": 0}), "A study runs: 10 of 40 rows, 0 workers connected"),
    ((True, {}), "A study starts."),
    ((False, PROGRESS | {"done": 40, "complete": True}),
     "The last one here: complete. 40 of 40 rows are there."),
    ((False, PROGRESS), "The last one here: ended before it was complete; the same command"),
    ((False, PROGRESS | {"failures": ["xor: [it](failed)"]}),
     r"1 of its units could not be done; the first: xor\: \[it\]\(failed\)"),
    ((False, PROGRESS, "The study has ended: the disk is *full*."),
     r"The study has ended\: the disk is \*full\*."),
])  # fmt: skip
def test_everybody_sees_how_far_a_study_is_and_how_it_ended(monkeypatch, about, told):
    monkeypatch.setattr(study, "look", lambda store: study.Status(*about))
    app = open_page(PAGE, tab="Run the study")
    assert app.button(key="claims_run").disabled == about[0]
    bars = [x.proto.text for x in app.get("progress")]
    assert any(told in text for text in (*texts(app), *bars, *(x.value for x in app.error)))


def test_rows_of_a_running_study_are_judged_every_few_seconds(store, rows, monkeypatch):
    some = [row for row in rows[0] if row.task == "xor" and row.seed < 9]
    monkeypatch.setattr(shared, "monotonic", lambda: 1000.0)
    with Store(store) as opened:
        opened.write(some[:20])
        app = open_page(PAGE, rows="live")
        assert said(app, "C1 to C7: 20 trained models")
        opened.write(some)
        assert said(app.run(), "C1 to C7: 20 trained models")
        monkeypatch.setattr(shared, "monotonic", lambda: 1000.0 + shared.STORE_STAMPS_SECONDS)
        assert said(app.run(), f"C1 to C7: {len(some)} trained models")
    assert not app.exception


# --- What is taken home ---------------------------------------------------------------------------


def test_files_hold_every_row(rows, store):
    with Store(store) as opened:
        opened.write(rows[0][:3])
    bundled, live = csv_texts(Source()), csv_texts(Source(str(store), (1,)))
    assert csv_rows(ModelRow, bundled["models"]) == rows[0]
    assert csv_rows(StackRow, bundled["stacks"]) == rows[1]
    assert {"proofs", "refined", "signs", "further"} < {*bundled}
    assert {row.seed for row in csv_rows(ModelRow, live["models"])} == {
        row.seed for row in rows[0][:3]
    }
