"""Ratios measured in one run: the fast way against the plain way.

`python -m tests.benchmarks` prints them as one table. Nothing here asserts, and pytest collects
none of it: ratios from a noisy machine are for reading.
"""
