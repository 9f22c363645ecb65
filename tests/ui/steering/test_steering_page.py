"""Does the page Steering open with a text, write what is asked for, and say what was seen?"""

from dataclasses import replace

import numpy as np
import pytest

from gating_core.steering import (
    RELEASED_AFTER,
    WRITTEN,
    DirectionRequest,
    Ending,
    Step,
    load_dictionaries,
    load_opening,
    write_judged,
)
from tests.ui.opening import figure, mistakes, notes, open_page
from ui.common.lessons import sections
from ui.common.parts import csv_text
from ui.steering import picture, words
from ui.steering.controls import ALL, FEATURE_ROWS, STEER_ROWS, STEERING, TABS, WIDTHS
from ui.steering.request import (
    BEGINNINGS,
    HELD,
    MEANS,
    OWN,
    PLAIN,
    RANDOM,
    SteeringSelection,
)
from ui.steering.sections import SECTIONS

PAGE = "pages/9_Steering.py"
FIRST = SteeringSelection()


@pytest.fixture(scope="module")
def page():
    return open_page(PAGE)


def html(app):
    return [node.proto.body for node in app.get("html") if node.proto.body.startswith("<p")]


def finished(**query):
    """A page whose text is written."""
    app = open_page(PAGE, **query)
    ((job, _),) = app.session_state["_jobs"].values()
    assert job.join(60)
    return app.run()


def said(app, start):
    return next(m.value for m in app.markdown if m.value.startswith(start)).replace("\u00a0", " ")


def test_every_tab_is_a_section_that_explains_itself_in_four_paragraphs():
    assert tuple(SECTIONS) == TABS
    for name in ("steering", "features", "outcomes"):
        assert len(sections("steering")[name].split("\n\n")) == 4
    assert {key for row in (*STEER_ROWS, *FEATURE_ROWS) for key in row} == set(ALL)
    assert set(WIDTHS) == set(STEERING) - {"tab_steering"}


# --- What is selected -----------------------------------------------------------------------------


def test_the_first_request_is_the_shipped_one():
    assert FIRST.steer_request() == load_opening().request


def test_a_beginning_has_known_characters_alone():
    assert replace(FIRST, typed="a€b").text == "ab"
    assert replace(FIRST, typed="€", language="spanish").text == BEGINNINGS["spanish"]
    assert "`€`" in replace(FIRST, typed="a€b").notes[0]


def test_each_language_has_a_feature_that_is_pushed_along():
    statistics = load_dictionaries("none", 0).kinds["means"].statistics
    for push, side in ((4.0, 1), (-4.0, 0)):
        selection = replace(FIRST, push=push, layer=2)
        chosen = selection.language_feature
        assert statistics.mean[1, side, chosen] == statistics.mean[1, side].max()
        request = selection.steer_request()
        assert request.direction == DirectionRequest("none", 0, 1, "feature", "means", chosen)
        assert request.push == 4.0


@pytest.mark.parametrize(("along", "feature"), [(OWN, 6), (MEANS, 0), (RANDOM, 3)])
def test_other_directions_are_pushed_with_their_sign(along, feature):
    selection = replace(FIRST, along=along, feature=7, push=-2.0, draw=3, mode=HELD, layer=4)
    request = selection.steer_request()
    kind = "feature" if along == OWN else along
    assert request.direction == DirectionRequest("none", 0, 3, kind, "means", feature)
    assert (request.push, request.mode, request.draw) == (-2.0, HELD, 3)


def test_a_dictionary_that_a_seed_lacks_is_replaced_and_named():
    selection = replace(FIRST, seed=1, kind=PLAIN, along=OWN)
    assert selection.feature_request().kind == "means"
    assert "plain top-k" in selection.notes[0]
    assert not replace(FIRST, kind=PLAIN).notes


# --- The page -------------------------------------------------------------------------------------


def test_it_opens_with_the_shipped_text_without_a_job_that_runs(page):
    assert not page.exception
    ((job, _),) = page.session_state["_jobs"].values()
    assert job.over
    assert not job.elapsed
    steps = load_opening().steps
    lines = figure(page, "steering_curve")["data"]
    for side, line in enumerate(lines):
        np.testing.assert_allclose(line["y"], [step.spanish[side] for step in steps])
    texts = [text for text in html(page) if "gc-head" in text]
    for text, name in zip(texts, ("plain", "steered"), strict=True):
        whole = "".join(getattr(step, name) for step in steps)
        assert whole in strip(text)
    assert "gc-release" not in texts[0]
    assert texts[1].count("gc-release") == 1
    assert "**the language has changed**" in said(page, "With the push, released after 16")


def strip(text):
    """Text of HTML without tags."""
    parts = text.replace("&#x27;", "'").split("<")
    return "".join(part.partition(">")[2] for part in parts)


def test_what_a_link_says_is_written():
    app = finished(opening="And <b>€", push="-3", pushed="held", push_along="difference of means",
                   after_layer="4", steered_gate="G1, per channel", steered_seed="1",
                   opening_draw="5")  # fmt: skip
    assert not app.exception
    (note,) = notes(app)
    assert "`<>€`" in note
    selection = SteeringSelection("g1_channel", 1, 4, MEANS, push=-3.0, mode=HELD, typed="And b",
                                  draw=5)  # fmt: skip
    steps = list(write_judged(selection.steer_request()))
    lines = figure(app, "steering_curve")["data"]
    np.testing.assert_allclose(lines[1]["y"], [step.spanish[1] for step in steps])
    assert len(figure(app, "steering_curve")["layout"]["shapes"]) == 1  # nothing is released
    said(app, "With the push, held for 60 characters")


def test_strength_zero_changes_no_letter():
    text = said(finished(push="0"), "With the push")
    assert "the text is the same, letter by letter" in text


def test_a_text_that_is_too_long_is_refused():
    app = open_page(PAGE, opening="a" * 61, push="11", feature="0")
    refused = mistakes(app)
    assert len(refused) == 3
    assert any("at most 60 characters" in text for text in refused)
    assert not app.exception


def test_write_another_takes_the_next_seed(page):
    app = open_page(PAGE, opening_draw="9999")
    app.button(key="steer_another").click().run()
    assert app.session_state["opening_draw"] == 0


# --- Words and pictures ---------------------------------------------------------------------------


def steps(first, last, letters="ab"):
    """A whole text that ends with these probabilities."""
    return [Step(*letters, (first, last))] * WRITTEN


def ending(spanish, *, bayes=None, nats=1.5, words=0.9, fluent=True):
    return Ending(spanish, spanish if bayes is None else bayes, nats, words, fluent)


@pytest.mark.parametrize(("first", "last", "says"), [
    (ending(0.01), ending(0.98), "characters, **the language has changed**. At the end it is seen"
     " as Spanish by both classifiers; without the push, as English by both classifiers."),
    (ending(0.99), ending(0.97), "**the language is the same**. At the end it is seen as Spanish"),
    (ending(0.6), ending(0.2), "**it is inconclusive** whether the language has changed. At the end"
     " it is seen as neither for sure (20 % Spanish)"),
    (ending(0.01), ending(0.98, bayes=0.3), "seen as Spanish by one classifier and English by the"),
    (ending(0.01), ending(1.0, nats=5.25, words=np.nan, fluent=False),
     "**the classifiers are fooled**: they see another language in a text that is less fluent"),
    (ending(0.01), ending(0.01, fluent=False), "**the text degenerates**, and its language does"),
])  # fmt: skip
def test_the_sentence_follows_from_the_numbers(first, last, says):
    request = FIRST.steer_request()
    text = words.result_text(request, steps(0, 1), [first, last]).replace("\u00a0", " ")
    assert says in text
    share = "no whole word" if np.isnan(last.words) else "90 % real words"
    assert (f"The last 40 characters have {last.nats:.2f} nats per character and {share} (unsteered"
            " 1.50 nats per character and 90 % real words).") in text  # fmt: skip
    half = words.result_text(request, steps(0, 1)[:30], None)
    assert half == "Written: 30 of 60 characters."


def test_gibberish_that_passes_the_classifiers_is_not_called_a_language():
    app = finished(push="6", pushed="held", after_layer="4")
    assert not app.exception
    text = said(app, "With the push, held for 60 characters")
    assert "**the classifiers are fooled**" in text
    assert "the language has changed" not in text


@pytest.mark.parametrize(("spanish", "name"), [
    (0.0, "gc-en-4"), (0.42, "gc-en-0"), (0.3, "gc-en-2"), (0.5, "gc-es-0"), (0.85, "gc-es-3"),
    (1.0, "gc-es-4"),
])  # fmt: skip
def test_shades_are_a_language_and_how_sure_it_is(spanish, name):
    assert words.shade(spanish) == name


def test_text_in_colours_is_harmless_and_marked_where_it_is_released():
    text = words.coloured("a<b>&", ["x", "x", "y", "y", "y"], 3, '"<i>\n')
    assert text == ('<p class="gc-text"><b>&quot;&lt;i&gt; </b><span class="x">a&lt;</span>'
                    '<span class="y">b<i class="gc-release"></i>&gt;&amp;</span></p>')  # fmt: skip
    held = words.steered_text(replace(FIRST, mode=HELD).steer_request(), steps(0, 1), "t",
                              steered=True)  # fmt: skip
    assert "gc-release" not in held
    assert "gc-es-4" in held
    assert "gc-en" not in held


def test_the_curve_has_a_line_where_the_push_is_released():
    half = steps(0.0, 0.4)[:30]
    chart = picture.curve_chart(half, released=True)
    assert list(chart.data[1].y) == [0.4] * 30
    middle, released = chart.layout.shapes
    assert middle.y0 == middle.y1 == 0.5
    assert released.x0 == released.x1 == RELEASED_AFTER + 0.5
    assert chart.layout.xaxis.range == (0.5, WRITTEN + 0.5)
    assert len(picture.curve_chart(half, released=False).layout.shapes) == 1


def test_the_steps_are_saved_as_csv():
    rows = csv_text(words.steps_csv(steps(0.25, 0.75))).splitlines()
    assert len(rows) == 1 + WRITTEN
    assert rows[1] == "1,a,b,0.25,0.75"
