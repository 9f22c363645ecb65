"""Which pictures lie? The gallery on the Manifold page."""
