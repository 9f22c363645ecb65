"""Text from outside is shown letter by letter everywhere."""

import ast
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gating_core.export import log_csv, script_text, weights_file
from gating_core.tasks import OwnDataError, parse_csv
from tests.each import each
from tests.ui.decision_boundary.playing import QUICKLY
from tests.ui.foreign_words import HOSTILE
from tests.ui.opening import ROOT, open_page, settled
from ui.common.language_models import unknown_characters
from ui.common.take_along import about
from ui.foreign import ERROR_LETTERS, JOINER, as_code, as_words, error_words, in_plot, printable

TEXTS = st.one_of(
    st.text(), st.sampled_from(HOSTILE), st.lists(st.sampled_from(HOSTILE)).map("".join)
)
PAGE = "pages/2_Decision_boundary.py"


@given(TEXTS)
def test_all_texts_are_one_visible_line(text):
    for way in (printable, as_words, as_code, in_plot):
        assert way(text).isprintable()
    assert len(printable(text)) == len(text)


@given(TEXTS)
def test_text_in_markdown_has_no_mark_up(text):
    shown = as_words(text)
    assert not re.search(
        r"(?<!\\)(?:\\\\)*[`*_{}\[\]()<>#+\-.!|~$:&@^=]", re.sub(r"\\\\", "", shown)
    )
    plain = re.sub(r"\\(.)", r"\1", shown)
    assert plain.replace(JOINER, "") == printable(text).replace(JOINER, "")
    assert not re.search(r"(https?://|www\.)[-.\w]|[-.\w+]@[-\w]", plain, re.IGNORECASE | re.ASCII)


@given(TEXTS, st.integers(1, 10_000))
def test_an_error_is_drawn_as_text_of_some_hundred_letters(text, times):
    words = error_words(ValueError(text * times))
    whole = text * times
    cut = whole.rstrip(".") if len(whole) <= ERROR_LETTERS else whole[: ERROR_LETTERS - 1] + "…"
    assert words == as_words(cut)
    assert len(words) < 3 * ERROR_LETTERS


@given(TEXTS)
def test_code_in_markdown_ends_where_it_should(text):
    shown = as_code(text)
    assert shown[0] == shown[-1] == "`"
    assert "`" not in shown[1:-1]


@given(TEXTS)
def test_text_in_plots_has_neither_mark_up_nor_placeholders(text):
    shown = in_plot(text)
    assert "<" not in shown
    assert ">" not in shown
    assert "%{" not in shown


# --- Tables ---------------------------------------------------------------------------------------


def table_of(names):
    """Eight points with these class names, as a CSV file."""
    fields = ['"' + name.replace('"', '""') + '"' for name in names]
    return "x,y,label\n" + "".join(f"{i},{i % 3},{fields[i % len(fields)]}\n" for i in range(8))


@each(HOSTILE)
def test_an_error_of_a_table_shows_what_it_quotes(text):
    tables = [text, f"{text},y,label\n1,2,3", f"x,y,label\n{text},2,a\n" * 3, table_of([text])]
    tables += [f"x,y,label\n1,2,{text}{text}{text}{text}"]
    for source in tables:
        try:
            parse_csv(source)
        except OwnDataError as error:
            text = as_words(str(error))
            assert text.isprintable()
            assert not re.search(r"(?<!\\)[<\[!`$:]", text.replace("\\\\", ""))


NAMES = ("<img src=x onerror=alert(1)>", "</script>![x](//far.test/x)", "%{x}`$1$`", '"""\\\n$seed')


class Marks(HTMLParser):
    """The tags of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)


@pytest.fixture(scope="module")
def shown():
    """The page with a pasted table whose classes have hostile names."""
    with pytest.MonkeyPatch.context() as patch:
        for grid in QUICKLY:
            patch.setattr(*grid)
        app = open_page(PAGE, steps="50", seeds="2", data="own")
        app.text_area(key="own_text").set_value(table_of(NAMES)).run()
        return settled(app)


def test_names_of_classes_reach_no_markdown(shown):
    assert not shown.exception
    assert not shown.error
    assert any("far.test" in box.value for box in shown.text)  # shown letter by letter
    for kind in ("markdown", "caption", "warning", "info", "title", "subheader", "metric"):
        for box in getattr(shown, kind):
            assert "far.test" not in f"{box.value} {getattr(box, 'label', '')}", kind


def test_downloads_run_no_foreign_text(shown):
    run = shown.session_state["boundary_complete"].run
    assert run.setting.own.names[0] in {" ".join(name.split()) for name in NAMES}
    ensemble = run.variants["sigmoid"].ensemble
    script = script_text(ensemble, ensemble.seeds[0])
    ast.parse(script)
    for text in (script, log_csv({"sigmoid": ensemble})):
        assert "far.test" not in text
        assert "onerror" not in text
    assert b"far.test" not in weights_file(ensemble, run.task, about(run, "sigmoid"))


# --- Components -----------------------------------------------------------------------------------

SCRIPTS = sorted((ROOT / "ui").rglob("*.js"))
MARKS = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc"
    r"|createContextualFragment|setHTML|DOMParser|javascript:"
)


@each(SCRIPTS)
def test_components_make_no_mark_up_of_text(path):
    assert not MARKS.findall(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Despue\u0301s\thabi\u0301a\u00a0", ""),
        ("жaж", "`ж`"),
        ("a\u200bb", "ZERO WIDTH SPACE"),
        ("`7\u00ad\u20d7", "` 7`, SOFT HYPHEN, COMBINING RIGHT ARROW ABOVE"),
        ("\x00\x01\x02\x03\x04\x05", "U+0000, U+0001, U+0002, U+0003 and 2 more"),
    ],
)
def test_characters_that_models_do_not_know_are_named_where_they_are_invisible(text, named):
    sentence = f"The models do not know {named}. They read the text without."
    assert unknown_characters(text) == ([sentence] if named else [])
