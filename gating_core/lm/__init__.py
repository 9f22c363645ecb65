"""A small language model that reads characters, with every intermediate result accessible."""
