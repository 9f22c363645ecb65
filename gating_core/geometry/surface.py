"""Measurements of a sampled surface: where it curves, where it is flat, and the errors.

Words for points are defined here, words for whole surfaces in `verdict`, and words for totals,
*quotable* and *converged*, in `Integral`. At a point K is *within* its error or beyond it. Beyond
it, where the tangent plane is resolved, its sign is *decided*. K is known to be *zero* within an
error that is small, and everywhere on a surface that is flat by proof. Anywhere else K is not
*known*.

Shapes: T frames (versions of one surface), R x C grid points, D dimensions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch

from gating_core.geometry.curvature import CurvatureField, curvature
from gating_core.geometry.flatness import flatness_proofs
from gating_core.geometry.grid import Grid
from gating_core.geometry.integrals import Integral, total_absolute_curvature
from gating_core.geometry.keys import OneSign, sign_proofs
from gating_core.geometry.verdict import (
    FLAT,
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

FRAMED = ("values", "gaussian", "gaussian_error", "resolved", "area_element", "total",
          "total_error", "complete", "proof", "signs")  # fmt: skip


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
    complete: np.ndarray  # (T,): False where the total is a lower estimate
    quadrature: np.ndarray  # (R, C): weights over the chart
    proof: tuple[str | None, ...]  # T proofs that it is flat, or None
    verification: Verification | None = None  # where the verdict needed jittered points
    notes: tuple[str, ...] = ()  # of the jet: what was computed otherwise than by the function
    signs: tuple[OneSign | None, ...] = ()  # T proofs that K has one sign, not 0; or none at all

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

    @property
    def within(self) -> np.ndarray:
        """True where |K| is within its error."""
        return np.abs(self.gaussian) <= self.gaussian_error

    @property
    def proved(self) -> np.ndarray:
        """(T, 1, 1): whether the whole surface is flat by proof."""
        return np.array([proof is not None for proof in self.proof])[:, None, None]

    @property
    def decided(self) -> np.ndarray:
        """True where the sign of K is known."""
        return self.resolved & ~self.within & ~self.proved

    @property
    def zero(self) -> np.ndarray:
        """True where K is known to be 0: by proof, or within an error below 1e-3 / diagonal^2."""
        return self.proved | (self.resolved & self.within & self._small(self.gaussian_error))

    @property
    def known(self) -> np.ndarray:
        """K where it is decided, 0 where it is zero, NaN elsewhere."""
        return np.where(self.zero, 0.0, self.gaussian_where(self.decided))

    @property
    def known_error(self) -> np.ndarray:
        """The error of `known`: 0 on a surface that is flat by proof."""
        error = np.where(self.zero | self.decided, self.gaussian_error, np.nan)
        return np.where(self.proved, 0.0, error)

    def gaussian_where(self, true: np.ndarray) -> np.ndarray:
        """K where ``true`` (T, R, C), NaN elsewhere."""
        return np.where(true, self.gaussian, np.nan)

    # Of every frame, (T,).

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
        area = self.area_element * self.quadrature
        shares = area_shares(area, self.gaussian, self.decided, self.zero)
        v = self.verification
        if v is None:
            return shares
        zero = self.proved[:, 0] | (v.within & self._small(v.gaussian_error[:, None])[:, 0])
        area = v.area_element * self.quadrature.flatten()
        parts = (area, v.gaussian, v.decided & ~self.proved[:, 0], zero)
        jittered = area_shares(*(x[:, None] for x in parts))
        curves = jittered.positive + jittered.negative > 0
        return AreaShares(
            **{
                name: np.where(curves, part, getattr(shares, name))
                for name, part in vars(jittered).items()
            }
        )

    def _shares_of(self, frame: int) -> dict[str, float]:
        """The shares of one frame: all of its area, where K is proved to have one sign."""
        sign = self.signs[frame] if self.signs else None
        if sign is None:
            return {name: float(part[frame]) for name, part in vars(self.shares).items()}
        whole = "positive" if sign.sign > 0 else "negative"
        return {name: float(name == whole) for name in vars(self.shares)}

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdict on each frame.

        Without proof, flat: K is within its error at all points, all are resolved, and the error
        is small as for `zero` at half of the points or more; and K is within its error at all
        jittered verification points, where there are any.
        """
        zero, curves = self.seems_flat, np.asarray(self.decided.any((1, 2)))
        signs = self.signs or (None,) * len(self.proof)
        count = self.quadrature.size
        if self.verification is not None:
            zero = zero & self.verification.zero
            curves = curves | self.verification.positive | self.verification.negative
            count += self.verification.points
        return tuple(
            Verdict(
                word=word_for(
                    proof is not None, bool(curves[frame]) or sign is not None, bool(zero[frame])
                ),
                **self._shares_of(frame),
                unresolved=float(self.unresolved_share[frame]),
                typical_error=float(self.typical_error[frame]),
                bound_kind=self.bound_kind,
                proof=proof,
                points=count,
                one_sign=None if sign is None else sign.reason,
            )
            for frame, (proof, sign) in enumerate(zip(self.proof, signs, strict=True))
        )

    @property
    def seems_flat(self) -> np.ndarray:
        """True where K is within its error at all grid points, and that error is small."""
        small = self._small(self.typical_error[:, None, None]).squeeze((1, 2))
        return np.asarray((self.within & self.resolved).all((1, 2))) & small

    @property
    def flat(self) -> np.ndarray:
        """True where the verdict on the frame is *flat*."""
        return np.array([verdict.word == FLAT for verdict in self.verdicts])

    def _small(self, error: np.ndarray) -> np.ndarray:
        """Return where errors of K (T, ...) are small for the surface's size; False for a point."""
        with np.errstate(invalid="ignore"):  # zero times infinity
            return error * self.diagonal[:, None, None] ** 2 < FLAT_ERROR

    @property
    def largest_error(self) -> np.ndarray:
        """The largest error of K among resolved points; 0 where there is none."""
        return np.where(self.resolved, self.gaussian_error, 0.0).max((1, 2))

    @property
    def largest_curvature(self) -> np.ndarray:
        """The largest |K| among decided points; 0 where there is none."""
        return np.where(self.decided, np.abs(self.gaussian), 0.0).max((1, 2))

    @property
    def unresolved_share(self) -> np.ndarray:
        """The share of grid points whose tangent plane is unresolved."""
        return 1 - self.resolved.mean((1, 2))


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


def measure_surface(
    function: Callable[[torch.Tensor], torch.Tensor],
    grid: Grid,
    covariance: object = None,
    bound: str = "rigorous",
    casts: str = "refuse",
) -> SurfaceResult:
    """Sample ``function``, a torch callable (N, 2) -> (..., N, D), on ``grid`` and measure it.

    Leading axes become frames. Errors and ``casts`` as in `second_order_jet` and `curvature`.
    """
    function = carried(function, casts)
    jet = second_order_jet(function, grid.points, bound)
    return surface_result(function, jet, curvature(jet, covariance), grid, covariance)


def mean_curvature(function: Callable[[torch.Tensor], torch.Tensor], grid: Grid) -> np.ndarray:
    """(T, R, C): |H| (1 / length) of ``function`` on ``grid``, NaN where it is not resolved."""
    field = curvature(second_order_jet(function, grid.points, "estimate"))
    mean = torch.where(field.resolved, field.mean_norm, torch.nan)
    return mean.reshape(-1, *grid.weights.shape).numpy()


def surface_result(
    function: Callable[[torch.Tensor], torch.Tensor],
    jet: SecondOrderJet,
    field: CurvatureField,
    grid: Grid,
    covariance: object = None,
    verification: Verification | None = None,
) -> SurfaceResult:
    """Build the result from the ``jet`` of ``function`` on ``grid`` and its curvature ``field``.

    If the surface is flat by proof its total is exactly 0; K stays as measured. If it seems flat
    without a proof it is verified at jittered points, unless ``verification`` is given.
    ``covariance`` is the one that K was measured with.
    """
    total = total_absolute_curvature(field, grid.weights)
    shape = tuple(grid.weights.shape)
    proof = flatness_proofs(function, jet.value)
    signs = sign_proofs(function, len(proof))
    proof = tuple(
        flat or (one.reason if one and one.sign == 0 else None)
        for flat, one in zip(proof, signs, strict=True)
    )
    proved = torch.tensor([reason is not None for reason in proof])

    def frames(x: torch.Tensor, *rest: int) -> np.ndarray:
        return x.reshape(-1, *shape, *rest).numpy()

    result = SurfaceResult(
        axis=grid.axis.numpy(),
        values=frames(jet.value, jet.value.shape[-1]),
        gaussian=frames(field.gaussian),
        gaussian_error=frames(field.gaussian_error),
        bound_kind=field.bound_kind,
        resolved=frames(field.resolved),
        area_element=frames(field.area_element),
        total=torch.where(proved, 0.0, total.value.reshape(-1)).numpy(),
        total_error=torch.where(proved, 0.0, total.error.reshape(-1)).numpy(),
        complete=(proved | total.complete.reshape(-1)).numpy(),
        quadrature=grid.weights.numpy(),
        proof=proof,
        verification=verification,
        notes=jet.notes,
        signs=tuple(one if one and one.sign else None for one in signs),
    )
    if verification or not bool((result.seems_flat & ~proved.numpy()).any()):
        return result
    kind = "rigorous" if field.bound_kind == "rigorous" else "estimate"
    again = second_order_jet(function, jittered_points(grid), kind)
    return replace(result, verification=verify(curvature(again, covariance)))


# --- Concentration of curvature -------------------------------------------------------------------


MOST_CURVED = 0.01  # of the area
RIDGE = 0.25  # of the curvature, on that part: a high-curvature ridge


def concentration(surface: SurfaceResult, part: float = MOST_CURVED) -> np.ndarray:
    """(T,): the share of the integral of |K| dA on the most curved ``part`` of the area.

    From decided grid points: ``part`` where |K| is the same everywhere, near 1 where the surface is
    flat but for a high-curvature ridge, 0 where nothing is known to curve.
    """
    size, area, counted = _most_curved(surface, part)
    total = (size * area).sum(1)
    return np.divide((size * counted).sum(1), total, out=np.zeros_like(total), where=total > 0)


def ridge_levels(surface: SurfaceResult, part: float = MOST_CURVED) -> np.ndarray:
    """(T,): the least |K| (1 / length^2) of a point in the most curved ``part`` of the area.

    Infinite where that part holds less than a quarter of the integral of |K| dA.
    """
    size, _, counted = _most_curved(surface, part)
    least = np.where(counted > 0, size, np.inf).min(1)
    return np.where(concentration(surface, part) >= RIDGE, least, np.inf)


def _most_curved(surface: SurfaceResult, part: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(T, R C) each, most curved first: |K|, area of each point, and its share within ``part``."""
    size = np.where(surface.decided, np.abs(surface.gaussian), 0.0)
    size = size.reshape(len(size), -1)
    area = np.nan_to_num(surface.area_element) * surface.quadrature
    area = area.reshape(size.shape)
    order = np.argsort(-size, axis=1)
    size, area = (np.take_along_axis(x, order, 1) for x in (size, area))
    before = np.cumsum(area, 1) - area
    whole = area.sum(1, keepdims=True)
    return size, area, np.clip(part * whole - before, 0.0, area)
