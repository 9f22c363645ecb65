"""Is a report whole in itself, true to the rows, and safe whatever a text contains?"""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from gating_core.claims import html
from gating_core.claims.markdown import escaped
from gating_core.claims.models import sorted_out
from gating_core.claims.published import PUBLISHED, difference_sentence, differences
from gating_core.claims.report import write_report
from gating_core.claims.rules import RULES
from gating_core.claims.verdicts import verdicts
from gating_core.claims.wording import Table, gap_lines, number, probability, spans
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
    paths = write_report(folder / "new", rows, stacks(), {"command": NASTY})
    return rows, *(path.read_text(encoding="utf-8") for path in paths)


def test_both_say_every_claim_with_its_verdict_and_rule(written):
    rows, page, markdown = written
    text = re.sub(r"\s+", " ", Page(page).text)
    plain = re.sub(r"\\([^\w\s])", r"\1", markdown)
    for claim, one in verdicts(rows, stacks()).items():
        for told in (f"{claim} {one.title}: {one.word}", one.sentences, *one.rule.values()):
            assert told in text
            assert told in plain
        for row in one.table.rows:
            assert all(cell in text and cell in plain for cell in row)


def test_the_page_fetches_nothing(written):
    _, page, _ = written
    for tag, attributes in Page(page).tags:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base")
        assert not {"src", "href", "srcset", "data"} & set(attributes)
    own = page.replace(html.plotly_js(), "")
    assert "http" not in own
    assert "@import" not in own
    assert "url(" not in own


def test_the_library_stands_inside_whole(written):
    _, page, _ = written
    assert html.plotly_js() in page
    assert "</script" not in html.plotly_js().lower()


def test_figures_are_the_ones_of_the_verdicts(written):
    rows, page, _ = written
    (data,) = [json.loads(text) for text in Page(page).scripts if text.startswith('{"figures"')]
    assert len(data["figures"]) == len(RULES) + 1  # two of C6
    places = [
        attributes for _, attributes in Page(page).tags if attributes.get("class") == "figure"
    ]
    assert [one["id"] for one in places] == [f"figure-{i}" for i in range(len(data["figures"]))]
    keys = {key for f in data["figures"] for trace in f["data"] for key in
            trace.get("customdata", ())}  # fmt: skip
    assert {row.key for row in rows if row.error is None} <= keys


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


def test_without_the_library_the_report_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(html, "find_spec", lambda name: None)
    path, _ = write_report(tmp_path, made(seeds=range(2)), [], {})
    page = path.read_text(encoding="utf-8")
    assert html.WITHOUT in page
    assert "<script" not in page


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


# --- Beside the theory's table --------------------------------------------------------------------


def test_the_table_of_the_theory():
    """Corners and some more of section 6, read off by hand."""
    assert len(PUBLISHED) == 30
    assert PUBLISHED["linear", "ungated"] == 0.995
    assert PUBLISHED["rings", "additive"] == 0.538
    assert PUBLISHED["spiral", "silu"] == 0.859
    assert PUBLISHED["circle", "pointwise"] == 0.734


def test_differences_from_it_have_their_interval():
    rows = made(lambda t, v, s, r: {"test_accuracy": 0.9 + 0.01 * (s % 2)}, tasks=("xor",))
    found = {one.variant: one for one in differences(sorted_out(rows))}
    assert set(found) == {"ungated", "sigmoid", "additive"}
    assert found["ungated"].ours == pytest.approx(0.905)
    half = 2.131449545559323 * np.std([0, 0.01] * 8, ddof=1) / 4
    assert found["ungated"].high - found["ungated"].low == pytest.approx(2 * half)
    assert found["ungated"].outside
    said = difference_sentence(tuple(found.values()))
    assert said.startswith(
        "3 of 3 of its means lie outside our 95 % intervals; ours are higher in 1"
    )
    assert "None" in difference_sentence(())


# --- Words ----------------------------------------------------------------------------------------


def test_numbers_are_written_with_their_doubt():
    assert spans([7, 0, 1, 2]) == "0–2, 7"
    assert number(float("nan")) == number(None) == "–"
    assert number(-1234.5) == "−1.23e03"
    assert probability(1e-9) == "< 0.0001"
    assert gap_lines([]) == ()


def test_a_table_has_as_many_cells_as_columns():
    with pytest.raises(ValueError, match="2 cells; the table has 1"):
        Table(("a",), (("1", "2"),))
