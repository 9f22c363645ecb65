"""plotly.js: served whole by this server."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from tests.ui.opening import ROOT
from ui.components import plotly_js as module
from ui.components.plotly_js import PLOTLY_SOURCE, plotly_url


def test_plotly_is_served_from_any_working_directory(tmp_path):
    code = "from ui.components.plotly_js import plotly_url; print(plotly_url())"
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


def test_two_first_visitors_may_come_at_once(tmp_path, monkeypatch):
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


def test_a_copy_that_was_cut_off_is_made_again(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "STATIC", tmp_path)
    (tmp_path / plotly_url().rpartition("/")[2]).write_bytes(b"cut off")
    plotly_url()
    (served,) = tmp_path.iterdir()
    assert served.read_bytes() == PLOTLY_SOURCE.read_bytes()


def test_a_chart_is_drawn_while_another_visitor_still_imports_pandas():
    code = """
import sys, types
from importlib.machinery import ModuleSpec
import ui.components.plotly_js
half = sys.modules["pandas"] = types.ModuleType("pandas")
half.__spec__ = ModuleSpec("pandas", None)
half.__spec__._initializing = True
import plotly.graph_objects as go
go.Figure(go.Scatter(x=[1, 2], y=[3, 4], customdata=[[1], [2]])).to_dict()
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
