"""Memory of the process that serves pages, while *Language models* reads the longest texts.

    python -m tests.benchmarks.typed_memory [TEXTS]

Each text has 127 characters that nobody has typed before; tabs, gates and seeds take turns.
"""

from __future__ import annotations

import asyncio
import random
import sys

from psutil import Process

from gating_core.language import CHARACTERS, SEEDS
from tests.browser.serving import Served, serve
from tests.load.session import Session
from ui.common.language_models import GATES
from ui.limits import READ_CHARACTERS

GOAL_MB = 200
TABS = ("Attention sinks", "Gate sparsity")  # they read the text
LETTERS = CHARACTERS.replace("\n", "").replace(" ", "")
TEXTS = 240  # more than what is cached


async def visit(app: Served, texts: int) -> None:
    """Print how much memory more there is than after a first look, now and then."""
    draw, server = random.Random(0), Process(app.pid)
    async with Session(app.url, "Language_models") as session:
        await session.open()
    before = server.memory_info().rss
    for number in range(texts):
        text = "".join(draw.choices(LETTERS, k=READ_CHARACTERS))
        link = {"measure": TABS[number % len(TABS)], "lm_text": text,
                "lm_gate": [*GATES][1 + number % (len(GATES) - 1)],
                "lm_seed": str(SEEDS[number // len(TABS) % len(SEEDS)])}  # fmt: skip
        async with Session(
            app.url, "Language_models", {name: [value] for name, value in link.items()}
        ) as s:
            await s.open()
        if (number + 1) % (texts // 6) == 0:
            more = (server.memory_info().rss - before) / 1e6
            print(f"{number + 1} texts: {more:+.0f} MB", flush=True)
    print(f"Goal: below {GOAL_MB} MB.")


if __name__ == "__main__":
    with serve() as served:
        asyncio.run(visit(served, int(sys.argv[1]) if sys.argv[1:] else TEXTS))
