"""The core can be installed as a library, whole and with what it depends on."""

import ast
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
from functools import cache
from importlib import metadata
from pathlib import Path

import nbformat
import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
CORE = "gating_core"
SOURCES = sorted((ROOT / CORE).rglob("*.py"))
CLEAN = ("pyproject.toml", "setup.py", "README.md", "LICENSE", CORE, "ui", "assets")
BUILD = "import sys; from setuptools import build_meta; build_meta.{}(sys.argv[1])"
MOST_BYTES = 20_000_000  # of the wheel
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


EXTRAS = PROJECT["optional-dependencies"]
HEAVY = ["pandas", "pyvista", "scipy.spatial", "scipy.stats", "sklearn"]
WITHOUT_EXTRAS = """
import sys
for name in EXTRAS:
    sys.modules[name] = None  # as if it were not installed
import gating_core
print(gating_core.__file__)
print([name for name in HEAVY if sys.modules.get(name)])
import gating_core.theory, gating_core.experiments.depth, gating_core.experiments.instance
from gating_core import Setting, geometry, train
run = train(Setting(steps=1, seed_count=1, points=16))
model = gating_core.restore(*(getattr(run.variants["ungated"].ensemble, part)
                              for part in ("config", "seeds", "state"))).attention
grid = geometry.square_grid(3)
print(geometry.measure_surface(model, grid).verdicts[0].word)
"""


packages_distributions = cache(metadata.packages_distributions)  # looks into every file


def requirements(lines):
    return {found.name: found for found in map(Requirement, lines)}


def build(what, source, folder):
    """Make what setuptools makes of a folder of sources; return the one file that it writes."""
    command = [sys.executable, "-c", BUILD.format(f"build_{what}"), str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (made,) = (path for path in folder.iterdir() if path.is_file())
    return made


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of the source distribution of a clean checkout, as pip and `build` make it."""
    checkout, sdists, sources, wheels = (
        tmp_path_factory.mktemp(name) for name in ("checkout", "sdists", "sources", "wheels")
    )
    for name in CLEAN:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile
        copy(ROOT / name, checkout / name)
    with tarfile.open(build("sdist", checkout, sdists)) as archive:
        archive.extractall(sources, filter="data")
    (source,) = sources.iterdir()
    return build("wheel", source, wheels)


@pytest.fixture(scope="module")
def environment(tmp_path_factory, wheel):
    """Python and packages of a fresh environment: the wheel, beside what is installed here."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    (site,) = folder.glob("lib/python*/site-packages")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", "--no-compile", str(wheel)], check=True)
    (site / "beside.pth").write_text(sysconfig.get_path("purelib"))
    return python, site


@pytest.fixture
def run(environment, tmp_path):
    """Runs code in an empty folder, with the library from the wheel; returns what it prints."""
    others = {name: x for name, x in os.environ.items() if name != "PYTHONPATH"}

    def run(code, python=environment[0], **more):
        place = {"cwd": tmp_path, "env": others | more, "text": True, "stdout": subprocess.PIPE}
        return subprocess.run([str(python), "-c", code], check=True, **place).stdout

    return run


@pytest.mark.soak
def test_every_module_of_the_core_is_installed_and_nothing_else(environment):
    _, site = environment
    found = {path.relative_to(site).as_posix() for path in site.rglob("*.py")}
    assert found == {path.relative_to(ROOT).as_posix() for path in SOURCES}
    assert {path.name.split("-")[0] for path in site.iterdir()} == {
        CORE,
        PROJECT["name"].replace("-", "_"),
        "beside.pth",
    }


@pytest.mark.soak
def test_the_core_works_from_any_folder_without_the_extras(run, environment):
    """It is imported, trains and measures."""
    extras = sorted(import_name(x) for names in EXTRAS.values() for x in requirements(names))
    code = f"EXTRAS, HEAVY = {[*extras, 'dask', 'vtk']!r}, {HEAVY!r}\n{WITHOUT_EXTRAS}"
    assert run(code).splitlines() == [
        str(environment[1] / CORE / "__init__.py"),
        "[]",  # of what is slow to import nothing is loaded
        "flat",
    ]


# --- What is shipped ------------------------------------------------------------------------------

# Every result and run, each by some numbers of it.
LOADED = """
import numpy as np
from gating_core.experiments import comparison, depth
from gating_core.experts import load_curves, load_samples
from gating_core.geometry import square_grid
from gating_core.lm.conversions import converted_losses
from gating_core.lm.corpus import excerpt_texts
from gating_core.lm.backcopy import load_toy
from gating_core.lm.measurements import load_efficient, load_measured, load_times
from gating_core.lm.shipped import load_model
from gating_core.real_heads import (TEXTS, shipped_charts, shipped_layers, shipped_measures,
                                    shipped_record, shipped_text)
from gating_core.lm.steering.outcomes import load_steering
from gating_core.lm.steering.live import load_opening
from gating_core.lm.steering.outcomes import vocabulary

def say(name, *arrays):
    print(name, *(f"{np.nansum(np.asarray(x, dtype=float)):.9g}" for x in arrays))

def say_all(name, measured):
    for model, arrays in measured.items():
        say(f"{name} {model}", *(arrays[part] for part in sorted(arrays)))

for name in comparison.PRESETS:
    run, sweep = comparison.load_preset(name), comparison.load_sweep(name)
    say(name, *(variant.ensemble.test_accuracy for variant in run.variants.values()))
    say(name, sweep.total.value, comparison.load_reference("tokens", name))
    frames = comparison.sample(sweep.model(run), square_grid(), run.task.test_points[0])
    surface = comparison.load_surface(name, frames.values, square_grid())
    say(f"surface {name}", surface.gaussian, frames.logits)
say("comparison", len(repr(comparison.load_measured("comparison"))))
say("depth", depth.load_shipped().accuracy("gated"), len(depth.load_gates()))
say("experts", *(x.excess for x in load_samples().values()), load_curves().accuracy)
say_all("measured", load_measured())
say_all("efficient", load_efficient())
say_all("converted", converted_losses()[0])
say("times", len(repr(load_times())))
say("toy", len(repr(load_toy())))
say("verses", len(excerpt_texts()), *(words.total() for words in vocabulary().values()))
say_all("steering", load_steering())
say("opening", [step.spanish for text in load_opening().examples for step in text.steps])
for text in TEXTS:
    charts = shipped_charts(text, special=False)
    say(text, *shipped_text(text).states, charts.scores, len(shipped_measures(text, True)))
say("heads", *(layer.query for layer in shipped_layers()), len(shipped_record("gates")))
for name in ("none", "g1_channel", "g1_head"):
    model, card = load_model(name, 0)
    say(name, *model.parameters(), card.losses["both"])
"""


@pytest.mark.soak
def test_an_installed_library_loads_what_the_repository_loads(run, wheel):
    assert wheel.stat().st_size < MOST_BYTES
    here = run(LOADED, sys.executable, PYTHONPATH=str(ROOT))
    assert run(LOADED) == here
    assert len(here.splitlines()) > 80


LEFT_OUT = """
from gating_core.lm.shipped import load_model, shipped
from gating_core.lm.conversions import load_conversion
from gating_core.lm.steering.streams import load_dictionaries

print(shipped())
for load in (lambda: load_model("none", 1), lambda: load_conversion("linear"),
             lambda: load_dictionaries("none", 0)):
    try:
        print("silent:", load())
    except ValueError as error:
        print(error)
"""


@pytest.mark.soak
def test_of_what_is_left_out_an_installed_library_says_where_it_is(run):
    there, *lines = run(LEFT_OUT).splitlines()
    assert there == "[('none', 0), ('g1_channel', 0), ('g1_head', 0)]"
    names = ("none-1", "conversions/linear-0", "dictionary-none-0")
    for name, line in zip(names, lines, strict=True):
        assert f"assets/models/{name}.safetensors comes with the repository" in line
        assert line.endswith("clone the repository and install it from there with pip install -e .")


# --- Examples -------------------------------------------------------------------------------------

NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[] if path.stem == "your_model" else pytest.mark.soak)
        for path in NOTEBOOKS
    ],
    ids=lambda path: path.stem,
)
def test_a_notebook_runs_from_top_to_bottom_and_ends_with_a_check(run, path):
    """Its code cells in one fresh process: a kernel would need some 35 more packages."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in cells)
    codes = [cell.source for cell in cells]
    assert "assert " in codes[-1]
    run("\n\n".join(codes))


def test_there_are_notebooks_of_four_subjects():
    assert [path.stem for path in NOTEBOOKS] == [
        "any_module",
        "attention_head",
        "trained_pair",
        "your_model",
    ]


# --- What it depends on ---------------------------------------------------------------------------


def test_it_depends_on_what_it_imports_in_versions_that_the_app_pins():
    asked = {"": requirements(PROJECT["dependencies"])}
    asked |= {extra: requirements(names) for extra, names in EXTRAS.items()}
    lists = [ROOT / "requirements.txt", ROOT / "tests" / "requirements.txt"]  # one is optional
    lines = [x for path in lists for x in path.read_text("utf-8").splitlines() if x[:2] != "-r"]
    pinned = requirements(line.split("#")[0] for line in lines if line.split("#")[0])
    study = {path for path in SOURCES if path.is_relative_to(ROOT / CORE / "claims")}
    core, claims = distributions(set(SOURCES) - study), distributions(study)
    extras = {"pillow", "pyvista", "transformers"}
    assert set(asked["opinion"]) | set(asked["models"]) == extras < core
    assert set(asked[""]) == core - extras
    assert set(asked["claims"]) == claims - core
    for name, wanted in {k: v for names in asked.values() for k, v in names.items()}.items():
        (pin,) = pinned[name].specifier
        assert pin.operator == "=="
        assert wanted.specifier.contains(pin.version), wanted


def distributions(paths):
    """What has to be installed for the modules that the files at ``paths`` import."""
    modules = set()
    for node in (n for path in paths for n in ast.walk(ast.parse(path.read_text("utf-8")))):
        if isinstance(node, ast.Import):
            modules |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules.add(str(node.module).split(".")[0])
    found = packages_distributions()
    return {found[name][0] for name in modules - sys.stdlib_module_names - {CORE}}


def import_name(distribution):
    return next(x for x, names in packages_distributions().items() if distribution in names)
