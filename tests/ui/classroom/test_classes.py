"""A class counts each participant's last vote, lets in whom it may, and ends."""

import json
import threading
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ui.classroom.classes import (
    ALPHABET,
    CODE_LETTERS,
    DOOR,
    END,
    NEXT,
    RENEWED,
    REVEAL,
    Classes,
    Question,
    Rates,
    Refused,
)
from ui.limits import (
    CLASS_EMPTY_SECONDS,
    CLASS_HERE_SECONDS,
    CLASS_SECONDS,
    CLASS_STUDENTS,
    CLASS_TOKEN_SECONDS,
    CLASS_TOKENS,
    CLASSES_AT_ONCE,
    CLASSES_UNUSED,
)

QUESTIONS = (Question("Flat?", ("yes", "no"), 0), Question("Curved?", ("a", "b", "c"), 2),
             Question("Bent?", ("a", "b"), 1))  # fmt: skip
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("join"), st.integers(0, 5)),
        st.tuples(st.just("vote"), st.integers(0, 5), st.integers(-1, 3), st.integers(-1, 3)),
        st.tuples(st.just("act"), st.sampled_from((REVEAL, NEXT, DOOR)), st.integers(-1, 1)),
        st.tuples(st.just("open"), st.integers(-1, 3)),
        st.tuples(st.just("wait"), st.floats(0, 1000)),
    ),
    max_size=60,
)


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def classes(clock):
    return Classes(clock)


def refused(call, *args):
    with pytest.raises(Refused) as caught:
        call(*args)
    return caught.value.status


@given(STEPS)
def test_each_last_vote_counts_once_and_the_teacher_alone_moves_the_class(steps):
    """Against a second, naive account of what happened."""
    clock = Clock()
    classes = Classes(clock)
    code, secret = classes.start(QUESTIONS)
    names, votes = {}, [{} for _ in QUESTIONS]
    index, revealed, door = 0, False, True
    for name, *rest in steps:
        if name == "wait":
            clock.now += rest[0]
        if clock.now - 1000 > CLASS_SECONDS:
            assert refused(classes.overview, code) == 410
            return
        if name == "join":
            person = rest[0]
            if person in names or door:
                who = classes.join(code, names.get(person, ""))
                assert names.setdefault(person, who) == who
            else:
                assert refused(classes.join, code) == 403
        elif name == "vote":
            person, question, choice = rest
            here, there = person in names, question == index and not revealed
            if not here:
                assert refused(classes.vote, code, "nobody", question, choice) == 401
            elif not there:
                assert refused(classes.vote, code, names[person], question, choice) == 409
            elif not 0 <= choice < len(QUESTIONS[index].choices):
                assert refused(classes.vote, code, names[person], question, choice) == 400
            else:
                classes.vote(code, names[person], question, choice)
                votes[index][person] = choice
        elif name == "act":
            action, off = rest
            assert refused(classes.act, code, "guess", action, index) == 403
            classes.act(code, secret, action, index + off)
            if off == 0:
                if action == DOOR:
                    door = not door
                elif action == REVEAL:
                    revealed = True
                elif revealed and index + 1 < len(QUESTIONS):
                    index, revealed = index + 1, False
        elif name == "open":
            assert refused(classes.open, code, "guess", rest[0]) == 403
            classes.open(code, secret, rest[0])
            if rest[0] in {*range(len(QUESTIONS))} - {index}:
                index, revealed = rest[0], False
        now = classes.overview(code)
        assert (now.index, now.revealed, now.door_open) == (index, revealed, door)
        assert now.joined == len(names) == len({*names.values()})
        assert now.answered == len(votes[index]) == sum(now.distribution)
        for i, count in enumerate(now.distribution):
            assert count == sum(choice == i for choice in votes[index].values())
        for person, who in names.items():
            state = json.loads(classes.view(code, who))
            assert state["mine"] == votes[index].get(person)
            assert (state["answer"] is None) == (state["distribution"] is None) == (not revealed)


def test_codes_can_be_read_aloud_and_differ(classes, clock):
    codes = {classes.start(QUESTIONS, address=str(i))[0] for i in range(CLASSES_AT_ONCE)}
    assert len(codes) == CLASSES_AT_ONCE
    assert all(len(code) == CODE_LETTERS and {*code} <= {*ALPHABET} for code in codes)
    assert not {*ALPHABET} & {*"01ilo"}


def test_there_are_so_many_classes_and_so_many_students_and_no_more(classes, clock):
    for i in range(CLASSES_AT_ONCE):
        code, _secret = classes.start(QUESTIONS, address=str(i))
        first = classes.join(code)
    assert refused(classes.start, QUESTIONS) == 503
    for _ in range(CLASS_STUDENTS - 1):
        classes.join(code)
    assert refused(classes.join, code) == 403
    assert classes.join(code, first) == first  # who is in stays in
    assert classes.overview(code).joined == CLASS_STUDENTS
    clock.now += CLASS_HERE_SECONDS + 1
    assert classes.overview(code).here == 0
    clock.now += CLASS_SECONDS
    classes.start(QUESTIONS)  # others have ended
    assert refused(classes.view, code, first) == 410


def test_an_ended_class_and_a_wrong_code_are_told_apart_from_a_flood_of_them(classes, clock):
    code, secret = classes.start(QUESTIONS)
    who = classes.join(code)
    classes.act(code, secret, END, 0)
    for call in ((classes.view, code, who), (classes.vote, code, who, 0, 0), (classes.join, code),
                 (classes.overview, code), (classes.act, code, secret, NEXT, 0)):  # fmt: skip
        assert refused(*call) == 410
    assert not classes.is_teacher(code, secret)
    statuses = [refused(classes.join, f"wrong{i}") for i in range(1000)]
    assert {*statuses} == {410, 429}
    assert refused(classes.join, "wrong", "", "elsewhere") == 410
    assert refused(classes.view, code, who) == 410  # its phones need not wait for that
    clock.now += 1
    assert refused(classes.join, "wrong") == 410


def floods(call, *args):
    statuses = []
    for _ in range(1000):
        try:
            call(*args)
        except Refused as refusal:
            statuses.append(refusal.status)
    return {*statuses}


def test_a_flood_of_one_phone_or_of_strangers_leaves_the_others_of_a_class_alone(classes, clock):
    code, _ = classes.start(QUESTIONS)
    who, *neighbours = (classes.join(code) for _ in range(43))
    assert floods(classes.view, code, who) == {429}
    assert floods(classes.view, code, "stranger") == {429}
    for neighbour in neighbours:
        classes.vote(code, neighbour, 0, 1)
    assert classes.overview(code).answered == len(neighbours)
    assert classes.join(code, "", "elsewhere")
    clock.now += 1
    assert classes.view(code, who)


def test_a_token_gives_the_rights_once_and_for_a_while(classes, clock):
    code, secret = classes.start(QUESTIONS)
    assert refused(classes.token, code, "guess") == 403
    assert not classes.is_teacher(code, "guess\udc80")
    token = classes.token(code, secret)
    assert refused(classes.redeem, "forged") == 410
    assert classes.redeem(token) == (code, secret)
    assert refused(classes.redeem, token) == 410
    token = classes.token(code, secret)
    clock.now += CLASS_TOKEN_SECONDS + 1
    assert refused(classes.redeem, token) == 410
    other, mine = classes.start(QUESTIONS)
    kept = classes.token(other, mine)
    tokens = [classes.token(code, secret) for _ in range(CLASS_TOKENS + 1)]
    assert refused(classes.redeem, tokens[0]) == 410  # the oldest of this class gave way
    assert classes.redeem(tokens[-1]) == (code, secret)
    assert classes.redeem(kept) == (other, mine)


def test_who_has_gone_without_a_vote_gives_way_in_a_full_class(classes, clock):
    code, _ = classes.start(QUESTIONS)
    people = [classes.join(code, "", str(i)) for i in range(CLASS_STUDENTS)]
    classes.vote(code, people[0], 0, 1)
    assert refused(classes.join, code) == 403
    clock.now += CLASS_HERE_SECONDS + 1
    for who in people[2:]:
        classes.view(code, who)
    new = classes.join(code)
    assert refused(classes.join, code) == 403
    assert refused(classes.vote, code, people[1], 0, 0) == 401
    classes.vote(code, new, 0, 1)
    assert classes.overview(code).distribution == (0, 2)


def test_one_client_prevents_no_class(classes, clock):
    """Neither at once nor within a day."""
    used, _ = classes.start(QUESTIONS, address="teacher")
    classes.join(used)
    for hour in range(3):
        for _ in range(4 * CLASSES_AT_ONCE):
            clock.now += 5
            classes.start(QUESTIONS, address="pupil")
        assert classes.start(QUESTIONS, address=f"teacher {hour}")
    assert classes.overview(used).joined == 1


def test_one_client_prevents_no_class_by_joining_its_own(classes, clock):
    """Its phones may go on asking: where all places are taken, whoever holds most gives way."""
    used, _ = classes.start(QUESTIONS, address="teacher")
    classes.join(used, "", "phone")
    held = []
    for _ in range(2 * CLASSES_AT_ONCE):
        clock.now += 5
        with suppress(Refused):
            code, _ = classes.start(QUESTIONS, address="pupil")
            held.append((code, classes.join(code, "", "pupil")))
        for code, who in held:
            with suppress(Refused):
                classes.view(code, who)
    assert refused(classes.start, QUESTIONS, 0, "pupil") == 503
    for i in range(CLASSES_UNUSED):
        code, _ = classes.start(QUESTIONS, address=f"other {i}")
        classes.join(code, "", f"phone {i}")
    assert classes.overview(used).joined == 1
    for i in range(2 * CLASSES_AT_ONCE):  # from many addresses a school has a class each
        with suppress(Refused):
            code, _ = classes.start(QUESTIONS, address=f"room {i}")
            classes.join(code, "", f"room {i}")
    assert refused(classes.start, QUESTIONS, 0, "late") == 503


def test_classes_that_nobody_joined_give_way_after_a_while(classes, clock):
    for i in range(CLASSES_AT_ONCE):
        classes.start(QUESTIONS, address=str(i))
    assert refused(classes.start, QUESTIONS, 0, "late") == 503
    clock.now += CLASS_EMPTY_SECONDS + 1
    assert classes.start(QUESTIONS, 0, "late")


def test_a_new_code_leaves_strangers_behind(classes, clock):
    code, secret = classes.start(QUESTIONS)
    for _ in range(CLASS_STUDENTS):
        classes.vote(code, classes.join(code), 0, 1)
    assert refused(classes.renew, code, "guess") == 403
    new, rights = classes.renew(code, secret)
    assert {new, rights}.isdisjoint({code, secret})
    with pytest.raises(Refused, match=RENEWED):
        classes.view(code, "")
    assert classes.overview(new).joined == classes.overview(new).answered == 0
    assert classes.is_teacher(new, rights)
    assert classes.join(new, "", "pupil")


def test_a_code_is_read_as_it_is_typed(classes):
    code, secret = classes.start(QUESTIONS)
    for typed in (code.upper(), code.title(), f" {code}. ", f"{code[:3]} {code[3:]}"):
        who = classes.join(typed)
        classes.vote(typed, who, 0, 1)
        assert classes.is_teacher(typed, secret)
    assert classes.overview(code).answered == 4


@given(st.lists(st.tuples(st.integers(0, 9), st.floats(0, 2)), max_size=60))
def test_nobody_waits_for_the_rate_of_another(asked):
    """As long as no more ask than are remembered."""
    rates, alone, now = Rates(3, 1.0, 10), {}, 0.0
    for who, pause in asked:
        now += pause
        assert rates.take(who, now) == alone.setdefault(who, Rates(3, 1.0)).take(who, now)
    crowd = Rates(1, 0.0, 5)
    assert all(crowd.take(who, 0.0) for who in range(100))
    assert len(crowd._levels) == 5


@pytest.mark.parametrize(("question", "choice"), [
    ("0", 0), (0, "0"), (0.0, 0), (0, None), (True, 0), (0, True), ([0], 0), (0, {}), (0, 10**30),
])  # fmt: skip
def test_what_is_no_vote_is_refused(classes, question, choice):
    code, _ = classes.start(QUESTIONS)
    who = classes.join(code)
    assert refused(classes.vote, code, who, question, choice) == 400
    assert classes.overview(code).answered == 0


def test_votes_of_many_threads_are_all_counted():
    classes = Classes()
    code, _ = classes.start(QUESTIONS)
    people = [classes.join(code) for _ in range(60)]

    def vote(start):
        for who in people[start::3]:
            for choice in (1, start % 2):
                classes.vote(code, who, 0, choice)

    threads = [threading.Thread(target=vote, args=(start,)) for start in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert classes.overview(code).distribution == (40, 20)


@given(st.lists(st.floats(0, 100), max_size=50), st.integers(1, 20), st.floats(0.1, 10))
def test_a_rate_lets_no_more_through_than_its_size_and_rate(pauses, size, rate):
    rates, now, let = Rates(size, rate), 0.0, 0
    for pause in pauses:
        now += pause
        let += rates.take("one", now)
    assert let <= size + rate * now + 1e-6


def test_codes_and_tokens_name_the_process_that_remembers_them():
    classes = Classes(process="b")
    code, secret = classes.start(QUESTIONS)
    assert code[0] == classes.token(code, secret)[0] == "b"
    assert len(code) == CODE_LETTERS + 1
