"""The study of prices: kept shares against a simulation, and verdicts by the committed rules."""

from collections import Counter
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
import scipy
import torch

from gating_core.assets import ASSETS
from gating_core.attention.stack import UNIT_LOGITS
from gating_core.claims.claim import Word
from gating_core.claims.price_verdicts import (
    AS_PLACEBO,
    DOES_NOT_COUNT,
    INCONCLUSIVE,
    LOST,
    NEEDED,
    NOT_NEEDED,
    NOT_PAID,
    PLANES,
    PRICE_CLAIMS,
    TASKS,
    Share,
    _word,
    decide,
    judge,
    judge_planes,
    kept_share,
    price_study,
)
from gating_core.geometry.grid import square_grid
from gating_core.geometry.islands import islands
from gating_core.geometry.price import curvature_price
from gating_core.geometry.surface import measure_surface


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


@pytest.mark.parametrize(("words", "verdict"), [
    ([], Word.NOT_ENOUGH), ([NOT_PAID, DOES_NOT_COUNT], Word.NOT_ENOUGH),
    ([NEEDED, NOT_PAID], Word.SUPPORTED), ([NOT_NEEDED, DOES_NOT_COUNT], Word.NOT_SUPPORTED),
    ([NEEDED, NOT_NEEDED], Word.PARTLY), ([INCONCLUSIVE, INCONCLUSIVE], Word.PARTLY),
    ([NEEDED, AS_PLACEBO], Word.PARTLY), ([NOT_NEEDED, LOST], Word.PARTLY),
])  # fmt: skip
def test_a_claim_is_decided_by_the_rows_that_count_and_are_paid(words, verdict):
    assert decide([SimpleNamespace(word=word) for word in words]) == verdict


@pytest.mark.parametrize("claim", PRICE_CLAIMS)
def test_of_a_claim_nothing_is_said_but_how_many_rows_have_each_word(claim):
    found = PRICE_CLAIMS[claim].judge(price_study())
    counts = Counter(row.word for row in found.evidence)
    parts = [part.split(" ", 1) for part in found.summary.split("; ")]
    assert {word: int(count) for count, word in parts if int(count)} == counts
    assert counts[NEEDED] == 0
    assert found.brief.number == f"0 of {counts.total()}"
    rest = counts.total() - counts[NOT_NEEDED]
    told = f"{counts[NOT_NEEDED]} do without it, {rest} show neither."
    assert found.brief.note == f"cases need it; {told}"
    assert sum(mark.high for mark in found.brief.marks) == found.brief.ticks[-1]
    assert found.brief.answer == "not shown"


def ends(base, free, paid):
    """The interval of a kept share again: all r that Student's t of paid - base - r (free - base)
    does not reject; ``None`` where the gain free - base may be 0."""
    base, free, paid = (x.astype(float) for x in (base, free, paid))
    most = scipy.stats.t.ppf(0.975, len(base) - 1)

    def beyond(apart):
        return abs(apart.mean()) / (apart.std(ddof=1) / len(apart) ** 0.5) - most

    gain, kept = free - base, paid - base
    if gain.mean() <= 0 or beyond(gain) <= 0:
        return None
    middle = kept.mean() / gain.mean()
    return tuple(
        scipy.optimize.brentq(lambda share: beyond(kept - share * gain), middle, middle + far)
        for far in (-1e4, 1e4)
    )


def word_of(study, gate, dim, at):
    """A verdict again, from the rows and the sentences of docs/claims.md."""

    def shares(price="K", **more):
        base, free, paid = (
            study.find(gate=kind, model_dim=dim, price=of, **more)
            for kind, of in (("none", "none"), (gate, "none"), (gate, price))
        )
        if paid is None or at >= len(paid.tasks):
            return None, 1.0
        left = np.median(paid.total[at]) / np.median(free.total[at])
        same = [dict(zip(x.seeds, x.accuracy[at], strict=True)) for x in (base, free, paid)]
        seeds = [seed for seed in same[0] if seed in same[1] and seed in same[2]]
        return ends(*(np.array([x[seed] for seed in seeds]) for x in same)), left

    tries = [shares(), shares(longer=4), shares(longer=4, value_count=8)]
    if tries[0][0] is None:
        return DOES_NOT_COUNT
    paid = [interval for interval, left in tries if interval and left <= 0.04]
    if any(low > 0.8 for low, _ in paid):
        return NOT_NEEDED
    if tries[0][1] > 0.04:
        return NOT_PAID
    if any(high >= 0.5 for _, high in paid):
        return INCONCLUSIVE
    placebo, _ = shares("area")
    if placebo is None or placebo[0] <= 0.8:
        return AS_PLACEBO
    return NEEDED if len(paid) == 3 else LOST


def test_verdicts_follow_from_the_rows_and_the_table_in_the_docs_says_them():
    study, rows = price_study(), judge(price_study())
    docs = (ASSETS.parent / "docs" / "claims.md").read_text("utf-8")
    table = docs[docs.index("| seeds 192 to 255 |") :].split("\n\n")[0].splitlines()[2:]
    assert len(rows) == len(TASKS) * len(table) == 36
    for at, row in enumerate(rows):
        assert row.word == word_of(study, row.gate, row.model_dim, at % len(TASKS)), row
        place, *cells = (cell.strip() for cell in table[at // len(TASKS)].split("|")[1:-1])
        assert place.endswith(f"D = {row.model_dim}")
        name = "two islands" if row.task == "islands" else row.task
        kinds = dict(zip((NOT_NEEDED, INCONCLUSIVE, "other"), cells, strict=True))
        said = kinds.get(row.word, kinds["other"].partition(f"{row.word}: ")[2].split(";")[0])
        assert name in said.replace("all six", ", ".join([*TASKS, "two islands"])).split(", "), row
    for row in judge_planes(study):
        at = TASKS.index(row.task)
        base, off, through = (
            study.find(gate=gate, model_dim=row.model_dim, plane=plane).accuracy[at]
            for gate, plane in (("none", 0.0), ("headwise", 1.0), ("headwise", 0.0))
        )
        (share,) = row.tries
        assert (share.low, share.high) == pytest.approx(ends(base, off, through), rel=1e-6)


@pytest.mark.parametrize("price", ["none", "K", *(pytest.param(x, marks=pytest.mark.soak)
                                                  for x in ("area", "bending"))])  # fmt: skip
def test_training_in_single_precision_pays_for_the_curvature_that_there_is(price):
    """The price of stored weights in float32, as in a training, against float64."""
    results = [x for x in price_study().results if x.state and x.piece.price == price]
    assert len(results) == 6
    points = square_grid(21).points
    for result, task, of in product(results, TASKS, ("K", "bending")):
        model = result.model(task).attention
        exact = curvature_price(model, points[None], of)
        single = curvature_price(model.float(), points[None].float(), of).double()
        torch.testing.assert_close(single, exact, rtol=0.02, atol=1e-3)


@pytest.mark.parametrize("place", [0, 1])
def test_stored_weights_give_the_stored_numbers(place):
    result = price_study().find(gate="elementwise", model_dim=16, price="K")
    seed, model = result.typical[0, place], result.model("circle", place)
    grid = square_grid(41)
    surface = measure_surface(model.attention, grid, bound="estimate")
    area = curvature_price(model.attention, grid.points, "area")
    normal, offset = model.plane()
    found = [
        island
        for side in (1, -1)
        for island in islands(model.attention, side * normal[0], float(side * offset))
    ]
    assert surface.total[0] == pytest.approx(result.total[0, seed], rel=1e-5)
    assert surface.bending[0] == pytest.approx(result.bending[0, seed], rel=1e-5)
    assert float(area) == pytest.approx(result.area[0, seed], rel=1e-5)
    assert len(found) == result.islands[0, seed]
    radius = UNIT_LOGITS / float(torch.linalg.vector_norm(normal))
    assert found[0].height / radius == pytest.approx(result.height[0, seed], rel=0.02)


@pytest.mark.parametrize("dim", [8, 16])
def test_a_headwise_gate_over_values_in_a_plane_through_the_origin_cannot_curve(dim):
    """Of the bundled models: the plane passes through 0, or misses it by a radius."""
    through, off = (
        price_study().find(gate="headwise", model_dim=dim, plane=distance) for distance in PLANES
    )
    assert np.nanmax(through.total) < 1e-4
    assert np.median(off.total) > 0.1
