"""Any module of a loaded model as a map of two numbers, ready to be measured.

`state_plane` runs the model once and records what a module gets: arguments, masks, positions,
caches, rotary tables. One token's state is then replaced by the points of a plane, and the module
computes that token's output, in float64.

Shapes: N points, T tokens, D channels of a state, H heads, S keys.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from gating_core.checkpoints.head_map import SIDE, Plane, entropies, principal_plane, token_plane
from gating_core.checks import check_choice, check_integer, quoted
from gating_core.geometry import square_grid
from gating_core.jets.bounded import Carrier
from gating_core.jets.map_check import cause
from gating_core.jets.rows import Following, Row, Run
from gating_core.randomness import generator

TOGETHER = 256  # points for which the other tokens are computed once


class _Reached(Exception):
    """The module has been called."""


class StatePlane(torch.nn.Module):
    """A module's output for one token, over a plane of that token's states; see `state_plane`.

    Attributes:
        name: The module's, within the model.
        plane: Of the states; ``plane.state`` (3, D) are its origin and directions.
        states: (T, D), what the module reads of the text.
        token: Which of them moves.
        query_alone: Its query moves, and its key and value stay.
        has_attention: There is one attention in the module, so that it has a `twin`.
        is_twin: Queries and keys are random.
        notes: Sentences about what is computed otherwise than by the model itself.
    """

    def __init__(
        self, name: str, module: torch.nn.Module, args: tuple, kwargs: dict, place: int | str,
        axes: _Axes, query_alone: bool, residual: bool,
    ) -> None:  # fmt: skip
        super().__init__()
        self.name, self.module = name, module
        self.args, self.kwargs, self.place = args, kwargs, place
        self.axes, self.query_alone, self.residual = axes, query_alone, residual
        self.states = axes.states(self._known(args, kwargs))
        self.token = axes.number(self._known(args, kwargs))
        self.plane: Plane
        self.by_rows = self.has_attention = self.is_twin = False
        self.factors: torch.Tensor | None = None
        self.notes: tuple[str, ...] = ()

    def _known(self, args: tuple, kwargs: dict) -> torch.Tensor:
        return args[self.place] if isinstance(self.place, int) else kwargs[self.place]

    def forward(self, points: Any) -> Any:
        """(N, D'): the token's output at chart points (N, 2)."""
        points = points.double() if isinstance(points, torch.Tensor) else points
        plane, outputs = self.plane.state, []
        for start in range(0, len(points), TOGETHER):
            state = points[start : start + TOGETHER] @ plane[1:] + plane[0]
            output = self.output(state)
            outputs.append(output + state if self.residual else output)
        return outputs[0] if len(outputs) == 1 else torch.cat(outputs)

    def output(self, state: Any, run: Run | None = None) -> Any:
        """(N, D'): the token's output for its ``state`` (N, D), without a residual."""
        run = Run(self.query_alone, self.factors) if run is None else run
        count, axes = len(state), self.axes
        if self.by_rows and count == 1:  # two points tell which axis counts them
            state = torch.cat([state, state])
        with torch._C.DisableTorchFunction():  # the module may write into what it gets
            args, kwargs = copy.deepcopy((self.args, self.kwargs))
        known = self._known(args, kwargs)
        if axes.batch is None:  # rows that do not meet
            moved = state
        elif self.by_rows:
            ((axis, index),) = axes.token.items()
            row = axes.row(state, known)
            moved = Row(row, known, axes.batch, axis, index, known.shape[axis], run)
        else:
            here = axes.here(known)
            moved = known.masked_fill(here, 0.0) + axes.row(state, known) * here.double()
        args, kwargs = _mapped((args, kwargs), lambda x: moved if x is known else x)
        if self.by_rows:
            with Following():
                out = next(_tensors(self.module(*args, **kwargs)), None)
        else:
            for x in (*args, *kwargs.values()):
                if hasattr(x, "batch_repeat_interleave"):  # keys and values of earlier tokens
                    x.batch_repeat_interleave(len(state))
            out = next(_tensors(self.module(*args, **kwargs)), None)
        return self._of_token(out, len(state))[:count]

    def _of_token(self, out: Any, count: int) -> Any:
        """(count, D'): the token's numbers in an output of the module."""
        axes, name = self.axes, _named(self.name)
        if isinstance(out, Row):
            return out.row.movedim(out.batch, 0).reshape(count, -1)
        if axes.batch is None or (out.ndim == 2 and out.shape[0] == count):
            return out
        sizes = {axis: self._known(self.args, self.kwargs).shape[axis] for axis in axes.token}
        if out.ndim <= max(sizes) or any(out.shape[axis] != n for axis, n in sizes.items()):
            raise ValueError(f"{name} returns {tuple(out.shape)}, which has no row for the token")
        if out.shape[axes.batch] != count:
            raise ValueError(f"the output of {name} does not depend on the state")
        index: list[Any] = [slice(None)] * out.ndim
        for axis, i in axes.token.items():
            index[axis] = i
        batch = axes.batch - sum(axis < axes.batch for axis in axes.token)
        return out[tuple(index)].movedim(batch, 0).reshape(count, -1)

    def attended(self, factors: torch.Tensor | None = None) -> torch.Tensor:
        """(N, H, S): what the softmax over keys reads on a grid over the chart."""
        plane, logits = self.plane.state, []
        for points in square_grid(SIDE).points.split(TOGETHER):
            run = Run(self.query_alone, self.factors if factors is None else factors)
            self.output(points @ plane[1:] + plane[0], run)
            logits.append(run.logits[0].squeeze(-2))
        return torch.cat(logits)

    @torch.no_grad()
    def twin(self, seed: int = 0) -> StatePlane:
        """Return the plane with random queries and keys, each head at its own mean entropy.

        All weights that products of queries and keys depend on are drawn anew, normal, of their
        own root mean square; biases, norms, values and everything else stay. The products of each
        head are multiplied by one number, so that the mean entropy of its attention weights over
        the chart is its own.

        Raises:
            ValueError: The module has no attention that could be followed, or several, or no
                factor gives the entropy.
        """
        if not self.has_attention:
            raise ValueError(
                f"{_named(self.name)} has no attention that can be followed, or several; a"
                " twin has random queries and keys of one"
            )
        twin = copy.deepcopy(self)
        matrices = [x for x in twin.module.parameters() if x.ndim == 2 and x.is_floating_point()]
        draw = generator(seed, f"twin of {self.name}")
        run = Run(self.query_alone)
        with torch.enable_grad():
            for matrix in matrices:
                matrix.requires_grad_()
            twin.output(self.states, run)
            noise = torch.randn(run.products[0].shape, generator=draw, dtype=torch.float64)
            slopes = torch.autograd.grad(
                (run.products[0] * noise).sum(), matrices, allow_unused=True
            )
        for matrix, slope in zip(matrices, slopes, strict=True):
            matrix.requires_grad_(False)
            if slope is None:
                continue
            part = (slope.abs().amax(1) > 0)[:, None] & (slope.abs().amax(0) > 0)
            drawn = torch.randn(matrix.shape, generator=draw, dtype=torch.float64)
            matrix.copy_(torch.where(part, drawn * matrix[part].square().mean().sqrt(), matrix))
        twin.factors = self._factors(twin, run.products[0].shape[1:-2])
        twin.is_twin, twin.has_attention = True, False
        return twin

    def _factors(self, twin: StatePlane, heads: torch.Size) -> torch.Tensor:
        """(H, 1, 1): what the twin's products are multiplied by, by bisection for all heads."""

        def entropy(logits: torch.Tensor) -> torch.Tensor:
            return entropies(logits.softmax(-1)).mean(0)

        goal, ones = entropy(self.attended()), torch.ones(*heads, 1, 1, dtype=torch.float64)
        # Logits are affine in the factor: masks and biases are added to the products.
        one, two = twin.attended(ones), twin.attended(2 * ones)
        slope = torch.where(one.isfinite(), two - one, 0.0)
        # Logarithms to base 2 of the factors, halved by bisection 60 times.
        low = torch.full(heads, -30.0, dtype=torch.float64)
        high = -low
        for _ in range(60):
            middle = (low + high) / 2
            sharper = entropy(one + slope * (2.0 ** middle[..., None] - 1)) < goal
            low, high = torch.where(sharper, low, middle), torch.where(sharper, middle, high)
        factors = 2.0 ** ((low + high) / 2)[..., None, None]
        off = float((entropy(twin.attended(factors)) - goal).abs().max())
        if not off <= 1e-6:
            raise ValueError(
                f"no factor of the scores of {_named(self.name)} gives its own entropy"
                f" ({off:.1g} nats off)"
            )
        return factors


@dataclass(frozen=True)
class _Axes:
    """The axes of a module's states: ``batch`` of texts, ``channels``, all others of tokens.

    ``batch`` is ``None`` where rows do not meet; ``token`` gives the token's index by axis.
    """

    batch: int | None
    channels: int
    token: dict[int, int]

    def states(self, known: torch.Tensor) -> torch.Tensor:
        """(T, D)."""
        return known.movedim(self.channels, -1).reshape(-1, known.shape[self.channels])

    def number(self, known: torch.Tensor) -> int:
        """The token's place among `states`."""
        number = 0
        for axis, index in self.token.items():
            number = number * known.shape[axis] + index
        return number

    def row(self, state: Any, known: torch.Tensor) -> Any:
        """``state`` (N, D) with the axes of ``known``."""
        shape = [1] * known.ndim
        assert self.batch is not None
        shape[self.batch], shape[self.channels] = state.shape
        return state.reshape(shape)

    def here(self, known: torch.Tensor) -> torch.Tensor:
        """Bool, true at the token; of one number along axes of points and channels."""
        found = torch.ones((), dtype=torch.bool)
        for axis, index in self.token.items():
            lined = [-1 if i == axis else 1 for i in range(known.ndim)]
            found = found & (torch.arange(known.shape[axis]) == index).reshape(lined)
        return found


@torch.no_grad()
def state_plane(
    model: torch.nn.Module,
    name: str,
    inputs: Mapping[str, Any] | tuple | torch.Tensor,
    token: int | tuple[int, ...] = -1,
    *,
    plane: Plane | tuple[int, int, int] | torch.Tensor | None = None,
    moves: str = "token",
    residual: bool = False,
    batch: int = 0,
    channels: int | None = None,
) -> StatePlane:
    """Return a module of a loaded model as a map of two numbers: one token's state moves.

    The model runs once on ``inputs``, as it is in evaluation, up to the module's first call. A copy
    of the module, in float64, then computes again what it got, with one token's state replaced.
    What does not depend on it, such as other tokens' keys and values, is computed once for all
    points, where each operation of the module is known to keep tokens apart.

    Args:
        model: Any torch model; of one that `torch.compile` made the original.
        name: Of a module in it, as ``model.named_modules()`` has it; "" is the model itself.
        inputs: What the model is called with: keyword arguments, as a tokeniser returns them,
            positional ones, or one tensor.
        token: Which state moves, by default the last; of an image's row and column.
        plane: Its states: the principal plane of the text's by default (± 2 standard deviations),
            the plane through three tokens, two directions (2, D) from the token's own state, an
            origin and two directions (3, D), or a `Plane`.
        moves: "token", or "query": keys and values stay, as on the page *Real heads*.
        residual: Add the state to the output, as a residual connection around the module does.
        batch: Which of several texts.
        channels: The axis of states that counts channels; by default the last, of convolutions 1.

    Returns:
        The map, which `measure` takes as it is, with its ``notes``.

    Raises:
        ValueError: In one sentence: there is no such module, it is not called, or reads no states;
            it gives another output when it is called again; the token, the plane or an option
            cannot be had.

    Example:
        >>> import torch
        >>> from gating_core import measure, state_plane
        >>> layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        >>> plane = state_plane(layer, "self_attn", torch.randn(1, 6, 8), token=3)
        >>> measure(plane, torch.zeros(1, 2)).word
        'curved'
        >>> plane.twin(seed=0).is_twin
        True
    """
    check_choice("moves", moves, ("token", "query"))
    model = getattr(model, "_orig_mod", model)
    module = _module(model, name)
    if any(x.is_meta for x in module.parameters()):
        raise ValueError(f"the weights of {_named(name)} are not loaded")
    args, kwargs = _one_text(inputs, batch)
    (args, kwargs), output = _call(model, module, name, args, kwargs)
    place = _place(args, kwargs, name)
    known = args[place] if isinstance(place, int) else kwargs[place]
    axes = _axes(module, known, token, channels, name)
    types = dict.fromkeys(
        x.dtype for x in (known, *module.parameters(), *module.buffers()) if x.is_floating_point()
    )
    args, kwargs = _widened((args, kwargs))
    module, query_alone = _copied(module, name), moves == "query"
    found = StatePlane(name, module, args, kwargs, place, axes, query_alone, residual)
    found.plane = _plane(plane, found.states, found.token)
    found.notes = _checked(found, output, types)
    width, wide = found.states.shape[1], found.output(found.states[:1]).shape[1]
    if residual and width != wide:
        raise ValueError(
            f"residual adds a state of {width} numbers to {wide} of {_named(name)}; measure"
            " the block around it"
        )
    return found


def _named(name: str) -> str:
    return f"module {quoted(name)}" if name else "the model"


def _module(model: torch.nn.Module, name: str) -> torch.nn.Module:
    """The module called ``name``, or the original of one that was compiled."""
    module = model
    for part in [x for x in name.split(".") if x and x != "_orig_mod"]:
        children = dict(module.named_children())
        if part not in children:
            known = ", ".join(list(children)[:12]) or "none"
            raise ValueError(
                f"the model has no {_named(name)}: at {quoted(part)} there are {known}"
            )
        module = children[part]
        module = getattr(module, "_orig_mod", module)
    return module


def _one_text(inputs: Any, batch: int) -> tuple[tuple, dict[str, Any]]:
    """Positional and keyword arguments of the model, of one text."""
    if isinstance(inputs, torch.Tensor):
        inputs = (inputs,)
    if isinstance(inputs, tuple | list):
        return tuple(inputs), {}
    try:
        kwargs = dict(inputs)
    except (TypeError, ValueError):
        raise ValueError(
            f"inputs is a {type(inputs).__name__}; it must be a tensor, a tuple, or a dict of what"
            " the model is called with"
        ) from None
    tensors = [x for x in kwargs.values() if isinstance(x, torch.Tensor) and x.ndim > 1]
    count = len(tensors[0]) if tensors else 1
    check_integer("batch", batch, 0, count - 1)
    if count == 1:
        return (), kwargs
    if any(
        x is not None and not isinstance(x, torch.Tensor | bool | int | str)
        for x in kwargs.values()
    ):
        raise ValueError(f"inputs hold {count} texts beside other objects; give those of one text")
    part = slice(batch, batch + 1)
    return (), {
        key: x[part] if isinstance(x, torch.Tensor) and x.ndim and len(x) == count else x
        for key, x in kwargs.items()
    }


def _call(
    model: torch.nn.Module, module: torch.nn.Module, name: str, args: tuple, kwargs: dict
) -> tuple[tuple[tuple, dict], Any]:
    """Record the arguments of the module's first call, and its output."""
    got: list[Any] = []
    returned: list[Any] = []

    def before(_: Any, args: tuple, kwargs: dict) -> None:
        if not got:
            got.append(copy.deepcopy((args, kwargs)))

    def after(_: Any, args: tuple, kwargs: dict, output: Any) -> None:
        returned.append(copy.deepcopy(next(_tensors(output), None)))
        raise _Reached

    training = {x: x.training for x in model.modules()}
    hooks = [
        module.register_forward_pre_hook(before, prepend=True, with_kwargs=True),
        module.register_forward_hook(after, with_kwargs=True),
    ]
    args, kwargs = _mapped(
        (args, kwargs), lambda x: x.detach() if isinstance(x, torch.Tensor) else x
    )
    try:
        model.eval()
        model(*args, **kwargs)
    except _Reached:
        pass
    except Exception as error:
        raise ValueError(f"the model fails on inputs: {cause(error)}") from error
    finally:
        for hook in hooks:
            hook.remove()
        for x, mode in training.items():
            x.training = mode
    if not returned:
        raise ValueError(f"{_named(name)} is not called when the model reads inputs")
    return got[0], returned[0]


def _place(args: tuple, kwargs: dict, name: str) -> int | str:
    """Return the place of the argument that holds the states: the first one of real numbers."""
    named: dict[Any, Any] = dict(enumerate(args))
    if "hidden_states" in kwargs:
        named["hidden_states"] = kwargs["hidden_states"]
    for place, x in (named | kwargs).items():
        if isinstance(x, torch.Tensor) and x.is_floating_point() and x.ndim > 1:
            return place
    raise ValueError(
        f"{_named(name)} reads no states of real numbers; name a module that does, or hand"
        " the model embeddings as inputs_embeds"
    )


def _axes(
    module: torch.nn.Module, known: torch.Tensor, token: Any, channels: int | None, name: str
) -> _Axes:
    shape = tuple(known.shape)
    if channels is None:
        channels = 1 if isinstance(module, torch.nn.modules.conv._ConvNd) else -1
    check_integer("channels", channels, -known.ndim, known.ndim - 1)
    channels %= known.ndim
    batch: int | None = None
    if known.ndim > 2:
        second = known.ndim == 3 and shape[1] == 1 and channels == 2
        last = second and (getattr(module, "batch_first", None) is False or shape[0] != 1)
        batch = 1 if last else 0
        if shape[batch] != 1:
            raise ValueError(
                f"{_named(name)} reads states of shape {shape}, which are of several texts;"
                " give the model one"
            )
    others = [axis for axis in range(known.ndim) if axis not in (batch, channels)]
    indices = token if isinstance(token, tuple) else (token,)
    if len(indices) != len(others):
        raise ValueError(
            f"token must be {len(others)} numbers for states of shape {shape}, it is {token}"
        )
    for axis, index in zip(others, indices, strict=True):
        check_integer("token", index, -shape[axis], shape[axis] - 1)
    return _Axes(batch, channels, {a: i % shape[a] for a, i in zip(others, indices, strict=True)})


def _plane(plane: Any, states: torch.Tensor, token: int) -> Plane:
    if plane is None:
        return principal_plane(states)
    if isinstance(plane, tuple | list) and all(isinstance(x, int) for x in plane):
        if len(plane) != 3:
            raise ValueError(f"plane names {len(plane)} tokens; a plane goes through three")
        return token_plane(states, *plane)
    if not isinstance(plane, Plane):
        rows = torch.as_tensor(plane, dtype=torch.float64)
        width = states.shape[1]
        if rows.ndim != 2 or rows.shape[0] not in (2, 3) or rows.shape[1] != width:
            raise ValueError(
                f"plane has shape {tuple(rows.shape)}; it must be three tokens, two directions"
                f" (2, {width}), or an origin and two directions (3, {width})"
            )
        plane = Plane(rows if len(rows) == 3 else torch.cat([states[token, None], rows]))
    if not plane.state.isfinite().all() or torch.linalg.matrix_rank(plane.state[1:]) < 2:
        raise ValueError("the two directions of plane span no plane")
    return plane


def _copied(module: torch.nn.Module, name: str) -> torch.nn.Module:
    """A copy in float64, on the processor, in evaluation."""
    try:
        copied = copy.deepcopy(module)
    except Exception as error:
        raise ValueError(f"{_named(name)} cannot be copied: {cause(error)}") from error
    for part in copied.modules():
        part._compiled_call_impl = None
        if isinstance(part, torch.nn.RMSNorm) and part.eps is None and part.weight is not None:
            part.eps = torch.finfo(part.weight.dtype).eps  # else that of float64
    return copied.cpu().double().eval().requires_grad_(False)


def _checked(plane: StatePlane, output: Any, types: dict[torch.dtype, None]) -> tuple[str, ...]:
    """Compute the recorded output again, and say how; ``ValueError`` if it is another."""
    axes, name = plane.axes, _named(plane.name)
    recorded = _widened(output)
    theirs = recorded[[plane.token]] if axes.batch is None else plane._of_token(recorded, 1)
    # Relative to the largest number, by precision; of halves .1.
    allowed = max({torch.float64: 1e-5, torch.float32: 1e-3}.get(x, 0.1) for x in types)
    text = axes.batch is not None and len(axes.token) == 1 and len(plane.states) > 1
    off, problem = torch.inf, ""
    for plane.by_rows in (True, False) if text else (False,):
        run = Run(plane.query_alone)
        try:
            ours = plane.output(plane.states[[plane.token]], run)
        except Exception as error:
            problem = problem or cause(error)
            continue
        if ours.shape == theirs.shape:
            off = float((ours - theirs).abs().max() / theirs.abs().max().clamp(min=1e-300))
        if off <= allowed:
            break
    else:
        found = f"{off:.1e} of the largest number off" if off < torch.inf else problem
        raise ValueError(f"{name} gives another output when it is called again ({found})")
    if plane.query_alone and not plane.by_rows:
        raise ValueError(
            f"the query of {name} cannot move alone, for tokens meet in a way that is not followed"
            f" ({problem})"
            if problem
            else f"{name} has no tokens that meet; use moves='token'"
        )
    plane.has_attention = plane.by_rows and len(run.logits) == 1 == len(run.products[:1])
    notes = []
    lower = [str(x) for x in types if x != torch.float64]
    if lower:
        notes.append(
            f"computed in torch.float64: weights and states in {' and '.join(lower)}, widened"
            f" exactly; the model's own output differs by {off:.1e} of its largest number"
        )
    if text and not plane.by_rows:
        notes.append(f"all tokens are computed at every point ({problem})")
    return tuple(notes)


# --- Nested objects -------------------------------------------------------------------------------


def _tensors(x: Any) -> Iterator[Any]:
    if isinstance(x, Carrier) or (isinstance(x, torch.Tensor) and x.is_floating_point()):
        yield x
    elif isinstance(x, Mapping):
        for part in x.values():
            yield from _tensors(part)
    elif isinstance(x, tuple | list):
        for part in x:
            yield from _tensors(part)
    elif hasattr(x, "__dataclass_fields__"):
        for part in vars(x).values():
            yield from _tensors(part)


def _mapped(x: Any, function: Callable) -> Any:
    """``x`` with ``function`` applied to all that is no tuple, list or dictionary."""
    if type(x) in (tuple, list):
        return type(x)(_mapped(part, function) for part in x)
    if type(x) is dict:
        return {key: _mapped(part, function) for key, part in x.items()}
    return function(x)


def _widened(x: Any) -> Any:
    """``x`` with its tensors in double precision, those within objects such as caches, too.

    One tensor that is given twice, as queries and as keys, stays one.
    """
    known: dict[int, torch.Tensor] = {}

    def widened(x: Any) -> Any:
        if isinstance(x, torch.Tensor):
            if id(x) not in known:
                y = x.detach().cpu()
                y = (
                    y.double()
                    if y.is_floating_point()
                    else y.to(torch.complex128)
                    if y.is_complex()
                    else y
                )
                known[id(x)] = y
            return known[id(x)]
        if hasattr(x, "__dict__") and not isinstance(x, torch.nn.Module | type) and not callable(x):
            for key, part in vars(x).items():
                vars(x)[key] = _mapped(part, widened)
        return x

    return _mapped(x, widened)
