"""Training: the same bits after a kill, the same data for all, and losses counted by hand."""

import math
from dataclasses import replace

import pytest
import torch

from gating_core.attention import GateConfig
from gating_core.characters import decode, encode
from gating_core.lm import table
from gating_core.lm.config import ModelConfig
from gating_core.lm.corpus import Verse, read_excerpt, write_verses
from gating_core.lm.losses import mean_loss, rows_of, text_losses
from gating_core.lm.model import LanguageModel
from gating_core.lm.shipped import (
    FOLDER,
    MODELS,
    Card,
    half_precision,
    load_model,
    model_file,
    model_path,
    shipped,
)
from gating_core.lm.training import LanguageRecipe, Training, TrainingText

TINY = ModelConfig(depth=2, width=8, heads=2, context=16, gate=GateConfig(), topology="fal")
SHORT = LanguageRecipe(steps=12, batch=4, warmup=3)


@pytest.fixture(scope="module")
def text():
    verses = [replace(verse, reference=f"Job 1:{n}") for n, verse in enumerate(read_excerpt())]
    return TrainingText.of(verses)


def test_a_batch_depends_on_seed_and_step_only_and_begins_with_verses(text):
    batch = text.batch(0, 3, 8, 16)
    assert batch.shape == (8, 17)
    assert not batch[:, 0].any()
    assert torch.equal(batch, text.batch(0, 3, 8, 16))
    assert not torch.equal(batch, text.batch(0, 4, 8, 16))
    assert not torch.equal(batch, text.batch(1, 3, 8, 16))
    whole = decode(text.numbers)
    assert all(decode(row) in whole for row in batch)


def test_held_out_verses_are_not_trained_on():
    kept, held = (
        next(
            verse
            for verse in (Verse(f"Job 1:{n}", word, word) for n in range(500))
            if verse.held_out == out
        )
        for word, out in (("kept", False), ("held", True))
    )
    assert decode(TrainingText.of([kept, held]).numbers) == "\nkept\nkept"


def test_the_rate_rises_in_a_line_and_falls_in_half_a_cosine():
    recipe = LanguageRecipe(steps=100, learning_rate=2.0, warmup=10)
    assert recipe.rate(0) == pytest.approx(0.2)
    assert recipe.rate(50) == pytest.approx(1.0)
    assert recipe.rate(100) == pytest.approx(0.0)
    rates = [recipe.rate(step) for step in range(101)]
    assert max(rates) < 2.0
    assert rates[9:] == sorted(rates[9:], reverse=True)


def test_training_that_diverges_says_so(text):
    training = Training(TINY, 0, SHORT, text)
    with torch.no_grad():
        training.model.read_out.weight.fill_(math.nan)
    with pytest.raises(ArithmeticError, match="the loss of step 0 is nan"):
        list(training.advance(1))


def test_losses_are_the_mean_over_the_characters_of_each_text():
    model, texts = LanguageModel(TINY, 0).requires_grad_(False), ["abc", "a longer text than fits"]
    sums, counts = text_losses(model, texts)
    assert counts.tolist() == [4, 16]  # the break after "abc" counts; what does not fit is cut
    for row, some in enumerate(texts):
        numbers = torch.cat((encode(some), torch.tensor([0])))[:17]
        logits = model(numbers[None, :-1])[0].double()
        want = sum(-float(logits[t].log_softmax(-1)[n]) for t, n in enumerate(numbers[1:]))
        assert float(sums[row]) == pytest.approx(want, rel=1e-5)
    assert mean_loss(model, texts) == pytest.approx(float(sums.sum()) / 20)
    assert mean_loss(model, texts, 0.0) != mean_loss(model, texts)
    rows = rows_of(["ab"], 4)
    assert (decode(rows.read[0]), decode(rows.targets[0])) == ("\nab\n", "ab\n\n")
    assert rows.counted.tolist() == [[True, True, True, False]]


def test_a_shipped_model_comes_back_in_half_precision_with_its_card(tmp_path):
    model, card = LanguageModel(TINY, 5), Card("none", 5, 10, 100, SHORT, {"both": 1.0}, 2.0)
    path = model_path("none", 5, tmp_path)
    path.write_bytes(model_file(half_precision(model), TINY, card))
    loaded, told = load_model("none", 5, tmp_path)
    assert (loaded.config, told) == (TINY, card)
    for name, weight in loaded.named_parameters():
        assert torch.equal(weight, model.get_parameter(name).detach().half().float())
    assert path.stat().st_size < 2.1 * sum(w.numel() for w in model.parameters()) + 6000
    wrong = model_file(half_precision(model), replace(TINY, topology="usual"), card)
    for data in (b"", path.read_bytes()[:-1], wrong):
        path.write_bytes(data)
        with pytest.raises(ValueError, match=r"none-5\.safetensors holds no language model"):
            load_model("none", 5, tmp_path)
    with pytest.raises(ValueError, match=r"none-6\.safetensors holds no language model"):
        load_model("none", 6, tmp_path)


def test_a_row_of_the_table_is_trained_and_its_file_holds_what_its_card_says(tmp_path, monkeypatch):
    verses = [replace(verse, reference=f"Job 1:{n}") for n, verse in enumerate(read_excerpt())]
    write_verses(verses, tmp_path / "corpus.tsv")
    monkeypatch.setattr(table, "read_excerpt", lambda: verses[:3])
    cards = [
        table.train_row("g2", 1, LanguageRecipe(steps=4, batch=2), tmp_path / "corpus.tsv", folder)
        for folder in (tmp_path / "a", tmp_path / "b")
    ]
    (model, card), (same, _) = (load_model("g2", 1, tmp_path / name) for name in "ab")
    assert card == cards[0] == replace(cards[1], seconds=card.seconds)
    for name, weight in same.named_parameters():  # the same bits
        assert torch.equal(weight, model.get_parameter(name))
    assert card.losses == pytest.approx(table.excerpt_losses(model), abs=1e-6)
    assert card.verses == sum(not verse.held_out for verse in verses)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("name", "seed"),
    [
        pytest.param(*row, marks=[pytest.mark.soak] * (row not in [("none", 0), ("g1_channel", 0)]))
        for row in shipped()
    ],
)
def test_a_shipped_model_has_the_loss_that_its_card_tells(name, seed):
    model, card = load_model(name, seed)
    assert (model.config, card.name, card.seed) == (MODELS[name], name, seed)
    texts = [verse.english for verse in read_excerpt()]
    assert mean_loss(model, texts) == pytest.approx(card.losses["english"], abs=1e-4)


def test_all_shipped_models_read_the_same_and_are_small():
    cards = [load_model(*row)[1] for row in shipped()]
    assert len({(card.verses, card.characters, card.recipe) for card in cards}) <= 1
    assert sum(path.stat().st_size for path in FOLDER.glob("*.safetensors")) < 31e6
