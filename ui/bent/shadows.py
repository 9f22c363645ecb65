"""Two trained surfaces side by side, as shadows in three dimensions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gating_core.experiments.comparison import PricedModel, Shadow
from ui.common.formatting import short
from ui.components.pair import Pair, Side, draw_pair
from ui.drawing.colours import scale_of
from ui.drawing.first_view import NO_SEGMENTS, best_eye, scale_share

GREY = 0.5  # the middle of the scale
NO_BREAK = "\u00a0"


def shadow_pair(shadows: Mapping[str, Shadow | PricedModel], coloured: bool = True) -> Pair:
    """Return both shadows by their names, coloured by K on one scale, or grey."""
    scale = scale_of("curvature", [shadow.gaussian for shadow in shadows.values()], asinh=False)
    low, high = scale.ends
    return Pair(
        sides=tuple(
            Side(
                name=name[0].upper() + name[1:],
                short=name,
                values=shadow.places[None],
                shares=(
                    scale_share(shadow.gaussian, scale)
                    if coloured
                    else np.full_like(shadow.gaussian, GREY)
                )[None],
                signed=shadow.height[None],
                gaussian=shadow.gaussian[None],
                error=np.zeros_like(shadow.gaussian)[None],
                flat=[False],
                corners=None,
                lines=NO_SEGMENTS,
                cut=True,
            )
            for name, shadow in shadows.items()
        ),
        labels=[""],
        places=[1.0],
        eye=best_eye([shadow.places for shadow in shadows.values()]),
        scale=scale.colours,
        ends=(f"saddle, K = {short(low)}", f"{short(high)}, dome") if coloured else ("", ""),
    )


def draw_shadows(
    pair: Pair, key: str, scene: str, verdicts: list[tuple[str, str]], note: str = ""
) -> None:
    """Draw a `shadow_pair`; ``verdicts``: what is large and what is small above each."""
    draw_pair(
        pair,
        key=key,
        scene=scene,
        frame=0,
        point=None,
        verdicts=[[verdict] for verdict in verdicts],
        quantity="K",
        names=("x₁", "x₂"),
        note=note,
        maps=False,
        on_leave=lambda *_: None,
    )


def percent(share: float) -> str:
    """Format a share with one digit."""
    return f"{100 * share:.1f}{NO_BREAK}%"
