"""A small language model that reads characters, with every intermediate result accessible."""

from gating_core.characters import (
    BREAK,
    CHARACTERS,
    decode,
    encode,
    read_typed,
)
from gating_core.lm.attention import Hooks, KeyValueCache
from gating_core.lm.attention_kinds import ATTENTION_KINDS, AttentionKind, causal_mask
from gating_core.lm.config import TOPOLOGIES, ModelConfig, Topology
from gating_core.lm.conversions import (
    CONVERSIONS,
    Conversion,
    Converted,
    load_conversion,
    load_converted,
)
from gating_core.lm.converting import with_window, without_branch
from gating_core.lm.corpus import LANGUAGES, Verse, excerpt_texts, read_excerpt, texts_of
from gating_core.lm.generate import Written, draw_next, generate, next_probabilities
from gating_core.lm.losses import Rows, mean_loss, row_losses, rows_of, text_losses
from gating_core.lm.model import (
    BlockRecord,
    LanguageModel,
    with_attention,
)
from gating_core.lm.shipped import MODELS, SEEDS, Card, load_model, shipped
from gating_core.lm.training import LanguageRecipe, Training, TrainingText

__all__ = [
    "ATTENTION_KINDS",
    "BREAK",
    "CHARACTERS",
    "CONVERSIONS",
    "LANGUAGES",
    "MODELS",
    "SEEDS",
    "TOPOLOGIES",
    "AttentionKind",
    "BlockRecord",
    "Card",
    "Conversion",
    "Converted",
    "Hooks",
    "KeyValueCache",
    "LanguageModel",
    "LanguageRecipe",
    "ModelConfig",
    "Rows",
    "Topology",
    "Training",
    "TrainingText",
    "Verse",
    "Written",
    "causal_mask",
    "decode",
    "draw_next",
    "encode",
    "excerpt_texts",
    "generate",
    "load_conversion",
    "load_converted",
    "load_model",
    "mean_loss",
    "next_probabilities",
    "read_excerpt",
    "read_typed",
    "row_losses",
    "rows_of",
    "shipped",
    "text_losses",
    "texts_of",
    "with_attention",
    "with_window",
    "without_branch",
]
