"""What is said of a proof never says more than is proved, and what contradicts it is named."""

import math
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gating_core.attention import AttentionConfig, GateConfig, build_attention
from gating_core.experiments.instance import CHOSEN_SEEDS
from gating_core.geometry import Integral, measure_surface, square_grid
from gating_core.proved import LABELS, Budget, Interval, prove_curvature
from ui.proved import (
    ProofRequest,
    ProvableSurface,
    cells_table,
    code_text,
    contradicted,
    contradiction,
    contradictions,
    shares_text,
    total_sentence,
)

MODEL = build_attention(AttentionConfig(gate=GateConfig()), (CHOSEN_SEEDS[1],))
FEW = Budget(math.inf, 4000, 0.0, 0.0)


@pytest.fixture(scope="module")
def proof():
    return prove_curvature(MODEL, budget=FEW)


def integral(value, error, complete=True):
    return Integral(*map(torch.tensor, (value, error, complete)))


class Shares:
    """A proof of which only the shares are known."""

    def __init__(self, positive, negative):
        self.positive, self.negative, self.proof = positive, negative, None
        self.positive_area, self.negative_area = positive / 2, negative
        self.open, self.one_sign = 1 - positive - negative, None


@given(st.integers(0, 2**24), st.integers(0, 2**24))
def test_no_share_is_said_larger_than_it_is_and_no_open_one_smaller(first, second):
    low, high = sorted((first, second))
    shares = Shares(low / 2**24, (high - low) / 2**24)
    text = shares_text(shares).replace("less than 0.1", "0.1")
    said = {
        name: (Fraction(area) / 100, Fraction(number) / 100)
        for name, area, number in re.findall(r"(K . 0) on at least ([\d.]+)[^(]*\(([\d.]+)", text)
    }
    for name, *both in (
        ("K > 0", shares.positive_area, shares.positive),
        ("K < 0", shares.negative_area, shares.negative),
    ):
        for share, found in zip(both, said.get(name, ()), strict=False):
            assert share < 0.001 or found <= share < found + Fraction(1, 1000)
    if shares.open and not text.startswith("Nothing"):
        (rest,) = re.findall(r"; ([\d.]+)\s% of the chart is undetermined", text)
        assert Fraction(rest) / 100 >= shares.open
    assert "100.0" not in text or not shares.open or shares.open > 0.999
    assert ("whole chart" in text) == (1.0 in (shares.positive, shares.negative))


def test_the_sentence_of_a_proof(proof):
    assert re.fullmatch(
        r"Proved: K > 0 on at least [\d.]+\s% of the surface's area \([\d.]+\s% of the chart\) and"
        r" K < 0 on at least [\d.]+\s% of the surface's area \([\d.]+\s% of the chart\); [\d.]+\s%"
        r" of the chart is undetermined\.",
        shares_text(proof),
    )
    good = integral(sum(proof.absolute) / 2, proof.absolute.width)
    text = total_sentence(proof, good)
    assert text.startswith("Its total curvature ∫|K| dA is between ")
    assert text.endswith("which agrees.")
    assert "does not converge" in total_sentence(proof, integral(1.0, 2.0))
    assert "not there yet" in total_sentence(proof, None)
    open_ended = replace(proof, absolute=Interval(0.5, math.inf))
    assert "at least 0.500, proved; no upper bound is proved." in total_sentence(open_ended, None)
    flat = prove_curvature(build_attention(AttentionConfig(), (3,)), budget=FEW)
    assert shares_text(flat).startswith("K = 0 on the whole chart, proved: ")
    assert "is 0; its area is between " in total_sentence(flat, None)
    four = prove_curvature(build_attention(AttentionConfig(value_count=4), (0,)), budget=FEW)
    assert shares_text(four) == (
        "K < 0 on the whole chart, proved: the four keys are in convex position."
    )


PROVED = Interval(2.80, 2.84)


@pytest.mark.parametrize(
    ("estimate", "wrong"),
    [
        (integral(2.82, 0.001), False),
        (integral(2.9, 0.1), False),  # reaches into it
        (integral(2.9, 0.05), True),
        (integral(2.7, 0.05), True),
        (integral(2.7, 0.15), False),
        (integral(2.7, 0.05, complete=False), False),  # a lower estimate may lie below
        (integral(2.9, 0.05, complete=False), True),
        (integral(math.nan, math.nan), False),
        (integral(math.inf, 0.1), True),
    ],
)
def test_an_estimate_outside_what_is_proved_is_a_contradiction(estimate, wrong):
    assert contradiction("absolute", PROVED, estimate) is wrong


def test_a_lower_estimate_of_what_may_be_negative_says_nothing():
    assert not contradiction("gaussian", PROVED, integral(9.0, 0.1, complete=False))
    assert contradiction("gaussian", PROVED, integral(9.0, 0.1))


def test_contradictions_are_named(proof):
    wrong = {"absolute": integral(proof.absolute.high * 1.1, 1e-3),
             "area": integral(sum(proof.area) / 2, 1e-3)}  # fmt: skip
    (text,) = contradictions(proof, wrong, 0)
    assert "one of them is wrong" in text
    assert "∫|K| dA is between" in text
    texts = [*contradictions(proof, wrong, 7)]
    assert len(texts) == 2
    assert "At 7 points" in texts[1]


def test_points_with_another_sign_than_is_proved_are_counted(proof):
    surface = measure_surface(MODEL, square_grid(61))
    (known,) = surface.signed
    assert contradicted(proof, surface.axis, known) == 0
    assert contradicted(proof, surface.axis, -known) > 0.8 * known.size
    planted = known.copy()
    planted[20, 40] *= -1
    assert contradicted(proof, surface.axis, planted) == 1
    assert contradicted(proof, surface.axis, known.T) > 0.05 * known.size  # axes are told apart
    flat = replace(proof, labels=torch.full_like(proof.labels, LABELS.index("flat")))
    assert contradicted(flat, surface.axis, known) == np.isfinite(known).sum()


def test_the_table_of_cells_has_all_of_the_chart(proof):
    table = cells_table(proof)
    assert [*table] == ["u", "v", "half_width_u", "half_width_v", "sign_of_K", "immersed"]
    areas = [4 * u * v for u, v in zip(table["half_width_u"], table["half_width_v"], strict=True)]
    assert sum(areas) == 4
    signs = zip(areas, table["sign_of_K"], strict=True)
    assert sum(area for area, sign in signs if sign == "K > 0") == 4 * proof.positive
    assert set(table["sign_of_K"]) == {"K > 0", "K < 0", "undetermined"}


def test_the_lines_of_python_prove_the_same():
    request = ProofRequest(ProvableSurface("a model", MODEL), 1000)
    surface = f"surface = build_attention(AttentionConfig(gate=GateConfig()), {MODEL.seeds})"
    imports = "from gating_core.attention import AttentionConfig, GateConfig, build_attention"
    text, names = code_text(imports, surface, request), {}
    assert len([line for line in text.splitlines() if line]) <= 10
    exec(re.sub(r"(?m)^print.*$", "", text), names)
    again = prove_curvature(MODEL, budget=request.budget)
    assert names["proof"].absolute == again.absolute
    assert names["proof"].positive == again.positive
