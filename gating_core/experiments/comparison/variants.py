"""Which kinds of attention are compared? A dictionary from name to what stands at the gate.

Variants of one comparison differ in nothing else: same seed, data, optimiser. The one exception
is "matched", which has no gate but is so wide that its parameters are not the fewer.
"""

from __future__ import annotations

from dataclasses import replace

from gating_core.attention.classifier import parameter_count
from gating_core.attention.config import MODEL_DIM_RANGE, AttentionConfig, GateConfig
from gating_core.attention.gate_kinds import CONTROL_NAMES, GATE_KINDS, GATE_NAMES
from gating_core.checks import check_choice

MATCHED = "matched"
VARIANTS: dict[str, GateConfig | None] = {  # every gate kind, and what is made of them
    "ungated": None,
    "sigmoid": GateConfig("sigmoid"),
    "headwise": GateConfig("sigmoid", "headwise"),
    **{name: GateConfig(name) for name in GATE_NAMES},
    "value": GateConfig("sigmoid", position="G2"),
    **{GATE_KINDS[name].variant or name: GateConfig(name) for name in CONTROL_NAMES},
    MATCHED: None,
}
TOKENS_ONLY = ("value",)  # a slot has no state to be gated by


def variant_config(
    name: str, base: AttentionConfig, class_count: int = 2, like: str = "sigmoid"
) -> AttentionConfig:
    """``base`` as the variant called ``name``, whatever gate it has had.

    "matched" is the narrowest ungated model, no narrower than ``base`` and of its n and heads, that
    has at least as many parameters as the variant ``like``, the classifier's included.
    ``ValueError`` for unknown names, for a value gate on memory slots, and where the matched model
    would have to be too wide.
    """
    check_choice("variant", name, VARIANTS)
    if name in TOKENS_ONLY and base.layer.fixed_values:
        raise ValueError(
            f"source is {base.source!r}; the variant {name!r} needs 'tokens', because a memory"
            " slot has no state that a gate could read"
        )
    config = replace(base, gate=VARIANTS[name])
    if name != MATCHED:
        return config
    wanted = parameter_count(variant_config(like, base, class_count), class_count)
    for dim in range(base.model_dim, MODEL_DIM_RANGE[1] + 1, base.heads):
        wider = replace(config, model_dim=dim)
        if parameter_count(wider, class_count) >= wanted:
            return wider
    raise ValueError(
        f"model_dim is {base.model_dim}; the parameter-matched model would need more than"
        f" {MODEL_DIM_RANGE[1]}"
    )
