"""What is every data set and every kind of attention called, and what is it in one line?

The names are those of menus, headings, tables and sentences alike; a link says the words that they
stand for here.
"""

from __future__ import annotations

from dataclasses import dataclass

from gating_core.experiments.comparison import VARIANTS
from gating_core.tasks import TASK_NAME

RECORDS = {name: gate.record.title for name, gate in VARIANTS.items() if gate is not None}


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
    "ungated": Named("no gate", "averages of the values, nothing else", r"o = \alpha U"),
    "sigmoid": Named(
        RECORDS["sigmoid"], "every channel times its own factor, 0 to 1", r"o \odot \sigma(Wh + b)"
    ),
    "headwise": Named(
        "sigmoid gate, one per head", "one factor for all channels of a head", r"o\,\sigma(wh + b)"
    ),
    "silu": Named(
        RECORDS["silu"], "factors that may grow, and turn negative",
        r"o \odot \mathrm{SiLU}(Wh + b)",
    ),
    "tanh": Named(RECORDS["tanh"], "factors from −1 to 1: channels flip", r"o \odot \tanh(Wh + b)"),
    "value": Named(
        "gate on the values (G2)", "before they are averaged; of tokens only",
        r"\alpha\,(U \odot \sigma(Wh + b))",
    ),
    "half": Named(RECORDS["half"], "a control: the factor never changes", r"\tfrac12\,o"),
    "additive": Named(
        RECORDS["additive"], "a control: added, where a gate multiplies", r"o + \sigma(Wh + b)"
    ),
    "pointwise": Named(
        RECORDS["pointwise"], "a control: nonlinear, but reads no state", r"\mathrm{SiLU}(o)"
    ),
    "matched": Named(
        "no gate, parameters matched", "a control: no gate, but wider", r"o = \alpha U \in R^{D'}"
    ),
}  # fmt: skip
TITLES = {name: kind.name for name, kind in KINDS.items()}
