"""The tab Eviction: the keys that a cache with a budget keeps, and the cost in loss."""

from __future__ import annotations

import streamlit as st

from gating_core.left_out_at_work import (
    LONGEST,
    POLICIES,
    SHORTEST_CACHE,
    Evicted,
    EvictionRequest,
    Identity,
    Searched,
    check_identity,
    evict,
    search,
)
from ui.common.control_table import read
from ui.common.language_models import TITLES, UNGATED
from ui.common.lessons import section
from ui.common.parts import chart_columns, draw_csv
from ui.left_out import eviction_picture, eviction_words, measured
from ui.left_out.controls import EVICTION_CONTROLS, draw_specimen
from ui.left_out.line_chart import Line
from ui.left_out.parts import draw_explanation, draw_titled
from ui.left_out.request import HEAD, EvictionSelection, LeftOutSelection
from ui.work.cache import NUMBERS_CACHE, cached

STEPS = (2, 4, 8, 16, 32, 64)  # budgets of the head's curves, beside the selected one


@cached("Letting keys leave one by one …")
def evicted(selection: LeftOutSelection, request: EvictionRequest) -> Evicted:
    """Evict keys of a head, or of tokens: a tenth of a second to a second."""
    budgets = tuple(sorted({*STEPS, request.budget}))
    return evict(measured.specimen(selection), request, budgets)


@cached("Trying every subset of twelve keys …")
def searched(selection: LeftOutSelection) -> Searched:
    """Return the best subsets of few keys: some tenths of a second."""
    return search(measured.specimen(selection))


@cached()
def identity(selection: LeftOutSelection) -> Identity:
    """Return the check of the identity for one key."""
    return check_identity(measured.specimen(selection))


@cached(on=NUMBERS_CACHE)
def losses(gated: str) -> dict[str, eviction_words.Losses]:
    """Return losses above the full cache by title, policy and budget; the ungated first."""
    seeds = measured.seeds(gated)
    return {TITLES[name]: {policy: eviction_words.losses_above(measured.tables(name, seeds), policy)
                           for policy in POLICIES}
            for name in (UNGATED, gated)} if seeds else {}  # fmt: skip


def draw_eviction() -> None:
    """Draw the keys that stay and the losses; below them errors of this head."""
    selection, columns = draw_specimen([3, 3, 3, 2], LONGEST)
    for control, column in zip(EVICTION_CONTROLS.values(), columns[1:], strict=True):
        control.draw(column)
    request = read(EVICTION_CONTROLS, EvictionSelection).request
    text = selection.text_with_break if selection.kind == HEAD else None
    if len(measured.specimen(selection).values) < SHORTEST_CACHE:
        st.info(section("left_out", "evict_short", least=SHORTEST_CACHE, less=SHORTEST_CACHE - 1))
        return
    of, few = evicted(selection, request), searched(selection)
    index = of.budgets.tolist().index(request.budget)
    head = eviction_words.head_text(of, request, index)
    reading = eviction_words.reading_text(of)
    key = selection, request
    above = losses(selection.gated)
    gate, protection = _gate_texts(above, selection, request)
    st.markdown(gate)
    draw_titled(("evict_strip", *key),
                lambda: eviction_picture.strip_chart(of, request.protects, text), head)  # fmt: skip
    st.markdown(f"{head} {reading}")
    first = chart_columns("kept", 3)
    with first[0]:
        draw_titled(("evict_reading", *key), lambda: eviction_picture.reading_chart(of), reading)
    if above:
        with first[1]:
            _draw_gate(above, selection.gated, request, gate)
        with first[2]:
            _draw_protection(above, selection, protection)
    else:
        first[1].info(section("left_out", "no_measurements"))
    line, over_texts = _over_texts(selection, request)
    searching = eviction_words.search_text(few)
    second = chart_columns("errors", [4, 4, 3])
    with second[0]:
        draw_titled(("evict_errors", *key), lambda: eviction_picture.error_chart(of, line),
                    f"{head} {over_texts}".strip())  # fmt: skip
    with second[1]:
        if above:
            _draw_losses(above, selection)
    with second[2]:
        draw_titled(("evict_search", selection), lambda: eviction_picture.search_chart(few),
                    searching)  # fmt: skip
    st.markdown(" ".join(filter(None, [
        over_texts, eviction_words.identity_text(identity(selection)), searching, protection,
        eviction_words.cost_text(of.length, request.budget),
    ])))  # fmt: skip
    with st.container(horizontal=True):
        draw_explanation("eviction", "eviction", budget=request.budget, prefill=of.prefill)
        draw_csv("Kept keys", lambda: eviction_words.kept_csv(of))
        draw_csv("Eviction errors", lambda: eviction_words.errors_csv(of, few))
        draw_csv("Eviction losses", lambda: eviction_words.losses_csv(above))


def _over_texts(selection: LeftOutSelection, request: EvictionRequest) -> tuple[Line | None, str]:
    """Return the line and the sentence of a head's errors over all measured texts, if there are.

    They are measured with the gate as it was trained.
    """
    table = measured.table().get(selection.model)
    if selection.kind != HEAD or selection.dialled != 1 or table is None:
        return None, ""
    policy = eviction_words.measured_policy(request)
    errors, half_widths = eviction_words.errors_over_texts(table, policy, selection.layer_and_head)
    texts = len(table["eviction.counts"])
    budget = eviction_words.measured_budget(request.budget)
    return (eviction_picture.texts_line(errors, half_widths, texts),
            eviction_words.over_texts_text(errors, half_widths, texts, policy, budget))  # fmt: skip


def _draw_losses(above: dict[str, eviction_words.Losses], selection: LeftOutSelection) -> None:
    """Draw the losses of all policies for the selected models."""
    title = TITLES[selection.name]
    draw_titled(("evict_losses", title),
                lambda: eviction_picture.loss_chart(above[title], POLICIES),
                section("left_out", "alt_evict_losses", models=title), models=title)  # fmt: skip


def _draw_gate(
    above: dict[str, eviction_words.Losses], gated: str, request: EvictionRequest, text: str
) -> None:
    """Draw the losses of the policy without and with a gate."""
    policy = eviction_words.measured_policy(request)
    lines = {title: of[policy] for title, of in above.items()}
    draw_titled(("evict_gate", gated, policy, request.budget),
                lambda: eviction_picture.pair_chart(lines, request.budget), text,
                policy=POLICIES[policy].title)  # fmt: skip


def _draw_protection(
    above: dict[str, eviction_words.Losses], selection: LeftOutSelection, text: str
) -> None:
    """Draw the losses of one policy with nothing protected and with half of the budget."""
    title = TITLES[selection.name]
    lines = {POLICIES[name].title: above[title][name] for name in ("mass_unprotected", "mass")}
    draw_titled(("evict_protect", title), lambda: eviction_picture.pair_chart(lines), text,
                models=title)  # fmt: skip


def _gate_texts(
    above: dict[str, eviction_words.Losses], selection: LeftOutSelection, request: EvictionRequest
) -> tuple[str, str]:
    """Return whether a gate makes the cache cheaper, and what protection is worth."""
    if not above:
        return section("left_out", "no_measurements"), ""
    seeds = measured.seeds(selection.gated)
    with_gate, without = (measured.tables(name, seeds) for name in (selection.gated, UNGATED))
    policy = eviction_words.measured_policy(request)
    budget = eviction_words.measured_budget(request.budget)
    saves = eviction_words.gate_saves(with_gate, without, policy, budget)
    lines = {title: of[policy] for title, of in above.items()}
    shown = without if selection.name == UNGATED else with_gate
    protection = eviction_words.protection_saves(shown, "mass", budget)
    return (eviction_words.loss_text(lines, saves, policy, budget),
            eviction_words.protection_text(protection, budget, TITLES[selection.name]))  # fmt: skip
