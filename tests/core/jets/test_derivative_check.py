"""Derivatives that torch gets wrong are refused or replaced; right ones never are."""

import copy
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from hypothesis import example, given
from hypothesis import strategies as st

from gating_core.geometry.grid import square_grid
from gating_core.jets.derivative_check import STEP, check_seconds, check_slopes, disagree
from gating_core.jets.derivative_check import STEPS as QUOTIENTS
from gating_core.jets.second_order import nested_jet, second_order_jet
from tests.profiles import fuzz

POINTS = 0.5 * square_grid(5).points
with torch.random.fork_rng():
    torch.random.manual_seed(0)
    WEIGHT, BIAS = torch.randn(2, 9).double() / 2, torch.randn(9).double() / 2
    AXES = torch.randn(9, 9).double() / 3
EYE = torch.eye(3, dtype=torch.float64)


def nine(x):
    """(N, 9), affine in the points."""
    return x @ WEIGHT + BIAS


def square(x):
    return x.reshape(-1, 3, 3) + 2 * EYE


def positive(x):
    half = x.reshape(-1, 3, 3)
    return half @ half.mT + EYE


# Functions (N, 9) -> (N, ...): what torch 2.13 differentiates wrongly, and what it does not.
WRONG = {
    "layer_norm": lambda h: F.layer_norm(h, (9,)),
    "instance_norm": lambda h: F.instance_norm(square(h)).flatten(1),
    "det": lambda h: torch.linalg.det(square(h))[:, None],
    "slogdet": lambda h: torch.linalg.slogdet(square(h))[1][:, None],
    "solve": lambda h: torch.linalg.solve(square(h), square(h * h)).flatten(1),
    "householder_product": lambda h: torch.linalg.householder_product(
        square(h)[..., :2], h[:, :2]
    ).flatten(1),
    "cholesky_inverse": lambda h: torch.cholesky_inverse(
        torch.linalg.cholesky(positive(h))
    ).flatten(1),
}
RIGHT = {
    "prelu": lambda h: F.prelu(h, torch.tensor(0.3).double()),
    "batch_norm": lambda h: F.batch_norm(h, torch.zeros(9).double(), torch.ones(9).double() * 0.7),
    "rms_norm": lambda h: F.rms_norm(h, (9,)),
    "group_norm": lambda h: F.group_norm(h, 3) if h.shape[-1] == 9 else h,
    "inv": lambda h: torch.linalg.inv(square(h)).flatten(1),
    "cholesky": lambda h: torch.linalg.cholesky(positive(h)).flatten(1),
    "eigenvalues": lambda h: torch.linalg.eig(square(h))[0].abs(),
    "eigvalsh": lambda h: torch.linalg.eigvalsh(positive(h)),
    "matrix_exp": lambda h: torch.matrix_exp(square(h) * 0.3).flatten(1),
    "lgamma": lambda h: torch.lgamma(h.abs() + 4),
    "erfinv": lambda h: torch.erfinv(h.sin() * 0.9),
    "i0": torch.special.i0,
    "logcumsumexp": lambda h: h.logcumsumexp(-1),
    "hypot": lambda h: torch.hypot(h, h.roll(1, -1) + 3),
    "median": lambda h: torch.cat([h.sin().median(-1, keepdim=True).values, h], -1),
    "sort": lambda h: h.sin().sort(-1).values,
    "selu": F.selu,
    "relu": F.relu,
    "fft": lambda h: torch.fft.rfft(h).abs(),
    "conv": lambda h: F.conv1d(h[:, None], torch.ones(2, 1, 3).double()).sin().flatten(1),
    "normalize": lambda h: F.normalize(h, dim=-1),
    "cumprod": lambda h: h.cumprod(-1),
    "sinc": torch.sinc,
    "tanh": torch.tanh,
    "softmax": lambda h: (5 * h).softmax(-1),
    "exp": lambda h: (h / 2).exp(),
    "square": lambda h: h * h,
}


def bending(function, points, claimed):
    """Second derivatives along a line, by reverse mode; and what is ``claimed`` of them."""
    direction = torch.tensor([0.6, 0.8], dtype=torch.float64)
    t = torch.zeros(len(points), 1, dtype=torch.float64, requires_grad=True)
    values = function(points + t * direction)
    weights = torch.linspace(1, 2, values.shape[-1], dtype=torch.float64)
    (slope,) = torch.autograd.grad((values @ weights).sum(), t, create_graph=True)
    (bend,) = torch.autograd.grad(slope.sum(), t)
    return bend[:, 0], (claimed @ direction @ direction) @ weights


def right_or_refused(evaluate, function):
    """Whether a function is refused; otherwise its second derivatives are right."""
    try:
        jet = evaluate(function, POINTS)
    except ValueError as error:
        if "torch computes wrongly" in str(error):
            return True
        raise
    exact, claimed = bending(function, POINTS, jet.second)
    size = 1e-6 * (jet.second.abs().max() + jet.first.abs().max())
    assert bool(((exact - claimed).abs() <= size * 10).all())
    return False


@pytest.mark.sampled(5)
@pytest.mark.parametrize("evaluate", [second_order_jet, nested_jet])
@pytest.mark.parametrize("name", WRONG)
def test_what_torch_differentiates_wrongly_is_refused_by_name_or_carried(name, evaluate):
    def function(x, share):
        smooth = torch.lgamma(nine(x) + 9).sum(-1, keepdim=True)
        return smooth + share * WRONG[name](nine(x))

    for share in (1.0, 1e-6):  # beside right ones, however small its share of the values
        right_or_refused(evaluate, partial(function, share=share))


def test_the_refusal_names_operation_and_remedy():
    with pytest.raises(ValueError, match="householder_product") as caught:
        second_order_jet(lambda x: WRONG["householder_product"](nine(x)), POINTS)
    assert str(caught.value) == (
        "function uses linalg.householder_product, whose derivatives torch computes wrongly in"
        " forward mode; write it out of elementary operations, such as sums, products, exp, sqrt"
        " and matmul"
    )


def test_within_vmap_the_whole_function_is_compared():
    def alone(p):
        return WRONG["householder_product"](nine(p[None]))[0]

    with pytest.raises(ValueError, match="second derivatives are not those of its first"):
        second_order_jet(torch.func.vmap(alone), POINTS)


@pytest.mark.sampled(9)
@pytest.mark.parametrize("name", RIGHT)
def test_what_torch_differentiates_rightly_is_accepted(name):
    with torch.no_grad():
        second_order_jet(lambda x: RIGHT[name](nine(x)), POINTS)
        nested_jet(lambda x: RIGHT[name](nine(x)), POINTS)


def test_affine_operations_of_any_size_are_accepted():
    def function(x, scale):
        return scale * F.prelu(nine(x) + 1 / scale, torch.ones(1).double())

    for scale in (1e-8, 1e8):
        nested_jet(partial(function, scale=scale), POINTS)


@pytest.mark.parametrize("name", ["rms_norm", "matrix_exp", "lgamma", "softmax", "inv"])
def test_derivatives_that_are_off_by_two_thousandths_are_refused(name):
    def function(x):
        return RIGHT[name](nine(x))

    def slopes(x):
        return second_order_jet(function, x, check=False).first

    jet = second_order_jet(function, POINTS, check=False)
    for off, checked in ((1.0, nullcontext), (1.002, partial(pytest.raises, ValueError))):
        with checked():
            check_slopes(function, POINTS, off * jet.first)
        with checked():
            check_seconds(slopes, POINTS, off * jet.second)


@given(
    at=st.floats(-1.5, 1.5),
    kink=st.floats(-1, 1),
    jump=st.floats(-1, 1) | st.just(0.0),
    size=st.sampled_from([1e-6, 1e-3, 1.0, 1e3]),
)
@fuzz(100)
def test_right_derivatives_beside_a_kink_or_a_jump_are_not_refused(at, kink, jump, size):
    def function(t):
        beyond = t / STEP > at
        return t + size * (kink * torch.where(beyond, t - at * STEP, 0.0) + jump * STEP * beyond)

    samples = [function(torch.tensor([step]).double()) for step in QUOTIENTS]
    slope = torch.tensor([1.0 + size * kink * (at < 0)]).double()
    assert not disagree(samples, slope, None).any()


STEPS = st.lists(st.sampled_from(sorted(RIGHT)), min_size=1, max_size=4)


def composed(names):
    """A function of the points that applies the operations called ``names`` one after another."""

    def function(x):
        h = nine(x)
        for name in names:
            h = RIGHT[name](h)
            width = h.shape[-1]
            h = h @ AXES[:1].expand(width, 9) / width**0.5 if width != 9 else h @ AXES
            h = h / (1 + h.square().mean(-1, keepdim=True)).sqrt() + BIAS
        return h

    return function


@given(names=STEPS)
@fuzz(20)
def test_compositions_of_right_operations_are_accepted(names):
    with torch.no_grad():
        nested_jet(composed(names), POINTS)


@given(names=STEPS, wrong=st.sampled_from(sorted(WRONG)), share=st.sampled_from([1.0, 1e-3]))
@fuzz(10, soak=2_000)
@example(names=["cumprod"], wrong="cholesky_inverse", share=1.0)  # wrong by half a per cent
def test_beside_right_operations_wrong_ones_are_refused_or_carried(names, wrong, share):
    before = composed(names)

    def function(x):
        h = before(x)
        return torch.cat([h, share * WRONG[wrong](h)], -1)

    right_or_refused(nested_jet, function)


def test_operations_that_are_wrong_at_isolated_points_are_right_there_or_noted():
    at = torch.tensor([[0.0, 0.0], [0.0, 0.5], [0.3, 0.2]], dtype=torch.float64)
    pairs = {
        torch.sinc: lambda x: 1 - (torch.pi * x) ** 2 / 6 + (torch.pi * x) ** 4 / 120,
        (lambda x: torch.cumprod(x @ WEIGHT[:, :3], -1)): lambda x: torch.stack(
            [(z := x @ WEIGHT[:, :3])[:, 0], z[:, 0] * z[:, 1], z[:, 0] * z[:, 1] * z[:, 2]], -1
        ),
        (lambda x: torch.prod(x, -1, keepdim=True)): lambda x: x[:, :1] * x[:, 1:],
    }
    for function, plain in pairs.items():
        exact = second_order_jet(plain, at).second[:2]
        exact, rest = (exact[:1], at[:1]) if function is torch.sinc else (exact, at[:2])
        for jet in (second_order_jet(function, at, "rigorous"), nested_jet(function, at)):
            torch.testing.assert_close(jet.second[: len(rest)], exact, rtol=1e-12, atol=1e-12)
        assert second_order_jet(function, at, "rigorous").bound_kind == "rigorous"
    assert not nested_jet(torch.sinc, at).notes
    (note,) = nested_jet(lambda x: torch.hypot(x, x + 1), at).notes
    assert note.startswith(
        "hypot is not smooth everywhere: at kinks and jumps derivatives may be wrong"
    )
    for name in ("softsign", "elu", "celu", "selu"):  # only their second derivatives jump
        (note,) = nested_jet(getattr(F, name), at).notes
        assert note.startswith(f"{name} is not smooth everywhere")


def test_an_operation_whose_first_derivative_is_wrong_is_named():
    with pytest.raises(ValueError, match="function uses cholesky_inverse, whose derivatives"):
        second_order_jet(lambda x: torch.cholesky_inverse(square(nine(x))).flatten(1), POINTS)


class OwnSquare(torch.autograd.Function):
    """An operation with derivatives of its own, the second of which torch does not nest."""

    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.saved_tensors[0] * g

    @staticmethod
    def jvp(ctx, dx):
        return 2 * ctx.saved_tensors[0] * dx


def flex(x):
    from torch.nn.attention.flex_attention import flex_attention

    h = nine(x)[:, None, None].expand(-1, 1, 2, -1).contiguous()
    return flex_attention(h, h, h).reshape(len(x), -1)


def triangular(x):
    return torch.triangular_solve(positive(nine(x)), square(nine(x)))[0].flatten(1)


PLAIN = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 3)).double()
SCRIPT = torch.jit.script(PLAIN)
SINGLE = copy.deepcopy(PLAIN).float()


@pytest.mark.filterwarnings("ignore")  # of what is deprecated, and of flex_attention uncompiled
@pytest.mark.parametrize(("function", "said"), [
    (lambda x: OwnSquare.apply(x) + 0 * torch.erf(x),
     "second derivatives are not those of its first; write it out"),
    (torch.jit.script(SINGLE), "torch.jit has scripted or traced"),
    (torch.nn.Sequential(torch.nn.LazyLinear(4), torch.nn.Tanh()), "lazy module"),
    (flex, "uses flex_attention, which torch compiles"),
    (triangular, "uses triangular_solve, whose derivatives torch computes wrongly"),
])  # fmt: skip
def test_what_cannot_be_followed_is_refused_for_its_real_reason(function, said):
    for bound in ("estimate", "rigorous"):
        for casts in ("refuse", "carry"):
            with pytest.raises(ValueError, match=said):
                second_order_jet(function, POINTS, bound, casts=casts)


@pytest.mark.parametrize(
    ("function", "same"),
    [(torch.jit.script(PLAIN), PLAIN), (torch.jit.trace(PLAIN, POINTS), PLAIN),
     (lambda x: SCRIPT(x) * 1.0, PLAIN), (OwnSquare.apply, torch.square),
     (lambda x: torch.vmap(PLAIN)(x), PLAIN)],
)  # fmt: skip
def test_what_takes_no_jets_is_measured_by_the_kernels_that_it_calls(function, same):
    """Scripted modules, and derivatives of its own that are those of another function."""
    for bound in ("rigorous", "estimate"):
        jet, other = (second_order_jet(f, POINTS, bound) for f in (function, same))
        assert jet.bound_kind == bound
        torch.testing.assert_close(jet.stack, other.stack, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("plain", [PLAIN, SINGLE])
def test_a_compiled_module_is_measured_as_the_module_that_it_was_made_of(plain):
    compiled = torch.compile(plain, backend="eager")
    for function in (compiled, lambda x: compiled(x.to(plain[0].weight.dtype))):
        jet, same = (
            second_order_jet(f, POINTS, "rigorous", casts="carry") for f in (function, plain)
        )
        assert jet.errors is not None
        torch.testing.assert_close(jet.stack, same.stack, rtol=1e-12, atol=1e-12)


def test_a_lazy_module_that_is_refused_can_still_be_called():
    layer = torch.nn.Sequential(torch.nn.LazyLinear(4), torch.nn.Tanh())
    with pytest.raises(ValueError, match="lazy module"):
        second_order_jet(layer, POINTS, casts="carry")
    assert layer(POINTS.float()).shape == (len(POINTS), 4)


def test_what_torch_cannot_differentiate_is_named_with_the_remedy():
    with pytest.raises(ValueError, match=r"floor_divide .*; write it out of elementary operations"):
        second_order_jet(lambda x: nine(x) // 1 + nine(x) ** 2, POINTS)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("jet", [nested_jet, second_order_jet])
def test_several_threads_differentiate_at_once(jet):
    """Torch's forward mode has one level for all threads of a process."""

    def function(points):
        return torch.cat([points, torch.special.erfcx(points).prod(-1, keepdim=True)], -1)

    expected = jet(function, POINTS).second
    with ThreadPoolExecutor(4) as threads:
        jets = list(threads.map(lambda _: jet(function, POINTS), range(12)))
    assert all(torch.equal(each.second, expected) for each in jets)
