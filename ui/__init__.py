"""What a visitor sees: one folder a page, and what pages share.

Whatever is imported from here, the process is settled first: threads, and what is in memory.
"""

from ui.work import runtime as _runtime  # noqa: F401  (its import is what settles)
