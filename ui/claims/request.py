"""What does a visitor ask of the study: which claim to see, from which rows, and what to run?"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from gating_core.claims import SELECTIONS, ModelRow, Selection, default_place
from gating_core.claims.units import ModelUnit

SHIPPED, HERE = "shipped", "here"
OWN = "own"
STUDIES = {"quick": "quick", "full": "full", "own selection": OWN}
OWN_PARTS = ("base", "stacks")  # of the grid
COMMAND = ("python", "-m", "gating_core.claims", "run")
MEASURES = {"proxy": 0, "∫|K| dA": 1}  # places of C6's pictures
TASKS, VARIANTS = SELECTIONS["full"].tasks, SELECTIONS["full"].variants
# The study tests on 1,000 points and the page on what is left of the training share, in steps of 4
# points and 5 %: these train on the same 256.
LINK_POINTS, LINK_SHARE = 1280, 0.2
TOGETHER = 16  # seeds of one batch of the study


@dataclass(frozen=True)
class Request:
    """The controls of the page."""

    claim: str = "C4"
    rows: str = SHIPPED  # or HERE
    wide: bool = False  # all variants are drawn, not only the one that decides
    measure: int = 1  # a value of MEASURES
    study: str = "quick"  # a value of STUDIES
    tasks: tuple[str, ...] = ()  # of one's own selection; none: all
    variants: tuple[str, ...] = ()
    seed_count: int = 16
    scheduler: str = ""  # its address; empty: this machine

    @property
    def selection(self) -> Selection:
        """The models that the study would train."""
        if self.study != OWN:
            return SELECTIONS[self.study]
        return Selection(
            tasks=self.tasks or TASKS,
            variants=self.variants or VARIANTS,
            parts=OWN_PARTS,
            seed_count=self.seed_count,
        )

    @property
    def options(self) -> tuple[str, ...]:
        """What the command line is told, but for the store."""
        if self.study != OWN:
            said = [f"--{self.study}"]
        else:
            chosen = self.selection
            said = [
                *("--tasks", ",".join(chosen.tasks)),
                *("--variants", ",".join(chosen.variants)),
                *("--parts", ",".join(chosen.parts)),
                *("--seeds", str(chosen.seed_count)),
            ]
        return (*said, "--scheduler", self.scheduler) if self.scheduler else tuple(said)


def command(request: Request, store: Path) -> str:
    """What one types into a shell for the same."""
    place = () if store == default_place() else ("--store", str(store))
    return shlex.join((*COMMAND, *request.options, *place))


def model_link(row: ModelRow) -> dict[str, str]:
    """The parameters with which the Decision boundary page trains the model of ``row``."""
    (unit,) = Selection((row.task,), ("ungated",), ("base",), 1, row.steps).units()
    assert isinstance(unit, ModelUnit)
    base = unit.setting
    sides = ("ungated", "sigmoid") if row.variant == "ungated" else ("ungated", row.variant)
    return {
        "data": row.task, "left": sides[0], "right": sides[1], "steps": str(row.steps),
        "points": str(LINK_POINTS), "share": f"{LINK_SHARE:g}", "flip": f"{base.label_noise:g}",
        "decay": f"{base.weight_decay:g}", "from": row.source, "width": str(base.model_dim),
        "slots": str(row.values), "stack": str(row.depth), "seeds": str(TOGETHER),
        "first": str(row.seed // TOGETHER * TOGETHER), "who": "picked",
        "picked_seed": str(row.seed),
    }  # fmt: skip
