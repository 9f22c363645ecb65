"""The benchmarks, and the processes in which each is measured."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

from tests.benchmarks.process import LIBRARY, SERVER, WORKER, measured_in
from tests.benchmarks.table import Row

BENCHMARKS = {  # by name: a module with a function `rows`, and the processes it is measured in
    "curvature": ("curvature_cost", (LIBRARY, WORKER)),
    "memory": ("memory_cost", (LIBRARY,)),  # starts those that it compares
    "mesh": ("mesh_cost", (LIBRARY, WORKER)),
    "packing": ("packing_cost", (LIBRARY,)),  # as well
    "page": ("page_speed", (SERVER,)),
    "training": ("training_speed", (LIBRARY, WORKER)),
}


def measure(name: str) -> list[Row]:
    """The rows of one benchmark, each measured in its process."""
    module, processes = BENCHMARKS[name]
    return [row for process in processes for row in measured_in(process, _rows, module, process)]


def _rows(module: str, process: str) -> list[Row]:
    rows: list[Row] = import_module(f"tests.benchmarks.{module}").rows(process)
    return [replace(row, process=row.process or process) for row in rows]
