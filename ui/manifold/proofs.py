"""What is proved of the curvature of both variants, beside what was measured."""

from __future__ import annotations

from collections.abc import Sequence

from gating_core.experiments.specimen import MeasuredSpecimen, Specimen, chart_of
from gating_core.geometry import Integral
from ui.manifold.captions import best_total
from ui.manifold.measured import TOTALS
from ui.manifold.words import VARIANT_NAMES
from ui.proved.measured import ProvableSurface
from ui.proved.section import Code, Compared, draw_proofs
from ui.proved.words import short_code

AXES = {"inputs": ("x<sub>1</sub>", "x<sub>2</sub>"), "weights": ("u", "v")}  # by chart
IMPORTS = """\
from gating_core.attention import AttentionConfig, GateConfig
from gating_core.experiments.specimen import Specimen, chart_of"""
REFINED = ("absolute", "gaussian", "area")


def draw_proved(variants: Sequence[MeasuredSpecimen]) -> None:
    """Draw the fold with the maps of what is proved."""
    draw_proofs(lambda: _compared(variants), AXES[variants[-1].specimen.chart])


def _compared(variants: Sequence[MeasuredSpecimen]) -> tuple[list[Compared], Code]:
    compared = [
        Compared(name, surface_of(each.specimen), estimates(each), each.surface)
        for name, each in zip(VARIANT_NAMES, variants, strict=False)
    ]
    return compared, (IMPORTS, f"surface = chart_of({short_code(variants[-1].specimen)})")


def surface_of(specimen: Specimen) -> ProvableSurface:
    """Return what is proved of a specimen."""
    return ProvableSurface(specimen, chart_of(specimen), specimen.covariance)


def estimates(variant: MeasuredSpecimen) -> dict[str, Integral]:
    """Return the estimated integrals that are there: refined ones, or the grid's total."""
    refined = TOTALS.cached((variant.specimen,)).get(variant.specimen)
    known = {} if refined is None else {name: getattr(refined, name) for name in REFINED}
    total = best_total(variant, refined)
    return known | ({} if total is None else {"absolute": total})
