"""The tab Features: what the features of a dictionary answer to, and what writes along one."""

from __future__ import annotations

import streamlit as st

from ui.common.lessons import section
from ui.drawing.titled import titled
from ui.steering import features_picture, features_words, measured
from ui.steering.controls import FEATURE, FEATURE_ROWS, read_selection
from ui.steering.parts import STYLE, draw_csv, draw_explanation, draw_figure


def draw_features() -> None:
    """Draw all features of a layer, the passages of one, who writes along it, what it does."""
    st.html(STYLE)
    selection = read_selection(FEATURE_ROWS, steers=False)
    kinds = measured.dictionaries(selection.model, selection.layer)
    of, request = kinds[selection.shown_kind], selection.feature_request()
    passages = measured.strongest(request)
    sentence = features_words.feature_text(of, request.feature, passages)
    left, right = st.columns([6, 7])
    with left:
        draw_figure(("order", request),
                    lambda: titled(features_picture.order_chart(of, request.feature),
                                   section("steering", "head_order")), sentence,
                    on_select=_choose, selection_mode="points")  # fmt: skip
    head = f'<p class="gc-head">{section("steering", "head_passages")}</p>'
    right.html(head + features_words.passage_html(passages))
    right.markdown(sentence)
    parts, change = measured.along(request), measured.effect(request, selection.push)
    along = features_words.along_text(parts)
    effect = features_words.effect_text(change, selection.push)
    left, right = st.columns([6, 7])
    with left:
        draw_figure(("along", request), lambda: titled(features_picture.along_chart(parts),
                    section("steering", "head_along")), along)  # fmt: skip
    with right:
        draw_figure(("effect", request, selection.push),
                    lambda: titled(features_picture.effect_chart(change),
                                   section("steering", "head_effect")), effect)  # fmt: skip
    st.markdown(f"{along} {effect}")
    with st.container(key="steering_kinds"):
        st.markdown(features_words.kinds_table(kinds))
    st.markdown(features_words.kinds_text(kinds))
    with st.container(horizontal=True):
        for name, feature in (("Most Spanish", of.difference.argmax()),
                            ("Most English", of.difference.argmin())):  # fmt: skip
            st.button(name, icon=":material/target:", key=name.lower().replace(" ", "_"),
                      on_click=FEATURE["feature"].set, args=(int(feature) + 1,))  # fmt: skip
        draw_explanation("features", "features", letters=features_words.LETTERS,
                         pattern=f"{features_words.PATTERN:.0%}".replace("%", "\u00a0%"),
                         rest=features_words.error_text(parts.rest))  # fmt: skip
        draw_csv("Features", lambda: features_words.features_csv(kinds))
        draw_csv("Written along", lambda: features_words.along_csv(parts, change))


def _choose() -> None:
    """Choose the feature whose mark was clicked."""
    points = st.session_state["steering_order"].selection.points
    if points and "customdata" in points[0]:
        FEATURE["feature"].set(int(points[0]["customdata"][0]))
