"""Two surfaces in a file of its own, which needs no server and sends no request.

Everything is inside: the script and the arrays, and the colours of both themes.
"""

from __future__ import annotations

import html
import json
import re
import tomllib
from base64 import b64encode
from collections.abc import Mapping
from gzip import compress
from pathlib import Path
from typing import Any

from ui.components.pair import Pair, arrays_of, header_of
from ui.components.source import read, script, style

ROOT = Path(__file__).resolve().parents[3]
THEMES = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]
ICON = ROOT / "assets" / "icon.png"
SHARED_STYLE = {  # as Streamlit derives them
    "font": '"Source Sans 3", "Source Sans Pro", system-ui, sans-serif',
    "button-radius": THEMES["baseRadius"],
    "border-color": "color-mix(in srgb, var(--st-text-color) 20%, transparent)",
}
EXPORT, MOUNT = "export default function (", "const mount = function ("
FIELD = re.compile(r"\[\[(\w+)\]\]")


def one_file(
    pair: Pair, shown: Mapping[str, Any], *, title: str, question: str, lead: str, explanation: str
) -> str:
    """Return an HTML file that draws ``pair``; for what is ``shown`` with it see `header_of`.

    In ``lead`` and ``explanation`` ** marks bold text, * italic text, an empty line paragraphs.
    """
    header = header_of(pair, **shown) | {"source": "arrays"}
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
        "arrays": _packed(arrays_of(pair)),
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


def _packed(content: bytes) -> str:
    return b64encode(compress(content, mtime=0)).decode()
