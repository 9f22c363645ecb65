"""The parts of the page of claims, and what is fetched for them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.elements.plotly_chart import PlotlyState

from gating_core.claims import ModelRow, Refused, TextTable
from ui.claims import measured, words
from ui.claims.controls import CLAIMED, choose_claim
from ui.claims.request import HERE, StudyRequest, model_link
from ui.claims.running import Status, store_path
from ui.claims.sources import FILES, ClaimPicture, JudgedStudy, Judgement, Source, file_bytes
from ui.common.lessons import section
from ui.common.parts import explain
from ui.components.rows import rows
from ui.foreign import as_words
from ui.work import pool

CHART = "claims_chart"
MODELS_SHOWN = 400  # pixels of the table of models
NO_MODE_BAR = {"displayModeBar": False}


@dataclass(frozen=True, eq=False)
class ClaimsResult:
    """What there is to show: verdicts, and from which rows they follow."""

    request: StudyRequest
    source: Source
    judged: JudgedStudy
    note: str = ""

    @property
    def claim(self) -> Judgement:
        """The chosen one, in the chosen edition where it has two."""
        return self.judged.of(self.request.claim, self.request.edition)

    @property
    def other(self) -> Judgement | None:
        """The same claim in the other edition."""
        both = (self.judged.claims[self.request.claim], self.judged.second.get(self.request.claim))
        return next((one for one in both if one not in (None, self.claim)), None)

    @property
    def picture(self) -> tuple[int, ClaimPicture] | None:
        """The picture that decides the claim, and its number among them."""
        pictures = self.claim.shown(self.request.wide)
        if not pictures:
            return None
        number = min(self.request.measure, len(pictures) - 1)
        return number, pictures[number]


def fetch(request: StudyRequest, status: Status) -> ClaimsResult:
    """Return the verdicts of the requested rows, or of the shipped ones where there are none."""
    note = ""
    if request.rows == HERE and not store_path().exists():
        note = "No study has been run here yet."
    elif request.rows == HERE:
        source, judged = measured.source_of(HERE, status), None
        try:
            if not status.lives:
                judged = measured.judged(source)
            elif newest := measured.judged_so_far(source):
                source, judged = newest
        except Refused as error:
            note = f"The rows here cannot be read: {error}."
        if judged is not None and (judged.model_count or judged.stack_count):
            return ClaimsResult(request, source, judged)
        first = ": the first are being computed" * status.lives
        none = f"The study here has no rows yet{first}."
        note = note or (none if judged else "The rows here are being judged.")
    note = f"{note} Shown: the shipped rows." if note else ""
    return ClaimsResult(request, Source(), measured.judged(Source()), note)


def draw_table(result: ClaimsResult) -> None:
    """Draw claim, evidence and verdicts of all seven, and the rule of the chosen one."""
    if result.note:
        st.caption(f":material/info: {result.note}")
    chosen, judged = result.request.claim, result.judged
    rows(
        key="claims_table", label="Claims: choose one",
        columns=("Claim", "Evidence", "First edition", "Second"),
        cells={
            name: (words.claim_text(one), judged.newest(name).evidence,
                   words.verdict_cell(one), words.verdict_cell(judged.second.get(name)))
            for name, one in judged.claims.items()
        },
        chosen=chosen, on_choose=choose_claim,
    )  # fmt: skip
    st.caption(words.rule_text(result.claim))
    st.caption(words.rows_text(judged, shipped=not result.source.path))


def draw_picture(result: ClaimsResult) -> None:
    """Draw the picture that decides, the sentence with its numbers, and the clicked model."""
    one = result.claim
    st.markdown(f"**{one.claim}: {one.rule['The claim']}**")
    shown = result.picture
    if shown is None:
        st.info(f"There is no picture of {one.claim} yet. {one.sentences}")
        return
    number, picture = shown
    dark = st.context.theme.type == "dark"
    figure = measured.chart(result.source, one, number, picture, dark)
    above, below = st.container(), st.container()
    chart, text = (below, above) if picture.wide else (above, below)  # wide: higher than a screen
    event = chart.plotly_chart(
        figure, key=f"{CHART}_{one.claim}_{one.edition}_{number}_{picture.wide}", alt=picture.alt,
        on_select="rerun", selection_mode="points", config=NO_MODE_BAR,
    )  # fmt: skip
    text.markdown(f"{words.SIGNS[one.word]} **{one.word}**: {one.sentences}")
    counts = None if result.source.path else measured.proof_counts_of(one.claim)
    if counts and (proved := words.proved_text(one.claim, counts)):
        text.caption(proved)
    if result.other is not None:
        text.caption(words.other_text(result.other))
    with text.container(horizontal=True):
        explain(f"{one.claim}, {picture.title}", picture.explain)
        with st.popover("Two editions of the rules", icon=":material/rule:"):
            st.markdown(words.editions_text())
    _draw_clicked(result, event)


def _draw_clicked(result: ClaimsResult, event: PlotlyState) -> None:
    """Draw the model behind a point."""
    points = event["selection"]["points"] if event else []
    data = (point.get("customdata") for point in points)
    keys = [str(each[0] if isinstance(each, (list, tuple)) else each) for each in data]
    models = measured.models(result.source) if keys else {}
    behind = [models[key] for key in keys if key in models]
    for row in behind[:1]:
        draw_model(row)
    if keys and not behind:
        st.caption("This point is no trained model.")


def draw_model(row: ModelRow) -> None:
    """Draw one model's numbers, and the link to it."""
    st.markdown(words.model_text(row))
    st.page_link(
        "pages/2_Decision_boundary.py", icon=":material/gesture:", query_params=model_link(row),
        label="This model on *Decision boundary*", help=section("claims", "link"),
    )  # fmt: skip


def draw_numbers(result: ClaimsResult) -> None:
    """Draw every number of the claim."""
    fold = CLAIMED["numbers"].draw(st)
    if not fold.open:
        return
    one = result.claim
    for about, text in one.rule.items():
        fold.markdown(f"**{about}.** {text}")
    fold.markdown(f"**What would change it.** {one.changes}")
    _draw_rows(fold, one.table)
    if one.gaps:
        fold.markdown("**Models that are not there.** " + as_words("; ".join(one.gaps)) + ".")


def draw_models(result: ClaimsResult) -> None:
    """Draw all trained models as a table to choose from."""
    fold = CLAIMED["models"].draw(st)
    if not fold.open:
        return
    trained = sorted(
        measured.models(result.source).values(),
        key=lambda row: (row.task, row.part, row.depth, row.values, row.variant, row.seed),
    )
    event = fold.dataframe(
        [
            {"task": row.task, "variant": row.variant, "seed": row.seed, "setting": row.part,
             "depth": row.depth, "n": row.values, "accuracy": row.test_accuracy,
             "∫|K| dA": row.total_curvature, "±": row.total_error,
             "complete": row.total_complete, "proxy": row.proxy, "error": row.error}
            for row in trained
        ],
        hide_index=True, height=MODELS_SHOWN, key="claims_models", on_select="rerun",
        selection_mode="single-row",
    )  # fmt: skip
    chosen = event["selection"]["rows"]
    with fold:
        if chosen and chosen[0] < len(trained):
            draw_model(trained[chosen[0]])
        else:
            st.caption("Choose a row to open its model, or click a point of the picture.")


def draw_accuracies(result: ClaimsResult) -> None:
    """Draw the mean accuracies of all tasks and variants."""
    fold = CLAIMED["accuracies"].draw(st)
    if fold.open:
        fold.caption(section("claims", "accuracies"))
        _draw_rows(fold, result.judged.accuracies)


def _draw_rows(where: DeltaGenerator, table: TextTable) -> None:
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    where.dataframe(rows, hide_index=True)


def draw_report(result: ClaimsResult) -> None:
    """Draw the buttons of the files to download, which are made on a click."""
    fold = CLAIMED["report"].draw(st)
    if not fold.open:
        return
    fold.caption(section("claims", "report"))
    with fold.container(horizontal=True):
        for name, mime in FILES.items():
            st.download_button(
                name, partial(pool.POOL.call, file_bytes, result.source, name), name, mime,
                key=f"claims_{name}", on_click="ignore", icon=":material/download:",
            )  # fmt: skip
