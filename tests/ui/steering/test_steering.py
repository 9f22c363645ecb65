"""Does Steering draw what was generated and measured, and claim no more than follows from it?"""

import numpy as np
import pytest

from gating_core.lm.resampling import PairedDifference
from gating_core.lm.steering.live import (
    DirectionRequest,
    Ending,
    SteerRequest,
    TopExample,
    WrittenAlong,
    effect_on_next,
    load_opening,
    top_examples,
    verdict,
    write_judged,
    written_along,
    written_texts,
)
from gating_core.lm.steering.outcomes import (
    DIRECTIONS,
    MODES,
    STRENGTHS,
    SUMMARISED,
    Outcome,
    load_steering,
    summarise,
)
from gating_core.lm.steering.streams import STEERED, DictionaryCard, load_dictionaries
from tests.ui.opening import figure, mistakes, notes, numbers, open_page, open_settled, said
from ui.steering import features, shared, steer

PAGE = "pages/9_Steering.py"
HELD, RELEASED = MODES
FEATURE = DIRECTIONS.index("feature")
BOTH, ENGLISH = slice(None), slice(0, 1)


def page(tab="Steer", **link):
    return open_settled(PAGE, steering_tab=tab, **link)


def plain(text):
    return text.replace("\u00a0", " ")


def html(app):
    return [node.proto.body for node in app.get("html") if node.proto.body.startswith("<")]


def shades_of(text, spanish):
    """Pale text is not scored; colours begin with a word past 32 characters, if there is one."""
    start = next((n for n in range(32, len(text)) if text[n - 1] == " "), 32)
    return ["gc-unscored"] * 20 + [""] * (start - 20) + [steer.shade(x) for x in spanish[start:]]


# --- Steer ----------------------------------------------------------------------------------------


@pytest.fixture
def requests(monkeypatch):
    """The texts that the page asks for."""
    requests, choose = [], steer.choose_requests
    monkeypatch.setattr(
        steer, "choose_requests", lambda: requests.append((chosen := choose())[0]) or chosen
    )
    return requests


def test_it_opens_with_the_bundled_texts_of_both_gates_and_starts_no_job():
    app = open_page(PAGE, steering_numbers="true")
    assert not app.session_state["_jobs"]
    cards = [text for text in html(app) if '<p class="gc-text">' in text]
    for card, example, gate in zip(cards, load_opening().examples, STEERED, strict=True):
        unsteered = written_texts(example.steps)[0]
        shades = shades_of(unsteered, [step.spanish[0] for step in example.steps])
        assert shared.coloured(unsteered, shades, 20, example.request.text) in card
        assert card.count("gc-mark") == 2  # from where on both texts are scored
        line = figure(app, "steer_success")["data"][gate != "none"]
        want = summarise([load_steering()[gate, seed] for seed in range(3)], gate, RELEASED, BOTH)
        np.testing.assert_allclose(numbers(line["y"]), want.means["success"][0, FEATURE])
        for language in ('gc-en-4">English', 'gc-es-4">Spanish'):
            assert f'<b class="{language}</b>' in card
    assert said(app).count("**The language changes**.") == 2
    assert "Yes: at strength 6, 99 % of texts change language, with or without a gate." in said(app)
    bars = figure(app, "steer_fluent")["data"][1]
    top = np.add(numbers(bars["y"]), numbers(bars["error_y"]["array"]))
    assert 0.9 < top.max() < 1  # no share lies beyond
    assert "99 % (84 to 100 %) change without a gate" in plain(said(app))


def test_a_link_is_restored_and_names_what_cannot_be_used():
    app = page(
        steering_text="And <b>€",
        steering_strength="-3",
        steering_tokens="all tokens",
        steering_vector="difference of means",
        steering_layer="4",
        steering_seed="1",
        steering_draw="5",
        steering_prompt="Latin",
        results_target="English",
    )
    assert not app.exception
    (note,) = notes(app)
    assert "`<>€`" in note
    (mistake,) = mistakes(app)
    assert "`steering_prompt` = `Latin`" in mistake
    card = next(text for text in html(app) if '"gc-head">Gate G1, per channel<' in text)
    request = SteerRequest(DirectionRequest("g1_channel", 1, 3, "means"), "And b", -3.0, HELD, 5)
    steps = [*write_judged(request)]
    steered = written_texts(steps)[1]
    shades = shades_of(steered, [step.spanish[1] for step in steps])
    assert shared.coloured(steered, shades, 20, "And b") in card
    want = summarise([load_steering()["none", seed] for seed in range(3)], "none", HELD, ENGLISH)
    line = figure(app, "steer_success")["data"][0]
    np.testing.assert_allclose(numbers(line["y"]), want.means["success"][3, FEATURE])


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("strength", "spanish"), [("2", True), ("-2", False)])
def test_each_language_has_a_feature_that_is_added(requests, strength, spanish):
    page(steering_strength=strength, steering_layer="2")
    for request, gate in zip(requests[-1], STEERED, strict=True):
        statistics = load_dictionaries(gate, 0).kinds["means"].statistics
        feature = statistics.language_feature(1, spanish)
        assert request.direction == DirectionRequest(gate, 0, 1, "feature", "means", feature)
        assert request.push == 2.0


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("vector", "along", "number"), [
    ("chosen feature", "feature", 6), ("random direction", "random", 3),
])  # fmt: skip
def test_other_vectors_keep_their_sign(requests, vector, along, number):
    page(steering_vector=vector, steering_strength="-2", steering_feature="7", steering_draw="3")
    for request, gate in zip(requests[-1], STEERED, strict=True):
        assert request.direction == DirectionRequest(gate, 0, 0, along, "means", number)
        assert request.push == -2.0


def test_gibberish_is_not_said_to_be_another_language():
    app = page(steering_strength="6", steering_tokens="all tokens", steering_layer="4")
    assert " **The classifiers are fooled** by" in said(app)
    assert "No: at strength 6, 100 % of texts change language" in said(app)
    assert "but fewer than half fluently." in said(app)


def test_another_text_takes_the_next_seed():
    app = page(steering_draw="9999")
    app.button(key="steering_another").click().run()
    assert app.session_state["steering_draw"] == 0


def ending(spanish, *, bayes=None, nats=1.5, words=0.9, fluent=True):
    return Ending(spanish, spanish if bayes is None else bayes, nats, words, fluent)


@pytest.mark.parametrize(("plain", "steered", "says"), [
    (ending(0.01), ending(0.98), "**The language changes**: Spanish"),
    (ending(0.99), ending(0.97), "**The language stays the same**: Spanish"),
    (ending(0.6), ending(0.2), "**It is inconclusive** whether the language changes: English, not"),
    (ending(0.01), ending(0.98, bayes=0.3), "Spanish (logistic regression) and English (naive Bay"),
    (ending(0.01), ending(1.0, nats=5.25, words=np.nan, fluent=False), "**The classifiers are f"),
    (ending(0.01), ending(0.01, fluent=False), "**The text degenerates**, and the language stays"),
])  # fmt: skip
def test_the_finding_follows_from_the_numbers(plain, steered, says):
    assert says in f"{steer.FINDINGS[verdict(plain, steered)]}: {steer.seen_in(steered)}."
    words = "no whole word" if np.isnan(steered.words) else "90\u00a0% real words"
    assert steer.scores_text(plain, steered) == (
        f"After the bar: steered {steered.nats:.2f} nats per character, {words};"
        " unsteered 1.50 nats per character, 90\u00a0% real words."
    )


@pytest.mark.parametrize(("spanish", "name"), [
    (0.0, "gc-en-4"), (0.42, "gc-en-0"), (0.5, "gc-es-0"), (0.85, "gc-es-3"), (1.0, "gc-es-4"),
])  # fmt: skip
def test_a_shade_is_a_language_and_its_probability(spanish, name):
    assert steer.shade(spanish) == name


def test_coloured_text_is_escaped_and_marked():
    text = shared.coloured("a<b>&", ["x", "x", "y", "y", "y"], 3, '"<i>\n')
    assert text == (
        '<p class="gc-text"><b>&quot;&lt;i&gt; </b><span class="x">a&lt;</span>'
        '<span class="y">b<i class="gc-mark"></i>&gt;&amp;</span></p>'
    )


# --- Features -------------------------------------------------------------------------------------


def test_a_feature_is_drawn_as_the_core_computes_it():
    app = page("Features", steering_layer="2", steering_feature="1", steering_strength="3",
               steering_parts="true")  # fmt: skip
    request = DirectionRequest("none", 0, layer=1, feature=0)
    assert any(features.examples_html(top_examples(request)) in body for body in html(app))
    order = figure(app, "features_order")["data"]
    assert sum(len(line["x"]) for line in order[:2]) == shared.SIZE
    z = numbers(figure(app, "features_attribution")["data"][0]["z"])
    parts = written_along(request)
    np.testing.assert_allclose(z[:, 1:-1], parts.heads, rtol=1e-6)
    assert np.nansum(z) == pytest.approx(parts.total, abs=1e-6)
    change = effect_on_next(request, 3.0)
    bars = numbers(figure(app, "features_next")["data"][0]["y"])
    assert bars.max() == pytest.approx(100 * change.max(), rel=1e-4)
    app.button(key="steering_english").click().run()
    statistics = load_dictionaries("none", 0).kinds["means"].statistics
    feature = statistics.language_feature(1, spanish=False)
    assert app.session_state["steering_feature"] == feature + 1


@pytest.fixture
def three():
    """Three features: of English, of nothing, of Spanish."""
    return features.Statistics(
        np.array([[0.9, 0.5, 0.1], [0.2, 0.5, 0.8]]),
        np.array([-1.0, 0.0, 2.0]),
        np.array([0.8, 0.5, 0.95]),
        np.array([-0.9, 0.0, 0.97]),
        np.array([0.2, 1.0, np.nan]),
        DictionaryCard(0.8, 8.0, 3),
    )


@pytest.mark.parametrize(("feature", "says"), [
    (2, "Feature 3 separates the languages: AUC 0.950. It is active at 10 % of English and 80 % of"
     " Spanish positions. Its cosine with the difference of means is +0.97."),
    (0, "Feature 1 separates the languages in part: AUC 0.800."),
    (1, "Feature 2 does not separate the languages: AUC 0.500."),
])  # fmt: skip
def test_the_auc_decides_on_a_feature(three, feature, says):
    assert plain(" ".join(features.feature_text(three, feature))).startswith(says)


def test_examples_are_darkest_where_the_feature_is_largest():
    values = np.zeros(100)
    values[70:73] = 1, 10, 4
    html = features.examples_html([TopExample("a" * 100, values)])
    assert '<span class="gc-active-5">a</span><span class="gc-active-2">' in html
    assert html.count("gc-mark") == 1
    assert len("".join(part.partition(">")[2] for part in html.split("<"))) == 64 + 20
    assert "never active" in features.examples_html([])


def test_the_largest_contributions_and_changes_are_named():
    parts = WrittenAlong(0.5, np.array([[0.1, -2.0]]), np.array([3.0]), 1.6)
    text = features.attribution_text(parts)
    assert "differs by +1.60 along" in text
    assert "those of the MLP of layer 1 (+3.00) and head 1.2 (−2.00)." in text
    change = np.zeros(60)
    change[[0, 3, 4]] = -0.2, 0.1, 0.05
    text = features.next_text(change, -2.5)
    assert text.startswith("A steering vector of strength −2.5 changes")
    assert "by +10.0 and of `end` by −20.0 points." in text


# --- Results --------------------------------------------------------------------------------------


def made(success=0.9, bayes=0.85, fluent=0.8, back=0.01, prompted_back=0.3, half_width=0.02):
    """Outcomes that are such after layer 2 at the third strength, 3."""
    means = {name: np.full((4, len(DIRECTIONS), len(STRENGTHS)), 0.05) for name in SUMMARISED}
    best = dict(
        success=success,
        success_bayes=bayes,
        nats=1.8,
        words=0.8,
        back=back,
        fluent=fluent,
        wordless=0.0,
    )
    for name, value in best.items():
        means[name][1, FEATURE, 2] = value
    intervals = {name: np.stack([x - half_width, x + half_width]) for name, x in means.items()}
    references = {
        "unsteered": dict.fromkeys(SUMMARISED, 0.0) | {"nats": 1.7},
        "prompted": dict.fromkeys(SUMMARISED, 0.9) | {"back": prompted_back},
    }
    return Outcome(240, means, intervals, references)


def difference(mean, half_width, seeds=3):
    return PairedDifference(np.full(seeds, mean), half_width)


@pytest.mark.parametrize(("success", "bayes", "fluent", "says"), [
    (0.47, 0.9, 0.9, "unchanged"),
    (0.51, 0.9, 0.9, "unreliable"),
    (0.95, 0.51, 0.9, "divided"),
    (0.95, 0.95, 0.47, "fooled"),
    (0.95, 0.95, 0.51, "changed"),
    (0.53, 0.53, 0.53, "changed"),
])  # fmt: skip
def test_the_verdict_follows_from_intervals(success, bayes, fluent, says):
    assert steer.verdict_of(made(success, bayes, fluent), (1, FEATURE, 2)) == says


def test_the_finding_speaks_of_both_gates_at_the_strength_that_is_chosen():
    same = {"none": made(), "g1_channel": made(success=0.95)}
    says, about = map(plain, steer.answer_text(same, 1, 3.0))
    assert says == (
        "Yes: at strength 3, 90 % of texts change language without a gate and 95 % with one."
    )
    assert about.startswith(
        "Of 240 texts 90 % (88 to 92 %) change without a gate, 95 % (93 to 97 %) with one;"
        " 80 % (78 to 82 %) and 80 % (78 to 82 %) as fluently as"
    )
    apart = {"none": made(fluent=0.47), "g1_channel": made(success=0.5)}
    assert plain(steer.answer_text(apart, 1, 3.0)[0]) == (
        "No: at strength 3, 90 % of texts change language without a gate, but fewer than half"
        " fluently. With one: inconclusive, 50 % do."
    )
    assert plain(steer.answer_text(same, 1, 10.0)[0]) == (
        "No: at strength 6, the nearest to 10 that is measured, 5 % of texts change language, with"
        " or without a gate."
    )


@pytest.mark.parametrize(("words", "wordless", "says"), [
    (0.375, 0.43, "38 % (33 to 42 %) real words in the 57 % of texts that have a whole word"),
    (0.375, 0.0, "38 % (33 to 42 %) real words"),
    (np.nan, 1.0, "no whole word"),
])  # fmt: skip
def test_texts_without_a_whole_word_are_counted_apart(words, wordless, says):
    outcome, at = made(half_width=0.04), (1, FEATURE, 2)
    outcome.means["words"][at], outcome.means["wordless"][at] = words, wordless
    outcome.intervals["words"][:, *at] = words - 0.04, words + 0.04
    assert plain(steer.words_text(outcome, at)) == says


@pytest.mark.parametrize(("mean", "half_width", "gate"), [
    (0.2, 0.1, "A gate increases success: +20 ± 10 points"),
    (-0.2, 0.1, "A gate reduces success: −20 ± 10 points"),
    (0.2, 0.3, "gate on success is inconclusive: +20 ± 30 points"),
])  # fmt: skip
def test_differences_are_claimed_only_beyond_their_intervals(mean, half_width, gate):
    assert gate in steer.effect_text(difference(mean, half_width))
