"""Bigram–Backcopy: the rule of its texts, layers that do not mix, and what they learn."""

import pytest
import torch

from gating_core.lm.measurements.backcopy import (
    KINDS,
    ToyLayers,
    ToyRequest,
    ToyTraining,
    draw_texts,
    load_toy,
)
from gating_core.lm.measurements.sinks import EPSILON

SMALL = ToyRequest(seeds=(0, 1), steps=3, batch=4, length=9, letters=8, width=6)


def test_after_a_trigger_the_letter_before_it_comes_again():
    request = ToyRequest(seeds=(0, 3))
    texts = draw_texts(request, "test", 50)
    assert texts.letters.shape == (2, 50, 33)
    assert texts.triggers.sum(-1).tolist() == [3, 3]
    copied = 0
    for letters, triggers in zip(texts.letters, texts.triggers, strict=True):
        assert not letters[:, 0].any()
        assert letters[:, 1:].all()  # the first letter stands nowhere else
        assert not triggers[letters[:, 1]].any()
        at = triggers[letters[:, 1:-1]]
        assert torch.equal(letters[:, 2:][at], letters[:, :-2][at])
        copied += int(at.sum())
        counts = letters[:, 1:].flatten().bincount(minlength=33)
        assert counts[triggers].float().mean() > counts.float().mean()
    assert copied > 300
    again = draw_texts(request, "test", 50)
    assert torch.equal(again.letters, texts.letters)
    assert not torch.equal(draw_texts(request, "train", 50).letters, texts.letters)


def test_seeds_with_a_sink_are_counted_by_the_published_metric():
    run = load_toy()
    T = run.weights.shape[-1]
    first = [
        [sum(map_[i][0] for i in range(T)) / T > EPSILON for map_ in kind]
        for kind in run.weights.tolist()
    ]
    assert run.sink_shares.tolist() == [sum(seeds) / len(seeds) for seeds in first]


@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_is_the_one_of_plain_loops(kind):
    layers, record = ToyLayers(kind, SMALL).double(), []
    for weight in layers.parameters():
        weight.data.mul_(40)
    letters = draw_texts(SMALL, "test", 3).letters[..., :-1]
    logits = layers(letters)
    torch.testing.assert_close(layers(letters, record), logits)
    for seed, text in ((0, 1), (1, 2)):
        own = {name: weight[seed] for name, weight in layers.named_parameters()}
        stream = [own["embed"][n] + own["position"][t] for t, n in enumerate(letters[seed, text])]
        states = [x / (x.square().mean() + 1e-6).sqrt() for x in stream]
        parts = [(x @ own["qkv"]).split(6) for x in states]
        for t, (query, _, _) in enumerate(parts):
            scores = torch.stack([query @ key / 6**0.5 for _, key, _ in parts[: t + 1]])
            shares = scores.relu() if kind == "relu" else scores.softmax(-1)
            mixed = sum(a * value for a, (_, _, value) in zip(shares, parts, strict=False))
            if kind in ("elementwise", "headwise"):
                mixed = mixed * torch.sigmoid(states[t] @ own["gate"])
            out = stream[t] + mixed @ own["project"]
            want = out / (out.square().mean() + 1e-6).sqrt() @ own["read_out"]
            torch.testing.assert_close(logits[seed, text, t], want)
            torch.testing.assert_close(record[0].weights[seed, text, t, : t + 1], shares)


def test_seeds_and_kinds_learn_as_if_each_were_alone():
    together = ToyTraining(SMALL)
    assert list(together.advance(3)) == [1, 2, 3]
    alone = ToyTraining(ToyRequest(**vars(SMALL) | {"kinds": ("headwise",), "seeds": (1,)}))
    list(alone.advance(3))
    (layers,) = alone.layers
    for name, weight in together.layers[KINDS.index("headwise")].named_parameters():
        torch.testing.assert_close(weight[1:], layers.get_parameter(name), rtol=1e-4, atol=1e-6)


def test_measures_are_means_over_the_places_they_name():
    training = ToyTraining(SMALL)
    found = training.measure()
    record = []
    with torch.no_grad():
        training.layers[1](training.test.letters[..., :-1], record)
    layer, letters, triggers = record[0], training.test.letters[0], training.test.triggers[0]
    sinks, gates, right = {True: [], False: []}, {True: [], False: []}, []
    for text in range(len(letters)):
        for t in range(1, 9):
            at = bool(triggers[letters[text, t]])
            sinks[at].append(float(layer.weights[0, text, t, 0]))
            gates[at].append(float(layer.gate[0, text, t].mean()))
            if at:
                right.append(int(layer.logits[0, text, t].argmax()) == int(letters[text, t + 1]))
    assert float(found.sink[0, 1, 0]) == pytest.approx(sum(sinks[False]) / len(sinks[False]))
    at_triggers = found.sink_at_triggers[0, 1, 0]
    assert float(at_triggers) == pytest.approx(sum(sinks[True]) / len(sinks[True]))
    elsewhere = found.gate_elsewhere[0, 1, 0]
    assert float(elsewhere) == pytest.approx(sum(gates[False]) / len(gates[False]))
    assert float(found.copied[0, 1, 0]) == pytest.approx(sum(right) / len(right))
    lengths = layer.values[0].norm(dim=-1)
    want = lengths[:, 0].mean() / lengths[:, 1:].mean()
    assert float(found.value_ratio[0, 1, 0]) == pytest.approx(float(want))
    assert found.gate_at_triggers[0, 0].tolist() == [1.0, 1.0]  # without a gate
    assert found.weights.shape == (4, 2, 9, 9)


@pytest.mark.soak  # long
def test_softmax_layers_learn_a_sink_relu_layers_none_and_gates_shut():
    training = ToyTraining(ToyRequest(seeds=(0, 1), steps=250))
    list(training.advance(250))
    found = training.measure()
    sink = dict(zip(KINDS, found.sink[0].mean(-1).tolist(), strict=True))
    assert sink["none"] > sink["headwise"] > 0.15
    assert sink["relu"] < 0.05
    assert found.value_ratio[0, 0].max() < 0.7
    assert found.gate_at_triggers[0, 1:3].min() > 0.6 > 0.3 > found.gate_elsewhere[0, 1:3].max()
    assert found.copied[0, :3].min() > 0.8
    assert found.sink_at_triggers[0, 0].max() < 0.1


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="kind is 'sparse'; it must be one of"):
        ToyTraining(ToyRequest(kinds=("sparse",)))
