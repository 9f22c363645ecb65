"""The section on proved curvature: where is the sign of K proved, and does an estimate agree?

Proofs are made in jobs of worker processes and cached for all visitors. A budget is a number of
cells, so that what is proved does not depend on the machine; seconds are a limit for models whose
cells take long.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.geometry import Integral, Matrix, SurfaceResult
from gating_core.progress import Progress, silent
from gating_core.proved import Budget, MissingRule, ProvedCurvature, proof_steps
from ui.common.charts import Charts
from ui.common.lessons import section
from ui.common.links import LINK
from ui.foreign import error_words
from ui.limits import PROOF_SECONDS
from ui.proved import statements
from ui.proved.code import Code
from ui.work import pool
from ui.work.cache import CACHE, cached
from ui.work.jobs import Jobs

ENCLOSURE = Path(__file__).resolve().parents[2] / "assets" / "proved" / "enclosure.svg"
PARTIAL_SECONDS = 0.5  # at least, between two partial results
PARTIAL_GROWTH = 1.15  # factor of the cells between them, at least: later messages are larger
OPEN_SHARE, RELATIVE_WIDTH = 1e-4, 1e-3  # precise enough to stop before the budget is spent
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
    estimates: Mapping[str, Integral]  # by a key of `statements.INTEGRALS`; those measured so far
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
                own.tables[name] = statements.cells_table(proof)
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
        figure = map_of(request, axes, proof) if whole else statements.proof_map(proof, axes)
        picture.plotly_chart(
            figure,
            key=f"proved_map_{index}",
            width="content",
            alt=statements.alt(each.name, proof),
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
    return statements.proof_map(_proof, axes)


def _draw_text(each: Compared, proof: ProvedCurvature) -> None:
    """Draw the result of a proof as a sentence, and contradictions with measurements as errors."""
    total = statements.total_sentence(proof, each.estimates.get("absolute"))
    st.markdown(f"**{each.name}:** {statements.shares_text(proof)} {total}")
    (gaussian,) = each.measured.signed
    points = statements.contradicted(proof, each.measured.axis, np.asarray(gaussian))
    for text in statements.contradictions(proof, each.estimates, points):
        st.error(f"**{each.name}.** {text}", icon=":material/error:")


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
