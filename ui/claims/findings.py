"""The tab Findings: a row for each claim; an open one has its chart, and how it was decided."""

from __future__ import annotations

import json
from base64 import b64encode
from collections import Counter

import plotly.graph_objects as go
import streamlit as st
from streamlit.elements.plotly_chart import PlotlyState

from gating_core.claims import STUDY_VERSION, V1, V2, WORDS, Word
from gating_core.claims.claim import CONSTRUCTION, EXPERIMENT, THEOREM
from gating_core.claims.text import counted, listed, spans
from ui.claims import shared
from ui.claims.charts import small_plot
from ui.claims.models import Rows, draw_model
from ui.claims.shared import BUNDLED, LIVE, JudgedStudy, Judgement, Source
from ui.common import charts as c
from ui.common.bar import PAGES
from ui.common.lessons import section
from ui.common.links import LINK, link_value, put_in_link
from ui.common.page import draw_finding
from ui.common.take_along import offered
from ui.foreign import as_words

CSS = shared.HERE / "findings.css"
SIGNS: dict[str, str] = dict(zip(WORDS, "✓◐✗?", strict=True))
SHOWN_BY_NONE = "○"
COLOURS = {  # of a sign, in Markdown and in pictures
    "✓": ("green", "#2a9d63"), "◐": ("orange", "#d97706"), "✗": ("red", "#d13b3b"),
    SHOWN_BY_NONE: ("gray", c.GREY), "?": ("gray", c.GREY),
}  # fmt: skip
INK = {"light": "#17191d", "dark": "#e9ebf1"}  # by theme, of words in a picture
# What the charts of a claim show, where there are two: the parameter of the link, and its values.
WIDE, MEASURE = ("show", ("what decides", "all variants")), ("measure", ("proxy", "∫|K| dA"))


def draw() -> tuple[Source, JudgedStudy]:
    """Draw the rows, and return of what they are. Which one is open stands in the link alone."""
    st.html(CSS)
    place = st.container(gap="xsmall", key="verdicts")
    choice = st.radio(
        "Rows of models",
        (BUNDLED, LIVE),
        key="rows",
        horizontal=True,
        **LINK,
        help="A row has the results of one model. Bundled: the rows of the preregistered studies."
        " Live: the rows of C1 to C7 of studies on this server, also while one runs.",
    )
    source, judged, note = shared.fetch(choice)
    key = f"{section('claims', 'pictures')} {rows_text(judged, bundled=not source.path)}"
    claim = link_value("claim", lambda text: text if text in judged.claims else None, "", "none")
    saved, found = c.Charts("claims"), judged.claims.values()
    saved.tables["findings"] = {
        "claim": [x.claim for x in found],
        "verdict": [x.word for x in found],
        "number": [" ".join((x.brief["number"], x.brief["note"])) for x in found],
        "evidence": [x.evidence for x in found],
    }
    groups = {sign: [x for x in found if sign_of(x) == sign] for sign in COLOURS}
    told = ", ".join(
        f":{COLOURS[sign][0]}[{sign}\u00a0{count}\u00a0{word}]"
        for sign, group in groups.items()
        for word, count in Counter(
            x.brief["answer"] or x.word for x in group if x.kind == EXPERIMENT
        ).items()
    )
    theorem, made = (
        listed(x.claim for x in found if x.kind == kind) for kind in (THEOREM, CONSTRUCTION)
    )
    draw_finding(f"{told}; {theorem} is a theorem, and {made} holds by construction.")
    with place:
        if note:
            st.caption(f":material/info: {note}")
        for sign, group in groups.items():
            with st.container(gap="xxsmall", key=f"verdicts-{[*COLOURS].index(sign)}"):
                for x in group:
                    draw_row(saved, source, judged, x, x.claim == claim)
        st.markdown(f":small[{key}]")
    saved.offer()
    offered().charts[f"{LIVE if source.path else BUNDLED} rows"] = Rows(source)
    return source, judged


def draw_row(
    saved: c.Charts, source: Source, judged: JudgedStudy, x: Judgement, is_open: bool
) -> None:
    """Draw the row of a claim."""
    key = f"claim_{x.claim}"
    saved.tables[f"{x.claim}_numbers"] = {
        title: [row[title] for row in x.table] for title in next(iter(x.table), ())
    }
    st.session_state[key] = is_open
    row = st.expander(row_text(x), key=key, on_change=_turn, args=(x.claim,))
    if row.open:
        with row:
            draw_claim(saved, source, judged, x)


def _turn(name: str) -> None:
    """Open the row, which closes the other, or close it."""
    put_in_link(claim=name if st.session_state[f"claim_{name}"] else "")


def word_text(x: Judgement) -> str:
    """Return the verdict with its sign."""
    return f"{SIGNS[x.word]} **{x.word}**"


def sign_of(x: Judgement) -> str:
    """Return the sign of the verdict, or of the answer that stands for it."""
    return SHOWN_BY_NONE if x.brief["answer"] else SIGNS[x.word]


def row_text(x: Judgement) -> str:
    """Return a row as Markdown: claim, verdict, number with its note, picture; `findings.css`."""
    sign, word = sign_of(x), x.brief["answer"] or x.word
    if x.kind != EXPERIMENT and x.word == Word.SUPPORTED:
        word = x.kind
    badge, colour = COLOURS[sign]
    plot = small_plot(x.brief, colour, INK[st.context.theme.type or "light"])
    plot = b64encode(plot.encode()).decode()
    return (
        f"**{x.claim} {x.title}** :{badge}-badge[{sign} {word}] ***{x.brief['number']}**"
        f" {x.brief['note']}* ![{x.evidence}](data:image/svg+xml;base64,{plot})"
    )


def draw_claim(saved: c.Charts, source: Source, judged: JudgedStudy, x: Judgement) -> None:
    """Draw the chart of an open claim beside its verdict; below, folded, how it was decided."""
    other, place = shared.frozen()["claims"].get(x.claim), st.container()
    fold = st.expander("How decided", key="numbers", on_change="rerun", **LINK)
    choices = fold.container(horizontal=True, key="criteria-row")
    if other is not None:
        version = choices.radio(
            "Criteria",
            [V2.name, V1.name],
            key="criteria",
            horizontal=True,
            help="Preregistered rules of the verdict. Three were changed after the results of v1"
            " had been read. v2 decides on new seeds, trained after its rules were written.",
            **LINK,
        )
        if version == V1.name:  # its rows are bundled
            x, other, source = other, x, Source()
    number = 0
    if len(x.charts) > 1:
        key, names = MEASURE if x.claim == "C6" else WIDE
        first = int(names is MEASURE[1])
        shown = choices.radio(key.title(), names, first, key=key, horizontal=True, **LINK)
        number = names.index(shown)
    with place:
        draw_verdict(saved, source, judged, x, other, number)
    with fold:
        draw_rule(x, bool(fold.open))


def draw_verdict(
    saved: c.Charts,
    source: Source,
    judged: JudgedStudy,
    x: Judgement,
    other: Judgement | None,
    number: int,
) -> None:
    """Draw chart ``number``, the verdict in sentences, and the clicked model.

    ``other`` is the verdict by the other criteria, if there is one.
    """
    left, right = st.columns([7, 5], gap="medium")
    explanation = section("claims", "price")
    with right:
        by = f" by criteria {x.criteria}" if other is not None else ""
        st.markdown(f"**{x.rule['The claim']}**\n\n{word_text(x)}{by}: {x.sentences}")
        if answer := x.brief.get("answer"):
            st.markdown(section("claims", "answer", answer=answer, word=x.word))
        for text in [] if source.path else shared.frozen()["captions"].get(x.claim, []):
            st.caption(text)
        for over, found in ({} if source.path else shared.frozen()["reported"]).items():
            if x.claim in found:
                word, evidence, seeds = found[x.claim]
                st.markdown(  # a verdict as the one above: the two may part
                    "*In the setting that readers of the paper report, n = 8 and D = 64* (seeds"
                    f" {seeds}; {over}, one layer): {SIGNS[word]} **{word}**, {evidence}."
                )
        if other is not None:
            st.caption(
                f"*Criteria {other.criteria}* ({other.date}, seeds {spans(other.seeds) or '–'}):"
                f" {word_text(other)}: {other.evidence}."
            )
    with left:
        if x.charts:
            chart = x.charts[number]
            figure, explanation = go.Figure(json.loads(chart["text"])), chart["explanation"]
            event = st.plotly_chart(
                c.in_type_of_page(figure),
                key=f"claims_chart_{x.claim}_{x.criteria}_{number}",
                alt=chart["alt"],
                on_select="rerun",
                selection_mode="points",
                config={"displayModeBar": False},
            )
            draw_clicked(source, event)
            saved.figures[f"{x.claim}_chart"] = figure
        elif x.claim in shared.PRICE_CLAIMS:
            tasks = dict.fromkeys(row["task"] for row in x.table)
            words = {y: [row["verdict"] for row in x.table if row["task"] == y] for y in tasks}
            dims = dict.fromkeys(row["D"] for row in x.table)
            saved.draw_table("words", st, "Verdicts by task and D", {"D": [*dims]} | words)
            st.page_link(
                PAGES["Curved or bent?"].path,
                label="Each of these with its chart and intervals: *Curved or bent?*, Price",
                icon=":material/arrow_forward:",
                query_params={"bent_tab": "Price"},
            )
        else:
            st.info(f"There is no chart yet. Criteria {x.criteria} decide on seeds {x.decide_on}.")
    saved.draw_footer(explanation)


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


def draw_rule(x: Judgement, is_open: bool) -> None:
    """Draw the whole rule, and in an open fold every number, and what is missing."""
    st.markdown(
        f"**The rule of {x.claim}, criteria {x.criteria}, preregistered on {x.date}, decides on"
        f" seeds {x.decide_on}.** {x.rule['The verdict']}"
    )
    if not is_open:
        return
    frozen = shared.frozen()
    if x.claim in frozen["claims"] and x.criteria == V1.name:
        st.markdown(
            f"**Frozen.** Commit `{frozen['decided'][:8]}` decided this verdict, which is kept as"
            f" data. Commit `{frozen['code'][:8]}` still has the code that computes it."
        )
    for name, text in x.rule.items():
        if name not in ("The verdict", "The claim"):
            st.markdown(f"**{name}.** {text}")
    st.dataframe(x.table, hide_index=True)
    if x.gaps:
        st.markdown("**Models that are missing.** " + as_words("; ".join(x.gaps)) + ".")
    if x.claim not in shared.PRICE_CLAIMS:
        dates = {"v1_date": V1.date, "v2_date": V2.date}
        seeds = {"v1_seeds": spans(V1.seeds), "v2_seeds": spans(V2.seeds)}
        st.markdown(section("claims", "criteria", **dates, **seeds))


def rows_text(judged: JudgedStudy, bundled: bool) -> str:
    """Say which rows the verdicts use, of which version, and how many models are excluded."""
    text = (
        f"C1 to C7: {counted(judged.model_count, 'trained model')} and"
        f" {counted(judged.stack_count, 'stack')}, seeds {spans(judged.seeds) or '–'},"
        f" {BUNDLED if bundled else 'trained here'}."
    )
    if judged.code:
        text += f" Version {judged.code} of the study."
    if judged.code not in ("", STUDY_VERSION):
        text += f" Version {STUDY_VERSION} runs here: a new run adds its own rows and keeps these."
    if judged.set_aside:
        text += f" Excluded: {counted(judged.set_aside, 'model')}. They have another version or"
        text += " number of steps than most, or were trained twice."
    return f"{text} C8 and C9: a study of its own, bundled."
