"""Operations that make a surface jump are named on every path, and its totals are not complete."""

import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from gating_core import measure, second_order_jet
from gating_core.geometry.adaptive import adaptive_integrals
from gating_core.geometry.grid import square_grid
from gating_core.geometry.surface import measure_surface
from gating_core.jets.derivative_check import JUMPING, breaks
from tests.core.jets.test_torch_operations import family, operations

POINTS = torch.cartesian_prod(*[torch.linspace(-0.91, 0.87, 5, dtype=torch.float64)] * 2)
with torch.random.fork_rng():
    torch.manual_seed(0)
    ROUTER, EXPERTS = torch.randn(2, 6).double(), torch.randn(6, 2, 3).double()
EDGES = torch.linspace(-1, 1, 7, dtype=torch.float64)
TABLE = torch.nn.Embedding(20, 1).double().requires_grad_(False)


def branch(x):
    return x[:, :1] * (2.0 if x[0, 0] > 0.3 else 1.0)


# Jumping heights (N, 2) -> (N, 1), and how the note names the operation.
JUMPS = {
    "routing": (lambda x: (x[:, None] @ EXPERTS[(x @ ROUTER).argmax(-1)])[:, 0, :1], "argmax"),
    "largest's index": (lambda x: EXPERTS[(x @ ROUTER).max(-1).indices][:, 0, :1], "max"),
    "top-k": (lambda x: EXPERTS[(x @ ROUTER).topk(2).indices].sum((1, 2))[:, :1], "topk"),
    "argsort": (lambda x: (x @ ROUTER).argsort(-1)[:, :1].double(), "argsort"),
    "order": (lambda x: (x @ ROUTER).sort(-1).indices[:, :1] * 1.0 * x[:, :1], "sort"),
    "comparison": (lambda x: (x[:, :1] > 0.0371).double(), "comparison"),
    "mask": (lambda x: x[:, :1] * (x[:, 1:] <= 0.2), "comparison"),
    "where": (lambda x: torch.where(x[:, :1].ge(0.1), 1.0, x[:, 1:]), "comparison"),
    "masked_fill": (lambda x: x[:, :1].masked_fill(x[:, :1] < 0.1, 2.0), "comparison"),
    "assignment": (lambda x: _assigned(x), "comparison"),
    "nearly equal": (lambda x: torch.isclose(x[:, :1], x[:, 1:], atol=0.5).double(), "comparison"),
    "logic": (lambda x: ((x > 0).any(-1, keepdim=True) & (x[:, :1] < 0.5)).double(), "comparison"),
    "long": (lambda x: (x[:, :1] * 4).long().double(), "cast to torch.int64"),
    "int": (lambda x: (x[:, :1] * 4).int() * 1.0, "cast to torch.int32"),
    "to": (lambda x: (x[:, :1] * 4).to(torch.int8).to(x.dtype), "cast to torch.int8"),
    "bool": (lambda x: x[:, :1].relu().bool() * x[:, 1:], "cast to torch.bool"),
    "embedding": (lambda x: TABLE((x[:, 0] * 4 + 8).long()), "cast to torch.int64"),
    "one_hot": (lambda x: F.one_hot((x @ ROUTER).argmax(-1), 6)[:, :1].double(), "argmax"),
    "bucketize": (lambda x: torch.bucketize(x[:, :1], EDGES) * 0.3, "bucketize"),
    "searchsorted": (
        lambda x: torch.searchsorted(EDGES, x[:, :1].contiguous()) / 7, "searchsorted"),
    "count": (lambda x: torch.count_nonzero(x > 0.2, -1).double()[:, None], "comparison"),
    "detached": (lambda x: x[:, :1] * (x.detach()[:, 1:] > 0), "comparison"),
    "of values": (lambda x: torch.stack([torch.stack([a * (2.0 if float(b) > 0 else 1.0)])
                                         for a, b in x]), "float"),
    "item": (lambda x: torch.stack([torch.stack([a * (2.0 if b.item() > 0 else 1.0)])
                                    for a, b in x]), "item"),
    "if": (lambda x: torch.stack([torch.stack([a * 2 if b > 0 else a]) for a, b in x]),
           "comparison"),
    **{f.__name__: (lambda x, f=f: f(4 * x[:, :1]), f.__name__)
       for f in (torch.round, torch.sign, torch.floor, torch.ceil, torch.trunc, torch.frac)},
    "remainder": (lambda x: torch.remainder(x[:, :1], 0.3), "remainder"),
    "%": (lambda x: x[:, :1] % 0.3, "mod|remainder"),
    "//": (lambda x: x[:, :1] // 0.3 + x[:, 1:], "floor"),
    "div, rounded": (lambda x: torch.div(x[:, :1], 0.3, rounding_mode="floor"), "div"),
    "heaviside": (lambda x: torch.heaviside(x[:, :1] - 0.1, x.new_ones(())), "heaviside"),
    "round in place": (lambda x: (x[:, :1] * 4).round_(), "round"),
    "hardshrink": (lambda x: F.hardshrink(x[:, :1], 0.4), "hardshrink"),
    "threshold": (lambda x: F.threshold(x[:, :1], 0.1, 2.0), "threshold"),
    "in a module": (nn.Sequential(nn.Linear(2, 1).double(), nn.Threshold(0.1, 3.0)), "threshold"),
    "vmap": (torch.func.vmap(lambda p: (p[:1] > 0.1).double()), "comparison"),
}  # fmt: skip


def _assigned(x):
    out = x[:, :1] * 2
    out[x[:, 0] > 0.2] = 0.5
    return out


def graph(height):
    def surface(x):
        return torch.cat([x, height(x) + x.square().sum(-1, keepdim=True)], -1)

    return surface


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", JUMPS)
def test_what_jumps_is_named_and_its_totals_are_not_complete(name):
    height, called = JUMPS[name]
    for bound in ("rigorous", "estimate"):
        try:
            jet = second_order_jet(graph(height), POINTS, bound)
        except ValueError as error:
            assert "torch.func" in str(error)  # noqa: PT017  # has no derivative there
            return
        assert jet.jumps
        assert set(jet.jumps) <= set(called.split("|")) | {"comparison"}, jet.jumps
        assert "not smooth everywhere: at kinks and jumps" in jet.notes[0]
        assert jet.jumps[0] in jet.notes[0]
    if name in ("of values", "item", "if"):  # point by point in Python: 28 s for all points
        return
    try:
        total = adaptive_integrals(graph(height), largest_sample=0)
    except ValueError:
        return
    assert not total.absolute.complete
    assert not total.area.complete


MASK = torch.ones(4, 4, dtype=torch.bool).tril()
SMOOTH = {
    "constant mask": lambda x: (x @ ROUTER[:, :4]).masked_fill(~MASK[1], -9.0).softmax(-1)[:, :1],
    "positions": lambda x: x[:, :1] * (torch.arange(3) > 1).double().sum(),
    "checked": lambda x: x[:, :1] if x.isfinite().all() else x,
    "largest value": lambda x: (x @ ROUTER).topk(2).values[:, :1],
    "maximum": lambda x: (x @ ROUTER).max(-1, keepdim=True).values,
    "shape": lambda x: x[:, : int(x.shape[1] > 1)] + len(x) * 0.0,
    "constant index": lambda x: (x @ ROUTER)[:, torch.tensor([2, 1]).argsort()][:, :1],
    "module": nn.Sequential(nn.Linear(2, 4), nn.GELU(), nn.LayerNorm(4), nn.Linear(4, 1)).double(),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_what_does_not_jump_is_not_said_to(name):
    jet = second_order_jet(graph(SMOOTH[name]), POINTS, "rigorous")
    assert jet.jumps == ()


def test_a_surface_with_a_jump_says_so_everywhere():
    found = measure(graph(JUMPS["comparison"][0]), largest_sample=0)
    assert not found.total.complete
    assert "without what lies at jumps" in str(found)
    assert not found.to_dict()["total"]["complete"]
    assert not measure_surface(graph(JUMPS["round"][0]), square_grid(5)).complete.any()


def jumps_along(function, start, end):
    """Whether ``function`` changes over ever shorter steps as much as over the first."""
    first = None
    for step in range(40):
        ends = function(torch.stack([start, (start + end) / 2, end]))
        near, far = (ends[1:] - ends[:-1]).abs().amax(-1)
        first = max(near, far) if first is None else first
        if not ends.isfinite().all() or (step > 10 and max(near, far) < first / 50):
            return False
        if max(near, far) > 3 * first:  # a pole
            return False
        start, end = (start, (start + end) / 2) if near > far else ((start + end) / 2, end)
    return bool(first > 0)


@pytest.mark.soak  # long
def test_no_operation_of_torch_jumps_unnamed():
    """Along random lines through the samples that torch tests itself with, by bisection."""
    unnamed = []
    for op in operations():
        for sample in list(op.sample_inputs("cpu", torch.float64))[:1]:
            function = family(op, sample, torch.Generator().manual_seed(1))
            line = torch.linspace(-30, 30, 41, dtype=torch.float64)[:, None].expand(-1, 2)
            try:
                with warnings.catch_warnings(), torch.no_grad():
                    warnings.simplefilter("ignore")
                    values = function(line)
                    again = function(line)
                    if not torch.equal(values, again) or not values.isfinite().all():
                        continue
                    steps = (values[1:] - values[:-1]).abs().amax(-1)
                    at = int(steps.argmax())
                    if jumps_along(function, line[at], line[at + 1]):
                        found = breaks(function, line)
                        if not found.jumps:
                            unnamed.append(op.formatted_name)
            except (RuntimeError, ValueError, TypeError, IndexError, AttributeError):
                continue
    assert not set(unnamed), " ".join(sorted(set(unnamed)))


def test_names_are_those_of_torch():
    known = {name.strip("_") for name in (*dir(torch), *dir(torch.Tensor), *dir(F))}
    known |= {f"linalg_{name}" for name in dir(torch.linalg)}
    assert JUMPING - known <= {"floordiv", "rfloordiv"}, JUMPING - known  # operators of Python
