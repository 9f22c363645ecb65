"""Tiny random models of transformers' own classes, and what their attention computes."""

import contextlib
import logging
from unittest import mock

import torch

TOKENS = 7
SIZES = dict(
    hidden_size=32, num_attention_heads=4, num_hidden_layers=1, intermediate_size=24, vocab_size=11
)
GROUPED = SIZES | dict(num_key_value_heads=2, head_dim=8)
GPT2 = dict(n_embd=32, n_head=4, n_layer=1, n_positions=32, vocab_size=11)
EXPERTS = dict(num_experts=2, num_experts_per_tok=1, moe_intermediate_size=8)
NEXT = GROUPED | EXPERTS | dict(layer_types=["full_attention"], shared_expert_intermediate_size=8)
OSS = GROUPED | dict(
    num_local_experts=2,
    num_experts_per_tok=1,
    sliding_window=4,
    rope_parameters={"rope_type": "default", "rope_theta": 1e4},
)
YARN = {
    "rope_type": "yarn",
    "rope_theta": 1e4,
    "factor": 4.0,
    "beta_fast": 8.0,
    "beta_slow": 1.0,
    "truncate": False,
    "original_max_position_embeddings": 64,
}
AFMOE = GROUPED | EXPERTS | dict(num_dense_layers=1, sliding_window=4)
QWEN35 = GROUPED | dict(layer_types=["full_attention"])

CASES = {  # model_type and options, by what is tried
    "BERT": ("bert", SIZES),
    "GPT-2": ("gpt2", GPT2),
    "Llama": ("llama", SIZES | dict(num_key_value_heads=2)),
    "Llama with biases": ("llama", SIZES | dict(num_key_value_heads=1, attention_bias=True)),
    "Mistral, a window": ("mistral", SIZES | dict(num_key_value_heads=2, sliding_window=4)),
    "Qwen2": ("qwen2", SIZES | dict(num_key_value_heads=2)),
    "Qwen2, a window": ("qwen2", SIZES | dict(num_key_value_heads=2, use_sliding_window=True,
                                              sliding_window=5, max_window_layers=0)),
    "Qwen3": ("qwen3", GROUPED),
    "Qwen3-Next": ("qwen3_next", NEXT),
    "Qwen3.5": ("qwen3_5_text", QWEN35),
    "AFMoE, full": ("afmoe", AFMOE | dict(layer_types=["full_attention"])),
    "AFMoE, a window": ("afmoe", AFMOE | dict(layer_types=["sliding_attention"])),
    "gpt-oss, full": ("gpt_oss", OSS | dict(layer_types=["full_attention"])),
    "gpt-oss, YaRN": ("gpt_oss", OSS | dict(layer_types=["full_attention"], rope_parameters=YARN)),
    "gpt-oss, a window": ("gpt_oss", OSS | dict(layer_types=["sliding_attention"])),
}  # fmt: skip


@contextlib.contextmanager
def in_double():
    """Let transformers' classes compute in float64 what they compute in float32."""
    with (
        mock.patch.object(torch, "float32", torch.float64),
        mock.patch.object(torch, "float", torch.float64),
        mock.patch.object(torch.Tensor, "float", torch.Tensor.double),
    ):
        yield


def random_model(kind, seed=0, **options):
    """A model in float64, on which no weight is what it is initialised to."""
    from transformers import AutoConfig, AutoModel  # here: ten seconds, in one worker of four

    logging.disable(logging.WARNING)
    torch.manual_seed(seed)
    config = AutoConfig.for_model(kind, **options)
    model = AutoModel.from_config(config, attn_implementation="eager").double().eval()
    with torch.no_grad():
        for weight in model.parameters():  # zeros and ones would hide mistakes
            weight += torch.randn_like(weight) * (0.3 if weight.ndim == 1 else 0.15)
    return model.requires_grad_(False)


def exact_rotations(model):
    """Compute the frequencies of a model's positions in float64; within `in_double`."""
    if hasattr(model, "rotary_emb"):
        model.rotary_emb = type(model.rotary_emb)(model.config).double()


def saved(model, folder):
    """Write a model as its own class does."""
    model.save_pretrained(folder, safe_serialization=True)
    return folder


class _Enough(Exception):
    """The attention of the first layer has been computed."""


def attention_of(model):
    """The first layer's attention, the projection after it, and the norm before it or None."""
    if model.config.model_type == "bert":
        attention = model.encoder.layer[0].attention
        return attention.self, attention.output.dense, None
    if model.config.model_type == "gpt2":
        return model.h[0].attn, model.h[0].attn.c_proj, model.h[0].ln_1
    layer = model.layers[0]
    return layer.self_attn, layer.self_attn.o_proj, layer.input_layernorm


def computed(model, seed=1):
    """Stream before the norm or None, states (T, D) that the attention reads, and its output."""
    seen = {}
    attention, projection, norm = attention_of(model)

    def reads(_, args, kwargs):
        seen["states"] = (args[0] if args else kwargs["hidden_states"])[0]

    def writes(_, args, output):
        seen["output"] = output[0]
        raise _Enough

    hooks = [
        attention.register_forward_pre_hook(reads, with_kwargs=True),
        projection.register_forward_hook(writes),
    ]
    if norm is not None:
        hooks.append(norm.register_forward_pre_hook(lambda _, args: seen.update(stream=args[0][0])))
    draw = torch.Generator().manual_seed(seed)
    inputs = torch.randn(1, TOKENS, 32, generator=draw, dtype=torch.float64)
    try:
        model(inputs_embeds=inputs)
    except _Enough:
        pass
    finally:
        for hook in hooks:
            hook.remove()
    return seen.get("stream"), seen["states"], seen["output"]
