"""Which parts of an attention layer are experts of a mixture, and which of them can data decide?"""

from gating_core.experts.entry import EntryTree, entry_tree

__all__ = ["EntryTree", "entry_tree"]
