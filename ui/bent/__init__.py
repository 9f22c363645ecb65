"""Curved or bent: two trained models, islands that a plane cuts, and the price of curvature."""
