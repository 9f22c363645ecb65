"""A measured surface: where it curves, where it is flat, its totals and verdict, and the errors.

`MeasuredSurface` computes from a function what is asked of it, once; `SurfaceResult` holds the
numbers alone, fit to be stored. A point has one sign of K: 1 or -1 where |K| exceeds its error and
the tangent plane is resolved; 0 where K is within an error that is small, and everywhere on a
surface that is proved to have no curvature; elsewhere it is unknown, NaN. Words for whole surfaces
are defined in `verdict`, words for totals, *quotable* and *converged*, in `Integral`.

Shapes: T frames (versions of one surface), R x C grid points, D dimensions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch

from gating_core.geometry.curvature import (
    CurvatureField,
    FundamentalForm,
    curvature,
    second_fundamental_form,
)
from gating_core.geometry.flatness import flatness_proofs
from gating_core.geometry.grid import Grid
from gating_core.geometry.integrals import (
    BENDING_OF_CURVATURE,
    Integral,
    grid_integral,
    unseen_curvature,
)
from gating_core.geometry.keys import OneSign, sign_proofs
from gating_core.geometry.verdict import (
    AreaShares,
    Verdict,
    Verification,
    area_shares,
    jittered_points,
    verify,
    word_for,
)
from gating_core.jets.casts import carried
from gating_core.jets.second_order import SecondOrderJet, second_order_jet

BLOCK_POINTS = 512  # whose distances to all points are held at a time
REACH_SLACK = 1e-9  # relative, for the rounding of distances
FLAT_ERROR = 1e-3  # of 1 / diagonal^2: an error of K below it is small
WHOLE = ("flat", "positive", "negative")  # the share that is all of the area, by the sign of K

FRAMED = ("values", "gaussian", "gaussian_error", "resolved", "area_element", "total",
          "total_error", "bending", "bending_error", "complete", "bends", "proof",
          "signs")  # fmt: skip


@dataclass(frozen=True, eq=False)
class SurfaceResult:
    """A sampled surface in T versions, with its curvature and errors."""

    axis: np.ndarray  # (R,): chart coordinates of rows and columns
    values: np.ndarray  # (T, R, C, D)
    gaussian: np.ndarray  # (T, R, C): K, 1 / length^2
    gaussian_error: np.ndarray  # (T, R, C)
    bound_kind: str
    resolved: np.ndarray  # (T, R, C)
    area_element: np.ndarray  # (T, R, C)
    total: np.ndarray  # (T,): integral of |K| dA
    total_error: np.ndarray  # (T,)
    bending: np.ndarray  # (T,): integral of |II|^2 dA
    bending_error: np.ndarray  # (T,)
    complete: np.ndarray  # (T,): False where the integrals are lower estimates
    bends: np.ndarray  # (T,): whether |II| exceeds its error at any point
    quadrature: np.ndarray  # (R, C): weights over the chart
    proof: tuple[str | None, ...]  # T proofs that it lies in a plane, or None
    verification: Verification | None = None  # where the verdict needed jittered points
    notes: tuple[str, ...] = ()  # of the jet: what was computed otherwise than by the function
    signs: tuple[OneSign | None, ...] = ()  # T proofs that K has one sign or is 0; or none at all

    def frame(self, index: int) -> SurfaceResult:
        """Return one frame alone, as a surface of one."""
        return self._frames(slice(index, index + 1))

    def first(self, count: int) -> SurfaceResult:
        """Return the first ``count`` frames."""
        return self._frames(slice(count))

    def _frames(self, here: slice) -> SurfaceResult:
        parts = {name: getattr(self, name)[here] for name in FRAMED}
        parts["verification"] = self.verification and self.verification.frame(here)
        return replace(self, **parts)

    def integral(self, index: int) -> Integral:
        """Return the integral of |K| over one frame."""
        arrays = self.total, self.total_error, self.complete
        return Integral(*(torch.as_tensor(array[index]) for array in arrays))

    # At every point, (T, R, C).

    @cached_property
    def sign(self) -> np.ndarray:
        """The sign of K, 1, -1 or 0, where it is known; NaN elsewhere."""
        within = np.abs(self.gaussian) <= self.gaussian_error
        sign = np.where(within, 0.0, np.sign(self.gaussian))
        return self._known_sign(np.where(self.resolved, sign, np.nan), self.gaussian_error)

    @property
    def known(self) -> np.ndarray:
        """K where its sign is known, 0 where that is 0; NaN elsewhere."""
        return np.where(self.sign == 0, 0.0, np.where(np.isnan(self.sign), np.nan, self.gaussian))

    @property
    def known_error(self) -> np.ndarray:
        """The error of `known`: 0 on a surface that is proved to have no curvature."""
        error = np.where(np.isnan(self.sign), np.nan, self.gaussian_error)
        return np.where(self.proved_zero[:, None, None], 0.0, error)

    @property
    def signed(self) -> np.ndarray:
        """K where its sign is known and not 0; NaN elsewhere."""
        return np.where(abs(self.sign) == 1, self.gaussian, np.nan)

    def _known_sign(self, sign: np.ndarray, error: np.ndarray) -> np.ndarray:
        """Return ``sign`` (T, ...), NaN at zeros within an ``error`` that is not small."""
        frames = (-1, *[1] * (sign.ndim - 1))
        vague = (sign == 0) & ~self._small(error)
        return np.where(self.proved_zero.reshape(frames), 0.0, np.where(vague, np.nan, sign))

    # Of every frame, (T,).

    @property
    def proved_zero(self) -> np.ndarray:
        """True where a proof says that K = 0 on the whole surface."""
        signs = self.signs or (None,) * len(self.proof)
        return np.array([
            proof is not None or (one is not None and one.sign == 0)
            for proof, one in zip(self.proof, signs, strict=True)
        ])  # fmt: skip

    @cached_property
    def diagonal(self) -> np.ndarray:
        """The diagonal of the box around all finite sampled points, NaN without any.

        Between the diameter and sqrt(D) times as much, depending on the axes; quick to compute.
        """
        finite = np.isfinite(self.values).all(-1, keepdims=True)
        high = np.where(finite, self.values, -np.inf).max((1, 2))
        low = np.where(finite, self.values, np.inf).min((1, 2))
        span = np.where(finite.any((1, 2)), high - low, np.nan)
        return np.linalg.norm(span, axis=-1)

    @property
    def diameter(self) -> np.ndarray:
        """The largest distance between two sampled points, whatever the axes: see `diameter`."""
        return np.array([diameter(x) for x in torch.tensor(self.values).flatten(1, 2)])

    @property
    def typical_error(self) -> np.ndarray:
        """The median error of K; infinite where half of the points are unresolved."""
        return np.median(self.gaussian_error, axis=(1, 2))

    @cached_property
    def shares(self) -> AreaShares:
        """Shares of the area with K > 0, K < 0, K = 0, and the rest, as known at the points.

        At the jittered points, if the surface was verified and curves at any of them: a grid may be
        in step with the surface, and see tops and valleys only.
        """
        shares = area_shares(self.area_element * self.quadrature, self.sign)
        v = self.verification
        if v is None:
            return shares
        sign = self._known_sign(v.sign, v.gaussian_error)
        jittered = area_shares(v.area_element * self.quadrature.flatten(), sign)
        curves = jittered.positive + jittered.negative > 0
        return AreaShares(
            **{
                name: np.where(curves, part, getattr(shares, name))
                for name, part in vars(jittered).items()
            }
        )

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdict on each frame.

        Without proof, K = 0: K is within its error at all points, all are resolved, and the error
        is small as for `sign` at half of the points or more; and K is within its error at all
        jittered verification points, where there are any.
        """
        curves, zero = (abs(self.sign) == 1).any((1, 2)), self.seems_zero
        bends, count = self.bends, self.quadrature.size
        if (v := self.verification) is not None:
            curves, zero = curves | (abs(v.sign) == 1).any(1), zero & (v.sign == 0).all(1)
            bends, count = bends | v.bends.any(1), count + v.points
        curves, zero = curves & ~self.proved_zero, zero | self.proved_zero
        signs = self.signs or (None,) * len(self.proof)
        return tuple(
            Verdict(
                word=word_for(
                    proof is not None,
                    bool(curves[frame]) or bool(one and one.sign),
                    bool(zero[frame]),
                    bool(bends[frame]),
                ),
                **{
                    # All of the area, where K is proved to have one sign.
                    name: float(share[frame] if one is None else name == WHOLE[one.sign])
                    for name, share in vars(self.shares).items()
                },
                unresolved=float(1 - self.resolved[frame].mean()),
                typical_error=float(self.typical_error[frame]),
                bound_kind=self.bound_kind,
                proof=proof,
                points=count,
                one_sign=None if one is None else one.reason,
            )
            for frame, (proof, one) in enumerate(zip(self.proof, signs, strict=True))
        )

    @property
    def seems_zero(self) -> np.ndarray:
        """True where K is within its error at all grid points, and that error is small."""
        within = (np.abs(self.gaussian) <= self.gaussian_error) & self.resolved
        return np.asarray(within.all((1, 2))) & self._small(self.typical_error)

    @property
    def without_curvature(self) -> np.ndarray:
        """True where the verdict on the frame is that K = 0."""
        return np.array([verdict.without_curvature for verdict in self.verdicts])

    def _small(self, error: np.ndarray) -> np.ndarray:
        """Return where errors of K (T, ...) are small for the surface's size; False for a point."""
        diagonal = self.diagonal.reshape(-1, *[1] * (error.ndim - 1))
        with np.errstate(invalid="ignore"):  # zero times infinity
            return error * diagonal**2 < FLAT_ERROR

    @property
    def largest_error(self) -> np.ndarray:
        """The largest error of K among resolved points; 0 where there is none."""
        return np.where(self.resolved, self.gaussian_error, 0.0).max((1, 2))

    @property
    def largest_curvature(self) -> np.ndarray:
        """The largest |K| among points whose sign is known; 0 where there is none."""
        return np.nan_to_num(np.abs(self.signed)).max((1, 2))


def diameter(points: torch.Tensor) -> float:
    """Compute the largest distance between any two of ``points`` (N, D).

    Both ends of a distance d are at least d - r from the mean, where r is the largest distance
    from the mean: few points are.
    """
    centred = points - points.mean(0)  # distances far from the origin would be rounded
    reach = torch.linalg.vector_norm(centred, dim=1)
    least = torch.linalg.vector_norm(centred - centred[reach.argmax()], dim=1).max()
    if not least.isfinite():
        return torch.nan
    ends = centred[reach >= (least - reach.max()) * (1 - REACH_SLACK)]
    return max(float(torch.cdist(block, ends).max()) for block in ends.split(BLOCK_POINTS))


# --- Measuring a function ------------------------------------------------------------------------


class MeasuredSurface:
    """The surface of a function, measured on a grid as far as it is asked for, each thing once.

    Args:
        function: A torch callable (N, 2) -> (..., N, D); leading axes become T frames. It may prove
            some of its surfaces to be flat or of one sign, as `flatness_proofs`, `sign_proofs`.
        grid: On the chart.
        covariance: Of the metric, as for `curvature`.
        bound: As for `second_order_jet`.
        jet: The function's jet on the grid, where it is computed otherwise.
        verification: What jittered points show, if it is known; else they are measured where K
            seems to be 0 without a proof.

    Raises:
        ValueError: On reading what needs them, as `second_order_jet` and `curvature`.
    """

    def __init__(
        self,
        function: Callable[[torch.Tensor], torch.Tensor],
        grid: Grid,
        covariance: object = None,
        bound: str = "rigorous",
        *,
        jet: SecondOrderJet | None = None,
        verification: Verification | None = None,
    ) -> None:
        self.function, self.grid = function, grid
        self.covariance, self.bound = covariance, bound
        self._verification = verification
        if jet is not None:
            self.jet = jet

    @cached_property
    def jet(self) -> SecondOrderJet:
        """Values and derivatives."""
        return second_order_jet(self.function, self.grid.points, self.bound)

    @cached_property
    def field(self) -> CurvatureField:
        """Curvature at the points."""
        return curvature(self.jet, self.covariance)

    @cached_property
    def form(self) -> FundamentalForm:
        """The second fundamental form at the points."""
        return second_fundamental_form(self.jet, self.covariance)

    @cached_property
    def proof(self) -> tuple[str | None, ...]:
        """T proofs that the surface lies in a plane, or ``None``."""
        return flatness_proofs(self.function, self.jet.value)

    @cached_property
    def signs(self) -> tuple[OneSign | None, ...]:
        """T proofs that K has one sign or is 0, or ``None``."""
        return sign_proofs(self.function, len(self.proof))

    @cached_property
    def unseen(self) -> torch.Tensor:
        """(T,): difference of the integral of |K| dA by holonomy and by the points."""
        return unseen_curvature(self.form, self.field, self.grid.weights).reshape(-1)

    @property
    def total(self) -> Integral:
        """The integral of |K| dA, (T,), 0 where K = 0 is proved.

        The error is its change under halving of the grid, or its difference from the holonomy sum,
        whichever is larger.
        """
        return self._with_unseen("absolute", 1.0)

    @property
    def bending(self) -> Integral:
        """The integral of |II|^2 dA, (T,), 0 on a proved plane; curvature unseen counts twice."""
        return self._with_unseen("bending", BENDING_OF_CURVATURE)

    def _with_unseen(self, name: str, factor: float) -> Integral:
        integral, zero = self._on_grid(name)
        error = torch.maximum(integral.error, factor * self.unseen)
        return replace(integral, error=torch.where(zero, 0.0, error))

    def _on_grid(self, name: str) -> tuple[Integral, torch.Tensor]:
        """An integral by the points alone, (T,), and where it is proved to be 0."""
        zero = torch.tensor([reason is not None for reason in self.proof])
        if name == "absolute":
            zero |= torch.tensor([one is not None and one.sign == 0 for one in self.signs])
        whole = grid_integral(name, self.field, self.grid.weights)
        value, error = (torch.where(zero, 0.0, x.reshape(-1)) for x in (whole.value, whole.error))
        return Integral(value, error, zero | whole.complete.reshape(-1)), zero

    @cached_property
    def mean_norm(self) -> np.ndarray:
        """(T, R, C): |H| (1 / length), NaN where the tangent plane is not resolved."""
        return self._shaped(torch.where(self.field.resolved, self.field.mean_norm, torch.nan))

    @cached_property
    def surface(self) -> SurfaceResult:
        """The numbers at the points, fit to be stored; K stays as measured where it is proved."""
        (total, _), (bending, _) = map(self._on_grid, ("absolute", "bending"))
        field = self.field
        result = SurfaceResult(
            axis=self.grid.axis.numpy(),
            values=self._shaped(self.jet.value, self.jet.value.shape[-1]),
            gaussian=self._shaped(field.gaussian),
            gaussian_error=self._shaped(field.gaussian_error),
            bound_kind=field.bound_kind,
            resolved=self._shaped(field.resolved),
            area_element=self._shaped(field.area_element),
            total=total.value.numpy(),
            total_error=total.error.numpy(),
            bending=bending.value.numpy(),
            bending_error=bending.error.numpy(),
            complete=total.complete.numpy(),
            bends=np.asarray(self._shaped(field.bends).any((1, 2))),
            quadrature=self.grid.weights.numpy(),
            proof=self.proof,
            verification=self._verification,
            notes=self.jet.notes,
            signs=self.signs,
        )
        if self._verification or not bool((result.seems_zero & ~result.proved_zero).any()):
            return result
        kind = "rigorous" if field.bound_kind == "rigorous" else "estimate"
        again = second_order_jet(self.function, jittered_points(self.grid), kind)
        return replace(result, verification=verify(curvature(again, self.covariance)))

    @property
    def verdict(self) -> Verdict:
        """The verdict on the only frame."""
        (verdict,) = self.surface.verdicts
        return verdict

    def _shaped(self, x: torch.Tensor, *rest: int) -> np.ndarray:
        return x.reshape(-1, *self.grid.weights.shape, *rest).numpy()


def measure_surface(
    function: Callable[[torch.Tensor], torch.Tensor],
    grid: Grid,
    covariance: object = None,
    bound: str = "rigorous",
    casts: str = "refuse",
) -> SurfaceResult:
    """Measure `MeasuredSurface.surface` in one call; ``casts`` as in `second_order_jet`."""
    return MeasuredSurface(carried(function, casts), grid, covariance, bound).surface


# --- Concentration of curvature -------------------------------------------------------------------


MOST_CURVED = 0.01  # of the area


def concentration(surface: SurfaceResult, part: float = MOST_CURVED) -> np.ndarray:
    """(T,): the share of the integral of |K| dA on the most curved ``part`` of the area.

    From points whose sign is known: ``part`` where |K| is the same everywhere, near 1 where the
    surface is flat but for a high-curvature ridge, 0 where nothing is known to curve.
    """
    size = np.nan_to_num(np.abs(surface.signed))
    size = size.reshape(len(size), -1)
    area = (np.nan_to_num(surface.area_element) * surface.quadrature).reshape(size.shape)
    order = np.argsort(-size, axis=1)
    size, area = (np.take_along_axis(x, order, 1) for x in (size, area))
    before, whole = np.cumsum(area, 1) - area, area.sum(1, keepdims=True)
    counted = np.clip(part * whole - before, 0.0, area)
    total = (size * area).sum(1)
    return np.divide((size * counted).sum(1), total, out=np.zeros_like(total), where=total > 0)
