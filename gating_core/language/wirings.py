"""Wirings: the inputs of the MLP of a block, a row each.

The first block always has the usual wiring. *First attentions last* (Kim et al., arXiv 2510.14614)
feeds the MLP of every later block from the first block's attention, so that attention and MLP of a
block can run side by side. Where exactly its norms are is our reading of that paper.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Wiring:
    """The inputs of the MLP of a later block besides the residual stream x.

    The MLP reads norm(x + A_l), or norm(x) if it does not read its own block's attention; if it
    reads the first block's, norm(A_1) is added. A_l is the attention output of
    block l after its projection, and every norm has gains of its own.
    """

    title: str  # as within a sentence
    reads_own: bool  # A_l: then the MLP has to wait for the attention of its block
    reads_first: bool  # A_1


WIRINGS = {
    "usual": Wiring("usual wiring", reads_own=True, reads_first=False),
    "fal": Wiring("FAL", reads_own=False, reads_first=True),
    "fal_plus": Wiring("FAL+", reads_own=True, reads_first=True),
    "parallel": Wiring("attention and MLP side by side", reads_own=False, reads_first=False),
}
