"""Which gates curve? Gates on a flat sheet, and the curvature formula for scalar gates."""
