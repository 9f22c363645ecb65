"""The tab Your own model: any module of a model that is named on the command line."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import streamlit as st

from gating_core.real_heads import (
    TEXTS,
    OwnModel,
    OwnRequest,
    OwnText,
    WithTwin,
    file_stamp,
    measure_own,
    open_own,
)
from ui.common.formatting import final_total_text, percent, verdict_text
from ui.common.lessons import explain, section, sections
from ui.common.links import LINK
from ui.common.page import draw_finding
from ui.components.pair import Pair
from ui.foreign import as_words, printable
from ui.limits import OWN_CHARACTERS
from ui.real_heads.shared import draw_surfaces, drawn_words, pair_of, total_text
from ui.work import jobs, pool
from ui.work.cache import CACHE, cached

FIRST_TEXT = next(iter(TEXTS.values()))[:103].rstrip(", ")  # to a comma
COMMAND = "streamlit run app.py -- --model FOLDER"
NOTEBOOK = Path(__file__).resolve().parents[2] / "examples" / "your_model.ipynb"
PLANES = PRINCIPAL, THREE = "principal plane", "three tokens"
MOVES = {"the token": "token", "its query alone": "query"}
WHOLE = "the whole model"


def stream(function: Any) -> Any:
    """Return what runs ``function`` of a request in a worker."""

    def run(request: Any) -> Iterator[Any]:
        return pool.POOL.stream(function, request)

    return run


EXPECTED = (ImportError, ValueError)
MODEL: jobs.Jobs[OwnText, OwnModel] = jobs.Jobs("own_model", stream(open_own), CACHE, EXPECTED)
SURFACE: jobs.Jobs[OwnRequest, WithTwin] = jobs.Jobs(
    "own_module", stream(measure_own), CACHE, EXPECTED
)


def named_folder(arguments: list[str]) -> Path | None:
    """Return the folder that a command line names with ``--model``, the last one."""
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False, allow_abbrev=False)
    parser.add_argument("--model", type=os.path.abspath)
    try:
        found = parser.parse_known_args(arguments)[0].model
    except argparse.ArgumentError:
        return None
    return None if found is None else Path(found)


def draw() -> None:
    """Draw the tab."""
    folder = named_folder(sys.argv[1:])
    draw_finding(section("real_heads", "own_finding"), lead=section("real_heads", "own"))
    if folder is None:
        st.code(COMMAND, language=None)
        st.markdown(section("real_heads", "own_library"))
        st.code(example(), language="python")
        st.download_button("Notebook your_model.ipynb", NOTEBOOK.read_bytes(), NOTEBOOK.name,
                           key="own_notebook", icon=":material/menu_book:")  # fmt: skip
        return
    row = st.container(horizontal=True, vertical_alignment="bottom")
    words = st.text_input("Text", FIRST_TEXT, max_chars=OWN_CHARACTERS, key="own_text", **LINK)
    text = OwnText(str(folder), file_stamp(folder), words)
    with jobs.dock(MODEL.name, (text,)):
        model, job = MODEL.fetch(text)
        if job is not None:
            MODEL.watch(job, f"Loading {printable(folder.name)}", again="Load")
    if model is None:
        return
    with row:
        request = choose(text, model)
    if request is None:
        return
    with jobs.dock(SURFACE.name, (request,)):
        result, running = SURFACE.fetch(request)
        if running is not None:
            SURFACE.watch(running, "Measuring the module", again="Measure")
    if result is not None:
        draw_result(request, result)
    with st.expander("The same from the library", key="own_code", on_change="rerun", **LINK):
        st.code(example(folder.name, request), language="python")


def choose(text: OwnText, model: OwnModel) -> OwnRequest | None:
    """Draw the controls; return what they ask for, or ``None`` where three tokens are missing."""
    modules = {printable(name) or WHOLE: name for name, _ in model.modules}
    words = [f"{i} {printable(word)}" for i, word in enumerate(drawn_words(model.words)[0])]
    module = st.selectbox("Module", [*modules], [*modules.values()].index(first_module(model)),
                          key="own_module", width=360, help=section("real_heads", "own_modules"),
                          **LINK)  # fmt: skip
    token = st.selectbox("Token", words, len(words) // 2, key="own_token", width=140, **LINK)
    plane = st.selectbox("Plane of its state", PLANES, key="own_plane", width=170, **LINK)
    moves = st.selectbox("What moves", [*MOVES], key="own_moves", width=170,
                         help=section("real_heads", "own_moves"), **LINK)  # fmt: skip
    residual = st.toggle("Residual", key="own_residual", **LINK)
    three = None
    if plane == THREE:
        first = [words[0], words[len(words) // 2], words[-1]]
        chosen = st.multiselect("Its three tokens", words, first, key="own_three",
                                max_selections=3, **LINK)  # fmt: skip
        if len(chosen) < 3:
            st.info("Choose three tokens.")
            return None
        a, b, c = map(words.index, chosen)
        three = (a, b, c)
    return OwnRequest(text, modules[module], words.index(token), three, MOVES[moves], residual)


def first_module(model: OwnModel) -> str:
    """Return the first attention with none within, or the model itself."""
    attentions = [name for name, kind in model.modules if "Attention" in kind]
    innermost = (
        name for name in attentions if not any(x.startswith(f"{name}.") for x in attentions)
    )
    return next(innermost, "")


def draw_result(request: OwnRequest, result: WithTwin) -> None:
    """Draw the surface beside its twin's, the finding and what is to be said of them."""
    draw_surfaces(
        picture(request, result),
        result,
        f"{request.module} {request.token}",
        finding(request.module or WHOLE, result),
    )
    shares = [x.share for x in (result.own, result.twin) if x is not None]
    shown = " and ".join(map(percent, shares))
    st.caption(f"First three principal components, {shown} of the variance of the outputs.")
    for note in result.notes:
        st.caption(as_words(note[:1].upper() + note[1:]))
    explain("these surfaces", section("real_heads", "own_surfaces"))


@cached()
def picture(request: OwnRequest, _result: WithTwin) -> Pair:
    """Return both surfaces as they are drawn."""
    return pair_of({"The module": _result.own, "Random queries and keys": _result.twin})


def finding(name: str, result: WithTwin) -> tuple[str, str]:
    """Say how the module curves and bends, and what of that is left without what it learned."""
    own, twin = result.own, result.twin
    says = f"{printable(name)} is {verdict_text(own.verdict)}."
    rest = f"∫|K| dA = {total_text(own)}"
    if twin is not None:
        rest += f", with random queries and keys, each head as sharp, {total_text(twin)}"
    rest += f"; bending ∫|II|² dA = {final_total_text(own.bending, False)}."
    return says, rest + " No attention that can be followed, so no twin." * (twin is None)


def example(folder: str = "FOLDER", request: OwnRequest | None = None) -> str:
    """Return lines of Python that measure the module and its twin."""
    options = ""
    if request is not None:
        options += f", plane={request.three}" if request.three else ""
        options += f", moves={request.moves!r}" if request.moves != "token" else ""
        options += ", residual=True" if request.residual else ""
    fields = {
        "FOLDER": repr(folder),
        "MODULE": repr("encoder.layer.0.attention.self" if request is None else request.module),
        "TOKEN": str(7 if request is None else request.token),
        "TEXT": repr(FIRST_TEXT if request is None else request.text.text),
        "OPTIONS": options,
    }
    return re.sub("|".join(fields), lambda x: fields[x[0]], sections("real_heads")["own_code"])
