"""The study of prices: kept shares against a simulation, and verdicts by the committed rules."""

import numpy as np
import pytest
import torch

from gating_core.attention.stack import Attention, UnitClassifier
from gating_core.claims.price_study import Piece, price_study, put_plane, shapes, turns
from gating_core.claims.price_verdicts import (
    AS_PLACEBO,
    DOES_NOT_COUNT,
    INCONCLUSIVE,
    LOST,
    NEEDED,
    NOT_NEEDED,
    NOT_PAID,
    Share,
    _word,
    kept_share,
)


def draw(rng, kept, count=64, gain=0.2, noise=0.05):
    ungated = 0.75 + noise * rng.standard_normal(count)
    unpriced = 0.75 + gain + noise * rng.standard_normal(count)
    return ungated, unpriced, 0.75 + kept * gain + noise * rng.standard_normal(count)


@pytest.mark.parametrize("kept", [0.0, 0.5, 0.95])
def test_the_interval_of_a_kept_share_holds_the_truth_nineteen_times_in_twenty(kept):
    rng = np.random.default_rng(0)
    shares = [kept_share(*draw(rng, kept)) for _ in range(2000)]
    hits = np.mean([share.low <= kept <= share.high for share in shares])
    assert abs(hits - 0.95) < 3 * np.sqrt(0.95 * 0.05 / 2000)


def test_without_a_gain_there_is_no_share_of_it():
    rng = np.random.default_rng(1)
    assert kept_share(*draw(rng, 0.5, gain=0.0)) is None
    assert kept_share(*draw(rng, 0.5, gain=-0.2)) is None


KEPT, GONE, OPEN = Share(0.95, 0.9, 1.0), Share(0.1, 0.0, 0.2), Share(0.6, 0.4, 0.85)


@pytest.mark.parametrize(("share", "left", "second", "islands", "held", "word"), [
    (None, 0.01, [], True, True, DOES_NOT_COUNT),
    (KEPT, 0.01, [], True, False, NOT_NEEDED),  # no placebo is asked
    (KEPT, 0.30, [], True, True, NOT_PAID),  # kept, and so is its curvature
    (GONE, 0.01, [GONE, GONE], True, True, NEEDED),
    (GONE, 0.01, [GONE, GONE], True, False, AS_PLACEBO),
    (GONE, 0.01, [GONE], True, True, LOST),  # a second try is missing, or was not paid
    (GONE, 0.01, [GONE, KEPT], True, True, NOT_NEEDED),
    (OPEN, 0.01, [GONE, GONE], True, True, INCONCLUSIVE),
    (GONE, 0.01, [], False, True, LOST),
    (OPEN, 0.01, [], False, True, INCONCLUSIVE),
])  # fmt: skip
def test_the_word_of_a_row_follows_the_rules(share, left, second, islands, held, word):
    assert _word(share, left, second, islands, held) == word


@pytest.mark.parametrize("place", [0, 1])
def test_stored_weights_give_the_stored_numbers(place):
    result = price_study().find(gate="elementwise", model_dim=16, price="K")
    seed = result.typical[0, place]
    again = shapes(result.model("circle", place))
    for name in ("total", "bending", "area", "height"):
        assert again[name][0] == pytest.approx(getattr(result, name)[0, seed], rel=1e-5)
    assert again["islands"][0] == result.islands[0, seed]


def test_an_ungated_map_of_three_values_never_folds_and_a_crease_does():
    """The map is an immersion, onto a triangle, however nearly parallel its tangents are."""
    model = UnitClassifier(Attention(Piece("none", 16).config, range(8)), 2).requires_grad_(False)
    model.attention.blocks[0].sharpen(8.0)
    assert not shapes(model)["folded"].any()
    u, v = torch.meshgrid(*2 * [torch.linspace(-1, 1, 40, dtype=torch.float64)], indexing="xy")
    one, known = torch.ones_like(u), torch.ones(1, 40, 40, dtype=torch.bool)
    cap = torch.stack([torch.stack([one, 0 * u, -u], -1), torch.stack([0 * u, one, -v], -1)], -1)
    crease = torch.stack([torch.stack([2 * u, 0 * u], -1), torch.stack([0 * u, one], -1)], -1)
    assert not turns(cap[None], known)
    for surface in (crease, crease.transpose(0, 1)):  # (u^2, v), along either axis of the grid
        assert turns(surface[None], known)


@pytest.mark.parametrize("dim", [3, 8])
def test_values_in_a_plane_through_the_origin_give_k_zero_and_keep_the_rest(dim):
    config = Piece("headwise", dim).config
    for distance in (0.0, 1.0):
        model = UnitClassifier(Attention(config, range(4)), 2).requires_grad_(False)
        values = model.attention.blocks[0].values
        before = values.clone()
        put_plane(values, distance)
        moved = values - before  # the same for all three, and normal to their plane
        torch.testing.assert_close(moved, moved[:, :1].expand_as(moved))
        assert ((before[:, 1:] - before[:, :1]) @ moved[:, 0, :, None]).abs().max() < 1e-12
        total = shapes(model)["total"]
        assert (total < 1e-9).all() if distance == 0 else (total > 1e-3).all()
        again = values.clone()
        put_plane(again, distance)
        torch.testing.assert_close(again, values)
