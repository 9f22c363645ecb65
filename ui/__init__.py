"""What a visitor sees: one folder a page, and what pages share.

Whatever is imported from here, the process is settled first: threads, and what is in memory.
"""

# plotly looks for pandas when it first draws: two visitors at once would find half of it.
import pandas as _pandas  # noqa: F401

from ui.work import runtime as _runtime  # noqa: F401  (its import is what settles)
