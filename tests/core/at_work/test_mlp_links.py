"""Links from attention to MLPs: what they cost, and gradients against finite differences."""

from dataclasses import replace

import pytest
import torch

from gating_core.at_work import attention_gradients, link_costs
from gating_core.language import (
    WIRINGS,
    LanguageModel,
    ModelConfig,
    mean_loss,
    row_losses,
    rows_of,
    text_losses,
)

CONFIG = ModelConfig(depth=3, width=12, heads=3, context=24)
TEXTS = ["In the beginning", "Y dijo Dios: Sea la luz"]


def lively(wiring):
    model = LanguageModel(replace(CONFIG, wiring=wiring), 0).double().requires_grad_(False)
    for weight in model.parameters():
        weight.mul_(5)
    return model


@pytest.mark.parametrize("wiring", WIRINGS)
def test_a_link_costs_the_loss_without_it_less_the_loss_with_it(wiring):
    model = lively(wiring)
    costs = link_costs(model, TEXTS)
    assert costs.shape == (3, 2)
    whole, counts = text_losses(model, TEXTS)
    for layer in range(3):
        cut, _ = text_losses(model, TEXTS, cut=(layer,))
        torch.testing.assert_close(costs[layer], (cut - whole) / counts)
    linked = [layer for layer in range(3) if wiring != "parallel" or layer == 0]
    assert [bool(row.any()) for row in costs] == [layer in linked for layer in range(3)]


@pytest.mark.parametrize("wiring", WIRINGS)
def test_gradients_are_those_of_finite_differences(wiring):
    model = lively(wiring)
    found = attention_gradients(model, TEXTS)
    assert not any(weight.requires_grad for weight in model.parameters())
    rows = rows_of(TEXTS, 24)
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
    assert float(mean_loss(model, TEXTS)) > 0
