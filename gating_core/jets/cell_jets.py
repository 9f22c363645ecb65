"""Value and derivatives of any torch function everywhere in a cell: balls, or affine forms.

A cell is a box about a centre. Balls come from errors as wide as the cell; they are right for any
width, and of first order: their relative excess over the true range falls with the width. Affine
forms are of second order, and take about three times as long.
"""

from __future__ import annotations

from typing import cast

import torch

from gating_core.jets.bounded import Bounded
from gating_core.jets.jet import Jet, filled
from gating_core.jets.polynomials import monomials
from gating_core.jets.second_order import Function, SecondOrderJet, followed
from gating_core.jets.taylor import TaylorModel


def enclosing_jet(
    function: Function, centres: torch.Tensor, radius: torch.Tensor
) -> SecondOrderJet:
    """Balls that hold value and derivatives of ``function`` everywhere in each of N boxes.

    ``centres`` (N, k) and half widths ``radius`` (N, k). In the result ``stack`` are centres of
    balls and ``errors`` their radii, infinite where nothing is known: where the function may have a
    pole, a kink or a jump, or may not be defined. `MissingRule` for what has no error rule.
    """
    jet = followed(function, Jet.coordinates(centres, bounded=True, radius=radius))
    parts = cast(list[Bounded], [jet.value[None], filled(jet, "first"), filled(jet, "second")])
    return SecondOrderJet(
        torch.cat([x.value.mT for x in parts]), jet.k, torch.cat([x.bound.mT for x in parts])
    )


def taylor_jet(
    function: Function, centres: torch.Tensor, radius: torch.Tensor, degree: int = 2
) -> Jet:
    """Return the jet of ``function`` with Taylor models over each box's own [-1, 1]^2.

    Of degree 0 they are balls.
    """
    if degree == 0:
        return followed(function, Jet.coordinates(centres, bounded=True, radius=radius))
    coordinates = Jet.coordinates(centres, bounded=True)
    rest = (None,) * (len(monomials(degree)) - 3)
    value = coordinates.value.value
    terms = [torch.zeros_like(value) for _ in range(2)]
    for i, term in enumerate(terms):
        term[:, i] = radius[:, i]
    coordinates.value = TaylorModel(value, None, (*terms, *rest))
    return followed(function, coordinates)
