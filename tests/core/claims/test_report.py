"""Is a report true to the rows, and safe whatever a text contains?"""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from gating_core.claims import CLAIMS, Picture
from gating_core.claims.price_study import price_study
from gating_core.claims.price_verdicts import PRICE_CLAIMS
from gating_core.claims.report import report
from gating_core.claims.rows import sorted_out
from gating_core.claims.text import number, probability, spans
from gating_core.claims.verdicts import accuracies, verdicts
from tests.core.claims.made_rows import failed, made, stacks

NASTY = "<script>alert('x')</script> & </script> | `a` *b* [c](d) \n# e"
EVERY = CLAIMS | PRICE_CLAIMS


class Page(HTMLParser):
    """Tags with their attributes, and all text outside scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags, self.text, self.scripts, self._inside = [], "", [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        self._inside = ""

    def handle_data(self, data):
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside != "style":
            self.text += data


@pytest.fixture(scope="module")
def written():
    rows = made()
    rows[0] = replace(failed(rows[0]), error=NASTY)
    rows[1] = replace(rows[1], key=NASTY)

    def drawn(claim, _):
        return [Picture(NASTY, EVERY[claim].title, "<i>drawn</i>")]

    return rows, report(rows, stacks(), {"command": NASTY}, drawn, "<b></b>")


def test_it_says_every_claim_with_its_verdict_and_rule(written):
    rows, page = written
    text = re.sub(r"\s+", " ", Page(page).text)
    assert "Nine claims: seven of " in text
    price = {claim: own.judge(price_study()) for claim, own in PRICE_CLAIMS.items()}
    for claim, one in (verdicts(rows, stacks()) | price).items():
        title, rule = f"{claim} {EVERY[claim].title}: {one.word}", EVERY[claim].rule()
        for told in (title, one.sentences, *rule.values()):
            assert told in text
        for row in one.table:
            assert all(cell in text for cell in row.values())


def test_pictures_are_those_that_it_was_given_and_no_text_becomes_a_tag(written):
    _, page = written
    assert page.count("<i>drawn</i>") == len(EVERY) == 9
    assert "<b></b></head>" in page
    assert NASTY.split("\n")[0] in Page(page).text
    assert "<script>alert" not in page


def test_a_failure_is_named(written):
    assert "failed: linear, ungated, seed 0" in written[1]


def test_of_nothing_there_is_a_report():
    assert "not enough data" in report([], [], {})


def test_accuracies_have_their_interval():
    rows = made(lambda t, v, s, r: {"test_accuracy": 0.9 + 0.01 * (s % 2)}, tasks=("xor",))
    table = accuracies(sorted_out(rows))
    assert [row["variant"] for row in table] == ["ungated", "sigmoid", "matched", "additive"]
    half = 2.131449545559323 * np.std([0, 0.01] * 8, ddof=1) / 4
    ends = f"[{0.905 - half:.3f}, {0.905 + half:.3f}]"
    assert tuple(table[0].values()) == ("xor", "ungated", "0.905", ends, "16")


# --- Words ----------------------------------------------------------------------------------------


def test_numbers_are_written_with_their_doubt():
    assert spans([7, 0, 1, 2]) == "0–2, 7"
    assert number(float("nan")) == number(None) == "–"
    assert number(-1234.5) == "−1.23e03"
    assert probability(1e-9) == "< 0.0001"
