"""*Explain this plot*: what is drawn, the formula with the current numbers in it, what to look for,
how one could misread it.
"""

from __future__ import annotations

from gating_core.attention import AttentionConfig
from gating_core.experiments.specimen import (
    COLOURINGS,
    MeasuredSpecimen,
    Specimen,
    draggable_gates,
    gate_arrows,
    own_values,
)
from gating_core.geometry import HOLONOMY_LIMIT, TILT_LIMIT, SurfaceIntegrals
from ui.common.explain import beats
from ui.common.words import curvature_text, percent, plus_minus, short, vector_text
from ui.manifold.arrays import draws_plane
from ui.manifold.picture import Look, averaged

SUBSCRIPTS = "₁₂₃"


def surfaces_text(sides: list[MeasuredSpecimen], at: tuple[int, int]) -> str:
    """The two surfaces."""
    side, config = sides[-1], sides[-1].specimen.config
    row, column = at
    axis = side.surface.axis
    weights = side.weights[-1][0, row, column]
    y = side.surface.values[0, row, column]
    gate = ""
    if side.gates:
        values = side.gates[-1][:, row, column]
        gate = f", gate {vector_text(values)}"
    return beats(
        f"Every point of the chart has an output y in {config.model_dim} dimensions; together they"
        f" form a surface. {_lines_text(sides[0])} Keys and values come from"
        f" {config.layer.come_from}.",
        f"At ({axis[column]:z.2f}, {axis[row]:z.2f}) the last layer's attention weights (head 1)"
        f" are α = {vector_text(weights)}{gate}, and y = {vector_text(y)}. "
        + _without_gate(config),
        "Straight lines in one plane: flat. Lines that bow out of every plane in both directions:"
        " curved. A flat sheet seen from its edge is a line: *Edge-on* turns it so.",
        "A sheet can bend without curving, like rolled paper: the eye sees |H|, the colour shows K."
        " Axes are undistorted, but each panel has its own scale. A surface inside a flat space"
        " can be curved, too.",
    )


def _lines_text(ungated: MeasuredSpecimen) -> str:
    """Which lines are drawn on both surfaces, and what is drawn beside them."""
    if not draws_plane(ungated):
        return "Thin lines are the chart's own grid."
    if averaged(ungated) is None:
        return (
            "Thin lines are a square grid of the plane that the ungated sheet lies in; the same"
            " lines, fixed in the chart, bend with the gated one."
        )
    return (
        "The pink triangle joins the three values U₁, U₂, U₃ of the last layer, or is what the box"
        " holds of it: the flat space that averages fill. Thin lines are parallel to its sides on"
        " the ungated sheet; the same lines, fixed in the chart, bend with the gated one."
    )


def _without_gate(config: AttentionConfig) -> str:
    """What an ungated model of this kind computes."""
    if not config.layer.fixed_values:
        return "Without a gate y is an average, too, but of values that move with the input."
    if not config.layer.weights_on_simplex:
        return r"Without a gate $\sum_i \alpha_i U_i$: a sum, whose weights do not add up to one."
    after = [
        word
        for word, there in (
            ("an output projection", config.output_projection),
            ("the residual", config.residual),
            ("normalisation", config.norm == "post"),
        )
        if there
    ]
    of = "for every head " if config.heads > 1 else ""
    text = (
        rf"Without a gate {of}$\sum_i \alpha_i U_i$ with $\sum_i \alpha_i = 1$: an average of fixed"
    )
    text += " vectors"
    return f"{text}; then come {' and '.join(after)}." if after else f"{text}."


CURVATURE_FORMULA = (
    r"$K = (\langle n_{uu}, n_{vv}\rangle - |n_{uv}|^2)/\det g$ with $g = J^T \Sigma^{-1} J$ and n"
    " the parts of the second derivatives normal to the surface."
)
SEQUENTIAL = "Dark is small, bright is large; both sides on one scale."


# By the colouring: the formula, what to look for, how one could misread it.
QUANTITIES: dict[str, tuple[str, str, str]] = {
    "curvature": (
        CURVATURE_FORMULA,
        "Orange is dome-like (K > 0), violet saddle-like (K < 0), grey flat. The dashed line is"
        " where one turns into the other.",
        "K has the unit 1/length²: a small surface has a large K, so peaks say nothing about how"
        " much it curves in all. That is the total curvature.",
    ),
    "size": (
        CURVATURE_FORMULA,
        SEQUENTIAL,
        "|K| has the unit 1/length²: a small surface has a large one.",
    ),
    "mean": (
        "H is half the trace of the second fundamental form; its length |H| says how much the"
        " surface bends.",
        SEQUENTIAL,
        "A sheet can bend without curving, like rolled paper: |H| > 0 and K = 0.",
    ),
    "area": (
        r"$\sqrt{\det g}$ with $g = J^T \Sigma^{-1} J$: the area a piece of the chart becomes.",
        SEQUENTIAL,
        "A stretched chart is not a curved surface: area changes under flat maps, too.",
    ),
    "gate": (
        "The gate in force, (1 − λ) + λ · gate, in the chosen layer. Without a gate it is 1.",
        SEQUENTIAL,
        "A gate that varies need not curve: it must vary in the right way in two directions.",
    ),
    "entropy": (
        r"$-\sum_i \alpha_i \ln \alpha_i$ in nats: 0 where one value takes all, ln n where all"
        " weigh the same.",
        SEQUENTIAL,
        "Low entropy is saturation, not curvature: derivatives are small there, K may be large.",
    ),
    "error": (
        "The bound on the rounding error of K, followed through every operation.",
        SEQUENTIAL,
        "A large bound where the surface is tiny may still be small against K itself.",
    ),
}


def heatmap_text(sides: list[MeasuredSpecimen], look: Look, at: tuple[int, int]) -> str:
    """The chart coloured by a quantity."""
    colouring, side = COLOURINGS[look.colouring], sides[-1]
    row, column = at
    surface = side.surface
    shown = short(float(colouring.field(side, look.layer, look.part)[row, column]))
    if look.colouring == "curvature":
        shown = curvature_text(surface, (0, row, column))
    formula, look_for, misread = QUANTITIES[look.colouring]
    return beats(
        f"Over the chart: {colouring.name}; both sides on one scale. Dashed: K = 0. Hatched: not"
        " known, because |K| is within an error that is not small, or the tangent plane may be off"
        f" by {TILT_LIMIT:g} rad or more.",
        f"{formula} At ({surface.axis[column]:z.2f}, {surface.axis[row]:z.2f}):"
        f" {colouring.symbol} = {shown}.",
        look_for,
        f"{misread} Equal areas of the chart are not equal areas of the surface.",
    )


def simplex_text(sides: list[MeasuredSpecimen], look: Look, at: tuple[int, int]) -> str:
    """The triangle of weights."""
    heads = sides[-1].weights[look.layer]
    chosen = look.part if look.colouring == "entropy" and look.part is not None else 0
    head = chosen if chosen < len(heads) else 0
    weights = heads[head, at[0], at[1]]
    return beats(
        "All triples of weights that sum to one form a triangle; the chart's grid is drawn where"
        f" its points fall in it (head {head + 1} of the chosen layer).",
        f"At the point: α = {vector_text(weights)}, sum {weights.sum():.3g}. A corner means that"
        " one value takes all.",
        "How much of the triangle the chart reaches: weights near an edge are saturated, and the"
        " derivatives there are tiny.",
        "The triangle is not the surface: the surface is its image under the values, and under the"
        " gate if there is one.",
    )


def histogram_text(sides: list[MeasuredSpecimen]) -> str:
    """The histogram of K."""
    side = sides[-1]
    found = side.verdict
    return beats(
        "How the area of each surface is shared out over values of K, both sides on the same bins."
        " The axis is stretched (asinh), so that tails and centre are both seen.",
        "With the gate, if there is one:"
        f" {percent(found.positive)} of the area has K > 0, {percent(found.negative)} has K < 0,"
        f" {percent(found.flat)} is flat, and {percent(found.undecided)} is undecided: |K| is"
        " within an error that is not small, or no tangent plane is known.",
        "A single spike at zero is a flat surface. Weight on both sides: domes and saddles.",
        "The bins are not of equal width. The share of area says nothing about where it lies, and"
        " the part that is undecided (hatched) is drawn at zero without belonging there.",
    )


def error_maps_text(step: float) -> str:
    """The maps of what other ways of measuring get wrong."""
    return beats(
        "Left the exact K. Beside it how far finite differences and the mesh are off, as powers of"
        " ten.",
        r"$y_{uu} \approx (y(u+h) - 2y(u) + y(u-h))/h^2$ with"
        f" h = {step:.0e}: the truncation error grows like h², the rounding error like 1e-16/h² ="
        f" {1e-16 / step**2:.0e}. PyVista adds up angles round each vertex of the grid instead.",
        "Errors of a method are worst where the surface is folded tightly or squeezed.",
        "A smooth map of K can be smoothly wrong. Only a bound says how far off it may be.",
    )


def error_curves_text(step: float) -> str:
    """Error against step or grid."""
    return beats(
        "The error of K, relative to its mean size, against the step of finite differences or the"
        " spacing of the mesh, on logarithmic axes: the median over the chart.",
        r"Truncation falls like $h^2$ (slope 2), rounding rises like $10^{-16}/h^2$ (slope −2);"
        f" the step in use is {step:.0e}.",
        "A valley: left of it rounding, right of it truncation. The best step depends on the"
        " surface, and nobody knows it beforehand. The exact K has no step.",
        "Agreement between two methods at one step proves nothing: both may be wrong the same way.",
    )


def handles_text(specimen: Specimen) -> str:
    """The pads: the last layer's values and, where they can be dragged, the first layer's gates."""
    values = ", ".join(
        f"U{SUBSCRIPTS[i]} = {vector_text(value)}" for i, value in enumerate(own_values(specimen))
    )
    drawn = (
        "The three value vectors of the last layer along two of the drawn axes; 1-2, 1-3 and 2-3"
        " choose which two. A dragged one moves in their plane."
    )
    formula = f"{values}."
    if draggable_gates(specimen.config):
        one = "channel" if specimen.config.gate.granularity == "elementwise" else "head"  # type: ignore
        gates = gate_arrows(specimen)
        drawn += (
            f" The arrows are the gates of the first layer, one for each {one}, in the plane of the"
            " inputs."
        )
        formula += (
            r" A gate opens with $w\cdot x$ and an offset: the arrow is $w$, for the first gate"
            f" {vector_text(gates[0])}."
        )
    config = specimen.config
    averages = config.layer.weights_on_simplex and config.heads == 1
    plain = averages and not config.residual and config.norm != "post"
    stays = " and stays in their plane" if plain else ""
    return beats(
        drawn,
        formula,
        f"Without a gate the sheet follows its values{stays}. A gate opens where its arrow points:"
        " the longer the arrow, the steeper.",
        "A value's place here is a projection: two that coincide may differ along an axis that is"
        " not shown. With several layers both pads move the same surface, at its two ends.",
    )


def integrals_text(name: str, found: SurfaceIntegrals) -> str:
    """The table of integrals."""
    gaussian, holonomy = found.gaussian, found.holonomy
    gap = abs(float(gaussian.value) - float(holonomy.value))
    doubt = float(gaussian.error) + float(holonomy.error)
    agree = f"Here the two values of ∫K differ by {short(gap)}, "
    agree += "within their errors" if gap <= doubt else "more than their errors allow"
    return beats(
        "Integrals over the whole chart, with rigorous bounds on rounding: by adaptive"
        f" quadrature, refined where cells turn by more than {HOLONOMY_LIMIT:g} rad; for models too"
        " large for that, on a coarse grid.",
        f"{name}: ∫K dA = {plus_minus(float(gaussian.value), float(gaussian.error))} by quadrature"
        f" and {plus_minus(float(holonomy.value), float(holonomy.error))} by holonomy: how far a"
        " tangent frame has turned when it is carried round every cell, from first derivatives"
        " only.",
        f"Two independent values of ∫K should agree. {agree}. ∫|K| is the total"
        " curvature: free of units.",
        "Rounding is bounded, sampling is estimated: a peak narrower than a hundredth of the chart"
        " can be missed. Where a point is unresolved the value is a lower estimate.",
    )
