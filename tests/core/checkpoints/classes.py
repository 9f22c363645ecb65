"""Tiny random models of transformers' own classes."""

import contextlib
import logging
from unittest import mock

import torch

SIZES = dict(
    hidden_size=32, num_attention_heads=4, num_hidden_layers=1, intermediate_size=24, vocab_size=11
)
GROUPED = SIZES | dict(num_key_value_heads=2, head_dim=8)
GPT2 = dict(n_embd=32, n_head=4, n_layer=1, n_positions=32, vocab_size=11)
NEXT = GROUPED | dict(
    num_experts=2,
    num_experts_per_tok=1,
    moe_intermediate_size=8,
    layer_types=["full_attention"],
    shared_expert_intermediate_size=8,
)


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
