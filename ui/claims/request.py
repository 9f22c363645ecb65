"""The request of a visitor: which claim to see, from which rows, and what to run."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from gating_core.claims import SECOND, SELECTIONS, ModelRow, Selection, default_path
from gating_core.claims.selection import UNIT_SEEDS, ModelUnit
from ui.limits import CLAIMS_SECONDS

SHIPPED, HERE = "shipped", "here"
OWN = "own"
STUDIES = {"quick": "quick", "full": "full", "second edition": "second", "own selection": OWN}
COMMAND = ("python", "-m", "gating_core.claims", "run")
MEASURES = {"proxy": 0, "∫|K| dA": 1}  # C6's pictures, in order
FULL = SELECTIONS["full"]
ALL_CLAIMS = "all claims"
CORES = 2  # that a study has on this machine
# The study tests on 1,000 points and the page on what is left of the training share, in steps of 4
# points and 5 %: these train on the same 256.
LINK_POINTS, LINK_SHARE = 1280, 0.2


@dataclass(frozen=True)
class StudyRequest:
    """The controls of the page."""

    claim: str = "C4"
    edition: str = SECOND.name  # of the rules, where there are two; a key of EDITIONS
    rows: str = SHIPPED  # or HERE
    wide: bool = False  # all variants are drawn, not only the one that decides
    measure: int = 1  # a value of MEASURES
    study: str = "quick"  # a value of STUDIES
    tasks: tuple[str, ...] = ()  # of one's own selection; none: those of the full study
    variants: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    only: str = ""  # a claim; none: all
    seed_count: int = 16
    steps: int = FULL.steps
    product: bool = False  # everything that is varied, with everything else
    scheduler: str = ""  # its address; empty: this machine

    @cached_property
    def selection(self) -> Selection:
        """The models that the study would train."""
        if self.study != OWN:
            return SELECTIONS[self.study]
        return Selection(
            tasks=self.tasks or FULL.tasks,
            variants=self.variants or FULL.variants,
            parts=self.parts or FULL.parts,
            seed_count=self.seed_count,
            steps=self.steps,
            only=self.only or None,
            product=self.product,
        )

    @property
    def seconds(self) -> float:
        """How long that would take this machine, roughly, if no row were there."""
        return self.selection.size.seconds / CORES

    @property
    def trouble(self) -> str:
        """Why a page does not run it, in a sentence; empty: it may."""
        size = self.selection.size
        if not size.models + size.stacks:
            return (
                f"{self.only} needs nothing of what is chosen: it needs other tasks, variants or"
                " parts of the grid."
            )
        if self.seconds > CLAIMS_SECONDS:
            return (
                f"This would take about {self.seconds / 3600:.1f} hours, and a page's study"
                f" {CLAIMS_SECONDS / 3600:g} at most: choose less, or run the command in a shell."
            )
        return ""

    @property
    def options(self) -> tuple[str, ...]:
        """The options of the command line but for the store: how it differs from the full study."""
        if self.study != OWN:
            words = [f"--{self.study}"]
        else:
            words = ["--grid", "all"] if self.product else ["--full"]
            given = {
                "only": self.only, "tasks": ",".join(self.tasks),
                "variants": ",".join(self.variants), "parts": ",".join(self.parts),
                "seeds": str(self.seed_count), "steps": str(self.steps),
            }  # fmt: skip
            usual = {"seeds": str(FULL.seed_count), "steps": str(FULL.steps)}
            for name, value in given.items():
                if value and value != usual.get(name):
                    words += [f"--{name}", value]
        return (*words, "--scheduler", self.scheduler) if self.scheduler else tuple(words)


def command(request: StudyRequest, store: Path) -> str:
    """Return what does the same in a shell."""
    other = () if store == default_path() else ("--store", str(store))
    return shlex.join((*COMMAND, *request.options, *other))


def model_link(row: ModelRow) -> dict[str, str]:
    """The parameters with which the Decision boundary page trains the model of ``row``."""
    (unit,) = Selection((row.task,), ("ungated",), ("base",), seed_count=1, steps=row.steps).units()
    assert isinstance(unit, ModelUnit)
    base = unit.setting
    right = "sigmoid" if row.variant == "ungated" else row.variant
    return {
        "data": row.task, "left": "ungated", "right": right, "steps": str(row.steps),
        "points": str(LINK_POINTS), "share": f"{LINK_SHARE:g}", "flip": f"{base.label_noise:g}",
        "decay": f"{base.weight_decay:g}", "from": row.source, "width": str(base.model_dim),
        "slots": str(row.values), "stack": str(row.depth),
        "skip": f"{row.part == 'residual'}".lower(), "seeds": str(UNIT_SEEDS),
        "first": str(row.seed // UNIT_SEEDS * UNIT_SEEDS), "who": "picked",
        "picked_seed": str(row.seed),
    }  # fmt: skip
