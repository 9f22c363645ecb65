"""The shipped dictionaries and outcomes: whole, and with their controls."""

import numpy as np
import pytest

from gating_core.lm.corpus import LANGUAGES, read_excerpt
from gating_core.lm.losses import text_losses
from gating_core.lm.shipped import SEEDS, load_model
from gating_core.lm.steering.live import (
    VERDICTS,
    DirectionRequest,
    Ending,
    SteerRequest,
    effect_on_next,
    endings,
    model_and_dictionaries,
    top_examples,
    unit_direction,
    verdict,
    write_both,
    written_along,
)
from gating_core.lm.steering.outcomes import (
    BEYOND,
    DIRECTIONS,
    FOR_CLASSIFIER,
    JUDGED_FROM,
    QUANTITIES,
    STRENGTHS,
    WINDOW,
    FluencyRange,
    bayes_probabilities,
    classifier_verses,
    fluency_range,
    fluent_success,
    load_steering,
    other_verses,
    prompt_verses,
    real_words,
    spanish_probabilities,
    vocabulary,
    windows,
)
from gating_core.lm.steering.streams import STEERED

MODELS = [(name, seed) for name in STEERED for seed in SEEDS]
FEATURE, _, RANDOM, OTHER = range(len(DIRECTIONS))
HELD, RELEASED = 0, 1


@pytest.fixture(scope="module")
def outcomes():
    return load_steering()


def test_all_are_shipped(outcomes):
    assert set(outcomes) == set(MODELS)
    shape = (4, len(DIRECTIONS), len(STRENGTHS), 2, 2, len(prompt_verses()))
    for arrays in outcomes.values():
        assert arrays["success"].shape == shape
        assert not np.isnan(arrays["success"]).any()
        assert set(arrays) == {
            f"{part}{name}" for part in ("", "unsteered.", "prompted.") for name in QUANTITIES
        }


def test_prompts_are_no_verses_of_the_classifier():
    verses = read_excerpt()
    assert not set(prompt_verses()) & set(verses[:FOR_CLASSIFIER])
    assert other_verses() == verses[FOR_CLASSIFIER:]


@pytest.mark.soak
def test_the_classifier_knows_verses_that_it_has_not_seen():
    texts, spanish = windows(other_verses())
    assert ((spanish_probabilities(texts) > 0.5) == spanish).mean() > 0.98
    assert spanish_probabilities([]).shape == (0,)


def test_naive_bayes_is_that_of_another_implementation():
    from sklearn.feature_extraction.text import CountVectorizer  # here: slow to import
    from sklearn.naive_bayes import MultinomialNB

    verses = [getattr(verse, language) for language in LANGUAGES for verse in classifier_verses()]
    count = CountVectorizer(analyzer="char", ngram_range=(1, 3))
    other = MultinomialNB().fit(count.fit_transform(verses), np.repeat([0, 1], len(verses) // 2))
    texts, spanish = windows(other_verses())
    texts = [*texts, "wwithwwith", "ñáñó: ó á", "A", ""]
    judged = bayes_probabilities(texts)
    want = other.predict_proba(count.transform([text[-WINDOW:] for text in texts]))[:, 1]
    np.testing.assert_allclose(judged, want, atol=1e-12)
    assert ((judged[:-4] > 0.5) == spanish).mean() > 0.98
    assert bayes_probabilities(["x" * 99 + texts[0]]) == judged[0]  # the last letters alone
    assert bayes_probabilities([]).shape == (0,)


def test_words():
    assert real_words("xx and the qqqqq of Spirit xx", "english") == pytest.approx(0.8)
    assert np.isnan(real_words("and", "english"))
    # One letter is no evidence of a language.
    assert np.isnan(real_words("dáñó ó á y ó cáñó", "spanish"))
    assert real_words("x y la ó qqq y", "spanish") == 0.5
    assert vocabulary()["spanish"]["dijo"] > 100


def test_the_fluency_range_is_that_of_unsteered_texts(outcomes):
    for name in STEERED:
        for language in range(2):
            within = fluency_range(name, language)
            nats = sorted(
                x for seed in SEEDS for x in outcomes[name, seed]["prompted.nats"][language]
            )
            words = sorted(
                x for seed in SEEDS for x in outcomes[name, seed]["prompted.words"][language]
            )
            beyond = int(BEYOND * len(nats))
            assert nats[-beyond - 1] <= within.nats <= nats[-beyond]
            assert words[beyond - 1] <= within.words <= words[beyond]
    within = FluencyRange(2.0, 0.5)
    contained = within.contains(np.array([2, 2.1, 1, 1]), np.array([0.5, 0.9, 0.4, np.nan]))
    assert contained.tolist() == [True, False, False, False]


def test_fluent_texts_succeed_by_both_classifiers_within_the_range(outcomes):
    arrays = outcomes["g1_channel", 1]
    fluent = fluent_success(arrays, "g1_channel")
    assert set(fluent) == {"fluent", "unsteered.fluent", "prompted.fluent"}
    draw = np.random.default_rng(0)
    for at in zip(*(draw.integers(0, n, 300) for n in fluent["fluent"].shape), strict=True):
        first, second, nats, words = (
            arrays[key][at] for key in ("success", "success_bayes", "nats", "words")
        )
        within = fluency_range("g1_channel", int(at[-2]))
        want = first and second and nats <= within.nats and words >= within.words
        assert fluent["fluent"][at] == want
    assert not fluent["unsteered.fluent"].any()
    # Texts that lie beyond in loss, others in words, of all seeds, all in their own language.
    unsteered = [
        fluent_success(outcomes["g1_channel", seed], "g1_channel")["prompted.fluent"]
        for seed in SEEDS
    ]
    assert np.mean(unsteered) >= 1 - 2 * BEYOND - 1 / 120


def ending(spanish=0.0, bayes=None, *, fluent=True):
    return Ending(spanish, spanish if bayes is None else bayes, 1.5, 0.9, fluent)


@pytest.mark.parametrize(("plain", "steered", "says"), [
    (ending(0.01), ending(0.98), "changed"), (ending(0.99), ending(0.97), "unchanged"),
    (ending(0.01), ending(0.98, fluent=False), "fooled"),
    (ending(0.01), ending(0.02, fluent=False), "degenerate"),
    (ending(0.01), ending(0.85), "inconclusive"), (ending(0.4), ending(0.98), "inconclusive"),
    (ending(0.01), ending(0.98, 0.2), "inconclusive"),
])  # fmt: skip
def test_the_verdict_follows_from_both_endings(plain, steered, says):
    assert verdict(plain, steered) == says
    assert says in VERDICTS


def test_gibberish_is_beyond_the_range_whatever_the_classifiers_see():
    verse = other_verses()[0]
    start, letters = "x" * JUDGED_FROM, "dáñó; ó cáñó. ñáñó: ó á ñó, dáñó; ó cáñó."
    texts = [start + verse.spanish[:60], start + letters]
    of_verse, gibberish = endings("none", 0, texts, spanish_probabilities(texts))
    assert gibberish.language == of_verse.language == 1
    assert gibberish.words == 0
    sums, counts = text_losses(load_model("none", 0)[0], [letters])
    assert gibberish.nats == pytest.approx(float(sums[0] / counts[0]))
    assert (of_verse.fluent, gibberish.fluent) == (True, False)
    english = ending()
    assert [verdict(english, one) for one in (of_verse, gibberish)] == ["changed", "fooled"]


def spanish_feature(name="none", seed=0, layer=0):
    feature = (
        model_and_dictionaries(name, seed)[1]
        .kinds["means"]
        .statistics.language_feature(layer, True)
    )
    return DirectionRequest(name, seed, layer, feature=feature)


def test_what_is_written_live():
    request = SteerRequest(spanish_feature(), "In the beginning God ")
    plain, steered = ("".join(part) for part in zip(*write_both(request), strict=True))
    assert len(plain) == len(steered) == 60
    low, high = spanish_probabilities([plain, steered])
    assert low < 0.1 < 0.9 < high
    same = SteerRequest(spanish_feature(), "In the beginning God ", push=0.0)
    assert all(left == right for left, right in write_both(same))


def test_passages_hold_the_values_of_the_feature():
    request = spanish_feature(layer=1)
    shown = top_examples(request)
    strengths = [float(one.values.max()) for one in shown]
    assert len(shown) == 5
    assert strengths == sorted(strengths, reverse=True)
    assert all(len(one.text) == len(one.values) <= 127 for one in shown)
    means = model_and_dictionaries("none", 0)[1].kinds["means"]
    place = means.statistics.places[1][request.feature][0]
    assert shown[0].values.argmax() == place - 1


def test_who_writes_along_a_direction_adds_up():
    along = written_along(spanish_feature(layer=2))
    assert along.heads.shape == (3, 4)
    assert along.embedding + along.heads.sum() + along.mlps.sum() == pytest.approx(along.total)
    assert along.total > 0


def test_a_push_makes_letters_of_the_other_language_likelier():
    request = DirectionRequest(along="means")
    more, less = effect_on_next(request, 3.0), effect_on_next(request, 0.0)
    assert more.sum() == pytest.approx(0, abs=1e-6)
    assert not less.any()


@pytest.mark.parametrize(("change", "message"), [
    ({"layer": 4}, "layer"), ({"feature": 192}, "feature"), ({"along": "up"}, "along"),
    ({"kind": "none"}, "kind"), ({"name": "fal"}, "dictionary-fal-0"),
    ({"model_seed": 1, "kind": "plain"}, "kind"),
])  # fmt: skip
def test_wrong_requests_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        unit_direction(DirectionRequest(**change))
