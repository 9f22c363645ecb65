"""What is measured of a shipped run, and how does it become a file and a file it?

Tensors are called ``along.VARIANT.MEMBER.PART`` and ``final.VARIANT.MEMBER.PART``; every number is
float64 but K, which a picture's colours show. The words of verdicts stand in the metadata once, and
verdicts have their places there.

Shapes: T frames, R x C grid points.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

import numpy as np
import torch

from gating_core.experiments.comparison.along import (
    CurvatureSummary,
    Key,
    final_curvature,
    unmeasured,
)
from gating_core.experiments.comparison.frames import typical_member
from gating_core.experiments.comparison.run import TrainedRun
from gating_core.export.weights import tensor_file, tensors_and_metadata
from gating_core.geometry.integrals import Integral
from gating_core.geometry.verdict import Verdict

PARTS = ("along", "final")
TEXTS = ("word", "bound_kind", "proof")  # fields of a verdict
NUMBERS = tuple(each.name for each in fields(Verdict) if each.name not in TEXTS)


@dataclass(frozen=True, eq=False)
class Curvatures:
    """What is measured of a run, by variant and member: along it, and at its end."""

    along: dict[Key, CurvatureSummary] = field(default_factory=dict)
    final: dict[Key, CurvatureSummary] = field(default_factory=dict)


def measured(run: TrainedRun) -> Curvatures:
    """Of both compared variants: all seeds along ``run``, the typical one at its end as well.

    Of the others K itself is left out, which nobody sees before they choose one of them.
    """
    found = Curvatures()
    pair = [run.variants[name].ensemble for name in run.setting.compared]
    typical = typical_member(pair[0], pair[1])
    for measure, name, member in unmeasured(run, run.setting.compared, typical):
        summary = _result(measure(run, name, member))
        if measure is final_curvature:
            found.final[name, member] = summary
        else:
            known = summary.known if member == typical else None
            found.along[name, member] = replace(summary, known=known)
    return found


def _result(work: Generator[None, None, CurvatureSummary]) -> CurvatureSummary:
    while True:
        try:
            next(work)
        except StopIteration as end:
            summary: CurvatureSummary = end.value
            return summary


def save_curvatures(found: Curvatures, path: Path) -> None:
    """Write ``found`` to a safetensors file."""
    texts: list[str | None] = [None]
    tensors: dict[str, np.ndarray] = {}
    for part in PARTS:
        for (name, member), summary in getattr(found, part).items():
            prefix = f"{part}.{name}.{member}."
            total, verdicts = summary.total, summary.verdicts
            numbers = [[getattr(v, each) for each in NUMBERS] for v in verdicts]
            said = [[_place(texts, getattr(v, each)) for each in TEXTS] for v in verdicts]
            tensors |= {
                f"{prefix}value": total.value.numpy(),
                f"{prefix}error": total.error.numpy(),
                f"{prefix}complete": total.complete.numpy(),
                f"{prefix}numbers": np.array(numbers, dtype=np.float64),
                f"{prefix}texts": np.array(said, dtype=np.uint8),
            }
            if summary.known is not None:
                tensors[f"{prefix}known"] = summary.known
    path.write_bytes(tensor_file(tensors, {"texts": texts}))


def load_curvatures(path: Path) -> Curvatures:
    """Read what `save_curvatures` wrote; ``ValueError`` if the file is not that."""
    try:
        tensors, about = tensors_and_metadata(path.read_bytes())
        found = Curvatures()
        for part, name, member in _keys(tensors):
            whole = f"{part}.{name}.{member}."
            own = {k.removeprefix(whole): x for k, x in tensors.items() if k.startswith(whole)}
            shape = (-1,) if part == "along" else ()  # a file has no numbers without an axis
            numbers = (own[x].reshape(shape) for x in ("value", "error", "complete"))
            total = Integral(*map(torch.from_numpy, numbers))
            verdicts = tuple(
                Verdict(
                    **dict(zip(NUMBERS, shares, strict=True)),
                    **{x: about["texts"][place] for x, place in zip(TEXTS, places, strict=True)},
                )
                for shares, places in zip(
                    own["numbers"].tolist(), own["texts"].tolist(), strict=True
                )
            )
            known, at_end = own.get("known"), part == "final"
            summary = CurvatureSummary(name, member, total, verdicts, known, at_end)
            getattr(found, part)[name, member] = summary
    except (OSError, KeyError, TypeError, IndexError, ValueError, AttributeError) as error:
        raise ValueError(f"{path.name} is not what was measured of a run: {error}") from error
    return found


def _place(texts: list[str | None], text: str | None) -> int:
    """Where ``text`` stands among ``texts``, at the end if it is new."""
    if text not in texts:
        texts.append(text)
    return texts.index(text)


def _keys(names: Iterable[str]) -> list[tuple[str, str, int]]:
    """Part, variant and member of all tensors."""
    split = (name.split(".") for name in names)
    return sorted({(part, variant, int(member)) for part, variant, member, _ in split})
