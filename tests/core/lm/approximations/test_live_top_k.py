"""Does one row say over all k what the library says at each, and do its bounds bound?"""

import numpy as np
import pytest
from scipy.stats import norm

from gating_core.efficient import (
    CERTIFICATES,
    ar1_tokens,
    gaussian_scores,
    masses,
    output_error,
    smallest_k,
    tail_mass,
    top_k,
)
from gating_core.lm.approximations.top_k import row_at, row_curves

EPSILON = 0.05


@pytest.fixture(scope="module")
def tokens():
    return ar1_tokens(40, 16.0)


@pytest.fixture(scope="module")
def row(tokens):
    return row_curves(tokens, EPSILON)


def test_curves_are_the_librarys_at_every_k(tokens, row):
    scores = tokens.scores[-1:]
    np.testing.assert_array_equal(row.ks, np.arange(1, 41))
    for k in (1, 7, 39, 40):
        kept = top_k(scores, k)
        error = output_error(scores, tokens.values, kept)
        assert row.mass[k - 1] == pytest.approx(float(tail_mass(scores, kept)), abs=1e-14)
        at = row_at(tokens, k)
        three = error.direct, error.factored, error.bound
        assert at.errors == pytest.approx([float(x) for x in three])
    weights = scores[0].softmax(-1).numpy()
    np.testing.assert_allclose(row.weights, np.sort(weights)[::-1], rtol=1e-12)
    np.testing.assert_allclose(weights[row.keys], row.weights, rtol=1e-12)


def test_the_mass_is_the_same_in_three_ways(tokens):
    for of in (tokens, gaussian_scores(500, 3.0)):
        for k in (1, 5, 30):
            at = row_at(of, k)
            assert max(at.masses) - min(at.masses) < 1e-13
    assert row_at(gaussian_scores(20, 1.0), 3).errors is None
    everything = row_at(tokens, 40)
    assert max(everything.masses) < 1e-14
    assert everything.errors == (0, 0, 0)


def test_what_is_certified_is_so(tokens, row):
    truth = row.certified["truth"]
    assert truth.k == int(smallest_k(masses(tokens.scores[-1]), EPSILON))
    assert truth.scored == 40
    assert list(row.certified) == ["truth", *CERTIFICATES, "boxes"]
    for name, one in row.certified.items():
        assert one.k >= truth.k, name
        assert one.scored <= 40
        if name in row.bounds:
            assert (row.bounds[name] >= row.mass - 1e-12).all()
            assert row.bounds[name][one.k - 1] <= EPSILON
    assert row.certified["even_gaps"].title == CERTIFICATES["even_gaps"].title
    assert row.certified["even_gaps"].scored == CERTIFICATES["even_gaps"].reads(
        row.certified["even_gaps"].k, 40
    )


def test_long_rows_are_thinned_and_their_gaps_are_wide():
    scores = gaussian_scores(20_000, 2.0)
    row = row_curves(scores, EPSILON)
    assert len(row.ks) <= 300
    assert (row.ks[0], row.ks[-1]) == (1, 20_000)
    assert (np.diff(row.ks) > 0).all()
    np.testing.assert_allclose(row.mass, masses(scores)[row.ks - 1])
    assert row.certified["even_gaps"].title == "multi-gap bound, every 313 keys"
    assert all((bound >= row.mass - 1e-12).all() for bound in row.bounds.values())
    assert "boxes" not in row.certified


def test_the_rule_holds_for_gaussian_scores():
    row = row_curves(gaussian_scores(20_000, 2.0), EPSILON)
    assert row.rule == pytest.approx(20_000 * norm.sf(row.sigma + norm.ppf(EPSILON)))
    assert row.rule == pytest.approx(row.certified["truth"].k, rel=0.03)
