"""The core in a process that imports nothing else, as a notebook's does, on one thread.

Peers are written as anyone would write them in torch, or are another library's. They compute the
same numbers, which `tests/test_benchmarks.py` checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pyvista
import torch
import trimesh
from torch.func import jacfwd, vmap
from torch.nn import functional

from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.stack import Attention, build_attention, build_classifier
from gating_core.checkpoints import HeadMeasures, Layer, head_map, measure_head, principal_plane
from gating_core.checkpoints.state_plane import state_plane
from gating_core.experiments.comparison.setting import PRICE_POINTS, price_points
from gating_core.export.surface import Colours, Surface, glb_file
from gating_core.geometry.curvature import curvature
from gating_core.geometry.grid import square_grid
from gating_core.geometry.price import PRICES, curvature_price
from gating_core.jets.second_order import second_order_jet
from gating_core.proved import Budget, ProvedCurvature, prove_curvature
from gating_core.randomness import generator
from gating_core.tasks.task import Task, make_task
from gating_core.training.recipe import BATCH_SIZE, LEARNING_RATE, Recipe
from gating_core.training.trainer import Batches, Trainer
from tests.benchmarks.rows import Row, in_turns, row, timed

Function = Callable[[torch.Tensor], torch.Tensor]
SHIFT = 1e-3  # standard deviation of a round's shift of all points
SIDE = 101  # of the grid that curvature is computed on: 10,201 points
TRAINED = AttentionConfig(model_dim=8, value_count=3, gate=GateConfig())
TOGETHER, STEPS, POINTS = 64, 400, 256
PRICED = AttentionConfig(model_dim=16, value_count=3, gate=GateConfig())  # TOGETHER pay
OPEN_SHARE = 0.05  # of the chart, at which a proof ends
HEADS, WIDTH, CHANNELS, TOKENS = 12, 384, 32, 64  # of a layer of all-MiniLM-L6-v2
BERT_SIZE = 768, 12, 3072, 32  # width, heads, width of the MLP, tokens
BERT_SIDE, FEW = 31, 9  # points along each side, and points of the peer
FILE_SIDE = 151  # the finest grid of a page


def gated_layer(dim: int) -> Attention:
    """Return an untrained layer: one head, ``dim`` values, elementwise sigmoid gate."""
    return build_attention(AttentionConfig(model_dim=dim, value_count=dim, gate=GateConfig()))


def shifted(number: int, side: int = SIDE) -> torch.Tensor:
    """(N, 2): the square's grid, shifted by a little that depends on the round's ``number``."""
    rng = generator(number, "benchmarks")
    return square_grid(side).points + SHIFT * torch.randn(2, generator=rng, dtype=torch.float64)


# --- Peers ----------------------------------------------------------------------------------------


def plain_layer(weights: Mapping[str, torch.Tensor], points: torch.Tensor) -> torch.Tensor:
    """(N, D): the output of a `gated_layer` at ``points`` (N, 2), from one member's weights."""
    hidden = points @ weights["input_map"] + weights["input_bias"]
    query, keys, bias, values, gate, gate_bias = (
        weights[f"layers.0.{name}"]
        for name in ("query", "keys", "bias", "values", "gate.weight", "gate.bias")
    )
    scores = hidden @ query @ keys.T * query.shape[0] ** -0.5 + bias
    return torch.softmax(scores, -1) @ values * torch.sigmoid(hidden @ gate + gate_bias)


def member_weights(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return the first member's weights by name."""
    return {name: parameter[0].clone() for name, parameter in model.named_parameters()}


def plain_curvature(function: Function, points: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(N,) each: K and the area element of ``function`` (N, 2) -> (N, D), by ``torch.func``."""
    slope = jacfwd(lambda point: function(point[None])[0])
    first, second = vmap(slope)(points), vmap(jacfwd(slope))(points)  # (N, D, 2), (N, D, 2, 2)
    metric = first.mT @ first
    second = second.flatten(2)
    normal = second - first @ torch.linalg.solve(metric, first.mT @ second)
    uu, uv, _, vv = normal.unbind(-1)
    determinant = torch.linalg.det(metric)
    return ((uu * vv).sum(-1) - uv.square().sum(-1)) / determinant, determinant.sqrt()


def mesh_curvature(function: Function, points: torch.Tensor) -> np.ndarray:
    """(N,): discrete Gaussian curvature of a surface (N, 3) over a square grid, by PyVista."""
    side = round(len(points) ** 0.5)
    surface = function(points).reshape(side, side, 3).numpy()
    grid = pyvista.StructuredGrid(*(surface[..., axis] for axis in range(3)))
    mesh = grid.extract_surface(algorithm="dataset_surface").triangulate()
    return mesh.curvature("gaussian")


def plain_training(task: Task, steps: int) -> dict[str, torch.Tensor]:
    """Return the weights of the task's first seed after ``steps``, by a loop in plain torch."""
    weights = member_weights(build_classifier(TRAINED, task.seeds[:1]).float())
    optimiser = torch.optim.Adam([x.requires_grad_() for x in weights.values()], lr=LEARNING_RATE)
    layer = {name.removeprefix("attention."): x for name, x in weights.items()}
    for points, labels in Batches(task, BATCH_SIZE).take(steps):
        logits = plain_layer(layer, points[0]) @ weights["weight"] + weights["bias"]
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(logits, labels[0]).backward()
        optimiser.step()
    return weights


def plain_head(layer: Layer, states: torch.Tensor, head: int) -> Function:
    """Return a head as a function of two coordinates on the principal plane of ``states``."""
    origin, *directions = principal_plane(states).state
    keys, values = states @ layer.key[head].T, states @ layer.value[head].T

    def outputs(points: torch.Tensor) -> torch.Tensor:
        queries = (origin + points @ torch.stack(directions)) @ layer.query[head].T
        return torch.softmax(queries @ keys.T * keys.shape[1] ** -0.5, -1) @ values

    return outputs


def plain_total(function: Function) -> float:
    """Return the total curvature of a head on `measure_head`'s grid."""
    grid = square_grid(31)
    gaussian, area = plain_curvature(function, grid.points)
    return float((gaussian.abs() * area * grid.weights.flatten()).sum())


def trimesh_file(surface: Surface) -> bytes:
    """Return the same binary glTF as `glb_file`, by trimesh."""
    rows, columns = surface.resolved.shape
    corner = np.arange(rows * columns).reshape(rows, columns)
    a, b, c, d = (x.ravel() for x in (corner[:-1, :-1], corner[:-1, 1:], corner[1:, 1:],
                                      corner[1:, :-1]))  # fmt: skip
    triangles = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
    mesh = trimesh.Trimesh(
        surface.points.reshape(-1, 3),
        triangles,
        vertex_colors=surface.colours.rgb.reshape(-1, 3),
        process=False,
    )
    return mesh.export(file_type="glb", include_normals=True)


# --- Rows -----------------------------------------------------------------------------------------


def curvatures() -> Iterator[Row]:
    """K of a layer of 16 channels and values at 10,000 points, and of a surface in space."""
    torch.set_num_threads(1)
    model = gated_layer(16)
    weights = member_weights(model)
    ours = {f"K at 10,000 points, {what}": bound for what, bound in
            (("no bounds", "estimate"), ("rigorous bounds", "rigorous"))}  # fmt: skip
    peer = "torch.func: jacfwd of jacfwd, no bounds"
    measured = {
        what: timed(lambda points, bound=bound: curvature(second_order_jet(model, points, bound)),
                    shifted) for what, bound in ours.items()
    }  # fmt: skip
    measured[peer] = timed(lambda x: plain_curvature(lambda p: plain_layer(weights, p), x), shifted)
    seconds = in_turns(measured, 10)
    yield from (row(seconds, what, peer) for what in ours)

    model = gated_layer(3)
    what, peer = "K of a surface in 3-D, no bounds", "PyVista: discrete curvature of a mesh"
    measured = {
        what: timed(lambda points: curvature(second_order_jet(model, points)), shifted),
        peer: timed(lambda points: mesh_curvature(lambda p: model(p)[0], points), shifted),
    }
    yield row(in_turns(measured, 20, limit_s=6.0), what, peer)


def training() -> Iterator[Row]:
    """The time of one model of 64 that train together, against a plain loop for one."""
    torch.set_num_threads(1)
    what, peer = f"training, a model of {TOGETHER} trained together", "plain torch loop, one model"

    def task(number: int) -> Task:
        return make_task("circle", POINTS, seeds=range(TOGETHER * number, TOGETHER * (number + 1)))

    measured = {
        what: timed(lambda data: Trainer([TRAINED], data, Recipe()).advance(STEPS), task),
        peer: timed(lambda data: plain_training(data, STEPS), task),
    }
    yield row(in_turns(measured, 6), what, peer, (TOGETHER, 1))


def prices() -> Iterator[Row]:
    """A price on curvature and its gradient, against a pass without it, at as many points."""
    torch.set_num_threads(1)
    peer = f"forward and backward, {PRICE_POINTS} points"
    model = build_attention(PRICED, range(TOGETHER)).float().requires_grad_(True)
    measured = {
        f"price on {of} of {TOGETHER} models, {PRICE_POINTS} points": timed(
            lambda points, of=of: curvature_price(model, points, of).sum().backward(),
            lambda number: price_points(model.seeds, number).float(),
        )
        for of in PRICES
    }
    measured[peer] = timed(
        lambda points: model(points).square().sum().backward(),
        lambda number: price_points(model.seeds, number).float(),
    )
    seconds = in_turns(measured, 40)
    yield from (row(seconds, what, peer) for what in measured if what != peer)


def signs() -> Iterator[Row]:
    """Signs of K proved cell by cell, against K at as many points, which proves nothing between."""
    torch.set_num_threads(1)
    what, peer = (
        f"signs of K proved on {1 - OPEN_SHARE:.0%} of a chart",
        "torch.func: K at as many points",
    )
    model = gated_layer(3)
    weights = member_weights(model)
    side = round(proved(model).count ** 0.5) | 1  # grids are odd
    measured = {
        what: timed(lambda _: proved(model), lambda number: None),
        peer: timed(lambda x: plain_curvature(lambda p: plain_layer(weights, p), x),
                    lambda number: shifted(number, side)),
    }  # fmt: skip
    yield row(in_turns(measured, 6), what, peer)


def proved(model: Function) -> ProvedCurvature:
    """Return the signs, proved on all but `OPEN_SHARE` of the chart."""
    return prove_curvature(model, budget=Budget(60.0, 10**6, OPEN_SHARE, float("inf")))


def heads() -> Iterator[Row]:
    """Plane and total curvature of all heads of a real layer's size: the page *Real heads*."""
    torch.set_num_threads(1)
    what, peer = (
        f"{HEADS} heads of MiniLM's size, rigorous bounds",
        "torch.func: the same totals, no bounds",
    )
    measured = {
        what: timed(lambda x: measured_heads(*x), random_layer),
        peer: timed(lambda x: [plain_total(plain_head(*x, n)) for n in range(HEADS)], random_layer),
    }
    yield row(in_turns(measured, 8), what, peer)


def random_layer(number: int) -> tuple[Layer, torch.Tensor]:
    """Return a layer of MiniLM's size and the states of a text, drawn for a round."""
    rng = generator(number, "benchmarks: heads")

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=rng, dtype=torch.float64)

    query, key, value = (size * WIDTH**-0.5 * normal(HEADS, CHANNELS, WIDTH) for size in (2, 2, 1))
    return Layer(0, query, key, value, causal=False), normal(TOKENS, WIDTH)


def measured_heads(layer: Layer, states: torch.Tensor) -> list[HeadMeasures]:
    """Return the measures of all heads of a layer on the principal plane of ``states``."""
    plane = principal_plane(states)
    return [measure_head(head_map(layer, states, head, plane)) for head in range(layer.heads)]


def files() -> Iterator[Row]:
    """A coloured surface of 151 x 151 points as a file."""
    torch.set_num_threads(1)
    what, peer = f"a surface of {FILE_SIDE} x {FILE_SIDE} points as GLB", "trimesh: the same GLB"
    measured = {what: timed(glb_file, drawn_surface), peer: timed(trimesh_file, drawn_surface)}
    yield row(in_turns(measured, 12, limit_s=6.0), what, peer)


def drawn_surface(number: int, side: int = FILE_SIDE) -> Surface:
    """Return a measured surface, coloured by K."""
    jet = second_order_jet(gated_layer(3), shifted(number, side))
    gaussian = curvature(jet).gaussian.reshape(side, side).numpy()
    table = np.repeat(np.arange(256, dtype=np.uint8)[:, None], 3, 1)
    colours = Colours(gaussian, float(gaussian.min()), float(gaussian.max()), table, "K", {})
    points = jet.value.reshape(side, side, 3).numpy()
    return Surface(points, np.ones((side, side), bool), {"K": gaussian}, colours, "a benchmark")


def modules() -> Iterator[Row]:
    """K of a layer of BERT's base size over the plane of one token's states."""
    torch.set_num_threads(1)
    layer, states = encoder_layer(*BERT_SIZE)
    plane = state_plane(layer, "", states, token=7)
    function = plain_encoder(layer, states, plane.plane.state, 7)
    peer = f"torch.func: jacfwd of jacfwd at {FEW} of the points, no bounds"
    name = f"K of a BERT-base layer, {BERT_SIZE[-1]} tokens, {BERT_SIDE} × {BERT_SIDE} points"
    measured = {
        f"{name}, {what}": timed(
            lambda points, bound=bound: curvature(second_order_jet(plane, points, bound)),
            lambda number: shifted(number, BERT_SIDE),
        )
        for what, bound in (("no bounds", "estimate"), ("rigorous bounds", "rigorous"))
    }
    ours = [*measured]
    measured[peer] = timed(
        lambda points: plain_curvature(function, points),
        lambda number: shifted(number, BERT_SIDE)[:FEW],
    )
    seconds = in_turns(measured, 3)
    yield from (row(seconds, what, peer, (BERT_SIDE**2, FEW)) for what in ours)


def encoder_layer(width: int, heads: int, wide: int, tokens: int) -> tuple[Any, torch.Tensor]:
    """Return a layer as BERT's, in float64, and what it reads, (1, tokens, width)."""
    rng = generator(0, "benchmarks: modules")
    layer = torch.nn.TransformerEncoderLayer(
        width, heads, wide, activation="gelu", batch_first=True
    )
    layer = layer.double().eval().requires_grad_(False)
    for weight in layer.parameters():
        weight.copy_(torch.randn(weight.shape, generator=rng, dtype=torch.float64) * width**-0.5)
    return layer, torch.randn(1, tokens, width, generator=rng, dtype=torch.float64)


def plain_encoder(layer: Any, states: torch.Tensor, plane: torch.Tensor, token: int) -> Function:
    """Return the layer as a function of two coordinates, as anyone would write it."""
    attention = layer.self_attn
    here = torch.arange(states.shape[1])[:, None] == token

    def by_head(x: torch.Tensor) -> torch.Tensor:
        return x.unflatten(-1, (attention.num_heads, -1)).movedim(-2, -3)

    def outputs(points: torch.Tensor) -> torch.Tensor:
        moved = plane[0] + points @ plane[1:]
        x = torch.where(here, moved[:, None], states)
        inputs = functional.linear(x, attention.in_proj_weight, attention.in_proj_bias)
        q, k, v = map(by_head, inputs.chunk(3, -1))
        weights = torch.softmax(q @ k.mT * q.shape[-1] ** -0.5, -1)
        mixed = (weights @ v).movedim(-3, -2).flatten(-2)[:, token]
        x = normed(layer.norm1, x[:, token] + attention.out_proj(mixed))
        return normed(layer.norm2, x + layer.linear2(functional.gelu(layer.linear1(x))))

    return outputs


def normed(norm: torch.nn.LayerNorm, x: torch.Tensor) -> torch.Tensor:
    """LayerNorm written out: torch's own has wrong second derivatives in forward mode."""
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    return centred * (variance + norm.eps).rsqrt() * norm.weight + norm.bias


GROUPS = curvatures, training, prices, signs, heads, modules, files
