"""Can one feature of a language model change the language that it writes?

>>> model, _ = load_model("none", 0)
>>> dictionaries = load_dictionaries("none", 0)
>>> kind = dictionaries.kinds["means"]
>>> feature = kind.statistics.language_feature(layer=0, spanish=True)
>>> push = 4 * dictionaries.gap[0].norm() * kind.dictionary.directions[0, feature]
>>> prompt = encode("And God said to ")[None]
>>> written = write_steered(model, prompt, Steering(0, push, released_after=16), seed=0)
>>> decode(torch.cat(list(written)))
"""

from gating_core.steering.attribution import Attribution, direct_attribution
from gating_core.steering.dictionary import (
    Dictionary,
    DictionaryCard,
    DictionaryRecipe,
    describe,
    train_dictionary,
)
from gating_core.steering.experiment import (
    DIRECTIONS,
    JUDGED_FROM,
    MODES,
    PROMPT,
    QUANTITIES,
    STRENGTHS,
    WRITTEN,
    Outcomes,
    Part,
    assembled,
    parts_of,
    prompt_verses,
    run_experiment,
)
from gating_core.steering.features import FeatureStatistics
from gating_core.steering.judge import (
    WINDOW,
    other_verses,
    real_words,
    spanish_probabilities,
    windows,
)
from gating_core.steering.live import (
    ALONG,
    LETTERS,
    STRONGEST_PUSH,
    DirectionRequest,
    Passage,
    SteerRequest,
    Step,
    WrittenAlong,
    effect_on_next,
    letter_shares,
    passages,
    specimen,
    write_both,
    write_judged,
    written_along,
)
from gating_core.steering.measured import GridRequest, load_steering, measure_parts
from gating_core.steering.opening import BEGINNING, JUDGED_ENDS, Opening, load_opening, make_opening
from gating_core.steering.shipped import (
    KINDS,
    STEERED,
    Dictionaries,
    Trained,
    load_dictionaries,
    shipped_dictionaries,
)
from gating_core.steering.steer import RELEASED_AFTER, Steering, write_steered
from gating_core.steering.streams import MEAN_OVER, Streams, streams, trailing_means

__all__ = [
    "ALONG",
    "BEGINNING",
    "DIRECTIONS",
    "JUDGED_ENDS",
    "JUDGED_FROM",
    "KINDS",
    "LETTERS",
    "MEAN_OVER",
    "MODES",
    "PROMPT",
    "QUANTITIES",
    "RELEASED_AFTER",
    "STEERED",
    "STRENGTHS",
    "STRONGEST_PUSH",
    "WINDOW",
    "WRITTEN",
    "Attribution",
    "Dictionaries",
    "Dictionary",
    "DictionaryCard",
    "DictionaryRecipe",
    "DirectionRequest",
    "FeatureStatistics",
    "GridRequest",
    "Opening",
    "Outcomes",
    "Part",
    "Passage",
    "SteerRequest",
    "Steering",
    "Step",
    "Streams",
    "Trained",
    "WrittenAlong",
    "assembled",
    "describe",
    "direct_attribution",
    "effect_on_next",
    "letter_shares",
    "load_dictionaries",
    "load_opening",
    "load_steering",
    "make_opening",
    "measure_parts",
    "other_verses",
    "parts_of",
    "passages",
    "prompt_verses",
    "real_words",
    "run_experiment",
    "shipped_dictionaries",
    "spanish_probabilities",
    "specimen",
    "streams",
    "trailing_means",
    "train_dictionary",
    "windows",
    "write_both",
    "write_judged",
    "write_steered",
    "written_along",
]
