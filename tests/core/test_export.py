"""Does what the visitor takes home say the same as what was trained here?"""

import ast
import contextlib
import csv
import io
import json
import re
import runpy
import subprocess
import sys
from dataclasses import dataclass, make_dataclass, replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open

from gating_core import export_script
from gating_core.config import GATE_KINDS, AttentionConfig, GateConfig
from gating_core.export import load_weights, log_csv, weights_file
from gating_core.export_script import GATES, script, script_problem
from gating_core.own_data import EXAMPLE_CSV, own_task, parse_csv
from gating_core.presets import FOLDER
from gating_core.results import TrainedEnsemble
from gating_core.tasks import make_task
from gating_core.train import restore, train_ensemble

SEEDS = (3, 4, 8)
CONFIGS = {
    "ungated": AttentionConfig(),
    "larger": AttentionConfig(model_dim=8, value_count=5, depth=3),
    "heads": AttentionConfig(model_dim=6, heads=3, gate=GateConfig()),
    "headwise": AttentionConfig(model_dim=6, heads=3, gate=GateConfig("sigmoid", "headwise")),
    "one head": AttentionConfig(gate=GateConfig("sigmoid", "headwise")),
    "half a gate": AttentionConfig(gate=GateConfig(strength=0.3)),
    "an idle gate": AttentionConfig(gate=GateConfig(strength=0.0)),
    "pre": AttentionConfig(norm="pre", gate=GateConfig(), residual=True),
    "post": AttentionConfig(norm="post", output_projection=True, depth=2),
    "all": AttentionConfig(model_dim=8, heads=2, depth=2, residual=True, norm="pre",
                           output_projection=True, gate=GateConfig("tanh", "headwise", "G1", 0.7)),
} | {kind: AttentionConfig(gate=GateConfig(kind)) for kind in GATE_KINDS}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Trained:
    ensemble: TrainedEnsemble
    task: object


def train(config, task, steps=40):
    run = list(train_ensemble(config, task, task.seeds, steps, batch_size=32))
    history = {
        name: np.stack([getattr(s, name) for s in run])
        for name in ("train_loss", "train_accuracy", "test_accuracy")
    }
    steps = np.array([s.step for s in run])
    return Trained(TrainedEnsemble(config, task.seeds, steps, state=run[-1].state, **history), task)


@pytest.fixture(scope="module")
def trained():
    return train(AttentionConfig(gate=GateConfig()), make_task("circle", seeds=SEEDS))


def write(trained, seed, folder):
    (folder / "model.safetensors").write_bytes(weights_file(trained.ensemble, trained.task))
    path = folder / "model.py"
    path.write_text(script(trained.ensemble, seed), encoding="utf-8")
    return path


def check_printed(text, trained, seed):
    """The script's two lines: its own accuracies and the recorded ones are the trainer's."""
    member = SEEDS.index(seed)
    lines = re.findall(r"(\w+) accuracy ([\d.]+); right after training ([\d.]+)", text)
    assert [part for part, *_ in lines] == ["train", "test"]
    for part, found, recorded in lines:
        wanted = getattr(trained.ensemble, f"{part}_accuracy")[-1, member]
        assert abs(float(recorded) - wanted) < 1e-6
        # One model alone rounds differently from a batch: a point on the boundary may change.
        count = getattr(trained.task, f"{part}_labels").shape[1]
        assert abs(float(found) - wanted) < 1e-6 + 1 / count


def test_the_script_runs_elsewhere_and_finds_the_same_accuracy(tmp_path):
    config = AttentionConfig(model_dim=8, heads=2, depth=2, gate=GateConfig())
    task = own_task(parse_csv(EXAMPLE_CSV), SEEDS)
    trained = train(config, task, steps=200)
    path = write(trained, 8, tmp_path)
    # -I: neither the project's folder nor the environment's paths are searched.
    run = subprocess.run([sys.executable, "-I", path], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    check_printed(run.stdout, trained, 8)
    assert trained.ensemble.train_accuracy[-1, 2] > 0.7


@pytest.mark.parametrize("name", list(CONFIGS))
def test_scripts_rebuild_every_model(name, tmp_path, capsys):
    task = make_task("blobs3" if name == "larger" else "xor", points=64, seeds=SEEDS, noise=0.05)
    trained = train(CONFIGS[name], task)
    wanted = restore(CONFIGS[name], SEEDS, trained.ensemble.state)(
        torch.from_numpy(task.test_points)
    )
    for member, seed in enumerate(SEEDS):
        path = write(trained, seed, tmp_path)
        rebuilt = runpy.run_path(str(path), run_name="__main__")
        check_printed(capsys.readouterr().out, trained, seed)
        logits = rebuilt["model"](torch.from_numpy(task.test_points[member]).float())
        # float32 against float64.
        torch.testing.assert_close(logits.double(), wanted[member], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", list(CONFIGS))
def test_scripts_are_short_and_stand_alone(name, trained):
    text = script(replace(trained.ensemble, config=CONFIGS[name]), 3)
    tree = ast.parse(text)
    imports = {
        node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
    }
    assert imports == {"pathlib", "torch", "safetensors.torch"}
    assert "gating_core" not in text
    assert "$" not in text
    lines = text.splitlines()
    assert len(lines) < 85
    assert max(map(len, lines)) <= 100
    assert all(line == line.rstrip() for line in lines)
    assert ("by_head" in text) == (CONFIGS[name].heads > 1)
    assert ("gate" in text.split("def layer")[1]) == (
        CONFIGS[name].gate is not None and CONFIGS[name].gate.strength > 0
    )


def test_every_gate_has_a_line():
    assert set(GATES) >= set(GATE_KINDS)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (AttentionConfig(source="tokens"), "source is 'tokens'; there is a script for 'memory'"),
        *(
            (AttentionConfig(gate=GateConfig(position=place)), f"gate.position is '{place}'")
            for place in ("G2", "G3", "G4", "G5")
        ),
    ],
)
def test_models_without_a_script_are_named(trained, config, message):
    assert message in script_problem(config)
    with pytest.raises(ValueError, match=message):
        script(replace(trained.ensemble, config=config), 3)


def test_fields_that_the_script_does_not_know_are_refused(monkeypatch):
    later = make_dataclass("Later", [("extra", bool, False)], bases=(AttentionConfig,), frozen=True)
    known = export_script.KNOWN_FIELDS
    monkeypatch.setattr(export_script, "KNOWN_FIELDS", known | {later: known[AttentionConfig]})
    assert script_problem(later()) is None
    assert "extra is True" in script_problem(later(extra=True))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(seed=5), r"seed is 5; it must be one of \(3, 4, 8\)"),
        (dict(seed=3, weights_name='a".safetensors'), "weights_name"),
        (dict(seed=3, weights_name="../a.safetensors"), "weights_name"),
        (dict(seed=3, weights_name="model.bin"), "weights_name"),
    ],
)
def test_wrong_scripts_are_refused(trained, arguments, message):
    with pytest.raises(ValueError, match=message):
        script(trained.ensemble, **arguments)


def test_weights_come_back_with_their_configuration(trained, tmp_path):
    config = replace(trained.ensemble.config, gate=GateConfig("sigmoid", "headwise", strength=0.5))
    for ensemble in (trained.ensemble, replace(trained.ensemble, config=config)):
        data = weights_file(ensemble, trained.task, about={"learning rate": 0.02})
        back = load_weights(data)
        assert back.config == ensemble.config
        assert back.seeds == SEEDS
        assert set(back.state) == set(ensemble.state)
        for name, array in ensemble.state.items():
            assert np.array_equal(back.state[name], array), name
        for name in ("steps", "train_loss", "train_accuracy", "test_accuracy"):
            assert np.array_equal(getattr(back, name), getattr(ensemble, name)), name
        assert back.best == ensemble.best
    (tmp_path / "a.safetensors").write_bytes(data)
    with safe_open(tmp_path / "a.safetensors", "numpy") as file:
        metadata = {name: json.loads(text) for name, text in file.metadata().items()}
        points, labels = file.get_tensor("test_points"), file.get_tensor("train_labels")
    assert metadata["task"] == "circle"
    assert metadata["about"] == {"learning rate": 0.02}
    assert metadata["config"]["gate"]["strength"] == 0.5
    np.testing.assert_allclose(points, trained.task.test_points, atol=1e-7)
    assert np.array_equal(labels, trained.task.train_labels)


def test_weights_need_their_own_task(trained):
    with pytest.raises(ValueError, match=r"task has the seeds \(3, 4\)"):
        weights_file(trained.ensemble, make_task("circle", seeds=(3, 4)))


@pytest.mark.parametrize("keep", [0, 7, 8, 200, -1])
def test_other_files_are_refused(trained, keep):
    data = weights_file(trained.ensemble, trained.task)
    for wrong in (data[:keep], b"x" * keep):
        with pytest.raises(ValueError, match="no weights of a trained ensemble"):
            load_weights(wrong)
    preset = (FOLDER / "circle.safetensors").read_bytes()  # has no configuration
    with pytest.raises(ValueError, match="no weights of a trained ensemble"):
        load_weights(preset)


@given(place=st.integers(0, 1_500), bit=st.integers(0, 7))
def test_files_with_a_wrong_bit_are_read_or_refused(trained, place, bit):
    data = bytearray(weights_file(trained.ensemble, trained.task))
    data[place] ^= 1 << bit
    with contextlib.suppress(ValueError):
        assert isinstance(load_weights(bytes(data)), TrainedEnsemble)


def test_the_log_is_a_table(trained):
    flat = train(AttentionConfig(), trained.task)
    text = log_csv({"ungated": flat.ensemble, "sigmoid, λ = 1": trained.ensemble})
    rows = list(csv.DictReader(io.StringIO(text)))
    count = len(flat.ensemble.steps) * 3
    assert [row["variant"] for row in rows] == ["ungated"] * count + ["sigmoid, λ = 1"] * count
    assert [int(row["seed"]) for row in rows[:3]] == list(SEEDS)
    last = rows[-1]
    assert (int(last["step"]), int(last["seed"])) == (40, 8)
    for name in ("train_loss", "train_accuracy", "test_accuracy"):
        wanted = getattr(trained.ensemble, name)[-1, 2]
        assert abs(float(last[name]) - wanted) <= 1e-6 * abs(wanted)
    assert log_csv({}).count("\n") == 1
