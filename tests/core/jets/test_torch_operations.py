"""Every differentiable operation of torch that takes float64: is it differentiated rightly?

`torch_operations.txt` says what becomes of each: *rule* (by a rule of our own), *kernels* (by the
rules of the kernels that it calls), *accepted* (torch.func, and the check agrees), *refused* by the
check, *none* (torch has no forward mode), *other* (random, no numbers, or results that are not
differentiable). The oracle is reverse mode.
Some of the refused are right for other arguments: ``eigh`` reads one triangle of its matrix, and
torch differentiates it as if it were symmetric, which the samples are not.
"""

import sys
import types
import unittest
import warnings
from pathlib import Path

import pytest
import torch
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

from gating_core.jets.bounded import value_of
from gating_core.jets.jet import RULES, Jet, filled, rule_name
from gating_core.jets.second_order import SecondOrderJet, followed, nested_jet

LINES = Path(__file__).with_name("torch_operations.txt").read_text().splitlines()
TABLE = dict(line.split() for line in LINES)
POINTS = torch.tensor([[-1.0, -1], [1, 1], [0.21, 0.13]], dtype=torch.float64)  # the last is tried
DIRECTION = torch.tensor([0.6, 0.8], dtype=torch.float64)
# Where samples are at kinks, or reverse mode is no oracle: a triangle is read, or memory is shared.
INCOMPARABLE = frozenset(
    """
    cholesky_inverse corrcoef nn_functional_normalize nn_functional_cosine_similarity logcumsumexp
    as_strided_scatter native_layer_norm
    """.split()
)
SAMPLES = 2


def operations():
    """The operations that torch tests itself with; its package for that is not needed here."""
    stub = types.ModuleType("expecttest")
    stub.TestCase = unittest.TestCase
    sys.modules.setdefault("expecttest", stub)
    from torch.testing._internal.common_methods_invocations import op_db

    return [op for op in op_db if torch.float64 in op.dtypes and op.supports_autograd]


def family(op, sample, rng):
    """A smooth map (N, 2) -> (N, D) through ``sample``: its tensors vary along two directions."""
    leaves, shape = tree_flatten((sample.input, sample.args, sample.kwargs))
    moves = {}
    for i, x in enumerate(leaves):
        leaves[i] = x = x.detach() if isinstance(x, torch.Tensor) else x
        if isinstance(x, torch.Tensor) and x.dtype == torch.float64 and x.layout == torch.strided:
            moves[i] = [_alike(x, rng) for _ in range(2)]
            if "conv" in op.name:
                break  # weights that vary have no rule

    def at(u, v):
        again = [x.clone() if isinstance(x, torch.Tensor) else x for x in leaves]
        for i, (a, b) in moves.items():
            again[i] = leaves[i] + u * a + v * b
        first, args, kwargs = tree_unflatten(again, shape)
        out = op.op(first, *args, **kwargs)
        if sample.output_process_fn_grad:
            out = sample.output_process_fn_grad(out)
        outs = [x for x in tree_leaves(out) if isinstance(x, torch.Tensor | Jet)]
        outs = [torch.view_as_real(x) if x.is_complex() else x for x in outs]
        return torch.cat([x.reshape(-1) for x in outs if x.dtype == torch.float64])

    return (lambda p: torch.stack([at(*q) for q in p.unbind(0)])) if moves else None


def _alike(x, rng):
    """A direction in which a symmetric or triangular matrix stays one."""
    a = torch.randn(x.shape, generator=rng, dtype=x.dtype) * 0.02 * (1 + x.abs())
    if x.ndim >= 2 and x.shape[-1] == x.shape[-2] > 1:
        if torch.allclose(x, x.mT):
            return (a + a.mT) / 2
        if torch.equal(x, x.tril()) or torch.equal(x, x.triu()):
            return a.tril() if torch.equal(x, x.tril()) else a.triu()
    return a


def disagreement(function, jet):
    """The relative distance of second derivatives from reverse mode; None where that has none."""
    bend = (jet.second[2] @ DIRECTION @ DIRECTION).reshape(-1)
    slope = (jet.first[2] @ DIRECTION).reshape(-1)
    weights = torch.linspace(1, 2, len(bend), dtype=torch.float64)
    t = torch.zeros((), dtype=torch.float64, requires_grad=True)
    try:
        value = function((POINTS[2] + t * DIRECTION)[None])[0] @ weights
        (first,) = torch.autograd.grad(value, t, create_graph=True)
        (second,) = torch.autograd.grad(first, t) if first.requires_grad else (torch.zeros(()),)
    except RuntimeError:
        return None
    size = bend.abs().max() + 1e-6 * slope.abs().max() + 1e-200
    return float(((bend @ weights) - second).abs() / size / len(bend))


def outcomes(op):
    """What becomes of an operation with a few of its samples, and the largest disagreement."""
    samples = list(op.sample_inputs("cpu", torch.float64))
    found, worst = set(), 0.0
    for sample in samples[:: max(1, len(samples) // SAMPLES)][:SAMPLES]:
        rng = torch.Generator().manual_seed(1)
        function = family(op, sample, rng)
        try:
            value = None if function is None else function(POINTS)
            again = None if function is None else function(POINTS)
        except (RuntimeError, TypeError, ValueError, IndexError, ArithmeticError):
            value = None
        if value is None or not value.numel() or not torch.equal(value, again):
            found.add("other")
            continue
        try:
            with torch.no_grad():
                jet = nested_jet(function, POINTS)
        except ValueError:
            found.add("refused")
        except RuntimeError:
            found.add("none")
        else:
            found.add("accepted")
            worst = max(worst, disagreement(function, jet) or 0.0)
    return found, worst


def _judged(op):
    found, worst = outcomes(op)
    wrong = []
    if "refused" in found and TABLE[op.formatted_name] not in (
        "refused",
        "other",
        "rule",
        "kernels",
    ):
        wrong.append(f"{op.formatted_name} is refused")
    if worst > 1e-4 and op.formatted_name not in INCOMPARABLE:
        wrong.append(f"{op.formatted_name} is off by {worst:.1e}")
    return wrong


def wrong_by_rules(op):
    """Return the fault of an operation on jets, or None where some of its samples have no rules."""
    samples = list(op.sample_inputs("cpu", torch.float64))
    for sample in samples[:: max(1, len(samples) // SAMPLES)][:SAMPLES]:
        function = family(op, sample, torch.Generator().manual_seed(1))
        try:
            value = None if function is None else function(POINTS)
            if value is None or not value.numel():
                continue
            jet = followed(function, Jet.coordinates(POINTS, bounded=True))
        except Exception:  # a sample, or a composition, for which there is none
            return None
        parts = [jet.value[None], filled(jet, "first"), filled(jet, "second")]
        whole = SecondOrderJet(torch.cat([value_of(x).mT for x in parts]), 2)
        off = (whole.value - value).abs() - jet.value.bound - 1e-12 * value.abs()
        if (off > 1e-13).any():
            return f"{op.formatted_name} has other values"
        known = all(x.bound[:, 2].isfinite().all() for x in parts)
        known = known and op.formatted_name not in INCOMPARABLE
        if known and (disagreement(function, whole) or 0.0) > 1e-6:
            return f"{op.formatted_name} has other second derivatives"
    return ""


@pytest.mark.soak  # long
def test_every_operation_on_jets_is_right_or_has_no_rule():
    wrong = []
    with warnings.catch_warnings(), torch.random.fork_rng():
        warnings.simplefilter("ignore")
        for op in operations():
            found = wrong_by_rules(op)
            if found or (found is None and TABLE[op.formatted_name] == "kernels"):
                wrong.append(found or f"{op.formatted_name} has no rules")
    assert not wrong


@pytest.mark.soak  # long
def test_every_operation_of_torch_is_right_or_refused():
    wrong = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for op in operations():
            if rule_name(op.op.__name__) in RULES or TABLE.get(op.formatted_name) == "rule":
                assert TABLE[op.formatted_name] == "rule", op.formatted_name
            wrong += _judged(op)
    assert not wrong
