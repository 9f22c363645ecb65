"""BibTeX for a state of a page: title, version, commit and link."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]


@cache
def citation() -> dict[str, Any]:
    """Return what CITATION.cff says."""
    return yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


@cache
def commit(root: Path = ROOT) -> str:
    """Return the commit that is checked out in ``root``; "" if it is no checkout."""
    git = root / ".git"
    try:
        if git.is_file():  # of a further worktree
            git = root / git.read_text().removeprefix("gitdir:").strip()
        head = (git / "HEAD").read_text().strip()
        if not head.startswith("ref:"):
            return head
        name = head.removeprefix("ref:").strip()
        common = git / "commondir"
        shared = git / common.read_text().strip() if common.exists() else git
        if (shared / name).exists():
            return (shared / name).read_text().strip()
        packed = (shared / "packed-refs").read_text()
        return next(line.split()[0] for line in packed.splitlines() if line.endswith(f" {name}"))
    except (OSError, StopIteration):
        return ""


def bibtex(page: str, link: str, at: datetime | None = None) -> str:
    """Return an entry that cites the ``page`` as ``link`` shows it, visited ``at`` (now)."""
    found = citation()
    at = at or datetime.now(UTC)
    note = ", ".join(
        filter(
            None,
            (
                f"page {page}",
                (code := commit()) and f"commit {code[:12]}",
                f"visited {at:%Y-%m-%d}",
            ),
        )
    )
    fields = {
        "author": " and ".join(f"{{{author['name']}}}" for author in found["authors"]),
        "title": f"{{{found['title']}}}",
        "year": f"{at:%Y}",
        "version": found["version"],
        "note": _escaped(note),
        "url": _escaped_url(link),
    }
    key = re.sub(r"\W+", "-", page.lower()).strip("-")
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items()]
    return "\n".join([f"@software{{gated-attention-{key},", *lines, "}"])


def _escaped(text: str) -> str:
    """Escape ``text`` for TeX."""
    return re.sub(r"([#$%&_{}])", r"\\\1", text)


def _escaped_url(link: str) -> str:
    """Write what BibTeX would count as a brace in its percent code."""
    return link.replace("{", "%7B").replace("}", "%7D")
