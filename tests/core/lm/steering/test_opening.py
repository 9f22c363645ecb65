"""What the page on steering opens with, texts judged as they grow, and letters of features."""

from collections import Counter
from dataclasses import replace

import pytest

from gating_core.lm.corpus import read_excerpt
from gating_core.lm.steering.live import (
    BEGINNING,
    LETTERS,
    OPENING_DRAW,
    DirectionRequest,
    SteerRequest,
    endings,
    letter_shares,
    load_opening,
    write_both,
    write_judged,
    written_texts,
)
from gating_core.lm.steering.outcomes import WINDOW, WRITTEN, spanish_probabilities
from gating_core.lm.steering.streams import STEERED, load_dictionaries


@pytest.fixture(scope="module")
def opening():
    return load_opening()


def test_the_opening_is_what_its_requests_write(opening):
    for example, gate in zip(opening.examples, STEERED, strict=True):
        assert example.request == replace(example.request, text=BEGINNING, draw=OPENING_DRAW)
        assert example.request.direction.name == gate
        again = list(write_judged(example.request))
        assert len(example.steps) == len(again) == WRITTEN
        # Another processor may round a draw to another letter, and from there on write another
        # text.
        steps = [*zip(example.steps, again, strict=True)]
        same = [(one.plain, one.steered) == (two.plain, two.steered) for one, two in steps]
        until = same.index(False) if False in same else len(same)
        assert until >= WRITTEN // 4
        for bundled, fresh in steps[:until]:
            assert bundled.spanish == pytest.approx(fresh.spanish, abs=1e-5)
        if until == WRITTEN:
            texts, (plain, steered) = written_texts(again), again[-1].spanish
            found = endings(gate, 0, texts, (plain, steered))
            for one, two in zip(example.endings, found, strict=True):
                assert vars(one) == pytest.approx(vars(two), rel=1e-4)


@pytest.mark.soak
def test_the_opening_is_the_median_of_the_seeds_up_to_its_own(opening):
    losses = []
    for draw in range(OPENING_DRAW + 1):
        losses.append(0.0)
        for example in opening.examples:
            request = replace(example.request, draw=draw)
            steps = list(write_judged(request))
            texts = written_texts(steps)
            losses[-1] += endings(request.direction.name, 0, texts, steps[-1].spanish)[1].nats
    assert sorted(losses)[len(losses) // 2] == losses[OPENING_DRAW]


def test_every_character_is_judged_by_the_text_that_ends_there():
    request = SteerRequest(DirectionRequest(along="means"), "And ", 3.0, "held", draw=2)
    steps = list(write_judged(request))
    assert [(step.plain, step.steered) for step in steps] == list(write_both(request))
    for count in (1, 20, WRITTEN):
        for side, name in enumerate(("plain", "steered")):
            text = request.text + "".join(getattr(step, name) for step in steps[:count])
            (want,) = spanish_probabilities([text[-WINDOW:]])
            assert steps[count - 1].spanish[side] == pytest.approx(want)


def test_letters_are_those_before_the_strongest_places():
    shares = letter_shares("none", 0, "plain", 1)
    statistics = load_dictionaries("none", 0).kinds["plain"].statistics
    verses = read_excerpt()
    texts = [x.english for x in verses] + [x.spanish for x in verses]
    for feature in range(0, len(shares), 40):
        ends = Counter()
        for row, place in zip(
            statistics.texts[1, feature], statistics.places[1, feature], strict=True
        ):
            if row >= 0:
                ends[texts[row][:place][-LETTERS:]] += 1
        assert shares[feature] == max(ends.values()) / sum(ends.values())
    assert (letter_shares("none", 0, "means", 1) < 0.8).mean() > 0.9 > (shares < 0.8).mean()
