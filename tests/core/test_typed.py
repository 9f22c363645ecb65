"""Typed text: what looks the same is the same, whatever program it comes from."""

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gating_core.characters import (
    CHARACTERS,
    encode,
    name,
    normalise,
    read_typed,
    without_ignorable,
)
from gating_core.theory import FormulaError, parse_formula

TEXTS = st.text(max_size=20) | st.text(CHARACTERS + "\u0301\u0303\u0308\u00a0\t\u200b\u00ad")


@given(TEXTS)
def test_the_form_depends_on_the_text_alone(text):
    for form in ("NFC", "NFD"):
        assert normalise(unicodedata.normalize(form, text)) == normalise(text)
        assert read_typed(unicodedata.normalize(form, text)) == read_typed(text)
        written = without_ignorable(unicodedata.normalize(form, text))
        assert written == without_ignorable(text) == without_ignorable(written)
    assert normalise(normalise(text)) == normalise(text)


@given(st.text(CHARACTERS[1:]))
def test_what_models_know_is_read_whole_in_every_form(text):
    for form in ("NFC", "NFD"):
        assert read_typed(unicodedata.normalize(form, text)) == (text, "")
    encode(read_typed(text)[0])


def test_blanks_are_spaces_and_the_rest_is_left_out():
    assert read_typed("Despue\u0301s\thabi\u0301a\u00a0\u202fé\n.") == ("Después había  é .", "")
    assert read_typed("a\u200bb\u0301 ж7") == ("ab ", "\u200b\u0301ж7")


def test_thousands_of_marks_on_a_letter_take_no_time():
    """Unicode puts marks in order, and sorting n of them takes n^2 steps."""
    began = time.process_time()
    assert len(normalise("a" + "\u0301\u0316" * 100_000)) < 40
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("character", "written"),
    [("ж", "'ж'"), ("\u200b", "ZERO WIDTH SPACE"), ("\u0301", "COMBINING ACUTE ACCENT"),
     ("\u3164", "HANGUL FILLER"), ("\x07", "U+0007"), ("\ud800", "U+D800")],
)  # fmt: skip
def test_an_invisible_character_is_named(character, written):
    assert name(character) == written


def test_a_formula_may_come_from_a_typeset_page():
    pasted = "u\u00a0−\u200b v\t×\u20092 – 1"
    assert parse_formula(pasted) == parse_formula("u − v × 2 – 1")
    assert parse_formula(pasted).at(1.0, 2.0) == -4
    with pytest.raises(FormulaError, match="COMBINING RIGHT ARROW ABOVE at position 2"):
        parse_formula("u\u20d7")
