"""A visitor's formula is read as it is meant, refused where it is none, and never run."""

import ast
import builtins
import math
import sys
from contextlib import contextmanager

import mpmath
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gating_core.jets.second_order import nested_jet, second_order_jet
from gating_core.theory.formula import (
    FUNCTIONS,
    Constant,
    Formula,
    FormulaError,
    parse_formula,
    parts_of,
)
from tests.core import exact

MOST_CALLS = 50_000  # of functions: far more than any text of 200 characters needs


@contextmanager
def few_calls():
    """No text of any kind keeps the reader busy: counted, for seconds depend on the machine."""
    before, count = sys.getprofile(), 0

    def counting(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")
        assert count < MOST_CALLS

    sys.setprofile(counting)
    try:
        yield
    finally:
        sys.setprofile(before)


class Exact:
    """The grammar's functions at 200 digits."""

    mpf, sin, cos, tan, exp, log, sqrt, tanh = (
        mpmath.mpf, mpmath.sin, mpmath.cos, mpmath.tan, mpmath.exp, mpmath.log, mpmath.sqrt,
        mpmath.tanh,
    )  # fmt: skip

    @staticmethod
    def sigmoid(x):
        return 1 / (1 + mpmath.exp(-x))


def python(u, v):
    """Numbers as the formulas below mean them, in Python's own arithmetic."""
    return {
        "1/(3+u^2+v)": 1 / (3 + u**2 + v),
        "-u^2": -(u**2),
        "(-u)^2": u**2,
        "2^3^(u)": 2 ** (3**u),
        "2^-u": 2**-u,
        "u-v-1": u - v - 1,
        "u-(v-1)": u - (v - 1),
        "u/v/2": u / v / 2,
        "u/(v/2)": u / (v / 2),
        "-2*-u": 2 * u,
        "u*-v^2": -u * v**2,
        "--u": u,
        "+u - -v": u + v,
        "3 × u · v − 1 ÷ v": 3 * u * v - 1 / v,
        "u**2": u**2,
        "(u)^0.5": math.sqrt(u),
        "u^v": u**v,
        "u^(v-v)": 1.0,
        "u^0": 1.0,
        "v^-3": v**-3,
        "pi*1.5e-1+.5+2.": math.pi * 0.15 + 2.5,
        "sin(u)+cos(v)*tan(u)": math.sin(u) + math.cos(v) * math.tan(u),
        "exp(-u)*log(2+v)": math.exp(-u) * math.log(2 + v),
        "sqrt(abs(-u))": math.sqrt(abs(u)),
        "sigmoid(2*u)+tanh(v)": 1 / (1 + math.exp(-2 * u)) + math.tanh(v),
        "abs(u)^(1/3)": u ** (1 / 3),
        "007": 7.0,
        "9^64": 9.0**64,
    }


@pytest.mark.parametrize("text", python(0.37, 0.82))
def test_it_means_what_python_means(text):
    for u, v in ((0.37, 0.82), (0.9, 0.25)):
        found = parse_formula(text).at(u, v)
        assert found == pytest.approx(python(u, v)[text], rel=1e-14)


def _parsed(text):
    """The formula, or ``None``, and the error message."""
    try:
        return parse_formula(text), ""
    except FormulaError as error:
        return None, str(error)


NAMES = st.sampled_from(sorted(set(FUNCTIONS) - {"log", "sqrt"}))
TEXTS = st.recursive(
    st.sampled_from(["u", "v", "pi", "2", "0.5", "1e-3", "7.25"]),
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from("+-*/^"), inner),
        st.builds("{}{}{}".format, inner, st.sampled_from("+-*/"), inner),
        st.builds("-{}".format, inner),
        st.builds("({})^2".format, inner),
        st.builds("{}({})".format, NAMES, inner),
    ),
    max_leaves=8,
)


@given(text=TEXTS, u=st.floats(-1, 1), v=st.floats(-1, 1))
def test_random_formulas_are_read_as_python_would(text, u, v):
    formula, said = _parsed(text)
    if formula is None:
        assert "exponent" in said or "more than" in said
        return
    own = {name: getattr(torch, name) for name in FUNCTIONS}
    u, v = (torch.tensor(x, dtype=torch.float64) for x in (u, v))
    tree = ast.parse(text.replace("^", "**"), mode="eval")
    for node in ast.walk(tree):  # so that Python computes in tensors as well, and never overflows
        if isinstance(node, ast.Constant):
            node.value = float(node.value)
    spelt = (
        eval(  # our own text, of the strategy above
            compile(tree, "test", "eval"),
            {"__builtins__": {}},
            {**own, "u": u, "v": v, "pi": math.pi},
        )
        if not _overflows(tree)
        else None
    )
    if spelt is not None:
        torch.testing.assert_close(
            formula.expression.at(torch, u, v),
            torch.as_tensor(spelt, dtype=torch.float64).real,
            rtol=1e-9,
            atol=1e-12,
            equal_nan=True,
        )


def _overflows(tree):
    """Whether plain numbers meet: then Python raises, or is complex, where tensors are not."""
    plain = [
        isinstance(n, ast.BinOp | ast.UnaryOp | ast.Call)
        and not any(isinstance(x, ast.Name) and x.id in "uv" for x in ast.walk(n))
        for n in ast.walk(tree)
    ]
    varying = [
        isinstance(n, ast.BinOp)
        and isinstance(n.op, ast.Pow)
        and any(isinstance(x, ast.Name) and x.id in "uv" for x in ast.walk(n.right))
        for n in ast.walk(tree)
    ]
    return any(plain) or any(varying) or isinstance(tree.body, ast.Constant | ast.Name)


@pytest.mark.parametrize(
    "text",
    [
        "1/(3+u^2+v)",
        "sigmoid(3*sin(2*u)*v)/7",
        "0.1*tan(u)+abs(v-2)^1.3",
        "tanh(u*v)+2^u",
        "exp(-u^2)*log(2.2+v)",
        "sqrt(1/3+u^2)*cos(pi*v)",
    ],
)
def test_jets_of_a_formula_hold_their_bounds_at_200_digits(text):
    formula = parse_formula(text)
    points = torch.tensor([[0.3, -0.2], [-0.71, 0.44]], dtype=torch.float64)
    jet = second_order_jet(formula, points, "rigorous")
    assert jet.bound_kind == "rigorous"
    assert jet.errors.max() < 1e-12
    for at, (u, v) in enumerate(points.tolist()):
        rows = exact.jet(lambda m, u, v: [formula.expression.at(Exact, u, v)], u, v)
        for c, (true,) in enumerate(rows):
            gap = abs(mpmath.mpf(jet.stack[c, 0, at].item()) - true)
            assert gap <= jet.errors[c, 0, at].item() + exact.OWN_ERROR
    torch.testing.assert_close(jet.stack, nested_jet(formula, points).stack, rtol=1e-12, atol=1e-13)


def test_a_formula_is_defined_wherever_floats_are():
    assert parse_formula("0.5")(torch.zeros(4, 2, dtype=torch.float64)).shape == (4, 1)
    assert parse_formula("u/v").at(1.0, 0.0) == math.inf
    assert math.isnan(parse_formula("log(u)").at(-1.0, 0.0))


def test_it_is_typeset_with_the_fewest_parentheses():
    formula = parse_formula("1/(3+u^2-v)*sigmoid(-u)")
    assert formula.latex() == r"\frac{1}{3 + u^{2} - v} \cdot \sigma\left(-u\right)"
    assert parse_formula("abs(u)*sqrt(v)*2e-7*pi").latex() == (
        r"\left|u\right| \cdot \sqrt{v} \cdot (2 \cdot 10^{-7}) \cdot \pi"
    )
    assert parse_formula("u-(v-1)-(u+v)^2*(-u)").latex() == (
        r"u - \left(v - 1\right) - \left(u + v\right)^{2} \cdot -u"
    )


REFUSED = {  # a text, and part of the message
    "": "is empty",
    "   ": "is empty",
    "x+1": "'x' at position 1 is not known",
    "u+cosh(v)": "'cosh' at position 3",
    "U": "'U' at position 1",
    "2u": "a sign is missing",
    "u v": "a sign is missing",
    "(u)(v)": "a sign is missing",
    "(sin)(u)": "a sign is missing",
    "sin u": "needs parentheses: sin(u)",
    "sin": "functions are written as in sin(u)",
    "sin()": "functions are written as in sin(u)",
    "sin+1": "functions are written as in sin(u)",
    "u+": "breaks off",
    "u+*v": "breaks off",
    "(u": "breaks off",
    "u)": "breaks off at position 2",
    "()": "something is missing",
    "9^9^9": "the exponent at position 3 is 3.8742e+08",
    "u^(9^9)": "the exponent at position 4",
    "u^65": "from -64 to 64",
    "u^-65": "from -64 to 64",
    "u^(0/0)": "is nan",
    "u^(1/0)": "is inf",
    "1e999": "too large",
    "9" * 150 + "e200": "too large",
    "u.real": "'.' at position 2",
    "u.__class__": "'.' at position 2",
    "__import__('os')": "'_' at position 1",
    "().__class__": "'.' at position 3",
    "'u'": '"\'" at position 1',
    '"u"': "'\"' at position 1",
    "f'{u}'": "'f' at position 1",
    "[u for u in v]": "'[' at position 1",
    "{u}": "'{' at position 1",
    "lambda: 1": "'lambda' at position 1",
    "lambda u: u": "'lambda' at position 1",
    "u:=1": "':' at position 2",
    "(u:=1)": "':' at position 3",
    "u if v else 1": "a sign is missing",
    "u<v": "'<' at position 2",
    "u==v": "'=' at position 2",
    "u,v": "',' at position 2",
    "u//v": "breaks off",
    "u%v": "'%' at position 2",
    "u@v": "'@' at position 2",
    "u&v": "'&' at position 2",
    "~u": "'~' at position 1",
    "not u": "'not' at position 1",
    "await u": "'await' at position 1",
    "True": "'True' at position 1",
    "None": "'None' at position 1",
    "inf": "'inf' at position 1",
    "nan": "'nan' at position 1",
    "eval(u)": "'eval' at position 1",
    "1j": "a sign is missing",
    "0x10": "a sign is missing",
    "1_000": "'_' at position 2",
    "1..2": "a sign is missing",
    "u\nv": "a sign is missing",
    "u\x00": "U+0000 at position 2",
    "u#v": "'#' at position 2",
    "u;v": "';' at position 2",
    "u\\v": "at position 2",
    "ｕ": "'ｕ' at position 1",  # full width
    "υ": "'υ' at position 1",  # Greek upsilon
    "ѵ": "'ѵ' at position 1",  # Cyrillic izhitsa
    "𝓾": "at position 1",
    "ехр(u)": "'е' at position 1",  # Cyrillic
    "u²": "'²' at position 2",
    "２*u": "'２' at position 1",
    "٣": "the character '٣' at position 1",  # Arabic three
    "u\u200bv": "'uv' at position 1",
    "u\u2044v": "at position 2",
    "u\u2014v": "at position 2",  # a long dash
    "u\u037e": "at position 2",
    "(" * 21 + "u" + ")" * 21: "more than 20 parentheses",
    "+".join("u" * 41): "more than 80",
    "-" * 80 + "u": "more than 80",
    "u" + " " * 200 + "+1": "has 203 characters",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_formula_is_refused_in_one_sentence(text):
    with few_calls(), pytest.raises(FormulaError) as caught:
        parse_formula(text)
    message = str(caught.value)
    assert REFUSED[text] in message
    assert "\n" not in message
    assert "Error" not in message


@pytest.mark.parametrize("value", [None, 3, b"u", ["u"], {"u": 1}])
def test_what_is_no_text_is_refused(value):
    with pytest.raises(FormulaError, match="a formula is a text"):
        parse_formula(value)


HUGE = [
    "9^64^0.5",
    "((((9^64)^64)^64)^64)",
    "exp(exp(exp(9)))",
    "u^64^(1)*9^64",
    "(u^64)^64",
    "exp(9^64*u)",
    "9^-64/u",
]


@pytest.mark.parametrize("text", HUGE)
def test_large_powers_neither_hang_nor_raise(text):
    """An integer of Python would grow beyond bounds: numbers are floats."""
    with few_calls():
        formula = parse_formula(text)
        assert formula(torch.zeros(5, 2, dtype=torch.float64)).shape == (5, 1)
    numbers = [part.value for part in parts_of(formula.expression) if isinstance(part, Constant)]
    assert {type(number) for number in numbers} == {float}


@given(text=st.text(max_size=220))
def test_any_text_is_a_formula_or_one_sentence(text):
    _check_harmless(text)


PIECES = ["u", "v", "pi", "sin", "exp(", "(", ")", "^", "**", "9", "-", "+", "*", "/", ".", "1e9",
          " ", "_", "lambda", ":=", "[", "'", "u.", "if", "\u2212", "²", "0.1"]  # fmt: skip


@given(parts=st.lists(st.sampled_from(PIECES), max_size=60))
def test_any_row_of_pieces_is_a_formula_or_one_sentence(parts):
    _check_harmless("".join(parts))


def _check_harmless(text):
    with few_calls():
        formula, said = _parsed(text)
        assert "\n" not in said
        if formula is not None:
            assert isinstance(formula.expression.variables, frozenset)
            found = formula(torch.tensor([[-1, 0.5], [0, 0], [0.5, 1]], dtype=torch.float64))
            assert found.shape == (3, 1)
            assert formula.latex()


def test_python_is_never_asked_to_run_anything(monkeypatch):
    """Not even a text that is a formula: it is compiled to a tree at most."""

    def never(*args, **kwargs):
        raise AssertionError("a text was run")

    plain = builtins.compile

    def only_parse(source, filename, mode, flags=0, *args, **kwargs):
        assert flags & ast.PyCF_ONLY_AST
        return plain(source, filename, mode, flags, *args, **kwargs)

    monkeypatch.setattr(builtins, "eval", never)
    monkeypatch.setattr(builtins, "exec", never)
    monkeypatch.setattr(builtins, "compile", only_parse)
    assert Formula("2*u+sin(v)").at(0.5, 0.0) == 1.0
