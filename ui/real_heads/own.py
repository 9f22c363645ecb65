"""The tab Your own model: a checkpoint named on the command line, one layer at a time."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gating_core.checkpoints import FAMILIES, Checkpoint, file_stamp, open_checkpoint
from gating_core.real_heads import (
    MOST_TOKENS,
    STATES,
    TEXTS,
    Dial,
    HeadChart,
    OwnLayer,
    OwnRequest,
    check_size,
    dial_own,
    has_states,
    measure_own,
    open_own,
)
from ui.common import charts as c
from ui.common.formatting import short
from ui.common.lessons import section, sections
from ui.common.links import LINK, link_value
from ui.components.heads import Head, Wall
from ui.foreign import as_code, error_words, printable
from ui.limits import OPENED_CHECKPOINTS, OWN_CHARACTERS
from ui.real_heads.gates import draw_dial
from ui.real_heads.shared import (
    Arrays,
    Three,
    choose_chart,
    dealt_sentence,
    draw_wall,
    drawn_words,
    interval_sentence,
    linked_head,
    twins_sentence,
)
from ui.work import jobs, pool
from ui.work.cache import CACHE, NUMBERS_CACHE, cached
from ui.work.jobs import Jobs

FIRST_TEXT = next(iter(TEXTS.values()))[:226]  # two sentences
COMMAND = "streamlit run app.py -- --checkpoint DIR"


def run(request: OwnRequest) -> Iterator[Any]:
    """Measure a layer in a worker."""
    return pool.POOL.stream(measure_own, request)


OWN: Jobs[OwnRequest, OwnLayer] = Jobs("own_heads", run, CACHE, expected=(ImportError, ValueError))


def named_folders(arguments: list[str]) -> list[Path]:
    """Return the folders that a command line names with ``--checkpoint``."""
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False, allow_abbrev=False)
    parser.add_argument("--checkpoint", action="append", default=[], type=os.path.abspath)
    try:
        named = parser.parse_known_args(arguments)[0].checkpoint
        return [Path(folder) for folder in dict.fromkeys(named)]
    except argparse.ArgumentError:
        return []


@lru_cache(maxsize=OPENED_CHECKPOINTS)
def opened(folder: Path, _stamp: tuple[int, ...]) -> Checkpoint | str:
    """Open a checkpoint, or say in a sentence why it cannot be read."""
    try:
        checkpoint = open_checkpoint(folder)
        check_size(checkpoint)
    except ValueError as error:
        return error_words(error)
    return checkpoint


def draw() -> None:
    """Draw the tab."""
    folders = named_folders(sys.argv[1:])
    families = ", ".join(sorted({family.title for family in FAMILIES.values()}))
    if not folders:
        st.markdown(section("real_heads", "own"))
        st.code(COMMAND, language="bash")
        st.markdown(
            section("real_heads", "own_files", families=families, states=STATES, tokens=MOST_TOKENS)
        )
        st.code(example("DIR"), language="python")
        return
    checkpoints: dict[str, Checkpoint] = {}
    for folder in folders:
        found = opened(folder, file_stamp(folder))
        if isinstance(found, str):
            st.error(f"{as_code(folder.name)}: {found}.")
        else:
            copies = sum(other.digest == found.digest for other in checkpoints.values())
            checkpoints[found.digest + (f"-{copies + 1}" if copies else "")] = found
    if checkpoints:
        draw_checkpoint(checkpoints)


def draw_checkpoint(checkpoints: dict[str, Checkpoint]) -> None:
    """Draw controls, the job, and the heads of one layer.

    The keys are digests, which are kept in links; of copies they are numbered.
    """
    names = [checkpoint.folder.name for checkpoint in checkpoints.values()]
    row = st.container(horizontal=True, vertical_alignment="bottom")
    first = next(iter(checkpoints))
    linked = link_value("own_model", lambda x: x if x in checkpoints else None, first, first)

    def named(key: str) -> str:
        """The folder's name, with that of its parent where another one has the same."""
        folder = checkpoints[key].folder
        several = names.count(folder.name) > 1
        name = f"{folder.parent.name}/{folder.name}" if several else folder.name
        return f"{printable(name)} ({checkpoints[key].title})"

    chosen = row.selectbox(
        "Checkpoint",
        [*checkpoints],
        [*checkpoints].index(linked),
        key="own_choice",
        width=280,
        format_func=named,
        on_change=_to_link,
    )
    if st.query_params.get("own_model") != chosen:  # results are those of one checkpoint
        st.query_params["own_model"] = chosen
    checkpoint = checkpoints[chosen]
    layers = checkpoint.attention_layers
    layer = row.selectbox("Layer", [n + 1 for n in layers], key="own_layer", width=110, **LINK)
    special = row.toggle("Special tokens as keys", key="own_special", **LINK)
    text = ""
    if not has_states(checkpoint):
        if not (checkpoint.has_tokenizer and checkpoint.has_forward):
            st.info(section("real_heads", "own_states", title=checkpoint.title, states=STATES))
            st.code(example(checkpoint.folder.name, layer - 1, text=None), language="python")
            return
        text = st.text_input("Text", FIRST_TEXT, max_chars=OWN_CHARACTERS, key="own_text", **LINK)
    if not (text or has_states(checkpoint)):
        st.info("Type a text of at least three tokens.")
        return
    request = OwnRequest(
        str(checkpoint.folder),
        checkpoint.digest,
        layer - 1,
        text,
        special,
        file_stamp(checkpoint.folder),
    )
    with jobs.dock(OWN.name, (request,)):
        result, job = OWN.fetch(request)
        if job is not None:
            OWN.watch(job, f"Measuring {checkpoint.heads} heads", again="Measure")
    if result is not None:
        draw_layer(row, checkpoint, request, result)


def _to_link() -> None:
    st.query_params["own_model"] = st.session_state["own_choice"]


def draw_layer(
    row: DeltaGenerator, checkpoint: Checkpoint, request: OwnRequest, result: OwnLayer
) -> None:
    """Draw the heads of a layer, their table, and the lines of Python that give the same.

    The controls of an open head are drawn in the ``row``.
    """
    hint = f"Layer {request.layer + 1} of {checkpoint.folder.name}. Click a window to open a head."
    wall, found, keys = own_wall(request, result), result.measures, result.keys
    opened = linked_head("own", (1, checkpoint.heads))
    three, chart = (keys[0], keys[len(keys) // 2], keys[-1]), None
    if opened and len(keys) >= 3:
        chart = choose_chart([row, row], "own", opened, wall, three, partial(open_on, request))
    draw_wall(wall, found, None, hint, opened, chart, "own")
    st.markdown(
        f"**{twins_sentence(found)}** {keys_text(request, result)}{interval_sentence(found)}"
        f" {dealt_sentence(found)}"
    )
    charts = c.Charts("own_heads")
    charts.tables["heads"] = columns(result)
    head = opened[1] if opened else 0
    if "ungated" in found:
        st.markdown(gate_sentence(found["ungated"], found["total"]))
        draw_gate(charts, request, head, [wall.words[token] for token in three])
    with st.expander("The same from the library", key="own_code", on_change="rerun", **LINK):
        text = None if has_states(checkpoint) else request.text
        st.code(
            example(checkpoint.folder.name, request.layer, head, request.special, text),
            language="python",
        )
    charts.draw_footer(section("real_heads", "heads"))


@cached()
def own_wall(request: OwnRequest, _result: OwnLayer) -> Wall:
    """Return what is drawn of a layer."""
    words, glued = drawn_words(_result.tokens.words)
    charts = _result.charts
    return Wall(
        charts.scores,
        charts.values,
        charts.states,
        [str(request.layer + 1)],
        words,
        glued,
        _result.tokens.special,
        charts.ranks,
        _result.keys,
        charts.norms,
    )


def draw_gate(charts: c.Charts, request: OwnRequest, head: int, three: list[str]) -> None:
    """Draw totals by λ of a head's own gate, if it has one; ``three`` words span a chart."""
    try:
        dial = dial_of(request, head)
    except ValueError as error:
        st.info(f"The gate of head {head + 1} is not drawn: {error_words(error)}.")
        return
    if dial is not None:
        st.markdown(f"##### The gate of head {head + 1}")
        draw_dial(charts, dial, three, "its own gate")


def keys_text(request: OwnRequest, result: OwnLayer) -> str:
    """Say which tokens are attended to, for a text with special tokens."""
    if not any(result.tokens.special):
        return ""
    return f"{'With' if request.special else 'Without'} special tokens among the keys. "


@cached("Measuring curvature …", on=NUMBERS_CACHE)
def open_on(request: OwnRequest, opened: Head, kind: str, three: Three) -> tuple[HeadChart, Arrays]:
    """Return a head on a plane through three tokens."""
    return pool.POOL.call(open_own, request, opened[1], kind, three, rank=pool.Rank.BRIEF)


@cached("Measuring curvature …", on=NUMBERS_CACHE)
def dial_of(request: OwnRequest, head: int) -> Dial | None:
    """Return the totals of a head by λ of its own gate."""
    return pool.POOL.call(dial_own, request, head, rank=pool.Rank.BRIEF)


def gate_sentence(without: np.ndarray, gated: np.ndarray) -> str:
    """Compare totals (1, H) without and with the heads' own gate."""
    raised, (before, after) = int((gated > without).sum()), map(np.median, (without, gated))
    return (
        f"The model’s own gate raises ∫|K| dA on query planes in {raised} of {gated.size} heads and"
        f" lowers it in {int((gated < without).sum())}; medians {short(float(before))} without it,"
        f" {short(float(after))} with it. Surfaces are drawn without it, numbers are with it."
    )


def columns(result: OwnLayer) -> dict[str, list[str]]:
    """Return the measures of all heads as a table: columns by name."""
    heads = [str(n + 1) for n in range(result.measures["total"].shape[1])]
    table = {"head": heads}
    for name, array in result.measures.items():
        rows = [array] if array.ndim == 2 else list(array)
        for number, row in enumerate(rows):
            title = name if array.ndim == 2 else f"{name.replace('_', ' ')} of twin {number}"
            table[title] = [short(float(x)) if name != "error" else f"{x:.3g}" for x in row[0]]
    return table


def example(
    folder: str, layer: int = 0, head: int = 0, special: bool = False, text: str | None = FIRST_TEXT
) -> str:
    """Return ten lines of Python that give the total of one head; no ``text``: of given states."""
    lines = sections("real_heads")
    keys = "None" if special else "[i for i, x in enumerate(tokens.special) if not x]"
    fields = {
        "FOLDER": repr(folder),
        "LAYER": layer,
        "HEAD": head,
        "KEYS": keys,
        "TEXT": repr(text),
        "MOST": MOST_TOKENS,
        "FILE": STATES,
    }
    read = lines["own_code_states" if text is None else "own_code_text"]
    return re.sub(
        "|".join(fields),
        lambda found: str(fields[found[0]]),
        lines["own_code"].replace("READ", read),
    )
