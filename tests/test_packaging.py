"""The core can be installed as a library, whole and with what it depends on."""

import ast
import os
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
CORE = "gating_core"
SOURCES = sorted((ROOT / CORE).rglob("*.py"))
NEEDED_TO_BUILD = ("pyproject.toml", "README.md", "LICENSE", CORE, "ui", "assets")
BUILD = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
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
try:
    geometry.second_opinion(model, grid)
except ImportError as error:
    print(error)
"""


packages_distributions = cache(metadata.packages_distributions)  # looks into every file


def requirements(lines):
    return {found.name: found for found in map(Requirement, lines)}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with what `pip install .` would put beside the other packages."""
    source, wheels, site = (tmp_path_factory.mktemp(name) for name in ("source", "wheels", "site"))
    for name in NEEDED_TO_BUILD:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile
        copy(ROOT / name, source / name)
    subprocess.run([sys.executable, "-c", BUILD, str(wheels)], cwd=source, check=True,
                   capture_output=True)  # fmt: skip
    (wheel,) = wheels.glob("*.whl")
    with ZipFile(wheel) as archive:
        archive.extractall(site)
    return site


def test_every_module_of_the_core_is_installed_and_nothing_else(installed):
    found = {path.relative_to(installed).as_posix() for path in installed.rglob("*.py")}
    assert found == {path.relative_to(ROOT).as_posix() for path in SOURCES}
    assert {path.name.split("-")[0] for path in installed.iterdir()} == {
        CORE,
        PROJECT["name"].replace("-", "_"),
    }


def test_the_core_works_from_any_folder_without_the_extras(installed, tmp_path):
    """It is imported, trains and measures; what needs an extra names it in one sentence."""
    extras = sorted(import_name(x) for names in EXTRAS.values() for x in requirements(names))
    code = f"EXTRAS, HEAVY = {[*extras, 'dask', 'vtk']!r}, {HEAVY!r}\n{WITHOUT_EXTRAS}"
    place = {"cwd": tmp_path, "env": os.environ | {"PYTHONPATH": str(installed)}}
    answer = subprocess.run([sys.executable, "-c", code], **place, check=True, text=True,
                            stdout=subprocess.PIPE)  # fmt: skip
    assert answer.stdout.splitlines() == [
        str(installed / CORE / "__init__.py"),
        "[]",  # of what is slow to import nothing is loaded
        "flat",
        'a triangle mesh needs PyVista: pip install "gating-curvature[opinion]"',
    ]


WITHOUT_ASSETS = """
from gating_core.language.measurements.stored import load_measured
from gating_core.experiments.comparison.presets import load_preset, load_sweep
from gating_core.experiments.depth.shipped import load_shipped
from gating_core.experts.shipped import load_curves, load_samples
from gating_core.language.corpus import EXCERPT, read_verses
from gating_core.language.shipped import digest, load_model, shipped
from gating_core.steering.shipped import load_dictionaries, shipped_dictionaries

for load in (shipped, shipped_dictionaries, lambda: digest("none", 0), load_measured,
             lambda: load_model("none", 0), lambda: load_dictionaries("none", 0),
             lambda: load_preset("circle"), lambda: load_sweep("circle"), load_shipped,
             load_samples, load_curves, lambda: read_verses(EXCERPT)):
    try:
        print("silent:", load())
    except (FileNotFoundError, ValueError) as error:
        print(error)
"""


def test_a_library_without_shipped_files_says_where_they_are(installed, tmp_path):
    place = {"cwd": tmp_path, "env": os.environ | {"PYTHONPATH": str(installed)}}
    answer = subprocess.run([sys.executable, "-c", WITHOUT_ASSETS], **place, check=True, text=True,
                            stdout=subprocess.PIPE)  # fmt: skip
    lines = answer.stdout.splitlines()
    assert len(lines) == 12
    for line in lines:
        assert f"there is no folder {installed / 'assets'}" in line
        assert line.endswith("clone the repository and install it from there with pip install -e .")


def test_it_depends_on_what_it_imports_in_versions_that_the_app_pins():
    asked = {"": requirements(PROJECT["dependencies"])}
    asked |= {extra: requirements(names) for extra, names in EXTRAS.items()}
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    pinned = requirements(line.split("#")[0] for line in lines if line.split("#")[0])
    study = {path for path in SOURCES if path.is_relative_to(ROOT / CORE / "claims")}
    core, claims = distributions(set(SOURCES) - study), distributions(study)
    extras = {"pyvista", "tokenizers"}
    assert set(asked["opinion"]) | set(asked["checkpoints"]) == extras < core
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
