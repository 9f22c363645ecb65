"""Is the payload what the JavaScript side unpacks?"""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest

from tests.ui.payload import unpack
from ui.components import view3d as module
from ui.components.view3d import PLOTLY_SOURCE, pack, plotly_url

ROOT = Path(__file__).resolve().parents[3]


def test_arrays_survive():
    arrays = {
        "a": np.arange(24.0).reshape(2, 3, 4),
        "b": np.array([1.5, np.nan, np.inf]),
        "c": np.arange(12.0).reshape(3, 4).T,  # not contiguous
        "d": np.empty((0, 3)),
    }
    header, back = unpack(pack({"title": "λ"}, arrays, frozenset({"a"})))
    assert header["title"] == "λ"
    assert [header["arrays"][n]["framed"] for n in "abcd"] == [True, False, False, False]
    for name, array in arrays.items():
        np.testing.assert_array_equal(back[name], array.astype("<f4"))


def test_nan_in_the_header_is_refused():
    with pytest.raises(ValueError, match="JSON"):
        pack({"x": float("nan")}, {}, frozenset())


def test_plotly_is_served_from_here():
    assert plotly_url().startswith("app/static/plotly-")


def test_plotly_is_served_from_here_whatever_the_working_directory(tmp_path):
    code = "from ui.components.view3d import plotly_url; print(plotly_url())"
    answer = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        check=True,
        capture_output=True,
        text=True,
    )
    served = ROOT / answer.stdout.strip().removeprefix("app/")
    assert served.read_bytes() == PLOTLY_SOURCE.read_bytes()
    assert not list(tmp_path.iterdir())


def test_first_visitors_may_come_at_once(tmp_path, monkeypatch):
    """Both have made their copy before either of them puts it in place."""
    both = Barrier(2)
    copy = shutil.copyfile

    def copy_and_wait(*paths):
        copy(*paths)
        both.wait()

    monkeypatch.setattr(module, "STATIC", tmp_path / "static")
    monkeypatch.setattr(shutil, "copyfile", copy_and_wait)
    with ThreadPoolExecutor(2) as visitors:
        (url,) = set(visitors.map(lambda _: plotly_url(), range(2)))
    (served,) = (tmp_path / "static").iterdir()
    assert url.endswith(served.name)
    assert served.read_bytes() == PLOTLY_SOURCE.read_bytes()
