"""Models that leave something out: nothing left out changes nothing, and the rest by other ways."""

import numpy as np
import pytest
import torch
from scipy.stats import norm

from gating_core.attention import GateConfig
from gating_core.characters import encode
from gating_core.efficient import mixed
from gating_core.lm.approximations.delta_correction import GAMMAS, SINKS, WINDOWS
from gating_core.lm.approximations.eviction import BUDGETS, POLICIES, PREFILL, ratios
from gating_core.lm.approximations.models import (
    FIRST,
    long_texts,
    read_head,
    truncated,
    windowed,
    with_kept_keys,
)
from gating_core.lm.approximations.top_k import BINS, EPSILONS, FIRST_QUERY, SIZES, fire_rates
from gating_core.lm.attention import KeyValueCache
from gating_core.lm.attention_kinds import AttentionKind
from gating_core.lm.config import ModelConfig
from gating_core.lm.corpus import excerpt_texts
from gating_core.lm.losses import rows_of, text_losses
from gating_core.lm.measurements.stored import (
    APPROXIMATED,
    APPROXIMATIONS,
    EFFICIENT,
    load_efficient,
)
from gating_core.lm.model import LanguageModel, with_attention
from gating_core.lm.shipped import load_model, shipped
from gating_core.training import mean_interval
from tests.each import each

CONFIG = ModelConfig(depth=2, width=8, heads=2)
GATES = (None, GateConfig(), GateConfig(position="G2"))
ALPHABET = [*"abc, ñ"]


def lively(gate=None, scale=8):
    """Weights far from their start, so that heads differ."""
    model = LanguageModel(ModelConfig(**{**CONFIG.__dict__, "gate": gate}))
    with torch.no_grad():
        for weight in model.parameters():
            weight *= scale
    return model.requires_grad_(False)


def some_texts(count=5):
    draw = np.random.default_rng(0)
    return ["".join(draw.choice(ALPHABET, 130)) for _ in range(count)]


def by_weights(model, weights):
    """``model`` with other weights, a function of scores and mask."""
    return with_attention(model, [AttentionKind("other", weights)] * model.config.depth)


def excess(model, other, texts):
    return (
        text_losses(other, texts, first=FIRST)[0] - text_losses(model, texts, first=FIRST)[0]
    ).numpy()


# --- Attention that leaves something out ----------------------------------------------------------


@each(GATES)
def test_with_nothing_left_out_losses_are_the_models_own_bit_for_bit(gate):
    model, texts = lively(gate), some_texts()
    whole = text_losses(model, texts, first=FIRST)[0]
    for other in (truncated(model, 128), windowed(model, 128, 0), windowed(model, 4, 0, gamma=1)):
        assert torch.equal(text_losses(other, texts, first=FIRST)[0], whole)
    read, cache, again = rows_of(texts, 128).read, KeyValueCache(), KeyValueCache()
    for each_cache in (cache, again):
        model(read[:, :PREFILL], cache=each_cache)
    kept = [torch.ones(5, 2, PREFILL, dtype=torch.bool)] * 2
    later = with_kept_keys(model, kept)(read[:, PREFILL:], cache=again)
    assert torch.equal(later, model(read[:, PREFILL:], cache=cache))


@each(GATES)
def test_a_truncated_model_mixes_the_largest_weights(gate):
    def largest(scores, mask):
        weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
        least = weights.sort(-1, descending=True).values[..., 2:3]
        weights = weights * (weights >= least)
        return weights / weights.sum(-1, keepdim=True)

    model, texts = lively(gate), some_texts()
    want = excess(model, by_weights(model, largest), texts)
    np.testing.assert_allclose(excess(model, truncated(model, 3), texts), want, rtol=1e-3)
    assert np.abs(want).min() > 0.1


def test_a_windowed_model_sees_the_window_and_is_corrected():
    ago = torch.arange(128)[:, None] - torch.arange(128)
    seen = (ago < 8) | (torch.arange(128) < 2)

    def near(scores, mask):
        return scores.masked_fill(~mask | ~seen, -torch.inf).softmax(-1)

    def repaired(scores, mask):  # weights that may be negative
        full = scores.masked_fill(~mask, -torch.inf).softmax(-1)
        last = torch.arange(128) // 4 * 4
        last[124:] = torch.arange(124, 128)  # the dense tail: 128 mod 4 + 4 queries
        return near(scores, mask) + (full - near(scores, mask))[..., last, :]

    model, texts = lively(), some_texts()
    for weights, gamma in ((near, None), (repaired, 4)):
        want = excess(model, by_weights(model, weights), texts)
        np.testing.assert_allclose(
            excess(model, windowed(model, 8, 2, gamma), texts), want, rtol=2e-3
        )
        assert np.abs(want).min() > 0.01


def test_other_attention_shares_weights_and_leaves_the_model_alone():
    model = lively()
    other = truncated(model, 1)
    assert all(a is b for a, b in zip(model.parameters(), other.parameters(), strict=True))
    assert model.layers[0].attention.kind.title == "softmax attention"
    with pytest.raises(ValueError, match="1 kinds of attention; the model has 2 blocks"):
        with_attention(model, [other.layers[0].attention.kind])
    with pytest.raises(ValueError, match="keeps no weights; read without records"):
        other.record(encode("abc")[None])


def test_a_head_is_a_sample_with_the_weights_that_it_had():
    model = lively(GateConfig(position="G2"))
    _, records = model.record(encode("a ñb, c")[None], strength=0.5)
    sample = read_head(model, "a ñb, c", 1, 0, 0.5)
    record = records[1]
    assert sample.values.dtype == torch.float64
    torch.testing.assert_close(sample.scores.softmax(-1).float(), record.weights[0, 0])
    want = record.mixed[0, 0]
    torch.testing.assert_close(mixed(sample.scores, sample.values).float(), want)
    for layer, head, message in ((2, 0, "layer is 2"), (0, 2, "head is 2")):
        with pytest.raises(ValueError, match=message):
            read_head(model, "a", layer, head)


# --- Measurements ---------------------------------------------------------------------------------


def test_losses_of_late_characters_alone_count():
    model, texts = lively(), some_texts(3)
    texts[1] = texts[1][:60]
    sums, counts = text_losses(model, texts, first=FIRST)
    assert counts.tolist() == [96, 61 - FIRST, 96]
    logits = model(encode(texts[1])[None]).log_softmax(-1)[0]
    targets = [*encode(texts[1])[1:].tolist(), 0]
    want = -sum(float(logits[t, targets[t]]) for t in range(FIRST, 61))
    assert float(sums[1]) == pytest.approx(want, rel=1e-5)


def test_heads_need_what_their_sorted_weights_say():
    model, texts = lively(scale=3), some_texts(1)
    result = APPROXIMATIONS["truncation"](model, texts)
    assert (result["rule"] > 2).any()
    want = [text_losses(truncated(model, k), texts, first=FIRST)[0] for k in SIZES]
    np.testing.assert_allclose(result["sums"][:-1], torch.stack(want), rtol=1e-6)
    _, records = model.record(rows_of(texts, 128).read)
    for layer, record in enumerate(records):
        for head in range(2):
            needed, sigmas = [], []
            for row in range(FIRST_QUERY, 128):
                weights = record.weights[0, head, row].double().numpy()
                needed.append(1 + int((np.cumsum(np.sort(weights)[::-1]) < 0.95).sum()))
                sigmas.append(record.scores[0, head, row, : row + 1].numpy().std())
            assert result["needed"][layer, head] == pytest.approx(np.median(needed))
            assert result["needed_high"][layer, head] == pytest.approx(np.quantile(needed, 0.9))
            assert result["sigma"][layer, head] == pytest.approx(np.median(sigmas), rel=1e-4)
            rules = [
                max(1, (row + 1) * norm.sf(sigma + norm.ppf(0.05)))
                for row, sigma in zip(range(FIRST_QUERY, 128), sigmas, strict=True)
            ]
            assert result["rule"][layer, head] == pytest.approx(np.median(rules), rel=1e-3)
            assert (result["certified"][:, layer, head] >= np.median(needed)).all()
            assert result["histogram"][layer, head].sum() == sum(range(FIRST_QUERY + 1, 129))
    assert result["histogram"].shape == (2, 2, len(BINS) - 1)


def test_keys_leave_by_mass_as_in_a_loop():
    model, texts = lively(), some_texts(2)
    result = APPROXIMATIONS["eviction"](model, texts)
    row, column = [*POLICIES].index("mass"), 1
    read = rows_of(texts, 128).read
    _, records = model.record(read)
    hidden = []
    for record in records:
        weights = record.weights[..., :PREFILL, :PREFILL].sum(-2)
        recent = BUDGETS[column] // 2
        gone = torch.ones(2, 2, 128, dtype=torch.bool)
        gone[..., PREFILL - recent :] = False
        best = weights[..., : PREFILL - recent].argsort(-1, descending=True)[..., :recent]
        hidden.append(gone.scatter(-1, best, False))
    late = torch.arange(128)[:, None] >= PREFILL
    kinds = [
        AttentionKind(
            "fewer keys",
            lambda scores, mask, gone=gone: scores.masked_fill(
                ~mask | (late & gone[..., None, :]), -torch.inf
            ).softmax(-1),
        )
        for gone in hidden
    ]
    logits = with_attention(model, kinds)(read)[:, PREFILL:].log_softmax(-1)
    targets = rows_of(texts, 128).targets[:, PREFILL:]
    want = -logits.gather(-1, targets[..., None])[..., 0].sum(-1)
    np.testing.assert_allclose(result["sums"][row, column], want, rtol=1e-5)
    assert np.abs(result["sums"][row, column] - result["full"]).min() > 1e-3
    weights = records[0].weights[:, :, PREFILL:]
    fewer = weights * ~hidden[0][..., None, :]
    fewer = fewer / fewer.sum(-1, keepdim=True)
    change = ((fewer - weights) @ records[0].values).square().sum((0, 2, 3))
    size = (weights @ records[0].values).square().sum((0, 2, 3))
    np.testing.assert_allclose(result["errors"][row, column, 0], change / size, rtol=1e-4)
    assert (result["error_half_widths"][row, column] > 0).all()


def test_intervals_of_ratios_cover_the_truth_as_often_as_they_say():
    """And are those of a mean where all denominators are equal."""
    rng = np.random.default_rng(0)
    under = 1 + rng.random((4000, 30))
    over = 0.3 * under + 0.1 * rng.standard_normal(under.shape)
    found, half = (x.numpy() for x in ratios(torch.tensor(over), torch.tensor(under), -1))
    assert abs((np.abs(found - 0.3) <= half).mean() - 0.95) < 0.015
    same, half = ratios(torch.tensor(over[0]), torch.full((30,), 2.0), 0)
    known = mean_interval(over[0] / 2)
    assert (float(same), float(half)) == pytest.approx((known.mean, known.half_width))
    assert ratios(torch.ones(1), torch.ones(1), 0)[1] == torch.inf


def test_outputs_in_a_window_are_those_of_each_text_alone():
    model, texts = lively(), some_texts(3)
    result = APPROXIMATIONS["correction"](model, texts)
    alone = [APPROXIMATIONS["correction"](model, [text]) for text in texts]
    for name in ("cosines", "ratios", "changes"):
        np.testing.assert_allclose(result[name], np.mean([of[name] for of in alone], 0), rtol=1e-4)
    want = text_losses(windowed(model, WINDOWS[1], SINKS, GAMMAS[0]), texts, first=FIRST)[0]
    np.testing.assert_allclose(result["sums"][1, 1], want, rtol=1e-6)
    # The sparse outputs of one head, mixed here.
    _, records = model.record(rows_of(texts[:1], 128).read)
    ago = torch.arange(128)[:, None] - torch.arange(128)
    some = records[1].weights * ((ago < WINDOWS[0]) | (torch.arange(128) < SINKS))
    sparse = some / some.sum(-1, keepdim=True) @ records[1].values
    alike = torch.cosine_similarity(sparse, records[1].mixed, dim=-1)[..., FIRST:]
    np.testing.assert_allclose(alone[0]["cosines"][0, 0, 1], alike.mean(-1)[0], rtol=1e-4)


def test_certificates_fire_as_often_as_loops_count():
    """A row fires for ε where its certificate keeps fewer than half of the keys of its text.

    What follows a short text in a batch is no key, and no query.
    """
    model, texts = lively(scale=5), some_texts(5)
    texts[1:3] = [text[:47] for text in texts[1:3]]
    result = fire_rates(model, texts)
    assert result["rows"] == 5
    fired = np.zeros(result["rates"].shape)
    for text in texts:
        n = min(len(text) + 1, 128)
        _, records = model.record(rows_of([text], 128).read[:, :n])
        for layer, head in np.ndindex(2, 2):
            record = records[layer]
            query, keys = record.queries[0, head, -1], record.keys[0, head]
            for row, epsilon in enumerate(EPSILONS):
                kept = kept_by_loops(query.double().numpy(), keys.double().numpy(), epsilon)
                fired[row, :, layer, head] += np.array(kept) < n / 2
    np.testing.assert_allclose(result["rates"], fired / 5, atol=1e-6)
    assert 0 < fired.sum() < fired.size * 5


def kept_by_loops(query, keys, epsilon):
    """The keys kept by exact masses, each certificate and boxes of 16 keys."""
    n, root = len(keys), len(query) ** 0.5
    scores = keys @ query / root
    ordered = np.sort(scores)[::-1]

    def first(bound):
        return next(k for k in range(1, n + 1) if k == n or bound(k) <= epsilon)

    def share(tail, k):
        return tail / (tail + np.exp(ordered[:k]).sum())

    def stretched(k, starts):
        stops = [*starts[1:], n]
        return share(
            sum(
                (stop - start) * np.exp(ordered[start])
                for start, stop in zip(starts, stops, strict=True)
            ),
            k,
        )

    def single_gap(k):
        return (n - k) / (n - k + k * np.exp(ordered[k - 1] - ordered[k]))

    def doubled(k):
        return stretched(k, [k * 2**i for i in range(8) if k * 2**i < n])

    boxes = [keys[start : start + 16] for start in range(0, n, 16)]
    tops = np.array(
        [np.maximum(query * box.min(0), query * box.max(0)).sum() / root for box in boxes]
    )
    order = np.argsort(-tops)
    for blocks in range(1, 9):
        scored = sum(np.exp(scores[16 * block : 16 * block + 16]).sum() for block in order[:blocks])
        rest = sum(16 * np.exp(tops[block]) for block in order[blocks:])
        if rest / (rest + scored) <= epsilon:
            break
    return [
        first(lambda k: share(np.exp(ordered[k:]).sum(), k)),
        first(single_gap),
        first(lambda k: stretched(k, [k])),
        first(doubled),
        first(lambda k: stretched(k, [*range(k, n, 16)])),
        16 * blocks,
    ]


# --- The shipped file -----------------------------------------------------------------------------


def test_every_model_without_and_with_a_gate_is_measured():
    assert [*load_efficient()] == [model for model in shipped() if model[0] in APPROXIMATED]
    assert EFFICIENT.stat().st_size < 1_000_000


@pytest.mark.soak
@each([("none", 0), ("g1_channel", 1)])
def test_what_is_shipped_as_left_out_is_measured_again(name, seed):
    kept, texts = load_efficient()[name, seed], long_texts()
    assert len(texts) == len(kept["truncation.counts"])
    model, _ = load_model(name, seed)
    for other, sums in ((model, kept["truncation.sums"][-1]), (model, kept["correction.full"]),
                        (truncated(model, 4), kept["truncation.sums"][SIZES.index(4)]),
                        (windowed(model, 16, SINKS), kept["correction.sums"][1, 0]),
                        (windowed(model, 16, SINKS, 8), kept["correction.sums"][1, 2]),
                        ):  # fmt: skip
        np.testing.assert_allclose(
            sums[:8], text_losses(other, texts[:8], first=FIRST)[0], rtol=1e-4
        )
    assert kept["certificates.rows"] == len(excerpt_texts())  # short ones, too
    some = APPROXIMATIONS["eviction"](model, texts[:2])
    np.testing.assert_allclose(kept["eviction.sums"][..., :2], some["sums"], rtol=1e-4)
