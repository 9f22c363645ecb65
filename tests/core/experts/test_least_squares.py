"""The batch of least squares finds what SciPy finds, one problem at a time."""

import pytest
import scipy.optimize
import torch

from gating_core.experts.students import GATES, Sizes, Student, least_squares, make_design
from gating_core.randomness import generator

SIZES = Sizes(model_dim=3, channels=2, tokens=2)
DESIGN = make_design(SIZES, 1, points=40)


def normal(name, *shape):
    return torch.randn(shape, generator=generator(0, name), dtype=torch.float64)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("gate", GATES[:10])
def test_scipy_finds_no_lower_cost_on_ten_cases(gate):
    student = Student(SIZES, gate)
    truth = normal("truth", student.parameter_count)

    def model(vector):
        return student.outputs(vector, DESIGN).flatten()

    target = model(truth) + 0.01 * normal("noise", 120)
    start = truth + 0.2 * normal("start", student.parameter_count)
    vectors, costs = least_squares(model, target[None], start[None])
    theirs = scipy.optimize.least_squares(
        lambda p: (model(torch.from_numpy(p)) - target).numpy(),
        start.numpy(),
        lambda p: torch.func.jacfwd(model)(torch.from_numpy(p)).numpy(),
        method="lm",
        ftol=1e-15,
        xtol=1e-15,
        gtol=1e-12,
    )
    assert costs[0].item() == pytest.approx(2 * theirs.cost, rel=1e-8)
    ours = model(vectors[0])
    assert ours.numpy() == pytest.approx(model(torch.from_numpy(theirs.x)).numpy(), abs=1e-6)
    assert costs[0].item() == pytest.approx((ours - target).square().sum().item(), rel=1e-12)


def test_linear_problems_are_solved_exactly():
    matrix, targets = normal("matrix", 12, 4), normal("targets", 5, 12)
    vectors, _ = least_squares(lambda p: matrix @ p, targets, torch.zeros(5, 4).double())
    exact = torch.linalg.lstsq(matrix, targets.mT).solution.mT
    assert torch.allclose(vectors, exact, atol=1e-7)


@pytest.mark.parametrize("chunk", [1, 100_000])
def test_each_problem_has_inputs_of_its_own(chunk, monkeypatch):
    monkeypatch.setattr("gating_core.experts.students.CHUNK_NUMBERS", chunk)
    matrices, targets = normal("matrices", 5, 12, 4), normal("targets", 5, 12)
    start = torch.zeros(5, 4).double()
    vectors, _ = least_squares(lambda p, matrix: matrix @ p, targets, start, (matrices,))
    exact = torch.linalg.lstsq(matrices, targets[..., None]).solution[..., 0]
    assert torch.allclose(vectors, exact, atol=1e-7)


def test_steps_never_raise_the_cost():
    matrix, target = normal("matrix", 12, 4), normal("targets", 1, 12)

    def model(vector):
        return torch.sin(3 * matrix @ vector)

    fits = [
        least_squares(model, target, torch.ones(1, 4).double(), steps=steps) for steps in range(12)
    ]
    costs = [cost.item() for _, cost in fits]
    own = [(model(vector[0]) - target).square().sum().item() for vector, _ in fits]
    assert costs == pytest.approx(own, rel=1e-12)
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0]


@pytest.mark.parametrize(("targets", "starts"), [((12,), (1, 4)), ((2, 12), (1, 4))])
def test_other_shapes_are_refused(targets, starts):
    with pytest.raises(ValueError, match=r"they must be \(B, K\) and \(B, P\)"):
        least_squares(lambda p: p, torch.zeros(targets), torch.zeros(starts))
