"""The curvature of one layer's output surface: every number with its error, in one call."""

import csv
import io
import math
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from gating_core.checks import check_points
from gating_core.geometry.adaptive import adaptive_integrals
from gating_core.geometry.curvature import CurvatureField, curvature
from gating_core.geometry.flatness import flatness_proofs
from gating_core.geometry.grid import square_grid
from gating_core.geometry.integrals import Integral
from gating_core.geometry.surface import FLAT_ERROR, MeasuredSurface
from gating_core.geometry.verdict import (
    BENT,
    FLAT,
    PROVED,
    Verdict,
    jittered_points,
    knowledge_text,
    verify,
    word_for,
)
from gating_core.jets.casts import carried
from gating_core.jets.map_check import check_output, evaluate
from gating_core.jets.second_order import SecondOrderJet, second_order_jet
from gating_core.numerals import plus_minus

REMEDY = (
    "Hand over a function of two coordinates, as lambda uv: layer(origin + uv @ directions), or of"
    " tokens lambda uv: layer(origin + torch.einsum('nk,ktd->ntd', uv, directions))[:, 0]"
)
SEVERAL = 5  # points that a layer is tried at: another number than that of its outputs
COLUMNS = ("u", "v", "K (1/length^2)", "{} of K", "|H| (1/length)", "area element", "resolved")
# Below a cost, in numbers touched for each of five points (1e5 take a fifteenth of a millisecond):
# points for totals, and those of the grid along each side. The last is for layers of whole models.
SAMPLES = ((1e5, 60_000, 61), (1e7, 20_000, 61), (math.inf, 4_000, 31))


@dataclass(frozen=True, eq=False)
class Measurement:
    """The curvature of one output surface at N points of its chart; tensors are float64.

    Attributes:
        points: (N, 2), chart coordinates.
        values: (N, D), outputs of the layer.
        field: Gaussian curvature K and its error, |H|, area element and resolved points, (N,) each.
        total: Estimate of the integral of |K| dA over the chart [-1, 1]^2, without a unit, and an
            estimate of its error; ``None`` for points of one's own.
        area: The same of the area of the surface over that chart (length^2).
        bending: The same of total bending, the integral of |II|^2 dA, II the second fundamental
            form; without a unit, at least twice ``total``, and 0 on planes alone.
        word: "curved"; "bent, not curved", where K = 0 and the second fundamental form is not;
            "flat", where that is 0, too; or, where none is known, another word of `VERDICT_WORDS`.
        knowledge: "proved", at points whose K exceeds a rigorous bound, or seen at points only:
            one of `KNOWLEDGE`; ``None`` where nothing is known.
        verdict: The same as a sentence.
        notes: Sentences about what was computed otherwise than by the layer itself.
        twin: ``total`` of a layer with random queries and keys that is as sharp, where the layer
            has a ``twin``, as that of `state_plane`: a total is to be read beside it.
    """

    points: torch.Tensor
    values: torch.Tensor
    field: CurvatureField
    total: Integral | None
    area: Integral | None
    word: str
    knowledge: str | None
    verdict: str
    notes: tuple[str, ...]
    bending: Integral | None = None
    twin: Integral | None = None

    def __str__(self) -> str:
        """Return the verdict, estimates of the integrals, and notes, one a line."""
        lines = [self.verdict]
        named = (
            ("∫|K| dA", self.total),
            ("∫|K| dA of its twin, random queries and keys as sharp", self.twin),
            ("area", self.area),
            ("bending ∫|II|² dA", self.bending),
        )
        for name, integral in named:
            if integral is not None:
                text = plus_minus(float(integral.value), float(integral.error), least=0.0)
                missing = "what lies at jumps" if self.field.jumps else "the unresolved points"
                more = "" if integral.resolved else f", without {missing}"
                more += "" if integral.finished else f", refined to {integral.points:,} points"
                known = "proved" if not integral.error and not integral.value else "estimate"
                lines.append(f"{name}: {text} ({known}{more})")
        return "\n".join([*lines, *self.notes])

    def to_dict(self) -> dict[str, Any]:
        """Return verdict, totals and notes as numbers, texts and lists, as JSON has them."""
        resolved = self.field.gaussian[self.field.resolved]
        return {
            "verdict": self.verdict,
            "word": self.word,
            "knowledge": self.knowledge,
            "points": len(self.points),
            "resolved": len(resolved),
            "bound": self.field.bound_kind,
            "smallest_K": float(resolved.min()) if len(resolved) else None,
            "largest_K": float(resolved.max()) if len(resolved) else None,
            "total": _numbers(self.total),
            "area": _numbers(self.area),
            "bending": _numbers(self.bending),
            "twin": _numbers(self.twin),
            "notes": list(self.notes),
        }

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return a row for each point, with units in the header; write it to ``path``, if given."""
        field = self.field
        columns = [
            *self.points.T,
            field.gaussian,
            field.gaussian_error,
            field.mean_norm,
            field.area_element,
            field.resolved,
        ]
        text = io.StringIO(newline="")
        table = csv.writer(text, lineterminator="\n")
        error = "bound on the error" if field.bound_kind == "rigorous" else "estimate of the error"
        table.writerow([column.format(error) for column in COLUMNS])
        table.writerows(zip(*(column.tolist() for column in columns), strict=True))
        if path is not None:
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.write(text.getvalue())
        return text.getvalue()


@torch.no_grad()
def measure(
    layer: Callable[[torch.Tensor], torch.Tensor],
    points: torch.Tensor | None = None,
    *,
    bound: str = "rigorous",
    casts: str = "carry",
    largest_sample: int | None = None,
) -> Measurement:
    """Measure the curvature of the surface that a layer makes of a chart of two coordinates.

    Args:
        layer: Module or callable (N, 2) -> (N, D), D >= 2, whose n-th output depends on the n-th
            point alone. Where a layer takes wider inputs, hand it a plane of them:
            ``lambda uv: layer(origin + uv @ directions)``.
        points: (N, 2), where to measure; by default a grid of 61 x 61 points on [-1, 1]^2, with
            total curvature, area and bending of the whole chart: seconds for a layer, without these
            where points are given. A layer as large as those of whole language models gets 31 x 31,
            as the verdict says.
        bound: "rigorous" follows every rounding error, where each operation has a rule for it;
            "estimate" does not.
        casts: "carry" computes in float64 what the layer casts to lower precision, its float32
            weights among it, and says so in ``notes``; "refuse" raises instead.
        largest_sample: Points after which the integrals are refined no further; by default
            60,000, 20,000 for a layer of which these would take more than five seconds or so, and
            4,000, on larger first cells, for one of a whole model's size. Where they run out, and
            there, ``complete`` is False; errors count what is unfinished in full.

    Returns:
        K with its error at each point, estimates of total curvature, area and total bending, and
        the verdict.

    Raises:
        ValueError: The layer cannot be called on points (N, 2), is no map of single points, has
            fewer than two outputs or weights that are not finite, or gives NaN or infinite values
            at all points; or an argument is none of these.

    Example:
        >>> import torch
        >>> from gating_core import measure
        >>> def dome(uv):
        ...     return torch.cat([uv, (4 - uv.square().sum(-1, keepdim=True)).sqrt()], -1)
        >>> sphere = measure(dome)  # of radius 2, so that K = 1/4
        >>> float(sphere.field.gaussian[0].round(decimals=12))
        0.25
        >>> sphere.word
        'curved'
        >>> measure(lambda uv: torch.cat([uv, uv.sum(-1, keepdim=True)], -1)).word
        'flat'

    References:
        do Carmo, *Riemannian Geometry*, chapter 6 (Gauss equation).
    """
    grid = square_grid()
    where = grid.points if points is None else check_points(points)
    if where.shape[1] != 2:
        raise ValueError(f"points has shape {tuple(where.shape)}; a surface needs (N, 2)")
    function = carried(layer, casts)
    _check_layer(function, where[:SEVERAL])
    if points is None:
        cost = touched(function, where[:SEVERAL]) / SEVERAL
        sample, side = next((n, side) for limit, n, side in SAMPLES if cost < limit)
        most = sample if largest_sample is None else largest_sample
        grid = square_grid(side)
        where = grid.points
    jet = second_order_jet(function, where, bound)
    # Without the leading axes of one surface: models have one for their seeds.
    shape = len(jet.stack), *jet.stack.shape[-2:]
    errors = None if jet.errors is None else jet.errors.reshape(shape)
    jet = replace(jet, stack=jet.stack.reshape(shape), errors=errors)
    lost = int((~jet.value.isfinite().all(-1)).sum())
    if lost == len(where):
        raise ValueError(f"layer gives NaN or infinite values at all {lost:,} points")
    if points is None:
        jittered = verify(curvature(second_order_jet(function, jittered_points(grid), bound)))
        found = MeasuredSurface(function, grid, jet=jet, verification=jittered)
        field, verdict = found.field, found.verdict
    else:
        field = curvature(jet)
        verdict = _verdict_at_points(function, jet, field)
    sentence = _sentence(verdict, field, "area" if points is None else "points")
    if lost:
        places = f"{lost:,} points" if lost > 1 else "one point"
        sentence += f" At {places} the layer gives NaN or infinite values."
    total = bending = twin = None
    if points is None:
        integrate = partial(adaptive_integrals, function, bound=bound, largest_sample=most)
        total = integrate()
        bending = total.bending
        if verdict.word != FLAT and not bending.converged():  # as a developable ridge
            bending = integrate(of="bending").bending
        if getattr(layer, "has_attention", False):  # of a `StatePlane`
            other = carried(cast(Any, layer).twin(), casts)
            twin = adaptive_integrals(other, bound="estimate", largest_sample=most)
    return Measurement(
        points=where,
        values=jet.value,
        field=field,
        total=None if total is None else total.absolute,
        area=None if total is None else total.area,
        bending=bending,
        word=verdict.word,
        knowledge=verdict.knowledge,
        verdict=" ".join(filter(None, [sentence, jet.caveat])),
        notes=(*getattr(layer, "notes", ()), *jet.notes),
        twin=None if twin is None else twin.absolute,
    )


class _Touched(TorchDispatchMode):
    """Counts the numbers that operations read and write."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        out = func(*args, **(kwargs or {}))
        tensors = (x for x in tree_leaves((args, kwargs, out)) if isinstance(x, torch.Tensor))
        self.count += sum(x.numel() for x in tensors)
        return out


def touched(function: Callable[[torch.Tensor], Any], points: torch.Tensor) -> int:
    """Count the numbers that ``function`` reads and writes: the same at every call, unlike time."""
    with _Touched() as counter:
        evaluate(function, points)
    return counter.count


def _check_layer(function: Callable[[torch.Tensor], Any], points: torch.Tensor) -> None:
    """``ValueError`` unless ``function`` makes one surface of ``points`` (n, 2)."""
    output = evaluate(function, points, "layer", f". {REMEDY}")
    try:
        check_output(output, len(points))
    except ValueError as error:
        raise ValueError(f"{error}. {REMEDY}") from error
    if output.shape[:-2].numel() != 1:
        raise ValueError(
            f"layer makes {output.shape[:-2].numel()} surfaces of a chart, of shape"
            f" {tuple(output.shape[:-2])}; hand it over one at a time, as lambda uv: layer(uv)[0]"
        )


def _verdict_at_points(
    function: Callable[[torch.Tensor], torch.Tensor], jet: SecondOrderJet, field: CurvatureField
) -> Verdict:
    """Give the verdict at scattered points: the shares are those of points, not of the area."""
    (proof,) = flatness_proofs(function, jet.value)
    diagonal = torch.linalg.vector_norm(jet.value.amax(0) - jet.value.amin(0))
    small = field.gaussian_error * diagonal.square() < FLAT_ERROR
    sign = torch.where((field.sign == 0) & ~small, torch.nan, field.sign)
    sign = torch.zeros_like(sign) if proof is not None else sign

    def share(where: torch.Tensor) -> float:
        return float(where.double().mean())

    return Verdict(
        word=word_for(
            proof is not None,
            bool((sign.abs() == 1).any()),
            bool((sign == 0).all()),
            bool(field.bends.any()),
        ),
        positive=share(sign == 1),
        negative=share(sign == -1),
        flat=share(sign == 0),
        undetermined=share(sign.isnan()),
        unresolved=share(~field.resolved),
        typical_error=float(field.gaussian_error.median()),
        bound_kind=field.bound_kind,
        proof=proof,
        points=field.gaussian.shape[-1],
    )


def _sentence(verdict: Verdict, field: CurvatureField, of: str) -> str:
    """Say what is known of the curvature, how, and on which share ``of`` area or points."""
    if verdict.proof is not None:
        return f"Flat: K = 0, proved, because {verdict.proof}."
    if verdict.knowledge == PROVED and verdict.word == BENT:
        return f"Bent, not curved: K = 0 on the whole chart, proved, because {verdict.one_sign}."
    if verdict.knowledge == PROVED:
        sign = ">" if verdict.positive else "<"
        return f"Curved: K {sign} 0 on the whole chart, proved, because {verdict.one_sign}."
    if verdict.knowledge is None:
        unknown = int((~(field.flat & field.resolved)).sum())
        reason = (
            f"at {unknown:,} of {len(field.gaussian):,} points K or the tangent plane is unresolved"
            if unknown
            else f"the errors of K, in the median {verdict.typical_error:.1g}, are too large to say"
            " that it is flat"
        )
        return f"Inconclusive: no point is known to curve, but {reason}."
    if verdict.without_curvature:
        known = knowledge_text(verdict.knowledge, verdict.points)
        errors = f"within errors of K of {verdict.typical_error:.1g} in the median"
        comma = "," * (verdict.word == BENT)
        return f"{verdict.word.capitalize()}{comma} {errors}, {known}."
    # A sign that shows at points of the grid alone is there, on little of the area.
    signs = " and ".join(
        f"K {sign} 0 on {_share(share)}"
        for sign, share, seen in (
            (">", verdict.positive, field.gaussian > 0),
            ("<", verdict.negative, field.gaussian < 0),
        )
        if share or bool((field.decided & seen).any())
    )
    rest = {"K = 0 within errors": verdict.flat, "undetermined": verdict.undetermined}
    others = "".join(f", {word} on {_share(share)}" for word, share in rest.items() if share)
    known = knowledge_text(verdict.knowledge, verdict.points)
    if not others and bool(field.decided.all()):
        known = known.replace("at some of the", "at all")
    resolved = " at resolved points" if verdict.unresolved and of == "area" else ""
    return f"Curved, {known}: {signs}{others} of the {of}{resolved}."


def _share(share: float) -> str:
    return f"{share:.1%}" if share >= 0.0005 else "under 0.1%"


def _numbers(integral: Integral | None) -> dict[str, float | bool] | None:
    if integral is None:
        return None
    value, error = float(integral.value), float(integral.error)
    return {"value": value, "error": error, "complete": bool(integral.complete)}
