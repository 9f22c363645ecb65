"""On which cells of a chart is the sign of K proved? What several pages show of it."""
