"""The section on proved curvature: where is the sign of K proved, and does an estimate agree?

Proofs are made in jobs of worker processes and cached for all visitors. A budget is a number of
cells, so that what is proved does not depend on the machine; seconds are a limit for models whose
cells take long. Shares that are proved are rounded down, what is undetermined is rounded up,
intervals outwards.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.experiments.comparison import COMPARISONS, PRESETS, Setting
from gating_core.geometry import Integral, Matrix, SurfaceResult
from gating_core.progress import Progress, silent
from gating_core.proved import (
    FLAT,
    LABELS,
    NEGATIVE,
    OPEN,
    POSITIVE,
    Budget,
    Interval,
    MissingRule,
    ProvedCurvature,
    proof_steps,
)
from ui.common import take_along
from ui.common.charts import Charts
from ui.common.formatting import between_text, plus_minus, total_text
from ui.common.lessons import section
from ui.common.links import LINK
from ui.drawing import palette
from ui.drawing.chart_map import CellKind, cell_map, kinds_of_pixels
from ui.foreign import error_words
from ui.limits import PROOF_SECONDS
from ui.work import pool
from ui.work.cache import CACHE, cached
from ui.work.jobs import Jobs

ENCLOSURE = Path(__file__).resolve().parents[1] / "assets" / "proved" / "enclosure.svg"
PARTIAL_SECONDS = 0.5  # at least, between two partial results
PARTIAL_GROWTH = 1.15  # factor of the cells between them, at least: later messages are larger
OPEN_SHARE, RELATIVE_WIDTH = 1e-4, 1e-3  # precise enough to stop before the budget is spent
Code = tuple[str, str]  # imports and lines of Python that make a ``surface``
CELLS = {"16,000": 16_000, "64,000": 64_000, "256,000": 256_000}


@dataclass(frozen=True)
class ProvableSurface:
    """A surface and its metric; ``name`` identifies the surface in caches."""

    name: Hashable
    function: Callable[..., Any] = field(compare=False, repr=False)
    covariance: Matrix | None = None


@dataclass(frozen=True)
class ProofRequest:
    """A proof for ``surface``, with at most ``cells`` cells judged."""

    surface: ProvableSurface
    cells: int

    @property
    def budget(self) -> Budget:
        return Budget(PROOF_SECONDS, self.cells, OPEN_SHARE, RELATIVE_WIDTH)


@dataclass(frozen=True)
class NoProof:
    """Why nothing is proved of a surface."""

    reason: str


Proof = ProvedCurvature | NoProof


@dataclass(frozen=True, eq=False)
class Compared:
    """A surface to prove, with its measurements, which the proof is compared with."""

    name: str
    surface: ProvableSurface
    estimates: Mapping[str, Integral]  # by a key of `INTEGRALS`; those measured so far
    measured: SurfaceResult  # one frame, on the same chart


# --- Proving --------------------------------------------------------------------------------------


def prove(request: ProofRequest, progress: Progress = silent) -> Generator[Proof, None, Proof]:
    """Prove what is requested; yields partial results, and returns the last one."""
    surface = request.surface
    sent, last = 0, -PARTIAL_SECONDS
    try:
        for proof in proof_steps(surface.function, surface.covariance, request.budget):
            progress(None)
            now = time.monotonic()
            if proof.count >= PARTIAL_GROWTH * sent and now - last >= PARTIAL_SECONDS:
                sent, last = proof.count, now
                yield _compact(proof)
    except (MissingRule, ValueError) as error:
        return NoProof(error_words(error))
    return _compact(proof)


def _compact(proof: ProvedCurvature) -> ProvedCurvature:
    """Return the same with labels of one byte each."""
    return replace(proof, labels=proof.labels.char())


def _prove(request: ProofRequest) -> Iterator[Any]:
    for item in pool.POOL.stream(prove, request):
        if isinstance(item, ProvedCurvature):
            yield min(item.count / request.cells, 1.0)
        yield item


PROOFS: Jobs[ProofRequest, Proof] = Jobs("proof", _prove, CACHE)


# --- The section ----------------------------------------------------------------------------------


def draw_proofs(
    make: Callable[[], tuple[Sequence[Compared], Code]],
    axes: tuple[str, str],
    charts: Charts | None = None,
) -> None:
    """Draw the section, in a fold: computing begins when it is unfolded.

    Args:
        make: Returns the surfaces, one or two, and code that makes the last one.
        axes: The names of the chart's axes.
        charts: Those of the page, to which the tables of cells are added. Without them the section
            offers its own.
    """
    with st.expander(
        "Proved curvature: the sign of K on every cell of the chart",
        key="proof",
        on_change="rerun",
        **LINK,
    ) as fold:
        cells = CELLS[
            st.radio(
                "Cells to judge at most",
                [*CELLS],
                1,
                key="proof_cells",
                horizontal=True,
                help=section("proved", "help_cells"),
                **LINK,
            )
        ]
        if not fold.open:
            return
        import pandas  # noqa: F401  (before Plotly draws, see `ui.common.charts.chart`)

        compared, code = make()
        requests = tuple(ProofRequest(each.surface, cells) for each in compared)
        proofs, job = PROOFS.fetch_all(requests)
        own = charts or Charts("proved")
        if job is None:
            _draw_all(compared, requests, proofs, axes)
        else:
            PROOFS.watch(
                job,
                "Proving the sign of K",
                again="Prove it",
                draw=lambda: _draw_all(compared, requests, PROOFS.so_far(requests), axes),
            )
        for each, request in zip(compared, requests, strict=True):
            proof = proofs.get(request)
            if isinstance(proof, ProvedCurvature) and not proof.proof:
                name = f"proved cells, {each.name[:1].lower()}{each.name[1:]}"
                own.tables[name] = cells_table(proof)
        with st.popover("How to read this map", icon=":material/help:", key="explain_proved"):
            st.markdown(section("proved", "explain"))
            st.image(str(ENCLOSURE), width="stretch", alt=section("proved", "alt_enclosure"))
        if charts is None and own.tables:
            own.offer()
        st.code(code_text(*code, requests[-1]), language="python")


def _draw_all(
    compared: Sequence[Compared],
    requests: Sequence[ProofRequest],
    proofs: Mapping[ProofRequest, Proof],
    axes: tuple[str, str],
) -> None:
    """Draw the proofs so far: one sentence for a flat surface, else a map and sentences."""
    if not proofs:
        st.caption(":material/hourglass: The first cells are being judged.")
    curved = []
    for each, request in zip(compared, requests, strict=True):
        proof = proofs.get(request)
        if proof is None:
            continue
        if isinstance(proof, NoProof):
            st.info(f"{each.name}: {section('proved', 'no_proof', reason=proof.reason)}")
        elif proof.proof:
            _draw_text(each, proof)
        else:
            curved.append((each, request, proof))
    if len(curved) == 1:
        columns = [st.columns([2, 3], vertical_alignment="center")]
    else:  # a map above its text
        columns = [[column, column] for column in st.columns(2)] if curved else []
    for index, (each, request, proof) in enumerate(curved):
        picture, text = columns[index]
        whole = request in PROOFS.cached((request,))
        figure = map_of(request, axes, proof) if whole else proof_map(proof, axes)
        picture.plotly_chart(
            figure,
            key=f"proved_map_{index}",
            width="content",
            alt=f"Map of the chart of cells. {each.name}: {shares_text(proof)}",
            config={"displayModeBar": False},
        )
        with text:
            _draw_text(each, proof)
            limit = ""
            if proof.seconds >= PROOF_SECONDS and proof.count < request.cells:
                limit = f" It ended after {PROOF_SECONDS:.0f} s: the cells of this model take long."
            st.caption(section("proved", "cells", count=f"{proof.count:,}", limit=limit))


@cached()
def map_of(request: ProofRequest, axes: tuple[str, str], _proof: ProvedCurvature) -> go.Figure:
    """Return the map of a proof that has ended."""
    return proof_map(_proof, axes)


def _draw_text(each: Compared, proof: ProvedCurvature) -> None:
    """Draw the result of a proof as a sentence, and contradictions with measurements as errors."""
    total = total_sentence(proof, each.estimates.get("absolute"))
    st.markdown(f"**{each.name}:** {shares_text(proof)} {total}")
    (gaussian,) = each.measured.signed
    points = contradicted(proof, each.measured.axis, np.asarray(gaussian))
    for text in contradictions(proof, each.estimates, points):
        st.error(f"**{each.name}.** {text}", icon=":material/error:")


# --- The map, and what contradicts it -------------------------------------------------------------

SIZE = 380  # pixels
KINDS = {
    POSITIVE: CellKind("K > 0", palette.SIGNED_SCALE[-1][1]),
    NEGATIVE: CellKind("K < 0", palette.SIGNED_SCALE[0][1]),
    FLAT: CellKind("K = 0", palette.NEUTRAL),
    OPEN: CellKind("undetermined", None),
}
assert tuple(KINDS) == LABELS
SIGNS = np.array([1, -1, 0, 0, 0])  # by label, the last for pixels of several kinds
SPEAKS = np.array([True, True, True, False, False])  # whether a sign is proved there
TENTHS = 1000  # of a percent, in a share of 1
INTEGRALS = {"absolute": "∫|K| dA", "gaussian": "∫K dA", "area": "the area"}


def proof_map(proof: ProvedCurvature, names: tuple[str, str]) -> go.Figure:
    """Draw the map of cells with the proved sign of K; ``names`` are those of the chart's axes."""
    return cell_map(*_arrays(proof), [*KINDS.values()], names, SIZE)


def contradicted(proof: ProvedCurvature, axis: np.ndarray, known: np.ndarray) -> int:
    """Count grid points whose measured sign of K contradicts the proved one.

    ``known`` (R, C) is K over the chart ``axis`` x ``axis``, NaN where its sign is not known. A
    point is compared where its pixel of the map is of one kind.
    """
    pixels = kinds_of_pixels(*_arrays(proof), len(KINDS))
    pixel = np.clip(((axis + 1) * len(pixels) / 2).astype(int), 0, len(pixels) - 1)
    label = pixels[np.ix_(pixel, pixel)]
    return int((SPEAKS[label] & np.isfinite(known) & (np.sign(known) != SIGNS[label])).sum())


def _arrays(proof: ProvedCurvature) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    cells = proof.cells
    return cells.centres.numpy(), cells.radius.numpy(), proof.labels.numpy()


# --- Shares ---------------------------------------------------------------------------------------


def shares_text(proof: ProvedCurvature) -> str:
    """Say on which share of the area, and of the chart, each sign is proved."""
    if proof.proof:
        return f"K = 0 on the whole chart, proved: {proof.proof}."
    signs = {
        "K > 0": (proof.positive, proof.positive_area),
        "K < 0": (proof.negative, proof.negative_area),
    }
    found = {sign: shares for sign, shares in signs.items() if shares[0]}
    if not found:
        return "Nothing is proved of the sign of K yet: all of the chart is undetermined."
    if len(found) == 1 and not proof.open:
        why = f": {proof.one_sign}" if proof.one_sign else ""
        return f"{next(iter(found))} on the whole chart, proved{why}."
    parts = [
        f"{sign} on at least {_down(area)} of the surface's area ({_down(share)} of the chart)"
        for sign, (share, area) in found.items()
    ]
    rest = f"{_up(proof.open)} of the chart" if proof.open else "nothing"
    return f"Proved: {' and '.join(parts)}; {rest} is undetermined."


def _down(share: float) -> str:
    """Format a share in percent, rounded down to a tenth."""
    tenths = math.floor(TENTHS * Fraction(share))
    return f"{tenths / 10:.1f}\u00a0%" if tenths else "less than 0.1\u00a0%"


def _up(share: float) -> str:
    """Format a share > 0 in percent, rounded up to a tenth."""
    tenths = math.ceil(TENTHS * Fraction(share))
    return "less than 0.1\u00a0%" if TENTHS * Fraction(share) < 1 else f"{tenths / 10:.1f}\u00a0%"


# --- Totals ---------------------------------------------------------------------------------------


def total_sentence(proof: ProvedCurvature, estimate: Integral | None) -> str:
    """Say between which numbers the total curvature lies, and whether the estimate agrees."""
    if proof.proof:
        return f"Its total curvature ∫|K| dA is 0; its area is {_interval(proof.area)}, proved."
    text = f"Its total curvature ∫|K| dA is {_interval(proof.absolute)}, proved"
    if math.isinf(proof.absolute.high):
        text = f"{text}; no upper bound is proved"
    if estimate is None:
        return f"{text}. The estimate is not there yet."
    if not bool(estimate.quotable()):
        return f"{text}. The estimate does not converge."
    agrees = ", which agrees" if not contradiction("absolute", proof.absolute, estimate) else ""
    return f"{text}. The estimate is {total_text(estimate, flat=False)}{agrees}."


def _interval(interval: Interval) -> str:
    return between_text(*interval, least=0.0)


def contradiction(name: str, proved: Interval, estimate: Integral) -> bool:
    """Return whether an estimate with its error lies outside what is proved.

    An incomplete estimate of an integral that is not negative may lie below; one of ∫K dA cannot
    contradict.
    """
    value, error = float(estimate.value), float(estimate.error)
    if math.isnan(value) or math.isnan(error):
        return False
    if not bool(estimate.complete):
        return name != "gaussian" and value - error > proved.high
    return value - error > proved.high or value + error < proved.low


def contradictions(
    proof: ProvedCurvature, estimates: Mapping[str, Integral], points: int
) -> Iterator[str]:
    """Yield a sentence for every estimate that the proof contradicts; ``points``: signs of K."""
    for name, estimate in estimates.items():
        interval = getattr(proof, name)
        if contradiction(name, interval, estimate):
            yield section(
                "proved",
                "contradiction",
                what=INTEGRALS[name],
                proved=between_text(*interval),
                estimate=plus_minus(float(estimate.value), float(estimate.error)),
            )
    if points:
        yield section("proved", "contradicted_points", count=f"{points:,}")


def cells_table(proof: ProvedCurvature) -> dict[str, list[Any]]:
    """Return the columns of the table of cells by name."""
    (u, v), (half_u, half_v) = (x.T.tolist() for x in (proof.cells.centres, proof.cells.radius))
    signs = [KINDS[LABELS[label]].words for label in proof.labels.tolist()]
    return {
        "u": u,
        "v": v,
        "half_width_u": half_u,
        "half_width_v": half_v,
        "sign_of_K": signs,
        "immersed": proof.immersed.tolist(),
    }


# --- The same from the library --------------------------------------------------------------------


def code_text(imports: str, surface: str, request: ProofRequest) -> str:
    """Return lines that prove the same from the library; ``surface`` makes the surface."""
    budget = request.budget
    more = f"{request.cells:_}, {budget.open_share}, {budget.relative_width}"
    return f"""\
import math
{imports}
from gating_core.proved import Budget, prove_curvature

{surface}
proof = prove_curvature(surface, {request.surface.covariance}, Budget(math.inf, {more}))
print(proof.positive, proof.negative, proof.open)  # shares of the chart
print(proof.absolute, proof.gaussian, proof.area)  # low and high ends
print(proof.cells.centres, proof.cells.radius, proof.labels)
"""


def offer_notebook(
    title: str,
    name: str,
    code: Code,
    total: Integral | None,
    dim: int,
    covariance: Matrix | None = None,
    problem: str | None = None,
) -> None:
    """Offer a notebook that measures a surface again, as *Take along* calls it: ``name``.

    Args:
        title: Of the notebook.
        name: Of its file, without the ending.
        code: Python that makes the surface.
        total: Its total curvature as the page has it, which the notebook compares with.
        dim: Dimensions of its outputs.
        covariance: Of the metric.
        problem: Why there is no notebook.
    """
    if total is None or not bool(total.complete):
        problem = problem or "There is no total curvature yet that a notebook could compare with."
    elif covariance is not None:
        problem = "A notebook measures with the covariance Σ = 1."
    shown = (0.0, 0.0) if total is None else (float(total.value), float(total.error))
    take_along.offer_notebook(title, name, code, dim, shown, problem=problem)


def short_code(item: Any) -> str:
    """Return Python that makes ``item``: a dataclass, with the fields that differ from defaults."""
    if not is_dataclass(item) or isinstance(item, type):
        return repr(item)
    plain = {
        each.name: each.default_factory() if callable(each.default_factory) else each.default
        for each in fields(item)
    }
    values = {name: getattr(item, name) for name in plain}
    own = (f"{name}={short_code(value)}" for name, value in values.items() if value != plain[name])
    return f"{type(item).__name__}({', '.join(own)})"


def run_code(setting: Setting, *names: str) -> Code:
    """Return imports, of the ``names`` too, and the line that makes the run of a ``setting``."""
    bundled = next((name for name, own in (PRESETS | COMPARISONS).items() if own == setting), None)
    if bundled is not None:
        names, line = ("load_preset", *names), f"run = load_preset({bundled!r})"
    else:
        names = "Setting", *names, "train_setting"
        line = f"*_, run = train_setting({short_code(setting)})"
    return f"from gating_core.experiments.comparison import {', '.join(names)}", line
