"""What are a function's exact derivatives, and how wrong can they be?"""

from gating_core.jets.second_order import SecondOrderJet, second_order_jet

__all__ = ["SecondOrderJet", "second_order_jet"]
