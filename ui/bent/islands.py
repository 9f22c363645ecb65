"""The tab Islands: a plane to drag through three surfaces, and what an island needs of them."""

from __future__ import annotations

from functools import partial

import streamlit as st

from gating_core.experiments.comparison import (
    EXAMPLES,
    CutSurface,
    cut_example,
    first_plane,
    sample_example,
)
from gating_core.geometry import Island, square_grid
from ui.common.formatting import plus_minus, short
from ui.common.lessons import explain, section
from ui.common.links import LINK, link_value, parse_number, parse_plane, put_in_link
from ui.common.page import draw_finding
from ui.common.take_along import File, csv_text, offered
from ui.components.islands import Scene, draw_islands, is_turn
from ui.components.stage import Plane
from ui.drawing.colours import scale_of
from ui.drawing.first_view import scale_share
from ui.work.cache import cached

GRID_SIZE = 41  # points along each side, as on the first page: more would slow a drag down
VIEW_KEY = "islands_view"
COUNT_WORDS = {3: "three", 4: "four"}
TURNS = ((0, "a dome"), (23, "a roll of paper"), (68, "a saddle"))  # of the flat torus, in degrees


@cached("Sampling the surface …")
def scene_of(name: str) -> Scene:
    """Return what the picture draws of an example."""
    surface = sampled(name)
    scale = scale_of("curvature", [surface.gaussian])
    return Scene(
        surface.values,
        surface.gaussian,
        surface.positive,
        surface.mean,
        surface.thin,
        scale_share(surface.gaussian, scale),
    )


@cached("Sampling the surface …")
def sampled(name: str) -> CutSurface:
    """Measure an example on the grid: a tenth of a second."""
    return sample_example(name, square_grid(GRID_SIZE))


@cached("Measuring the island …")
def island_of(name: str, plane: Plane) -> Island | None:
    """Measure the island that a plane cuts out of an example: a fifth of a second."""
    return cut_example(name, plane)


def draw() -> None:
    """Draw the choice of a surface, the picture, and what is measured of its island."""
    name = st.radio("Surface", [*EXAMPLES], key="island_surface", horizontal=True,
                    label_visibility="collapsed", **LINK)  # fmt: skip
    draw_finding(section("bent", "hill"), lead=section("bent", "lead"))
    island = draw_example(name, VIEW_KEY)
    st.markdown(island_text(name, island))
    explain("islands", section("bent", "theorem"))
    offered().name = f"island_{name.replace(' ', '_')}"
    if island:
        offered().files["Needed and measured"] = File(
            "island.csv", lambda line: table(island, line)
        )


def draw_example(name: str, key: str, turned: int = 0, hold: bool = False) -> Island | None:
    """Draw an example, its shadow ``turned`` at first, cut by the plane of the link.

    Returns:
        The island that the plane cuts out of it.
    """
    flat = name == "flat torus"
    first = first_plane(name)
    plane = link_value("island_plane", parse_plane, first, "the first plane")
    turn = link_value(
        "island_turn",
        lambda text: int(x) if (x := parse_number(text)) is not None and is_turn(x) else None,
        turned,
        "no turn",
    )
    scale = scale_of("curvature", [sampled(name).gaussian])
    draw_islands(
        scene_of(name),
        key=key,
        plane=plane,
        first=first,
        turn=turn if flat else 0,
        turns=TURNS if flat else (),
        scale=scale.colours,
        texts={kind: told(name, kind) for kind in ("closed", "open")},
        on_move=partial(_to_link, first=first, turned=turned),
        hold=hold,
    )
    return island_of(name, plane)


def told(name: str, kind: str) -> tuple[str, str]:
    """Return what is bold and the rest of what is said of a "closed" or "open" cut."""
    bold, rest = section("bent", f"cut_{name.replace(' ', '_')}_{kind}").split("\n\n")
    return bold, rest


def island_text(name: str, island: Island | None) -> str:
    """Say what the island needs, beside what is measured."""
    if island is None:
        return section("bent", "nothing_saddle" if name == "saddle" else "nothing")
    if island.needed_mean is None:
        return section("bent", "fold")
    gaussian = plus_minus(island.gaussian, island.gaussian_error)
    if island.needed_gaussian is None:
        return section(
            "bent",
            "bends",
            mean=plus_minus(island.mean, island.mean_error),
            needed=short(island.needed_mean),
            gaussian=gaussian,
            dimension=COUNT_WORDS[island.dimension],
        )
    total = island.needed_total
    return section(
        "bent",
        "measured",
        gaussian=gaussian,
        needed=short(island.needed_gaussian),
        total=plus_minus(float(island.positive.value), float(island.positive.error)),
        needed_total="as it may fold, nothing" if total is None else f"at least {short(total)}",
    )


def table(island: Island, line: str) -> str:
    """Return needed and measured numbers as CSV, below a ``line``."""
    total = island.positive
    return csv_text(
        [
            (f"# {line}",),
            ("quantity", "needed", "measured", "error"),
            ("K (1/length^2)", island.needed_gaussian, island.gaussian, island.gaussian_error),
            ("|H| (1/length)", island.needed_mean, island.mean, island.mean_error),
            (
                "integral of max(K, 0) dA",
                island.needed_total,
                float(total.value),
                float(total.error),
            ),
            ("height (length)", None, island.height, None),
            ("radius (length)", None, island.radius, island.radius_error),
            ("radius of the sphere (length)", None, island.sphere_radius, None),
        ]
    )


def _to_link(plane: Plane, turn: int, first: Plane, turned: int) -> None:
    text = ",".join(f"{x:g}" for x in plane)
    put_in_link(
        island_turn="" if turn == turned else str(turn),
        island_plane="" if text == ",".join(f"{x:.6g}" for x in first) else text,
    )
