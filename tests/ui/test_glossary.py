"""No page says in a phrase of our own what the field has a term for."""

import ast
import re
from pathlib import Path

from tests.each import each

ROOT = Path(__file__).resolve().parents[2]
PHRASES = re.compile(
    r"""\b(?:
    new\ points | right\ on | taken\ apart | undecidable | no\ data\ can\ decide | undecided
    | cannot\ tell | known\ to\ be\ better | dearer | cheaper | mass\ left\ out | left[-\ ]out\ mass
    | the\ truth | even\ gaps | gaussian\ rule | keys\ leave\ by | window\ missed | slow\ tokens?
    | (?:tak(?:e|ing)|without)\ (?:a|the)\ branch\ out | branch\ is\ worth | loss\ above\ full
    | pushed | passages | wirings? | specimens? | gate\ (?:is\ )?taken\ out | (?:the\ )?best\ plane
    | break\ it: | cannot\ show\ a\ difference | sharpness\ of | memory\ slots? | second\ looks?
    | known\ at\ points | open\ cells? | have\ no\ say | how\ sure | how\ often\ right
    | nats\ an?\ character | first\ weights | recipes? | wrong\ labels? | training\ share
    | creases? | needles? | keep\ soft | (?:sharp|soft)\ attention | curvature\ at\ the\ middle
    | writes\ along | sheets?(?!\ of\ paper) | strength\ λ | settled | hulls\ of\ jets
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
ALLOWED = {
    "pages/0_Flat_or_curved.py": {"sheet"},  # on the landing page, once *surface* has been said
    "assets/lessons/landing.md": {"sheet"},
}
PAGES = [*(ROOT / "ui").rglob("*.py"), *(ROOT / "pages").glob("*.py"), ROOT / "app.py"]
CORE = [*(ROOT / "gating_core").rglob("*.py")]
OWN_WORDS = re.compile(  # in names and comments, too; "wiring" is a key of bundled files
    r"needle|(?<!in)(?<!de)crease|specimen|second.?look|(?<![\"`])wiring", re.IGNORECASE
)
BEGINNING = re.compile(r'^\s*"""(?:That|Whether|How|What|Which|As)\b.*', re.MULTILINE)
LESSONS = sorted((ROOT / "assets" / "lessons").rglob("*.md"))


def phrases(texts):
    return {match.group().lower() for text in texts for match in PHRASES.finditer(text)}


def sentences(source):
    """The texts of a module with more than one word, without docstrings."""
    tree = ast.parse(source)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    bodies = [node.body[0] for node in ast.walk(tree) if isinstance(node, documented) and node.body]
    docstrings = {id(first.value) for first in bodies if isinstance(first, ast.Expr)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in docstrings
        and " " in node.value
    ]


@each(sorted(PAGES))
def test_a_page_speaks_as_the_field_does(path):
    name = path.relative_to(ROOT).as_posix()
    assert phrases(sentences(path.read_text(encoding="utf-8"))) <= ALLOWED.get(name, set())


@each(LESSONS)
def test_a_lesson_speaks_as_the_field_does(path):
    name = path.relative_to(ROOT).as_posix()
    assert phrases([path.read_text(encoding="utf-8")]) <= ALLOWED.get(name, set())


@each(sorted([*PAGES, *CORE]))
def test_code_speaks_as_the_field_does(path):
    source = path.read_text(encoding="utf-8")
    assert not OWN_WORDS.findall(source)
    assert not BEGINNING.findall(source)
