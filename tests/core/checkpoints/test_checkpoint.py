"""The checkpoints that are read, and those that are refused."""

import pickle

import pytest
import torch

from gating_core.checkpoints import open_checkpoint, read_layer
from tests.core.checkpoints.tiny import BERT, bert_tensors, write

QUERY = "encoder.layer.0.attention.self.query.weight"
REFUSED = {  # what is changed in the configuration, and what is said
    "an unknown family": (dict(model_type="llama"), "'llama'; files of BERT .* with state_plane"),
    "another activation": (dict(hidden_act="relu"), "says hidden_act 'relu'; only 'gelu'"),
    "a width of another file": (dict(hidden_size=64), r"must have \(64, 64\)"),
    "heads that do not divide": (dict(num_attention_heads=5), "5 heads for 32 channels"),
    "heads in words": (dict(num_attention_heads="4"), "num_attention_heads in config.json is '4'"),
}
MALFORMED = {
    "empty": b"",
    "truncated": b"\x40\0\0\0\0\0\0\0{",
    "a pickle": pickle.dumps({"a": 1}),
    "no model of ours": b"\2\0\0\0\0\0\0\0{}",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_known_is_refused_by_name(name, tmp_path):
    change, said = REFUSED[name]
    with pytest.raises(ValueError, match=said):
        read_layer(write(tmp_path, BERT | change, bert_tensors()), 0)


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_or_missing_file_is_a_value_error(name, tmp_path):
    path = tmp_path / "x.safetensors"
    path.write_bytes(MALFORMED[name])
    folder = write(tmp_path / "bert", BERT, bert_tensors())
    (folder / "config.json").write_bytes(MALFORMED[name])
    for refused in (path, folder, tmp_path / "gone"):
        with pytest.raises(ValueError, match=f"^{refused.name} holds no checkpoint"):
            open_checkpoint(refused)


def test_a_tensor_that_is_missing_or_not_finite_is_named(tmp_path):
    tensors = bert_tensors()
    whole = read_layer(write(tmp_path / "whole", BERT, tensors), 0)
    assert torch.equal(whole.query.reshape(32, 32), tensors[QUERY].double())
    for name, change in (
        ("nan", {QUERY: torch.full((32, 32), torch.nan)}),
        ("whole numbers", {QUERY: torch.ones(32, 32, dtype=torch.int64)}),
    ):
        with pytest.raises(ValueError, match=f"{QUERY}' is not of real and finite numbers"):
            read_layer(write(tmp_path / name, BERT, tensors | change), 0)
    del tensors[QUERY]
    with pytest.raises(ValueError, match=f"no tensor '{QUERY}'"):
        read_layer(write(tmp_path / "less", BERT, tensors), 0)


def test_an_extract_does_without_the_projection(tmp_path):
    tensors = {name: x.half() for name, x in bert_tensors().items() if "output" not in name}
    layer = read_layer(write(tmp_path, BERT, tensors), 0)
    assert layer.output is None
    assert layer.value.shape == (4, 8, 32)
