"""Which trained model stands where? By setting, task, variant and seed, one each.

A store may hold rows of several versions of the code, and models that were trained for several
selections. Pairs must differ in the gate alone, so one version and one number of steps is used, and
one row of each place; how many are set aside is counted, and said in the report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gating_core.claims.grid import LINEAR
from gating_core.claims.rows import ModelRow

UNGATED = "ungated"
PRIMARY = "sigmoid"  # the gate that verdicts are about: the elementwise one that the paper studies
GATED = (PRIMARY, "headwise", "silu", "tanh", "value")  # all that multiply by what reads a state
WITHOUT_GATE = (UNGATED, "matched")  # the theorem's models
NEITHER = ("blobs3", "blobs4")  # pieces of straight lines bound their classes


@dataclass(frozen=True, order=True)
class Place:
    """What is varied, each alone: the setting of a model but for its task and variant."""

    source: str = "memory"
    depth: int = 1
    values: int = 3

    @property
    def text(self) -> str:
        """As one says it: how it differs from the base."""
        parts = [
            (self.source != BASE.source, self.source),
            (self.depth != BASE.depth, f"depth {self.depth}"),
            (self.values != BASE.values, f"n = {self.values}"),
        ]
        return ", ".join(text for differs, text in parts if differs) or "base"


BASE = Place()
Cell = tuple[Place, str, str]  # with task and variant


@dataclass(frozen=True)
class Gap:
    """A model that should be there: ``reason`` says why it failed; empty where it is not done."""

    task: str
    variant: str
    seed: int
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Models:
    """The models of one version of the code and one number of steps: by cell, then by seed."""

    cells: dict[Cell, dict[int, ModelRow]]
    set_aside: int = 0  # rows of other versions or steps, and second ones of a place
    code: str = ""
    steps: int = 0

    def at(self, place: Place, task: str, variant: str) -> dict[int, ModelRow]:
        """By seed; empty if there are none."""
        return self.cells.get((place, task, variant), {})

    @property
    def places(self) -> list[Place]:
        """Settings, the base first."""
        return sorted({place for place, _, _ in self.cells}, key=lambda x: (x != BASE, x))

    def tasks(self, place: Place = BASE) -> list[str]:
        """In order of their first row."""
        return list(dict.fromkeys(task for here, task, _ in self.cells if here == place))

    def variants(self, place: Place = BASE) -> list[str]:
        """In order of their first row."""
        return list(dict.fromkeys(variant for here, _, variant in self.cells if here == place))

    @property
    def seeds(self) -> list[int]:
        """All that any model of the base has."""
        return sorted(
            {s for (place, *_), found in self.cells.items() if place == BASE for s in found}
        )

    def gaps(self, tasks: Iterable[str], variants: Iterable[str]) -> tuple[Gap, ...]:
        """Models of the base that failed, and those of others' seeds that are not done.

        Only of tasks and variants that there is any row of.
        """
        return tuple(self._gaps(list(tasks), list(variants)))

    def _gaps(self, tasks: list[str], variants: list[str]) -> Iterator[Gap]:
        seeds = self.seeds
        for (place, task, variant), found in self.cells.items():
            if place == BASE and task in tasks and variant in variants:
                for seed in seeds:
                    row = found.get(seed)
                    if row is None:
                        yield Gap(task, variant, seed)
                    elif row.error is not None:
                        yield Gap(task, variant, seed, row.error)


def sorted_out(rows: Iterable[ModelRow]) -> Models:
    """One row of each place: of the version and number of steps that most rows have.

    Of equal versions the first by name; of several rows of one place that of the part "base", and
    of these the first by key: nothing that was found has a say in it.
    """
    rows = list(rows)
    if not rows:
        return Models({})
    counts = Counter((row.code, row.steps) for row in rows)
    code, steps = min(counts, key=lambda name: (-counts[name], name))
    cells: dict[Cell, dict[int, ModelRow]] = {}
    kept = [row for row in rows if (row.code, row.steps) == (code, steps)]
    for row in sorted(kept, key=lambda x: (x.part != "base", x.key)):
        place = Place(row.source, row.depth, row.values)
        cells.setdefault((place, row.task, row.variant), {}).setdefault(row.seed, row)
    ordered = {cell: cells[cell] for cell in dict.fromkeys(map(_cell, kept))}
    return Models(ordered, len(rows) - sum(map(len, cells.values())), code, steps)


def _cell(row: ModelRow) -> Cell:
    return Place(row.source, row.depth, row.values), row.task, row.variant


def nonlinear(tasks: Iterable[str]) -> list[str]:
    """Those whose decision boundary is curved or bent."""
    return [task for task in tasks if task not in LINEAR + NEITHER]


def linear(tasks: Iterable[str]) -> list[str]:
    """Those whose decision boundary is a straight line."""
    return [task for task in tasks if task in LINEAR]
