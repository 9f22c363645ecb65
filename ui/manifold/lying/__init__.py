"""Which pictures fooled us? The gallery on the Manifold page."""
