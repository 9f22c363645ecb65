"""Exported scripts and files give the numbers of the models trained here."""

import ast
import csv
import io
import itertools
import json
import re
import subprocess
import sys
from dataclasses import dataclass, fields, replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open

from gating_core.attention.config import MECHANISMS, NORMS, AttentionConfig, GateConfig
from gating_core.attention.gates import (
    CONTROL_NAMES,
    GATE_GRANULARITIES,
    GATE_NAMES,
    GATE_POSITIONS,
)
from gating_core.attention.layer import SINKS
from gating_core.attention.stack import build_classifier
from gating_core.export.script import SCRIPT, log_csv, script_text, weights_file
from gating_core.records import tensors_and_metadata
from gating_core.tasks.own import EXAMPLE_CSV, own_task, parse_csv
from gating_core.tasks.task import Task, make_task
from gating_core.training.recipe import Recipe
from gating_core.training.trained import TrainedEnsemble
from gating_core.training.trainer import ensemble_of, train_ensemble

SEEDS = (3, 4, 8)
PLACES = [
    *itertools.product(GATE_NAMES, GATE_GRANULARITIES, GATE_POSITIONS),
    *((kind, "elementwise", "G1") for kind in CONTROL_NAMES),
]


@dataclass(frozen=True, eq=False)
class Trained:
    ensemble: TrainedEnsemble
    task: object


def train(config, task, steps=40):
    run = list(train_ensemble(config, task, steps, Recipe(batch_size=32)))
    return Trained(ensemble_of(config, task.seeds, run), task)


@pytest.fixture(scope="module")
def trained():
    return train(AttentionConfig(gate=GateConfig()), make_task("circle", seeds=SEEDS))


def write(trained, seed, folder):
    (folder / "model.safetensors").write_bytes(weights_file(trained.ensemble, trained.task))
    path = folder / "model.py"
    path.write_text(script_text(trained.ensemble, seed), encoding="utf-8")
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
    config = AttentionConfig(
        "tokens",
        model_dim=8,
        heads=2,
        depth=2,
        norm="pre",
        residual=True,
        output_projection=True,
        gate=GateConfig("silu", "headwise", "G3", 0.7),
    )
    trained = train(config, own_task(parse_csv(EXAMPLE_CSV), SEEDS), steps=100)
    path = write(trained, 8, tmp_path)
    # -I: neither the project's folder nor the environment's paths are searched.
    run = subprocess.run([sys.executable, "-I", path], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    check_printed(run.stdout, trained, 8)


@dataclass(frozen=True, eq=False)
class Drawn:
    """A model with random float64 weights, none of them 0, and its logits at random points."""

    ensemble: TrainedEnsemble
    task: Task
    points: torch.Tensor
    logits: torch.Tensor  # of the second seed

    def rebuilt(self, text, folder):
        """The logits of the script ``text``."""
        (folder / "model.safetensors").write_bytes(weights_file(self.ensemble, self.task))
        names = {"__file__": str(folder / "model.py"), "__name__": "rebuilt"}
        exec(compile(text, "script_text", "exec"), names)
        return names["model"](self.points)

    def agrees(self, text, folder):
        found = self.rebuilt(text, folder)
        if found.shape != self.logits.shape or not found.isfinite().all():
            return False
        scale = self.logits.abs().max()
        return bool((found - self.logits).abs().max() < 1e-12 * scale)  # float64 both


def drawn(config, seed=0, classes=3, below=0.0):
    """A model; ``below`` is taken from all keys of its slots."""
    rng = torch.Generator().manual_seed(seed)
    model = build_classifier(config, SEEDS[:2], classes)
    for parameter in model.parameters():
        noise = torch.randn(parameter.shape, generator=rng, dtype=torch.float64)
        parameter += noise * 0.5 / config.model_dim**0.5
    for name, parameter in model.named_parameters():
        if name.endswith("keys"):
            parameter -= below
    points = torch.randn(7, config.input_dim, generator=rng, dtype=torch.float64)
    both, labels = points.expand(2, -1, -1).numpy(), np.zeros((2, 7), dtype=np.int64)
    state = {name: array.numpy() for name, array in model.state_dict().items()}
    once = np.zeros((1, 2))
    ensemble = TrainedEnsemble(config, SEEDS[:2], np.array([5]), once, once, once, state)
    task = Task("none", SEEDS[:2], classes, both, labels, both, labels)
    return Drawn(ensemble, task, points, model(points)[1])


def test_the_script_compares_keys_whose_features_underflow(tmp_path):
    one = drawn(AttentionConfig("linear", gate=GateConfig()), below=1e3)
    assert one.agrees(script_text(one.ensemble, SEEDS[1]), tmp_path)


FAULTS = {
    " + ": " - ", " * ": " + ", " / ": " * ", "** 0.5": "** 0.4", "sigmoid": "tanh", "+ 1": "+ 2",
    "(-1)": "(-2)", "mean(-1": "mean(0", "sum(-1": "sum(-2", "state @": "h @", "-3, -2": "-2, -1",
    "== 'pre'": "== 'no'", "w['keys'], w['keys']": "w['keys'], w['values']", "[:, 0]": "[:, 1]",
    "'value_map'": "'key_map'", "[member]": "[0]", "range(": "range(-1 + ", "'G2'": "'G3'",
    "layers.{index}": "layers.0", "'G4'": "'G1'", "'G5', y": "'G1', y", "'residual'": "'depth'",
}  # fmt: skip


def faulty(text):
    """``text`` with one fault each: a part of a formula changed, or an assignment left out."""
    code = re.sub(r'"""[^"]*"""', "0", ast.unparse(ast.parse(text)))  # no comments either
    start, end = code.index("weights = "), code.index("def accuracy")
    wrong = [
        (found.span(), instead)
        for part, instead in FAULTS.items()
        for found in re.finditer(re.escape(part), code)
    ]
    wrong += [(found.span(), "0") for found in re.finditer(r"(?<=    )[a-z][a-z, ]* = .+", code)]
    for (first, after), instead in wrong:
        if start <= first < end:
            changed = code[:first] + instead + code[after:]
            yield code[:after].splitlines()[-1] + instead, changed


def variants_of(source, sinks=("none",)):
    """Models that together use every line of a mechanism's script, and of ``sinks`` in turn."""
    base = AttentionConfig(source, model_dim=4, heads=2, depth=2, residual=True)
    per = itertools.cycle(GATE_GRANULARITIES)
    gates = [GateConfig("sigmoid", next(per), position, 0.3) for position in GATE_POSITIONS]
    parts = [dict(norm="pre", output_projection=True), dict(norm="post", residual=False)]
    return [
        replace(base, gate=gate, sink=sinks[i % len(sinks)], **parts[i % 2])
        for i, gate in enumerate(gates)
    ]


def test_no_line_can_be_wrong_or_left_out(tmp_path):
    """Some model of some mechanism that has the line notices."""
    noticed = {}
    softmax = [source for source, layer in MECHANISMS.items() if layer.has_softmax]
    for source, sinks in (
        *((source, ("none",)) for source in MECHANISMS),
        *((source, ("learned", "zero")) for source in softmax),
    ):
        models = [drawn(config) for config in variants_of(source, sinks)]
        for fault, text in faulty(script_text(models[0].ensemble, SEEDS[1])):
            if not noticed.get(fault):
                noticed[fault] = not all(unnoticed(one, text, tmp_path) for one in models)
    assert len(noticed) > 50
    assert [fault for fault, so in noticed.items() if not so] == []


def unnoticed(one, text, folder):
    try:
        return one.agrees(text, folder)
    except (RuntimeError, LookupError, NameError, TypeError, AttributeError, ValueError):
        return False


def test_every_field_of_a_configuration_is_read_or_stands_in_the_text():
    """A field that is added must be read by the script, or named here."""
    elsewhere = {"source", "kind", "input_dim", "model_dim", "value_count", "granularity", "sink"}
    for part in (AttentionConfig, GateConfig):
        for field in fields(part):
            read = f'["{field.name}"]' in SCRIPT.template
            assert read != (field.name in elsewhere), field.name


@pytest.mark.parametrize(
    "config", [AttentionConfig(), *(one for source in MECHANISMS for one in variants_of(source))]
)
def test_scripts_are_short_and_stand_alone(config, trained):
    text = script_text(replace(trained.ensemble, config=config), 3)
    imports = {
        node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.Import, ast.ImportFrom))
    }
    assert imports == {"json", "pathlib", "safetensors", "torch"}
    assert "gating_core" not in text
    assert "$" not in text
    lines = text.splitlines()
    assert len(lines) < 115
    assert not [line for line in lines if len(line) > 100]
    assert all(line == line.rstrip() for line in lines)
    gated = config.gate is not None and config.gate.strength > 0
    assert ("no gate" in text) == (not gated)


@st.composite
def any_config(draw):
    heads = draw(st.integers(1, 3))
    gate = None
    if draw(st.booleans()):
        gate = GateConfig(*draw(st.sampled_from(PLACES)), draw(st.floats(0, 1)))
    return AttentionConfig(
        draw(st.sampled_from(tuple(MECHANISMS))),
        draw(st.integers(2, 3)),
        heads * draw(st.integers(1, 3)),
        draw(st.integers(2, 5)),
        heads,
        draw(st.integers(1, 4)),
        draw(st.booleans()),
        draw(st.sampled_from(NORMS)),
        draw(st.booleans()),
        gate,
    )


@st.composite
def with_sinks(draw):
    """Also with a sink, where there is a softmax."""
    config = draw(any_config())
    return (
        replace(config, sink=draw(st.sampled_from(SINKS))) if config.layer.has_softmax else config
    )


@given(config=with_sinks(), seed=st.integers(0, 1000), classes=st.integers(2, 5))
def test_scripts_rebuild_any_size(tmp_path_factory, config, seed, classes):
    one = drawn(config, seed, classes)
    assert one.agrees(script_text(one.ensemble, SEEDS[1]), tmp_path_factory.mktemp("script"))


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (AttentionConfig(), "over learned slots: 1 layer, 1 head, no gate."),
        (AttentionConfig(sink="learned"), "1 layer, 1 head, no gate, learned sink logit for each"),
        (AttentionConfig("tokens", gate=GateConfig("tanh", "headwise", "G3", 0.3)),
         "among tokens, read out at the first: 1 layer, 1 head, headwise tanh gate of strength 0.3"
         " on the keys."),
        (AttentionConfig(heads=3, gate=GateConfig("sigmoid", "headwise", "G5")),
         "3 heads, single sigmoid gate after attention."),
        (AttentionConfig(output_projection=True, gate=GateConfig(position="G5")),
         "elementwise sigmoid gate after the output projection, output projection."),
        (AttentionConfig(depth=2, residual=True, norm="post", gate=GateConfig("constant")),
         "2 layers, 1 head, constant factor 1/2 in place of a gate, residual, RMSNorm after each"),
    ],
)  # fmt: skip
def test_the_first_lines_say_what_it_is(trained, config, words):
    text = script_text(replace(trained.ensemble, config=config), 3)
    assert words in " ".join(text.split())


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
        script_text(trained.ensemble, **arguments)


def test_weights_come_back_with_their_configuration(trained, tmp_path):
    config = replace(trained.ensemble.config, gate=GateConfig("sigmoid", "headwise", strength=0.5))
    for ensemble in (trained.ensemble, replace(trained.ensemble, config=config)):
        data = weights_file(ensemble, trained.task, about={"learning rate": 0.02})
        tensors, about = tensors_and_metadata(data)
        gate = GateConfig(**about["config"].pop("gate"))
        assert AttentionConfig(gate=gate, **about["config"]) == ensemble.config
        assert tuple(about["seeds"]) == SEEDS
        for name, array in ensemble.state.items():
            assert np.array_equal(tensors[f"state.{name}"], array), name
        for name in ("steps", "train_loss", "train_accuracy", "test_accuracy"):
            assert np.array_equal(tensors[name], getattr(ensemble, name)), name
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
