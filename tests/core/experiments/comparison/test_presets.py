"""The shipped run is what its command makes, and a run survives a file."""

import os
from dataclasses import replace

import numpy as np
import pytest

from gating_core.experiments.comparison.frames import (
    curvature_along,
    final_curvature,
    frame_accuracies,
    measured,
    strengths_model,
    typical_member,
)
from gating_core.experiments.comparison.presets import (
    COMPARISONS,
    FOLDER,
    PRESETS,
    REFERENCES,
    load_curvatures,
    load_measured,
    load_preset,
    load_reference,
    load_run,
    save_curvatures,
    save_run,
)
from gating_core.experiments.comparison.run import TrainedRun, train_further, train_setting
from gating_core.experiments.comparison.setting import FIRST_SETTING, Setting
from gating_core.geometry.grid import square_grid
from gating_core.geometry.surface import measure_surface
from gating_core.tasks.own import EXAMPLE_CSV, parse_csv

SHIPPED = {**PRESETS, **COMPARISONS}
SOAK = os.environ.get("HYPOTHESIS_PROFILE") == "soak"
QUICK = replace(FIRST_SETTING, task="moons", steps=5, seed_count=2)


def run_of(setting):
    *_, run = train_setting(setting)
    assert isinstance(run, TrainedRun)
    return run


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", SHIPPED if SOAK else ("circle", *COMPARISONS))
def test_a_shipped_run_is_what_its_command_makes(name):
    shipped, made = load_preset(name), run_of(SHIPPED[name])
    assert shipped.setting == SHIPPED[name]
    assert shipped.complete
    assert shipped.steps.tolist() == made.steps.tolist()
    for variant in made.setting.variants:
        a, b = shipped.variants[variant].ensemble, made.variants[variant].ensemble
        assert a.best == b.best
        # Other processors round float32 sums differently: half a point over 600 steps.
        assert abs(a.test_accuracy[-1, a.best] - b.test_accuracy[-1, b.best]) < 0.005


@pytest.mark.soak
@pytest.mark.parametrize("name", COMPARISONS)
def test_what_is_shipped_of_a_run_is_what_is_measured_of_it(name):
    """All seeds along the run, and K and the refined end of the one that the page opens with."""
    run, shipped = load_preset(name), load_measured(name)
    pair = run.setting.compared
    typical = typical_member(run)
    seeds = range(len(run.task.seeds))
    assert set(shipped.along) == {(variant, member) for variant in pair for member in seeds}
    assert set(shipped.final) == {(variant, typical) for variant in pair}
    for member in (typical, seeds[-1]):
        for variant in pair:
            found = curvature_along(run, variant, member)
            own = shipped.along[variant, member]
            assert_same(own, found)
            assert (own.known is None) == (member != typical)
            if own.known is not None:
                np.testing.assert_allclose(own.known, found.known, rtol=1e-5)
    for variant in pair:
        found = final_curvature(run, variant, typical)
        assert_same(shipped.final[variant, typical], found)
        assert shipped.final[variant, typical].known is None


@pytest.mark.parametrize("name", COMPARISONS)
def test_the_typical_seed_is_within_the_band_of_every_curve(name):
    run, shipped = load_preset(name), load_measured(name)
    typical = typical_member(run)
    for variant in run.setting.compared:
        totals = [float(shipped.along[variant, n].total.value[-1]) for n in range(16)]
        for values in (totals, run.variants[variant].ensemble.test_accuracy[-1]):
            low, high = np.quantile(values, [0.1, 0.9])
            assert low <= values[typical] <= high


def assert_same(shipped, found):
    """Numbers that a page shows agree to far more figures than it shows."""
    assert (shipped.variant, shipped.member) == (found.variant, found.member)
    for part in ("value", "error"):
        own, other = getattr(shipped.total, part), getattr(found.total, part)
        assert own.dtype == other.dtype
        assert own.shape == other.shape
        np.testing.assert_allclose(own, other, rtol=1e-6)
    assert shipped.total.complete.tolist() == found.total.complete.tolist()
    for own, other in zip(shipped.verdicts, found.verdicts, strict=True):
        assert (own.word, own.bound_kind, own.proof) == (other.word, other.bound_kind, other.proof)
        assert own.curved == pytest.approx(other.curved, rel=1e-6)
        assert own.undetermined == pytest.approx(other.undetermined, rel=1e-6, abs=1e-9)


@pytest.mark.soak
def test_the_references_are_the_final_accuracies_of_their_settings():
    run = load_preset("comparison")
    circle = [x.ensemble.test_accuracy[-1] for x in run.variants.values()]
    np.testing.assert_array_equal(load_reference("boundary", "circle"), circle)
    *_, run = train_setting(REFERENCES["tokens"]["circle"])
    tokens = [x.ensemble.test_accuracy[-1] for x in run.variants.values()]
    np.testing.assert_allclose(load_reference("tokens", "circle"), tokens, atol=0.01)
    with pytest.raises(ValueError, match="reference"):
        load_reference("nowhere", "circle")


def test_what_is_shipped_is_small():
    sizes = [path.stat().st_size for name in COMPARISONS for path in FOLDER.glob(f"{name}.*")]
    assert len(sizes) == 2
    assert sum(sizes) < 1_000_000


def test_what_is_measured_survives_a_file(tmp_path):
    found = measured(run_of(replace(QUICK, seed_count=3)))
    save_curvatures(found, tmp_path / "a.safetensors")
    back = load_curvatures(tmp_path / "a.safetensors")
    for part in ("along", "final"):
        ours, theirs = getattr(found, part), getattr(back, part)
        assert set(ours) == set(theirs)
        for key, summary in ours.items():
            assert_same(theirs[key], summary)
            assert theirs[key].verdicts == summary.verdicts
            if summary.known is None:
                assert theirs[key].known is None
            else:
                np.testing.assert_array_equal(theirs[key].known, summary.known)
    assert {key for key, x in back.along.items() if x.known is not None} == set(back.final)


def test_the_first_look_is_flat_without_a_gate_and_curved_with_one():
    run = load_preset("circle")
    grid, found = square_grid(), {}
    for name, strengths in (("ungated", None), ("sigmoid", [0.0, 1.0])):
        ensemble = run.variants[name].ensemble
        model = strengths_model(ensemble, ensemble.best, strengths)
        flat = measure_surface(model.attention, grid).without_curvature.tolist()
        found[name] = flat, frame_accuracies(model, run, ensemble.best)
    assert found["ungated"][0] == [True]
    assert found["sigmoid"][0] == [True, False]
    assert found["sigmoid"][1][1] - found["ungated"][1][0] >= 0.20


def test_runs_survive_a_file_and_cannot_be_trained_further(tmp_path):
    run = run_of(QUICK)
    save_run(run, tmp_path / "a.safetensors")
    back = load_run(tmp_path / "a.safetensors")
    assert (back.setting, back.seconds, back.batches) == (run.setting, run.seconds, run.batches)
    assert back.steps.tolist() == run.steps.tolist()
    np.testing.assert_array_equal(back.task.train_points, run.task.train_points)
    for ours, theirs in zip(run.frames, back.frames, strict=True):
        for name, snapshot in ours.snapshots.items():
            found = theirs.snapshots[name]
            for part, state in snapshot.state.items():
                np.testing.assert_array_equal(found.state[part], state)
            for part in ("train_loss", "test_loss", "train_accuracy", "test_accuracy"):
                np.testing.assert_array_equal(getattr(found, part), getattr(snapshot, part))
    assert run.resumable
    assert not back.resumable
    with pytest.raises(ValueError, match="cannot go on: the optimiser's memory is not known"):
        train_further(back, 10)
    with pytest.raises(ValueError, match=r"a\.safetensors holds no curvatures of a run"):
        load_curvatures(tmp_path / "a.safetensors")


def test_a_run_on_own_data_is_not_saved(tmp_path):
    own = parse_csv(EXAMPLE_CSV)
    run = run_of(Setting(task="own", own=own, train_share=0.5, seed_count=1, steps=1))
    with pytest.raises(ValueError, match="data of its own"):
        save_run(run, tmp_path / "a.safetensors")


@pytest.mark.parametrize("content", [b"nonsense", b"\x08\x00\x00\x00\x00\x00\x00\x00{}      "])
def test_files_that_are_no_runs_are_refused(tmp_path, content):
    path = tmp_path / "b.safetensors"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"b\.safetensors is not a trained run"):
        load_run(path)
