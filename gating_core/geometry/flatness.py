"""Proofs that a surface is flat, from the vectors that its points are averages of.

Averages of fixed vectors lie in the vectors' affine hull, and so do fixed linear images of such
averages in its image. A surface in a plane is an open piece of that plane: K = 0 exactly, wherever
there is a surface at all, in every chart and every constant metric. A hull of more dimensions
proves nothing, because a surface inside a flat space can be curved; nor does one of fewer, where
there is no surface.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch

from gating_core.rational import exact_dimension


@dataclass(frozen=True, eq=False)
class AffineHull:
    """``dimension`` of the affine hull of values: how many of ``spreads`` are above a tolerance.

    They are the singular values of the centred sample, largest first.
    """

    dimension: int
    spreads: torch.Tensor


def affine_hull(values: torch.Tensor) -> AffineHull:
    """The affine hull of ``values`` (N, D).

    The tolerance is max(N, D) eps of the largest spread: the usual one of numerical rank (Golub &
    Van Loan, *Matrix Computations*, 4th ed., section 5.4.1). For the manifold of all attention
    weights give the value vectors themselves: a sample near one of them has a smaller hull.
    ``ValueError`` unless values are finite and (N, D) with N > 0.
    """
    values = torch.as_tensor(values, dtype=torch.float64)
    if values.ndim != 2 or not len(values) or not values.isfinite().all():
        raise ValueError(
            f"values has shape {tuple(values.shape)}; it must be (N, D), N > 0, all finite"
        )
    count, ambient = values.shape
    centred = values - values.mean(0)
    spreads = torch.linalg.svdvals(centred)
    relative = max(count, ambient) * torch.finfo(torch.float64).eps
    # Centring itself rounds relative to the values' size, not to their spread.
    floor = values.abs().max() * torch.finfo(torch.float64).eps * (count * ambient) ** 0.5
    tolerance = max(relative * float(spreads[0]), float(floor))
    return AffineHull(int((spreads > tolerance).sum()), spreads)


# --- Spaces ---------------------------------------------------------------------------------------

Span = tuple[torch.Tensor, ...]  # (n, d) each: outputs are averages of each, side by side


@dataclass(frozen=True, eq=False)
class AffineSpace:
    """An affine space that holds a surface: ``dimension``, and whether it is ``proved``.

    Without proof it is the rank of a sample. ``basis`` (dimension, D) has orthonormal rows along
    it, fewer where the surface seems to fill less; ``None`` where it is all of R^D.
    """

    dimension: int
    proved: bool
    basis: torch.Tensor | None


def affine_space(
    function: Callable[[torch.Tensor], torch.Tensor], values: torch.Tensor
) -> AffineSpace:
    """Return the smallest affine space known to hold the surface with sampled ``values`` (N, D).

    At most three dimensions are proved: where D is no more, or by the rank, in fractions, of the
    vectors of each head in whose affine hulls the outputs of a ``function`` of one surface lie, as
    it names them in ``hulls`` (or `Averages.spans`).
    """
    bounds = [values.shape[1]]
    vectors: Sequence[Span | None] = getattr(function, "hulls", tuple)()
    if not vectors and isinstance(function, Averages):
        vectors = function.spans()
    if vectors and vectors[0] is not None and all(part.isfinite().all() for part in vectors[0]):
        bounds.append(sum(exact_dimension(part, 3) for part in vectors[0]))
    seen, bound = affine_hull(values).dimension, min(bounds)
    rank = min(bound, seen)
    basis = None
    if rank < values.shape[1]:
        basis = torch.linalg.svd(values - values.mean(0), full_matrices=False).Vh[:rank]
    return AffineSpace(bound, True, basis) if bound <= 3 else AffineSpace(seen, False, basis)


# --- Proofs ---------------------------------------------------------------------------------------

COUNT_WORDS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}


@runtime_checkable
class Averages(Protocol):
    """A function whose outputs are averages of fixed vectors, on some of its surfaces at least."""

    @property
    def spanned_by(self) -> str:
        """The name of the vectors."""

    def spans(self) -> Sequence[Span | None]:
        """Return, for each surface, the averaged vectors, or ``None`` where there are none."""


def flatness_proofs(
    function: Callable[[torch.Tensor], torch.Tensor], values: torch.Tensor
) -> tuple[str | None, ...]:
    """Return for each surface with sampled ``values`` (..., N, D) why it is flat, or ``None``.

    A reason is a clause: "it lies in the plane of three fixed values". A ``function`` whose outputs
    are averages has a method ``spans``, which returns for each surface a tuple of the averaged
    vectors (n, d), or ``None`` where there are none, and the vectors' name ``spanned_by``. Without
    ``spans`` only D = 2 is a proof.
    """
    count, ambient = values.shape[:-2].numel(), values.shape[-1]
    averages = function if isinstance(function, Averages) else None
    spans = [None] * count if averages is None else averages.spans()
    proofs: list[str | None] = []
    for span in spans:
        within = None if span is None else _dimension(span)
        if within is not None and within < 2:
            proofs.append(None)
        elif ambient == 2:
            proofs.append("it has only two dimensions to lie in")
        elif averages is not None and span is not None and within == 2:
            vectors = COUNT_WORDS.get(len(span[0]), str(len(span[0])))
            of = f"of {vectors} {averages.spanned_by}"
            if len(span) > 1:
                of = f"that the {averages.spanned_by} of its heads span"
            proofs.append(f"it lies in the plane {of}")
        else:
            proofs.append(None)
    return tuple(proofs)


def _dimension(span: Span) -> int:
    """The dimension of all averages of a ``span``, or 3 or more if it is larger than 2."""
    if not all(part.isfinite().all() for part in span):
        return 3
    dimension = sum(affine_hull(part).dimension for part in span)
    return dimension if dimension != 2 else sum(exact_dimension(part, 2) for part in span)
