"""The trained models of a study, by conditions, task, variant and seed, one each.

A store may hold rows of several versions of the study, and models that were trained for several
selections. Pairs must differ in the gate alone: so one version and one number of steps is used, and
one row of each cell. The report says how many rows are set aside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from gating_core.claims.rows import ModelRow


@dataclass(frozen=True, order=True)
class Conditions:
    """What is varied, each alone: the setting of a model but for its task and variant."""

    source: str = "memory"
    depth: int = 1
    values: int = 3
    residual: bool = False

    @property
    def text(self) -> str:
        """How they differ from the base."""
        parts = [
            (self.source != BASE.source, self.source),
            (self.depth != BASE.depth, f"depth {self.depth}"),
            (self.values != BASE.values, f"n = {self.values}"),
            (self.residual, "residual"),
        ]
        return ", ".join(text for differs, text in parts if differs) or "base"


BASE = Conditions()
Cell = tuple[Conditions, str, str]  # with task and variant


@dataclass(frozen=True)
class Gap:
    """A missing model: ``reason`` says why it failed; empty where it is not trained yet."""

    task: str
    variant: str
    seed: int
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Models:
    """The models of one version of the study and one number of steps: by cell, then by seed."""

    cells: dict[Cell, dict[int, ModelRow]]
    set_aside: int = 0  # rows of other versions or steps, and second ones of a cell
    code: str = ""  # the version
    steps: int = 0
    seeds: tuple[int, ...] = ()  # all that any model of the base has
    variants: tuple[str, ...] = ()  # of the base, in order of their first row

    def of_tasks(self, tasks: Sequence[str]) -> Models:
        """The same with these ``tasks`` alone."""
        return replace(self, cells={k: rows for k, rows in self.cells.items() if k[1] in tasks})

    def at(self, conditions: Conditions, task: str, variant: str) -> dict[int, ModelRow]:
        """Rows by seed; empty if there are none."""
        return self.cells.get((conditions, task, variant), {})

    @property
    def conditions(self) -> list[Conditions]:
        """All that there are, the base first."""
        return sorted({cell[0] for cell in self.cells}, key=lambda x: (x != BASE, x))

    def tasks(self, conditions: Conditions = BASE) -> list[str]:
        """In order of their first row."""
        return list(dict.fromkeys(task for here, task, _ in self.cells if here == conditions))

    def gaps(self, variants: Iterable[str], of: Iterable[Conditions] = (BASE,)) -> tuple[Gap, ...]:
        """Models under the conditions ``of`` that failed, and seeds of the base that are not done.

        Only of ``variants``, and of tasks and variants that there is any row of.
        """
        chosen, where, gaps = set(variants), set(of), list[Gap]()
        for (conditions, task, variant), rows in self.cells.items():
            if conditions in where and variant in chosen:
                absent = [Gap(task, variant, seed) for seed in self.seeds if seed not in rows]
                failed = [Gap(task, variant, s, row.error) for s, row in rows.items() if row.error]
                gaps += sorted(absent + failed, key=lambda gap: gap.seed)
        return tuple(gaps)


def sorted_out(rows: Iterable[ModelRow]) -> Models:
    """One row of each cell and seed: of the version and number of steps that most rows have.

    Of equal versions the first by name; of several rows of one model that of the part "base", and
    of these the first by key: nothing that was measured has a say in it.
    """
    rows = list(rows)
    if not rows:
        return Models({})
    counts = Counter((row.code, row.steps) for row in rows)
    code, steps = min(counts, key=lambda name: (-counts[name], name))
    used = [row for row in rows if (row.code, row.steps) == (code, steps)]
    cells: dict[Cell, dict[int, ModelRow]] = {_cell(row): {} for row in used}
    for row in sorted(used, key=lambda x: (x.part != "base", x.key)):
        cells[_cell(row)].setdefault(row.seed, row)
    cells = {cell: dict(sorted(members.items())) for cell, members in cells.items()}
    base = [cell for cell in cells if cell[0] == BASE]
    return Models(
        cells,
        len(rows) - sum(map(len, cells.values())),
        code,
        steps,
        tuple(sorted({seed for cell in base for seed in cells[cell]})),
        tuple(dict.fromkeys(variant for _, _, variant in base)),
    )


def _cell(row: ModelRow) -> Cell:
    residual = row.part == "residual"
    return Conditions(row.source, row.depth, row.values, residual), row.task, row.variant
