"""Text from outside, made harmless: values of a link, labels of a table, names of classes.

Markdown would follow its links and fetch its pictures, Plotly would read its mark-up. Each way of
drawing has a function here; text that is drawn with ``st.text`` or by a component's
``textContent`` needs only `printable`.
"""

from __future__ import annotations

import html
import re

ERROR_LETTERS = 400  # of an error's text
# Markdown makes links of addresses whatever is escaped, but not across an invisible joiner.
ADDRESS, JOINER = re.compile(r"(://|@|www(?=\.))", re.IGNORECASE), "\u034f"
SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:&@^=])")


def printable(text: str) -> str:
    """Return ``text`` in one line, with spaces for invisible and direction-changing characters."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def as_words(text: str) -> str:
    """Escape ``text`` for Markdown."""
    return SPECIAL.sub(r"\\\1", ADDRESS.sub(rf"\1{JOINER}", printable(text)))


def error_words(error: Exception | str) -> str:
    """Return the text of an error, which may quote a file or a link, for Markdown.

    It is escaped, ends without a full stop, and is cut at some hundred letters.
    """
    text = str(error)
    cut = text[: ERROR_LETTERS - 1] + "…" if len(text) > ERROR_LETTERS else text.rstrip(".")
    return as_words(cut)


def as_code(text: str) -> str:
    """Return ``text`` as code in Markdown, in one line, with spaces for backticks."""
    return f"`{printable(text).replace('`', ' ')}`"


def in_plot(text: str) -> str:
    """Escape ``text`` for Plotly: no mark-up and no placeholders."""
    return html.escape(printable(text), quote=False).replace("%{", "% {")
