"""Bigram–Backcopy: the rule of its texts, layers that do not mix, and what they learn."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gating_core.lm.backcopy import (
    KINDS,
    ToyLayers,
    ToyRequest,
    ToyTraining,
    draw_texts,
    joined,
    load_toy,
    train_toy,
)
from gating_core.lm.measurements import SINK

SMALL = ToyRequest(seeds=(0, 1), steps=3, batch=4, length=9, letters=8, width=6)
LONGER = replace(SMALL, steps=60, length=8, letters=9, width=8)


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
        [sum(map_[i][0] for i in range(T)) / T > SINK for map_ in kind]
        for kind in run.weights.tolist()
    ]
    assert run.sink_shares.tolist() == [sum(seeds) / len(seeds) for seeds in first]


@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_is_the_one_of_plain_loops(kind):
    layers, maps = ToyLayers(kind, SMALL).double(), []
    for weight in layers.parameters():
        weight.data.mul_(40)
    letters = draw_texts(SMALL, "test", 3).letters[..., :-1]
    logits = layers(letters)
    torch.testing.assert_close(layers(letters, maps), logits)
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
            torch.testing.assert_close(maps[0][seed, text, t, : t + 1], shares)


def test_seeds_and_kinds_learn_as_if_each_were_alone():
    together = ToyTraining(SMALL)
    assert list(together.advance(3)) == [1, 2, 3]
    alone = ToyTraining(ToyRequest(**vars(SMALL) | {"kinds": ("headwise",), "seeds": (1,)}))
    list(alone.advance(3))
    (layers,) = alone.layers
    for name, weight in together.layers[KINDS.index("headwise")].named_parameters():
        torch.testing.assert_close(weight[1:], layers.get_parameter(name), rtol=1e-4, atol=1e-6)


def test_a_sink_is_a_mean_over_letters_that_are_no_triggers():
    training, maps = ToyTraining(SMALL), []
    found = training.measure()
    with torch.no_grad():
        training.layers[1](training.test.letters[..., :-1], maps)
    letters, triggers = training.test.letters[0], training.test.triggers[0]
    sinks = [
        float(maps[0][0, text, t, 0])
        for text in range(len(letters))
        for t in range(1, 9)
        if not triggers[letters[text, t]]
    ]
    assert float(found.sink[0, 1, 0]) == pytest.approx(sum(sinks) / len(sinks))
    assert found.weights.shape == (4, 2, 9, 9)


@pytest.mark.soak  # long
def test_softmax_layers_learn_a_sink_relu_layers_none_and_gates_shrink_it():
    training = ToyTraining(ToyRequest(seeds=(0, 1), steps=250))
    list(training.advance(250))
    sink = dict(zip(KINDS, training.measure().sink[0].mean(-1).tolist(), strict=True))
    assert sink["none"] > sink["headwise"] > 0.15
    assert sink["relu"] < 0.05


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="kind is 'sparse'; it must be one of"):
        ToyTraining(ToyRequest(kinds=("sparse",)))


def test_a_toy_run_is_what_the_training_measures():
    runs = [*train_toy(LONGER)]
    assert [run.steps[-1] for run in runs] == [0, 25, 50, 60]
    assert [run.share for run in runs] == [0, 25 / 60, 50 / 60, 1]
    training = ToyTraining(LONGER)
    for _ in training.advance(60):
        pass
    result = training.measure()
    np.testing.assert_array_equal(runs[-1].sink[-1], result.sink[0])
    assert runs[-1].sink.shape == (4, 4, 2)
    assert runs[-1].triggers.sum(-1).tolist() == [3, 3]


def test_kinds_that_are_trained_apart_make_the_same_run():
    request = replace(LONGER, steps=26)
    *_, whole = train_toy(request)
    apart = []
    for kinds in (KINDS[1::2], KINDS[0::2]):
        *_, part = train_toy(replace(request, kinds=kinds))
        apart.append(part)
    run = joined(request, apart)
    assert run.request == request
    for name in ("sink", "steps", "letters", "triggers", "weights"):
        np.testing.assert_array_equal(getattr(run, name), getattr(whole, name))


def test_the_shipped_toy_has_a_sink_that_gates_shrink():
    run = load_toy()
    assert run.request == ToyRequest()
    shares = dict(zip(run.request.kinds, run.sink[-1].mean(-1), strict=True))
    assert shares["none"] > shares["elementwise"] > shares["relu"]
    assert shares["none"] > shares["headwise"] > shares["relu"]
