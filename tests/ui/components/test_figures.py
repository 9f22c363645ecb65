"""Charts are drawn whatever another visitor's run is doing."""

import subprocess
import sys

from tests.ui.opening import ROOT


def test_a_chart_is_drawn_while_another_visitor_still_imports_pandas():
    code = """
import sys, types
from importlib.machinery import ModuleSpec
import ui.components.figures
half = sys.modules["pandas"] = types.ModuleType("pandas")
half.__spec__ = ModuleSpec("pandas", None)
half.__spec__._initializing = True
import plotly.graph_objects as go
go.Figure(go.Scatter(x=[1, 2], y=[3, 4], customdata=[[1], [2]])).to_dict()
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
