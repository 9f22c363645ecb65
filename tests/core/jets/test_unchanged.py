"""What is measured, or refused, is as it was before: in its weights, caches and hooks."""

import copy
import io
from collections import OrderedDict, deque
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrizations

from gating_core import measure, second_order_jet
from gating_core.jets.jet import Jet

POINTS = torch.cartesian_prod(*[torch.linspace(-0.9, 0.9, 5, dtype=torch.float64)] * 2)
RECORD: dict[str, object] = {"calls": 0}
LARGEST = None


def net(*middle):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 6), nn.Tanh(), *middle, nn.Linear(6, 3)).double()


class Wrapped(nn.Module):
    """A layer that does something else besides, in ``also(self, hidden)``."""

    def __init__(self, also, **attributes):
        super().__init__()
        self.inner = net()
        self.also = also
        self.register_buffer("largest", torch.zeros((), dtype=torch.float64))
        self.register_buffer("sums", torch.zeros(6, dtype=torch.float64))
        for name, x in attributes.items():
            setattr(self, name, x)

    def forward(self, x):
        hidden = self.inner[:2](x)
        self.also(self, hidden)
        return self.inner[2](hidden)


def keeps_largest(self, h):
    self.largest = torch.maximum(self.largest, h.detach().abs().max())


def keeps_cache(self, h):
    self.cache = h


def grows_list(self, h):
    self.kept.append(h)


def fills_dictionary(self, h):
    self.kept["h"] = h
    self.kept.pop("old", None)


def nests(self, h):
    self.kept.inner["a"][0] = h


def deletes(self, h):
    del self.kept


def counts(self, h):
    self.calls += 1


def adds_in_place(self, h):
    self.sums += 1.0
    self.sums[2:4].mul_(2)


def adds_batch_in_place(self, h):
    self.sums.add_(h.detach().sum(0))


def changes_weight(self, h):
    with torch.no_grad():
        self.inner[2].bias.mul_(1.0)
        self.inner[2].bias.data.add_(0.0).clamp_(-9, 9)


def rebinds_weight(self, h):
    self.inner[2].bias = nn.Parameter(self.inner[2].bias * 1.0)


def writes_global(self, h):
    global LARGEST
    LARGEST = h.max()
    RECORD["h"] = h
    RECORD["calls"] += 1


def shifts_queue(self, h):
    self.kept.append(h)


def becomes_eval(self, h):
    self.training = not self.training


def registers(self, h):
    self.register_buffer("new", h)


def spectral():
    return nn.Sequential(
        parametrizations.spectral_norm(nn.Linear(2, 6)), nn.Tanh(), nn.Linear(6, 3)
    ).double()


def converged():
    module = spectral()
    for _ in range(300):
        module(POINTS)
    return module


def with_hook(kind):
    module, kept = net(), {"at": None}

    def hook(module, inputs, *output):
        kept["at"] = output or inputs

    getattr(module[1], f"register_{kind}")(hook)
    module.kept = kept
    return module


def with_embedding():
    table = nn.Embedding(5, 6, max_norm=0.5).double()
    return Wrapped(lambda self, h: self.table(torch.arange(5)), table=table)


MODULES = {
    "largest so far": lambda: Wrapped(keeps_largest),
    "activations": lambda: Wrapped(keeps_cache, cache=None),
    "activations, undeclared": lambda: Wrapped(keeps_cache),
    "list": lambda: Wrapped(grows_list, kept=[]),
    "queue": lambda: Wrapped(shifts_queue, kept=deque([1, 2], maxlen=2)),
    "dictionary": lambda: Wrapped(fills_dictionary, kept={"old": 1}),
    "namespace": lambda: Wrapped(nests, kept=SimpleNamespace(inner={"a": [None]})),
    "deletes": lambda: Wrapped(deletes, kept=1),
    "counts": lambda: Wrapped(counts, calls=0),
    "sums in place": lambda: Wrapped(adds_in_place),
    "sums of the batch in place": lambda: Wrapped(adds_batch_in_place),
    "weight in place": lambda: Wrapped(changes_weight),
    "weight bound again": lambda: Wrapped(rebinds_weight),
    "global variables": lambda: Wrapped(writes_global),
    "training": lambda: Wrapped(becomes_eval),
    "registers a buffer": lambda: Wrapped(registers),
    "embedding with a largest norm": with_embedding,
    "spectral norm": spectral,
    "spectral norm, converged": converged,
    "old spectral norm": lambda: nn.Sequential(
        nn.utils.spectral_norm(nn.Linear(2, 6).double()), net()[1], net()[2]
    ),
    "weight norm": lambda: parametrizations.weight_norm(net()[2]) and nn.Sequential(
        parametrizations.weight_norm(net()[0]), nn.Tanh(), net()[2]),
    "orthogonal": lambda: nn.Sequential(
        parametrizations.orthogonal(net()[0]), nn.Tanh(), net()[2]),
    "batch norm, training": lambda: net(nn.BatchNorm1d(6)).train(),
    "batch norm": lambda: net(nn.BatchNorm1d(6)).eval(),
    "dropout, training": lambda: net(nn.Dropout(0.3)).train(),
    "forward hook": lambda: with_hook("forward_hook"),
    "forward pre-hook": lambda: with_hook("forward_pre_hook"),
    "raises": lambda: Wrapped(lambda self, h: keeps_cache(self, h) or {}["none"]),
    "raises for what is no tensor": lambda: Wrapped(
        lambda self, h: keeps_cache(self, h) or {torch.Tensor: 1}[type(h)]),
}  # fmt: skip


def look(x, seen=None):
    """All that can be compared of a module: objects by what they are, tensors by their numbers."""
    seen = {} if seen is None else seen
    if id(x) in seen:
        return seen[id(x)]
    seen[id(x)] = id(x)
    assert not isinstance(x, Jet)
    if isinstance(x, torch.Tensor):
        return id(x), type(x), x.detach().clone().numpy().tobytes()
    if isinstance(x, dict):
        return id(x), [(key, look(value, seen)) for key, value in x.items()]
    if isinstance(x, list | tuple | deque):
        return id(x), [look(part, seen) for part in x]
    if hasattr(x, "__dict__") and not isinstance(x, type):
        return id(x), look(vars(x), seen)
    return x


@pytest.mark.parametrize("run", [measure, second_order_jet])
@pytest.mark.parametrize("name", MODULES)
def test_a_module_is_as_before_whether_it_is_measured_or_refused(name, run):
    module = MODULES[name]()
    before = look(module), dict(RECORD), LARGEST
    state = torch.random.get_rng_state()
    try:
        run(module, POINTS)
    except ValueError as error:
        assert "\n" not in str(error)  # noqa: PT017
    assert (look(module), RECORD, LARGEST) == before
    assert torch.equal(torch.random.get_rng_state(), state)
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    module.load_state_dict(torch.load(file, weights_only=True))
    copied = copy.deepcopy(module.float().eval()) if "norm" not in name else module.eval()
    copied.double()(POINTS) if name not in ("raises", "deletes") else None


def test_what_a_function_that_is_no_module_keeps_is_put_back():
    layer, kept, count = Wrapped(keeps_cache), [], 0
    memory = torch.zeros(3, dtype=torch.float64)

    def function(x):
        nonlocal count
        count += 1
        kept.append(layer(x))
        memory.add_(1)
        return kept[-1]

    assert measure(function, POINTS).word == "curved"
    assert (kept, count) == ([], 0)
    assert not memory.any()
    assert not hasattr(layer, "cache")
    assert measure(layer.forward, POINTS).word == "curved"
    assert not hasattr(layer, "cache")


class Making(OrderedDict):
    """A table of classes that answers with objects, as that of transformers' activations."""

    def __getitem__(self, key):
        return super().__getitem__(key)()


TABLE = Making(tanh=nn.Tanh)


def test_a_table_that_makes_what_it_is_asked_for_keeps_what_it_holds():
    class Layer(nn.Module):
        def forward(self, x):
            return TABLE["tanh"](x @ x.new_ones(2, 3))

    measure(Layer(), POINTS)
    assert dict.__getitem__(TABLE, "tanh") is nn.Tanh


def test_every_call_starts_from_the_state_in_which_the_layer_was_handed_over():
    """A cache that one call leaves would have the size of another block of points."""

    class Steps(nn.Module):
        """As a spectral norm in training: each call takes one step, from where it stands."""

        def __init__(self):
            super().__init__()
            self.register_buffer("scale", torch.ones((), dtype=torch.float64))

        def forward(self, x):
            self.scale = (self.scale + 1e-14) / 1
            return torch.cat([x, (x * x).sum(-1, keepdim=True) * self.scale], -1)

    many = torch.rand(4000, 2, dtype=torch.float64)
    assert len(second_order_jet(Steps(), many).stack[-1, -1].unique()) == 1


def test_errors_are_told_in_words_and_torch_func_is_tried():
    def bowl(x):
        return torch.cat([x, x.square().sum(-1, keepdim=True)], -1)

    def asserts(x):
        assert isinstance(x, torch.Tensor)
        return bowl(x)

    class Mine(Exception):
        """An error of the module's own."""

    def mine(x):
        raise Mine

    def reads(x):
        return torch.load("/none") @ x

    exact = measure(bowl, POINTS).field.gaussian
    for function in (asserts, lambda x: {torch.Tensor: bowl}[type(x)](x)):
        torch.testing.assert_close(measure(function, POINTS).field.gaussian, exact)

    for function, said in (
        (mine, "Mine"),
        (reads, "FileNotFoundError"),
        (lambda x: {}[1], "KeyError 1"),
    ):
        with pytest.raises(ValueError, match=f"layer fails on points of shape .*: {said}"):
            measure(function, POINTS)
        with pytest.raises(ValueError, match=f"function fails on points of shape .*: {said}"):
            second_order_jet(function, POINTS)
