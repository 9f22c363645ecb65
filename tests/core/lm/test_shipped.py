"""Bundled models have the losses that their cards tell; losses are counted by hand."""

from dataclasses import asdict, replace

import pytest
import torch

from gating_core.attention import GateConfig
from gating_core.characters import decode, encode
from gating_core.lm.corpus import read_excerpt
from gating_core.lm.losses import rows_of, text_losses
from gating_core.lm.model import LanguageModel, ModelConfig
from gating_core.lm.shipped import FOLDER, MODELS, Card, load_model, model_path, shipped
from gating_core.records import save_tensors

TINY = ModelConfig(depth=2, width=8, heads=2, context=16, gate=GateConfig(), topology="fal")


def test_losses_are_the_mean_over_the_characters_of_each_text():
    model, texts = LanguageModel(TINY, 0).requires_grad_(False), ["abc", "a longer text than fits"]
    sums, counts = text_losses(model, texts)
    assert counts.tolist() == [4, 16]  # the break after "abc" counts; what does not fit is cut
    for row, some in enumerate(texts):
        numbers = torch.cat((encode(some), torch.tensor([0])))[:17]
        logits = model(numbers[None, :-1])[0].double()
        want = sum(-float(logits[t].log_softmax(-1)[n]) for t, n in enumerate(numbers[1:]))
        assert float(sums[row]) == pytest.approx(want, rel=1e-5)
    ungated, _ = text_losses(model, texts, strength=0.0)
    assert (ungated != sums).all()
    rows = rows_of(["ab"], 4)
    assert (decode(rows.read[0]), decode(rows.targets[0])) == ("\nab\n", "ab\n\n")
    assert rows.counted.tolist() == [[True, True, True, False]]


def test_a_model_comes_back_with_its_card_and_other_files_are_refused(tmp_path):
    model, card = LanguageModel(TINY, 5), Card("none", 5, 10, 100, {}, {"both": 1.0}, 2.0)
    path = model_path("none", 5, tmp_path)

    def save(config):
        fields = asdict(config)
        fields["wiring"] = fields.pop("topology")
        halves = {name: x.detach().half().numpy() for name, x in model.named_parameters()}
        save_tensors(path, halves, {"config": fields, "card": asdict(card)})
        return path.read_bytes()

    data = save(TINY)
    loaded, told = load_model("none", 5, tmp_path)
    assert (loaded.config, told) == (TINY, card)
    for name, weight in loaded.named_parameters():
        assert torch.equal(weight, model.get_parameter(name).detach().half().float())
    for wrong in (b"", data[:-1], save(replace(TINY, topology="usual"))):
        path.write_bytes(wrong)
        with pytest.raises(ValueError, match=r"none-5\.safetensors holds no language model"):
            load_model("none", 5, tmp_path)
    with pytest.raises(ValueError, match=r"none-6\.safetensors holds no language model"):
        load_model("none", 6, tmp_path)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("name", "seed"),
    [
        pytest.param(*row, marks=[pytest.mark.soak] * (row not in [("none", 0), ("g1_channel", 0)]))
        for row in shipped()
    ],
)
def test_a_bundled_model_has_the_loss_that_its_card_tells(name, seed):
    model, card = load_model(name, seed)
    assert (model.config, card.name, card.seed) == (MODELS[name], name, seed)
    sums, counts = text_losses(model, [verse.english for verse in read_excerpt()])
    assert float(sums.sum() / counts.sum()) == pytest.approx(card.losses["english"], abs=1e-4)


def test_all_bundled_models_read_the_same_and_are_small():
    cards = [load_model(*row)[1] for row in shipped()]
    assert len({(card.verses, card.characters, str(card.recipe)) for card in cards}) == 1
    assert sum(path.stat().st_size for path in FOLDER.glob("*.safetensors")) < 31e6
