"""Write the two models of the landing page as one file, which needs no server and no network.

python -m ui.landing [FILE]

By default ``dist/flat_or_curved.html``. Everything is inside: the script and the arrays, and the
colours of both themes.
"""

from __future__ import annotations

import html
import json
import re
import sys
import tomllib
from base64 import b64encode
from collections.abc import Mapping
from gzip import compress
from pathlib import Path
from typing import Any

from gating_core.experiments.comparison import STRENGTHS
from ui.common.lessons import section
from ui.components.pair import Pair, header_of, packed_arrays
from ui.components.source import read, script, style
from ui.landing.page import LEFT_MODELS, TASKS, bundled_result
from ui.landing.pair import Result, chosen_text, pair_of, shown_with

ROOT = Path(__file__).resolve().parents[2]
THEMES = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]
ICON = ROOT / "assets" / "icon.png"
SHARED_STYLE = {  # as Streamlit derives them
    "font": '"Source Sans 3", "Source Sans Pro", system-ui, sans-serif',
    "button-radius": THEMES["baseRadius"],
    "border-color": "color-mix(in srgb, var(--st-text-color) 20%, transparent)",
}
EXPORT, MOUNT = "export default function (", "const mount = function ("
FIELD = re.compile(r"\[\[(\w+)\]\]")
FILE = ROOT / "dist" / "flat_or_curved.html"


def one_file(
    pair: Pair, shown: Mapping[str, Any], *, title: str, question: str, lead: str, explanation: str
) -> str:
    """Return an HTML file that draws ``pair``; for what is ``shown`` with it see `header_of`.

    In ``lead`` and ``explanation`` ** marks bold text, * italic text, an empty line paragraphs.
    """
    entries, content = packed_arrays(pair)
    header = header_of(pair, **shown) | {"arrays": entries, "source": "arrays", "heard": 0}
    fields = {
        "icon": b64encode(ICON.read_bytes()).decode(),
        "title": html.escape(title),
        "question": html.escape(question),
        "lead": paragraphs(lead),
        "explanation": paragraphs(explanation),
        "style": theme() + style("one_file"),
        "component": read("pair/pair.html"),
        # A script ends at the first "</script", whatever it is inside.
        "header": json.dumps(header, allow_nan=False).replace("<", "\\u003c"),
        "arrays": b64encode(compress(content, mtime=0)).decode(),
        "script": script("one_file").replace(EXPORT, MOUNT),
    }
    return FIELD.sub(lambda field: fields[field[1]], read("one_file/one_file.html"))


def theme() -> str:
    """Return both themes of the app as properties in CSS, with the names that Streamlit gives."""
    rules = []
    for scheme in ("light", "dark"):
        colours = {
            re.sub("[A-Z]", lambda x: f"-{x[0].lower()}", name): colour
            for name, colour in THEMES[scheme].items()
        }
        parts = [f"--st-{name}: {text};" for name, text in (colours | SHARED_STYLE).items()]
        rules.append(f":root[data-scheme={scheme}] {{ color-scheme: {scheme}; {' '.join(parts)} }}")
    return "\n".join(rules)


def paragraphs(text: str) -> str:
    """Return ``text`` as paragraphs of HTML."""
    text = html.escape(text, quote=False)
    for mark, tag in ((r"\*\*", "strong"), (r"\*", "em")):
        text = re.sub(rf"{mark}(.+?){mark}", rf"<{tag}>\1</{tag}>", text)
    return "\n".join(f"<p>{part}</p>" for part in text.split("\n\n"))


def page_file(result: Result) -> str:
    """Return the page, an HTML file, with the models of ``result`` at all strengths."""
    drawn, scale = pair_of(result.pair, result.colouring)
    question = section("landing", "question")
    return one_file(
        drawn,
        shown_with(result, scale) | {"follow": "arrive"},
        title=question,
        question=question,
        lead=section("landing", "lead"),
        explanation=f"{chosen_text(result)}\n\n{section('landing', 'two_models')}",
    )


def write(file: Path = FILE) -> None:
    """Write the page of the first example as ``file``."""
    file.parent.mkdir(parents=True, exist_ok=True)
    result = bundled_result(TASKS[0], len(STRENGTHS) - 1, next(iter(LEFT_MODELS)))
    file.write_text(page_file(result), encoding="utf-8")


if __name__ == "__main__":
    write(*map(Path, sys.argv[1:2]))
