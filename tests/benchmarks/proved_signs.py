"""How much of its chart is proved, cells and seconds: five models, by degree of the Taylor models.

`python -m tests.benchmarks proved` prints it. Degree one is of second order in a cell's width.
"""

from __future__ import annotations

BALLS = 0
