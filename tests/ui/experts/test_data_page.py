"""The sections on data: shipped results at once, others in jobs, and true sentences."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest

from gating_core.experts import (
    COUNTS,
    GATES,
    CurvesRequest,
    LearningCurves,
    SampleRequest,
    load_curves,
    load_samples,
)
from gating_core.training import MeanInterval
from tests.each import each
from tests.ui.opening import mistakes, notes, open_page
from ui.common.lessons import sections
from ui.common.parts import csv_text
from ui.experts import data_words, measured
from ui.experts import sections as page_sections
from ui.experts.data_words import FULL, NOT, SLOW, UNDECIDED, word
from ui.experts.picture import curves_chart, difference_chart, error_chart
from ui.experts.request import (
    CURVES,
    DATA,
    CurvesSelection,
    DataSelection,
    resolve_curves,
    resolve_data,
)
from ui.limits import LEARNING_COST

PAGE = "pages/6_Experts.py"
FEW = dict(repeats="4", teacher_dim="2", teacher_experts="1", teacher_tokens="2",
           students="no gate")  # fmt: skip


@pytest.fixture(scope="module")
def data():
    return open_page(PAGE, picture=DATA)


@pytest.fixture(scope="module")
def curves():
    return open_page(PAGE, picture=CURVES)


def sentences(app):
    return " ".join(m.value for m in app.markdown if not m.value.startswith("**What"))


def figure(app, key):
    (spec,) = [c.proto.spec for c in app.get("plotly_chart") if c.proto.id.endswith(key)]
    return json.loads(spec)


def ended(app):
    """The page after all that was started has ended."""
    for job, _ in app.session_state["_jobs"].values():
        assert job.join(60)
    return app.run()


# --- How many data does it take? ------------------------------------------------------------------


def test_it_opens_with_what_is_shipped_and_starts_nothing(data):
    assert not data.exception
    assert "_jobs" not in data.session_state or not data.session_state["_jobs"]
    text = sentences(data)
    assert "**All predict alike**" in text
    assert "**Experts are learned** with *elementwise G1* (−0." in text
    assert "**not learned** with *no gate*" in text
    charts = data.get("plotly_chart")
    assert len(charts) == 2
    assert all("slope" in chart.proto.alt for chart in charts)
    assert not data.number_input("repeats").disabled


def test_every_repeat_is_a_thin_line_and_theory_is_drawn():
    learned = {gate: load_samples()[gate] for gate in ("none", "elementwise G2")}
    traces = error_chart(learned, "expert").data
    thin = [trace for trace in traces if trace.line.width == 1]
    assert [int(np.isnan(trace.y).sum()) for trace in thin] == [12, 12]
    named = {trace.name for trace in traces if trace.showlegend is not False}
    assert named == {"no gate", "elementwise G2", "theory"}
    (theory,) = [trace for trace in traces if trace.name == "theory"]
    assert theory.y == pytest.approx(np.median(learned["elementwise G2"].expert_theory, 0))
    assert len([t for t in error_chart(learned, "prediction").data if t.name == "theory"]) == 2


def test_another_selection_is_learned_in_a_job():
    app = open_page(PAGE, picture=DATA, **FEW)
    assert not app.exception
    app = ended(app)
    assert not app.exception
    text = sentences(app)
    assert "Predictions: slope" in text
    assert "no gate" in text
    assert "elementwise" not in text
    spec = figure(app, "errors_expert")
    assert len(spec["data"][0]["x"]) == 4 * 6 or isinstance(spec["data"][0]["x"], dict)


def test_the_table_has_every_place(monkeypatch):
    app = open_page(PAGE, picture=DATA, every_place="true", data_code="true")
    (table,) = app.table
    assert len(table.value) == len(GATES)
    words = dict(zip(table.value["Gate"], table.value["Experts"], strict=True))
    assert {gate for gate, verdict in words.items() if verdict == FULL} == {
        "elementwise G1", "elementwise G2"}  # fmt: skip
    assert {verdict for gate, verdict in words.items() if "elementwise G" not in gate} == {NOT}
    (code,) = app.code
    assert code.value == sections("experts")["data_code"]  # as the test below runs it


@pytest.mark.soak  # long
def test_the_table_and_the_chart_share_one_job(monkeypatch):
    """Two jobs of one name cancel each other at every run, without end."""
    calls = []
    fetch_all = measured.LEARNED.fetch_all
    monkeypatch.setattr(
        measured.LEARNED, "fetch_all", lambda keys: calls.append(keys) or fetch_all(keys)
    )
    gates = ("none", "headwise G1")
    monkeypatch.setattr(page_sections, "GATES", gates)
    app = ended(open_page(PAGE, picture=DATA, every_place="true", **FEW))
    assert {tuple(gate for _, gate in keys) for keys in calls} == {gates}
    (table,) = app.table
    assert len(table.value) == len(gates)


def test_the_lines_of_code_run(capsys):
    code = sections("experts")["data_code"].replace("repeats=4", "repeats=2")
    exec(code.replace("(4, 6)", "(6, 7)").replace('"elementwise G1"', '"headwise G1"'), {})
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("none [")


@each([(-0.5, 0.05, FULL), (-0.6, 0.05, FULL), (-0.3, 0.05, SLOW), (0.0, 0.1, NOT),
       (-0.09, 0.1, NOT), (-0.2, 0.1, UNDECIDED), (0.0, 0.4, UNDECIDED), (-0.38, 0.13, UNDECIDED),
       (-0.4, 0.23, UNDECIDED)])  # fmt: skip
def test_words_follow_the_interval(mean, half, expected):
    assert word(MeanInterval(mean, half)) == expected


def test_sentences_say_what_differs_and_what_missed():
    learned = {gate: load_samples()[gate] for gate in ("none", "elementwise G1")}
    worse = replace(learned["none"], prediction=10 * learned["none"].prediction)
    text = data_words.errors_summary({**learned, "none": worse})
    assert "All predict alike" not in text
    assert "Predictions differ" in text
    flat = replace(learned["none"], prediction=0 * learned["none"].prediction + 0.1)
    assert "All predict alike" not in data_words.errors_summary({**learned, "none": flat})
    excess = np.ones_like(learned["none"].excess)
    excess[2, 1:3] = 9
    missed = replace(learned["none"], excess=excess)
    assert "2 of 60 fits of *no gate*" in data_words.caution({"none": missed})


def test_what_takes_too_long_has_fewer_repeats(monkeypatch):
    large = DataSelection(teacher_dim=6, teacher_heads=2, teacher_experts=4, teacher_tokens=4,
                          learned_routing=True,
                          repeats=32)  # fmt: skip
    found, (note,) = resolve_data(large)
    assert 4 <= found.repeats < 32
    assert f"Shown: {found.repeats}." in note
    assert resolve_data(DataSelection()) == (DataSelection(), [])
    cost = sum(found.request.cost(gate) for gate in GATES)
    assert cost <= LEARNING_COST or found.repeats == 4
    monkeypatch.setattr(measured, "curves", lambda _: (load_curves(), None))
    app = open_page(PAGE, picture=CURVES, mixes="slots", against="value")
    assert "needs tokens" in " ".join(notes(app))


def test_errors_as_csv_are_every_fit():
    learned = {gate: load_samples()[gate] for gate in ("none", "elementwise G1")}
    rows = [*csv.DictReader(io.StringIO(csv_text(data_words.errors_rows(learned))))]
    assert len(rows) == 2 * 12 * 5
    last = rows[-1]
    assert (last["gate"], last["seed"], last["n"]) == ("elementwise G1", "11", "10000000")
    assert float(last["expert_error"]) == pytest.approx(learned["elementwise G1"].expert[-1, -1])
    assert rows[0]["expert_theory"] == "inf"


def test_bad_links_are_one_sentence_each():
    app = open_page(PAGE, picture=DATA, students="G1", repeats="99", measured="0", reach="2")
    assert not app.exception
    assert len(mistakes(app)) == 4
    assert "**All predict alike**" in sentences(app)


# --- And in training? -----------------------------------------------------------------------------


def test_curves_open_with_the_verdict_of_what_is_shipped(curves):
    assert not curves.exception
    text = sentences(curves)
    assert "**16 seeds cannot show a difference**" in text
    assert "*no difference* at 200, 400, 800, 1,600, 3,200, 6,400" in text
    ungated, gated = load_curves().needed(0.9)
    for needed in (ungated, gated):
        assert f"**{2**needed.log2.mean:,.0f}** [" in text
    assert [bool(chart.proto.alt) for chart in curves.get("plotly_chart")] == [True, True]


def test_charts_have_every_seed_and_every_count():
    shipped = load_curves()
    traces = curves_chart(shipped, 0.9).data
    assert [int(np.isnan(t.y).sum()) for t in traces if t.line.width == 1] == [16, 16]
    (points,) = difference_chart(shipped, 0.01).data
    gained = 100 * (shipped.accuracy[1] - shipped.accuracy[0]).mean(0)
    assert points.y == pytest.approx(gained)
    assert set(points.marker.symbol) == {"x", "circle-open", "circle"}


def test_a_level_nobody_reaches_is_said():
    flat = LearningCurves(CurvesRequest(), np.array(COUNTS, dtype=float), np.full((2, 16, 9), 0.7))
    text = data_words.curves_summary(flat, 0.9)
    assert text.count("more than 6,400** points (0 of 16 seeds reach it)") == 2
    assert "Not enough data" in text
    better = flat.accuracy.copy()
    better[1, :, 4:] = 0.95
    text = data_words.curves_summary(LearningCurves(flat.request, flat.counts, better), 0.9)
    assert "**The gated model (sigmoid) needs fewer**" in text
    assert "16 are at an end of what was tried" in text
    added = LearningCurves(replace(flat.request, gate="additive"), flat.counts, better)
    assert "**The control (additive) needs fewer**" in data_words.curves_summary(added, 0.9)
    assert "so many data do not close it" not in data_words.verdicts(load_curves())
    gap = data_words.verdicts(LearningCurves(flat.request, flat.counts, better))
    assert "The gap remains at 6,400: so many data do not close it." in gap


def test_only_possible_curves_are_trained():
    wrong = CurvesSelection(mixes="memory", against="value")
    found, (note,) = resolve_curves(wrong)
    assert found.against == "sigmoid"
    assert "needs tokens" in note
    assert resolve_curves(CurvesSelection()) == (CurvesSelection(), [])
    assert CurvesSelection().request == CurvesRequest()
    assert DataSelection().request == SampleRequest()


def test_curves_as_csv_are_every_model():
    rows = [*csv.DictReader(io.StringIO(csv_text(data_words.curves_rows(load_curves()))))]
    assert len(rows) == 2 * 16 * 9
    assert float(rows[-1]["test_accuracy"]) == pytest.approx(load_curves().accuracy[1, 15, 8])


@pytest.mark.soak  # long
def test_other_curves_are_trained_in_a_job(monkeypatch):
    monkeypatch.setattr(measured.experts, "COUNTS", (25, 50))
    monkeypatch.setattr(measured.experts, "curves_of", lambda request, parts: LearningCurves(
        request, np.array([25.0, 50.0]), np.stack(parts, -1)))  # fmt: skip
    app = ended(open_page(PAGE, picture=CURVES, learn_task="linear", learn_dim="2"))
    assert not app.exception
    assert "**Test error** on *linear*, 16 seeds" in sentences(app)


def test_explanations_have_four_parts():
    for name in ("samples", "curves"):
        assert len(sections("experts")[name].split("\n\n")) == 4
