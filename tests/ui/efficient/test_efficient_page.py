"""Does Efficient attention draw what was computed, and claim no more than its intervals allow?"""

import numpy as np
import pytest

from gating_core.lm.efficient.certificates import masses, smallest_k
from gating_core.lm.efficient.eviction import BUDGETS, EvictionRequest, evict
from gating_core.lm.efficient.samples import gaussian_scores
from gating_core.lm.efficient.top_k import EPSILONS, SIZES, row_at, row_curves
from gating_core.lm.generate import read_head
from gating_core.lm.measurements import load_efficient
from gating_core.lm.resampling import PairedDifference
from gating_core.lm.shipped import load_model
from tests.ui.opening import figure, numbers, open_page, said
from ui.common.formatting import figures
from ui.efficient import linear, shared, top_k

PAGE = "pages/8_Efficient_attention.py"
TEXT = "In the beginning God created the heaven"
TOP_K, EVICTION, DELTA, LINEAR = (
    "Top-k",
    "KV-cache eviction",
    "Delta correction",
    "Linear and hybrid",
)
HEAD = {"top_head": "true"}


def page(tab=TOP_K, **link):
    return open_page(PAGE, method=tab, **link)


def difference(mean, half_width, seeds=3):
    return PairedDifference(np.full(seeds, mean), half_width)


def test_top_k_shows_the_cores_numbers_for_the_selected_gate_strength():
    head = read_head(load_model("g1_channel", 0)[0], TEXT, 1, 1, 0.5)
    app, row = (
        page(**HEAD, sample_text=TEXT, top_k="4", sample_strength="0.5"),
        row_curves(head, 0.05),
    )
    bars = figure(app, "top_k_weights")["data"]
    drawn = np.concatenate([numbers(trace["y"]) for trace in bars])
    np.testing.assert_allclose(drawn, np.maximum(row.weights, 1.05e-4), rtol=1e-6)
    assert f"τ = {figures(row_at(head, 4)[0])}**" in said(app)
    assert f"needs k = {row.certified['truth'].k};" in said(app)


def test_gaussian_scores_need_the_k_of_their_masses():
    app = page(**HEAD, sample=shared.GAUSSIAN, sample_keys="400", top_share="20")
    needed = int(smallest_k(masses(gaussian_scores(400, 2.0)), 0.05))
    assert "k = 80 of 400" in said(app)
    assert f"needs k = {needed};" in said(app)


def test_kept_keys_are_drawn_on_the_text():
    app = page(
        EVICTION, sample_text=TEXT, evict_window="false", evict_budget="6", evict_head="true"
    )
    head = read_head(load_model("g1_channel", 0)[0], TEXT, 1, 1)
    of = evict(head, EvictionRequest("mass", 6, False), (6,))
    drawn = figure(app, "eviction_kept")
    kept = numbers(drawn["data"][0]["z"]).reshape(of.kept[1].shape)
    np.testing.assert_array_equal(kept, of.kept[1])
    assert drawn["layout"]["xaxis"]["ticktext"][:4] == ["¶", "I", "n", "␣"]
    assert "a new key has no score and is evicted first" in said(app)
    over = figure(app, "eviction_errors")["data"][-1]
    measured = load_efficient()["g1_channel", 0]["eviction.errors"][7, :, 1, 1]
    np.testing.assert_allclose(numbers(over["y"]), measured, rtol=1e-6)


@pytest.mark.parametrize(("tab", "text", "sentence"), [
    (EVICTION, "too short", "Eviction needs at least 24 tokens"),
    (DELTA, "a", "Delta correction needs a text of at least 3 characters"),
])  # fmt: skip
def test_a_text_that_is_too_short_is_said_in_one_sentence(tab, text, sentence):
    app = page(tab, sample_text=text, evict_head="true", delta_samples="true")
    assert not app.exception
    (info,) = app.info
    assert info.value.startswith(sentence)


def test_fire_rates_are_those_of_the_core_and_the_best_certificate_is_named():
    rates = {
        "no gate": np.array([[0.5, 0.0, 0.2, 0.1, 0.4, 0.0]] * 3),
        "G2": np.array([[0.8, 0.0, 0.6, 0.7, 0.5, 0.0]] * 3),
    }
    text = top_k.fire_text(rates, "5 %").replace("\u00a0", " ")
    assert text == (
        "Fewer than half of the keys suffice for τ ≤ 5 % in 50 % of rows (no gate), and “multi-gap"
        " bound, every 16 keys” certifies it in 40 %; in 80 % of rows (G2), and “multi-gap bound,"
        " k, 2k, 4k, …” certifies it in 70 %. Never certified by: single-gap bound, box bounds."
    )
    everything = top_k.fire_rates("no gate", 0.05)
    head = load_efficient()["none", 1]["certificates.rates"][EPSILONS.index(0.05), 0]
    np.testing.assert_allclose(everything[1, 0], head.mean(), rtol=1e-6)
    assert "Never certified" not in top_k.fire_text({"a": np.ones((2, 6))}, "1 %")


def test_heads_are_counted_in_which_the_correction_helps():
    ratios = [
        shared.measured(gate, "correction.ratios")[:, 1, 1]
        for gate in ("no gate", "G1, per channel")
    ]
    plain, gated = (int((of < 1).sum()) for of in ratios)
    assert f"{plain} of 48 heads (no gate) and {gated} of 48 heads (G1, per channel)" in said(
        page(DELTA)
    )


def test_a_branch_alone_is_compared_with_zero_output():
    losses, counts = linear.conversions()
    of = losses["elu_16"]
    want = (of["zero_both"][0] - of["without_window"][0]).sum() / counts.sum()
    assert linear.margin("elu_16") == pytest.approx(want)
    assert linear.margin("hybrid_16") > linear.margin("elu_16") > 0
    assert f"by {figures(want)} with elu + 1" in said(page(LINEAR))


@pytest.mark.parametrize(("k", "texts", "bars"), [
    (8, ("0.030", "0.0062"), 1),
    (32, ("0.0034", "0.00050"), 0),  # not significant
])  # fmt: skip
def test_values_at_k_are_printed_and_an_interval_beyond_the_axis_has_an_arrow(k, texts, bars):
    drawn = top_k.losses_chart("G1, per channel", k)
    at = SIZES.index(k)
    assert tuple(x.text[at] for x in drawn.data) == tuple(f"<b>{x}</b>" for x in texts)
    *arrows, label = drawn.layout.annotations
    assert len(drawn.layout.shapes) == bars + 1  # between both losses, and at k
    assert {x.text for x in arrows} == {"▼"}
    assert label.text == f"\u00a0<b><i>k</i> = {k}</b>\u00a0"
    assert [x.hovertext.partition(": ")[0] for x in arrows] == [
        "no gate, k = 32", "G1, per channel, k = 16", "G1, per channel, k = 32"
    ]  # fmt: skip


def test_losses_are_those_above_the_same_models_with_full_attention():
    of = [load_efficient()["g2", seed] for seed in range(3)]
    above = [
        (one["eviction.sums"][2, 1] - one["eviction.full"]).sum() / one["eviction.counts"].sum()
        for one in of
    ]
    loss = shared.delta_loss("G2, per channel", "eviction", (2, BUDGETS.index(16)))
    np.testing.assert_allclose(loss.by_seed, above, atol=1e-5)


@pytest.mark.parametrize(("spread", "verdict"), [
    (0.001, "Less with this gate: top-4 costs 33\u00a0% as much, 0.010 instead of 0.030 nats per"
     " character."),
    (0.1, "Whether this gate changes what top-4 costs is inconclusive: −0.020 nats per character."),
])  # fmt: skip
def test_a_gate_is_praised_only_beyond_the_interval(spread, verdict):
    counts, none = np.full(50, 100.0), np.ones((3, 50))
    seeds = spread * np.array([[-1.0], [0.0], [1.0]])
    plain, gated = (none + 3 + 100 * seeds, none), (none + 1, none)
    says, about = shared.effect_text("top-4", "top-4", "G2", plain, gated, counts)
    assert says == verdict
    assert about.startswith("Δ loss of top-4 with G2, less that without a gate: ")
    assert "(3 seeds, 95 % interval over seeds and texts)" in about


def test_a_capacity_is_where_nine_in_ten_are_recalled():
    pairs = linear.RECALL_PAIRS
    shares = np.ones((len(pairs), 4))
    assert linear.capacity(shares) == f"{pairs[-1]}"
    shares[2:] = 0.2
    assert linear.capacity(shares) == f"{pairs[1]}"
    shares[2] = [0.8, 1.0, 0.8, 1.0]
    assert linear.capacity(shares) == f"{pairs[1]} to {pairs[2]}"


@pytest.mark.parametrize(("gain", "ablated", "verdict", "adapted"), [
    ((0.02, 0.01), (0.1, 0.01), "A linear branch beside a window of 16 keys saves 0.020", True),
    ((0.001, 0.002), (0.1, 0.01), "A linear branch beside a window of 16 keys saves nothing", True),
    ((0.004, 0.004), (0.005, 0.01), "Whether a linear branch beside a window of 16 keys saves loss"
     " is inconclusive: 0.004", False),
])  # fmt: skip
def test_a_branch_contributes_only_beyond_the_interval(gain, ablated, verdict, adapted):
    says, about = linear.contribution_text(16, difference(*gain), difference(*ablated))
    assert says.startswith(verdict)
    assert ("co-adapted" in about) == adapted


def test_the_median_need_is_that_of_all_heads_and_of_those_that_fail():
    text = top_k.failure_text(
        "no gate", np.array([1.0, 2.0, 60.0, 70.0]), np.array([8.0, 9.0, 66.0, 72.0])
    )
    assert text == ("2 of 4 heads (no gate; median k needed: 37.5 in all heads, 8.5 in these)")
    assert "in these" not in top_k.failure_text("G2", np.ones(3), np.ones(3))
    measured = [
        top_k.failure_text(
            gate,
            *(shared.measured(gate, f"truncation.{name}").ravel() for name in ("rule", "needed")),
        )
        for gate in ("no gate", "G1, per channel")
    ]
    assert measured == [
        "3 of 48 heads (no gate; median k needed: 66 in all heads, 8 in these)",
        "4 of 48 heads (G1, per channel; median k needed: 28.5 in all heads, 7.5 in these)",
    ]
