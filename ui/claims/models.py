"""The tab Trained models: every row, a link to train its model again, and files to download."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from gating_core.claims import ModelRow, Selection
from gating_core.claims.study import UNIT_SEEDS
from gating_core.claims.text import number
from gating_core.experiments.comparison import Setting
from ui.claims import shared
from ui.claims.shared import JudgedStudy, Source
from ui.common.formatting import percent
from ui.common.lessons import section
from ui.foreign import as_words
from ui.work import pool

HEIGHT = 400  # pixels of the table
# The study tests on 1,000 points and the page on what is left of the train fraction, in steps of 4
# points and 5 %: these train on the same 256.
LINK_POINTS, LINK_SHARE = 1280, 0.2


def draw(source: Source, judged: JudgedStudy) -> None:
    """Draw the tab."""
    rows = sorted(
        shared.models(source).values(),
        key=lambda row: (row.task, row.part, row.depth, row.values, row.variant, row.seed),
    )
    event = st.dataframe(
        [
            {"task": row.task, "variant": row.variant, "seed": row.seed, "setting": row.part,
             "depth": row.depth, "n": row.values, "test accuracy": row.test_accuracy,
             "∫|K| dA (estimate)": row.total_curvature, "±": row.total_error,
             "complete": row.total_complete, "proxy": row.proxy, "error": row.error}
            for row in rows
        ],
        hide_index=True, height=HEIGHT, key="claims_models", on_select="rerun",
        selection_mode="single-row",
    )  # fmt: skip
    chosen = event["selection"]["rows"]
    if chosen and chosen[0] < len(rows):
        draw_model(rows[chosen[0]])
    else:
        st.caption("Choose a row to open its model, or click a point of a chart.")
    st.markdown("**Test accuracy by task and variant**")
    st.caption(section("claims", "accuracies"))
    st.dataframe(judged.accuracies, hide_index=True)
    st.caption(section("claims", "report"))


@dataclass(frozen=True)
class Rows:
    """All rows of a ``source``, as tables."""

    source: Source

    def csv_files(self) -> dict[str, str]:
        """Return them as CSV, by their names."""
        texts: dict[str, str] = pool.POOL.call(shared.csv_texts, self.source)
        return texts


def draw_model(row: ModelRow) -> None:
    """Draw one model's numbers, and the link to it."""
    st.markdown(model_text(row))
    st.page_link(
        "pages/2_Decision_boundary.py",
        icon=":material/gesture:",
        query_params=model_link(row),
        label="This model on *Decision boundary*",
        help=section("claims", "link"),
    )


def model_text(row: ModelRow) -> str:
    """Describe one trained model, with its numbers and their errors."""
    name = f"{row.task}, {row.variant}, seed {row.seed}"
    if (row.source, row.depth, row.values) != ("memory", 1, 3):
        name += f", {row.source}, depth {row.depth}, n = {row.values}"
    if row.part == "residual":
        name += ", residual"
    if row.error is not None:
        return f"**{name}**: {as_words(row.error)}"
    accuracy = "–" if row.test_accuracy is None else percent(row.test_accuracy)
    total = f"{number(row.total_curvature)} ± {number(row.total_error, '.2g')}"
    if row.lower_estimate:
        total += " (without its unresolved points)"
    elif row.total_complete is False:
        total += " (not known: the error is larger)"
    return (
        f"**{name}**: test accuracy {accuracy}; ∫|K| dA = {total} over the query chart; K > 0 is"
        f" established on {percent(row.positive_share or 0.0)} of the area."
    )


def model_link(row: ModelRow) -> dict[str, str]:
    """The parameters with which the Decision boundary page trains the model of ``row``."""
    (unit,) = Selection((row.task,), ("ungated",), ("base",), seed_count=1, steps=row.steps).units()
    base = unit.setting
    assert isinstance(base, Setting)
    right = "sigmoid" if row.variant == "ungated" else row.variant
    return {
        "data": row.task, "left": "ungated", "right": right, "steps": str(row.steps),
        "points": str(LINK_POINTS), "share": f"{LINK_SHARE:g}", "flip": f"{base.label_noise:g}",
        "decay": f"{base.weight_decay:g}", "from": row.source, "width": str(base.model_dim),
        "slots": str(row.values), "stack": str(row.depth),
        "skip": f"{row.part == 'residual'}".lower(), "seeds": str(UNIT_SEEDS),
        "first": str(row.seed // UNIT_SEEDS * UNIT_SEEDS), "who": "picked",
        "picked_seed": str(row.seed),
    }  # fmt: skip
