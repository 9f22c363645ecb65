"""Classes that run now: in memory, behind one lock, for at most two hours.

    code, secret = CLASSES.start(questions)
    who = CLASSES.join(code)                      # one per device, which keeps it in a cookie
    CLASSES.vote(code, who, question=0, choice=2)  # until the reveal, the last one counts
    CLASSES.view(code, who)                       # JSON: what a student may see
    CLASSES.act(code, secret, "reveal", 0)        # by the teacher alone

Script threads and the event loop call this: nothing waits for anything but the lock, and nobody
holds that for more than a moment. No names, nothing on disk. Who has not joined shares rates with
those at the same address, of which a hash is kept, in memory: nobody else waits for them.
"""

from __future__ import annotations

import hmac
import json
import os
import re
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ui.limits import (
    ADDRESSES_KEPT,
    CLASS_ASKS_PER_SECOND,
    CLASS_EMPTY_SECONDS,
    CLASS_HERE_SECONDS,
    CLASS_SECONDS,
    CLASS_STUDENTS,
    CLASS_TOKEN_SECONDS,
    CLASS_TOKENS,
    CLASSES_AT_ONCE,
    CLASSES_UNUSED,
    STRANGERS_PER_SECOND,
)

ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"  # nothing that looks like something else
CODE_LETTERS = 6
LETTERS = "ABCD"  # of choices
REVEAL, NEXT, DOOR, END = ACTIONS = ("reveal", "next", "door", "end")
EMPHASIS = re.compile(r"[*`]")
ENDED = "This class has ended."
RENEWED = "This class has a new code: open its new link."
JOIN_FIRST = "Join the class first: reload this page."
CODES_KEPT = 1000  # of classes that have ended


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


class Rates:
    """A rate for each of those who ask: ``size`` at once, then ``per_second``.

    The one who has not asked for longest is forgotten.
    """

    def __init__(self, size: float, per_second: float, most: int = ADDRESSES_KEPT) -> None:
        self._size, self._per_second, self._most = size, per_second, most
        self._levels: dict[Hashable, tuple[float, float]] = {}  # how many more, at which time

    def take(self, who: Hashable, now: float) -> bool:
        """Return whether one more of ``who`` is allowed at the time ``now``, in seconds."""
        level, then = self._levels.pop(who, (self._size, now))
        level = min(self._size, level + (now - then) * self._per_second)
        self._levels[who] = level - (level >= 1), now
        if len(self._levels) > self._most:
            del self._levels[next(iter(self._levels))]
        return level >= 1


@dataclass(eq=False)
class _Class:
    questions: tuple[Question, ...]
    started: float
    index: int
    starter: int  # hash of an address
    revealed: bool = False
    door_open: bool = True
    version: int = 0  # of what students see
    seen: dict[str, float] = field(default_factory=dict)  # participant: when last
    secret: str = field(default_factory=lambda: secrets.token_urlsafe(24))  # the teacher's
    asks: Rates = field(
        default_factory=lambda: Rates(8 * CLASS_ASKS_PER_SECOND, CLASS_ASKS_PER_SECOND)
    )
    tokens: dict[str, float] = field(default_factory=dict)  # one-time token: when it expires
    shared: tuple[int, str] = (-1, "")  # JSON of a version, made once for all students

    def __post_init__(self) -> None:
        self.votes: list[dict[str, int]] = [{} for _ in self.questions]  # participant: choice

    def distribution(self) -> list[int]:
        """Count the votes for each choice of the question that is asked."""
        counts = Counter(self.votes[self.index].values())
        return [counts[choice] for choice in range(len(self.questions[self.index].choices))]

    @property
    def asked(self) -> float:
        """When a participant asked last; when it was started, without any."""
        return max(self.seen.values(), default=self.started)

    def has_place(self, now: float) -> bool:
        """Make room, where it is full, by who has gone without a vote; return whether there is."""
        if len(self.seen) < CLASS_STUDENTS:
            return True
        gone = (who for who, then in self.seen.items() if now - then > CLASS_HERE_SECONDS)
        who = next((who for who in gone if not any(who in votes for votes in self.votes)), None)
        if who is not None:
            del self.seen[who]
        return who is not None


@dataclass(frozen=True)
class Overview:
    """The state that the teacher's and the projector's screen show."""

    index: int
    questions: tuple[Question, ...]
    revealed: bool
    door_open: bool
    answered: int
    here: int  # participants whose phone has asked lately
    joined: int
    distribution: tuple[int, ...]

    @property
    def question(self) -> Question:
        """The question that is asked."""
        return self.questions[self.index]


class Classes:
    """All classes of a server; ``clock`` returns seconds.

    Codes and tokens begin with the letter of the ``process``, so that a proxy before several finds
    the one that remembers them (docs/serving.md).
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, process: str = "") -> None:
        self._clock, self._process = clock, process
        self._lock = threading.Lock()
        self._classes: dict[str, _Class] = {}  # oldest first
        self._gone: dict[str, str] = {}  # code of a class that has ended: what its phones say
        self._strangers = Rates(2 * CLASS_STUDENTS, STRANGERS_PER_SECOND)
        self._starts = Rates(CLASSES_UNUSED, 0.2)

    # --- The teacher ------------------------------------------------------------------------------

    def start(
        self, questions: Sequence[Question], index: int = 0, address: str = ""
    ) -> tuple[str, str]:
        """Begin a class at the question ``index``; return its code and its teacher's secret.

        Where there are too many, one that nobody has joined gives way, or the quietest of whoever
        has started most of them.
        """
        now, starter = self._clock(), hash(address)
        with self._lock:
            self._sweep(now)
            if not (self._starts.take(starter, now) and self._has_place(starter, now)):
                raise Refused(503, "Too many classes run on this server. Try again in a minute.")
            return self._add(_Class(tuple(questions), now, index, starter))

    def renew(self, code: str, secret: str) -> tuple[str, str]:
        """Give the class another code, which nobody has joined; return that, and its secret.

        It is at the same question, without votes.
        """
        with self._lock:
            room = self._taught(code, secret)
            self._end(read_code(code), RENEWED)
            kept = room.questions, room.started, room.index, room.starter, room.revealed
            return self._add(_Class(*kept))

    def is_teacher(self, code: str, secret: str) -> bool:
        """Return whether ``secret`` is that of the teacher."""
        with self._lock:
            room = self._classes.get(read_code(code))
            return room is not None and _same(room.secret, secret)

    def token(self, code: str, secret: str) -> str:
        """Return a token that gives the teacher's rights once, to another browser."""
        with self._lock:
            room = self._taught(code, secret)
            token = self._process + secrets.token_urlsafe(24)
            room.tokens[token] = self._clock() + CLASS_TOKEN_SECONDS
            while len(room.tokens) > CLASS_TOKENS:
                del room.tokens[next(iter(room.tokens))]  # the oldest
        return token

    def is_unused(self, token: str) -> bool:
        """Return whether a token can still be redeemed."""
        with self._lock:
            now = self._clock()
            return any(now <= room.tokens.get(token, -1.0) for room in self._classes.values())

    def redeem(self, token: str) -> tuple[str, str]:
        """Return code and secret for a token, once."""
        now = self._clock()
        with self._lock:
            for code, room in self._classes.items():
                if now <= room.tokens.pop(token, -1.0):
                    return code, room.secret
            raise Refused(410, "This link has been used, or is too old.")

    def act(self, code: str, secret: str, action: str, index: int) -> None:
        """Do one of `ACTIONS`; ``index``: the question that the teacher saw.

        What came too late does nothing: a second tap on *Next* skips no question.
        """
        with self._lock:
            room = self._taught(code, secret)
            if action == END:
                self._end(read_code(code))
            if index != room.index:
                return
            if action == REVEAL:
                room.revealed = True
            elif action == NEXT and room.revealed and index + 1 < len(room.questions):
                room.index, room.revealed = index + 1, False
            elif action == DOOR:
                room.door_open = not room.door_open
            room.version += 1

    def open(self, code: str, secret: str, index: int) -> None:
        """Ask the question ``index``, whichever has been asked before; its votes are kept."""
        with self._lock:
            room = self._taught(code, secret)
            if index != room.index and 0 <= index < len(room.questions):
                room.index, room.revealed = index, False
                room.version += 1

    def overview(self, code: str) -> Overview:
        """Return what the teacher's screen shows."""
        now = self._clock()
        with self._lock:
            room = self._room(code, now)
            here = sum(now - then < CLASS_HERE_SECONDS for then in room.seen.values())
            return Overview(
                room.index,
                room.questions,
                room.revealed,
                room.door_open,
                len(room.votes[room.index]),
                here,
                len(room.seen),
                tuple(room.distribution()),
            )

    # --- Students ---------------------------------------------------------------------------------

    def join(self, code: str, who: str = "", address: str = "") -> str:
        """Return the participant: ``who`` if the class knows them, else a new one."""
        now = self._clock()
        with self._lock:
            room = self._asked(code, who, address, now, f"{ENDED[:-1]}, or the code is mistyped.")
            if who not in room.seen:
                if not room.door_open:
                    raise Refused(403, "The teacher has closed the door of this class.")
                if not room.has_place(now):
                    raise Refused(403, "This class is full.")
                who = secrets.token_urlsafe(16)
            room.seen[who] = now
        return who

    def vote(
        self, code: str, who: str, question: object, choice: object, address: str = ""
    ) -> None:
        """Count the last vote of a participant before the reveal."""
        now = self._clock()
        with self._lock:
            room = self._asked(code, who, address, now)
            if who not in room.seen:
                raise Refused(401, JOIN_FIRST)
            if type(question) is not int or type(choice) is not int:
                raise Refused(400, "A question and a choice are whole numbers.")
            if question != room.index or room.revealed:
                raise Refused(409, "This question is closed.")
            if not 0 <= choice < len(room.questions[question].choices):
                raise Refused(400, "There is no such choice.")
            room.votes[question][who] = choice
            room.seen[who] = now

    def check(self, code: str, who: str, address: str = "") -> None:
        """Raise where ``who`` takes no part: before the body of a vote is read."""
        with self._lock:
            if who not in self._room(code, self._clock(), ENDED, address).seen:
                raise Refused(401, JOIN_FIRST)

    def view(self, code: str, who: str, since: str = "", address: str = "") -> str:
        """Return JSON for one student; "" if ``since`` is the version that there is."""
        now = self._clock()
        with self._lock:
            room = self._asked(code, who, address, now)
            if who in room.seen:
                room.seen[who] = now
            if since == str(room.version):
                return ""
            if room.shared[0] != room.version:
                room.shared = room.version, json.dumps(_shown(room))[:-1]
            mine = room.votes[room.index].get(who)
            return f'{room.shared[1]}, "mine": {json.dumps(mine)}}}'

    def picture(self, code: str, name: str, who: str = "", address: str = "") -> Path:
        """Return the picture called "0.0" or "0.1": of which question, before or after."""
        now = self._clock()
        with self._lock:
            room = self._asked(code, who, address, now)
            names = {
                f"{i}.{after}": path
                for i in range(room.index + 1)
                for after, path in enumerate(room.questions[i].pictures)
                if not after or room.revealed or i < room.index
            }
        if name not in names:
            raise Refused(404, "There is no such picture.")
        return names[name]

    # --- Inside the lock --------------------------------------------------------------------------

    def _room(
        self, code: str, now: float, otherwise: str = ENDED, address: str | None = None
    ) -> _Class:
        code = read_code(code)
        room = self._classes.get(code)
        if room is not None and now - room.started > CLASS_SECONDS:
            self._end(code)
            room = None
        if room is not None:
            return room
        if code in self._gone:
            raise Refused(410, self._gone[code])
        if address is not None and not self._strangers.take(hash(address), now):
            raise Refused(429, "Too many wrong codes. Trying again …")
        raise Refused(410, otherwise)

    def _asked(
        self, code: str, who: str, address: str, now: float, otherwise: str = ENDED
    ) -> _Class:
        room = self._room(code, now, otherwise, address)
        if who in room.seen:
            if not room.asks.take(who, now):
                raise Refused(429, "This phone asks too often. Trying again …")
        elif not self._strangers.take(hash(address), now):
            raise Refused(429, "Too many join at once. Trying again …")
        return room

    def _add(self, room: _Class) -> tuple[str, str]:
        """Return the code of a new class, and its teacher's secret."""
        code = self._process + "".join(secrets.choice(ALPHABET) for _ in range(CODE_LETTERS))
        if code in self._classes or code in self._gone:
            return self._add(room)
        self._classes[code] = room
        return code, room.secret

    def _end(self, code: str, text: str = ENDED) -> None:
        del self._classes[code]
        self._gone[code] = text
        if len(self._gone) > CODES_KEPT:
            del self._gone[next(iter(self._gone))]

    def _has_place(self, starter: int, now: float) -> bool:
        """Make room for a class of ``starter`` by another one; return whether there is."""
        rooms = self._classes
        unused = [code for code, room in rooms.items() if not room.seen]
        mine = [code for code in unused if rooms[code].starter == starter]
        if len(mine) >= CLASSES_UNUSED:
            self._end(mine[0])
        elif len(rooms) >= CLASSES_AT_ONCE:
            old = [code for code in unused if now - rooms[code].started > CLASS_EMPTY_SECONDS]
            held = Counter(room.starter for room in rooms.values())
            [(most, count)] = held.most_common(1)
            greedy = count > held[starter] + 1  # a place is worth more to who has fewer
            theirs = [code for code, room in rooms.items() if greedy and room.starter == most]
            for code in [*old, *sorted(theirs, key=lambda code: rooms[code].asked)][:1]:
                self._end(code)
        return len(rooms) < CLASSES_AT_ONCE

    def _taught(self, code: str, secret: str) -> _Class:
        room = self._room(code, self._clock())
        if not _same(room.secret, secret):
            raise Refused(403, "Only the teacher of this class may do that.")
        return room

    def _sweep(self, now: float) -> None:
        for code, room in [*self._classes.items()]:
            if now - room.started > CLASS_SECONDS:
                self._end(code)


def read_code(text: str) -> str:
    """Return a code as it was given out: nobody reads out small letters, and many in groups."""
    return "".join(text.split()).strip(".").lower()


def plain(markdown: str) -> str:
    """Return a line of Markdown without its emphasis: phones show text."""
    return EMPHASIS.sub("", markdown)


def _same(secret: str, other: str) -> bool:
    return hmac.compare_digest(secret.encode(), other.encode(errors="replace"))


def _shown(room: _Class) -> dict[str, Any]:
    """Return what all students may see: the answer once it is revealed."""
    question, after = room.questions[room.index], int(room.revealed)
    return {
        "version": room.version,
        "index": room.index,
        "count": len(room.questions),
        "text": question.text,
        "choices": question.choices,
        "picture": f"{room.index}.{after}" if len(question.pictures) > after else "",
        "alt": question.alts[after] if len(question.alts) > after else "",
        "revealed": room.revealed,
        "distribution": room.distribution() if room.revealed else None,
        "answer": question.answer if room.revealed else None,
    }


CLASSES = Classes(process=os.environ.get("GATING_PROCESS", "")[:1].lower())
