"""Ratios measured in one run: our way against a peer's. `python -m tests.benchmarks` prints them.

Nothing here asserts, and pytest collects none of it: ratios from a noisy machine are for reading.
"""
