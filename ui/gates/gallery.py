"""The tab Gallery: sixteen gates on a flat surface, one of them open.

A small picture of each, its verdict and its range of K are bundled; ``python -m ui.gates`` makes
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
import streamlit as st

import gating_core.theory as theory
from gating_core.export import Surface
from gating_core.geometry import CURVED
from gating_core.records import load_record
from gating_core.theory import BENT, FIRST_FORMULA, FIRST_RADIUS, FLAT, GALLERY, GateVerdict
from ui.common.bar import PAGES
from ui.common.formatting import percent
from ui.common.lessons import explain, section
from ui.common.links import LINK, link_value, parse_number, parse_pick, pick_text, put_in_link
from ui.common.take_along import OfferedSurface, offer_notebook, offered
from ui.components.pair import Point
from ui.drawing.colours import scale_of, sheet
from ui.foreign import as_code, as_words
from ui.gates.frames import (
    OWN,
    RADII,
    SETTLING,
    SPHERE,
    STRENGTHS,
    GateFrame,
    GateRequest,
    case_of,
    measure_frames,
    resolve,
)
from ui.gates.picture import (
    CSS,
    SHOWN,
    GatePicture,
    Told,
    caption,
    causes_text,
    draw_gate,
    finding,
    gate_picture,
    range_text,
)
from ui.limits import FORMULA_CHARACTERS
from ui.work import pool
from ui.work.cache import CACHE, cached
from ui.work.jobs import Job, Jobs
from ui.work.pool import Rank

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "gates"
NUMBERS = FOLDER / "gallery.safetensors"
VIEW_KEY = "gates_view"
DRAWN = "gates_strengths"  # of the frames in the browser
FIRST = "bump"  # it has both signs
FOLDS = {
    "why": "The curvature formula and its derivation",
    "maps": "K, |H| and the gate over the chart",
}
HEADINGS = {  # in the order of the gallery
    FLAT: "Flat: $K$ = 0",
    BENT: "Bent, not curved: $K$ = 0",
    CURVED: "Curved: green $K$ > 0, violet $K$ < 0, each on a scale of its own",
}
ON_TILE = 18  # characters of a formula
Frames = tuple[GateFrame, ...]


@dataclass(frozen=True)
class TileNumbers:
    """The numbers of a tile: a verdict, how it is known, the least and the largest known K.

    K in 1 / length^2.
    """

    verdict: str
    knowledge: str | None
    least: float | None
    largest: float | None


def numbers_of(whole: GateVerdict, ends: tuple[float, float] | None) -> TileNumbers:
    """Return what a tile says of a gate with this verdict and range of K."""
    return TileNumbers(whole.word, whole.knowledge, *(ends or (None, None)))


def picture_file(name: str) -> Path:
    """Return the path of the picture of the case called ``name``."""
    return FOLDER / f"{name.replace(' ', '_')}.png"


@cache
def shipped() -> dict[str, TileNumbers]:
    """Return what all tiles say, by case."""
    return load_record(dict[str, TileNumbers], NUMBERS, "holds no numbers of gates")


# --- Measurements ---------------------------------------------------------------------------------


@cached()
def at_strengths(request: GateRequest, strengths: tuple[float, ...]) -> Frames:
    """Measure a gate at a few strengths: a tenth of a second each, of the longest formula one."""
    return pool.POOL.map(measure_frames, [((strength,), request) for strength in strengths])


EVERY: Jobs[GateRequest, Frames] = Jobs(
    "gate_strengths",
    lambda request: pool.POOL.split(measure_frames, STRENGTHS, request, rank=Rank.BRIEF),
    CACHE,
)


@cached()
def picture(
    request: GateRequest, strengths: tuple[float, ...], shown: str, _frames: Frames
) -> GatePicture:
    """Draw a gate at ``strengths``."""
    settling = [frame for frame in _frames if frame.strength in SETTLING]
    return gate_picture(_frames, shown, settling, title="The gated surface")


@dataclass(frozen=True, eq=False)
class Result:
    """A gate at all strengths, or at a few while a ``job`` measures the others."""

    request: GateRequest
    shown: str  # a key of `SHOWN`
    frames: Frames
    index: int  # in ``frames``
    point: tuple[int, int] | None  # the marked grid point
    job: Job | None

    @property
    def case(self) -> theory.GateCase:
        return case_of(self.request)

    @property
    def frame(self) -> GateFrame:
        return self.frames[self.index]

    @property
    def at(self) -> tuple[int, int]:
        """The marked grid point, or the middle of the chart."""
        middle = len(self.frame.axis) // 2
        return self.point or (middle, middle)

    @property
    def coordinates(self) -> tuple[float, float]:
        """(u, v) of that point."""
        u, v = (float(self.frame.axis[index]) for index in self.at[::-1])
        return u, v

    def terms(self) -> dict[str, theory.WithError] | None:
        """The curvature formula there; ``None`` for a gate per channel, and where is no gate."""
        if not self.case.scalar or np.isnan(self.frame.gate[self.at]):
            return None
        terms = theory.curvature_terms_at(self.case.gate, *self.coordinates, self.frame.strength)
        return terms if np.isfinite(terms["gaussian"].value) else None


def fetch(request: GateRequest, shown: str) -> Result:
    """Return all strengths, or the requested one and `SETTLING` while a job measures them."""
    strength = link_value("level", _parse_strength, 1.0, "1")
    point = link_value("mark", parse_pick, None, "no point")
    frames, job = EVERY.fetch(request)
    if frames is None:
        frames = at_strengths(request, tuple(sorted({*SETTLING, strength})))
    index = [frame.strength for frame in frames].index(strength)
    return Result(request, shown, frames, index, point, job)


def _parse_strength(text: str) -> float | None:
    number = parse_number(text)
    if number is None or not 0 <= number <= 1:
        return None
    return min(STRENGTHS, key=lambda strength: abs(strength - number))


# --- The tab --------------------------------------------------------------------------------------


def draw() -> None:
    """Draw the tiles, the open gate and why it curves or not, and what is folded below."""
    st.html(CSS)
    with st.container(key="gates_desk"):
        left, right = st.columns([6, 8], gap="medium")
        tiles = left.container()
        with right:
            request, shown = _draw_controls()
            st.markdown(f"**{case_of(request).why}**".replace("K", "$K$"))
            with st.spinner(f"{case_of(request).title}: measuring curvature …"):
                result = fetch(request, shown)
                _draw_view(result)
        _draw_tiles(tiles, request)
        with left.container(key="gates_why"):
            st.page_link(
                PAGES["Curved or bent?"].path,
                label="What a closed ring of the boundary needs: curvature, or only bending",
                icon=":material/arrow_forward:",
                query_params={"bent_tab": "Islands"},
            )
    why, charted = (
        st.expander(label, key=key, on_change="rerun", **LINK) for key, label in FOLDS.items()
    )
    if why.open or charted.open:  # imported here: Plotly takes a second, and no surface needs it
        from ui.gates import maps

        charts = maps.Charts("gates")
        for fold, draw_fold in ((why, maps.draw_why), (charted, maps.draw_maps)):
            if fold.open:
                with fold:
                    draw_fold(result, charts)
        charts.offer()
    offered().name = name = f"gate_{request.case}_lambda{result.frame.strength:.2f}"
    offered().surfaces[f"The gated surface, λ = {result.frame.strength:.2f}"] = OfferedSurface(
        name, partial(_exported, result)
    )
    number = float(result.frame.known[result.at]), float(result.frame.error[result.at])
    offer_notebook(
        "A gated surface",
        name,
        code_text(request, result.frame.strength),
        3,
        number,
        result.coordinates,
    )
    explain(
        "the surface",
        section(
            "gates",
            "surface",
            points=len(result.frame.axis),
            caption=caption(result.frame, shown),
        ),
    )


def code_text(request: GateRequest, strength: float) -> tuple[str, str]:
    """Return an import and a line that make the gated surface from the library."""
    name, case = {
        SPHERE: ("sphere_case", f"sphere_case({request.radius!r})"),
        OWN: ("own_case", f"own_case({request.formula!r})"),
    }.get(request.case, ("GALLERY", f"GALLERY[{request.case!r}]"))
    return (
        f"from gating_core.theory import GatedSheet, {name}",
        f"surface = GatedSheet({case}.gate, {strength!r})",
    )


def _exported(result: Result, line: str) -> Surface:
    frame = result.frame
    resolved = np.isfinite(frame.error) | ~np.isnan(frame.known)
    scale = scale_of("curvature", [result.frames[-1].known])
    more = {"error of K": frame.error, "|H|": frame.mean, "gate": frame.gate}
    return sheet(frame.axis, frame.values, frame.known, resolved, line, scale, ("u", "v"), more)


def _draw_controls() -> tuple[GateRequest, str]:
    """Draw what the open case needs, and the quantity in colour."""
    case = link_value("case", lambda text: text if text in GALLERY else None, FIRST, FIRST)
    left, right = st.container(key="gates_front").columns([3, 1], vertical_alignment="bottom")
    radius, formula = FIRST_RADIUS, FIRST_FORMULA
    if case == SPHERE:
        radius = left.slider(
            "Radius r",
            *RADII,
            FIRST_RADIUS,
            0.05,
            key="radius",
            **LINK,
            help=section("gates", "help_radius"),
        )
    elif case == OWN:
        formula = left.text_input(
            "Your formula g(u, v)",
            FIRST_FORMULA,
            FORMULA_CHARACTERS,
            key="formula",
            **LINK,
            help=f"A formula may contain {as_words(theory.GRAMMAR)}.",
        )
    else:
        texts = [f"${each.latex()}$" for each in GALLERY[case].formulas]
        name = "$g =$" if len(texts) == 1 else "$g_1, g_2, g_3 =$"
        left.markdown(f"**{GALLERY[case].title}**  \n:small[{name} {', '.join(texts)}]")
    shown = right.radio("Colour", [*SHOWN], key="tint", horizontal=True, **LINK)
    request, note = resolve(GateRequest(case, radius, formula or FIRST_FORMULA))
    if note:
        st.error(as_words(note))
    return request, shown


def _draw_tiles(where: st.delta_generator.DeltaGenerator, request: GateRequest) -> None:
    """Draw a tile for each gate, under the heading of its verdict, with its range of K."""
    headings, own = dict(HEADINGS), request.formula != FIRST_FORMULA
    with where.container(key="tiles_case", horizontal=True, gap="small"):
        for name, said in shipped().items():
            group = said.verdict if said.verdict in HEADINGS else CURVED
            if group in headings:
                st.markdown(f"**{headings.pop(group)}**")
            title = "your formula" if name == OWN else name
            line = range_text((said.least, said.largest)) if group == CURVED else ""
            with st.container(key=f"tile_case_{name}", border=True, gap=None):
                if name == OWN and own:  # it has no picture
                    full = at_strengths(request, SETTLING)[-1]
                    rest = "…" if len(request.formula) > ON_TILE else ""
                    line = f"{as_code(request.formula[:ON_TILE] + rest)}  \n{full.whole.word}  \n"
                    line += range_text(full.range)
                else:  # as it is: scaled down it would look blurred
                    st.image(str(picture_file(name)), width="content", alt=f"Picture: {title}")
                st.button(title, key=f"choose_case_{name}", on_click=put_in_link, width="stretch",
                          kwargs={"case": "" if name == FIRST else name},
                          type="primary" if name == request.case else "tertiary")  # fmt: skip
                if line:
                    st.caption(line.replace("K", "$K$"))


def _draw_view(result: Result) -> None:
    frames = result.frames
    st.session_state[DRAWN] = strengths = tuple(frame.strength for frame in frames)
    drawn = picture(result.request, strengths, result.shown, frames)
    exact = "1/D = 1/3 = " * (result.case.kind == "normalisation")
    if result.request.case == SPHERE:
        exact = f"1/r² = 1/{result.request.radius:g}² = "
    draw_gate(
        drawn,
        frames,
        result.shown,
        [reading(frame, exact) for frame in frames],
        key=VIEW_KEY,
        scene=result.request.case,
        frame=result.index,
        point=result.point,
        on_leave=_on_leave,
    )
    with st.container(key="progress"):
        if result.job is not None:
            EVERY.watch(result.job, "Measuring every strength of the gate")


def _on_leave(frame: int, point: Point | None, corners: np.ndarray | None) -> None:
    """Put the strength and the marked point into the link."""
    strength = st.session_state[DRAWN][frame]
    put_in_link(level="" if strength == 1 else f"{strength:g}", mark=pick_text(point))


# --- Sentences ------------------------------------------------------------------------------------


def reading(frame: GateFrame, exact: str) -> Told:
    """Return the verdict, K called ``exact`` in closed form, and what is not known."""
    subject = "there is" if frame.share_lost == 1 else "the surface is"
    k = ""  # the range stands over the picture
    if frame.exact is not None and frame.range is not None:
        called = exact if frame.strength == 1 and frame.exact else ""
        k = f": K = {called}{ten_digits(frame.exact)}"
    bold, rest = finding(f"At λ = {frame.strength:.2f} {subject}", frame, f"{k}.")
    # In plain words; how many the points are stands below, with the verdict's own word.
    parts = [rest.replace(f"some of the {frame.whole.points:,} ", "")]
    if frame.share_lost:
        parts.append(
            f"On {percent(frame.share_lost)} of the chart the formula is no gate (not positive, not"
            " finite, or beyond 10¹²). That part is hatched, and nothing is said about it."
        )
    if frame.whole.broken:
        parts.append(
            f"Where the gate has no derivatives, or may have none ({causes_text(frame.whole)}), it"
            " is hatched, and nothing is drawn across."
        )
    if frame.whole.rough and frame.share_lost < 1:
        share = percent(frame.whole.rough)
        parts.append(f"On {share} of the chart it is not known whether the gate is smooth.")
    return (
        bold.replace(" the surface is mixed", ", K > 0 in some places and K < 0 in others"),
        " ".join(parts),
    )


def ten_digits(value: float) -> str:
    return f"{value:z.10g}".replace("-", "−")
