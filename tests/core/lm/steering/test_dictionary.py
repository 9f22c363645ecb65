"""Sparse autoencoders that are bundled, against plain loops and their cards."""

import numpy as np
import pytest
import torch

from gating_core.lm.corpus import excerpt_texts
from gating_core.lm.shipped import load_model
from gating_core.lm.steering.streams import KINDS, SIZE, load_dictionaries, streams, trailing_means


@pytest.fixture(scope="module")
def dictionaries():
    return load_dictionaries("none", 0)


def test_features_and_reconstruction_are_those_of_plain_loops(dictionaries):
    dictionary = dictionaries.kinds["characters"].dictionary.layer(1)
    draw = torch.Generator().manual_seed(0)
    states = dictionary.mean + dictionary.scale * torch.randn(7, 96, generator=draw)
    features = dictionary.encode(states)
    back = dictionary.decode(features)
    for row, state in enumerate(states.double().numpy()):
        centred = (state - dictionary.mean.numpy()) / float(dictionary.scale)
        values = [
            max(0.0, float(dictionary.encoder[j].numpy() @ centred + dictionary.bias[j]))
            for j in range(SIZE)
        ]
        largest = sorted(range(SIZE), key=lambda j: -values[j])[: dictionary.active]
        want = [values[j] if j in largest else 0.0 for j in range(SIZE)]
        np.testing.assert_allclose(features[row], want, atol=1e-5)
        total = dictionary.mean.numpy() + float(dictionary.scale) * sum(
            want[j] * dictionary.directions[j].numpy() for j in range(SIZE)
        )
        np.testing.assert_allclose(back[row], total, atol=1e-4)
    with pytest.raises(ValueError, match="3 channels; the dictionary has 96"):
        dictionary.encode(torch.ones(2, 3))


def test_cards_and_statistics_are_those_of_the_dictionary(dictionaries):
    """On an eighth of the verses that the card and the statistics are of."""
    texts, trained = excerpt_texts()[::8], dictionaries.kinds["means"]
    residual = trailing_means(streams(load_model("none", 0)[0], texts))
    spanish, states = (residual.texts >= len(texts) // 2).numpy(), residual.states[1]
    dictionary, card = trained.dictionary.layer(1), trained.cards[1]
    lengths = dictionary.directions.norm(dim=-1)
    torch.testing.assert_close(lengths, torch.ones(SIZE), atol=1e-3, rtol=0)
    features = dictionary.encode(states)
    left = (dictionary.decode(features) - states).square().sum()
    total = (states - states.mean(0)).square().sum()
    assert card.explained == pytest.approx(float(1 - left / total), abs=5e-3)
    assert card.active == pytest.approx(float((features > 0).sum(1).float().mean()), abs=0.05)
    assert card.dead <= int((~(features > 0).any(0)).sum())
    chosen = trained.statistics.language_feature(1, spanish=True)
    column = features[:, chosen].numpy()
    others = np.sort(column[~spanish])  # the area under the curve: the share of pairs in order
    below, upto = (np.searchsorted(others, column[spanish], side) for side in ("left", "right"))
    auc = (below + upto).mean() / 2 / len(others)
    assert trained.statistics.auc[1, chosen] == pytest.approx(auc, abs=5e-3)
    difference = column[spanish].mean() - column[~spanish].mean()
    assert trained.statistics.difference[1, chosen] == pytest.approx(difference, rel=0.05)
    best = {kind: one.statistics.auc.max() for kind, one in dictionaries.kinds.items()}
    assert set(best) == set(KINDS)
    assert best["means"] > 0.99
    assert max(best["characters"], best["plain"]) < 0.8  # a wrong dictionary beside the right one
