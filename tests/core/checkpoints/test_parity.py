"""A layer read from a file against the class that wrote it."""

from dataclasses import replace

import pytest
import torch

from gating_core.characters import encode
from gating_core.checkpoints import read_layer
from gating_core.lm.shipped import load_model, model_path
from tests.core.checkpoints.classes import SIZES, in_double, random_model
from tests.core.checkpoints.tiny import attend

IN_DOUBLE = 1e-12  # relative
WRONG = 0.01  # what every wrong reading exceeds; the right ones are at 1e-15


def difference(ours, theirs):
    return float((ours - theirs).abs().max() / theirs.abs().max())


def test_layers_of_bert_are_those_of_the_class(tmp_path):
    model = random_model("bert", **SIZES | dict(num_hidden_layers=2))
    model.save_pretrained(tmp_path, safe_serialization=True)
    ids = torch.tensor([[3, 1, 4, 1, 5, 9, 2, 6]])
    with in_double():
        states = model(ids, output_hidden_states=True).hidden_states
    for number, (exact, block) in enumerate(zip(states, model.encoder.layer, strict=False)):
        layer, attention = read_layer(tmp_path, number), block.attention
        with in_double():
            plain = attention.output.dense(attention.self(exact)[0])[0]
        assert difference(attend(layer, exact[0]).output, plain) < IN_DOUBLE
        for change in (dict(causal=True), dict(key_bias=None, query_bias=None)):
            assert difference(attend(replace(layer, **change), exact[0]).output, plain) > WRONG


@pytest.mark.parametrize("name", ["none", "g1_channel", "g1_head", "g2"])
def test_our_own_language_models(name):
    model, _ = load_model(name, 0)
    model = model.double()
    for strength in (1.0, 0.25):
        _, records = model.record(encode("In the beginning")[None], strength=strength)
        for number, record in enumerate(records):
            layer = read_layer(model_path(name, 0), number)
            if number:
                read = layer.read(records[number - 1].stream[0])
                assert difference(read, record.states[0]) < IN_DOUBLE
            ours = attend(layer, record.states[0], strength)
            assert difference(ours.output, record.output[0]) < IN_DOUBLE
            assert difference(ours.weights, record.weights[0]) < IN_DOUBLE
