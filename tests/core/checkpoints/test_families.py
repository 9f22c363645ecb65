"""The checkpoints that are read, and those that are refused by name."""

import json

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gating_core.checkpoints import (
    FAMILIES,
    open_checkpoint,
    read_layer,
    read_states,
    read_tokens,
    states,
)
from gating_core.checkpoints.states import Tokens, _words, shuffled
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
    "positions as a word": (dict(rope_scaling="linear"), "rope_scaling .* 'linear'; it must"),
    "as a list": (dict(rope_scaling=["linear", 8.0]), r"is \['linear', 8.0\]; it must"),
    "as a number": (dict(rope_parameters=8.0), "rope_parameters .* 8.0; it must be a table"),
    "of no type": (dict(rope_scaling={"factor": 8}), "has 'factor', but no rope_type"),
    "by kinds": (dict(rope_parameters={"full_attention": {}}), "has a table 'full_attention'"),
    "no theta": (dict(rope_theta=None), "rope_theta in config.json is None"),
    "linear attention": (dict(model_type="qwen3_next", layer_types=TYPES[::-1]),
                         "layer 0 is linear attention; softmax attention is in 1"),
    "unknown layers": (dict(model_type="qwen3", layer_types=["chunked_attention"] * 2),
                       "names 'chunked_attention'"),
    "layers of others": (dict(model_type="qwen3", layer_types=TYPES), "names 'linear_attention'"),
    "too few layer types": (dict(model_type="qwen3", layer_types=TYPES[:1]), "must name 2 layers"),
    "causal as a word": (dict(is_causal="no"), "is_causal in config.json is 'no'; it"),
    "both ways": (dict(use_bidirectional_attention=True), "says use_bidirectional"),
    "its own code": (dict(auto_map={"AutoModel": "modeling_x.XModel"}),
                     "auto_map, 'modeling_x.XModel'; take the entry out if"),
    "its own code, as a word": (dict(auto_map="modeling_x.X"), "auto_map, 'modeling_x.X'"),
    "another class": (dict(architectures=["LlamaBidirectionalModel"]),
                      "architectures 'LlamaBidirectionalModel', which is no class of Llama"),
    "a class of another family": (dict(architectures=["MistralForCausalLM"]), "'MistralForCausal"),
    "classes as a number": (dict(architectures=[7]), "names in architectures 7"),
    "a width of another file": (dict(hidden_size=64), r"must have \(\d+, 64\)"),
    "more heads than the file": (dict(num_key_value_heads=4), r"must have \(32, 32\)"),
    "heads that do not divide": (dict(num_attention_heads=5), "5 heads for 32 channels"),
    "groups that do not divide": (dict(num_key_value_heads=3), "3 key-value heads for 4"),
    "heads in words": (dict(num_attention_heads="4"), "num_attention_heads in config.json is '4'"),
    "no width": (dict(hidden_size=None), "hidden_size in config.json is None"),
    "a bias that is missing": (dict(attention_bias=True), "there is no tensor .*_proj.bias"),
    "positions that are no number": (dict(rope_theta="big"), "rope_theta in config.json is 'big'"),
    "an odd part": (dict(model_type="qwen3_next", partial_rotary_factor=0.4, head_dim=8,
                         layer_types=["full_attention"] * 2), "turns 3 of 8 channels"),
    "an epsilon of zero": (dict(rms_norm_eps=0), "rms_norm_eps in config.json is 0"),
    "a window of no size": (dict(model_type="qwen3", layer_types=["sliding_attention"] * 2),
                            "sliding_window in config.json is None"),
    "a gated model with windows": (dict(model_type="qwen3", headwise_attn_output_gate=True,
                                        use_sliding_window=True), "use_sliding_window True"),
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


def test_wrappers_of_modules_leave_their_names_out(tmp_path):
    plain = read_layer(write(tmp_path / "plain", LLAMA, llama_tensors()), 1)
    for number, wrapped in enumerate([
        lambda name: f"_orig_mod.{name}", lambda name: f"module.{name}",
        lambda name: f"module._orig_mod.{name}",
        lambda name: name.replace("self_attn", "_fsdp_wrapped_module.self_attn"),
    ]):  # fmt: skip
        tensors = {wrapped(name): x for name, x in llama_tensors().items()}
        assert torch.equal(
            read_layer(write(tmp_path / str(number), LLAMA, tensors), 1).key, plain.key
        )


def test_two_models_in_the_files_are_not_mixed(tmp_path):
    tensors = llama_tensors()
    twice = tensors | {f"_orig_mod.{name}": x + 1 for name, x in tensors.items()}
    with pytest.raises(ValueError, match=r"tensors '_orig_mod\.m.*' and 'm.*' are the same one"):
        open_checkpoint(write(tmp_path / "a", LLAMA, twice))
    several = tensors | {f"model.language_model.{x[6:]}": tensors[x] + 1 for x in tensors}
    with pytest.raises(
        ValueError, match=r"several models: .*'model\.layers.*'model\.language_model"
    ):
        open_checkpoint(write(tmp_path / "b", LLAMA, several))


def test_a_folder_without_weights_says_what_to_name_or_to_do(tmp_path):
    cached = tmp_path / "models--meta-llama--Llama"
    write(cached / "snapshots" / "1a2b", LLAMA, llama_tensors())
    with pytest.raises(ValueError, match="hub's cache: name snapshots/1a2b in it"):
        open_checkpoint(cached)
    assert open_checkpoint(cached / "snapshots" / "1a2b").title == "Llama"
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(ValueError, match="an adapter: merge it into the weights"):
        open_checkpoint(tmp_path)


@pytest.mark.parametrize(("kind", "change"), [
    ("qwen3_5", dict(text_config=LLAMA | {"model_type": "qwen3_5_text"},
                     architectures=["Qwen3_5ForConditionalGeneration"])),
    ("llama", dict(architectures=["LlamaForCausalLM", "llamaModel"])),
    ("llama", dict(architectures=None, auto_map={"AutoTokenizer": ["tokenization_x.X", None]})),
    ("afmoe", dict(auto_map={"AutoModelForCausalLM": "modeling_afmoe.AfmoeForCausalLM"})),
    ("qwen3", dict(headwise_attn_output_gate=True, auto_map={"AutoModel": "modeling_qwen3.X"})),
])  # fmt: skip
def test_classes_of_the_family_are_known(kind, change, tmp_path):
    config = LLAMA | {"model_type": kind} | change
    assert open_checkpoint(write(tmp_path, config, llama_tensors())).layers == 2


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


def byte_tokenizer():
    """A tokeniser on bytes, as GPT-2's, which knows some words of three languages."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    lines = ["mañana el niño comió un pájaro", "В начале сотворил Бог небо", "最初に神は天と地を"]
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    made.train_from_iterator(
        lines * 20,
        trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False),
    )
    return made


BYTES = byte_tokenizer()


@pytest.mark.parametrize("trimmed", [False, True])
def test_words_of_bytes_are_parts_of_the_text(trimmed, tmp_path):
    from tokenizers import AddedToken, processors

    made = byte_tokenizer()
    made.post_processor = processors.ByteLevel(trim_offsets=trimmed)
    made.add_special_tokens([AddedToken("<s>")])
    made.save(str(tmp_path / "tokenizer.json"))
    tokens = read_tokens(tmp_path, "<s>В начале 🙂ok")
    assert tokens.words[:3] == ("<s>", "В", " начале")
    assert tokens.words[3:5] == (("Ġ", " 🙂…") if trimmed else (" ", "🙂…"))
    assert tokens.words[5:] == ("…🙂…", "…🙂…", "…🙂", "o", "k")


def test_words_of_parts_after_a_mark_are_parts_of_the_text(tmp_path):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    pieces = [("<unk>", 0.0), ("▁the", -1.0), ("▁c", -1.5), ("at", -2.0), ("▁", -3.0)]
    pieces += [(f"<0x{byte:02X}>", -9.0) for byte in range(256)]
    made = Tokenizer(models.Unigram(pieces, unk_id=0, byte_fallback=True))
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    made.save(str(tmp_path / "tokenizer.json"))
    assert read_tokens(tmp_path, "the cat ñ").words == ("the", " c", "at", " ", "ñ…", "…ñ")


@given(st.text("mañel 神最В🙂\n", max_size=30))
def test_parts_of_a_text_are_the_text(text):
    encoded = BYTES.encode(text)
    words = _words(text, [None] * len(encoded.ids), encoded.offsets)
    # A part that begins with "…" begins with a character that stands in the part before.
    parts = (word[2:] if word.startswith("…") else word for word in words)
    assert "".join(part.removesuffix("…") for part in parts) == text


def replaced(pattern, content, times=1):
    """A normalizer that writes something else."""
    one = {"type": "Replace", "pattern": pattern, "content": content}
    return {"type": "Sequence", "normalizers": [one] * times}


UNUSABLE = {  # a normalizer, and what is said
    "a panic": ({"type": "Precompiled", "precompiled_charsmap": None}, "'Precompiled: Error"),
    "memory without end": (replaced({"String": "a"}, "a" * 10**6, 2), "it ends the process that"),
    "an endless pattern": (replaced({"Regex": "(x+x+)+y"}, "z"), "'Onig: Regex search error"),
    "of another kind": ({"type": "Nowhere"}, "cannot be used: '"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_a_tokenizer_that_ends_its_process_is_refused_in_a_sentence(name, tmp_path):
    normalizer, said = UNUSABLE[name]
    word_tokenizer(tmp_path)
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"normalizer": normalizer}))
    with pytest.raises(ValueError, match=r"^tokenizer\.json cannot be used: ") as refused:
        read_tokens(tmp_path, "a cat " + "x" * 40)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 150


def test_a_tokenizer_may_be_neither_slow_nor_large(tmp_path, monkeypatch):
    word_tokenizer(tmp_path)
    monkeypatch.setattr(states, "SPLITTING_SECONDS", 0.001)
    with pytest.raises(ValueError, match=r"cannot be used: it takes longer than 0\.001 s"):
        read_tokens(tmp_path, "a")
    monkeypatch.undo()
    monkeypatch.setattr(states, "find_spec", lambda _: None)
    with pytest.raises(ImportError, match="needs the package tokenizers: pip install"):
        read_tokens(tmp_path, "a")
    (tmp_path / "tokenizer.json").write_bytes(b"{" + b" " * 10_000_000)
    with pytest.raises(ValueError, match="at most 10,000,000 are read"):
        read_tokens(tmp_path, "a")
    (tmp_path / "tokenizer.json").write_bytes(b"\xff")
    monkeypatch.undo()
    with pytest.raises(ValueError, match="cannot be used: 'utf-8' codec"):
        read_tokens(tmp_path, "a")


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
