"""Experiments: what attention learns, and how its surface curves; one folder per question."""
