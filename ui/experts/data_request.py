"""What is selected in the sections on data, and the requests that belong to it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gating_core.attention import MECHANISMS
from gating_core.experiments.comparison import TOKENS_ONLY, VARIANTS
from gating_core.experts import GATES, CurvesRequest, SampleRequest, Sizes
from ui.limits import LEARNING_COST, TEACHER_REPEATS

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
