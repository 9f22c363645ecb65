"""Ratios measured in one run: is the fast way faster than the plain way, and by how much?

`python -m tests.benchmarks` prints them as one table. Nothing here asserts, and pytest collects
none of it: ratios from a noisy machine are for reading.
"""
