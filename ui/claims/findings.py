"""The tab Findings: one line for each claim, and the chart and numbers that decide one of them."""

from __future__ import annotations

import json
from collections import Counter

import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.elements.plotly_chart import PlotlyState

from gating_core.claims import CLAIMS, CRITERIA, STUDY_VERSION, V1, V2, WORDS
from gating_core.claims.claim import EXPERIMENT
from gating_core.claims.text import counted, spans
from ui.claims import shared
from ui.claims.models import draw_model
from ui.claims.shared import BUNDLED, LIVE, JudgedStudy, Judgement, Source
from ui.common import charts as c
from ui.common.bar import PAGES
from ui.common.lessons import section
from ui.common.links import LINK
from ui.foreign import as_words

SIGNS: dict[str, str] = dict(zip(WORDS, "✓◐✗?", strict=True))
MEASURES = {"∫|K| dA": 1, "proxy": 0}  # C6's charts
SHOWN = {"what decides": False, "all variants": True}


def word_text(x: Judgement) -> str:
    """Return the verdict with its sign."""
    return f"{SIGNS[x.word]} **{x.word}**"


def finding_text(x: Judgement) -> str:
    """Say what was found of a claim, by its newest criteria, and where v1 found otherwise."""
    check = "" if x.kind == EXPERIMENT else f" ({x.kind}: a check of our code)"
    text = f"**{x.title}**{check}: {word_text(x)}, {x.evidence}"
    earlier = shared.frozen()["claims"].get(x.claim)
    if earlier is not None and earlier.word != x.word:
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
        st.markdown(count_text(judged))
        captions, names = [finding_text(x) for x in judged.claims.values()], tuple(CLAIMS)
        claim = st.radio("Claim", names, names.index("C4"), captions=captions, key="claim", **LINK)
        st.caption(rows_text(judged, bundled=not source.path))
    x, other = judged.claims[claim], shared.frozen()["claims"].get(claim)
    with right.container(gap="xsmall"):
        row = st.container(horizontal=True, vertical_alignment="bottom", key="criteria-row")
        if other is not None:
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
                x, other, source = other, x, Source()
        wide, number = False, 0
        if x.shown(wide=True):
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
        draw_claim(source, judged, x, other, x.shown(wide), number)
        if claim == "C6":
            st.page_link(
                PAGES["Curved or bent?"].path,
                label="Together is not because: a price on curvature, *Curved or bent?*",
                icon=":material/arrow_forward:",
                query_params={"bent_tab": "Price"},
            )
    draw_numbers(x)


def draw_claim(
    source: Source,
    judged: JudgedStudy,
    x: Judgement,
    other: Judgement | None,
    charts: list[dict],
    number: int,
) -> None:
    """Draw the chart that decides, the verdict with its numbers, and the clicked model.

    ``other`` is the verdict by the other criteria, if there is one.
    """
    st.markdown(f"**{x.claim}: {x.rule['The claim']}**")
    if not charts:
        about = CRITERIA[x.criteria]
        st.info(
            f"There is no chart of {x.claim} yet. {x.sentences} Criteria {about.name} decide on"
            f" the seeds {spans(about.seeds)}."
        )
        return
    chart = charts[min(number, len(charts) - 1)]
    figure, verdict = go.Figure(json.loads(chart["text"])), f"{word_text(x)}: {x.sentences}"
    if chart["wide"]:  # the chart is higher than a screen
        st.markdown(verdict)
    event = st.plotly_chart(
        c.in_type_of_page(figure),
        key=f"claims_chart_{x.claim}_{x.criteria}_{number}_{chart['wide']}",
        alt=chart["alt"],
        on_select="rerun",
        selection_mode="points",
        config={"displayModeBar": False},
    )
    if not chart["wide"]:
        st.markdown(verdict)
    for text in [] if source.path else shared.frozen()["captions"].get(x.claim, []):
        st.caption(text)
    for over, found in judged.reported.items():
        if x.claim in found:
            word, evidence, seeds = found[x.claim]
            st.markdown(  # a verdict as the one above: the two may part
                "*In the setting that readers of the paper report, n = 8 and D = 64* (seeds"
                f" {seeds}; {over}, one layer): {SIGNS[word]} **{word}**, {evidence}."
            )
    if other is not None:
        st.caption(
            f"*Criteria {other.criteria}* ({CRITERIA[other.criteria].date}, seeds"
            f" {spans(other.seeds) or '–'}): {word_text(other)}: {other.evidence}."
        )
    saved = c.Charts("claims")
    saved.figures[f"{x.claim}_chart"] = figure
    saved.tables[f"{x.claim}_numbers"] = {k: [row[k] for row in x.table] for k in x.table[0]}
    saved.tables["findings"] = {
        "claim": [*judged.claims],
        "verdict": [found.word for found in judged.claims.values()],
        "evidence": [found.evidence for found in judged.claims.values()],
    }
    criteria = section(
        "claims",
        "criteria",
        v1_date=V1.date,
        v2_date=V2.date,
        v1_seeds=spans(V1.seeds),
        v2_seeds=spans(V2.seeds),
    )
    saved.draw_footer(f"{chart['explanation']}\n\n{criteria}")
    draw_clicked(source, event)


def count_text(judged: JudgedStudy) -> str:
    """Say how many experiments got which word, and how many claims could not have failed."""
    counts = Counter(x.word if x.kind == EXPERIMENT else x.kind for x in judged.claims.values())
    return f"**{', '.join(f'{count} {word}' for word, count in counts.most_common())}**"


def draw_clicked(source: Source, event: PlotlyState) -> None:
    """Draw the model behind a clicked point."""
    data = [point.get("customdata") for point in event["selection"]["points"]] if event else []
    keys = [str(key[0] if isinstance(key, (list, tuple)) else key) for key in data]
    models = shared.models(source) if keys else {}
    behind = [models[key] for key in keys if key in models]
    if behind:
        draw_model(behind[0])
    elif keys:
        st.caption("This point is no trained model.")


def draw_numbers(x: Judgement) -> None:
    """Draw the whole rule, every number, and what is missing."""
    fold = st.expander(
        "The rule, all numbers of the claim, and what is missing",
        key="numbers",
        on_change="rerun",
        **LINK,
    )
    about, frozen = CRITERIA[x.criteria], shared.frozen()
    fold.markdown(
        f"**The rule of {x.claim}, criteria {about.name}, preregistered on {about.date}.**"
        f" {x.rule['The verdict']}"
    )
    if not fold.open:
        return
    if x.claim in frozen["claims"] and about is V1:
        fold.markdown(
            f"**Frozen.** Commit `{frozen['decided'][:8]}` decided this verdict, which is kept as"
            f" data. Commit `{frozen['code'][:8]}` still has the code that computes it."
        )
    for name, text in x.rule.items():
        if name != "The verdict":
            fold.markdown(f"**{name}.** {text}")
    fold.dataframe(x.table, hide_index=True)
    if x.gaps:
        fold.markdown("**Models that are missing.** " + as_words("; ".join(x.gaps)) + ".")


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
