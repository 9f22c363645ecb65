"""The mechanisms of attention by name. A new one is one more file, and its row here.

The name is a word of links and of controls, so that it never changes: "memory" are learned slots
weighed by softmax.

What a mechanism can is asked of its class (`AttentionLayer`), never of its name.
"""

from __future__ import annotations

from gating_core.attention.layer import AttentionLayer
from gating_core.attention.linear import LinearLayer, UnnormalisedLinearLayer
from gating_core.attention.memory import MemoryLayer
from gating_core.attention.tokens import TokenLayer

MECHANISMS: dict[str, type[AttentionLayer]] = {
    "memory": MemoryLayer,
    "tokens": TokenLayer,
    "linear": LinearLayer,
    "unnormalised": UnnormalisedLinearLayer,
}
