"""A layer read from a file against the class that wrote it."""

from dataclasses import replace

import pytest
import torch

from gating_core.characters import encode
from gating_core.checkpoints import attend, read_layer, read_states
from gating_core.lm.shipped import load_model, model_path
from tests.core.checkpoints.classes import SIZES, in_double, random_model

IN_DOUBLE = 1e-12  # relative
WRONG = 0.01  # what every wrong reading exceeds; the right ones are at 1e-15


def difference(ours, theirs):
    return float((ours - theirs).abs().max() / theirs.abs().max())


def test_layers_and_states_of_bert_are_those_of_the_class(tmp_path):
    model = random_model("bert", **SIZES | dict(num_hidden_layers=3))
    model.save_pretrained(tmp_path, safe_serialization=True)
    ids = [3, 1, 4, 1, 5, 9, 2, 6]
    states = read_states(tmp_path, ids)
    with in_double():
        theirs = model(torch.tensor([ids]), output_hidden_states=True).hidden_states[:-1]
    assert len(states) == len(theirs) == 3
    for number, (ours, exact) in enumerate(zip(states, theirs, strict=True)):
        assert difference(ours, exact[0]) < IN_DOUBLE
        layer, block = read_layer(tmp_path, number), model.encoder.layer[number].attention
        with in_double():
            plain = block.output.dense(block.self(exact)[0])[0]
            whole = block(exact)[0][0]
        branch = attend(layer, exact[0]).output
        assert difference(branch, plain) < IN_DOUBLE
        assert difference(layer.after(exact[0] + branch), whole) < IN_DOUBLE
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
            ours = attend(layer, record.states[0], strength)
            assert difference(ours.output, record.output[0]) < IN_DOUBLE
            assert difference(ours.weights, record.weights[0]) < IN_DOUBLE
