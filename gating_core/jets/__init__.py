"""Exact derivatives of functions, with bounds of their rounding errors."""

from gating_core.jets.second_order import SecondOrderJet, second_order_jet

__all__ = ["SecondOrderJet", "second_order_jet"]
