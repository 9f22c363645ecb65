"""The tab Eviction: the keys that a cache with a budget keeps, and the cost in loss."""

from __future__ import annotations

from contextlib import nullcontext

import streamlit as st

import gating_core.left_out_at_work as core
from ui.common.control_table import read
from ui.common.language_models import TITLES
from ui.common.lessons import section
from ui.common.parts import chart_columns, draw_csv
from ui.left_out import eviction_results as results
from ui.left_out import measured
from ui.left_out.controls import EVICTION_CONTROLS, draw_specimen
from ui.left_out.line_chart import Line
from ui.left_out.parts import draw_explanation, draw_titled
from ui.left_out.request import HEAD, LeftOutSelection
from ui.left_out.words import gate_saves, nearest
from ui.work.cache import NUMBERS_CACHE, cached

STEPS = (2, 4, 8, 16, 32, 64)  # budgets of the head's curves, beside the selected one


@cached("Letting keys leave one by one …")
def evicted(selection: LeftOutSelection, request: core.EvictionRequest) -> core.Evicted:
    """Evict keys of a head, or of tokens: a tenth of a second to a second."""
    budgets = tuple(sorted({*STEPS, request.budget}))
    return core.evict(measured.specimen(selection), request, budgets)


@cached("Trying every subset of twelve keys …")
def searched(selection: LeftOutSelection) -> core.Searched:
    """Return the best subsets of few keys: some tenths of a second."""
    return core.search(measured.specimen(selection))


@cached()
def identity(selection: LeftOutSelection) -> core.Identity:
    """Return the check of the identity for one key."""
    return core.check_identity(measured.specimen(selection))


@cached(on=NUMBERS_CACHE)
def losses(gated: str) -> dict[str, results.ByPolicy]:
    """Return losses above the full cache by title, policy and budget; the ungated first."""
    return {title: {policy: results.losses_of(tables, policy).above(core.BUDGETS)
                    for policy in core.POLICIES}
            for title, tables in measured.tables(gated).items()}  # fmt: skip


def draw_eviction() -> None:
    """Draw the keys that stay and the losses; below them errors of this head."""
    selection, columns = draw_specimen([3, 3, 3, 2], core.LONGEST)
    for control, column in zip(EVICTION_CONTROLS.values(), columns[1:], strict=True):
        control.draw(column)
    request = read(EVICTION_CONTROLS, core.EvictionRequest)
    text = selection.text_with_break if selection.kind == HEAD else None
    if len(measured.specimen(selection).values) < core.SHORTEST_CACHE:
        st.info(
            section(
                "left_out", "evict_short", least=core.SHORTEST_CACHE, less=core.SHORTEST_CACHE - 1
            )
        )
        return
    of, few = evicted(selection, request), searched(selection)
    index = of.budgets.tolist().index(request.budget)
    head = results.head_text(of, request, index)
    reading = results.reading_text(of)
    key = selection, request
    above, title = losses(selection.gated), TITLES[selection.name]
    gate, protection = _gate_texts(selection, request)
    st.markdown(gate)
    draw_titled(nullcontext(), ("evict_strip", *key),
                lambda: results.strip_chart(of, request.protects, text), head)  # fmt: skip
    st.markdown(f"{head} {reading}")
    first = chart_columns("kept", 3)
    draw_titled(first[0], ("evict_reading", *key),
                lambda: results.reading_chart(of), reading)  # fmt: skip
    if above:
        policy = results.measured_policy(request)
        of_policy = {name: by_policy[policy] for name, by_policy in above.items()}
        draw_titled(first[1], ("evict_gate", selection.gated, policy, request.budget),
                    lambda: results.pair_chart(of_policy, request.budget), gate,
                    policy=core.POLICIES[policy].title)  # fmt: skip
        by_mass = {core.POLICIES[name].title: above[title][name]
                   for name in ("mass_unprotected", "mass")}  # fmt: skip
        draw_titled(first[2], ("evict_protect", title),
                    lambda: results.pair_chart(by_mass), protection,
                    models=title)  # fmt: skip
    else:
        first[1].info(section("left_out", "no_measurements"))
    line, over_texts = _over_texts(selection, request)
    searching = results.search_text(few)
    second = chart_columns("errors", [4, 4, 3])
    draw_titled(second[0], ("evict_errors", *key), lambda: results.error_chart(of, line),
                f"{head} {over_texts}".strip())  # fmt: skip
    if above:
        draw_titled(second[1], ("evict_losses", title),
                    lambda: results.loss_chart(above[title]),
                    section("left_out", "alt_evict_losses", models=title),
                    models=title)  # fmt: skip
    draw_titled(second[2], ("evict_search", selection),
                lambda: results.search_chart(few), searching)  # fmt: skip
    st.markdown(" ".join(filter(None, [
        over_texts, results.identity_text(identity(selection)), searching, protection,
        results.cost_text(of.length, request.budget),
    ])))  # fmt: skip
    with st.container(horizontal=True):
        draw_explanation("eviction", "eviction", budget=request.budget, prefill=of.prefill)
        draw_csv("Kept keys", lambda: results.kept_csv(of))
        draw_csv("Eviction errors", lambda: results.errors_csv(of, few))
        draw_csv("Eviction losses", lambda: results.losses_csv(above))


def _over_texts(
    selection: LeftOutSelection, request: core.EvictionRequest
) -> tuple[Line | None, str]:
    """Return the line and the sentence of a head's errors over all measured texts, if there are.

    They are measured with the gate as it was trained.
    """
    table = measured.table().get(selection.model)
    if selection.kind != HEAD or selection.dialled != 1 or table is None:
        return None, ""
    policy = results.measured_policy(request)
    errors, half_widths = results.errors_over_texts(table, policy, selection.layer_and_head)
    texts = len(table["eviction.counts"])
    budget = nearest(core.BUDGETS, request.budget)
    return (results.texts_line(errors, half_widths, texts),
            results.over_texts_text(errors, half_widths, texts, policy, budget))  # fmt: skip


def _gate_texts(selection: LeftOutSelection, request: core.EvictionRequest) -> tuple[str, str]:
    """Return whether a gate makes the cache cheaper, and what protection is worth."""
    tables, title = measured.tables(selection.gated), TITLES[selection.name]
    if not tables:
        return section("left_out", "no_measurements"), ""
    policy = results.measured_policy(request)
    budget = nearest(core.BUDGETS, request.budget)
    ungated, gated = (results.losses_of(of, policy) for of in tables.values())
    saves = gate_saves(gated, ungated, core.BUDGETS.index(budget))
    of_policy = {name: of[policy] for name, of in losses(selection.gated).items()}
    protection = results.protection_saves(tables[title], budget)
    return (results.loss_text(of_policy, saves, policy, budget),
            results.protection_text(protection, budget, title))  # fmt: skip
