"""A run follows its setting, and can be stopped, continued and begun anew."""

import time
from dataclasses import replace

import numpy as np
import pytest

from gating_core.attention.stack import parameter_count
from gating_core.experiments.comparison.run import train_further, train_setting
from gating_core.experiments.comparison.setting import Setting
from gating_core.tasks.own import EXAMPLE_CSV, parse_csv
from gating_core.training import trained
from gating_core.training.trainer import snapshot_steps

SMALL = Setting(task="xor", points=256, train_share=0.5, seed_count=3, steps=60)
EVERY_KIND = replace(SMALL, variants=("silu", "ungated", "matched", "sigmoid", "half"))
OWN = parse_csv(EXAMPLE_CSV)


def finished(runs):
    *_, run = runs
    return run


def assert_same_weights(a, b, frame=-1):
    for name in a.setting.variants:
        states = [run.frames[frame].snapshots[name].state for run in (a, b)]
        assert states[0].keys() == states[1].keys()
        for part in states[0]:
            assert np.array_equal(states[0][part], states[1][part]), (name, part)


def test_a_run_shows_its_way_from_the_first_step_to_the_last():
    shares = []
    runs = list(train_setting(EVERY_KIND, progress=shares.append))
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert [run.frames[-1].step for run in runs] == snapshot_steps(60)
    assert [run.complete for run in runs] == [False] * (len(runs) - 1) + [True]
    run = runs[-1]
    assert list(run.variants) == list(EVERY_KIND.variants)
    assert run.batches == (("silu", "ungated"), ("sigmoid",), ("half",), ("matched",))
    for name, variant in run.variants.items():
        ensemble = variant.ensemble
        count = (len(runs), 3)
        assert ensemble.steps.tolist() == snapshot_steps(60)
        assert ensemble.train_loss.shape == variant.test_loss.shape == count
        assert ensemble.train_accuracy.shape == ensemble.test_accuracy.shape == count
        assert ensemble.parameter_count == parameter_count(EVERY_KIND.configs[name])
        assert variant.states["weight"].shape[:2] == count
        assert np.array_equal(variant.states["weight"][-1], ensemble.state["weight"])
        assert variant.seconds > 0
    assert run.variants["silu"].together == ("silu", "ungated")
    assert run.variants["silu"].seconds == run.variants["ungated"].seconds


@pytest.mark.parametrize("optimiser", ["adam", pytest.param("sgd", marks=pytest.mark.soak)])
def test_a_run_that_goes_on_is_one_that_never_stopped(optimiser):
    setting = replace(EVERY_KIND, optimiser=optimiser, momentum=0.5, weight_decay=0.01)
    whole = finished(train_setting(replace(setting, steps=40)))
    half = finished(train_setting(replace(setting, steps=20)))
    joined = finished(train_further(half, 20))
    assert joined.setting == whole.setting
    assert joined.steps.tolist()[: len(half.steps)] == half.steps.tolist()
    assert joined.complete
    assert np.all(np.diff(joined.steps) > 0)
    assert_same_weights(joined, whole)
    for place, seconds in enumerate(half.seconds):
        assert joined.seconds[place] > seconds
    # The run it came from is as it was, and can go on again.
    assert half.frames[-1].step == 20
    assert_same_weights(finished(train_further(half, 20)), whole)


def test_a_run_stopped_anywhere_goes_on_from_its_last_frame():
    run = next(run for run in train_setting(SMALL) if run.frames[-1].step > 20)
    assert not run.complete
    rest = finished(train_further(run, 60 - run.frames[-1].step))
    assert_same_weights(rest, finished(train_setting(SMALL)))


def test_progress_is_reported_within_a_frame_and_what_a_callback_takes_is_no_training(monkeypatch):
    monkeypatch.setattr(trained, "widest_tensor", lambda _: 100_000)
    shares = []

    def progress(share):
        shares.append(share)
        time.sleep(0.001)

    begin = time.perf_counter()
    run = finished(train_setting(SMALL, progress=progress))
    seconds = time.perf_counter() - begin
    # After every step, and after every sixteen points of every frame.
    looks = len(snapshot_steps(60)) * 2 * (128 // 16)
    assert len(shares) >= 60 + looks
    assert sum(run.seconds) <= seconds - 0.001 * len(shares)


def test_divergence_names_step_seed_and_variant_and_keeps_what_was_there():
    wild = replace(EVERY_KIND, optimiser="sgd", learning_rate=1e12)
    runs = list(train_setting(wild))
    run = runs[-1]
    assert run.divergence is not None
    assert run.divergence.step > run.frames[-1].step
    variants, seeds = zip(*run.divergence.members, strict=True)
    assert set(variants) <= set(EVERY_KIND.variants)
    assert set(seeds) <= set(EVERY_KIND.seeds)
    assert run.divergence.text.startswith(f"{variants[0]}: training diverged at step")
    assert all(earlier.divergence is None for earlier in runs[:-1])
    assert len(run.frames) == len(runs[:-1])
    assert np.isfinite(run.variants["silu"].ensemble.train_loss).all()
    with pytest.raises(ValueError, match=r"cannot go on: .*diverged at step"):
        train_further(run, 10)


@pytest.mark.parametrize(
    "setting",
    [
        Setting(task="own", own=OWN, batch_size=512, seed_count=2, steps=5),
        Setting(task="blobs4", points=64, seed_count=1, steps=5, noise=0.1, label_noise=0.2),
        Setting(task="moons", balance=0.3, points=64, seed_count=2, steps=1),
        Setting(source="tokens", variants=("value", "ungated"), points=64, seed_count=2, steps=5,
                depth=2, residual=True, norm="pre", model_dim=4, heads=2, output_projection=True),
    ],
)  # fmt: skip
def test_all_kinds_of_settings_run(setting):
    run = finished(train_setting(setting))
    assert run.complete
    classes = setting.class_count
    assert run.task.class_count == classes
    for variant in run.variants.values():
        assert variant.ensemble.state["bias"].shape == (setting.seed_count, classes)


def test_points_are_split_by_train_share():
    task = Setting(seed_count=2).make_task()
    assert (task.train_points.shape[1], task.test_points.shape[1]) == (256, 768)
    own = Setting(task="own", own=OWN, train_share=0.5, seed_count=2)
    assert own.make_task().train_points.shape[1] == len(OWN.points) // 2
    assert own.recipe(40).batch_size == 40
    assert Setting(batch_size=10).recipe(40).batch_size == 10


def matched_count(*variants):
    setting = Setting(variants=variants, model_dim=6)
    return {name: parameter_count(config) for name, config in setting.configs.items()}["matched"]


def test_the_matched_model_has_the_parameters_of_the_variant_it_is_compared_with():
    sigmoid = parameter_count(Setting(variants=("sigmoid",), model_dim=6).configs["sigmoid"])
    for others, wide in [
        (("sigmoid",), True), (("sigmoid", "headwise"), True), (("headwise",), False),
        (("half",), False), ((), True),
        (("headwise", "sigmoid"), False),  # what is trained beside them changes no comparison
    ]:  # fmt: skip
        assert (matched_count("matched", *others) >= sigmoid) == wide
    assert matched_count("ungated", "headwise", "matched", "sigmoid") < sigmoid
    assert matched_count("ungated", "sigmoid", "matched") >= sigmoid


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (dict(task="cube"), "task is 'cube'"),
        (dict(task="own"), "own must be OwnData"),
        (dict(own=OWN), "own must be OwnData for 'own' and None"),
        (dict(points=15), "points"),
        (dict(train_share=0.95), "train_share"),
        (dict(noise=-0.1), "noise"),
        (dict(label_noise=0.6), "label_noise"),
        (dict(balance=0.05), "balance"),
        (dict(task="blobs3", balance=0.5), "balance is 0.5; it must be None for 'blobs3'"),
        (dict(variants=()), "variants"),
        (dict(variants=("sigmoid", "sigmoid")), "variants"),
        (dict(variants=["sigmoid"]), "variants"),
        (dict(variants=("gated",)), "variant is 'gated'"),
        (dict(variants=("value",)), "needs 'tokens'"),
        (dict(source="slots"), "source"),
        (dict(model_dim=1), "model_dim"),
        (dict(model_dim=65), "model_dim"),
        (dict(value_count=17), "value_count"),
        (dict(heads=2), "heads is 2; it must divide model_dim"),
        (dict(depth=5), "depth"),
        (dict(norm="layer"), "norm"),
        (dict(seed=-1), "seed"),
        (dict(seed_count=65), "seed_count"),
        (dict(steps=0), "steps"),
        (dict(optimiser="adagrad"), "optimiser"),
        (dict(learning_rate=float("nan")), "learning_rate"),
        (dict(momentum=1.0), "momentum"),
        (dict(batch_size=0), "batch_size"),
        (dict(weight_decay=-1.0), "weight_decay"),
        (dict(source="tokens", value_count=16, model_dim=32, depth=4), "one step would take 67"),
    ],
)
def test_wrong_settings_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        Setting(**fields)


@pytest.mark.parametrize("steps", [0, -5, 2.5, 20_000])
def test_wrong_continuations_are_refused(steps):
    run = finished(train_setting(replace(SMALL, steps=1, seed_count=1)))
    with pytest.raises(ValueError, match="steps"):
        train_further(run, steps)
