"""Which picture decides a claim? Plain data in Plotly's figure format: nothing is drawn here.

Every point of a trained model carries the key of its row as ``customdata``, so that a page can open
the model.
"""

from collections.abc import Callable

from gating_core.claims.pictures.bounds import bounds
from gating_core.claims.pictures.figure import DARK, LIGHT, Figure, Palette, colours
from gating_core.claims.pictures.forest import better, more_curvature
from gating_core.claims.pictures.growth import deeper
from gating_core.claims.pictures.margin import equal
from gating_core.claims.pictures.relation import together
from gating_core.claims.verdicts import Verdict

__all__ = ["DARK", "FIGURES", "LIGHT", "Figure", "Palette", "colours", "figures"]

FIGURES: dict[str, Callable[[Verdict, Palette], tuple[Figure, ...]]] = {
    "C1": bounds,
    "C2": bounds,
    "C3": more_curvature,
    "C4": better,
    "C5": equal,
    "C6": together,
    "C7": deeper,
}


def figures(verdict: Verdict, palette: Palette = LIGHT) -> tuple[Figure, ...]:
    """The pictures of a claim; none where there is nothing to draw."""
    return FIGURES[verdict.claim](verdict, palette)
