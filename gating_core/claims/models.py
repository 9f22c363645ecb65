"""The rows of a study, and its trained models by conditions, task, variant and seed, one each.

A store may hold rows of several versions of the study, and models that were trained for several
selections. Pairs must differ in the gate alone: so one version and one number of steps is used, and
one row of each cell. The report says how many rows are set aside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class ModelRow:
    """One trained model: what it was (a configuration), and what was measured.

    Everything that is measured is ``None`` where ``error`` says why there is nothing, in a
    sentence. Curvature is that of the surface over the query chart, [-1, 1]^2, after the last
    step, in double precision, with Sigma = 1; what begins with ``chart_`` is that over the
    attention-weight chart, ``None`` where a model has none.
    """

    key: str  # hash of the configuration and of the version
    code: str  # the version of the study, `selection.STUDY_VERSION`
    # Of the grid: "base", "depth", "values", "tokens", "residual" (what is varied), or "all". Only
    # models of "residual" have a residual connection.
    part: str
    task: str  # a key of TASKS
    variant: str  # a key of the comparison's VARIANTS
    source: str  # "memory" or "tokens"
    depth: int
    values: int  # n
    model_dim: int  # D, that of the variant "matched" its own
    seed: int
    together: int  # models in the batch that it was trained in, which rounding depends on
    steps: int
    parameters: int
    train_accuracy: float | None = None
    test_accuracy: float | None = None
    train_loss: float | None = None
    test_loss: float | None = None
    total_curvature: float | None = None  # the integral of |K| dA
    total_error: float | None = None  # of quadrature and rounding, in the same unit
    total_complete: bool | None = None  # whether the error covers everything, and is no larger
    positive_curvature: float | None = None  # the integral of K dA where K > 0
    flat: bool | None = None  # |K| below its bound at every resolved point; None if none is
    positive_share: float | None = None  # of area, where K > 0 is known; so for the next two
    negative_share: float | None = None
    undecided_share: float | None = None  # |K| below its bound, or unresolved
    resolved_share: float | None = None  # of points
    largest_curvature: float | None = None  # max |K|
    largest_bound: float | None = None  # the bound on its error there
    chart_flat: bool | None = None  # as `flat`, and ``None`` also where there is no such chart
    chart_largest: float | None = None  # max |K|
    chart_bound: float | None = None  # the largest bound on an error of K
    chart_positive_share: float | None = None  # of area, where K > 0 is known
    proxy: float | None = None  # the paper's, limit of small steps
    normalised_proxy: float | None = None  # divided by the Jacobian's norm
    seconds: float | None = None  # its share of its batch's training, and its measuring
    error: str | None = None

    def __post_init__(self) -> None:
        """Call no total complete that its error exceeds, as the rows of older stores do."""
        total, error = self.total_curvature, self.total_error
        if self.total_complete and (total is None or error is None or error > total):
            object.__setattr__(self, "total_complete", False)

    @property
    def lower_estimate(self) -> bool:
        """True if points are left out of the total, because their tangent planes are unresolved."""
        return self.total_complete is False and (self.resolved_share or 0.0) < 1


@dataclass(frozen=True)
class StackRow:
    """One stack of aligned scalar gates on the flat sheet: the structured regime of claim C7."""

    key: str
    code: str
    seed: int
    depth: int
    strength: float  # eps, drawn by the seed
    total_curvature: float  # the integral of |K| dA
    total_error: float
    centre_curvature: float  # K(0)
    centre_bound: float
    proxy: float
    small: bool  # whether depth * eps * max(u^2 + v^2) <= 0.05, where exponents are fitted
    seconds: float


Row = ModelRow | StackRow


@dataclass(frozen=True)
class RefinedTotal:
    """∫|K| dA in closed form of the model whose row has the ``key``, and its error; see `refined`.

    Both are ``None`` unless it is the ``same``: it has come out with the accuracies of its row when
    it was trained again.
    """

    key: str
    same: bool
    total: float | None = None
    error: float | None = None


@dataclass(frozen=True, order=True)
class Conditions:
    """The setting of a model but for its task and variant; conditions vary one at a time."""

    source: str = "memory"
    depth: int = 1
    value_count: int = 3
    residual: bool = False

    @property
    def text(self) -> str:
        """The differences from the base, as text."""
        parts = [
            (self.source != BASE.source, self.source),
            (self.depth != BASE.depth, f"depth {self.depth}"),
            (self.value_count != BASE.value_count, f"n = {self.value_count}"),
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
    stacks: tuple[StackRow, ...] = ()
    set_aside: int = 0  # rows of other versions or steps, and second ones of a cell
    code: str = ""  # the version
    steps: int = 0
    seeds: tuple[int, ...] = ()  # all that any model of the base has
    variants: tuple[str, ...] = ()  # of the base, in order of their first row
    refined: tuple[RefinedTotal, ...] = ()  # totals of some of the models, beside their rows

    def of_tasks(self, tasks: Sequence[str]) -> Models:
        """Return the models of these ``tasks`` alone."""
        return replace(self, cells={k: rows for k, rows in self.cells.items() if k[1] in tasks})

    def at(self, conditions: Conditions, task: str, variant: str) -> dict[int, ModelRow]:
        """Rows by seed; empty if there are none."""
        return self.cells.get((conditions, task, variant), {})

    def with_refined(self) -> Models:
        """Return the models with `refined` totals in place of those measured on a grid."""
        known = {one.key: one for one in self.refined if one.same}

        def better(row: ModelRow) -> ModelRow:
            if row.error is not None or row.key not in known:
                return row
            one = known[row.key]
            return replace(
                row, total_curvature=one.total, total_error=one.error, total_complete=True
            )

        cells = {k: {s: better(row) for s, row in rows.items()} for k, rows in self.cells.items()}
        return replace(self, cells=cells)

    @property
    def conditions(self) -> list[Conditions]:
        """Return all conditions that occur, the base first."""
        return sorted({cell[0] for cell in self.cells}, key=lambda x: (x != BASE, x))

    def tasks(self, conditions: Conditions = BASE) -> list[str]:
        """Return the tasks under ``conditions``, in the order of their first rows."""
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


def sorted_out(rows: Iterable[ModelRow], stacks: Iterable[StackRow] = ()) -> Models:
    """One row of each cell and seed: of the version and number of steps that most rows have.

    Of equal versions the first by name; of several rows of one model that of the part "base", and
    of these the first by key: nothing that was measured has a say in it.
    """
    rows, stacks = list(rows), tuple(stacks)
    if not rows:
        return Models({}, stacks)
    counts = Counter((row.code, row.steps) for row in rows)
    code, steps = min(counts, key=lambda name: (-counts[name], name))
    used = [row for row in rows if (row.code, row.steps) == (code, steps)]
    cells: dict[Cell, dict[int, ModelRow]] = {_cell(row): {} for row in used}
    for row in sorted(used, key=lambda x: (x.part != "base", x.key)):
        cells[_cell(row)].setdefault(row.seed, row)
    cells = {cell: dict(sorted(members.items())) for cell, members in cells.items()}
    base = [cell for cell in cells if cell[0] == BASE]
    set_aside = len(rows) - sum(map(len, cells.values()))
    seeds = tuple(sorted({seed for cell in base for seed in cells[cell]}))
    variants = tuple(dict.fromkeys(variant for _, _, variant in base))
    return Models(cells, stacks, set_aside, code, steps, seeds, variants)


def _cell(row: ModelRow) -> Cell:
    residual = row.part == "residual"
    return Conditions(row.source, row.depth, row.values, residual), row.task, row.variant
