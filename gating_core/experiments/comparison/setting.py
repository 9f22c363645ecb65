"""The setting of a comparison: variants, data, models, optimiser, seeds, price on curvature.

Variants of one comparison differ in the gate alone: same seed, data, optimiser. Two have none:
"matched" is wide enough to have at least as many parameters, "sink" has a learned sink logit.

A price on curvature begins after some steps without one and rises slowly: Adam loses at once what
it could keep (rings at D = 16: 79 % at once, 97 % slowly). It is computed at every second step,
with twice its weight, because it takes several times as long as the rest of a step.

References:
    Karras et al., *Analyzing and Improving the Image Quality of StyleGAN*, arXiv 1912.04958,
    section 3.1: lazy regularisation.
    Roberts (2018), *The unreasonable effectiveness of quasirandom sequences*: the R2 sequence;
    Cranley & Patterson (1976), SIAM J. Numer. Anal. 13, 904: its random shift.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import torch

from gating_core.attention.config import (
    MECHANISMS,
    MODEL_DIM_RANGE,
    AttentionConfig,
    GateConfig,
)
from gating_core.attention.gates import CONTROL_NAMES, GATE_KINDS, GATE_NAMES
from gating_core.attention.stack import Attention, parameter_count
from gating_core.checks import check_choice, check_integer, check_number
from gating_core.geometry.price import PRICES, curvature_price
from gating_core.randomness import generator
from gating_core.tasks.own import TASK_NAME, OwnData, own_task
from gating_core.tasks.task import (
    BALANCE_RANGE,
    LABEL_NOISE_RANGE,
    NOISE_RANGE,
    TASKS,
    TRAIN_SHARE_RANGE,
    Task,
    make_task,
    split_counts,
)
from gating_core.training.recipe import BATCH_SIZE, LEARNING_RATE, Recipe
from gating_core.training.trained import widest_tensor
from gating_core.training.trainer import snapshot_steps

# --- A price on curvature -------------------------------------------------------------------------

NO_PRICE = "none"
PRICE_POINTS = 48  # of each member, other ones at each step
PRICE_EVERY = 2  # steps
PRICE_START, PRICE_FULL = 125, 375  # steps at which it begins to rise, and has its whole weight
LARGEST_PRICE_WEIGHT = 100.0
PLASTIC = 1.324717957244746  # the root of x³ = x + 1


@dataclass(frozen=True)
class TrainingPrice:
    """``weight`` times the price of kind ``of``, rising from step 125 until step 375."""

    of: str  # one of PRICES
    weight: float  # nats per unit; prices have no unit

    def __post_init__(self) -> None:
        check_choice("price", self.of, PRICES)
        check_number("price_weight", self.weight, 0.0, LARGEST_PRICE_WEIGHT)

    def __call__(self, attention: Attention, step: int) -> torch.Tensor | None:
        """(M,): what the members pay at ``step``, in nats; ``None`` where nothing is due."""
        risen = min((step - PRICE_START) / (PRICE_FULL - PRICE_START), 1.0)
        if risen <= 0 or self.weight == 0 or step % PRICE_EVERY:
            return None
        points = price_points(attention.seeds, step).to(attention.input_map.dtype)
        price = curvature_price(attention, points, self.of)
        return PRICE_EVERY * risen * self.weight * price


def price_points(seeds: Sequence[int], step: int) -> torch.Tensor:
    """(M, 48, 2): points in [-1, 1]^2: the next ones of a sequence that each seed has shifted.

    Any stretch of the sequence covers the square evenly: the mean over 48 points varies less than
    that over random ones. A seed's points depend on it and on the step alone.
    """
    count = torch.arange(PRICE_POINTS, dtype=torch.float64) + PRICE_POINTS * step
    sequence = count.unsqueeze(-1) / torch.tensor([PLASTIC, PLASTIC**2], dtype=torch.float64)
    return 2 * ((sequence + _shifts(tuple(seeds)).unsqueeze(1)) % 1) - 1


@lru_cache(maxsize=64)
def _shifts(seeds: tuple[int, ...]) -> torch.Tensor:
    """(M, 2): the shift of each seed's sequence."""
    draws = [torch.rand(2, generator=generator(s, "price"), dtype=torch.float64) for s in seeds]
    return torch.stack(draws)


# --- Variants -------------------------------------------------------------------------------------

MATCHED = "matched"
SINK = "sink"
VARIANTS: dict[str, GateConfig | None] = {  # every gate kind, and what is made of them
    "ungated": None,
    "sigmoid": GateConfig("sigmoid"),
    "headwise": GateConfig("sigmoid", "headwise"),
    **{name: GateConfig(name) for name in GATE_NAMES},
    "value": GateConfig("sigmoid", position="G2"),
    **{GATE_KINDS[name].variant or name: GateConfig(name) for name in CONTROL_NAMES},
    MATCHED: None,
    SINK: None,
}
TOKENS_ONLY = ("value",)  # a slot has no state to be gated by


def impossible_variants(source: str) -> tuple[str, ...]:
    """The variants that a mechanism, a key of `MECHANISMS`, cannot have."""
    layer = MECHANISMS[source]
    return (*(TOKENS_ONLY * layer.fixed_values), *((SINK,) * (not layer.has_softmax)))


def variant_config(
    name: str, base: AttentionConfig, class_count: int = 2, like: str = "sigmoid"
) -> AttentionConfig:
    """Return ``base`` with the gate of the variant called ``name``.

    "matched" is the narrowest ungated model, no narrower than ``base`` and of its n and heads, that
    has at least as many parameters as the variant ``like``, the classifier's included.
    ``ValueError`` for unknown names, for a value gate on memory slots, for a sink without a
    softmax, and where the matched model would have to be too wide.
    """
    check_choice("variant", name, VARIANTS)
    if name in TOKENS_ONLY and base.layer.fixed_values:
        raise ValueError(
            f"source is {base.source!r}; the variant {name!r} needs 'tokens', because a memory"
            " slot has no state that a gate could read"
        )
    config = replace(base, gate=VARIANTS[name])
    if name == SINK:
        return replace(config, sink="learned")
    if name != MATCHED:
        return config
    least = parameter_count(variant_config(like, base, class_count), class_count)
    for dim in range(base.model_dim, MODEL_DIM_RANGE[1] + 1, base.heads):
        wider = replace(config, model_dim=dim)
        if parameter_count(wider, class_count) >= least:
            return wider
    raise ValueError(
        f"model_dim is {base.model_dim}; the parameter-matched model would need more than"
        f" {MODEL_DIM_RANGE[1]}"
    )


# --- Settings -------------------------------------------------------------------------------------

# What a comparison can be, by field; its parts alone could be larger.
LIMITS = {
    "model_dim": (2, 64),
    "value_count": (2, 16),
    "heads": (1, 8),
    "depth": (1, 4),
    "seed": (0, 9999),
    "seed_count": (1, 64),
    "steps": (1, 20_000),
    "batch_size": (1, 512),
    "points": (16, 5000),
}
LARGEST_STEP = 10_000_000  # numbers in the widest tensors of one step: about a fifth of a second
SCORING = 0.4  # time to score a number, relative to the time to train it: .1 to .8


class TooLarge(ValueError):
    """A setting whose single step would take too long."""


@dataclass(frozen=True)
class Setting:
    """Variants, task, data, models, optimiser, and length of a training.

    Variants share seeds, data and order of the data. With ``task`` "own" the data are ``own``; then
    ``points``, the noises and ``balance`` do not apply. All values are checked here, so that every
    setting can be run.
    """

    task: str = "circle"  # a key of TASKS, or "own"
    own: OwnData | None = None
    points: int = 1024  # training and test points of each seed together
    train_share: float = 0.25
    noise: float = 0.0  # of the coordinates, in half sides of the square
    label_noise: float = 0.0  # share of wrong training labels
    balance: float | None = None  # share of class 0; two classes only
    variants: tuple[str, ...] = ("ungated", "sigmoid")  # keys of VARIANTS; two are compared
    source: str = "memory"
    model_dim: int = 3
    value_count: int = 3
    heads: int = 1
    depth: int = 1
    residual: bool = False
    norm: str = "none"
    output_projection: bool = False
    seed: int = 0  # the first of the seeds
    seed_count: int = 16  # models of each variant, with seeds seed, seed + 1, ...
    steps: int = 400
    optimiser: str = "adam"
    learning_rate: float = LEARNING_RATE
    momentum: float = 0.0  # for "sgd"
    batch_size: int = BATCH_SIZE  # as many points as there are, where there are fewer
    weight_decay: float = 0.0
    entropy_bonus: float = 0.0  # "keep attention soft": per nat of the attention weights' entropy
    gate_penalty: float = 0.0  # per mean square of the gate's logits
    spread_bonus: float = 0.0  # per e-fold of the area over which the attention weights spread
    every_layer: bool = False  # whether these three act on every layer, not on the last alone
    sink: str = "none"  # of `SINKS`: of all variants but "sink", whose sink logit is learned
    price: str = NO_PRICE  # or one of PRICES: added to the loss of every variant
    price_weight: float = 0.0  # nats per unit; it rises from step 125 until step 375

    def __post_init__(self) -> None:
        check_choice("task", self.task, (*TASKS, TASK_NAME))
        if (self.task == TASK_NAME) != isinstance(self.own, OwnData):
            raise ValueError(
                f"task is {self.task!r} and own is {type(self.own).__name__}; own must be OwnData"
                f" for {TASK_NAME!r} and None for all others"
            )
        check_number("train_share", self.train_share, *TRAIN_SHARE_RANGE)
        check_number("noise", self.noise, *NOISE_RANGE)
        check_number("label_noise", self.label_noise, *LABEL_NOISE_RANGE)
        if self.balance is not None:
            check_number("balance", self.balance, *BALANCE_RANGE)
            if self.own is None and self.class_count != 2:
                raise ValueError(
                    f"balance is {self.balance!r}; it must be None for {self.task!r}, which has"
                    f" {self.class_count} classes"
                )
        for name, limits in LIMITS.items():
            check_integer(name, getattr(self, name), *limits)
        self.recipe(self.batch_size)
        check_choice("price", self.price, (NO_PRICE, *PRICES))
        if self.price != NO_PRICE:
            self.make_price()
        names = self.variants
        if not isinstance(names, tuple) or not names or len(set(names)) < len(names):
            raise ValueError(f"variants is {names!r}; it must name at least one, each once")
        for name in names:
            variant_config(name, self.base, self.class_count)
        # A run can be stopped only between steps.
        if self.step_numbers > LARGEST_STEP:
            raise TooLarge(
                f"one step would take {self.step_numbers / 1e6:.0f} million numbers; at most"
                f" {LARGEST_STEP / 1e6:.0f} million fit: fewer seeds, tokens, layers or channels,"
                " or a smaller batch_size"
            )

    @property
    def step_numbers(self) -> int:
        """Numbers in the widest tensors of one step, which may train two variants as one batch."""
        members = self.seed_count * min(len(self.variants), 2)
        return members * self.batch_size * max(self._numbers)

    @property
    def training_numbers(self) -> float:
        """Numbers in all steps and snapshots of all variants, to estimate the time of training."""
        points = self.points if self.own is None else len(self.own.labels)
        snapshots = len(snapshot_steps(self.steps))
        pointwise = self.steps * self.batch_size + SCORING * snapshots * points
        return pointwise * self.seed_count * sum(self._numbers)

    @property
    def _numbers(self) -> list[int]:
        """Numbers in the widest tensors for one point and member, by variant."""
        return [self.depth * widest_tensor(config) for config in self.configs.values()]

    @property
    def class_count(self) -> int:
        """The number of classes of the task, or of the user's own data."""
        return TASKS[self.task].class_count if self.own is None else len(self.own.names)

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds (S,) of the ensemble's members, consecutive from ``seed`` on."""
        return tuple(range(self.seed, self.seed + self.seed_count))

    @property
    def base(self) -> AttentionConfig:
        """The model that all variants have in common, without a gate."""
        return AttentionConfig(
            source=self.source,
            model_dim=self.model_dim,
            value_count=self.value_count,
            heads=self.heads,
            depth=self.depth,
            residual=self.residual,
            norm=self.norm,
            output_projection=self.output_projection,
            sink=self.sink,
        )

    @property
    def compared(self) -> tuple[str, ...]:
        """The two variants that are drawn and compared; any others are trained beside them."""
        return self.variants[:2]

    @cached_property
    def configs(self) -> dict[str, AttentionConfig]:
        """The variants' models by name; "matched" has the parameters of the largest compared."""
        base, classes = self.base, self.class_count
        gated = [name for name in self.compared if VARIANTS[name] is not None]
        like = max(
            gated or ["sigmoid"],
            key=lambda name: parameter_count(variant_config(name, base, classes), classes),
        )
        return {name: variant_config(name, base, classes, like) for name in self.variants}

    def recipe(self, train_count: int) -> Recipe:
        """Build the training recipe for ``train_count`` training points of each seed."""
        batch_size = min(self.batch_size, train_count)
        return Recipe(
            self.optimiser,
            self.learning_rate,
            self.momentum,
            batch_size,
            self.weight_decay,
            self.entropy_bonus,
            self.gate_penalty,
            self.spread_bonus,
            self.every_layer,
        )

    def make_price(self) -> TrainingPrice | None:
        """Build what is added to the loss beside the recipe's terms, if anything is."""
        if self.price == NO_PRICE:
            return None
        return TrainingPrice(self.price, self.price_weight)

    def make_task(self) -> Task:
        """Draw training and test data of every seed."""
        if self.own is not None:
            return own_task(self.own, self.seeds, self.train_share)
        train, test = split_counts(self.points, self.train_share)
        return make_task(
            self.task, train, self.noise, test, self.seeds, self.label_noise, self.balance
        )


# What a visitor sees first: 512 training and 1,000 test points of each seed. The bonus and penalty
# and some weight decay keep surfaces broad and free of high-curvature ridges.
FIRST_SETTING = Setting(
    points=1512,
    train_share=512 / 1512,
    seed=32,
    steps=800,
    weight_decay=0.02,
    entropy_bonus=0.03,
    gate_penalty=0.003,
)

# What *Decision boundary* begins with. The weight decay keeps surfaces from collapsing.
FIRST_COMPARISON = Setting(weight_decay=0.06)

# More terms, for sheets that are still broad after several layers. Measured on seeds 32 to 47 for
# two to four layers and each task and gate of the first page, confirmed on others: 2 of 12 sheets
# are visible without them, nearly all with them, and as many test points are right.
DEEP: dict[str, Any] = {"entropy_bonus": 0.3, "spread_bonus": 0.1, "every_layer": True}


def first_setting(depth: int = 1) -> Setting:
    """Return `FIRST_SETTING` with ``depth`` layers, and with `DEEP` if these are several."""
    if depth == 1:
        return FIRST_SETTING
    return replace(FIRST_SETTING, depth=depth, **DEEP)
