"""The shipped first view of a page on steering: a text, steered and not, and its judge's tests."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from gating_core.export.weights import tensor_file, tensors_and_metadata
from gating_core.language.shipped import FOLDER
from gating_core.steering.judge import WINDOW, other_verses, spanish_probabilities, windows
from gating_core.steering.live import DirectionRequest, SteerRequest, Step, specimen, write_judged

OPENING = FOLDER / "steered.safetensors"
BEGINNING = "And God said to "
JUDGED_ENDS = (WINDOW, 8)  # characters: while a text is short, the classifier sees only a few


@dataclass(frozen=True, eq=False)
class Opening:
    """A text as it is written, and the classifier's probabilities for verses that test it."""

    request: SteerRequest
    steps: list[Step]
    judged: np.ndarray  # (2, N): of Spanish, for the last `JUDGED_ENDS` of each window of these


def make_opening(name: str = "none", seed: int = 0) -> Opening:
    """Steer a text towards Spanish, by the first layer's `FeatureStatistics.language_feature`."""
    statistics = specimen(name, seed)[1].kinds["means"].statistics
    feature = statistics.language_feature(0, spanish=True)
    request = SteerRequest(DirectionRequest(name, seed, feature=feature), BEGINNING)
    texts, _ = windows(other_verses())
    judged = [spanish_probabilities([text[-end:] for text in texts]) for end in JUDGED_ENDS]
    return Opening(request, list(write_judged(request)), np.stack(judged))


def save_opening(opening: Opening, path: Path = OPENING) -> None:
    """Write what `load_opening` reads."""
    tensors = {
        "spanish": np.array([step.spanish for step in opening.steps]),
        "judged": opening.judged.astype(np.float32),
    }
    plain, steered = ("".join(getattr(step, variant) for step in opening.steps)
                      for variant in ("plain", "steered"))  # fmt: skip
    about = {"request": asdict(opening.request), "plain": plain, "steered": steered}
    path.write_bytes(tensor_file(tensors, about))


def load_opening(path: Path = OPENING) -> Opening:
    """The shipped text and probabilities."""
    tensors, about = tensors_and_metadata(path.read_bytes())
    request = about["request"]
    steps = [Step(plain, steered, (first, second)) for plain, steered, (first, second) in
             zip(about["plain"], about["steered"], tensors["spanish"].tolist(),
                 strict=True)]  # fmt: skip
    direction = DirectionRequest(**request.pop("direction"))
    return Opening(SteerRequest(direction, **request), steps, tensors["judged"])
