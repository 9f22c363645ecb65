"""The Experts page: its two pictures, its link, and true sentences."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest

from gating_core.attention import build_attention
from gating_core.experiments.comparison import FIRST_COMPARISON, TrainedRun, train_setting
from gating_core.experts import (
    entry_tree,
    trained,
    trained_state,
    undecidable_directions,
    with_state,
)
from gating_core.tasks import EXAMPLE_CSV, parse_csv
from gating_core.training import TrainingDiverged
from tests.ui.opening import data_of, mistakes, notes, open_page, report
from ui.common.lessons import sections
from ui.common.parts import csv_text
from ui.common.words import short
from ui.components.tree import is_share
from ui.decision_boundary.request import experts_link
from ui.experts import measured, picture, words
from ui.experts.controls import EXPERTS, PAD_KEY, TREE_KEY
from ui.experts.request import NULLS, POSITIONS, ExpertsSelection

PAGE = "pages/6_Experts.py"
FIRST = ExpertsSelection()
OWN = parse_csv(EXAMPLE_CSV)


@pytest.fixture(scope="module")
def first():
    """The page as it opens."""
    return open_page(PAGE)


@pytest.fixture(scope="module")
def nulls():
    """Its second section."""
    return open_page(PAGE, picture=NULLS)


def sent(app, key=TREE_KEY):
    return data_of(app, key)


def moved(x, y, done=True, serial=1):
    return {"index": 0, "x": x, "y": y, "done": done, "serial": serial}


def sentence(app):
    return next(m.value for m in app.markdown if m.value.startswith(("**Y[", "With ")))


# --- One entry, taken apart -----------------------------------------------------------------------


def test_it_opens_with_an_entry_taken_apart(first):
    assert not first.exception
    assert not first.error
    found = sent(first)
    assert np.shape(found["values"]) == (3, 2, 3, 2)
    assert np.shape(found["gate"]["logits"]) == (3, 1, 2, 2)
    assert (found["gate"]["place"], found["channel"], found["name"]) == ("G1", 0, "Y[1]")
    assert found["pad"] == sent(first, PAD_KEY)["key"] == PAD_KEY
    assert found["label"].startswith("Output 1 of a model with a gate at G1, as a tree of 12 terms")


def test_the_sentence_has_the_numbers_of_the_core(first):
    tree = entry_tree(build_attention(FIRST.config, (FIRST.seed,)), FIRST.point, 0)
    assert f"**Y[1] = {short(tree.value)}**" in sentence(first)
    assert "12 terms" in sentence(first)
    assert abs(tree.rounding) < 1e-15


@pytest.mark.parametrize("place", POSITIONS)
def test_every_place_of_the_gate_has_its_formula_and_words(place):
    app = open_page(PAGE, gate_at=place, gate_per="head")
    assert not app.exception
    gate = sent(app)["gate"]
    assert (gate and gate["place"]) == (None if place == "no gate" else place)
    formula = next(m.value for m in app.markdown if m.value.startswith("$"))
    assert ("boxed" in formula) == (place != "no gate")
    assert "g_{hc}" not in formula  # one factor for a head, none for a channel
    assert "every expert a factor" not in " ".join(caption.value for caption in app.caption)


def test_a_dragged_input_goes_into_the_link_when_it_is_let_go():
    app = open_page(PAGE)
    report(app, PAD_KEY, "moved", moved(0.25, -0.5, done=False))
    assert "input" not in app.query_params
    report(app, PAD_KEY, "moved", moved(0.25, -0.5, serial=2))
    assert app.query_params["input"] == "0.25,-0.5"
    assert sent(app)["point"] == [0.25, -0.5]
    assert "x = (0.25, −0.5)" in sentence(app)
    report(app, PAD_KEY, "moved", moved(*FIRST.point, serial=3))
    assert "input" not in app.query_params


def test_strength_and_expert_go_into_the_link():
    app = open_page(PAGE)
    report(app, TREE_KEY, "moved", {"strength": 0.25, "serial": 1})
    report(app, TREE_KEY, "picked", {"expert": "2.1", "serial": 2})
    assert (app.query_params["open"], app.query_params["expert"]) == ("0.25", "2.1")
    found = sent(app)
    assert (found["strength"], found["expert"], found["heard"]) == (0.25, "2.1", 2)
    report(app, TREE_KEY, "picked", {"expert": "", "serial": 3})
    assert "expert" not in app.query_params


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ("moved", {"strength": 1.5, "serial": 1}),
        ("moved", {"strength": True, "serial": 1}),
        ("moved", {"strength": 0.5}),
        ("picked", {"expert": "3.1", "serial": 1}),
        ("picked", {"expert": ["1.1"], "serial": 1}),
    ],
)
def test_a_forged_message_is_not_listened_to(event, message):
    app = report(open_page(PAGE), TREE_KEY, event, message)
    assert not app.exception
    assert not {"open", "expert"} & set(app.query_params)
    assert not mistakes(app)


@pytest.mark.parametrize(("value", "sound"), [(0, True), (1.0, True), (float("nan"), False),
                                              ("1", False), (None, False)])  # fmt: skip
def test_a_share_is_a_number_from_0_to_1(value, sound):
    assert is_share(value) == sound


def test_bad_links_are_one_sentence_each():
    app = open_page(PAGE, gate_at="G7", input="0.5", open="2", expert="first", channels="99")
    assert not app.exception
    assert len(mistakes(app)) == 5
    assert sent(app)["point"] == list(FIRST.point)


def test_a_gate_too_weak_to_be_counted_is_shut():
    assert EXPERTS["open"].parse("1e-13") == 0.0  # its singular values would be lost in rounding
    assert EXPERTS["open"].parse("0.001") == 0.001


def test_what_does_not_fit_together_is_said():
    app = open_page(PAGE, channels="3", head_count="2", output="8", expert="2.2")
    assert not app.exception
    said = " ".join(notes(app))
    assert "2 heads do not divide D = 3. Shown: 1." in said
    assert "There is no output 8. Shown: 3." in said
    assert "There is no expert 2.2 in this model. None is followed." in said


def test_terms_as_csv_multiply_and_add_up():
    selection = replace(FIRST, position="G2", granularity="headwise", strength=0.4)
    tree = measured.decomposed(selection)
    rows = [*csv.DictReader(io.StringIO(csv_text(words.terms_rows(tree))))]
    assert len(rows) == 12
    factors = [name for name in words.COLUMNS[3:] if name != "term"]
    for row in rows:
        product = np.prod([float(row[name]) for name in factors])
        assert product == pytest.approx(float(row["term"]), rel=1e-12)
    assert sum(float(row["term"]) for row in rows) == pytest.approx(tree.value, rel=1e-12)


def test_the_lines_of_code_run_and_print_the_pages_numbers(capsys):
    app = open_page(PAGE, code="true", gate_at="G5")
    (code,) = app.code
    exec(code.value, {})
    printed = capsys.readouterr().out
    value = measured.decomposed(replace(FIRST, position="G5")).value
    assert printed.startswith(f"{value} ")
    assert "8 8 (" in printed


# --- What no data can decide ----------------------------------------------------------------------


def figure(app, key):
    (spec,) = [c.proto.spec for c in app.get("plotly_chart") if c.proto.id.endswith(key)]
    return json.loads(spec)


def test_the_second_section_counts_every_place_and_moves_weights(nulls):
    assert not nulls.exception
    said = sentence(nulls)
    assert "**4 of 32 directions**" in said
    assert "Theory and count agree in all 11 rows." in said
    assert "With no gate the outputs **stand still" in said
    assert "With gate G1 the outputs **move by" in said
    bars, theory = figure(nulls, "experts_counts")["data"]
    assert len(bars["y"]) == 11
    assert sorted({*bars["text"]}) == ["4", "8"]
    charts = nulls.get("plotly_chart")
    assert [bool(chart.proto.alt) for chart in charts] == [True] * 3
    assert "G3, per head 8 (theory 8)" in charts[0].proto.alt
    assert len(theory["y"]) == 11


@pytest.mark.parametrize("place", POSITIONS)
def test_counts_are_those_of_the_model_on_screen(place):
    app = open_page(PAGE, picture=NULLS, gate_at=place, channels="6", along="scale one expert")
    assert not app.exception
    found = undecidable_directions(
        build_attention(
            replace(FIRST, position=POSITIONS[place], model_dim=6).config, (FIRST.seed,)
        )
    )
    assert f"**{found.count} of 72 directions**" in sentence(app)
    assert sentence(app).count("**stand still") == 2


def test_the_followed_expert_is_the_one_that_is_moved():
    app = open_page(PAGE, picture=NULLS, expert="2.2", far="-0.5")
    assert "Mixing experts 2.2 and 2.1 by t = −0.5" in sentence(app)


def test_a_head_of_one_channel_has_nothing_to_mix():
    app = open_page(PAGE, picture=NULLS, head_count="4")
    assert any("no second expert to mix with" in note for note in notes(app))
    assert "Scaling expert 1.1 by t = 1" in sentence(app)


def test_few_tokens_are_why_more_is_undecidable():
    app = open_page(PAGE, picture=NULLS, channels="8", tokens="2", gate_at="no gate")
    assert "**56 of 128 directions**" in sentence(app)
    assert "H d² = 2·4² = 32, and 24 more. The 2 tokens" in sentence(app)
    assert "span only 6 of 8 dimensions" in sentence(app)
    assert "Theory and count agree" in sentence(app)


@pytest.mark.parametrize(("sizes", "said"), [
    ({"model_dim": 8, "value_count": 2}, "fewer directions are non-identifiable than without a gate"
     " (56) with *G1, per channel* (24), *G1, per head* (48), *G2, per channel* (24), *G2, per"
     " head* (48)."),
    ({}, "fewer directions are non-identifiable than without a gate (8) with *G1, per channel* (4),"
     " *G2, per channel* (4)."),
    ({"heads": 4}, "no gate leaves fewer directions non-identifiable than the model without one"
     " (4)."),
])  # fmt: skip
def test_gates_with_fewer_directions_are_those_that_are_counted(sizes, said):
    counts = measured.counts(replace(FIRST, **sizes))
    assert words.fewer_text(counts).lower() == said.lower()
    blurred = replace(counts[None], singular_values=np.array([1.0, 2e-12, 5e-13]))
    assert "cannot be compared" in words.fewer_text({**counts, None: blurred})
    assert "Inconclusive: G5, per head" in words.fewer_text({**counts, ("G5", "headwise"): blurred})


def test_disagreement_and_gaps_that_are_none_would_be_said():
    counts = measured.counts(FIRST)
    wrong = {place: replace(found, theory=5) if place is None else found
             for place, found in counts.items()}  # fmt: skip
    assert "differ, or the gap is not clear, for no gate" in words.counts_summary(FIRST, wrong)
    dim = replace(counts[FIRST.gate_setting], singular_values=np.array([1.0, 2e-12, 5e-13]))
    said = words.counts_summary(FIRST, {**counts, FIRST.gate_setting: dim})
    assert "**undecided**" in said


def test_both_tables_as_csv(nulls):
    counts = measured.counts(FIRST)
    rows = [*csv.DictReader(io.StringIO(csv_text(words.counts_rows(counts))))]
    assert [row["counted"] for row in rows] == [row["theory"] for row in rows]
    assert len(rows) == 11
    moves = measured.moves(FIRST)
    rows = [*csv.DictReader(io.StringIO(csv_text(words.moves_rows(moves))))]
    assert len(rows) == 2 * measured.STEPS
    assert {row["model"] for row in rows} == {"no gate", "gate G1"}


def test_the_move_chart_ends_nowhere_at_zero():
    """At t = 0 nothing has changed, and a logarithmic axis has no place for that."""
    moves = measured.moves(FIRST)
    lines = picture.move_chart(moves, 0.0).data
    assert len(lines) == 4
    for line in lines:
        assert np.isnan(line.y).sum() == 1
        assert np.nanmin(line.y) >= picture.SMALLEST


def test_nothing_is_left_unsaid_in_the_lesson():
    """Each explanation has its four parts."""
    for name in ("tree", "counts", "moves"):
        assert len(sections("experts")[name].split("\n\n")) == 4


# --- Trained models -------------------------------------------------------------------------------


def test_the_lines_of_code_find_what_the_page_shows_of_a_weakened_gate(inline, capsys):
    app = open_page(PAGE, taught="circle", tokens="2", open="0.5", code="true")
    exec(app.code[0].value, {})
    assert f"**Y[1] = {short(float(capsys.readouterr().out.split()[0]))}**" in sentence(app)


def test_a_trained_model_is_taken_apart_and_counted(inline):
    app = open_page(PAGE, taught="circle", tokens="2", code="true")
    assert not app.exception
    config = replace(FIRST, value_count=2).config
    model = with_state(config, FIRST.seed, trained_state(config, "circle", FIRST.seed))
    value = entry_tree(model, FIRST.point, 0).value
    assert f"**Y[1] = {short(value)}**" in sentence(app)
    assert "trained_state(config, 'circle', 19)" in app.code[0].value
    found = undecidable_directions(model)
    app = open_page(PAGE, taught="circle", tokens="2", picture=NULLS)
    assert not app.exception
    assert f"**{found.count} of 32 directions**" in sentence(app)
    assert app.get("plotly_chart")[1].proto.alt == words.gap_alt(found)
    assert any("marked row is the trained model" in c.value for c in app.caption)


def test_a_training_that_diverges_is_said_and_random_weights_are_shown(monkeypatch):
    def diverges(config, task, seed):
        raise TrainingDiverged(3, (seed,), 0.02)

    monkeypatch.setattr(measured.experts, "trained_state", diverges)
    app = open_page(PAGE, taught="xor", model_seed="77")
    assert not app.exception
    assert any("This training diverged" in box.value for box in app.warning)
    random = measured.decomposed(replace(FIRST, seed=77))
    assert f"**Y[1] = {short(random.value)}**" in sentence(app)


def test_where_the_model_beside_it_diverges_both_have_random_weights(monkeypatch):
    learned = measured.experts.trained_state

    def diverges_without_gate(config, task, seed):
        if config.gate is None:
            raise TrainingDiverged(3, (seed,), 0.02)
        return learned(config, task, seed)

    monkeypatch.setattr(measured.experts, "trained_state", diverges_without_gate)
    app = open_page(PAGE, picture=NULLS, taught="xor", model_seed="78")
    assert not app.exception
    assert any("This training diverged" in box.value for box in app.warning)


def test_decision_boundary_links_to_the_model_that_it_trained(monkeypatch):
    """Its member starts from the same weights and data, and goes the same way up to rounding."""
    run = replace(
        FIRST_COMPARISON, source="tokens", output_projection=True, model_dim=4, heads=2,
        variants=("sigmoid",), seed=19, seed_count=2,
    )  # fmt: skip
    link = experts_link(run, "sigmoid", 20)
    monkeypatch.setattr(trained, "STEPS", 40)
    app = open_page(PAGE, **link)
    assert not app.exception
    assert not mistakes(app)
    assert (sent(app)["gate"]["place"], app.session_state["model_seed"]) == ("G1", 20)
    short_run = replace(run, steps=40)
    *_, found = (item for item in train_setting(short_run) if isinstance(item, TrainedRun))
    state = found.variants["sigmoid"].ensemble.state
    for name, array in trained.trained_state(run.configs["sigmoid"], run.task, 20).items():
        np.testing.assert_allclose(array[0], state[name][1], atol=1e-5, err_msg=name)


@pytest.mark.parametrize(
    ("change", "variant"),
    [({"source": "memory"}, "sigmoid"), ({"depth": 2}, "sigmoid"), ({"steps": 100}, "sigmoid"),
     ({"model_dim": 16}, "sigmoid"),
     ({"task": "own", "own": OWN}, "sigmoid"), ({"noise": 0.1}, "ungated"), ({}, "half")],
)  # fmt: skip
def test_what_experts_cannot_show_has_no_link_to_it(change, variant):
    variants = tuple(dict.fromkeys(("ungated", variant)))
    run = replace(FIRST_COMPARISON, source="tokens", output_projection=True, variants=variants)
    assert experts_link(replace(run, **change), variant, 0) is None
    assert experts_link(run, "ungated", 0)["gate_at"] == "no gate"
