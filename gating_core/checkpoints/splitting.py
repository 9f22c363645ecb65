"""Splits a text by a tokenizer.json: a program of its own, which a malformed file may end.

The package tokenizers panics on some files, and ends the process on others. It is run by its path,
so that it starts without the rest of the library: `read_tokens` writes a JSON object of the
arguments of `split` to its input, and reads its result, or ``{"error": …}``, from its output.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import Any

MEMORY, SECONDS = 2 << 30, 30  # of address space and processor time, at which the system ends it
LETTERS = 60  # of a token's name, and of an error 300
WORD_MODELS = ("WordLevel", "WordPiece")  # whose tokens are words, or pieces after ##


def split(file: str, text: str, most: int) -> dict[str, Any]:
    """Split ``text`` into at most ``most`` tokens, special ones included.

    Returns:
        ``ids``, ``special`` and ``offsets`` of the tokens; and their ``names``, ``None`` where the
        vocabulary is one of bytes or of parts of words, which are read by their offsets.
    """
    from tokenizers import Tokenizer  # an extra

    tokenizer = Tokenizer.from_str(file)
    tokenizer.no_padding()
    tokenizer.enable_truncation(most)
    encoded = tokenizer.encode(text)
    added = {i for i, token in tokenizer.get_added_tokens_decoder().items() if token.special}
    plain = type(tokenizer.model).__name__ in WORD_MODELS
    rows = zip(encoded.ids, encoded.tokens, encoded.offsets, strict=True)
    names = [
        name[:LETTERS] if plain or i in added or start >= stop else None
        for i, name, (start, stop) in rows
    ]
    return {
        "ids": encoded.ids,
        "special": encoded.special_tokens_mask,
        "offsets": encoded.offsets,
        "names": names,
    }


def main() -> None:
    """Answer one request."""
    with suppress(ImportError):  # Windows has no such limits
        import resource

        for limit, most in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_CPU, SECONDS)):
            with suppress(ValueError, OSError):  # there are lower ones
                resource.setrlimit(limit, (most, most))
    try:
        result = split(**json.load(sys.stdin))
    except BaseException as error:
        result = {"error": str(error)[: 5 * LETTERS] or type(error).__name__}
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main()
