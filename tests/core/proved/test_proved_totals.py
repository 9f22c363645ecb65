"""What is proved of a whole chart: closed forms lie in it, and more budget never says less."""

import itertools
import math

import pytest
import torch

from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.stack import build_attention
from gating_core.experiments.comparison.presets import PRESETS, load_preset
from gating_core.experiments.comparison.sweep import select_member, strengths_model
from gating_core.geometry.classics import SURFACES
from gating_core.geometry.curvature import curvature
from gating_core.jets.jet import MissingRule
from gating_core.jets.second_order import second_order_jet
from gating_core.proved import (
    FLAT,
    OPEN,
    Budget,
    ProvedCurvature,
    proof_steps,
    prove,
    prove_curvature,
)
from gating_core.proved.prove import FIRST_SIDE, judge
from gating_core.proved.signs import LABELS


def few(cells: int, width: float = 0.0) -> Budget:
    """So many cells, however long they take."""
    return Budget(math.inf, cells, 0.0, width)


def chart(*coordinates):
    return lambda p: torch.stack([f(p[:, 0], p[:, 1]) + 0 * p[:, 0] for f in coordinates], -1)


CROSS_CAP = chart(lambda u, v: u * u, lambda u, v: u * v, lambda u, v: v)
ENNEPER = chart(
    lambda u, v: u - u**3 / 3 + u * v * v,
    lambda u, v: v - v**3 / 3 + v * u * u,
    lambda u, v: u * u - v * v,
)
ROOT = math.sqrt(2)
SIN2 = math.sin(2.0)
# Of |K| dA, K dA and dA; Enneper's Gauss map is the stereographic projection.
TOTALS = {
    "sphere": (SURFACES["sphere by gating"].chart, 2 * math.pi / 3, 2 * math.pi / 3,
               0.49 * 2 * math.pi / 3),
    "torus": (SURFACES["torus"].chart, 8 * (2 - SIN2), 8 * SIN2, 32 + 8 * SIN2),
    "catenoid": (SURFACES["catenoid"].chart, 4 * math.tanh(1), -4 * math.tanh(1),
                 2 + math.sinh(2)),
    "Enneper": (ENNEPER, 16 * math.atan(1 / ROOT) / ROOT, -16 * math.atan(1 / ROOT) / ROOT,
                4 + 16 / 3 + 4 * (2 / 5 + 2 / 9)),
    "cross-cap": (CROSS_CAP, 4 * ROOT * math.atan(ROOT) - math.pi,
                  math.pi - 4 * ROOT * math.atan(ROOT), None),
}  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", TOTALS)
def test_closed_forms_lie_between_the_bounds(name):
    surface, absolute, gaussian, area = TOTALS[name]
    proof = prove_curvature(surface, budget=few(6000, 0.02))
    assert absolute in proof.absolute
    assert gaussian in proof.gaussian
    assert area is None or area in proof.area
    assert proof.absolute.width < (0.1 if area else 3.0) * absolute  # K is unbounded at a cross-cap
    assert proof.area.width < 0.01 * proof.area.high


def test_signs_are_proved_where_they_are():
    assert prove_curvature(SURFACES["sphere by gating"].chart, budget=few(300)).positive == 1
    for name in ("catenoid", "pseudosphere", "graph of z^2 in C2"):
        assert prove_curvature(SURFACES[name].chart, budget=few(3000)).negative == 1
    torus = prove_curvature(SURFACES["torus"].chart, budget=few(3000))
    assert math.pi / 4 - 0.02 < torus.positive < math.pi / 4  # where cos 2v > 0
    assert 1 - math.pi / 4 - 0.02 < torus.negative < 1 - math.pi / 4
    outside = (math.pi + 1) / (4 + SIN2)  # of the area 4 (2 + cos 2v) du dv
    assert outside - 0.02 < torus.positive_area < outside
    assert 1 - outside - 0.02 < torus.negative_area < 1 - outside


def test_where_k_is_zero_all_is_open_unless_a_theorem_says_so():
    torus = prove_curvature(SURFACES["flat torus in R4"].chart, budget=few(1000))
    assert torus.open == 1
    assert torus.absolute.low == 0 < torus.absolute.high < 1e-3
    model = build_attention(AttentionConfig(gate=GateConfig(strength=0.0)))
    proof = prove_curvature(model, budget=few(1000))
    assert proof.flat == 1
    assert proof.proof is not None
    assert "three fixed values" in proof.proof
    assert proof.absolute == proof.gaussian == (0.0, 0.0)
    assert proof.area.low > 0
    assert prove_curvature(lambda p: p.exp(), budget=few(300)).flat == 1  # in two dimensions


def test_where_it_is_no_immersion_is_said():
    proof = prove_curvature(CROSS_CAP, budget=few(3000))
    origin = (proof.cells.centres.abs() <= proof.cells.radius).all(-1)
    assert not proof.immersed[origin].any()
    assert proof.immersed[proof.cells.centres.abs().amax(-1) > 0.1].all()
    everywhere = prove_curvature(SURFACES["torus"].chart, budget=few(1000))
    assert everywhere.immersed.all()


def at_points(proof: ProvedCurvature, points: torch.Tensor) -> torch.Tensor:
    """(N,): the labels of points, of the first cell that holds each."""
    labels = torch.empty(len(points), dtype=torch.long)
    for some in torch.arange(len(points)).split(100):
        gap = (points[some, None] - proof.cells.centres).abs() <= proof.cells.radius
        labels[some] = proof.labels[gap.all(-1).int().argmax(-1)]
    return labels


@pytest.mark.soak
def test_more_budget_never_says_less():
    model = build_attention(AttentionConfig(gate=GateConfig("silu")), (3,))
    rng = torch.Generator().manual_seed(0)
    points = torch.rand(200, 2, generator=rng, dtype=torch.float64) * 2 - 1
    steps = list(itertools.islice(proof_steps(model, budget=few(20_000)), 5))
    left, labels = 1.0, torch.full((200,), LABELS.index(OPEN))
    before = None
    for proof in steps:
        assert proof.positive + proof.negative + proof.flat + proof.open == 1
        assert proof.cells.share == 1
        assert proof.open <= left
        now = at_points(proof, points)
        decided = labels != LABELS.index(OPEN)
        assert torch.equal(now[decided], labels[decided])
        for name in ("absolute", "gaussian", "area"):
            if before is not None:
                low, high = getattr(before, name)
                assert low <= getattr(proof, name).low <= getattr(proof, name).high <= high
        left, labels, before = proof.open, now, proof
    assert left < 0.2
    halves = prove_curvature(model, budget=few(steps[2].count))
    assert halves.absolute == steps[2].absolute  # the same cells, whatever the budget


def points_agree(model, budget: Budget) -> float:
    """Compare 2,000 points of a model's chart with its cells; return the share in decided ones."""
    proof = prove_curvature(model, budget=budget)
    rng = torch.Generator().manual_seed(7)
    points = torch.rand(2000, 2, generator=rng, dtype=torch.float64) * 2 - 1
    field = curvature(second_order_jet(model, points, "rigorous"))
    sign = torch.where(field.decided[0], field.gaussian[0].sign(), 0.0)
    said = torch.tensor([1.0, -1.0, 0.0, 0.0])[at_points(proof, points)]
    assert (sign * said >= 0).all()
    flat = at_points(proof, points) == LABELS.index(FLAT)
    assert not (field.decided[0] & flat).any()
    return float((said != 0).double().mean())


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.soak] * (name != "circle")) for name in sorted(PRESETS)],
)
def test_points_of_the_shipped_examples_agree(name):
    run = load_preset(name)
    model = strengths_model(run.variants["sigmoid"].ensemble, select_member(run), [1.0]).attention
    share = points_agree(model, few(9000))
    assert share > (0.4 if name == "linear" else 0.9)  # that one is steep


def test_the_metric_counts():
    sphere = SURFACES["sphere by gating"].chart
    plain, scaled = (prove_curvature(sphere, c, few(1000)) for c in (None, 4.0))
    for ends, factor in ((scaled.absolute, 1.0), (scaled.area, 4.0)):
        other = plain.absolute if factor == 1 else plain.area
        assert ends.low * factor <= other.high
        assert other.low <= ends.high * factor
    stretched = prove_curvature(sphere, [1.0, 1.0, 0.25], few(1000))
    assert stretched.positive == 1
    assert stretched.absolute.low > plain.absolute.high  # anisotropy changes the total


def test_what_is_no_surface_is_refused():
    with pytest.raises(ValueError, match="one surface"):
        prove_curvature(build_attention(AttentionConfig(), (0, 1)))
    with pytest.raises(ValueError, match="one surface"):
        prove_curvature(lambda p: p[:, :1])
    with pytest.raises(MissingRule, match="lgamma"):
        prove_curvature(lambda p: torch.lgamma(torch.cat([p, p], -1) + 3))
    with pytest.raises(ValueError, match="derivatives are not those of its values"):
        prove_curvature(lambda p: torch.cat([p, p.detach() ** 2], -1))


def test_what_is_known_stays_known_where_halves_say_less(monkeypatch):
    """A judge that knows nothing of small cells takes nothing back."""

    def forgetful(function, cells, degree, whiten):
        judged = judge(function, cells, degree, whiten)
        if len(cells) != FIRST_SIDE**2:
            judged.labels[:] = LABELS.index(OPEN)
            judged.immersed[:] = False
            judged.absolute[:, 1] = judged.area[:, 1] = torch.inf
        return judged

    monkeypatch.setattr(prove, "judge", forgetful)
    first, last = itertools.islice(
        proof_steps(SURFACES["sphere by gating"].chart, budget=few(20_000)), 2
    )
    assert last.count > first.count
    assert last.positive == first.positive == 1
    assert last.immersed.all()
    assert last.absolute.high == first.absolute.high < math.inf
    assert last.area.high == first.area.high < math.inf


@pytest.mark.parametrize("cells", [256, 1000, 3001])
def test_no_more_cells_are_judged_than_the_budget_has(cells):
    def saddle(points):
        u, v = points.unbind(-1)
        return torch.stack([u, v, u * v + (3 * u).sin() * v], -1)

    budget = Budget(math.inf, cells, 0.0, 0.0)
    assert cells - 1 <= prove_curvature(saddle, budget=budget).count <= cells
