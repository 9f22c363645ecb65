"""How many pairs fit: each rule against what is expected of it in closed form."""

import math
from dataclasses import replace

import pytest
import torch

from gating_core.lm.efficient.recall import (
    RECALL_PAIRS,
    RULES,
    RecallRequest,
    delta_rule,
    draw_pairs,
    recall,
    recall_curves,
)

MANY = RecallRequest(channels=16, pairs=12, seeds=tuple(range(64)))


def mean_error(request, rule):
    return float(recall(request)[rule][0].mean())


def test_pairs_depend_on_their_seed_alone_and_keys_are_as_alike_as_asked():
    keys, values = draw_pairs(replace(MANY, overlap=0.5, seeds=(3, 7)))
    again, _ = draw_pairs(replace(MANY, overlap=0.5, seeds=(7,)))
    assert torch.equal(keys[1:], again)
    torch.testing.assert_close(keys.norm(dim=-1), torch.ones(2, 12).double())
    for overlap in (0.0, 0.5):
        keys, values = draw_pairs(replace(MANY, overlap=overlap))
        products = (keys @ keys.mT)[:, ~torch.eye(12, dtype=torch.bool)]
        assert float(products.mean()) == pytest.approx(overlap, abs=0.03)
    assert values.shape == (64, 12, 16)


@pytest.mark.parametrize("pairs", [2, 12, 48])
def test_the_error_of_a_linear_sum_grows_with_the_pairs(pairs):
    """E |sum over others of v k·k'|² = (n - 1) / d · E |v|², as E (k·k')² = 1 / d."""
    error = recall(replace(MANY, pairs=pairs))["linear"][0]
    _, values = draw_pairs(replace(MANY, pairs=pairs))
    sizes = values.square().sum(-1)
    assert float((error * sizes).mean()) / 16 == pytest.approx((pairs - 1) / 16, rel=0.15)


def test_the_best_state_holds_as_many_pairs_as_it_has_channels():
    assert mean_error(replace(MANY, pairs=16), "best") < 1e-10
    error = recall(replace(MANY, pairs=48))["best"][0]
    _, values = draw_pairs(replace(MANY, pairs=48))
    sizes = values.square().sum(-1)
    assert float((error * sizes).mean()) / 16 == pytest.approx(1 - 16 / 48, rel=0.05)
    for pairs in (4, 16, 40):  # nothing that is linear in the key is better, by squared error
        request = replace(MANY, pairs=pairs)
        keys, values = draw_pairs(request)
        errors = {
            name: (rule.answers(keys, values, request) - values).square().sum((1, 2))
            for name, rule in RULES.items()
            if rule.state
        }
        assert all((errors["best"] <= other + 1e-9).all() for other in errors.values())


def test_orthogonal_keys_are_recalled_without_error():
    keys, values = torch.eye(16).double()[None, :12], draw_pairs(MANY)[1][:1]
    for rule in ("linear", "delta"):
        answers = RULES[rule].answers(keys, values, MANY)
        torch.testing.assert_close(answers, values, rtol=0, atol=1e-5)


def test_the_delta_rule_knows_the_last_pair():
    result = recall(replace(MANY, overlap=0.5))
    assert float(result["delta"][0][:, -1].max()) < 1e-6
    assert float(result["delta"][0].mean()) < 0.5 * float(result["linear"][0].mean())


def test_a_decay_forgets_the_first_and_none_is_the_delta_rule():
    values = draw_pairs(MANY)[1][:1]
    answers = delta_rule(torch.eye(16).double()[None, :12], values, 1.0, 0.7)
    left = 0.7 ** torch.arange(11, -1, -1).double()  # orthogonal keys: the decay is all there is
    torch.testing.assert_close(answers, left[:, None] * values, rtol=0, atol=1e-5)
    same = recall(replace(MANY, decay=1.0))
    assert torch.equal(same["gated_delta"][0], same["delta"][0])


def test_softmax_recognises_what_no_state_can_hold():
    result = recall(RecallRequest(channels=16, pairs=128))
    assert float(result["softmax"][1].double().mean()) > 0.99
    assert all(
        float(result[name][1].double().mean()) < 0.2 for name, rule in RULES.items() if rule.state
    )


def test_one_pair_of_one_channel_is_recalled_by_all():
    for name, (error, recognised) in recall(RecallRequest(1, 1, decay=1.0)).items():
        assert float(error.max()) < 1e-10, name
        assert recognised.all()


def test_curves_are_of_the_same_step_and_decay():
    curves = recall_curves(8, 0.2, 0.7, 8.0)
    of = recall(RecallRequest(8, 12, overlap=0.2, step=0.7, decay=math.exp(-1 / 8)))
    assert list(curves) == list(RULES)
    for rule, shares in curves.items():
        recalled = of[rule][1].double().mean(-1)
        torch.testing.assert_close(torch.from_numpy(shares[RECALL_PAIRS.index(12)]), recalled)


@pytest.mark.parametrize(("change", "message"), [
    (dict(channels=0), "channels is 0"),
    (dict(pairs=513), "pairs is 513"),
    (dict(seeds=()), "seeds is ()"),
    (dict(overlap=1.0), "overlap is 1.0"),
    (dict(step=1.5), "step is 1.5"),
    (dict(decay=math.nan), "decay is nan"),
])  # fmt: skip
def test_a_request_that_makes_no_sense_says_why(change, message):
    with pytest.raises(ValueError, match=message.replace("()", r"\(\)")):
        RecallRequest(**change)
