"""Is everything said as it was read and found right? `golden.py` writes the files again."""

from tests.core.claims.golden import BUNDLED, MADE, bundled_text, made_text
from ui.claims.shared import JUDGED, load_judged


def test_what_is_said_of_made_studies():
    assert made_text() == MADE.read_text(encoding="utf-8")


def test_what_is_said_of_the_bundled_rows():
    """`test_bundled_rows` compares the bundled verdicts with those of the rows."""
    assert bundled_text(load_judged(JUDGED)) == BUNDLED.read_text(encoding="utf-8")
