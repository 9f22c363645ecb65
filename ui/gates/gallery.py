"""The tab Gallery: sixteen gates on a flat surface, one of them open, and the curvature formula."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st

import gating_core.theory as theory
from gating_core.export import Surface
from gating_core.theory import BENT, FIRST_FORMULA, FIRST_RADIUS, GALLERY, PLANE
from ui.common.charts import Charts
from ui.common.formatting import error_text, percent, plus_minus, short
from ui.common.lessons import section
from ui.common.links import LINK, link_value, parse_number, parse_pick
from ui.common.take_along import OfferedSurface, offer_notebook, offered
from ui.components.tiles import Tile, draw_tiles
from ui.components.view3d import clicked, stopped, view3d
from ui.drawing.colours import scale_of
from ui.drawing.exported import sheet
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
    measure_shares,
    resolve,
)
from ui.gates.picture import SHOWN, GatePicture, gate_picture, settled_by
from ui.gates.shared import (
    CSS,
    SPARE,
    caption,
    causes_text,
    grid_range_text,
    legend_of,
    map_figure,
    range_text,
    readout,
    verdict_text,
)
from ui.gates.shipped import TileNumbers, numbers_of, picture_file, shipped
from ui.limits import FORMULA_CHARACTERS
from ui.work import pool
from ui.work.cache import CACHE, cached
from ui.work.jobs import Job, Jobs
from ui.work.pool import Rank

VIEW_KEY = "gates_view"
ON_TILE = 18  # characters of a formula
CHANNELS = ("y₁", "y₂", "y₃")
Frames = tuple[GateFrame, ...]
POINT_ROWS = {  # of the table of a point: a field of `TermsAtPoint`
    "g (in use)": "gate", "ρ = 1/g": "rho", "ρ_u": "rho_u", "ρ_v": "rho_v", "ρ_uu": "rho_uu",
    "ρ_uv": "rho_uv", "ρ_vv": "rho_vv", "det Hess ρ": "hessian", "ρ − uρ_u − vρ_v": "foot",
    "ρ_u² + ρ_v² + (…)²": "normal_square", "K": "gaussian",
}  # fmt: skip


# --- Measurements ---------------------------------------------------------------------------------


@cached()
def at_strengths(request: GateRequest, strengths: tuple[float, ...]) -> Frames:
    """Measure a gate at a few strengths: a tenth of a second each, of the longest formula one."""
    calls = [((strength,), request) for strength in strengths]
    return pool.POOL.map(measure_frames, calls)


EVERY: Jobs[GateRequest, Frames] = Jobs(
    "gate_strengths",
    lambda request: pool.POOL.split(measure_frames, STRENGTHS, request, rank=Rank.BRIEF),
    CACHE,
)


@cached()
def sign_shares(request: GateRequest, strength: float) -> theory.SignShares:
    """Prove the sign of K cell by cell: half a second at most."""
    return pool.POOL.call(measure_shares, request, strength)


@cached()
def picture(
    request: GateRequest, strengths: tuple[float, ...], shown: str, _frames: Frames
) -> GatePicture:
    """Draw the linked view of a gate at ``strengths``."""
    settling = tuple(frame for frame in _frames if frame.strength in SETTLING)
    if len(settling) < len(SETTLING):
        settling = at_strengths(request, SETTLING)
    return gate_picture(_frames, shown, settled_by(settling))


@dataclass(frozen=True, eq=False)
class Result:
    """A gate at all strengths, or at the requested one while a ``job`` measures the others."""

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

    def terms(self) -> theory.TermsAtPoint | None:
        """The curvature formula there; ``None`` for a gate per channel, and where is no gate."""
        if not self.case.scalar or np.isnan(self.frame.gate[self.at]):
            return None
        terms = theory.curvature_terms_at(self.case.gate, *self.coordinates, self.frame.strength)
        return terms if np.isfinite(terms.gaussian.value) else None


def fetch(request: GateRequest, shown: str) -> Result:
    """Return all strengths, or the requested one while a job measures them."""
    strength = link_value("level", _parse_strength, 1.0, "1")
    point = link_value("mark", parse_pick, None, "no point")
    frames, job = EVERY.fetch(request)
    index = STRENGTHS.index(strength)
    if frames is None:  # mostly the full gate, which colours and boxes need anyhow
        some = at_strengths(request, SETTLING if strength in SETTLING else (strength,))
        frames, index = tuple(frame for frame in some if frame.strength == strength), 0
    return Result(request, shown, frames, index, point, job)


def _parse_strength(text: str) -> float | None:
    number = parse_number(text)
    if number is None or not 0 <= number <= 1:
        return None
    return min(STRENGTHS, key=lambda strength: abs(strength - number))


# --- The tab --------------------------------------------------------------------------------------


def draw() -> None:
    """Draw the tiles, the open gate with its formula, and what is folded below."""
    st.html(CSS)
    charts = Charts("gates")
    with st.container(key="gates_desk"):
        left, right = st.columns([5, 8], gap="medium")
        tiles = left.container()
        with right:
            request, shown = _draw_controls()
            with st.spinner(f"{case_of(request).title}: measuring curvature …"):
                result = fetch(request, shown)
                _draw_view(result)
        _draw_tiles(tiles, request)
        with left.container(key="gates_formula"):
            _draw_formula(result)
    why = st.expander(
        "Why? The curvature formula and its derivation", key="why", on_change="rerun", **LINK
    )
    if why.open:
        with why:
            _draw_why(result, charts)
    maps = st.expander("K, |H| and the gate over the chart", key="maps", on_change="rerun", **LINK)
    if maps.open:
        with maps:
            _draw_maps(result, charts)
    name = f"gate_{request.case}_lambda{result.frame.strength:.2f}"
    offered().name = name
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
    charts.draw_footer(
        section(
            "gates", "surface", points=len(result.frame.axis), caption=caption(result.frame, shown)
        )
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
    case = link_value("case", lambda text: text if text in GALLERY else None, SPHERE, SPHERE)
    row = st.container(key="gates_front")
    left, right = row.columns([3, 1], vertical_alignment="bottom")
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
    tiles = {
        name: Tile(
            "your formula" if name == OWN else name,
            tile_line(numbers),
            picture=str(picture_file(name)),
        )
        for name, numbers in shipped().items()
    }
    if request.formula != FIRST_FORMULA:  # it has no picture
        full = at_strengths(request, SETTLING)[-1]
        rest = "…" if len(request.formula) > ON_TILE else ""
        line = tile_line(numbers_of(full.whole, full.range))
        tiles[OWN] = Tile("your formula", f"{as_code(request.formula[:ON_TILE] + rest)}  \n{line}")
    with where:
        draw_tiles(tiles, request.case, "case", _open_case, width="content")


def _open_case(case: str) -> None:
    """Put the case of a tile into the link; a callback."""
    st.query_params.pop("case", None)
    if case != SPHERE:
        st.query_params["case"] = case


def _draw_view(result: Result) -> None:
    frames = result.frames
    drawn = picture(result.request, tuple(x.strength for x in frames), result.shown, frames)
    exact = exact_name(result.case, result.request.radius)
    view3d(
        drawn.view,
        key=VIEW_KEY,
        headings=[""],
        captions=[[caption(frame, result.shown) for frame in frames]],
        readings=[reading(frame, exact) for frame in frames],
        readouts=[readout(result.case.scalar)],
        frame=result.index,
        frame_labels=[f"λ = {frame.strength:.2f}" for frame in frames],
        playable=result.job is None,
        ends=("flat surface", "full gate"),
        scrub=True,
        scene=result.request.case,
        spare=SPARE,
        legend=legend_of(drawn, result.shown, frames),
        pick=result.point,
        rest=result.at,
        on_pick=_mark_point,
        on_stop=(lambda: None) if result.job else _keep_strength,
    )
    with st.container(key="progress"):
        if result.job is not None:
            EVERY.watch(result.job, "Measuring every strength of the gate")


def _mark_point() -> None:
    """Put the clicked point into the link."""
    if point := clicked(VIEW_KEY):
        st.query_params["mark"] = point


def _keep_strength() -> None:
    """Put the λ at which the view stopped into the link."""
    frame = stopped(VIEW_KEY, len(STRENGTHS))
    if frame is not None:
        st.query_params["level"] = f"{STRENGTHS[frame]:g}"


def _draw_formula(result: Result) -> None:
    """Draw the curvature formula, and the same with the numbers of the marked point."""
    st.latex(section("gates", "curvature_formula"))
    terms, frame = result.terms(), result.frame
    place = f"({', '.join(map(short, result.coordinates))})"
    where = f"{'the marked point' if result.point else 'the origin'} {place}"
    if terms is not None:
        st.latex(terms_latex(terms))
        k = plus_minus(terms.gaussian.value, terms.gaussian.error)
        st.caption(f"At {where}, λ = {frame.strength:.2f}: **K = {k}**. {terms_sentence(terms)}")
    elif result.case.scalar:
        value = float(result.case.formulas[0].at(*result.coordinates))
        st.caption(no_gate_text(frame, result.at, where, value))
    else:
        st.caption("The formula is for scalar gates.")


def _draw_why(result: Result, charts: Charts) -> None:
    """Draw two lines, what is proved of the sign, the numbers of a point, and the derivation."""
    st.markdown("  \n".join(result.case.why))
    frame, terms = result.frame, result.terms()
    if frame.whole.word not in (PLANE, BENT) and frame.share_lost < 1:
        st.caption(shares_text(frame.strength, sign_shares(result.request, frame.strength)))
    if terms is None:
        st.markdown(section("gates", "derivation" if result.case.scalar else "elementwise"))
        return
    st.latex(rf"g(u, v) = {result.case.formulas[0].latex()}")
    left, right = st.columns([2, 3], gap="large")
    numbers = [getattr(terms, name) for name in POINT_ROWS.values()]
    title = f"At (u, v) = ({', '.join(map(short, result.coordinates))})"
    charts.draw_table(
        "formula",
        left,
        title,
        {
            "Number": [*POINT_ROWS],
            "Value": [_ten_digits(each.value) for each in numbers],
            "Error at most": [error_text(each.error) for each in numbers],
        },
    )
    with right:
        st.latex(terms_latex(terms))
        st.markdown(section("gates", "derivation"))


def _draw_maps(result: Result, charts: Charts) -> None:
    """Draw maps of K and |H|, and of the gate of every channel if there are several."""
    frame, count = result.frame, result.frame.channels.shape[-1]
    gates = [*np.moveaxis(frame.channels, -1, 0)]
    k, bend, gate = (
        scale_of(name, fields)
        for name, fields in (("curvature", [frame.known]), ("mean", [frame.mean]), ("gate", gates))
    )
    figures = [
        map_figure(frame.known, frame.axis, k, "K", frame.signed, frame.error),
        map_figure(frame.mean, frame.axis, bend, "|H|"),
        *(map_figure(channel, frame.axis, gate, "gate") for channel in gates),
    ]
    titles = [f"**K**: {range_text(frame.range)}", f"**|H|** up to {short(frame.largest_bend)}"]
    for index, values in enumerate(gates):
        ends = "none"
        if np.isfinite(values).any():
            ends = f"{short(float(np.nanmin(values)))} to {short(float(np.nanmax(values)))}"
        titles.append(f"{'**gate**' if count == 1 else f'**gate of {CHANNELS[index]}**'}: {ends}")
    with st.container(key="gates_maps"):
        columns = st.columns(len(figures))
    for index, (column, title, figure) in enumerate(zip(columns, titles, figures, strict=True)):
        column.markdown(title)
        alt = f"Map over the chart of {title.replace('*', '')}"
        charts.draw(f"map_{index}", column, figure, alt)
    note = "" if count == 1 else " The small map beside the surface shows the mean of the three."
    st.caption(f"At λ = {frame.strength:.2f}; dashed: K = 0; hatched: not known, or no gate.{note}")


# --- Sentences ------------------------------------------------------------------------------------


def tile_line(numbers: TileNumbers) -> str:
    """Return what stands under a tile's name."""
    known = f", {numbers.knowledge}" if numbers.knowledge else ""
    return f"{numbers.verdict}{known}  \n{range_text((numbers.least, numbers.largest))}"


def reading(frame: GateFrame, exact: str) -> str:
    """Return the verdict and K, called ``exact`` in closed form, and what is not known."""
    subject = "there is" if frame.share_lost == 1 else "the surface is"
    parts = [f"**At λ = {frame.strength:.2f}** {subject} {verdict_text(frame)}"]
    if frame.range is not None:
        k = grid_range_text(frame)
        if frame.exact is not None and frame.exact.constant:  # one number: exactly
            called = exact if frame.strength == 1 and frame.exact.value else ""
            k = f"K = {called}{_ten_digits(frame.exact.value)}"
        parts[0] += f": {k}"
    parts[0] += "."
    for name, way in (("closed form", frame.exact), ("curvature formula", frame.by_formula)):
        if way is not None and way.compared and not way.agrees:
            parts.append(f"**The {name} and the measured K do not agree.**")
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
    return " ".join(parts)


def shares_text(strength: float, shares: theory.SignShares) -> str:
    """Say on how much of the chart the sign of K is proved; what is flat has none."""
    parts = [
        f"K > 0 is proved on {percent(shares.positive)} of the chart",
        f"K < 0 on {percent(shares.negative)}",
    ]
    if shares.lost:
        parts.append(f"there is no smooth gate on {percent(shares.lost)}")
    if shares.open:
        parts.append(f"the sign is undetermined on {percent(shares.open)}")
    return f"At λ = {strength:.2f}, cell by cell: {', '.join(parts)}."


def exact_name(case: theory.GateCase, radius: float) -> str:
    """Return what the closed form of a case is called before its value."""
    if case.title == "sphere by gating":
        return f"1/r² = 1/{radius:g}² = "
    return "1/D = 1/3 = " if case.kind == "normalisation" else ""


def no_gate_text(frame: GateFrame, at: tuple[int, int], where: str, value: float) -> str:
    """Say why there is no K at a grid point called ``where``, where the gate has a ``value``."""
    if frame.breaks[at] and np.isfinite(value) and value > 0:
        return (
            f"At {where} the gate is {short(value)}, but not smooth, or not known to be"
            f" ({causes_text(frame.whole)}): nothing is said of K."
        )
    return f"At {where} the formula is no gate."


def terms_sentence(at: theory.TermsAtPoint) -> str:
    """Say what the sign of the Hessian's determinant means at a point."""
    hessian = at.hessian
    if not abs(hessian.value) > hessian.error:
        off, k_off = (abs(each.value) + each.error for each in (hessian, at.gaussian))
        if hessian.value == 0:
            return f"det Hess(1/g) is 0 here to within {error_text(off)}, and so is K."
        return (
            f"det Hess(1/g) is within {error_text(off)} of zero here, K within {error_text(k_off)}:"
            " their signs are inconclusive."
        )
    shape = "a bowl or a dome" if hessian.value > 0 else "a saddle"
    sign = "positive" if hessian.value > 0 else "negative"
    return f"1/g is {shape} here: det Hess(1/g) is {sign}, and so is K."


def terms_latex(at: theory.TermsAtPoint) -> str:
    """Return the curvature formula with the numbers of one point in it."""
    top = rf"{_bracketed(at.rho.value)}^4 \cdot {_bracketed(at.hessian.value)}"
    squares = (at.rho_u, at.rho_v, at.foot)
    below = " + ".join(rf"{_bracketed(each.value)}^2" for each in squares)
    return rf"\small K = \frac{{{top}}}{{\left({below}\right)^2}}"


def _bracketed(number: float) -> str:
    """A number within LaTeX, a power of ten where it would be long; no zero has a sign."""
    digits, mark, power = f"{number:z.4g}".partition("e")
    text = rf"{digits}\cdot 10^{{{int(power)}}}" if mark else digits
    return rf"({text})" if number < 0 or mark else text


def _ten_digits(value: float) -> str:
    return f"{value:z.10g}".replace("-", "−")
