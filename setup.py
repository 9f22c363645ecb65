"""Packages of the library: what pyproject.toml cannot say.

The wheel carries a part of ``assets/`` (pyproject.toml lists it) as ``gating_core/bundled``.
"""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["gating_core*"]), "gating_core.bundled"],
    package_dir={"gating_core.bundled": "assets"},
)
