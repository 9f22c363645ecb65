"""What is selected on the Experts page, and the models and requests that belong to it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from gating_core.attention import MECHANISMS, AttentionConfig, GateConfig
from gating_core.experiments.comparison import TOKENS_ONLY, VARIANTS
from gating_core.experts import GATES, CurvesRequest, SampleRequest, Sizes
from ui.common.possible import fitting_heads
from ui.limits import LEARNING_COST, TEACHER_REPEATS

TREE, NULLS = "One entry, taken apart", "What no data can decide"
DATA, CURVES = "How many data does it take?", "And in training?"
TABS = (TREE, NULLS, DATA, CURVES)
NO_GATE = "none"
RANDOM = "random"  # weights, in place of a task
POSITIONS = {"no gate": NO_GATE, "G1": "G1", "G2": "G2", "G3": "G3", "G4": "G4", "G5": "G5"}
MIXING, SCALING = "mix two experts", "scale one expert"
FARTHEST = 2.0  # of moves: t from -FARTHEST to FARTHEST
GRANULARITIES = {"channel": "elementwise", "head": "headwise"}
GateSetting = tuple[str, str] | None  # position and granularity; None without a gate
EXPERT = re.compile(r"([1-9])\.([1-9])")  # head and channel of an expert, counted from 1


@dataclass(frozen=True)
class ExpertsSelection:
    """The page's controls: a token model of one layer, an input point and an output channel."""

    model_dim: int = 4  # D
    heads: int = 2  # H
    value_count: int = 3  # n tokens
    position: str = "G1"  # a value of POSITIONS
    granularity: str = "elementwise"  # a value of GRANULARITIES
    kind: str = "sigmoid"
    task: str = RANDOM  # that the model has learned, a key of TASKS
    seed: int = 19  # an entry whose terms have both signs
    strength: float = 1.0  # λ of the gate
    channel: int = 1  # of the output, counted from 1
    point: tuple[float, float] = (-0.6, 0.4)  # x, the input
    expert: str = ""  # the followed one, as `EXPERT`; empty for none
    direction: str = MIXING  # in which weights move: or SCALING
    distance: float = 1.0  # t: how far

    @property
    def config(self) -> AttentionConfig:
        """The model's configuration."""
        gate = None
        if self.position != NO_GATE:
            gate = GateConfig(self.kind, self.granularity, self.position, self.strength)
        return AttentionConfig(
            source="tokens", model_dim=self.model_dim, heads=self.heads,
            value_count=self.value_count, output_projection=True, gate=gate,
        )  # fmt: skip

    @property
    def gate_setting(self) -> GateSetting:
        """Position and granularity of the gate, if there is one."""
        return None if self.position == NO_GATE else (self.position, self.granularity)

    @property
    def moved(self) -> tuple[int, int, int]:
        """The head, and the first and second of its experts that are moved, counted from 0.

        The followed expert comes first, or else the first one of all.
        """
        match = EXPERT.fullmatch(self.expert or "1.1")
        assert match is not None
        head, first = (int(number) - 1 for number in match.groups())
        return head, first, (first + 1) % (self.model_dim // self.heads)

    @property
    def mixes(self) -> bool:
        """Whether two experts are mixed: a head of one channel has nothing to mix."""
        return self.direction == MIXING and self.heads < self.model_dim

    @property
    def compared(self) -> ExpertsSelection:
        """The gated model that is moved beside the one without a gate: itself, if it has one."""
        if self.gate_setting:
            return self
        return replace(self, position="G1", granularity="elementwise")


def resolve(selection: ExpertsSelection) -> tuple[ExpertsSelection, list[str]]:
    """Return the nearest possible selection, and a sentence for each field that was changed."""
    heads, note = fitting_heads(selection.heads, selection.model_dim)
    notes = [note] if note else []
    channel, expert = min(selection.channel, selection.model_dim), selection.expert
    if channel < selection.channel:
        notes.append(f"There is no output {selection.channel}. Shown: {channel}.")
    if match := EXPERT.fullmatch(expert):
        head, own = map(int, match.groups())
        if head > heads or own > selection.model_dim // heads:
            notes.append(f"There is no expert {expert} in this model. None is followed.")
            expert = ""
    return replace(selection, heads=heads, channel=channel, expert=expert), notes


# --- The sections on data -------------------------------------------------------------------------

STUDENTS = {"no gate" if gate == "none" else gate: gate for gate in GATES}
TITLES = {gate: title for title, gate in STUDENTS.items()}
CURVES_SOURCES = {"tokens": "tokens", "slots": "memory"}
CURVES_GATES = tuple(name for name in VARIANTS if name != "ungated")


def title_of(variant: str) -> str:
    """Name the model that stands beside the ungated one: a gated one, or a control."""
    gate = VARIANTS[variant]
    is_gate = gate is not None and gate.record.control is None
    return f"gated model ({variant})" if is_gate else f"control ({variant})"


@dataclass(frozen=True)
class DataSelection:
    """The controls of *How many data does it take?*"""

    students: tuple[str, ...] = ("no gate", "headwise G1", "elementwise G1")  # keys of STUDENTS
    one_too_many: bool = False
    learned_routing: bool = False
    noise: float = 0.3
    teacher_dim: int = 4
    teacher_heads: int = 1
    teacher_experts: int = 3
    teacher_tokens: int = 3
    repeats: int = 12
    teacher_seed: int = 0

    @property
    def request(self) -> SampleRequest:
        """What is learned, whatever the gate."""
        sizes = Sizes(
            self.teacher_dim, self.teacher_heads, self.teacher_experts, self.teacher_tokens,
            self.one_too_many, self.learned_routing,
        )  # fmt: skip
        return SampleRequest(sizes, self.noise, repeats=self.repeats, seed=self.teacher_seed)

    @property
    def gates(self) -> tuple[str, ...]:
        """Of `GATES`, in their order."""
        return tuple(gate for gate in GATES if TITLES[gate] in self.students)


def resolve_data(selection: DataSelection) -> tuple[DataSelection, list[str]]:
    """Return the selection with as many repeats as there is time for, and a sentence if fewer.

    The time is that of all gate positions: those that are not drawn are in a table.
    """
    cost = sum(selection.request.cost(gate) for gate in GATES)
    if cost <= LEARNING_COST:
        return selection, []
    fewer = max(TEACHER_REPEATS[0], int(selection.repeats * LEARNING_COST / cost))
    if fewer >= selection.repeats:
        return selection, []
    note = f"{selection.repeats} repeats of models this large would take too long. Shown: {fewer}."
    return replace(selection, repeats=fewer), [note]


@dataclass(frozen=True)
class CurvesSelection:
    """The controls of *And in training?*"""

    learn_task: str = CurvesRequest.task
    mixes: str = CurvesRequest.source  # a value of CURVES_SOURCES
    against: str = CurvesRequest.gate  # of CURVES_GATES
    learn_dim: int = CurvesRequest.model_dim
    learn_values: int = CurvesRequest.value_count
    wrong_labels: float = CurvesRequest.label_noise
    learn_seed: int = CurvesRequest.seed
    level: float = 0.9  # of accuracy

    @property
    def request(self) -> CurvesRequest:
        """What is trained."""
        return CurvesRequest(
            self.learn_task, self.mixes, self.against, self.learn_dim, self.learn_values,
            self.wrong_labels, self.learn_seed,
        )  # fmt: skip


def resolve_curves(selection: CurvesSelection) -> tuple[CurvesSelection, list[str]]:
    """Return the nearest possible selection, and a sentence for each field that was changed."""
    if MECHANISMS[selection.mixes].fixed_values and selection.against in TOKENS_ONLY:
        note = f"The gate “{selection.against}” needs tokens: a slot has no state. Shown: sigmoid."
        return replace(selection, against="sigmoid"), [note]
    return selection, []
