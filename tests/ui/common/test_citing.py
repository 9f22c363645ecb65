"""A citation names version, commit and link; a QR code is drawn where a phone can follow it."""

import subprocess
import tomllib
import xml.etree.ElementTree as ElementTree
from datetime import UTC, datetime

import pytest

from ui.common.share import ROOT, bibtex, citation, commit, is_loopback, qr_svg

LINK = "https://gating.example.org/Manifold?dim=8&metric=turned"
AT = datetime(2026, 11, 26, tzinfo=UTC)


def test_the_citation_has_what_the_format_asks_for_and_the_version_of_the_package():
    found = citation()
    assert {"cff-version", "message", "title", "authors", "version"} <= {*found}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert found["version"] == project["version"]
    assert found["license"] == "MIT"


def test_an_entry_says_title_version_commit_and_link():
    entry = bibtex("Manifold", LINK, AT)
    assert entry.startswith("@software{gated-attention-manifold,\n")
    assert f"url = {{{LINK}}}" in entry
    assert f"version = {{{citation()['version']}}}" in entry
    assert citation()["title"] in entry
    assert "visited 2026-11-26" in entry
    if commit():
        assert f"commit {commit()[:12]}" in entry


@pytest.mark.parametrize("text", ["{", "}", "}}{", "a}, note = {x"])
def test_braces_of_a_link_do_not_end_a_field(text):
    entry = bibtex("Manifold", f"https://gating.example.org/?formula={text}", AT)
    assert entry.count("{") == entry.count("}") == bibtex("Manifold", LINK, AT).count("{")


def test_the_commit_is_that_of_git():
    if not (ROOT / ".git").exists():
        pytest.skip("no checkout")
    command = ["git", "rev-parse", "HEAD"]
    found = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert commit() == found.stdout.strip()


def test_branches_packed_ones_and_no_checkout(tmp_path):
    git = tmp_path / ".git"
    (git / "refs" / "heads").mkdir(parents=True)
    assert commit(tmp_path) == ""
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    assert commit.__wrapped__(tmp_path) == ""
    (git / "packed-refs").write_text("# pack-refs\nabc refs/heads/main\n")
    assert commit.__wrapped__(tmp_path) == "abc"
    (git / "refs" / "heads" / "main").write_text("def\n")
    assert commit.__wrapped__(tmp_path) == "def"
    (git / "HEAD").write_text("123\n")
    assert commit.__wrapped__(tmp_path) == "123"


def test_a_code_is_an_svg_and_a_link_may_be_too_long_for_one():
    svg = ElementTree.fromstring(qr_svg(f"{LINK}&x=<b>"))
    assert svg.tag.endswith("svg")
    assert qr_svg("x" * 2900)
    assert qr_svg("x" * 3000) is None


@pytest.mark.parametrize(("link", "loops"), [
    ("http://127.0.0.1:8501/c/x", True), ("http://localhost/", True), ("http://[::1]:8501/", True),
    ("http://0.0.0.0:8501/", True), ("http://127.1.2.3/", True), ("http://a.localhost/", True),
    ("http://192.168.0.7:8501/", False), ("https://gating.example.org/c/x", False),
    ("http://[fe80::1]/", False), ("", False),
])  # fmt: skip
def test_an_address_that_leads_to_oneself_is_known(link, loops):
    assert is_loopback(link) == loops
