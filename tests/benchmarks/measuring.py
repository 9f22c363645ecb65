"""The benchmarks, and the process in which each is measured."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

from tests.benchmarks.process import LIBRARY, SERVER, measured_in
from tests.benchmarks.table import Row

BENCHMARKS = {  # by name: a module with a function `rows`, and the process it is measured in
    "curvature": ("curvature_cost", LIBRARY),
    "heads": ("head_cost", LIBRARY),
    "training": ("training_speed", LIBRARY),
    "page": ("page_speed", SERVER),
}


def measure(name: str) -> list[Row]:
    """The rows of one benchmark, measured in its process."""
    module, process = BENCHMARKS[name]
    return measured_in(process, _rows, module, process)


def _rows(module: str, process: str) -> list[Row]:
    rows: list[Row] = import_module(f"tests.benchmarks.{module}").rows(process)
    return [replace(row, process=row.process or process) for row in rows]
