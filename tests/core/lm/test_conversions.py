"""Converted models: windows, linear attention, its branches, and how a conversion is made."""

from concurrent.futures import Future
from dataclasses import replace

import numpy as np
import pytest
import torch

from gating_core.attention import GateConfig
from gating_core.characters import encode
from gating_core.efficient import (
    delta_recurrent,
    elu_features,
    exponential_features,
    gated_output,
    linear_attention,
    log_decays,
)
from gating_core.lm import conversions, processes, table
from gating_core.lm.attention import KeyValueCache
from gating_core.lm.attention_kinds import causal_mask, softmax_weights
from gating_core.lm.config import ModelConfig
from gating_core.lm.conversions import (
    CONVERSIONS,
    FALLING,
    Conversion,
    ConversionRecipe,
    Converted,
    TrainingOn,
    convert,
    converted_model,
    load_conversion,
    load_converted,
    measure_conversion,
    save_converted,
    transfer,
    weights_path,
    without_branch,
    zero_output,
)
from gating_core.lm.corpus import excerpt_texts, read_excerpt
from gating_core.lm.losses import text_losses
from gating_core.lm.model import LanguageModel
from gating_core.lm.shipped import Card, digest, load_model
from gating_core.lm.training import LanguageRecipe, TrainingText

TINY = ModelConfig(depth=2, width=12, heads=3, context=16)
SHORT = ConversionRecipe(12, 2, training=LanguageRecipe(steps=4, batch=2, warmup=1))
TEXT = encode("In the beginnin")[None]
TEXTS = ["abc", "a longer text than fits", "in"]


@pytest.fixture(scope="module")
def text():
    verses = [replace(verse, reference=f"Job 1:{n}") for n, verse in enumerate(read_excerpt())]
    return TrainingText.of(verses)


def lively(seed=0, **config):
    """A model in float64 whose weights, learned features among them, are far from their start."""
    model = LanguageModel(replace(TINY, **config), seed).double().requires_grad_(False)
    draw = torch.Generator().manual_seed(seed)
    for weight in model.parameters():
        weight.mul_(4).add_(torch.randn(weight.shape, generator=draw).double(), alpha=0.3)
    return model


@pytest.mark.parametrize("attention", ["linear_elu", "linear_exponential"])
def test_a_branch_with_zero_output_leaves_the_other_its_weight(attention):
    """By hand: the weights of one layer; and with both branches zero attention adds nothing."""
    model = lively(attention=attention, window=4)
    record, layer = record_of(model)
    share = layer.learned.balance.sigmoid()
    whole = record.weights
    zeroed, _ = record_of(zero_output(model, "linear"))
    window = softmax_weights(record.scores, causal_mask(TEXT.shape[1], TEXT.shape[1], 4))
    torch.testing.assert_close(zeroed.weights, share * window)
    other, _ = record_of(zero_output(model, "window"))
    torch.testing.assert_close(zeroed.weights + other.weights, whole)
    nothing, _ = record_of(zero_output(model, "window", "linear"))
    assert not nothing.weights.any()
    assert record_of(model)[0].weights.equal(whole)  # the model itself is as it was
    losses = measure_conversion(model.float(), TEXTS)
    wanted = text_losses(zero_output(model, "linear"), TEXTS)[0].numpy()
    np.testing.assert_allclose(losses["zero_linear"], wanted, rtol=1e-6)


def record_of(model):
    _, records = model.record(TEXT)
    return records[0], model.layers[0].attention


def with_weights(model, **config):
    """The same weights in a model of another configuration."""
    other = LanguageModel(replace(model.config, **config)).double().requires_grad_(False)
    other.load_state_dict(model.state_dict())
    return other


@pytest.mark.parametrize("gate", [None, GateConfig()])
def test_a_window_is_softmax_over_its_last_keys(gate):
    model = lively(gate=gate)
    narrow = with_weights(model, window=4)
    record, _ = record_of(narrow)
    for row in range(16):
        near = record.scores[..., row, max(0, row - 3) : row + 1].softmax(-1)
        torch.testing.assert_close(record.weights[..., row, max(0, row - 3) : row + 1], near)
        assert not record.weights[..., row, : max(0, row - 3)].any()
    torch.testing.assert_close(with_weights(model, window=16)(TEXT), model(TEXT))
    assert not torch.allclose(narrow(TEXT), model(TEXT))
    cache = KeyValueCache()
    parts = [narrow(part, cache=cache) for part in TEXT.split([6, 1, 9], -1)]
    torch.testing.assert_close(torch.cat(parts, 1), narrow(TEXT), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("attention", ["linear_elu", "linear_exponential"])
def test_linear_attention_alone_is_that_of_the_library(attention):
    record, layer = record_of(lively(attention=attention))
    if attention == "linear_elu":
        features = elu_features(record.queries), elu_features(record.keys)
    else:
        features = (exponential_features(record.queries, layer.learned.query_map),
                    exponential_features(record.keys, layer.learned.key_map))  # fmt: skip
    torch.testing.assert_close(record.mixed, linear_attention(*features, record.values))


@pytest.mark.parametrize("attention", ["linear_elu", "linear_exponential"])
def test_a_copy_of_a_hybrid_loses_either_branch(attention):
    model = lively(attention=attention, window=4)
    whole = model(TEXT)
    alone = {"window": with_weights(model, window=None)}
    softmax = LanguageModel(replace(TINY, window=4)).double().requires_grad_(False)
    softmax.load_state_dict({n: w for n, w in model.state_dict().items() if "learned" not in n})
    alone["linear"] = softmax
    for branch, other in alone.items():
        left = without_branch(model, branch)
        torch.testing.assert_close(left(TEXT), other(TEXT), rtol=1e-12, atol=1e-12)
    assert torch.equal(model(TEXT), whole)
    record, layer = record_of(model)
    parts = {}
    for branch in alone:
        learned = without_branch(model, branch).layers[0].attention.learned
        parts[branch] = learned(record.queries, record.keys, record.scores)
    share = layer.learned.balance.sigmoid()
    want = share * parts["linear"] + (1 - share) * parts["window"]
    torch.testing.assert_close(record.weights, want)
    with pytest.raises(ValueError, match="branch is 'both'; it must be one of 'window', 'linear'"):
        without_branch(model, "both")


def test_delta_attention_is_the_rule_read_off_the_states():
    record, layer = record_of(lively(attention="delta"))
    learned, states = layer.learned, record.states
    log_decay = log_decays(learned.decay(states), learned.log_rate).mT
    step = learned.step(states).sigmoid().mT
    mixed, _ = delta_recurrent(record.queries, record.keys, record.values, log_decay, step)
    want = gated_output(mixed, layer.by_head(learned.gate(states)), learned.gain)
    torch.testing.assert_close(record.mixed, want, rtol=1e-10, atol=1e-10)
    with pytest.raises(ValueError, match="window is 4; the gated delta rule has none"):
        LanguageModel(replace(TINY, attention="delta", window=4))
    with pytest.raises(ValueError, match="window is 17; it must be a whole number from 1 to 16"):
        replace(TINY, window=17)


@pytest.mark.parametrize("attention", ["linear_exponential", "delta"])
def test_transfer_brings_outputs_closer_and_moves_nothing_else(attention, text, monkeypatch):
    monkeypatch.setitem(conversions.MODELS, "none", TINY)
    base = lively().float()
    model = converted_model(base, Conversion(attention=attention), 1)
    recipe = replace(SHORT, transfer_steps=40, transfer_rate=2e-2)
    errors = list(transfer(model, base, recipe, text, 0, 4))
    assert len(errors) == 40
    assert sum(errors[-10:]) < 0.9 * sum(errors[:10])
    for name, weight in base.named_parameters():
        assert torch.equal(model.get_parameter(name), weight), name
    same = converted_model(base, Conversion(window=4), 1)
    assert not list(transfer(same, base, recipe, text, 0, 4))


def test_training_on_drops_the_window_by_its_schedule_and_reads_on(text):
    model = LanguageModel(replace(TINY, attention="linear_elu", window=4))
    recipe, dropped = LanguageRecipe(steps=200, batch=2), []
    training = TrainingOn(model, FALLING, 0, recipe, text, first=100)
    for step in range(200):
        batch = training.batch(step)
        dropped.append(training.model.layers[0].attention.learned.share == 0.0)
        if step < 3:
            assert torch.equal(batch, text.batch(0, 100 + step, 2, 16))
    assert 0.75 < np.mean(dropped[:80]) < 1
    assert 0.3 < np.mean(dropped[80:150]) < 0.7
    assert not any(dropped[150:])


@pytest.fixture
def tiny_models(monkeypatch):
    card = Card("none", 0, 1, 1, LanguageRecipe(steps=7), {"both": 1.0}, 1.0)
    monkeypatch.setitem(conversions.MODELS, "none", TINY)
    monkeypatch.setattr(conversions, "load_model", lambda name, seed: (lively(seed).float(), card))
    monkeypatch.setattr(conversions, "ADDED_WINDOWS", (4, 2))


@pytest.mark.soak
@pytest.mark.usefixtures("tiny_models")
def test_a_conversion_is_measured_whole_and_without_each_branch(text):
    names = {
        "window_4": {"whole"},
        "hybrid_4": {"whole", "without_window", "without_linear", "zero_linear", "zero_both"},
        "linear": {"whole", *(f"added_{n}.{part}" for n in (4, 2)
                              for part in ("whole", "without_linear"))},
        "delta": {"whole"},
    }  # fmt: skip
    for name, parts in names.items():
        result, model = convert(name, 1, text, TEXTS, SHORT)
        again, same = convert(name, 1, text, TEXTS, SHORT)
        assert set(result.losses) == parts | {f"before.{part}" for part in parts}
        for part, sums in result.losses.items():
            assert sums.shape == (3,)
            assert np.array_equal(sums, again.losses[part])
        sums, _ = text_losses(model, TEXTS)
        assert np.array_equal(result.losses["whole"], sums.numpy())
        assert not np.array_equal(result.losses["whole"], result.losses["before.whole"])
        assert result.base == digest("none", 1)
        assert all(torch.equal(w, same.get_parameter(n)) for n, w in model.named_parameters())
        assert all(torch.equal(w, w.half().float()) for w in model.parameters())
        assert len(result.share) == (2 if name in ("hybrid_4", "linear") else 0)
        assert all(0 < share < 1 for layer in result.share for share in layer)


def converted(seed, base=None):
    losses = {"whole": np.array([1.0, 2.5], np.float32)}
    return Converted(base or digest("none", seed), SHORT, 1.5, ((0.25, 0.75),), losses)


def test_conversions_come_back_from_their_file_unless_the_base_is_another(tmp_path):
    path = tmp_path / "conversions.safetensors"
    assert load_converted(path) == ({}, None)
    rows = {("softmax", 0): converted(0), ("linear", 1): converted(1, "another")}
    save_converted(rows, np.array([3.0, 4.0], np.float32), path)
    loaded, counts = load_converted(path)
    assert list(loaded) == [("softmax", 0)]
    assert counts.tolist() == [3.0, 4.0]
    one, want = (vars(of["softmax", 0]) for of in (loaded, rows))
    assert np.array_equal(one.pop("losses")["whole"], want.pop("losses")["whole"])
    assert one == want
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


class Pool:
    """Stands for a pool of processes: all but the fourth row succeed."""

    def __init__(self, *_, **__):
        self.rows = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def submit(self, work, *row):
        done, _ = Future(), self.rows.append(row)
        if len(self.rows) == 4:
            done.set_exception(KeyboardInterrupt())
        else:
            done.set_result((row, converted(row[1])))
        return done


def test_the_table_is_made_seed_by_seed_and_written_row_by_row(monkeypatch):
    pool, saved = Pool(), []
    monkeypatch.setattr(table, "load_converted", lambda: ({("window_16", 0): converted(0)}, None))
    monkeypatch.setattr(
        table, "save_converted", lambda rows, counts: saved.append((list(rows), counts))
    )
    monkeypatch.setattr(processes, "ProcessPoolExecutor", lambda *_, **__: pool)
    monkeypatch.setattr(processes, "as_completed", iter)
    with pytest.raises(KeyboardInterrupt):
        table.convert_table()
    rows = [(name, seed) for seed in (0, 1, 2) for name in CONVERSIONS]
    assert pool.rows == [row for row in rows if row != ("window_16", 0)]
    assert [made for made, _ in saved] == [[("window_16", 0), *pool.rows[:n]] for n in (1, 2, 3)]
    _, counts = text_losses(LanguageModel(replace(TINY, context=128)), excerpt_texts()[:2])
    assert saved[0][1][:2].tolist() == counts.tolist()


def test_a_file_that_is_no_converted_model_says_so(tmp_path):
    for data in (None, b"", b"x" * 100):
        if data is not None:
            weights_path("linear", tmp_path).write_bytes(data)
        with pytest.raises(ValueError, match=r"linear-0\.safetensors holds no converted model"):
            load_conversion("linear", tmp_path)


def test_every_conversion_is_measured_over_the_shipped_verses_and_its_weights_are_small():
    rows, counts = load_converted()
    assert list(rows) == [(name, seed) for name in CONVERSIONS for seed in (0, 1, 2)]
    for one in rows.values():
        assert one.recipe == ConversionRecipe()
        assert all(sums.shape == counts.shape for sums in one.losses.values())
    shipped = {weights_path(name) for name, row in CONVERSIONS.items() if row.ships_weights}
    assert set(conversions.WEIGHTS.iterdir()) == shipped
    assert sum(path.stat().st_size for path in shipped) < 10e6
    for base, name in (("none", "softmax"), ("g1_channel", "gated_softmax")):
        loss = rows[name, 0].losses["before.whole"].sum() / counts.sum()  # of the base itself
        assert loss == pytest.approx(load_model(base, 0)[1].losses["both"], abs=1e-4)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", [name for name, row in CONVERSIONS.items() if row.ships_weights])
def test_a_shipped_conversion_has_the_losses_that_are_told(name):
    told, model = load_converted()[0][name, 0].losses, load_conversion(name)
    some = slice(0, None, 40)
    for part, sums in measure_conversion(model, excerpt_texts()[some]).items():
        np.testing.assert_allclose(sums, told[part][some], rtol=1e-4)
