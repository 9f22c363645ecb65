"""Classes that run now: in memory, behind one lock, for at most two hours.

    code, secret = CLASSES.start(questions)
    who = CLASSES.join(code)                      # one per device, which keeps it in a cookie
    CLASSES.vote(code, who, question=0, choice=2)
    CLASSES.view(code, who)                       # JSON: what a student may see
    CLASSES.act(code, secret, "reveal", 0)        # by the teacher alone

Script threads and the event loop call this: nothing waits for anything but the lock, and nobody
holds that for more than a moment. No names, no addresses, nothing on disk.
"""

from __future__ import annotations

import hmac
import json
import os
import re
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ui.limits import (
    CLASS_HERE_SECONDS,
    CLASS_REQUESTS_PER_SECOND,
    CLASS_SECONDS,
    CLASS_STUDENTS,
    CLASS_TOKEN_SECONDS,
    CLASSES_AT_ONCE,
    WRONG_CODES_PER_SECOND,
)

ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"  # nothing that looks like something else
CODE_LETTERS = 6
LETTERS = "ABCD"  # of choices
REVEAL, NEXT, DOOR, END = ACTIONS = ("reveal", "next", "door", "end")
EMPHASIS = re.compile(r"[*`]")
ENDED = "This class has ended."


class Refused(Exception):
    """A request that is not granted: a sentence for the visitor, and a ``status`` of HTTP."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True)
class Question:
    """A question in plain text, with its choices and the index of the correct one.

    ``pictures`` are files that show the state before and after the reveal, ``alts`` their texts.
    """

    text: str
    choices: tuple[str, ...]
    answer: int
    pictures: tuple[Path, ...] = ()
    alts: tuple[str, ...] = ()


@dataclass
class Bucket:
    """A rate: ``size`` at once, then ``per_second``."""

    size: float
    per_second: float
    level: float = -1.0
    at: float = 0.0

    def take(self, now: float) -> bool:
        """Return whether one more is allowed at the time ``now``, in seconds."""
        refilled = self.level + (now - self.at) * self.per_second
        self.level, self.at = self.size if self.level < 0 else min(self.size, refilled), now
        if self.level < 1:
            return False
        self.level -= 1
        return True


@dataclass(eq=False)
class _Class:
    secret: str
    questions: tuple[Question, ...]
    started: float
    index: int
    revealed: bool = False
    door_open: bool = True
    version: int = 0  # of what students see
    seen: dict[str, float] = field(default_factory=dict)  # participant: when last
    votes: list[dict[str, int]] = field(default_factory=list)  # question: participant: choice
    joins: Bucket = field(default_factory=lambda: Bucket(CLASS_STUDENTS, 2.0))
    requests: Bucket = field(
        default_factory=lambda: Bucket(2 * CLASS_STUDENTS, CLASS_REQUESTS_PER_SECOND)
    )
    shared: tuple[int, str] = (-1, "")  # JSON of a version, made once for all students

    def distribution(self) -> list[int]:
        """Count the votes for each choice of the question that is asked."""
        counts = [0] * len(self.questions[self.index].choices)
        for choice in self.votes[self.index].values():
            counts[choice] += 1
        return counts


@dataclass(frozen=True)
class Overview:
    """The state that the teacher's and the projector's screen show."""

    index: int
    count: int
    question: Question
    revealed: bool
    door_open: bool
    answered: int
    here: int  # participants whose phone has asked lately
    joined: int
    distribution: tuple[int, ...]


class Classes:
    """All classes of a server; ``clock`` returns seconds.

    Codes and tokens begin with the letter of the ``process``, so that a proxy before several finds
    the one that remembers them (docs/serving.md).
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, process: str = "") -> None:
        self._clock, self._process = clock, process
        self._lock = threading.Lock()
        self._classes: dict[str, _Class] = {}
        self._tokens: dict[str, tuple[str, float]] = {}  # one-time token: code, when it expires
        self._wrong = Bucket(2 * CLASS_STUDENTS, WRONG_CODES_PER_SECOND)  # of everybody together
        self._starts = Bucket(10, 0.2)

    # --- The teacher ------------------------------------------------------------------------------

    def start(self, questions: Sequence[Question], index: int = 0) -> tuple[str, str]:
        """Begin a class at the question ``index``; return its code and its teacher's secret."""
        now = self._clock()
        with self._lock:
            self._sweep(now)
            if len(self._classes) >= CLASSES_AT_ONCE or not self._starts.take(now):
                raise Refused(503, "Too many classes run on this server. Try again in a minute.")
            while (code := self._process + _random_code()) in self._classes:
                pass
            room = _Class(secrets.token_urlsafe(24), tuple(questions), now, index)
            room.votes = [{} for _ in questions]
            self._classes[code] = room
        return code, room.secret

    def is_teacher(self, code: str, secret: str) -> bool:
        """Return whether ``secret`` is that of the teacher."""
        with self._lock:
            room = self._classes.get(code)
            return room is not None and _same(room.secret, secret)

    def token(self, code: str, secret: str) -> str:
        """Return a token that gives the teacher's rights once, to another browser."""
        now = self._clock()
        with self._lock:
            self._taught(code, secret, now)
            self._sweep(now)
            token = self._process + secrets.token_urlsafe(24)
            self._tokens[token] = code, now + CLASS_TOKEN_SECONDS
            while len(self._tokens) > CLASSES_AT_ONCE:
                del self._tokens[next(iter(self._tokens))]  # the oldest
        return token

    def is_unused(self, token: str) -> bool:
        """Return whether a token can still be redeemed."""
        with self._lock:
            return self._clock() <= self._tokens.get(token, ("", -1.0))[1]

    def redeem(self, token: str) -> tuple[str, str]:
        """Return code and secret for a token, once."""
        now = self._clock()
        with self._lock:
            code, expires = self._tokens.pop(token, ("", 0.0))
            room = self._classes.get(code)
            if room is None or now > expires:
                raise Refused(410, "This link has been used, or is too old.")
            return code, room.secret

    def act(self, code: str, secret: str, action: str, index: int) -> None:
        """Do one of `ACTIONS`; ``index``: the question that the teacher saw.

        What came too late does nothing: a second tap on *Next* skips no question.
        """
        now = self._clock()
        with self._lock:
            room = self._taught(code, secret, now)
            if action == END:
                del self._classes[code]
            if index != room.index:
                return
            if action == REVEAL:
                room.revealed = True
            elif action == NEXT and room.revealed and index + 1 < len(room.questions):
                room.index, room.revealed = index + 1, False
            elif action == DOOR:
                room.door_open = not room.door_open
            room.version += 1

    def overview(self, code: str) -> Overview:
        """Return what the teacher's screen shows."""
        now = self._clock()
        with self._lock:
            room = self._room(code, now)
            here = sum(now - then < CLASS_HERE_SECONDS for then in room.seen.values())
            return Overview(
                room.index,
                len(room.questions),
                room.questions[room.index],
                room.revealed,
                room.door_open,
                len(room.votes[room.index]),
                here,
                len(room.seen),
                tuple(room.distribution()),
            )

    # --- Students ---------------------------------------------------------------------------------

    def join(self, code: str, who: str = "") -> str:
        """Return the participant: ``who`` if the class knows them, else a new one."""
        now = self._clock()
        with self._lock:
            room = self._asked(code, now, f"{ENDED[:-1]}, or the code is mistyped.")
            if who not in room.seen:
                if not room.door_open:
                    raise Refused(403, "The teacher has closed the door of this class.")
                if len(room.seen) >= CLASS_STUDENTS:
                    raise Refused(403, "This class is full.")
                if not room.joins.take(now):
                    raise Refused(429, "Too many join at once. Trying again …")
                who = secrets.token_urlsafe(16)
            room.seen[who] = now
        return who

    def vote(self, code: str, who: str, question: object, choice: object) -> None:
        """Count the first vote of a participant; a second one changes nothing."""
        now = self._clock()
        with self._lock:
            room = self._asked(code, now)
            if who not in room.seen:
                raise Refused(401, "Join the class first: reload this page.")
            if type(question) is not int or type(choice) is not int:
                raise Refused(400, "A question and a choice are whole numbers.")
            if question != room.index or room.revealed:
                raise Refused(409, "This question is closed.")
            if not 0 <= choice < len(room.questions[question].choices):
                raise Refused(400, "There is no such choice.")
            room.votes[question].setdefault(who, choice)
            room.seen[who] = now

    def view(self, code: str, who: str, since: str = "") -> str:
        """Return JSON for one student; "" if ``since`` is the version that there is."""
        now = self._clock()
        with self._lock:
            room = self._asked(code, now)
            if who in room.seen:
                room.seen[who] = now
            if since == str(room.version):
                return ""
            if room.shared[0] != room.version:
                room.shared = room.version, json.dumps(_shown(room))[:-1]
            mine = room.votes[room.index].get(who)
            return f'{room.shared[1]}, "mine": {json.dumps(mine)}}}'

    def picture(self, code: str, name: str) -> Path:
        """Return the picture called "0.0" or "0.1": of which question, before or after."""
        now = self._clock()
        with self._lock:
            room = self._asked(code, now)
            names = {
                _picture_name(i, after): path
                for i in range(room.index + 1)
                for after, path in enumerate(room.questions[i].pictures)
                if not after or room.revealed or i < room.index
            }
        if name not in names:
            raise Refused(404, "There is no such picture.")
        return names[name]

    # --- Inside the lock --------------------------------------------------------------------------

    def _room(self, code: str, now: float, otherwise: str = ENDED) -> _Class:
        room = self._classes.get(code)
        if room is not None and now - room.started > CLASS_SECONDS:
            room = self._classes.pop(code) and None
        if room is None:
            if not self._wrong.take(now):
                raise Refused(429, "Too many wrong codes. Trying again …")
            raise Refused(410, otherwise)
        return room

    def _asked(self, code: str, now: float, otherwise: str = ENDED) -> _Class:
        room = self._room(code, now, otherwise)
        if not room.requests.take(now):
            raise Refused(429, "This class asks too often. Trying again …")
        return room

    def _taught(self, code: str, secret: str, now: float) -> _Class:
        room = self._room(code, now)
        if not _same(room.secret, secret):
            raise Refused(403, "Only the teacher of this class may do that.")
        return room

    def _sweep(self, now: float) -> None:
        self._classes = {
            code: room
            for code, room in self._classes.items()
            if now - room.started <= CLASS_SECONDS
        }
        self._tokens = {token: row for token, row in self._tokens.items() if now <= row[1]}


def plain(markdown: str) -> str:
    """Return a line of Markdown without its emphasis: phones show text."""
    return EMPHASIS.sub("", markdown)


def _random_code() -> str:
    return "".join(secrets.choice(ALPHABET) for _ in range(CODE_LETTERS))


def _same(secret: str, other: str) -> bool:
    return hmac.compare_digest(secret.encode(), other.encode(errors="replace"))


def _picture_name(index: int, after: int) -> str:
    return f"{index}.{after}"


def _shown(room: _Class) -> dict[str, Any]:
    """Return what all students may see: the answer once it is revealed."""
    question, after = room.questions[room.index], int(room.revealed)
    return {
        "version": room.version,
        "index": room.index,
        "count": len(room.questions),
        "text": question.text,
        "choices": question.choices,
        "picture": _picture_name(room.index, after) if len(question.pictures) > after else "",
        "alt": question.alts[after] if len(question.alts) > after else "",
        "revealed": room.revealed,
        "distribution": room.distribution() if room.revealed else None,
        "answer": question.answer if room.revealed else None,
    }


CLASSES = Classes(process=os.environ.get("GATING_PROCESS", "")[:1])
