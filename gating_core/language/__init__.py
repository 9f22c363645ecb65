"""A small language model that reads characters, with every intermediate result accessible."""

from gating_core.language.attention import AttentionRecord, LayerCache
from gating_core.language.attention_kinds import ATTENTION_KINDS, AttentionKind, causal_mask
from gating_core.language.characters import (
    BREAK,
    CHARACTERS,
    decode,
    encode,
    read_typed,
)
from gating_core.language.config import TOPOLOGIES, ModelConfig, Topology
from gating_core.language.conversions import (
    CONVERSIONS,
    Conversion,
    Converted,
    load_conversion,
    load_converted,
)
from gating_core.language.converting import with_window, without_branch
from gating_core.language.corpus import LANGUAGES, Verse, excerpt_texts, read_excerpt, texts_of
from gating_core.language.generate import Written, draw_next, generate, next_probabilities
from gating_core.language.losses import Rows, mean_loss, row_losses, rows_of, text_losses
from gating_core.language.model import (
    BlockRecord,
    Edit,
    KeyValueCache,
    LanguageModel,
    with_attention,
)
from gating_core.language.shipped import MODELS, SEEDS, Card, load_model, shipped
from gating_core.language.training import LanguageRecipe, Training, TrainingText

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
    "AttentionRecord",
    "BlockRecord",
    "Card",
    "Conversion",
    "Converted",
    "Edit",
    "KeyValueCache",
    "LanguageModel",
    "LanguageRecipe",
    "LayerCache",
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
