"""Can the core be installed as the library that it is, whole and with what it depends on?"""

import ast
import os
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
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


def test_the_core_is_imported_from_any_folder(installed, tmp_path):
    code = "import gating_core, gating_core.experiments.specimen; print(gating_core.__file__)"
    place = {"cwd": tmp_path, "env": os.environ | {"PYTHONPATH": str(installed)}}
    answer = subprocess.run([sys.executable, "-c", code], **place, check=True, text=True,
                            stdout=subprocess.PIPE)  # fmt: skip
    assert Path(answer.stdout.strip()) == installed / CORE / "__init__.py"


def test_it_depends_on_what_it_imports_in_versions_that_the_app_pins():
    asked = requirements(PROJECT["dependencies"])
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    pinned = requirements(line.split("#")[0] for line in lines if line.split("#")[0])
    modules = set()
    for node in (n for path in SOURCES for n in ast.walk(ast.parse(path.read_text("utf-8")))):
        if isinstance(node, ast.Import):
            modules |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules.add(str(node.module).split(".")[0])
    distributions = packages_distributions()
    foreign = modules - sys.stdlib_module_names - {CORE}
    assert set(asked) == {distributions[name][0] for name in foreign}
    for name, wanted in asked.items():
        (pin,) = pinned[name].specifier
        assert pin.operator == "=="
        assert wanted.specifier.contains(pin.version), wanted
