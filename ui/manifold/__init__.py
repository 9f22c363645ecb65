"""What shape do the outputs fill? The Manifold page."""
