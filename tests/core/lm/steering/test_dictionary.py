"""Sparse autoencoders against plain loops, and against directions that were planted."""

import numpy as np
import pytest
import torch

from gating_core.lm.steering.dictionary import (
    Dictionary,
    DictionaryRecipe,
    describe,
    prefix_errors,
    sparse,
    train_dictionary,
)

SMALL = DictionaryRecipe(prefixes=(2, 6), active=2, steps=20, batch=16)


def trained(states, recipe=SMALL, seed=0):
    *_, (_, last) = train_dictionary(states, recipe, seed)
    return last


def planted(count=4000, width=8, axes=4, active=2, seed=0):
    """States that are sums of two of four orthogonal directions or their opposites."""
    draw = torch.Generator().manual_seed(seed)
    directions = torch.linalg.qr(torch.randn(width, width, generator=draw))[0][:axes]
    chosen = torch.rand(count, axes, generator=draw).argsort(-1)[:, :active]
    sizes = 1 + torch.rand(count, active, generator=draw)
    signs = 2 * torch.randint(2, sizes.shape, generator=draw) - 1
    weights = torch.zeros(count, axes).scatter(1, chosen, sizes * signs)
    return weights @ directions, directions


def test_features_and_reconstruction_are_those_of_plain_loops():
    states, _ = planted(40)
    dictionary = trained(states)
    features = dictionary.encode(states)
    back = dictionary.decode(features)
    for row, state in enumerate(states.numpy()):
        centred = (state - dictionary.mean.numpy()) / float(dictionary.scale)
        values = [
            max(0.0, float(dictionary.encoder[j].numpy() @ centred + dictionary.bias[j]))
            for j in range(6)
        ]
        largest = sorted(range(6), key=lambda j: -values[j])[:2]
        want = [values[j] if j in largest else 0.0 for j in range(6)]
        np.testing.assert_allclose(features[row], want, atol=1e-5)
        total = dictionary.mean.numpy().copy()
        for j in range(6):
            total = total + float(dictionary.scale) * want[j] * dictionary.directions[j].numpy()
        np.testing.assert_allclose(back[row], total, atol=1e-5)


def test_prefixes_are_measured_one_by_one():
    states, _ = planted(50)
    dictionary = trained(states)
    features = dictionary.encode(states)
    errors = prefix_errors(dictionary, states, (2, 6))
    for size, error in zip((2, 6), errors, strict=True):
        cut = features.clone()
        cut[:, size:] = 0
        wrong = (dictionary.decode(cut) - states) / dictionary.scale
        torch.testing.assert_close(error, wrong.square().sum(-1).mean())


def test_planted_directions_come_back():
    states, axes = planted(active=1)
    recipe = DictionaryRecipe(prefixes=(24,), active=1, steps=400, batch=256, learning_rate=1e-2)
    dictionary = trained(states, recipe)
    cosines = torch.cat([axes, -axes]) @ dictionary.directions.T
    assert cosines.amax(1).min() > 0.97
    card = describe(dictionary, planted(500, active=1)[0])
    assert card.explained > 0.95
    assert card.active <= 1
    other = describe(dictionary, planted(500, active=1, seed=1)[0])  # other directions
    assert other.explained < 0.8


def test_layers_are_trained_side_by_side_and_do_not_touch_each_other():
    first, second = planted(60)[0], planted(60, seed=1)[0]
    both = trained(torch.stack([first, second]))
    other = trained(torch.stack([first, 5 * first]))
    for name in ("encoder", "bias", "directions", "mean", "scale"):
        assert torch.equal(getattr(both.layer(0), name), getattr(other.layer(0), name))
    torch.testing.assert_close(both.directions.norm(dim=-1), torch.ones(2, 6))
    assert torch.equal(both.encode(torch.stack([first, second]))[1], both.layer(1).encode(second))


def test_a_seed_gives_the_same_bits():
    states, _ = planted(60)
    assert torch.equal(trained(states).encoder, trained(states).encoder)
    assert not torch.equal(trained(states).encoder, trained(states, seed=1).encoder)


def test_a_dead_feature_and_equal_values():
    dictionary = Dictionary(
        torch.eye(3),
        torch.tensor([0.0, 0.0, -1e9]),
        torch.eye(3),
        torch.zeros(3),
        torch.tensor(1.0),
        active=3,
    )
    assert describe(dictionary, torch.eye(3)).dead == 1
    assert (sparse(torch.ones(4), 2) > 0).sum() == 2
    assert not sparse(-torch.ones(4), 2).any()


@pytest.mark.parametrize(("states", "message"), [
    (torch.full((9, 8), torch.nan), "not finite"),
    (torch.ones(9, 8), "all the same"),
])  # fmt: skip
def test_states_that_teach_nothing_are_refused(states, message):
    with pytest.raises(ValueError, match=message):
        trained(states)


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="3 channels; the dictionary has 8"):
        trained(planted(20)[0]).encode(torch.ones(2, 3))
    for prefixes in ((), (6, 2), (2, 2), (0, 4)):
        with pytest.raises(ValueError, match="prefixes"):
            DictionaryRecipe(prefixes=prefixes, active=1)
    with pytest.raises(ValueError, match="active"):
        DictionaryRecipe(prefixes=(2, 4), active=5)
