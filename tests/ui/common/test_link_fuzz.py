"""Any link gives a request within the limits, and one sentence per mistake.

Below the pages, so that hundreds of links are quick; `test_controls` opens pages with some.
"""

import json
import string

from hypothesis import given
from hypothesis import strategies as st

from gating_core.experiments.comparison import TooLarge
from gating_core.theory import GALLERY
from tests.profiles import fuzz
from tests.ui.common.test_links import BAD, GOOD, PAGES
from tests.ui.foreign_words import HOSTILE
from tests.ui.opening import mistakes, open_page
from ui.common.control_table import Controls
from ui.common.links import check_link
from ui.common.page import PAGES as ALL_PAGES
from ui.decision_boundary.request import BoundaryRequest, TooLong, setting
from ui.decision_boundary.request import resolve as resolve_run
from ui.gates.frames import RADII, GateRequest, case_of
from ui.gates.frames import resolve as resolve_gate
from ui.limits import QUOTED_CHARACTERS, TRAINING_NUMBERS

OPENED = [page.path for page in ALL_PAGES.values()]
LONGEST_SENTENCE = 300  # letters
NUMBERS = st.one_of(
    st.floats().map(repr), st.integers().map(str), st.integers(-(10**30), 10**30).map(str),
    st.sampled_from(["1e999", "-1e999", "nan", "-nan", "Infinity", "0x10", "1_000", "١٢", "½", "²",
                     "1e-999", "-0", "00", "1" * 5000, "0." + "0" * 5000 + "1", "1e", "1,5", "+1",
                     "１", "𝟏", "⑴", "1\0", "1\n", "\u22121"]),
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
).map(json.dumps)
HUGE = st.tuples(st.sampled_from(["A", "9", ",", "é", "<", "`", "\n", "1,", "0.", "%"]),
                 st.sampled_from([1_000, 50_000])).map(lambda x: x[0] * x[1])  # fmt: skip
LOOK_ALIKE = str.maketrans("aeiocp", "аеіоср")  # Cyrillic
WORDS = st.sampled_from([*GOOD.values(), *BAD.values()])
TEXTS = st.one_of(
    WORDS, NUMBERS, JSON, HUGE, st.text(), st.sampled_from(HOSTILE), WORDS.map(str.upper),
    WORDS.map(lambda text: text.translate(LOOK_ALIKE)), WORDS.map(lambda text: f" {text}\u200b"),
    st.text(string.digits + ".,-eE", max_size=40),
)  # fmt: skip
KEYS = st.one_of(st.sampled_from(sorted(GOOD)), st.text(), st.sampled_from(HOSTILE))
VALUES = st.one_of(st.lists(TEXTS, max_size=4), TEXTS.map(lambda text: [text] * 200))
QUICK = {  # what would train or measure for long is left at what is shipped
    "task": ["circle"], "seed": ["32"], "depth": ["1"], "gate": ["sigmoid"], "grid": ["31"],
    "layers": ["1"], "source": ["memory"], "tab": ["See"], "gallery": ["false"],
    "stacked": ["trained stacks"], "every": ["false"],
    "data": ["xor"], "steps": ["50"], "seeds": ["2"], "points": ["64"], "stack": ["1"],
    "specimen": ["a language model"], "outcomes_of": ["all"],
}  # fmt: skip
LINKS = st.dictionaries(KEYS, VALUES, max_size=12)


def fed(controls: Controls, link: dict[str, list[str]], kind: type):
    """The request of this ``kind`` that a page has whose link is ``link`` once it is mended."""
    instead, problems = check_link(link, controls)
    for problem in problems:
        assert problem.isprintable()
        assert len(problem) < LONGEST_SENTENCE + QUOTED_CHARACTERS
        assert problem.startswith("The link says `")
        assert problem.endswith(".")
    assert all(problem.split("`")[1] in instead for problem in problems)
    assert check_link(link | instead, controls) == ({}, [])  # mended once, mended for good
    found = {}
    for control in controls.values():
        texts = [text for text in (link | instead).get(control.key, []) if text]
        if hasattr(kind, control.feeds) and texts:
            parts = [control.parse(text) for text in texts]
            found[control.feeds] = sum(parts, ()) if control.times > 1 else parts[0]
    return kind(**{name: value for name, value in found.items() if value is not None})


@fuzz()
@given(LINKS)
def test_any_link_to_decision_boundary_is_a_run_within_limits_or_a_sentence(link):
    request, notes = resolve_run(fed(PAGES["decision_boundary"], link, BoundaryRequest), None)
    assert all(note.endswith(".") and note.isprintable() for _, note in notes)
    try:
        found = setting(request, None)
    except (TooLarge, TooLong):  # one sentence each, see `read_setting`
        return
    assert found.training_numbers <= TRAINING_NUMBERS


@fuzz()
@given(st.sampled_from([*GALLERY]), st.floats(*RADII), st.text(max_size=300))
def test_any_gate_is_one_or_a_sentence(case, radius, formula):
    request, note = resolve_gate(GateRequest(case, radius, formula))
    case_of(request)
    assert note.isprintable()
    assert len(note) < LONGEST_SENTENCE


@fuzz(3, soak=50)  # seconds each
@given(st.sampled_from(OPENED), LINKS)
def test_a_page_opens_whatever_its_link_says(page, link):
    link = {name: texts for name, texts in link.items() if name.isprintable() and name and texts}
    app = open_page(page, **{name: link[name] for name in set(link) - {"page"}} | QUICK)
    assert not app.exception
    assert all(text.isprintable() for text in mistakes(app))
