"""The checkpoints that are read, and those that are refused by name."""

import pytest
import torch

from gating_core.checkpoints import FAMILIES, open_checkpoint, read_layer, read_states, read_tokens
from gating_core.checkpoints.states import Tokens, shuffled
from tests.core.checkpoints.tiny import LLAMA, llama_tensors, write

TYPES = ["full_attention", "linear_attention"]
MXFP4 = {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn"]}
REFUSED = {  # what is changed in the configuration, and what is said
    "an unknown family": (dict(model_type="gemma3"), "model_type 'gemma3'; known families"),
    "none": (dict(model_type=None), "model_type None; known families are"),
    "MLA": (dict(model_type="deepseek_v3"), "'deepseek_v3', and its keys and values"),
    "MLA by its key": (dict(kv_lora_rank=512), "kv_lora_rank: its keys and values are compressed"),
    "hyper-connections": (dict(model_type="qwen4_exp"), "its hyper-connections mix"),
    "an unknown text model": (dict(model_type="x", text_config=LLAMA), "model_type 'x'"),
    "quantised": (dict(quantization_config={"quant_method": "gptq"}), r"quantised \('gptq'\)"),
    "YaRN": (dict(rope_scaling={"rope_type": "yarn", "factor": 4.0}), r"\('yarn'\)"),
    "Llama 3": (dict(rope_parameters={"rope_type": "llama3"}), r"rotary embedding \('llama3'\)"),
    "of old": (dict(rope_scaling={"type": "linear", "factor": 2.0}), r"\('linear'\)"),
    "linear attention": (dict(layer_types=TYPES[::-1]),
                         "layer 0 is linear attention; softmax attention is in 1"),
    "unknown layers": (dict(layer_types=["chunked_attention"] * 2), "names 'chunked_attention'"),
    "too few layer types": (dict(layer_types=TYPES[:1]), "must name 2 layers"),
    "a width of another file": (dict(hidden_size=64), r"must have \(\d+, 64\)"),
    "more heads than the file": (dict(num_key_value_heads=4), r"must have \(32, 32\)"),
    "heads that do not divide": (dict(num_attention_heads=5), "5 heads for 32 channels"),
    "groups that do not divide": (dict(num_key_value_heads=3), "3 key-value heads for 4"),
    "heads in words": (dict(num_attention_heads="4"), "num_attention_heads in config.json is '4'"),
    "no width": (dict(hidden_size=None), "hidden_size in config.json is None"),
    "a bias that is missing": (dict(attention_bias=True), "there is no tensor .*_proj.bias"),
    "positions that are no number": (dict(rope_theta="big"), "rope_theta in config.json is 'big'"),
    "an odd part": (dict(partial_rotary_factor=0.4), "turns 3 of 8 channels"),
    "an epsilon of zero": (dict(rms_norm_eps=0), "rms_norm_eps in config.json is 0"),
    "a window of no size": (dict(layer_types=["sliding_attention"] * 2), "sliding_window in"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_known_is_refused_by_name(name, tmp_path):
    change, said = REFUSED[name]
    folder = write(tmp_path, LLAMA | change, llama_tensors())
    with pytest.raises(ValueError, match=said) as refused:
        read_layer(folder, 0)
    assert "\n" not in str(refused.value)


def test_every_family_is_named_in_the_refusal(tmp_path):
    folder = write(tmp_path, LLAMA | dict(model_type="gemma3"), llama_tensors())
    with pytest.raises(ValueError, match="known families are") as refused:
        open_checkpoint(folder)
    for name, family in FAMILIES.items():
        assert f"{family.title} ({name})" in str(refused.value)


def test_other_prefixes_and_entries_are_read(tmp_path):
    """Forms of files of several modalities, and of older and newer configurations."""
    plain = read_layer(write(tmp_path / "plain", LLAMA, llama_tensors()), 1)
    inner = {name: value for name, value in LLAMA.items() if name != "rope_theta"}
    inner |= {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4}}
    for number, (config, prefix) in enumerate([
        (inner, ""), (LLAMA, "model.language_model."), (LLAMA, "language_model.model."),
        (LLAMA | dict(quantization_config=MXFP4), "model."),
        (LLAMA | dict(head_dim=8, rope_scaling=None, sliding_window=None), "model."),
    ]):  # fmt: skip
        tensors = {prefix + name.removeprefix("model."): x for name, x in llama_tensors().items()}
        layer = read_layer(write(tmp_path / str(number), config, tensors), 1)
        assert torch.equal(layer.query, plain.query)
        assert torch.equal(layer.rotary.frequencies, plain.rotary.frequencies)


def test_a_missing_tensor_is_named(tmp_path):
    tensors = llama_tensors()
    del tensors["model.layers.1.self_attn.k_proj.weight"]
    checkpoint = open_checkpoint(write(tmp_path / "a", LLAMA, tensors))
    assert checkpoint.attention_layers == (0,)
    with pytest.raises(
        ValueError, match=r"no tensor 'model\.layers\.1\.self_attn\.k_proj\.weight'"
    ):
        read_layer(checkpoint, 1)
    with pytest.raises(ValueError, match="the files hold no attention of Llama"):
        open_checkpoint(write(tmp_path / "b", LLAMA, {"lm_head.weight": torch.zeros(2)}))


def test_a_bias_that_the_configuration_does_not_know(tmp_path):
    tensors = llama_tensors() | {"model.layers.0.self_attn.q_proj.bias": torch.zeros(32)}
    with pytest.raises(ValueError, match=r"of which config\.json says nothing"):
        read_layer(write(tmp_path, LLAMA, tensors), 0)


def test_an_extract_does_without_the_projection(tmp_path):
    tensors = {name: x.half() for name, x in llama_tensors().items() if "o_proj" not in name}
    layer = read_layer(write(tmp_path, LLAMA, tensors), 0)
    assert layer.output is None
    assert layer.value.shape == (2, 8, 32)


# --- Texts ----------------------------------------------------------------------------------------

WORDS = ["[UNK]", "[CLS]", "[SEP]", "the", "sea", "is", "a", "door"]


def word_tokenizer(folder):
    """A tokeniser of whole words, which pads and cuts unless it is told otherwise."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, "[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    made.add_special_tokens(["[CLS]", "[SEP]", "[UNK]"])
    made.enable_padding(length=12)
    made.enable_truncation(4)
    made.save(str(folder / "tokenizer.json"))


def test_a_text_is_split_by_the_tokeniser_beside_the_weights(tmp_path):
    folder = write(tmp_path, LLAMA, llama_tensors())
    assert not open_checkpoint(folder).has_tokenizer
    with pytest.raises(ValueError, match="cannot be opened"):
        read_tokens(folder, "the sea")
    word_tokenizer(folder)
    checkpoint = open_checkpoint(folder)
    assert checkpoint.has_tokenizer
    tokens = read_tokens(checkpoint, "the sea is a door")
    assert tokens.words == ("[CLS]", "the", "sea", "is", "a", "door", "[SEP]")
    assert tokens.ids == (1, 3, 4, 5, 6, 7, 2)
    assert tokens.special == (True, *[False] * 5, True)
    assert read_tokens(checkpoint, "the sea is a door", 4).words == ("[CLS]", "the", "sea", "[SEP]")
    (folder / "tokenizer.json").write_text('{"model": 3}')
    with pytest.raises(ValueError, match=r"tokenizer\.json cannot be used"):
        read_tokens(folder, "the sea")


def test_a_shuffled_text_has_the_same_tokens_and_its_special_ones_in_place():
    tokens = Tokens(tuple(range(20)), tuple("abcdefghijklmnopqrst"), (True, *[False] * 18, True))
    other = shuffled(tokens, 3)
    assert other != tokens
    assert sorted(zip(other.ids, other.words, strict=True)) == [
        *zip(tokens.ids, tokens.words, strict=True)
    ]
    assert (other.ids[0], other.ids[-1], other.special) == (0, 19, tokens.special)
    assert shuffled(tokens, 3) == other != shuffled(tokens, 4)
    assert Tokens.numbered(3) == Tokens((0, 1, 2), ("1", "2", "3"), (False,) * 3)


def test_states_of_other_families_are_to_be_given(tmp_path):
    folder = write(tmp_path, LLAMA, llama_tensors())
    with pytest.raises(ValueError, match=r"states of Llama are not computed .* as \(T, D\)"):
        read_states(folder, [1, 2])
