"""The section on proved curvature: maps of cells, a sentence, and what contradicts it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st

from gating_core.geometry import Integral, SurfaceResult
from gating_core.proved import ProvedCurvature
from ui.common.control_table import Controls, table
from ui.common.controls import Choice, Fold
from ui.common.lessons import section
from ui.common.parts import BARE, beats, draw_csv, draw_figure, explain
from ui.proved import results
from ui.proved.measured import PROOFS, NoProof, Proof, ProofRequest, ProvableSurface

PROOF: Controls = table(
    Fold("proof", "Proved curvature: the sign of K on every cell of the chart"),
    Choice("proof_cells", "Cells to judge at most", default=64_000,
        words={"16,000": 16_000, "64,000": 64_000, "256,000": 256_000},
        help=section("proved", "help_cells")),
)  # fmt: skip
Proofs = Mapping[ProofRequest, Proof]


@dataclass(frozen=True, eq=False)
class Compared:
    """A surface to prove, with its measurements, which the proof is compared with."""

    name: str
    surface: ProvableSurface
    estimates: Mapping[str, Integral]  # by a key of `results.INTEGRALS`; those measured so far
    measured: SurfaceResult  # one frame, on the same chart


Code = tuple[str, str]  # imports and lines of Python that make a ``surface``


def draw_proofs(make: Callable[[], tuple[Sequence[Compared], Code]], axes: tuple[str, str]) -> None:
    """Draw the section, in a fold: computing begins when it is unfolded.

    ``make`` returns the surfaces, one or two, and code that makes the last one; ``axes`` are the
    names of the chart's.
    """
    with PROOF["proof"].draw(st) as fold:
        cells = PROOF["proof_cells"].draw(st)
        if not fold.open:
            return
        compared, code = make()
        requests = tuple(ProofRequest(each.surface, cells) for each in compared)
        proofs, job = PROOFS.fetch_all(requests)
        if job is None:
            _draw_all(compared, requests, proofs, axes)
        else:
            PROOFS.watch(
                job, "Proving the sign of K", again="Prove it", bar=True,
                draw=lambda: _draw_all(compared, requests, PROOFS.so_far(requests), axes),
            )  # fmt: skip
        _draw_asides(compared, requests, proofs)
        st.code(results.code(*code, requests[-1]), language="python")


def _draw_all(
    compared: Sequence[Compared], requests: Sequence[ProofRequest], proofs: Proofs,
    axes: tuple[str, str],
) -> None:  # fmt: skip
    """Draw the proofs so far: one sentence for a flat surface, else a map and sentences."""
    if not proofs:
        st.caption(":material/hourglass: The first cells are being judged.")
    curved = []
    for each, request in zip(compared, requests, strict=True):
        proof = proofs.get(request)
        if proof is None:
            continue
        if isinstance(proof, NoProof):
            st.info(f"{each.name}: {results.no_proof_text(proof)}")
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
        with picture:
            draw_figure(
                "proved", (f"map_{index}", *request.key, proof.count),
                partial(results.proof_map, proof, axes), results.alt(each.name, proof),
                request in PROOFS.cached((request,)), width="content",
            )  # fmt: skip
        with text:
            _draw_text(each, proof)
            st.caption(results.cells_text(proof, request))


def _draw_text(each: Compared, proof: ProvedCurvature) -> None:
    """Draw the result of a proof as a sentence, and contradictions with measurements as errors."""
    total = results.total_sentence(proof, each.estimates.get("absolute"))
    st.markdown(f"**{each.name}:** {results.shares_text(proof)} {total}")
    (gaussian,) = each.measured.gaussian_where(each.measured.decided)
    points = results.contradicted(proof, each.measured.axis, np.asarray(gaussian))
    for text in results.contradictions(proof, each.estimates, points):
        st.error(f"**{each.name}.** {text}", icon=":material/error:")


def _draw_asides(
    compared: Sequence[Compared], requests: Sequence[ProofRequest], proofs: Proofs
) -> None:
    """Draw the explanation, and tables to save once a proof is there."""
    with st.container(horizontal=True):
        explain("proved curvature", beats(*section("proved", "explain").split("\n\n")),
                _draw_enclosure)  # fmt: skip
        for each, request in zip(compared, requests, strict=True):
            proof = proofs.get(request)
            if isinstance(proof, ProvedCurvature) and not proof.proof:
                draw_csv(f"Proved cells, {each.name[:1].lower()}{each.name[1:]}",
                         partial(results.cells_csv, proof))  # fmt: skip


def _draw_enclosure() -> None:
    st.plotly_chart(results.enclosure_figure(), alt=section("proved", "alt_enclosure"), config=BARE,
                    key="enclosure")  # fmt: skip
