"""The language model against loops, the fused kernel and what it must never do."""

import math
from dataclasses import replace
from itertools import product

import pytest
import torch

from gating_core.attention import GateConfig
from gating_core.characters import encode
from gating_core.lm.attention_kinds import ATTENTION_KINDS, causal_mask
from gating_core.lm.model import TOPOLOGIES, KeyValueCache, LanguageModel, ModelConfig
from gating_core.lm.shipped import MODELS
from tests.core.lm.lively import GATES as COMMON
from tests.core.lm.lively import lively

TINY = ModelConfig(depth=3, width=12, heads=3, context=10)
FAR = {"scale": 4.0, "noise": 0.3}
GATES = (*COMMON, GateConfig(granularity="headwise", position="G2"))
TEXT = encode("In the be")[None]


def loops(model, numbers, strength=1.0):
    """(T, V): the same logits one character, head and key at a time."""
    config, weights = model.config, {name: w.tolist() for name, w in model.named_parameters()}
    D, H = config.width, config.heads
    d = D // H

    def linear(name, x):
        rows = weights[f"{name}.weight"]
        bias = weights.get(f"{name}.bias", [0.0] * len(rows))
        return [
            sum(w * c for w, c in zip(row, x, strict=True)) + b
            for row, b in zip(rows, bias, strict=True)
        ]

    def norm(name, x):
        scale = math.sqrt(sum(c * c for c in x) / D + 1e-6)
        return [c / scale * g for c, g in zip(x, weights[f"{name}.weight"], strict=True)]

    def add(x, y):
        return [a + b for a, b in zip(x, y, strict=True)]

    def gelu(x):
        return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))

    stream = [
        add(weights["embed.weight"][n], weights["embed_position.weight"][t])
        for t, n in enumerate(numbers)
    ]
    first = None
    for layer in range(config.depth):
        at = f"blocks.{layer}"
        states = [norm(f"{at}.norm_attention", x) for x in stream]
        parts = [linear(f"{at}.attention.qkv", x) for x in states]
        factors = [[1.0] * D for _ in states]
        if config.gate is not None:
            for t, x in enumerate(states):
                gate = [1 / (1 + math.exp(-z)) for z in linear(f"{at}.attention.gate", x)]
                wide = gate if len(gate) == D else [gate[c // d] for c in range(D)]
                factors[t] = [1 - strength + strength * g for g in wide]
        at_values = config.gate is not None and config.gate.position == "G2"
        outputs = []
        for t in range(len(stream)):
            mixed = [0.0] * D
            for h in range(H):
                own = range(h * d, (h + 1) * d)
                scores = [
                    sum(parts[t][c] * parts[s][D + c] for c in own) / math.sqrt(d)
                    for s in range(t + 1)
                ]
                if config.attention == "relu":
                    shares = [max(score, 0.0) for score in scores]
                else:
                    total = sum(math.exp(score) for score in scores)
                    shares = [math.exp(score) / total for score in scores]
                for s, share in enumerate(shares):
                    for c in own:
                        mixed[c] += (
                            share * parts[s][2 * D + c] * (factors[s][c] if at_values else 1)
                        )
            if not at_values:
                mixed = [m * f for m, f in zip(mixed, factors[t], strict=True)]
            outputs.append(linear(f"{at}.attention.project", mixed))
        after = []
        for t, x in enumerate(stream):
            topology = config.topology if layer else "usual"
            reads_own = topology in ("usual", "fal_plus")
            read = norm(f"{at}.norm_mlp", add(x, outputs[t]) if reads_own else x)
            if topology in ("fal", "fal_plus"):
                read = add(read, norm(f"{at}.norm_first", first[t]))
            inner = [gelu(z) for z in linear(f"{at}.up", read)]
            after.append(add(add(x, outputs[t]), linear(f"{at}.down", inner)))
        first, stream = first or outputs, after
    return torch.tensor([linear("read_out", norm("norm", x)) for x in stream], dtype=torch.float64)


@pytest.mark.parametrize("gate", GATES)
def test_the_model_is_the_one_of_plain_loops_whatever_the_gate(gate):
    model = lively(replace(TINY, gate=gate), **FAR)
    for strength in (1.0, 0.3):
        want = loops(model, TEXT[0].tolist(), strength)
        torch.testing.assert_close(model(TEXT, strength=strength)[0], want, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("topology", "attention"), [*product(TOPOLOGIES, ["softmax"]), ("fal", "relu")]
)
def test_the_model_is_the_one_of_plain_loops_whatever_the_topology(topology, attention):
    model = lively(replace(TINY, topology=topology, attention=attention, gate=GateConfig()), **FAR)
    want = loops(model, TEXT[0].tolist())
    torch.testing.assert_close(model(TEXT)[0], want, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("gate", GATES)
def test_a_record_changes_nothing_and_holds_what_was_computed(gate):
    model = lively(replace(TINY, gate=gate), **FAR)
    logits, records = model.record(TEXT)
    torch.testing.assert_close(logits, model(TEXT), rtol=1e-12, atol=1e-12)  # the fused kernel
    assert len(records) == TINY.depth
    for block, record in zip(model.blocks, records, strict=True):
        fused = torch.nn.functional.scaled_dot_product_attention(
            record.queries, record.keys, record.values, is_causal=True
        )
        weights = record.weights
        torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))
        assert not weights.triu(1).any()
        output = block.attention.project(record.mixed.transpose(1, 2).flatten(2))
        torch.testing.assert_close(record.output, output)
        if gate is None:
            assert record.gate is None
            torch.testing.assert_close(record.mixed, fused)
        elif gate.position == "G1":
            factors = block.attention.by_head(record.gate)
            torch.testing.assert_close(record.mixed, fused * factors)
        else:
            torch.testing.assert_close(record.mixed, fused)
    torch.testing.assert_close(model.read_out(model.norm(records[-1].stream)), logits)


@pytest.mark.parametrize("attention", ATTENTION_KINDS)
@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_a_later_character_changes_nothing_before_it(attention, topology):
    model = lively(
        replace(TINY, attention=attention, topology=topology, gate=GateConfig(position="G2")),
        **FAR,
    )
    changed = TEXT.clone()
    changed[0, 6] += 1
    before, after = model(TEXT), model(changed)
    assert torch.equal(before[:, :6], after[:, :6])
    assert (before[:, 6:] != after[:, 6:]).any(-1).all()


@pytest.mark.parametrize("gate", GATES[1:])
def test_at_strength_zero_a_gate_is_left_out_bit_for_bit(gate):
    model = lively(replace(TINY, gate=gate), **FAR)
    ungated = LanguageModel(TINY).double()
    ungated.load_state_dict(
        {name: weight for name, weight in model.state_dict().items() if ".gate." not in name}
    )
    assert torch.equal(model(TEXT, strength=0.0), ungated(TEXT))
    assert not torch.equal(model(TEXT), ungated(TEXT))
    dialled = LanguageModel(replace(TINY, gate=replace(gate, strength=0.4))).double()
    dialled.load_state_dict(model.state_dict())
    assert torch.equal(dialled(TEXT), model(TEXT, strength=0.4))


@pytest.mark.parametrize("gate", GATES)
def test_with_a_cache_a_record_is_of_the_last_characters(gate):
    model, cache = lively(replace(TINY, gate=gate), **FAR), KeyValueCache()
    _, whole = model.record(TEXT)
    model(TEXT[:, :7], cache=cache)
    _, last = model.record(TEXT[:, 7:], cache=cache)
    for all_of_it, end in zip(whole, last, strict=True):
        for name in ("weights", "mixed"):
            want = getattr(all_of_it, name)[:, :, 7:]
            torch.testing.assert_close(getattr(end, name), want)


@pytest.mark.parametrize("attention", ATTENTION_KINDS)
@pytest.mark.parametrize("gate", GATES)
def test_with_a_cache_the_logits_are_the_same(gate, attention):
    model = lively(replace(TINY, gate=gate, attention=attention, topology="fal"), **FAR)
    cache = KeyValueCache()
    parts = [model(part, cache=cache) for part in TEXT.split([4, 1, 1, 4], -1)]
    torch.testing.assert_close(torch.cat(parts, 1), model(TEXT), rtol=1e-12, atol=1e-12)
    assert cache.length == TEXT.shape[1]
    with pytest.raises(ValueError, match="13 characters; the model reads at most 10"):
        model(TEXT[:, :3], cache=cache)


def test_a_sink_logit_is_a_gate_per_head_on_softmax_attention():
    model = lively(replace(TINY, attention="softmax_sink"), **FAR)
    plain = lively(TINY, **FAR)
    plain.load_state_dict({
        name: weight for name, weight in model.state_dict().items() if not name.endswith(".sink")
    })  # fmt: skip
    first, softmax = (of.record(TEXT)[1][0] for of in (model, plain))
    scores = first.scores.masked_fill(~causal_mask(*first.scores.shape[-2:]), -torch.inf)
    total = scores.exp().sum(-1, keepdim=True)
    gate = total / (total + model.layers[0].attention.learned.sink.exp())
    torch.testing.assert_close(first.weights, gate * softmax.weights)
    torch.testing.assert_close(first.mixed, gate * softmax.mixed)


def test_models_of_one_seed_share_the_weights_that_they_have_in_common():
    models = [
        dict(LanguageModel(replace(config, depth=2), seed=3).named_parameters())
        for config in MODELS.values()
    ]
    for name, weight in models[0].items():
        assert all(torch.equal(weight, other[name]) for other in models[1:]), name
    matrices = [weight for weight in models[0].values() if weight.ndim == 2]
    assert len({float(weight.detach()[0, 0]) for weight in matrices}) == len(matrices)
    other = LanguageModel(replace(MODELS["none"], depth=2), seed=4)
    assert not torch.equal(other.embed.weight, models[0]["embed.weight"])


@pytest.mark.parametrize(("name", "value", "message"), [
    ("depth", 0, "depth is 0; it must be a whole number from 1 to 64"),
    ("heads", 5, "width is 12; it must be a multiple of heads, 5"),
    ("attention", "sparse", "attention is 'sparse'; it must be one of"),
    ("topology", "odd", "topology is 'odd'; it must be one of"),
    ("gate", GateConfig(position="G3"), "gate.position is 'G3'; it must be one of 'G1', 'G2'"),
    ("gate", GateConfig(kind="additive"), "gate.kind is 'additive', a control"),
])  # fmt: skip
def test_what_cannot_be_built_says_why(name, value, message):
    with pytest.raises(ValueError, match=message):
        replace(TINY, **{name: value})
