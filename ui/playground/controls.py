"""The playground's controls: five in front, the rest under *More*, all in the link."""

from __future__ import annotations

from typing import Any

import streamlit as st

from gating_core.attention import LAYERS, NORMS, SOURCES
from gating_core.experiments.comparison import SHOWN, TOKENS_ONLY, VARIANTS, Setting
from gating_core.tasks import TASK_NAME, TASKS, TRAIN_SHARE_RANGE, OwnData
from gating_core.training import GOOD_START, OPTIMISERS
from ui.common.link_check import forget
from ui.common.links import Allowed, Choice, Choices, Number
from ui.playground.picture import PAINTS

FIRST = Setting(weight_decay=0.06)  # which keeps sheets from collapsing, as on the landing page
OWN_SHARE = 0.75
MOST_BESIDE = 4
OWN = "playground_own"
REWOUND, REWINDS = "playground_rewound", "playground_rewinds"
LAST_SETTING = "playground_setting"
DATA = (*TASKS, TASK_NAME)
DIMENSIONS, COUNTS, HEADS, DEPTHS = (3, 16), (2, 8), (1, 4), (1, 4)
STEPS, SEEDS, SEED_COUNTS, POINTS = (50, 4000), (0, 9999), (2, 32), (64, 4000)
BATCHES = ("16", "32", "64", "128")
RATES = ("0.001", "0.003", "0.01", "0.02", "0.05", "0.1")
YES_NO = ("true", "false")

PLAYGROUND: dict[str, Allowed] = {
    "data": Choice(DATA, FIRST.task),
    "left": Choice(tuple(VARIANTS), FIRST.variants[0]),
    "right": Choice(tuple(VARIANTS), FIRST.variants[1]),
    "also": Choices(tuple(VARIANTS), "none"),
    "steps": Number(*STEPS, str(FIRST.steps)),
    "who": Choice((*SHOWN, "picked"), SHOWN[0]),
    "picked_seed": Number(SEEDS[0], SEEDS[1] + SEED_COUNTS[1], "the best"),
    "paint": Choice(PAINTS, PAINTS[0]),
    "discrete": Choice(YES_NO, "false"),
    "noise": Number(0, 0.5, "0", whole=False),
    "flip": Number(0, 0.5, "0", whole=False),
    "balance": Number(0, 0.9, "0", whole=False),
    "points": Number(*POINTS, str(FIRST.points)),
    "share": Number(0, 0.9, "as it comes", whole=False),
    "from": Choice(SOURCES, FIRST.source),
    "width": Number(*DIMENSIONS, str(FIRST.model_dim)),
    "slots": Number(*COUNTS, str(FIRST.value_count)),
    "attention_heads": Number(*HEADS, str(FIRST.heads)),
    "stack": Number(*DEPTHS, str(FIRST.depth)),
    "skip": Choice(YES_NO, "false"),
    "rms": Choice(NORMS, FIRST.norm),
    "out": Choice(YES_NO, "false"),
    "optimiser": Choice(tuple(OPTIMISERS), FIRST.optimiser),
    "rate": Choice(RATES, f"{FIRST.learning_rate:g}"),
    "batch": Choice(BATCHES, str(FIRST.batch_size)),
    "decay": Number(0, 1, f"{FIRST.weight_decay:g}", whole=False),
    "first": Number(*SEEDS, str(FIRST.seed)),
    "seeds": Number(*SEED_COUNTS, str(FIRST.seed_count)),
    "setup": Choice(YES_NO, "false"),
    "own": Choice(YES_NO, "false"),
    "looking": Choice(YES_NO, "false"),
}


def front_controls() -> dict[str, Any]:
    """The five that are always seen; their values by name."""
    a, b, c, d, e = st.columns(5, vertical_alignment="bottom")
    bound: Any = {"bind": "query-params", "on_change": forget}
    return {
        "data": a.selectbox("Data", DATA, DATA.index(FIRST.task), key="data", **bound),
        "left": b.selectbox("Left", tuple(VARIANTS), 0, key="left", **bound),
        "right": c.selectbox("Right", tuple(VARIANTS), 1, key="right", **bound,
            help="half, additive and pointwise are controls: a constant gate, one that is added,"
            " and a nonlinearity that reads no state. matched: no gate, but wider.",
        ),
        "steps": d.slider("Steps", *STEPS, FIRST.steps, 50, key="steps", **bound),
        "who": e.selectbox(
            "Seed that is shown", (*SHOWN, "picked"), 0, key="who", **bound,
            help="Best, median and worst by accuracy on the training points; or pick one in the"
            " strip of seeds below.",
        ),
    }  # fmt: skip


def more_controls() -> dict[str, Any]:
    """The rest; their values by name."""
    bound: Any = {"bind": "query-params", "on_change": forget}
    pick: Any = {"required": True, "width": "stretch", **bound}
    a, b, c, d = st.columns(4)
    a.markdown("**Data**")
    b.markdown("**Model**")
    c.markdown("**Training**")
    d.markdown("**Picture**")
    return {
        "points": a.slider("Points, training and test", *POINTS, FIRST.points, 4, key="points",
            **bound),
        "share": a.slider("Share for training (0: as it comes)", 0.0, 0.9, 0.0, 0.05, key="share",
            help=f"As it comes: {FIRST.train_share:.0%} of the points, of your own"
            f" {OWN_SHARE:.0%}.", **bound),
        "noise": a.slider("Noise of the points", 0.0, 0.5, 0.0, 0.02, key="noise", **bound),
        "flip": a.slider("Wrong training labels", 0.0, 0.5, 0.0, 0.02, key="flip", **bound),
        "balance": a.slider("Share of class 0 (0: as it comes)", 0.0, 0.9, 0.0, 0.1,
            key="balance", **bound),
        "from": b.segmented_control("Keys and values from", SOURCES, default=FIRST.source,
            key="from", **pick),
        "width": b.slider("Dimension D", *DIMENSIONS, FIRST.model_dim, key="width", **bound),
        "slots": b.slider("Values n", *COUNTS, FIRST.value_count, key="slots", **bound),
        "attention_heads": b.slider("Heads", *HEADS, 1, key="attention_heads", **bound),
        "stack": b.slider("Layers", *DEPTHS, 1, key="stack", **bound),
        "rms": b.segmented_control("Normalisation", NORMS, default=FIRST.norm, key="rms", **pick),
        "skip": b.toggle("Residual connection", key="skip", **bound),
        "out": b.toggle("Output projection", key="out", **bound),
        "also": b.multiselect("Also train, for the table", tuple(VARIANTS), key="also",
            max_selections=MOST_BESIDE, **bound),
        "optimiser": c.segmented_control("Optimiser", tuple(OPTIMISERS), default=FIRST.optimiser,
            key="optimiser",
            help=f"sgd has a momentum of {GOOD_START['sgd'][1]:g}; each begins at a rate that"
            " suits it.", **(pick | {"on_change": _other_optimiser})),
        "rate": c.select_slider("Learning rate", RATES, f"{FIRST.learning_rate:g}", key="rate",
            **bound),
        "batch": c.select_slider("Batch", BATCHES, str(FIRST.batch_size), key="batch", **bound),
        "decay": c.slider("Weight decay", 0.0, 1.0, FIRST.weight_decay, 0.02, key="decay",
            help="Keeps weights small, and surfaces from collapsing onto edges.", **bound),
        "seeds": c.slider("Seeds", *SEED_COUNTS, FIRST.seed_count, key="seeds", **bound),
        "first": c.number_input("First seed", *SEEDS, FIRST.seed, 1, key="first", **bound),
        "paint": d.segmented_control("Colour by", PAINTS, default=PAINTS[0], key="paint", **pick),
        "discrete": d.toggle("Discrete: the likeliest class", key="discrete", **bound),
    }  # fmt: skip


def asked_setting(front: dict, more: dict, own: OwnData | None) -> tuple[dict, list[str]]:
    """The fields of a `Setting`, and a sentence for everything that is shown otherwise than asked.

    An empty value in a link reaches us as None: then the default.
    """
    notes = []
    data = front["data"] or FIRST.task
    if data == TASK_NAME and own is None:
        data = FIRST.task
        notes.append("There are no points of your own yet. Shown: circle.")
    source, width, heads = more["from"] or FIRST.source, more["width"], more["attention_heads"]
    names = [front["left"] or FIRST.variants[0], front["right"] or FIRST.variants[1]]
    for place, name in enumerate(names):
        if name in TOKENS_ONLY and LAYERS[source].fixed_values:
            names[place] = FIRST.variants[place]
            notes.append(
                f"The variant {name!r} needs keys and values from tokens: a memory slot has no"
                f" state that a gate could read. Shown: {names[place]}."
            )
    if names[0] == names[1]:
        names[1] = next(name for name in ("ungated", "sigmoid") if name != names[0])
        notes.append(f"Left and right are the same. Shown on the right: {names[1]}.")
    for name in more["also"]:
        if name in TOKENS_ONLY and LAYERS[source].fixed_values:
            notes.append(f"The variant {name!r} needs keys and values from tokens: left out.")
        elif name not in names:
            names.append(name)
    if width % heads:
        notes.append(f"{heads} heads do not divide D = {width}. Shown: 1.")
        heads = 1
    undone = [name for name in names if name == "half" or (name == "headwise" and heads == 1)]
    if more["rms"] == "post" and not more["skip"] and undone:
        notes.append(
            f"{' and '.join(undone)}: a gate that scales all channels alike changes nothing here,"
            " as the normalisation after it undoes that."
        )
    if "matched" in names[:2]:
        notes.append("The matched model is wider: its surface is drawn along principal components.")
    share = round(float(more["share"]), 2)
    if 0 < share < TRAIN_SHARE_RANGE[0]:
        share = TRAIN_SHARE_RANGE[0]
        notes.append(f"At least {share:.0%} of the points train. Shown: that.")
    balance = more["balance"] if 0.1 <= more["balance"] <= 0.9 else None
    if balance is not None and (data == TASK_NAME or TASKS[data].class_count != 2):
        notes.append(f"The balance of classes cannot be set for {data!r}. Shown: as it comes.")
        balance = None
    noise, flip = float(more["noise"]), float(more["flip"])
    if data == TASK_NAME and (noise or flip):
        notes.append("Your own points are taken as they are: no noise, no wrong labels.")
        noise = flip = 0.0
    wanted = {
        "task": data,
        "own": own if data == TASK_NAME else None,
        "points": int(more["points"]),
        "train_share": share or as_it_comes(data),
        "noise": noise,
        "label_noise": flip,
        "balance": balance,
        "variants": tuple(names),
        "source": source,
        "model_dim": int(width),
        "value_count": int(more["slots"]),
        "heads": int(heads),
        "depth": int(more["stack"]),
        "residual": bool(more["skip"]),
        "norm": more["rms"] or FIRST.norm,
        "output_projection": bool(more["out"]),
        "seed": FIRST.seed if more["first"] is None else int(more["first"]),
        "seed_count": int(more["seeds"]),
        "steps": int(front["steps"]),
        "optimiser": more["optimiser"] or FIRST.optimiser,
        "learning_rate": float(more["rate"]),
        "momentum": GOOD_START[more["optimiser"] or FIRST.optimiser][1],
        "batch_size": int(more["batch"]),
        "weight_decay": float(more["decay"]),
    }
    return wanted, notes


def as_it_comes(data: str) -> float:
    """The share for training where none is asked for: one's own points are few."""
    return OWN_SHARE if data == TASK_NAME else FIRST.train_share


def _other_optimiser() -> None:
    """Each optimiser begins at a rate that suits it."""
    forget()
    st.session_state["rate"] = f"{GOOD_START[st.session_state['optimiser']][0]:g}"


def last_good_setting(wanted: dict[str, Any], notes: list[str]) -> Setting:
    """The setting, each note said; where it cannot be at all, the last one that could."""
    for note in notes:
        st.caption(f":material/info: {note}")
    try:
        setting = Setting(**wanted)
        st.session_state[LAST_SETTING] = setting
    except ValueError as error:
        setting = st.session_state.get(LAST_SETTING, FIRST)
        st.error(f"This cannot be trained: {error}. Shown: the last that could.")
    return setting


def train_on(steps: int) -> None:
    """More steps for the same run."""
    st.session_state["steps"] = min(st.session_state["steps"] + steps, STEPS[1])


def rewind() -> None:
    """Back to step 0: the initial weights."""
    st.session_state[REWOUND] = True
    st.session_state[REWINDS] = st.session_state.get(REWINDS, 0) + 1


def new_seeds() -> None:
    """The next seeds, none of them among these."""
    first = (st.session_state["first"] or 0) + st.session_state["seeds"]
    st.session_state["first"] = first if first <= SEEDS[1] else SEEDS[0]
