"""What is every data set and every kind of attention called, and what is it in one line?

The names are those of menus, headings, tables and sentences alike; a link says the words that they
stand for here.
"""

from __future__ import annotations

from dataclasses import dataclass

from gating_core.experiments.comparison import VARIANTS
from gating_core.tasks import TASK_NAME


@dataclass(frozen=True)
class Named:
    """A ``name`` as within a sentence, one ``line`` that says what it is, perhaps a ``formula``."""

    name: str
    line: str
    formula: str = ""  # in TeX; o is what attention gives, h the state that a gate reads


DATA = {
    "linear": Named("linear", "a straight line through the middle"),
    "offset": Named("offset line", "a straight line beside the middle"),
    "xor": Named("xor", "opposite quadrants belong together"),
    "circle": Named("circle", "a disc and what lies round it"),
    "moons": Named("moons", "two half circles, interleaved"),
    "spiral": Named("spiral", "two arms wound round each other"),
    "checkerboard": Named("checkerboard", "four by four fields in turn"),
    "rings": Named("rings", "a disc and rings round it in turn"),
    "sine": Named("sine", "above or below a sine wave"),
    "cubic": Named("cubic", "above or below y = 2x³ − x"),
    "abs": Named("bent line", "above or below y = 2|x| − 1"),
    "blobs3": Named("three blobs", "three classes, a blob each"),
    "blobs4": Named("four blobs", "four classes, a blob each"),
    TASK_NAME: Named("your own points", "drawn, uploaded or pasted below"),
}
KINDS = {
    name: Named(gate.record.title, gate.record.line, gate.record.formula)
    for name, gate in VARIANTS.items()
    if gate is not None
} | {
    "ungated": Named("no gate", "weighted values, nothing else", r"o = \alpha U"),
    "headwise": Named(
        "sigmoid gate, one per head", "one factor for all channels of a head", r"o\,\sigma(wh + b)"
    ),
    "value": Named(
        "gate on the values (G2)", "before they are averaged; of tokens only",
        r"\alpha\,(U \odot \sigma(Wh + b))",
    ),
    "matched": Named(
        "no gate, parameters matched", "a control: no gate, but wider", r"o = \alpha U \in R^{D'}"
    ),
}  # fmt: skip
TITLES = {name: kind.name for name, kind in KINDS.items()}
