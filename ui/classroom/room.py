"""A class on *Learn*: what starts it, and what the teacher's and the projector's screen show.

    room = find_room()
    if room:
        draw_room(room)  # instead of the lesson's own question
    else:
        draw_ended()
        draw_start(questions, index)

The teacher's rights are a cookie, set by a route (`ui.classroom.routes`): they outlive a reload,
and whoever copies the address gets the projector's view, without buttons.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import streamlit as st

from ui.classroom.classes import (
    CLASSES,
    DOOR,
    END,
    ENDED,
    LETTERS,
    NEXT,
    REVEAL,
    Overview,
    Question,
    Refused,
    read_code,
)
from ui.classroom.routes import TEACHER, base_path
from ui.common.share import LOOPBACK, draw_qr, is_loopback, qr_svg
from ui.components.browser import leave_for
from ui.foreign import as_words
from ui.limits import CLASS_TOKEN_SECONDS

CLASS = "class"  # parameter of the link
EVERY_SECONDS = 1.0  # between two counts on the teacher's screen
PROBLEM, LEAVING, TOKEN = "_class_problem", "_class_leaving", "_class_token"


@dataclass(frozen=True)
class Room:
    """A class as this page was drawn: the question shown, and whether its answer is revealed."""

    code: str
    secret: str  # the teacher's, "" on another screen
    index: int
    revealed: bool


def find_room() -> Room | None:
    """Return the class that the link names; ``None`` without one, or if it has ended."""
    code = read_code(st.query_params.get(CLASS, ""))
    try:
        found = CLASSES.overview(code) if code else None
    except Refused:
        found = None
    if found is None:
        return None
    secret = st.context.cookies.get(f"{TEACHER}_{code}", "")
    secret = secret if CLASSES.is_teacher(code, secret) else ""
    return Room(code, secret, found.index, found.revealed)


def draw_ended() -> None:
    """Say, where the link names a class that is not there, that it has ended."""
    if CLASS in st.query_params:
        st.info(ENDED, icon=":material/school:")


def draw_start(questions: Sequence[Question], index: int = 0) -> None:
    """Draw the button that starts a class with these questions, the first at ``index``."""
    alone = is_loopback(student_link(""))
    st.button(
        "Start a class (this computer only)" if alone else "Start a class",
        key="class_start",
        type="tertiary",
        icon=":material/school:",
        on_click=_start,
        args=(tuple(questions), index),
        help=(f"{LOOPBACK} " if alone else "")
        + "Students answer on their phones; you reveal the answer to all. A phone can open this"
        " page, too, where the answers are.",
    )
    if problem := st.session_state.pop(PROBLEM, ""):
        st.warning(problem)
    if path := st.session_state.pop(LEAVING, ""):
        leave_for(path)


def _start(questions: tuple[Question, ...], index: int) -> None:
    _leave_for(lambda: CLASSES.start(questions, index, st.context.ip_address or ""))


def _try(act: Callable[..., Any], *arguments: Any) -> Any:
    """Return what ``act`` does; the next run says why it is refused."""
    try:
        return act(*arguments)
    except Refused as refused:
        st.session_state[PROBLEM] = str(refused)


def _leave_for(act: Callable[[], tuple[str, str]]) -> None:
    """Let the next run go to the class that ``act`` returns, which sets the teacher's cookie."""
    if token := _try(lambda: CLASSES.token(*act())):
        st.session_state[LEAVING] = f"{base_path()}/teach/{token}"


@st.fragment(run_every=EVERY_SECONDS)
def draw_room(room: Room) -> None:
    """Draw the question with its choices, who has answered, and the teacher's buttons."""
    try:
        now = CLASSES.overview(room.code)
    except Refused:
        st.rerun()  # the page says that it has ended
    if (now.index, now.revealed) != (room.index, room.revealed):
        st.rerun()  # the picture follows
    st.markdown(f"**{as_words(now.question.text)}**")
    for i in range(len(now.question.choices)):
        _draw_choice(now, i)
    # Also after the reveal: a button that stands at another place would lose the focus.
    here = max(now.here, now.answered)  # of those whose phone shows the question
    st.progress(now.answered / max(1, here), f"{now.answered} of {here} have answered")
    link = student_link(room.code)
    if room.secret:
        _draw_buttons(room, now, link)
    if room.secret and is_loopback(link):
        st.warning(LOOPBACK, icon=":material/wifi_off:")
    door = "" if now.door_open else ", the door is closed"
    join = as_words(link.partition("//")[2])
    st.markdown(f"Join: **{join}** · {now.joined} have joined{door}")
    if room.secret and (problem := st.session_state.pop(PROBLEM, "")):
        st.warning(problem)


def _draw_choice(now: Overview, i: int) -> None:
    text = f"{LETTERS[i]}. {as_words(now.question.choices[i])}"
    if not now.revealed:
        st.markdown(text)
        return
    votes, total = now.distribution[i], max(1, sum(now.distribution))
    share = f"{votes} ({round(100 * votes / total)}\u00a0%)"
    correct = i == now.question.answer
    # Not one element more than before: the button below would lose the focus.
    shown = f":green[**✓ {text}**]" if correct else text
    st.progress(votes / total, f"{shown} — {share}")


def _draw_buttons(room: Room, now: Overview, link: str) -> None:
    """Draw the one button whose key stays, so that focus does, and what is needed seldom."""
    last = now.revealed and now.index + 1 == len(now.questions)
    with st.container(horizontal=True):
        st.button(
            "Next" if now.revealed else "Reveal",
            key="class_go",
            type="primary",
            disabled=last,
            on_click=_act,
            args=(room, NEXT if now.revealed else REVEAL),
        )
        with st.popover("QR code", key="class_qr"), st.container(key="class_qr_whole"):
            if code := qr_svg(link):
                st.image(code)
            st.markdown(f"## {as_words(link.partition('//')[2])}")
        with st.popover("Class", key="class_more"):
            st.caption("A phone can open *Learn*, too, where all answers are.")
            st.session_state["class_question"] = now.index
            st.selectbox(
                "Question",
                range(len(now.questions)),
                key="class_question",
                format_func=lambda i: f"{i + 1}. {now.questions[i].text}",
                on_change=_open,
                args=(room,),
                help="Whichever you choose is asked next: some may be left out.",
            )
            st.button(
                "Close the door" if now.door_open else "Open the door",
                key="class_door",
                on_click=_act,
                args=(room, DOOR),
                help="With the door closed nobody else can join.",
            )
            st.button(
                "New code",
                key="class_renew",
                on_click=_leave_for,
                args=(lambda: CLASSES.renew(room.code, room.secret),),
                help="For a class that strangers have joined: it goes on at this question without"
                " votes, and students open the new link.",
            )
            st.button("End the class", key="class_end", on_click=_act, args=(room, END))
            st.button(
                "Control on another device",
                key="class_control",
                on_click=_offer,
                args=(room,),
                help="A link that lets it reveal, too.",
            )
            if CLASSES.is_unused(token := st.session_state.get(TOKEN, "")):
                control = _address(f"/teach/{token}")
                st.markdown(
                    "Whoever opens this link and presses its button first controls the class, too:"
                    f" do not project it. It works once, within {CLASS_TOKEN_SECONDS / 60:.0f}"
                    " minutes."
                )
                draw_qr(control)
                st.code(control, language=None, wrap_lines=True)


def _act(room: Room, action: str) -> None:
    _try(CLASSES.act, room.code, room.secret, action, room.index)
    if action == END and PROBLEM not in st.session_state:
        st.query_params.pop(CLASS, None)


def _open(room: Room) -> None:
    _try(CLASSES.open, room.code, room.secret, st.session_state["class_question"])


def _offer(room: Room) -> None:
    st.session_state[TOKEN] = _try(CLASSES.token, room.code, room.secret) or ""


def student_link(code: str) -> str:
    """Return the address for students."""
    return _address(f"/c/{code}")


def _address(path: str) -> str:
    """Return the address of ``path``, on the host by which this screen came."""
    place = (st.context.url or "").split("/", 3)
    return f"{'/'.join(place[:3])}{base_path()}{path}"
