"""Value and derivatives of any torch function everywhere in a cell: balls, or affine forms.

A cell is a box about a centre. Balls come from errors as wide as the cell; they are right for any
width, and of first order: what they add to the true range falls with the width. Affine forms are
of second order, and take about three times as long.
"""

from __future__ import annotations

from typing import cast

import torch

from gating_core.jets.affine import AffineForm
from gating_core.jets.bounded import Bounded
from gating_core.jets.jet import Jet, filled
from gating_core.jets.second_order import Function, SecondOrderJet, followed


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


def affine_jet(function: Function, centres: torch.Tensor, radius: torch.Tensor) -> Jet:
    """The same as a jet whose components are affine forms over each box's own [-1, 1]^k."""
    coordinates = Jet.coordinates(centres, bounded=True)
    widths = [torch.zeros_like(coordinates.value.value) for _ in range(coordinates.k)]
    for i, width in enumerate(widths):
        width[:, i] = radius[:, i]
    coordinates.value = AffineForm(coordinates.value.value, None, tuple(widths))
    return followed(function, coordinates)
