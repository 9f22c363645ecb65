"""The page of claims: what is fetched for it, and how it is laid out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import streamlit as st

from gating_core.claims import ModelRow, Refused, code_version
from ui.claims import measured, words
from ui.claims.controls import CLAIMED, choose_claim, is_dark
from ui.claims.judged import FILES, Judged, Judgement, Picture, Source
from ui.claims.request import HERE, SHIPPED, Request, model_link
from ui.claims.running import Status
from ui.common.explain import explain
from ui.components.rows import rows
from ui.foreign import as_words

CHART = "claims_chart"
MODELS_SHOWN = 400  # pixels of the table of models
PLAIN = {"displayModeBar": False}


@dataclass(frozen=True, eq=False)
class Found:
    """What there is to show, from which rows, and what is said of them."""

    asked: Request
    status: Status
    source: Source
    judged: Judged
    where: str
    note: str = ""

    @property
    def claim(self) -> Judgement:
        """The chosen one."""
        return self.judged.claims[self.asked.claim]

    @property
    def picture(self) -> tuple[int, Picture] | None:
        """The one that decides the claim, and its place among the pictures."""
        pictures = self.claim.shown(self.asked.wide)
        if not pictures:
            return None
        place = min(self.asked.measure, len(pictures) - 1)
        return place, pictures[place]


def fetch(asked: Request, status: Status) -> Found:
    """The verdicts of the rows that were asked for; where there are none, of those shipped."""
    note = ""
    if asked.rows == HERE and not measured.has_rows():
        note = "No study has been run here yet."
    elif asked.rows == HERE:
        source = measured.source_of(HERE, status)
        try:
            source, judged = _judged(source, status)
            if judged is None or (status.lives and not _any(judged)):
                note = "The first rows of the study here are on their way."
            elif _any(judged):
                return Found(asked, status, source, judged, "trained here")
            else:
                note = "The study here has no rows yet."
        except Refused as error:
            note = f"The rows here cannot be read: {error}."
    source = Source()
    return Found(asked, status, source, measured.judged(source), SHIPPED,
                 f"{note} Shown: the shipped rows." if note else "")  # fmt: skip


def _any(judged: Judged) -> bool:
    return bool(judged.model_count or judged.stack_count)


def _judged(source: Source, status: Status) -> tuple[Source, Judged | None]:
    """Of a running study what is there by now."""
    if status.lives:
        return measured.judged_so_far(source) or (source, None)
    return source, measured.judged(source)


def draw_table(found: Found) -> None:
    """Claim, evidence and verdict of all seven, and the rule of the chosen one."""
    if found.note:
        st.caption(f":material/info: {found.note}")
    chosen = found.asked.claim
    rows(
        key="claims_table", label="Claims: choose one", columns=("Claim", "Evidence", "Verdict"),
        cells={
            name: (f"{name} {one.title}", one.evidence,
                   f"{words.SIGNS[one.word]}\u00a0{one.word}")
            for name, one in found.judged.claims.items()
        },
        chosen=chosen, on_choose=choose_claim,
    )  # fmt: skip
    rule = found.claim.rule
    st.caption(f"**The rule of {chosen}, written before the numbers.** {rule['The verdict']}")
    judged = found.judged
    st.caption(
        " ".join([
            words.rows_text(judged.model_count, judged.stack_count, judged.seeds, judged.code,
                            found.where),
            words.aside_text(judged.set_aside), words.code_text(judged.code, code_version()),
        ])
    )  # fmt: skip


def draw_picture(found: Found) -> None:
    """The picture that decides, the sentence with its numbers, and the model that was clicked."""
    one = found.claim
    st.markdown(f"**{one.claim}: {one.rule['The claim']}**")
    shown = found.picture
    if shown is None:
        st.info(f"There is no picture of {one.claim} yet. {one.sentences}")
        return
    place, picture = shown
    figure = measured.chart(found.source, one.claim, place, picture, is_dark())
    drawn, told = st.container(), st.container()
    if picture.wide:  # which is higher than a screen
        drawn, told = told, drawn
    event = drawn.plotly_chart(
        figure, key=f"{CHART}_{one.claim}_{place}_{picture.wide}", alt=picture.alt,
        on_select="rerun", selection_mode="points", config=PLAIN,
    )  # fmt: skip
    told.markdown(f"{words.SIGNS[one.word]} **{one.word}**: {one.sentences}")
    with told.container(horizontal=True):
        explain(f"{one.claim}, {picture.title}", picture.explain)
    _draw_clicked(found, event)


def _draw_clicked(found: Found, event: object) -> None:
    """The model behind a point."""
    points = event["selection"]["points"] if event else ()  # type: ignore[index]
    keys = [point.get("customdata") for point in points]
    models = measured.models(found.source) if keys else {}
    behind = [models[key] for key in map(_key, keys) if key in models]
    for row in behind[:1]:
        draw_model(row)
    if keys and not behind:
        st.caption("No trained model stands behind this point.")


def _key(customdata: object) -> str:
    return str(customdata[0] if isinstance(customdata, (list, tuple)) else customdata)


def draw_model(row: ModelRow) -> None:
    """One model's numbers, and the way to it."""
    st.markdown(words.model_text(row))
    st.page_link(
        "pages/2_Decision_boundary.py", icon=":material/gesture:", query_params=model_link(row),
        label="This model on *Decision boundary*", help=words.LINK_TEXT,
    )  # fmt: skip


def draw_numbers(found: Found) -> None:
    """Every number of the claim."""
    fold = CLAIMED["numbers"].draw(st)
    if not fold.open:
        return
    one = found.claim
    for about, text in one.rule.items():
        fold.markdown(f"**{about}.** {text}")
    fold.markdown(f"**What would change it.** {one.changes}")
    fold.dataframe(
        [dict(zip(one.table.columns, row, strict=True)) for row in one.table.rows],
        hide_index=True,
    )
    if one.gaps:
        fold.markdown("**Models that are not there.** " + as_words("; ".join(one.gaps)) + ".")


def draw_models(found: Found) -> None:
    """All trained models as a table to choose from."""
    fold = CLAIMED["models"].draw(st)
    if not fold.open:
        return
    trained = sorted(
        measured.models(found.source).values(),
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
            st.caption("Choose a row to open its model; or click a point of the picture.")


def draw_accuracies(found: Found) -> None:
    """Ours beside others."""
    fold = CLAIMED["accuracies"].draw(st)
    if not fold.open:
        return
    fold.markdown(found.judged.compared)
    table = found.judged.compared_table
    if table is not None:
        fold.table([dict(zip(table.columns, row, strict=True)) for row in table.rows],
                   hide_index=True)  # fmt: skip


def draw_report(found: Found) -> None:
    """Files to take home, made when they are asked for."""
    fold = CLAIMED["report"].draw(st)
    if not fold.open:
        return
    fold.caption(
        "The report holds verdicts, rules, pictures, numbers, settings, versions and seeds; the"
        " HTML file needs no network. The other files hold every row with all digits."
    )
    with fold.container(horizontal=True):
        for name, mime in FILES.items():
            st.download_button(
                name, partial(measured.file, found.source, name), name, mime,
                key=f"claims_{name}", on_click="ignore", icon=":material/download:",
            )  # fmt: skip
