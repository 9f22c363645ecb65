"""Gates on a flat surface, and the curvature formula for scalar gates."""
