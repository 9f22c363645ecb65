"""How does text from outside reach a page, so that nothing in it does anything there?

Values of a link, labels of a table, whatever a visitor or a stranger wrote: Markdown would follow
its links and fetch its pictures, Plotly would read its mark-up. Each way of drawing has a function
of its own here; what is drawn with ``st.text`` or by a component's ``textContent`` needs only
`printable`.
"""

from __future__ import annotations

import html
import re

SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~$:&@^=])")


def printable(text: str) -> str:
    """``text`` in one line: a space for all that is not seen, or turns the words around it."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def as_words(text: str) -> str:
    """``text`` within Markdown, shown letter by letter."""
    return SPECIAL.sub(r"\\\1", printable(text))


def as_code(text: str) -> str:
    """``text`` as code within Markdown; accents that would end it become spaces.

    In one line: an empty one would end the code with its paragraph, and the rest be Markdown.
    """
    return f"`{printable(text).replace('`', ' ')}`"


def in_plot(text: str) -> str:
    """``text`` so that Plotly shows it as it is: neither mark-up nor placeholder."""
    return html.escape(printable(text), quote=False).replace("%{", "% {")
