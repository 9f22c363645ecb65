"""The shipped dictionaries and outcomes: whole, and with their controls."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gating_core.lm.corpus import LANGUAGES, Verse, read_excerpt
from gating_core.lm.losses import text_losses
from gating_core.lm.shipped import SEEDS, load_model
from gating_core.lm.steering import experiment as module
from gating_core.lm.steering.dictionary import describe, strongest
from gating_core.lm.steering.experiment import (
    BEYOND,
    DIRECTIONS,
    JUDGED_FROM,
    MODES,
    QUANTITIES,
    STRENGTHS,
    FluencyRange,
    GridRequest,
    fluency_range,
    fluent_success,
    load_steering,
    measure_parts,
    parts_of,
    prompt_verses,
)
from gating_core.lm.steering.judge import (
    FOR_CLASSIFIER,
    WINDOW,
    bayes_probabilities,
    classifier_verses,
    count_words,
    names_and_numbers,
    other_verses,
    real_words,
    spanish_probabilities,
    vocabulary,
    windows,
)
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
from gating_core.lm.steering.shipped import KINDS, STEERED, load_dictionaries, shipped_dictionaries
from gating_core.lm.steering.streams import streams, trailing_means

MODELS = [(name, seed) for name in STEERED for seed in SEEDS]
FEATURE, MEANS, RANDOM, OTHER = range(len(DIRECTIONS))
HELD, RELEASED = 0, 1


@pytest.fixture(scope="module")
def outcomes():
    return load_steering()


def test_all_are_shipped(outcomes):
    assert shipped_dictionaries() == MODELS
    assert set(outcomes) == set(MODELS)
    shape = (4, len(DIRECTIONS), len(STRENGTHS), 2, 2, len(prompt_verses()))
    for arrays in outcomes.values():
        assert arrays["success"].shape == shape
        assert not np.isnan(arrays["success"]).any()
        assert set(arrays) == {
            f"{part}{name}" for part in ("", "unsteered.", "prompted.") for name in QUANTITIES
        }


def test_a_released_feature_changes_the_language_where_random_directions_do_not(outcomes):
    rates = np.mean([arrays["success"].mean(-1) for arrays in outcomes.values()], axis=0)
    released = rates[:, :, :, RELEASED].mean(-1)  # (L, K, A)
    layer, strength = np.unravel_index(released[:, FEATURE].argmax(), (4, len(STRENGTHS)))
    assert released[layer, FEATURE, strength] > 0.8
    assert released[layer, [RANDOM, OTHER], strength].max() < 0.3


def test_prompts_are_no_verses_of_the_classifier():
    verses = read_excerpt()
    assert not set(prompt_verses()) & set(verses[:FOR_CLASSIFIER])
    assert other_verses() == verses[FOR_CLASSIFIER:]


@pytest.mark.soak
def test_the_card_and_the_statistics_are_those_of_the_dictionary():
    from sklearn.metrics import roc_auc_score  # here: slow to import

    dictionaries = load_dictionaries("none", 0)
    model, _ = load_model("none", 0)
    verses = read_excerpt()
    texts = [getattr(verse, language) for language in LANGUAGES for verse in verses]
    of = trailing_means(streams(model, texts))
    spanish = (of.texts >= len(verses)).numpy()
    trained = dictionaries.kinds["means"]
    features = trained.dictionary.layer(1).encode(of.states[1])
    card = describe(trained.dictionary.layer(1), of.states[1])
    assert card.explained == pytest.approx(trained.cards[1].explained, abs=2e-3)
    chosen = trained.statistics.language_feature(1, spanish=True)
    column = features[:, chosen].numpy()
    assert trained.statistics.auc[1, chosen] == pytest.approx(
        roc_auc_score(spanish, column), abs=2e-3
    )
    difference = column[spanish].mean() - column[~spanish].mean()
    assert trained.statistics.difference[1, chosen] == pytest.approx(difference, rel=1e-2)
    assert column[spanish].mean() > 10 * column[~spanish].mean()


def test_means_separate_the_languages_and_the_plain_dictionary_does_not():
    kinds = load_dictionaries("none", 0).kinds
    best = {kind: one.statistics.auc.max(1).max() for kind, one in kinds.items()}
    assert set(best) == set(KINDS)
    assert best["means"] > 0.99
    assert max(best["characters"], best["plain"]) < 0.8


def test_the_strongest_passages_are_of_different_texts():
    draw = torch.Generator().manual_seed(0)
    texts = ["In the beginning God created", "Y dijo Dios: Sea la luz: y fué"]
    of = trailing_means(streams(load_model("none", 0)[0], texts))
    features = torch.rand(len(of.texts), 3, generator=draw)
    features[:, 2] = 0
    rows, places = strongest(features, of)
    for feature in range(2):
        for text, place in zip(rows[feature], places[feature], strict=True):
            mine = features[of.texts == text, feature]
            assert of.positions[of.texts == text][mine.argmax()] == place
        assert set(rows[feature]) == {0, 1}
    assert (rows[2] == -1).all()


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


def test_words_names_and_numbers():
    assert real_words("xx and the qqqqq of Spirit xx", "english") == pytest.approx(0.8)
    assert np.isnan(real_words("and", "english"))
    # One letter is no evidence of a language.
    assert np.isnan(real_words("dáñó ó á y ó cáñó", "spanish"))
    assert real_words("x y la ó qqq y", "spanish") == 0.5
    assert count_words(["The the", "LUZ"]) == {"the": 2, "luz": 1}
    assert vocabulary()["spanish"]["dijo"] > 100
    assert names_and_numbers("Now Moses and Aaron, the two, went. He", "english") == {
        "Moses",
        "Aaron",
        "two",
    }
    assert names_and_numbers("Y el dos de Moisés", "spanish") == {"Moisés", "dos"}
    verse = Verse("Nowhere 1:1", "So Moses and Aaron", "Y fué Moisés con Aarón")
    assert module.returned("dijo Moisés", verse, "spanish") == 0.5
    # Words, not letters within others.
    assert module.returned("todos, Aaróna", Verse("", "", "Y dos con Aarón"), "spanish") == 0
    assert module.returned("Dos á Aarón", Verse("", "", "Y dos con Aarón"), "spanish") == 1
    assert np.isnan(module.returned("", Verse("", "so", "así"), "english"))


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


def test_a_held_push_fools_both_classifiers_and_a_released_one_does_not(outcomes):
    by_mode = {}
    for mode, layer, strength in ((HELD, 3, 3), (RELEASED, 0, 4)):
        cells = [
            (arrays | fluent_success(arrays, name))
            for (name, _), arrays in outcomes.items()
            if name == "none"
        ]
        at = layer, FEATURE, strength, mode
        by_mode[mode] = {
            key: np.mean([cell[key][at] for cell in cells])
            for key in ("success", "success_bayes", "fluent")
        }
    for shares in by_mode.values():
        assert min(shares["success"], shares["success_bayes"]) > 0.95
    assert by_mode[HELD]["fluent"] < 0.02
    assert by_mode[RELEASED]["fluent"] > 0.6


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


def test_directions_are_what_they_are_called():
    dictionaries = load_dictionaries("g1_channel", 1)
    for target in (0, 1):
        unit = module.directions(dictionaries, 0, target, 6)
        assert unit.shape == (len(DIRECTIONS), 6, 96)
        torch.testing.assert_close(unit.norm(dim=-1), torch.ones(len(DIRECTIONS), 6))
        gap = dictionaries.gap[0] * (1 if target else -1)
        assert torch.allclose(unit[MEANS, 0], gap / gap.norm())
        assert float(unit[FEATURE, 0] @ gap) > 0  # towards the language that is wanted
        feature = dictionaries.kinds["means"].statistics.language_feature(0, bool(target))
        rows = dictionaries.kinds["means"].dictionary.directions[0]
        chosen = [(rows @ one).argmax().item() for one in unit[OTHER]]
        assert feature not in chosen
        assert len({tuple(one.tolist()) for one in unit[RANDOM]}) == 6


def test_the_experiment_fills_its_arrays(monkeypatch):
    monkeypatch.setattr(module, "WRITTEN", 22)
    monkeypatch.setattr(module, "STRENGTHS", (0.0, 4.0))
    monkeypatch.setattr(module, "prompt_verses", lambda: other_verses()[:2])
    parts = module.Part("released", 1, 2), module.Part("prompted", 0), module.Part("held", 0)
    outcomes = [*measure_parts(parts, GridRequest())]
    arrays, whole = (module.assembled(4, parts, outcomes[:stop]) for stop in (1, 3))
    there = ~np.isnan(arrays["success"])
    assert there[2, :, :, RELEASED, 1].all()
    assert there.mean() == 1 / 16
    assert np.isnan(arrays["prompted.nats"]).all()
    assert (~np.isnan(whole["prompted.nats"])).tolist() == [[True, True], [False, False]]


def test_parts_are_measured_by_themselves_and_in_any_order(monkeypatch):
    monkeypatch.setattr(module, "WRITTEN", 22)
    monkeypatch.setattr(module, "STRENGTHS", (4.0,))
    monkeypatch.setattr(module, "prompt_verses", lambda: other_verses()[:2])
    parts = module.Part("held", 1, 3), module.Part("released", 0)
    request = GridRequest("g1_channel", 1, draw=2)
    first, second = measure_parts(parts, request)
    again, _ = measure_parts(parts[::-1], request)
    np.testing.assert_array_equal(again.nats, second.nats)
    assert not (first.nats == second.nats).all()
    (other,) = measure_parts(parts[:1], replace(request, draw=3))
    assert not (other.nats == first.nats).any()


def test_all_parts_are_there_once_and_random_directions_follow_from_the_seed():
    parts = parts_of(4)
    assert len(set(parts)) == len(parts) == 4 * len(MODES) * 2 + 2 * 2
    dictionaries = load_dictionaries("none", 0)
    first, second = (module.directions(dictionaries, 1, 1, 3, seed) for seed in (0, 1))
    assert torch.equal(first[:RANDOM], second[:RANDOM])
    assert not (first[RANDOM] == second[RANDOM]).any()
    with pytest.raises(ValueError, match="draw"):
        GridRequest(draw=-1)


@pytest.mark.soak
def test_the_shipped_outcomes_are_made_again(outcomes):
    model, dictionaries = model_and_dictionaries("none", 0)
    result = module.measure_part(model, dictionaries, module.Part("released", 1))
    shipped = outcomes["none", 0]
    assert np.abs(result.success - shipped["success"][0, :, :, RELEASED, 1]).mean() < 0.02
    np.testing.assert_allclose(
        result.nats.mean(), shipped["nats"][0, :, :, RELEASED, 1].mean(), rtol=2e-2
    )


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
