"""Is a report whole in itself, true to the rows, and safe whatever a text contains?"""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from gating_core.claims import CLAIMS, Illustrations, Picture
from gating_core.claims.models import sorted_out
from gating_core.claims.report import escaped, write_report
from gating_core.claims.text import TextTable, gap_lines, number, probability, spans
from gating_core.claims.verdicts import accuracies, verdicts
from tests.core.claims.made_rows import failed, made, stacks

NASTY = "<script>alert('x')</script> & </script> | `a` *b* [c](d) \n# e"


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
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    rows = made()
    rows[0] = replace(failed(rows[0]), error=NASTY)
    rows[1] = replace(rows[1], key=NASTY)
    drawn = Illustrations(lambda one: [Picture(NASTY, one.claim.title, "<i>drawn</i>")], "<b></b>")
    paths = write_report(folder / "new", rows, stacks(), {"command": NASTY}, drawn)
    return rows, *(path.read_text(encoding="utf-8") for path in paths)


def test_both_say_every_claim_with_its_verdict_and_rule(written):
    rows, page, markdown = written
    text = re.sub(r"\s+", " ", Page(page).text)
    plain = re.sub(r"\\([^\w\s])", r"\1", markdown)
    for claim, one in verdicts(rows, stacks()).items():
        for told in (f"{claim} {one.claim.title}: {one.word}", one.sentences, *one.rule.values()):
            assert told in text
            assert told in plain
        for row in one.table.rows:
            assert all(cell in text and cell in plain for cell in row)


def test_pictures_are_those_that_it_was_given(written):
    _, page, markdown = written
    assert page.count("<i>drawn</i>") == len(CLAIMS)
    assert "<b></b></head>" in page
    assert markdown.count("(in the HTML report)") == len(CLAIMS)


def test_no_text_becomes_a_tag(written):
    _, page, markdown = written
    found = Page(page)
    assert NASTY.split("\n")[0] in found.text
    assert "<script>alert" not in page
    assert not re.search(r"(?<!\\)[<>]", markdown)
    assert all(line.count(" | ") < 12 for line in markdown.splitlines())


def test_a_failure_is_named(written):
    _, page, markdown = written
    assert "failed: linear, ungated, seed 0" in page
    assert "failed: linear, ungated, seed 0" in markdown


def test_of_nothing_there_is_a_report(tmp_path):
    for path in write_report(tmp_path, [], [], {}):
        assert "not enough data" in path.read_text(encoding="utf-8")


def test_a_report_replaces_the_last_and_leaves_nothing_else(tmp_path):
    (tmp_path / "claims.html").write_text("old")
    write_report(tmp_path, [], [], {})
    assert {path.name for path in tmp_path.iterdir()} == {"claims.html", "claims.md"}
    assert (tmp_path / "claims.html").read_text()[:3] != "old"


def test_where_no_file_can_be_it_is_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        write_report(tmp_path / "file", [], [], {})


@pytest.mark.parametrize(("text", "expected"), [
    ("a|b", r"a\|b"), ("a\n# b", r"a \# b"), ("1. a", r"1\. a"), ("- a", r"\- a"), ("-0.5", "-0.5"),
    ("1.5", "1.5"), ("---", r"\---"), ("<b>", r"\<b\>"), ("a\\b", r"a\\b"), ("&amp;", r"\&amp;"),
])  # fmt: skip
def test_markdown_is_escaped(text, expected):
    assert escaped(text) == expected


def test_accuracies_have_their_interval():
    rows = made(lambda t, v, s, r: {"test_accuracy": 0.9 + 0.01 * (s % 2)}, tasks=("xor",))
    table = accuracies(sorted_out(rows))
    assert [row[1] for row in table.rows] == ["ungated", "sigmoid", "matched", "additive"]
    half = 2.131449545559323 * np.std([0, 0.01] * 8, ddof=1) / 4
    ends = f"[{0.905 - half:.3f}, {0.905 + half:.3f}]"
    assert table.rows[0] == ("xor", "ungated", "0.905", ends, "16")


# --- Words ----------------------------------------------------------------------------------------


def test_numbers_are_written_with_their_doubt():
    assert spans([7, 0, 1, 2]) == "0–2, 7"
    assert number(float("nan")) == number(None) == "–"
    assert number(-1234.5) == "−1.23e03"
    assert probability(1e-9) == "< 0.0001"
    assert gap_lines([]) == ()


def test_a_table_has_as_many_cells_as_columns():
    with pytest.raises(ValueError, match="2 cells; the table has 1"):
        TextTable(("a",), (("1", "2"),))
