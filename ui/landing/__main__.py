"""Write the two models of the landing page as one file, which needs no server and no network.

python -m ui.landing [FILE]

By default ``dist/flat_or_curved.html``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from gating_core.experiments.comparison import STRENGTHS
from ui.common.lessons import section
from ui.components.one_file import one_file
from ui.landing.page import LEFT_MODELS, TASKS, bundled_result
from ui.landing.pair import Result, chosen_text, pair_of, shown_with

FILE = Path(__file__).resolve().parents[2] / "dist" / "flat_or_curved.html"


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
