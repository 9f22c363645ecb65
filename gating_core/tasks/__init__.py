"""Classification tasks on the square, and data of one's own."""

from gating_core.tasks.own import (
    EXAMPLE_CSV,
    LARGEST_BYTES,
    MOST_CLASSES,
    MOST_POINTS,
    TASK_NAME,
    OwnData,
    OwnDataError,
    drawn_data,
    parse_csv,
    quote,
    train_counts,
)
from gating_core.tasks.task import TASKS, TRAIN_SHARE_RANGE, Task, make_task

__all__ = [
    "EXAMPLE_CSV",
    "LARGEST_BYTES",
    "MOST_CLASSES",
    "MOST_POINTS",
    "TASKS",
    "TASK_NAME",
    "TRAIN_SHARE_RANGE",
    "OwnData",
    "OwnDataError",
    "Task",
    "drawn_data",
    "make_task",
    "parse_csv",
    "quote",
    "train_counts",
]
