"""The checkpoints that are read, and those that are refused."""

import pytest
import torch

from gating_core.checkpoints import open_checkpoint, read_layer, read_states
from gating_core.checkpoints.states import Tokens, shuffled
from gating_core.lm.shipped import model_path
from tests.core.checkpoints.tiny import BERT, bert_tensors, write

REFUSED = {  # what is changed in the configuration, and what is said
    "an unknown family": (dict(model_type="llama"), "'llama'; files of BERT .* with state_plane"),
    "none": (dict(model_type=None), "model_type None; files of BERT and"),
    "relative positions": (dict(position_embedding_type="relative_key"), "only 'absolute' is"),
    "a decoder": (dict(is_decoder=True), "says is_decoder True; of BERT only False is known"),
    "another activation": (dict(hidden_act="relu"), "says hidden_act 'relu'; of BERT only 'gelu'"),
    "a width of another file": (dict(hidden_size=64), r"must have \(64, 64\)"),
    "heads that do not divide": (dict(num_attention_heads=5), "5 heads for 32 channels"),
    "heads in words": (dict(num_attention_heads="4"), "num_attention_heads in config.json is '4'"),
    "no width": (dict(hidden_size=None), "hidden_size in config.json is None"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_known_is_refused_by_name(name, tmp_path):
    change, said = REFUSED[name]
    folder = write(tmp_path, BERT | change, bert_tensors())
    with pytest.raises(ValueError, match=said) as refused:
        read_layer(folder, 0)
    assert "\n" not in str(refused.value)


def test_a_missing_tensor_is_named(tmp_path):
    tensors = bert_tensors()
    del tensors["encoder.layer.1.attention.self.key.weight"]
    checkpoint = open_checkpoint(write(tmp_path / "a", BERT, tensors))
    assert checkpoint.attention_layers == (0,)
    with pytest.raises(
        ValueError, match=r"no tensor 'encoder\.layer\.1\.attention\.self\.key\.weight'"
    ):
        read_layer(checkpoint, 1)
    with pytest.raises(ValueError, match="the files hold no attention of BERT"):
        open_checkpoint(write(tmp_path / "b", BERT, {"lm_head.weight": torch.zeros(2)}))


def test_an_extract_does_without_the_projection(tmp_path):
    tensors = {name: x.half() for name, x in bert_tensors().items() if "output" not in name}
    layer = read_layer(write(tmp_path, BERT, tensors), 0)
    assert layer.output is None
    assert layer.value.shape == (4, 8, 32)


def test_a_shuffled_text_has_the_same_tokens_and_its_special_ones_in_place():
    tokens = Tokens(tuple(range(20)), tuple("abcdefghijklmnopqrst"), (True, *[False] * 18, True))
    other = shuffled(tokens, 3)
    assert other != tokens
    assert sorted(zip(other.ids, other.words, strict=True)) == [
        *zip(tokens.ids, tokens.words, strict=True)
    ]
    assert (other.ids[0], other.ids[-1], other.special) == (0, 19, tokens.special)
    assert shuffled(tokens, 3) == other != shuffled(tokens, 4)


def test_states_of_other_families_are_to_be_given():
    with pytest.raises(ValueError, match=r"of this project are not computed .* as \(T, D\)"):
        read_states(model_path("none", 0), [1, 2])
