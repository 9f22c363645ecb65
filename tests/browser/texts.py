"""All texts of all pages in one file, to be read with fresh eyes.

    python -m tests.browser.texts OUT.txt

Every page is opened in every state of `addresses`; a text that a page has already shown is not
repeated. What the scripts of components say stands at the end.
"""

import json
import logging
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from google.protobuf.message import Message
from streamlit.logger import set_log_level
from streamlit.testing.v1 import AppTest

from tests.ui import opening
from tests.ui.inline import Inline
from ui.common.bar import PAGES
from ui.common.bar import address as address_of
from ui.work import jobs, pool

from .addresses import ADDRESSES, addresses
from .serving import REPOSITORY

SILENT = re.compile(
    r"id|icon|.*_content|css|page.*|.*_key|format|b?data|dtype|array|source|.*color.*|fill.*|family"
    r"|key|serial|kind|type|dash|anchor|.*ref|url|mode|side|name|.*script.*",
    re.IGNORECASE,
)
TAG = re.compile(r"<(style|script).*?</\1>|<[^>]+>", re.S)
SPOKEN = re.compile(r"(?!rgba?\(|https?:|\$\$|\S{40}).*[^\W\d_]{2}", re.S)
WAIT = 600  # seconds for a page, on a busy machine
MANY = 12  # texts in a row, as of points or of frames: the first ones stand for all
IN_SCRIPTS = re.compile(r"""(?<!\w)(['"`])([A-ZΑ-Ω][^'"`\n]*\s[^'"`\n]*)\1""")


def spoken(value: Any, key: str = "") -> Iterator[str]:
    """All texts in a message to the browser, those for a program left out."""
    if isinstance(value, Message):
        yield from spoken({field.name: part for field, part in value.ListFields()})
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from spoken(part, str(name))
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        for part in value[: 3 if len(value) > MANY else MANY]:
            yield from spoken(part, key)
    elif isinstance(value, str | bytes) and value[:1] in ("{", "[", b"{", b"["):
        try:
            yield from spoken(json.loads(value), key)
        except ValueError:
            yield str(value)
    elif isinstance(value, str) and not SILENT.fullmatch(key):
        text = re.sub(r"\s*\n\s*", "\n", TAG.sub(" ", value)).strip()
        if SPOKEN.match(text):
            yield text


def shown(block: Any) -> Iterator[str]:
    """All texts of a page, from the top."""
    for child in block.children.values():
        yield from spoken(getattr(child, "proto", None))
        yield from shown(child) if hasattr(child, "children") else ()


def opened(path: str, address: str) -> AppTest:
    """The page behind an address, once all that it has begun has ended."""
    file = next(row.path for title, row in PAGES.items() if address_of(title) == path)
    app = opening.open_page(file, **parse_qs(urlsplit(address).query))
    jobs = app.session_state["_jobs"].values() if "_jobs" in app.session_state else ()
    for job, *_ in tuple(jobs):
        job.join()
    return app.run() if jobs else app


def main() -> None:
    set_log_level(logging.ERROR)
    pool.POOL, opening.TIMEOUT_SECONDS, jobs.AT_ONCE_SECONDS = Inline(), WAIT, WAIT
    lines: list[str] = []
    for path in ADDRESSES:
        printed: set[str] = set()
        for name, address in addresses(path).items():
            texts = dict.fromkeys(shown(opened(path, address)._tree))
            texts = [text for text in texts if text not in printed]
            printed.update(texts)
            lines += [f"\n{'=' * 8} {name}: {address}\n", *texts]
            print(name, len(texts), flush=True)
    for script in sorted((REPOSITORY / "ui").rglob("*.js")):
        texts = [text for _, text in IN_SCRIPTS.findall(script.read_text(encoding="utf-8"))]
        lines += [f"\n{'=' * 8} {script.name}\n", *texts] if texts else []
    Path(sys.argv[1]).write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
