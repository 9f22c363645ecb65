"""What is there to learn?"""

from gating_core.tasks.own import EXAMPLE_CSV, TASK_NAME, OwnData, drawn_data, parse_csv, split_note
from gating_core.tasks.rules import CLASS_COUNTS, TASKS
from gating_core.tasks.table import LARGEST_BYTES, MOST_CLASSES, MOST_POINTS, OwnDataError
from gating_core.tasks.task import TRAIN_SHARE_RANGE, Task, make_task

__all__ = [
    "CLASS_COUNTS",
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
    "split_note",
]
