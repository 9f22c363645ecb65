"""Any link gives a page, and one sentence per mistake."""

import json
import string

from hypothesis import given
from hypothesis import strategies as st

from gating_core.theory import GALLERY
from tests.profiles import fuzz
from tests.ui.common.test_links import BAD, GOOD
from tests.ui.foreign_words import HOSTILE
from tests.ui.opening import mistakes, open_page
from ui.common.page import PAGES as ALL_PAGES
from ui.gates.frames import RADII, GateRequest, case_of
from ui.gates.frames import resolve as resolve_gate

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
