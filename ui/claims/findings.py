"""The tab Findings: one line for each claim, and the chart and numbers that decide one of them."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.elements.plotly_chart import PlotlyState

from gating_core.claims import CLAIMS, CRITERIA, STUDY_VERSION, V1, V2, ProofCounts, SignedModel
from gating_core.claims.claim import EXPERIMENT, WORDS
from gating_core.claims.further import REPORTED, TOKENS
from gating_core.claims.further import SEEDS as FURTHER_SEEDS
from gating_core.claims.text import counted, signed, spans
from ui.claims import shared
from ui.claims.models import draw_model
from ui.claims.shared import (
    BUNDLED,
    LIVE,
    FurtherVerdicts,
    JudgedStudy,
    Judgement,
    Source,
)
from ui.common import charts as c
from ui.common.formatting import percent
from ui.common.lessons import section
from ui.common.links import LINK
from ui.foreign import as_words

SIGNS: dict[str, str] = dict(zip(WORDS, "✓◐✗?", strict=True))
MEASURES = {"∫|K| dA": 1, "proxy": 0}  # C6's charts
SHOWN = {"what decides": False, "all variants": True}


def choose_claim(judged: JudgedStudy) -> str:
    """Draw a line for each claim, with what was found; return the chosen one."""
    captions = [finding_text(one) for one in judged.claims.values()]
    return st.radio(
        "Claim", tuple(CLAIMS), tuple(CLAIMS).index("C4"), captions=captions, key="claim", **LINK
    )


def finding_text(one: Judgement) -> str:
    """Say what was found of a claim, by its newest criteria, and where v1 found otherwise."""
    check = "" if one.kind == EXPERIMENT else f" ({one.kind}: a check of our code)"
    text = f"**{one.title}**{check}: {SIGNS[one.word]} **{one.word}**, {one.evidence}"
    earlier = shared.frozen().claims.get(one.claim)
    if earlier is not None and earlier.word != one.word:
        text += f" (criteria {earlier.criteria}: {SIGNS[earlier.word]} {earlier.word})"
    return text


def choose_rows() -> str:
    """Draw the choice of the rows that verdicts use."""
    return st.radio(
        "Rows",
        (BUNDLED, LIVE),
        key="rows",
        horizontal=True,
        **LINK,
        help="A row has the results of one model. Bundled: the rows of both preregistered studies."
        " Live: the rows of studies on this server, also while one runs.",
    )


def draw(
    left: DeltaGenerator, right: DeltaGenerator, source: Source, judged: JudgedStudy, note: str
) -> None:
    """Draw the list of findings at the ``left``, and what decides one of them at the ``right``."""
    with left:
        if note:
            st.caption(f":material/info: {note}")
        claim = choose_claim(judged)
        st.caption(rows_text(judged, bundled=not source.path))
    with right.container(gap="xsmall"):
        row = st.container(horizontal=True, vertical_alignment="bottom", key="criteria-row")
        one, earlier = judged.claims[claim], shared.frozen().claims.get(claim)
        if earlier is not None:
            version = row.radio(
                "Criteria",
                [V2.name, V1.name],
                key="criteria",
                horizontal=True,
                help="Preregistered rules of the verdict. Three were changed after the results of"
                " v1 had been read. v2 decides on new seeds, trained after its rules were"
                " written.",
                **LINK,
            )
            if version == V1.name:  # its rows are bundled
                one, earlier, source = earlier, one, Source()
        wide, number = False, 0
        if one.has_wide:
            wide = SHOWN[
                row.radio(
                    "Show",
                    [*SHOWN],
                    key="show",
                    horizontal=True,
                    **LINK,
                    help="The sigmoid gate decides the verdict. The other gates and the controls"
                    " show what else can explain a gain.",
                )
            ]
        elif claim == "C6":
            number = MEASURES[
                row.radio(
                    "Measure",
                    [*MEASURES],
                    key="measure",
                    horizontal=True,
                    help="Accuracy is compared with the total absolute curvature, or with the"
                    " paper's proxy for local nonlinearity.",
                    **LINK,
                )
            ]
        draw_claim(source, judged, one, earlier, wide, number)
    draw_numbers(one)


def draw_claim(
    source: Source,
    judged: JudgedStudy,
    one: Judgement,
    other: Judgement | None,
    wide: bool,
    number: int,
) -> None:
    """Draw the chart that decides, the verdict with its numbers, and the clicked model.

    ``other`` is the verdict by the other criteria, if there is one.
    """
    st.markdown(f"**{one.claim}: {one.rule['The claim']}**")
    charts = one.shown(wide)
    if not charts:
        about = CRITERIA[one.criteria]
        st.info(
            f"There is no chart of {one.claim} yet. {one.sentences} Criteria {about.name} decide on"
            f" the seeds {spans(about.seeds)}."
        )
        return
    chart = charts[min(number, len(charts) - 1)]
    verdict = f"{SIGNS[one.word]} **{one.word}**: {one.sentences}"
    if wide:  # the chart is higher than a screen
        st.markdown(verdict)
    figure = chart.figure
    event = st.plotly_chart(
        c.in_type_of_page(figure),
        key=f"claims_chart_{one.claim}_{one.criteria}_{number}_{wide}",
        alt=chart.alt,
        on_select="rerun",
        selection_mode="points",
        config={"displayModeBar": False},
    )
    if not wide:
        st.markdown(verdict)
    counts = None if source.path else shared.proof_counts_of(one.claim)
    if counts is not None and counts.models:
        st.caption(f"{proved_text(one.claim, counts)} {signs_text(shared.signed())}")
    if not source.path:
        for text in further_texts(one.claim, shared.further()):
            st.caption(text)
    if other is not None:
        st.caption(
            f"*Criteria {other.criteria}* ({CRITERIA[other.criteria].date}, seeds"
            f" {spans(other.seeds) or '–'}): {SIGNS[other.word]} **{other.word}**:"
            f" {other.evidence}."
        )
    saved = c.Charts("claims")
    saved.figures[f"{one.claim}_chart"] = figure
    saved.tables[f"{one.claim}_numbers"] = {
        name: [row[index] for row in one.table.rows] for index, name in enumerate(one.table.columns)
    }
    saved.tables["findings"] = {
        "claim": [*judged.claims],
        "verdict": [found.word for found in judged.claims.values()],
        "evidence": [found.evidence for found in judged.claims.values()],
    }
    saved.draw_footer(f"{chart.explanation}\n\n{criteria_text()}")
    draw_clicked(source, event)


def draw_clicked(source: Source, event: PlotlyState) -> None:
    """Draw the model behind a clicked point."""
    points = event["selection"]["points"] if event else []
    data = (point.get("customdata") for point in points)
    keys = [str(key[0] if isinstance(key, (list, tuple)) else key) for key in data]
    models = shared.models(source) if keys else {}
    behind = [models[key] for key in keys if key in models]
    if behind:
        draw_model(behind[0])
    elif keys:
        st.caption("This point is no trained model.")


def draw_numbers(one: Judgement) -> None:
    """Draw the whole rule, every number, and what is missing."""
    fold = st.expander(
        "The rule, all numbers of the claim, and what is missing",
        key="numbers",
        on_change="rerun",
        **LINK,
    )
    about = CRITERIA[one.criteria]
    fold.markdown(
        f"**The rule of {one.claim}, criteria {about.name}, preregistered on {about.date}.**"
        f" {one.rule['The verdict']}"
    )
    if not fold.open:
        return
    if one.claim in shared.frozen().claims and about is V1:
        fold.markdown(frozen_text())
    for name, text in one.rule.items():
        if name != "The verdict":
            fold.markdown(f"**{name}.** {text}")
    fold.markdown(f"**What would change it.** {one.changes}")
    rows = [dict(zip(one.table.columns, row, strict=True)) for row in one.table.rows]
    fold.dataframe(rows, hide_index=True)
    if one.gaps:
        fold.markdown("**Models that are missing.** " + as_words("; ".join(one.gaps)) + ".")


def criteria_text() -> str:
    """Say what the two criteria are, and what is a check of our code."""
    return section(
        "claims",
        "criteria",
        v1_date=V1.date,
        v2_date=V2.date,
        v1_seeds=spans(V1.seeds),
        v2_seeds=spans(V2.seeds),
    )


def frozen_text() -> str:
    """Say where the verdicts by criteria v1 come from."""
    frozen = shared.frozen()
    return (
        f"**Frozen.** Commit `{frozen.decided[:8]}` decided this verdict, which is kept as data."
        f" Commit `{frozen.code[:8]}` still has the code that computes it."
    )


def proved_text(claim: str, counts: ProofCounts) -> str:
    """Say what is proved of single models beside C1 or C2."""
    gated = claim == "C2"
    text = (
        f"*Also proved.* {counts.models:,} of the {counts.trained:,}"
        f" {'gated models' if gated else 'models without a gate'} with seeds {spans(counts.seeds)}"
        " came out the same when they were trained again. Of these"
    )
    if not gated:
        return (
            f"{text}, {counts.flat:,} are flat on the whole chart, by the theorem about fixed"
            f" values, and {counts.curved:,} have a cell on which K ≠ 0."
        )
    return (
        f"{text}, {counts.curved:,} are curved, and {counts.positive:,} have a cell on which"
        f" K > 0. The sign of K is proved on {percent(counts.median)} of the chart for the median"
        f" model, and on {percent(counts.least)} for the worst."
    )


def signs_text(models: Sequence[SignedModel]) -> str:
    """Say which sign of K the theorem about four keys gives ungated models on the query chart."""
    same = [one for one in models if one.same]
    up, down = (sum(one.sign == sign for one in same) for sign in (1, -1))
    return (
        f"On the *query chart* {len(same):,} of the {len(models):,} ungated models with n = 4 came"
        f" out the same: there K > 0 everywhere in {up:,} and K < 0 everywhere in {down:,}, without"
        " a gate, by the theorem about four keys."
    )


def further_texts(claim: str, found: FurtherVerdicts) -> list[str]:
    """Say what was found beside C3, C4 or C5 on seeds of their own."""
    texts, seeds, sink = [], spans(FURTHER_SEEDS), found.sink
    if claim == "C4":
        texts.append(
            f"*A learned sink logit in the gate's place* (seeds {seeds}): {SIGNS[sink.word]}"
            f" **{sink.word}**, better than no gate on {sink.ahead} of {sink.tasks} tasks,"
            f" {signed(sink.least)} to {signed(sink.greatest)} points; it reaches most of the"
            f" gate's gain on {sink.most}, and the gate is significantly ahead of it on"
            f" {sink.gate_ahead}."
        )
    for question, source in {REPORTED: "slots", TOKENS: "tokens"}.items():
        if claim in found.reported[question]:
            word, _, summary = found.reported[question][claim].partition(", ")
            texts.append(
                f"*As reported by readers: n = 8, D = 64* (seeds {seeds}; {source}, one layer):"
                f" {SIGNS[word]} **{word}**, {summary}."
            )
    return texts


def rows_text(judged: JudgedStudy, bundled: bool) -> str:
    """Say which rows the verdicts use, of which version, and how many models are excluded."""
    models, stacks = judged.model_count, judged.stack_count
    text = (
        f"Rows: {counted(models, 'trained model')} and {counted(stacks, 'stack')}, seeds"
        f" {spans(judged.seeds) or '–'}, {BUNDLED if bundled else 'trained here'}."
    )
    if judged.code and judged.code != STUDY_VERSION:
        text += (
            f" They are of version {judged.code} of the study; version {STUDY_VERSION} runs here. A"
            " new run adds its own rows and keeps these."
        )
    elif judged.code:
        text += f" Version {judged.code} of the study"
        text += "; recomputed single layers are the same." if bundled else "."
    if judged.set_aside:
        text += f" Excluded: {counted(judged.set_aside, 'model')}. They have another version or"
        text += " number of steps than most, or were trained twice."
    return text
