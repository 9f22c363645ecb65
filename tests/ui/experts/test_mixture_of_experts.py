"""Does Mixture of experts draw what was computed, and claim no more than was established?"""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

from gating_core.attention import build_attention
from gating_core.claims.statistics import paired
from gating_core.experts import (
    COUNTS,
    GATES,
    CurvesRequest,
    LearningCurves,
    SampleRequest,
    Sizes,
    entry_tree,
    load_curves,
    load_samples,
    non_identifiable_directions,
    trained_state,
    with_state,
)
from gating_core.experts.learning_curves import Ratio
from gating_core.tasks import EXAMPLE_CSV, parse_csv
from gating_core.training import MeanInterval, TrainingDiverged
from tests.ui.opening import (
    data_of,
    figure,
    mistakes,
    notes,
    numbers,
    open_page,
    open_settled,
    report,
    said,
)
from ui.common.charts import Charts
from ui.common.formatting import percent, short
from ui.common.lessons import sections
from ui.experts import decomposition, identifiability, learning_curves, sample_efficiency, shared
from ui.experts.shared import POSITIONS, Model
from ui.limits import LEARNING_COST

PAGE = "pages/6_Mixture_of_experts.py"
FIRST, POINT = Model(), decomposition.POINT
FEW = {
    "repeats": "4",
    "teacher_channels": "2",
    "teacher_experts": "1",
    "teacher_tokens": "2",
    "student_gates": "no gate",
}
OWN = parse_csv(EXAMPLE_CSV)


def page(tab="Identifiability", **link):
    return open_page(PAGE, experts_tab=tab, **link)


def tree_of(app):
    return data_of(app, decomposition.TREE)


def saved(tab, monkeypatch, **link):
    """Tables and charts in the download of a tab."""
    files = []
    monkeypatch.setattr(Charts, "draw_footer", lambda self, text: files.append(self.csv_files()))
    page(tab, **link)
    return {name: [*csv.DictReader(io.StringIO(text))] for name, text in files[0].items()}


# --- Identifiability ----------------------------------------------------------------------------


@pytest.mark.sampled(2)
@pytest.mark.parametrize("place", POSITIONS)
def test_counts_are_those_of_the_model_on_the_screen(place):
    app = page(gate_at=place, direction="scale one expert")
    model = replace(FIRST, position=place)
    count = non_identifiable_directions(build_attention(model.config, (FIRST.seed,))).count
    assert f"{count} of 32 directions" in said(app)
    assert said(app).count("**do not change**") == 2


def test_the_first_sight_is_which_gates_leave_fewer_directions():
    app = page()
    text = said(app)
    assert "G1, per channel reduces the non-identifiable directions of the weights by 4." in text
    assert "4 of 32 directions of $W_V$ and $W_O$ are non-identifiable, without a gate 8:" in text
    assert "agree for all 11 settings. Fewer than without a gate only with *G1, per" in text
    bars, theory = figure(app, "counts_by_gate")["data"]
    assert sorted({*bars["text"]}) == ["  4", "  8"]
    assert len(bars["y"]) == len(theory["y"]) == 11
    assert "G3, per head 8 (theory 8)" in app.get("plotly_chart")[0].proto.alt


def test_the_move_is_the_cores():
    app = page()
    moves = identifiability.moves_of(FIRST, 0, 0, 1, True)
    outputs = numbers(figure(app, "identifiability_move")["data"][3]["y"])
    changed = moves.distances != 0  # a logarithmic axis has no place for no change
    np.testing.assert_allclose(outputs[changed], moves.outputs[changed], rtol=1e-12)
    assert np.isnan(outputs[~changed]).all()
    change = percent(float(moves.outputs[moves.distances == 1][0])).replace("\u00a0", " ")
    assert f"with gate G1 the outputs **change by {change}**" in said(app)


def test_a_verdict_has_three_wordings_and_disagreement_is_said():
    counts = identifiability.counts_of(FIRST)
    texts = {
        place: identifiability.finding(replace(FIRST, position=place), counts)[0]
        for place in ("G1", "G3", "no gate")
    }
    assert texts["G1"].startswith("G1, per channel reduces")
    assert texts["G3"].startswith("G3, per channel does not change the non-identifiable directions")
    assert texts["no gate"].startswith("Without a gate, 8 directions")
    blurred = replace(counts[FIRST.setting], singular_values=np.array([1.0, 2e-12, 5e-13]))
    for setting in (FIRST.setting, None):
        text = identifiability.finding(FIRST, {**counts, setting: blurred})[0]
        assert text.startswith("The number of non-identifiable directions is inconclusive:")
    wrong = {**counts, None: replace(counts[None], theory=5)}
    assert (
        "differ, or the gap is not clear, for no gate." in identifiability.finding(FIRST, wrong)[1]
    )
    alike = dict.fromkeys(counts, counts[None])
    assert "No gate leaves fewer" in identifiability.comparison_text(alike)


def test_the_followed_expert_is_moved_and_a_single_one_is_scaled():
    assert "Mixing experts 2.2 and 2.1 by t = −0.5" in said(page(expert="2.2", distance="-0.5"))
    app = page(head_count="4")
    assert any("no second expert to mix with" in note for note in notes(app))
    assert "Scaling expert 1.1 by t = 1" in said(app)


# --- Decomposition ------------------------------------------------------------------------------


def test_an_entry_has_the_numbers_of_the_core():
    app = page("Decomposition")
    tree = entry_tree(build_attention(FIRST.config, (FIRST.seed,)), POINT, 0)
    assert "In this toy layer, of 4 experts. Attention is the router" in said(app)
    assert abs(tree.rounding) < 1e-15
    sent = tree_of(app)
    assert np.shape(sent["values"]) == (3, 2, 3, 2)
    assert np.shape(sent["gate"]["logits"]) == (3, 1, 2, 2)
    assert (sent["gate"]["place"], sent["channel"], sent["name"]) == ("G1", 0, "Y[1]")
    assert sent["point"] == [*POINT]
    label = f"Output 1 of a model with a gate at G1, as a tree of 12 terms: {short(tree.value)} is"
    assert sent["label"].startswith(label)


@pytest.mark.parametrize("place", POSITIONS)
def test_every_position_of_the_gate_has_its_formula(place):
    app = page("Decomposition", gate_at=place, gate_per="head")
    gate = tree_of(app)["gate"]
    assert (gate and gate["place"]) == (None if place == "no gate" else place)
    formula = next(x.value for x in app.markdown if x.value.startswith("$"))
    assert ("boxed" in formula) == (place != "no gate")
    assert "g_{hc}" not in formula  # one factor for a head, none for a channel


def test_what_is_dragged_and_clicked_goes_into_the_link_and_forged_messages_do_not():
    app = page("Decomposition")
    moved = {"point": [0.25, -0.5], "strength": 0.25, "expert": "2.1"}
    report(app, decomposition.TREE, "left", moved | {"serial": 1})
    names = ("input", "gate_lambda", "expert")
    linked = ["0.25,-0.5", "0.25", "2.1"]
    assert [app.query_params[name] for name in names] == linked
    sent = tree_of(app)
    assert (sent["point"], sent["strength"], sent["expert"]) == ([0.25, -0.5], 0.25, "2.1")
    for change in ({"strength": 1.5}, {"expert": "3.1"}, {"point": [2, 0]}):
        report(app, decomposition.TREE, "left", moved | change | {"serial": 2})
    assert not app.exception
    assert [app.query_params[name] for name in names] == linked
    home = {"point": [*POINT], "strength": 1, "expert": ""}
    report(app, decomposition.TREE, "left", home | {"serial": 3})
    assert not {*names} & set(app.query_params)
    assert not mistakes(app)


def test_a_link_names_what_it_cannot_use_and_what_does_not_fit_together_is_said():
    app = page(
        "Decomposition", gate_at="G7", input="0.5", gate_lambda="2", expert="first", channels="99"
    )
    assert not app.exception
    assert len(mistakes(app)) == 5
    assert tree_of(app)["point"] == list(POINT)
    app = page("Decomposition", channels="3", head_count="2", output="8", expert="2.2")
    assert "2 heads do not divide D = 3. Shown: 1." in " ".join(notes(app))
    assert "There is no output 8. Shown: 3." in " ".join(notes(app))
    assert "`expert`" in " ".join(mistakes(app))
    # Weaker gates are ablated: their singular values would be lost in rounding.
    assert [shared.parse_strength(text) for text in ("1e-13", "0.001", "-0.1")] == [0, 0.001, None]


def test_terms_in_the_download_multiply_and_add_up(monkeypatch):
    link = {"gate_at": "G2", "gate_per": "head", "gate_lambda": "0.4"}
    rows = saved("Decomposition", monkeypatch, **link)["terms"]
    factors = [name for name in rows[0] if name not in ("head", "expert", "token", "term")]
    for row in rows:
        product = np.prod([float(row[name]) for name in factors])
        assert product == pytest.approx(float(row["term"]), rel=1e-12)
    model = replace(FIRST, position="G2", granularity="headwise", strength=0.4)
    value = decomposition.entry_of(model, POINT, 1).value
    assert sum(float(row["term"]) for row in rows) == pytest.approx(value, rel=1e-12)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("link", [{"gate_at": "G5"}, {"weights": "circle", "tokens": "2",
                                                      "gate_lambda": "0.5"}])  # fmt: skip
def test_the_lines_of_code_run_and_print_the_pages_numbers(link, capsys):
    app = page("Decomposition", code="true", **link)
    exec(app.code[0].value, {})
    assert f"terms: {short(float(capsys.readouterr().out.split()[0]))} is" in tree_of(app)["label"]


# --- Trained models -----------------------------------------------------------------------------


def test_a_trained_model_is_decomposed_and_counted():
    config = replace(FIRST, value_count=2).config
    model = with_state(config, FIRST.seed, trained_state(config, "circle", FIRST.seed))
    app = page("Decomposition", weights="circle", tokens="2")
    assert f"terms: {short(entry_tree(model, POINT, 0).value)} is" in tree_of(app)["label"]
    app = page(weights="circle", tokens="2")
    found = non_identifiable_directions(model)
    smallest, null = map(short, found.ends)
    assert f"{found.count} are at most {null}, the others at least {smallest}." in said(app)
    assert any("*no gate* and *G1, per channel* are trained" in x.value for x in app.caption)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("pair", [False, True])  # the model, or the one beside it
def test_where_a_training_diverges_random_weights_are_shown(pair, monkeypatch):
    def diverges(config, task, seed):
        if config.gate is None or not pair:
            raise TrainingDiverged(3, (seed,), 0.02)
        return trained_state(config, task, seed)

    monkeypatch.setattr(shared.core, "trained_state", diverges)
    tab, seed = ("Identifiability", 78) if pair else ("Decomposition", 77)
    app = page(tab, weights="xor", model_seed=f"{seed}")
    assert not app.exception
    assert any("This training diverged" in box.value for box in app.warning)
    if not pair:
        random = decomposition.entry_of(replace(FIRST, seed=seed), POINT, 1)
        assert f"terms: {short(random.value)} is" in tree_of(app)["label"]


# --- Sample efficiency --------------------------------------------------------------------------


def test_it_opens_with_what_is_bundled_and_draws_every_repeat_and_theory():
    app = page("Sample efficiency")
    assert "_jobs" not in app.session_state or not app.session_state["_jobs"]
    slope = sample_efficiency.slope_text(load_samples()["elementwise G1"].slopes["expert"].mean)
    assert "Experts are learned with *G1, per channel*." in said(app)
    assert f"{slope} (G1, per channel)" in said(app)
    assert "Experts are not learned with *no gate*" in said(app)
    assert "Predictions are equally good" in said(app)
    learned = {gate: load_samples()[gate] for gate in ("none", "elementwise G2")}
    traces = sample_efficiency.error_chart(learned, "expert").data
    thin = [trace for trace in traces if trace.line.width == 1]
    assert [int(np.isnan(trace.y).sum()) for trace in thin] == [12, 12]
    (theory,) = [trace for trace in traces if trace.name == "theory"]
    assert theory.y == pytest.approx(np.median(learned["elementwise G2"].expert_theory, 0))


@pytest.mark.soak
def test_another_selection_is_learned_in_one_job_with_the_table_of_all(monkeypatch):
    monkeypatch.setattr(sample_efficiency, "GATES", ("none", "headwise G1"))
    app = open_settled(PAGE, experts_tab="Sample efficiency", all_gates="true", **FEW)
    assert not app.exception
    assert "Predictions: slope" in said(app)
    assert "G1, per head" not in app.get("plotly_chart")[0].proto.alt
    (table,) = app.table
    assert list(table.value["Gate"]) == ["no gate", "G1, per head"]


def test_the_table_has_every_gate_and_the_code_runs(capsys):
    app = page("Sample efficiency", all_gates="true", sample_code="true")
    (table,) = app.table
    words = dict(zip(table.value["Gate"], table.value["Experts"], strict=True))
    assert len(words) == len(GATES)
    learned = {gate for gate, word in words.items() if word == "learned"}
    assert learned == {"G1, per channel", "G2, per channel"}
    assert {word for gate, word in words.items() if gate not in learned} == {"not learned"}
    code = app.code[0].value
    assert code == sections("experts")["sample_code"]
    code = code.replace("repeats=4", "repeats=2").replace("(4, 6)", "(6, 7)")
    exec(code.replace('"elementwise G1"', '"headwise G1"'), {})
    assert capsys.readouterr().out.startswith("none [")


@pytest.mark.parametrize(("mean", "half", "verdict"), [
    (-0.5, 0.05, "learned"), (-0.6, 0.05, "learned"), (-0.3, 0.05, "slower"),
    (0.0, 0.1, "not learned"), (-0.09, 0.1, "not learned"), (-0.2, 0.1, "inconclusive"),
    (0.0, 0.4, "inconclusive"), (-0.38, 0.13, "inconclusive"), (-0.4, 0.23, "inconclusive"),
])  # fmt: skip
def test_a_verdict_follows_the_interval_of_the_slope(mean, half, verdict):
    assert sample_efficiency.verdict(MeanInterval(mean, half)) == verdict


def test_sentences_say_what_differs_and_which_fits_missed():
    learned = {gate: load_samples()[gate] for gate in ("none", "elementwise G1")}
    none = learned["none"]
    for prediction in (10 * none.prediction, 0 * none.prediction + 0.1):
        text = sample_efficiency.finding({**learned, "none": replace(none, prediction=prediction)})
        assert "Predictions differ" in text[1]
    excess = np.ones_like(none.excess)
    excess[2, 1:3] = 9
    missed = sample_efficiency.caution({"none": replace(none, excess=excess)})
    assert "2 of 60 fits of *no gate*" in missed


def test_what_takes_too_long_has_fewer_repeats_and_no_gates_are_one_sentence():
    large = SampleRequest(Sizes(6, 2, 4, 4, learned_routing=True), repeats=32)
    request, note = sample_efficiency.affordable(large)
    assert 4 <= request.repeats < 32
    assert f"Shown: {request.repeats}." in note
    assert sum(request.cost(gate) for gate in GATES) <= LEARNING_COST or request.repeats == 4
    assert sample_efficiency.affordable(SampleRequest()) == (SampleRequest(), "")
    app = page("Sample efficiency")
    app.multiselect("student_gates").set_value([]).run()
    assert not app.exception
    assert [box.value for box in app.info] == ["Select at least one gate."]


# --- Learning curves ----------------------------------------------------------------------------


def test_curves_open_with_the_verdict_of_what_is_bundled():
    text, bundled = said(page("Learning curves")), load_curves()
    assert "No significant difference in the training points for 90 %: the gated model" in text
    assert "*no difference* at 200, 400, 800, 1,600, 3,200, 6,400" in text
    for needed in bundled.needed(0.9):
        assert f"{2**needed.log2.mean:,.0f} [" in text
    traces = learning_curves.curves_chart(bundled, 0.9).data
    assert [int(np.isnan(t.y).sum()) for t in traces if t.line.width == 1] == [16, 16]


@pytest.mark.parametrize(("mean", "word", "bounded", "against", "start"), [
    (-1.0, "gated better", 0, 0, "The gated model needs fewer training points for 90 %:"),
    (1.0, "ungated better", 0, 0, "The gated model needs more training points"),
    (0.1, "inconclusive", 0, 0, "No significant difference"),
    (0.1, "inconclusive", 3, 0, "Inconclusive which model needs fewer"),
    (-1.0, "inconclusive", 3, 2, "Inconclusive which model needs fewer"),
    (0.1, "not enough data", 0, 0, "Not enough data"),
])  # fmt: skip
def test_a_ratio_is_said_with_its_verdict(mean, word, bounded, against, start):
    measured = paired(range(8), mean + 0.1 * np.linspace(-1, 1, 8), 0.95)
    ratio = Ratio(measured, bounded, against, word)
    assert learning_curves.ratio_text(ratio, "gated model", "90 %")[0].startswith(start)


def test_a_target_that_nobody_reaches_and_a_difference_that_remains_are_said():
    flat = LearningCurves(CurvesRequest(), np.array(COUNTS, dtype=float), np.full((2, 16, 9), 0.7))
    text = " ".join(learning_curves.finding(flat, 0.9))
    assert text.count("more than 6,400 points (0 of 16 seeds reach it)") == 2
    assert text.startswith("Not enough data")
    accuracy = flat.accuracy.copy()
    accuracy[1, :, 4:] = 0.95
    better = replace(flat, accuracy=accuracy)
    assert "16 are at an end of what was tried" in learning_curves.finding(better, 0.9)[1]
    added = replace(better, request=replace(flat.request, gate="additive"))
    assert "The control (additive) needs fewer" in learning_curves.finding(added, 0.9)[0]
    assert "The difference remains at 6,400 points" in learning_curves.verdicts_text(better)
    assert "remains" not in learning_curves.verdicts_text(load_curves())


def test_only_possible_curves_are_trained_and_every_model_is_in_the_download(monkeypatch):
    asked = []
    monkeypatch.setattr(
        learning_curves.CURVES,
        "fetch",
        lambda request: asked.append(request) or (load_curves(), None),
    )
    link = {"curves_source": "static slots", "curves_gate": "value"}
    assert "needs tokens" in " ".join(notes(page("Learning curves", **link)))
    assert asked == [CurvesRequest(source="memory")]
    rows = saved("Learning curves", monkeypatch)["accuracies"]
    assert len(rows) == 2 * 16 * 9
    accuracy = load_curves().accuracy
    assert float(rows[-1]["test accuracy"]) == pytest.approx(accuracy[1, 15, 8])
    columns = learning_curves.difference_columns(load_curves())
    means = columns["difference, mean (percentage points)"]
    assert means == pytest.approx(100 * (accuracy[1] - accuracy[0]).mean(0))
    assert {*columns["verdict"]} == {"not enough data", "no advantage", "no difference"}
