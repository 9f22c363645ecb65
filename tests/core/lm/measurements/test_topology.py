"""What topologies are compared by: costs of links, gradients against differences, and surfaces."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gating_core.attention import GateConfig
from gating_core.characters import encode
from gating_core.geometry import square_grid
from gating_core.lm.config import TOPOLOGIES, ModelConfig
from gating_core.lm.losses import mean_loss, row_losses, rows_of, text_losses
from gating_core.lm.measurements.topology import (
    attention_gradients,
    block_outputs,
    block_surfaces,
    link_costs,
    topology,
    without_attention,
)
from tests.core.lm.lively import lively as of_config

CONFIG = ModelConfig(depth=2, width=12, heads=3, context=24)
TEXTS = ["In the beginning", "Y dijo Dios: Sea la luz", "God said"]


def lively(**changes):
    return of_config(replace(CONFIG, **changes), scale=6.0).float()


@pytest.mark.parametrize("kind", TOPOLOGIES)
def test_a_link_costs_the_loss_without_it_less_the_loss_with_it(kind):
    model = lively(depth=3, topology=kind).double()
    costs = link_costs(model, TEXTS[:2])
    assert costs.shape == (3, 2)
    whole, counts = text_losses(model, TEXTS[:2])
    for layer in range(3):
        cut, _ = text_losses(model, TEXTS[:2], hooks=without_attention([layer]))
        torch.testing.assert_close(costs[layer], (cut - whole) / counts)
    linked = [layer for layer in range(3) if kind != "parallel" or layer == 0]
    assert [bool(row.any()) for row in costs] == [layer in linked for layer in range(3)]


@pytest.mark.parametrize("kind", TOPOLOGIES)
def test_gradients_are_those_of_finite_differences(kind):
    model = lively(depth=3, topology=kind).double()
    found = attention_gradients(model, TEXTS[:2])
    assert not any(weight.requires_grad for weight in model.parameters())
    rows = rows_of(TEXTS[:2], 24)
    for layer, block in enumerate(model.layers):
        # Along the gradient itself the loss changes by its length. The bias of a projection is
        # added to all outputs alike, so a random direction is compared instead.
        shift = torch.randn(2, 24, 12, generator=torch.Generator().manual_seed(layer)).double()

        def loss(step, block=block, shift=shift):
            def moved(module, args, output):
                return output + step * shift

            handle = block.attention.register_forward_hook(moved)
            losses = row_losses(model(rows.read), rows.targets)[rows.counted].mean()
            handle.remove()
            return losses

        step = torch.tensor(0.0, dtype=torch.float64, requires_grad=True)
        (slope,) = torch.autograd.grad(loss(step), step)
        difference = (loss(1e-5) - loss(-1e-5)) / 2e-5
        assert float(slope) == pytest.approx(float(difference), rel=1e-5)
        assert abs(float(slope)) <= float(found[layer] * shift.norm())
    assert (found > 0).all()
    assert float(mean_loss(model, TEXTS[:2])) > 0


@pytest.mark.parametrize("kind", ["usual", "fal", "parallel"])
def test_the_corners_of_the_plane_are_the_characters_themselves(kind):
    model = lively(topology=kind)
    corners = torch.tensor([[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]], dtype=torch.float64)
    found = block_outputs(model, "God ", "eao")(corners)
    for place, character in enumerate("eao"):
        _, records = model.record(encode("God " + character)[None])
        for layer, record in enumerate(records):
            torch.testing.assert_close(
                found[layer, place].float(), record.stream[0, -1], rtol=1e-4, atol=1e-4
            )
    assert model.embed.weight.dtype == torch.float32  # it was copied, not changed


def test_between_corners_the_embedding_is_affine():
    model = lively().double()
    middle = torch.tensor([[0.0, 0.0]], dtype=torch.float64)  # opposite corners' mean
    found = block_outputs(model, "God ", "eao")(middle)
    stream = model.embedded(encode("God e")[None])
    a, o = (model.embed.weight[encode(x)[1]] for x in "ao")
    e = model.embed.weight[encode("e")[1]]
    stream[0, -1] += (a + o) / 2 - e
    _, records = model.record(encode("God e")[None], hooks={"embedded": lambda *_: stream})
    torch.testing.assert_close(found[:, 0], torch.stack([r.stream[0, -1] for r in records]))


def test_a_stream_to_which_nothing_is_added_is_flat_and_others_curve():
    model = lively()
    grid = square_grid(5)
    curved = block_surfaces(model, grid)
    assert (curved.total > curved.total_error).all()
    for block in model.layers:
        for weight in (block.attention.project.weight, block.down.weight):
            weight.zero_()
        block.down.bias.zero_()
    flat = block_surfaces(model, grid)
    assert (flat.total <= flat.total_error).all() or not flat.total.any()
    assert np.ptp(flat.values[0] - flat.values[1]) == 0


def test_topologies_are_measured_by_block_and_gates_are_not(monkeypatch):
    monkeypatch.setattr("gating_core.lm.measurements.topology.GRID", square_grid(3))
    monkeypatch.setattr("gating_core.lm.measurements.topology.GRADIENT_TEXTS", 2)
    found = topology(lively(topology="parallel"), TEXTS)
    assert found["links"].shape == (2, 3)
    assert found["links"][0].any()
    assert not found["links"][1].any()  # nothing to take out
    assert found["gradients"].shape == (2, 2)
    assert (found["gradients"] > 0).all()
    assert found["total"].shape == found["total_error"].shape == found["complete"].shape == (2,)
    assert topology(lively(gate=GateConfig()), TEXTS) == {}
