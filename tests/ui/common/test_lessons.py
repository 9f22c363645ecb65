"""The fixed texts of the pages are found, complete and used."""

from pathlib import Path

import pytest

from ui.common import lessons
from ui.common.lessons import LESSONS, section, sections

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def example(tmp_path, monkeypatch):
    (tmp_path / "example.md").write_text(
        "A note for writers.\n\n## first\nOne line,\nand $\\frac{a}{b}$ of [[count]].\n\n* a\n* b\n"
        "\n## second\nNo field.\n"
    )
    monkeypatch.setattr(lessons, "LESSONS", tmp_path)
    sections.cache_clear()
    yield
    sections.cache_clear()


@pytest.mark.usefixtures("example")
def test_a_section_has_its_fields_filled_in():
    text = section("example", "first", count=3)
    assert text == "One line, and $\\frac{a}{b}$ of 3.\n\n* a\n* b"
    assert section("example", "second") == "No field."


@pytest.mark.usefixtures("example")
@pytest.mark.parametrize(
    ("name", "fields", "error"),
    [
        ("third", {}, KeyError),
        ("first", {}, KeyError),
        ("first", {"count": 3, "more": 1}, ValueError),
    ],
)
def test_what_is_missing_or_unused_is_an_error(name, fields, error):
    with pytest.raises(error):
        section("example", name, **fields)


def test_every_section_is_used_somewhere():
    files = [*(ROOT / "ui").rglob("*.py"), *(ROOT / "pages").glob("*.py"), ROOT / "app.py"]
    code = "\n".join(path.read_text() for path in files)
    for path in LESSONS.glob("*.md"):
        for name in sections(path.stem):
            group = name.partition("_")[0]  # one for each word of a list
            used = f'"{name}"', f"'{name}'", f'f"{group}_{{'
            assert any(words in code for words in used), f"{path.stem}.md: {name}"
