"""The controls of the page of claims: all in the link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from streamlit.delta_generator import DeltaGenerator

from gating_core.claims import CLAIMS, EDITIONS, PARTS, SECOND
from gating_core.experiments.comparison import LIMITS, VARIANTS
from gating_core.tasks import TASKS
from ui.claims.request import ALL_CLAIMS, HERE, MEASURES, SHIPPED, STUDIES, StudyRequest
from ui.claims.running import ADDRESS
from ui.common.control_table import Controls, draw_columns, read, table
from ui.common.controls import Choice, Choices, Control, Flag, Fold, Number, Where
from ui.common.front import front_columns
from ui.common.link_check import forget
from ui.limits import ADDRESS_CHARACTERS, BOUNDARY_STEPS

PICTURES = {"sigmoid": False, "all": True}
WITH_MEASURES = "C6"
FULL_STUDY = "those of the full study"


@dataclass(frozen=True, kw_only=True)
class Address(Control):
    """The address of a scheduler; whether it may be used is checked when a study starts."""

    default: str = ""
    shown_instead: str = "this machine"

    @property
    def expected(self) -> str:
        return "a host and a port, as in tcp://127.0.0.1:8786"

    def parse(self, text: str) -> str | None:
        fits = len(text) <= ADDRESS_CHARACTERS and ADDRESS.fullmatch(text)
        return text if fits else None if text else ""

    def widget(self, where: Where, **more: Any) -> Any:
        return where.text_input(
            self.label, self.default, max_chars=ADDRESS_CHARACTERS,
            placeholder="this machine", **more,
        )  # fmt: skip


CLAIMED: Controls = table(
    Choice("claim", "Claim", words=tuple(CLAIMS), width="stretch"),
    Choice("edition", "Rules", words=tuple(reversed(EDITIONS)), width="stretch",
        help="Three rules were changed after the results of the first edition had been read. The"
        " second edition decides on new seeds, trained after its rules were written."),
    Choice("rows", "Rows", words=(SHIPPED, HERE), width="stretch",
        help="A row has the results of one model. Shipped: the rows of a full study, which come"
        " with the app. Here: the rows of studies on this server, also while one runs."),
    Choice("wide", "Drawn", words=PICTURES, width="stretch",
        help="The sigmoid gate decides the verdict. All: other gates and the controls are drawn,"
        " too. They do not decide. They show what else can explain a gain."),
    Choice("measure", "Measure", words=MEASURES, width="stretch",
        help="Accuracy is compared with this: the paper's proxy for local nonlinearity, or the"
        " total absolute curvature."),
    Choice("study", "Study", words=STUDIES, width="stretch",
        help="Quick: four tasks, four variants, 16 seeds. It takes under half a minute. Full: eight"
        " tasks, eight variants, 32 seeds; depth, n and tokens are varied. It takes some five"
        " minutes, and so does the study of the second edition, on seeds of its own."),
    Choices("tasks", "Tasks", words=tuple(TASKS), most=len(TASKS), shown_instead=FULL_STUDY,
        help="If none is chosen: the eight of the full study."),
    Choices("variants", "Variants", words=tuple(VARIANTS), most=len(VARIANTS),
        shown_instead=FULL_STUDY, help="If none is chosen: the eight of the full study."),
    Choices("study_parts", "Parts of the grid", field="parts", words=PARTS, most=len(PARTS),
        shown_instead=FULL_STUDY,
        help="Base: one layer, n = 3, values from memory. Depth, values (n) and tokens are each"
        " varied alone, for four tasks, ungated and sigmoid. Residual: a residual connection, with"
        " one to three layers. Stacks: the structured regime of C7."
        " If none is chosen: all."),
    Choice("only", "For", words={ALL_CLAIMS: "", **{name: name for name in CLAIMS}},
        shape="selectbox",
        help="Runs only what one claim needs, and what is trained in the same batch."),
    Number("many", "Seeds", field="seed_count", within=LIMITS["seed_count"], step=1),
    Number("study_steps", "Steps", field="steps", within=BOUNDARY_STEPS, step=50,
        help="Steps of training. Verdicts use the rows with the most common number of steps. Other"
        " rows are set aside."),
    Flag("product", "Complete product",
        help="Every task and variant in every setting: depth × n × source. Parts of the grid then"
        " decide only whether stacks are included."),
    Address("scheduler", "Address of a Dask scheduler",
        help="If this is empty, two processes of this machine are used."),
    Fold("run_study", "Run the study here: quick, full, or your own selection"),
    Fold("numbers", "All numbers of the claim, its whole rule, and what is missing"),
    Fold("models", "The trained models: each opens on *Decision boundary*"),
    Fold("accuracies", "Test accuracies of all tasks and variants"),
    Fold("report", "Download a report, or all rows"),
    of=StudyRequest(),
)  # fmt: skip


def read_request() -> StudyRequest:
    """Draw the controls of claim, rows and picture; what would run comes from `study_controls`."""
    columns = front_columns([6, 2.5, 2.5, 2.5])
    claim = CLAIMED["claim"].draw(columns[0])
    CLAIMED["rows"].draw(columns[1])
    given: dict[str, Any] = {"wide": False, "measure": StudyRequest().measure}
    second = claim in SECOND.claims and CLAIMED["edition"].draw(columns[2]) == SECOND.name
    if claim == "C4" or (claim == "C3" and not second):
        given["wide"] = CLAIMED["wide"].draw(columns[3])
    elif claim == WITH_MEASURES:
        given["measure"] = CLAIMED["measure"].draw(columns[3])
    return read(CLAIMED, StudyRequest, **given)


def study_controls(where: DeltaGenerator) -> StudyRequest:
    """Draw the controls of the study, and return what it would run."""
    kind, address = where.columns([5, 4], vertical_alignment="bottom")
    study = CLAIMED["study"].draw(kind)
    CLAIMED["scheduler"].draw(address)
    if study == STUDIES["own selection"]:
        for column, name in zip(where.columns(3), ("tasks", "variants", "study_parts"),
                                strict=True):  # fmt: skip
            CLAIMED[name].draw(column, placeholder=FULL_STUDY)
        draw_columns(CLAIMED, where.columns([2, 3, 3, 2], vertical_alignment="center"),
                     (["only"], ["many"], ["study_steps"], ["product"]))  # fmt: skip
    return read(CLAIMED, StudyRequest)


def choose_claim(name: str) -> None:
    """Show another claim; for callbacks only."""
    CLAIMED["claim"].set(name)
    forget()


def show_own_rows() -> None:
    """Show the rows of this server; for callbacks only."""
    CLAIMED["rows"].set(HERE)
