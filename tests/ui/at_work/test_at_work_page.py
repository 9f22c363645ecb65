"""Does the page At work show shipped models at once, read what is typed, and say what is so?"""

from dataclasses import replace

import numpy as np
import pytest

from gating_core.at_work import STRENGTHS, ToyRequest, WriteRequest, load_toy, read_text, train_toy
from gating_core.language import generate, load_model
from tests.ui import opening
from tests.ui.opening import csv_rows, mistakes, notes, numbers, open_page
from ui.at_work import gates, maps_picture, measured, sinks, toy, write
from ui.at_work.controls import AT_WORK, BEGINNINGS, SPARSE, TABS, WRITE, WriteSelection
from ui.at_work.sections import SECTIONS
from ui.common.lessons import sections
from ui.common.words import rough
from ui.language.selection import TextSelection, resolve, verses
from ui.limits import READ_CHARACTERS

PAGE = "pages/7_At_work.py"
FIRST = TextSelection()
FEW = ToyRequest(seeds=(0, 1), steps=50, batch=4)
EXPLAINED = 4  # paragraphs behind each button


@pytest.fixture(scope="module")
def sinks_page():
    return open_page(PAGE)


@pytest.fixture(scope="module")
def gates_page():
    return open_page(PAGE, tab_at_work=SPARSE)


def figure(app, name):
    return opening.figure(app, f"at_work_{name}")


def plain(text):
    """Without spaces that break no line."""
    return text.replace("\u00a0", " ")


def sentence(app, start):
    return plain(next(m.value for m in app.markdown if m.value.startswith(start)))


def test_every_tab_is_a_section_and_all_prose_is_used():
    assert tuple(SECTIONS) == TABS
    lessons = sections("at_work")
    for name in ("sinks", "toy", "gates", "writing"):
        assert len(lessons[name].split("\n\n")) == EXPLAINED


# --- Texts and models -----------------------------------------------------------------------------


def test_texts_are_short_and_have_known_characters_alone():
    assert all(0 < len(text) <= READ_CHARACTERS for verse in verses().values()
               for text in verse.values())  # fmt: skip
    assert FIRST.text == verses()[FIRST.verse]["english"]
    assert replace(FIRST, typed="a€b\n").text == "ab "
    assert replace(FIRST, typed="€").text == FIRST.text  # nothing is left to read
    both = [("none", 0), ("g2", 1), ("none", 1)]
    other, said = resolve(replace(FIRST, typed="a€b"), both, gated=True)
    assert other.model == ("g2", 1)
    assert "G2" in said[0]
    assert "`€`" in said[1]
    assert resolve(replace(FIRST, name="g2", seed=1), both) == (
        replace(FIRST, name="g2", seed=1),
        [],
    )


def test_what_is_typed_is_read_and_named_where_it_is_unknown():
    app = open_page(PAGE, tab_at_work=SPARSE, typed="¿Qué €?")
    (note,) = notes(app)
    assert "`€`" in note
    opened = read_text(load_model(*FIRST.model)[0], "¿Qué ?").opened
    drawn = figure(app, "strip")["data"][0]
    np.testing.assert_allclose(numbers(drawn["z"]), opened.reshape(-1, 8 - 1), rtol=1e-6)
    assert figure(app, "strip")["layout"]["xaxis"]["ticktext"] == ["¶", *"¿Qué", "␣", "?"]


def test_a_verse_that_there_is_not_is_refused_without_a_list_of_all():
    app = open_page(PAGE, verse="Foo 1:1")
    (text,) = mistakes(app)
    assert "one of 200, such as " in text
    assert len(text) < 200


def test_a_text_that_is_too_long_is_refused():
    app = open_page(PAGE, typed="a" * (READ_CHARACTERS + 1), gated_at="G7")
    said = mistakes(app)
    assert len(said) == 2
    assert "at most 127 characters" in said[0] + said[1]
    assert not app.exception


# --- Sinks ----------------------------------------------------------------------------------------


def test_it_opens_with_the_maps_of_both_models(sinks_page):
    assert not sinks_page.exception
    drawn = figure(sinks_page, "maps")
    for trace, model in zip(drawn["data"], (("none", 0), FIRST.model), strict=True):
        weights = read_text(load_model(*model)[0], FIRST.text).weights
        assert 48 < len(FIRST.text) + 1 <= 96  # so that cells are of 2 x 2 characters
        picture, step = maps_picture.tiled(weights, 2)
        np.testing.assert_array_equal(numbers(trace["z"]), picture)
        size = (len(FIRST.text) + 2) // 2
        tile = picture[step : step + size, 2 * step : 2 * step + size]
        largest = [[weights[1, 2, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2].max() for j in range(size)]
                   for i in range(size)]  # fmt: skip
        np.testing.assert_allclose(tile[np.tri(size) > 0] / 1000,
                                   np.array(largest)[np.tri(size) > 0], atol=1e-3)  # fmt: skip
        assert not tile[np.tri(size) == 0].any()
        assert tile[np.tri(size) > 0].min() >= 1
    scale = drawn["layout"]["coloraxis"]
    assert scale["cmax"] == 1000
    assert scale["colorbar"]["title"]["text"] == "weight, largest of 2 × 2"


def test_one_head_has_its_characters_beside_it():
    app = open_page(PAGE, seen_head="2.3")
    axis = figure(app, "maps")["layout"]["yaxis"]
    assert axis["showticklabels"]
    assert axis["ticktext"][:4] == ["¶", *"The"]
    assert numbers(figure(app, "maps")["data"][0]["z"]).shape == (len(FIRST.text) + 1,) * 2


def test_the_sentence_follows_from_the_numbers(sinks_page):
    shown = sentence(sinks_page, "**The gate reduces the first character's share")
    for name, title in (("none", "*no gate*"), (FIRST.name, "*G1, per channel*")):
        metric = measured.over_seeds(name, "sinks.metric", measured.seeds(FIRST.name))
        assert f"{title}, in {rough(100 * metric.mean())} % of texts and heads" in shown
        assert f"They are in {(metric > 0).sum()} of {metric.size} heads" in shown
        assert f"in {100 * metric.max():.1f} % of texts (value norm" in shown


def test_a_head_that_passes_the_published_threshold_in_some_texts_has_sinks():
    """One head of G2 does in 28 % of texts: its value is short, so a gate may take its place."""
    app = open_page(PAGE, gated_at="G2, per channel")
    shown = sentence(app, "**The gate reduces the first character's share")
    assert "No head has a sink" not in shown
    assert "most often in 2.3 of seed 1, in 28.2 % of texts (value norm 0.15 of the" in shown
    none = np.zeros((1, 2, 2))
    assert sinks.sink_text("a", none, none, none, (0,)) == "*a*, in none of 4 heads in any text"


@pytest.mark.parametrize(("changes", "says"), [
    ((-0.05, -0.06, -0.07), "**The gate reduces the first character's share of the attention"
     " weight**: 10.0 % (a), 4.0 % (b), difference −6.0 ± 2.5 points (3 seeds, paired)"),
    ((0.05, 0.06, 0.07), "**The gate increases the"),
    ((0.05, -0.06, 0.0), "**It is inconclusive whether the gate changes the"),
    ((0.05,), "too few seeds for a verdict"),
])  # fmt: skip
def test_a_change_is_called_one_beyond_its_interval_only(changes, says):
    before = np.full((len(changes), 4, 2), 0.1)
    after = before + np.array(changes)[:, None, None]
    assert says in plain(sinks.change({"a": before, "b": after}))


def test_the_shares_are_saved_as_csv():
    rows = csv_rows(sinks.shares_csv(measured.table()))
    assert len(rows) == 1 + 16 * len(measured.table())
    assert float(rows[1][4]) == pytest.approx(measured.table()["none", 0]["sinks.by_head"][0, 0])


# --- The toy --------------------------------------------------------------------------------------


def test_the_shipped_toy_is_shown_at_once():
    app = open_page(PAGE, specimen="a toy")
    assert not app.exception
    assert "_jobs" not in app.session_state or not app.session_state["_jobs"]
    run = load_toy()
    lines = [trace for trace in figure(app, "toy_training")["data"] if trace.get("name")]
    assert len(lines) == 4
    np.testing.assert_allclose(numbers(lines[0]["y"]), 100 * run.sink[:, 0].mean(-1), rtol=1e-5)
    assert f"{run.steps[-1]} steps" in sentence(app, "**The first letter is a sink**")
    counts = [round(8 * float(share)) for share in run.sink_shares]
    assert counts == [8, 6, 4, 0]
    assert "8 (no gate), 6 (per channel), 4 (per head), 0 (ReLU" in toy.summary(run)
    rows = csv_rows(toy.toy_csv(run))
    assert len(rows) == 1 + run.sink.size
    assert float(rows[-1][3]) == pytest.approx(run.sink[-1, -1, -1])


def test_other_seeds_are_trained_in_a_job(monkeypatch):
    monkeypatch.setattr(toy, "toy_request", lambda first: replace(FEW, seeds=(first, 9)))
    app = open_page(PAGE, specimen="a toy", toy_seed="7")
    ((job, _),) = app.session_state["_jobs"].values()
    assert job.join(60)
    app.run()
    assert not app.exception
    *_, run = train_toy(replace(FEW, seeds=(7, 9)))
    lines = [trace for trace in figure(app, "toy_training")["data"] if trace.get("name")]
    np.testing.assert_allclose(numbers(lines[0]["y"]), 100 * run.sink[:, 0].mean(-1), rtol=1e-4)


def test_the_toy_sentence_speaks_of_change_beyond_the_intervals_only():
    run = load_toy()
    shape = run.sink.shape
    near = replace(run, sink=np.broadcast_to(np.linspace(0.4, 0.6, shape[-1]), shape))
    assert toy.summary(near).count("does not change it beyond the intervals") == 2
    small = replace(near, sink=near.sink * np.array([1, 0.1, 3, 0])[:, None])
    assert "per channel leaves 0.1 of that and the gate per head makes it larger" in (
        toy.summary(small)
    )


# --- Sparse gates ---------------------------------------------------------------------------------


def test_gates_are_drawn_and_counted(gates_page):
    assert not gates_page.exception
    arrays = measured.table()[FIRST.model]
    lines = figure(gates_page, "histogram")["data"]
    assert len(lines) == 16
    assert numbers(lines[0]["y"])[:-1].sum() == pytest.approx(100)
    assert "of their values are below 0.1" in sentence(gates_page, "**The gates are")
    drawn = numbers(figure(gates_page, "openers")["data"][0]["z"])
    assert drawn.shape == (16, int((arrays["gates.counts"][1:] >= gates.LEAST_COUNT).sum()))
    rows = csv_rows(gates.gates_csv(measured.table()))
    assert len(rows) == 1 + 16 * sum("gates.shut" in of for of in measured.table().values())


@pytest.mark.parametrize(("ends", "word"), [
    ((0.5, 0.9), "sparse"), ((0.0, 0.1), "not sparse"), ((0.2, 0.4), "partly sparse"),
    ((0.05, 0.2), "too uncertain to call sparse or not"),
    ((0.4, 0.6), "too uncertain to call sparse or not"),
])  # fmt: skip
def test_gates_are_called_sparse_by_their_interval(ends, word):
    assert gates.word(*ends) == word


def test_fewer_than_three_seeds_give_no_verdict_on_sparsity():
    shut = np.full((3, 2, 2), 0.75)
    assert gates.summary(shut, 0, "g2").startswith("**The gates are sparse**: 75 %")
    assert gates.summary(shut[:2], 0, "g2").startswith("Too few seeds for a verdict: 75\u00a0%")


def test_the_mean_opening_is_weighted_by_how_often_characters_come():
    counts = np.array([200, 300, 100, 5, 0])
    means = np.array([0.8, 0.2, 0.6, 0.9, np.nan])[:, None, None]
    arrays = {"gates.by_character": means, "gates.counts": counts}
    above = gates.openers(arrays)[:, 0, 0]
    average = (200 * 0.8 + 300 * 0.2 + 100 * 0.6 + 5 * 0.9) / 605
    np.testing.assert_allclose(above[1:3], [0.2 - average, 0.6 - average])
    assert np.isnan(above[[0, 3, 4]]).all()  # the break, and characters that are too rare
    opened = np.array([[[0.9, 0.1, 0.3, 0.2]]])
    assert "head 1.1 opens most at `b` (character 2): 0.30" in gates.in_text(opened, "\nabc")


# --- Write ----------------------------------------------------------------------------------------


def test_a_model_writes_what_the_link_says():
    app = open_page(PAGE, tab_at_work=WRITE, draw="3", dial="0.5", heat="0.9", tongue="Spanish")
    ((job, _),) = app.session_state["_jobs"].values()
    assert job.join(60)
    app.run()
    assert not app.exception
    start = BEGINNINGS["spanish"]
    model, _ = load_model(*FIRST.model)
    want = "".join(one.character for one in generate(model, start, 3, 0.9, 0.5))
    assert sentence(app, f"**{start.strip()}**") == write.continued(start, want)
    losses = sentence(app, "Loss over the held-out verses at λ = 0.5")
    sums, counts = (measured.table()[FIRST.model][f"strengths.{x}"] for x in ("sums", "counts"))
    if len(measured.seeds(FIRST.name)) == 1:
        assert f"**{sums[5].sum() / counts.sum():.3f} nats" in losses
    drawn = numbers(figure(app, "losses")["data"][-1]["y"])
    assert len(drawn) == len(STRENGTHS)
    first, second = figure(app, "next")["data"]
    assert first["name"] == "λ = 0.5"
    assert len(numbers(first["y"])) == len(numbers(second["y"]))


def test_a_request_has_what_the_model_can_read():
    given = WriteSelection(strength=0.5)
    assert given.request(replace(FIRST, typed="a€b")).text == "ab"
    assert given.request(FIRST) == WriteRequest("g1_channel", 0, "In the beginning ", 0.7, 0.5, 0)
    assert given.request(replace(FIRST, name="none")).strength == 1.0  # there is nothing to dial


def test_written_text_is_harmless():
    assert write.continued("*a* ", "[b](c)") == r"**\*a\*** \[b\]\(c\)"
    assert write.continued(" ", "b") == " b"


def test_losses_between_measured_strengths_are_read_off_the_line():
    gated = np.linspace(2.0, 1.0, len(STRENGTHS))[None]
    text = write.loss_text(gated, np.array([[1.1]]), 0.25)
    assert "**1.750 nats a character**. At λ = 1: 1.000 nats a character." in text
    assert text.endswith("Trained without a gate: 1.100.")
    assert "all gates left out: 2.000" in write.loss_text(gated, np.array([[1.1]]), 1.0)


def test_all_controls_have_names_of_their_own():
    assert all(control.key == key for key, control in AT_WORK.items())
