"""A notebook runs from top to bottom, measures the same, and says when it does not."""

import json

import numpy as np
import plotly.graph_objects as go
import pytest

from gating_core.attention import AttentionConfig, GateConfig
from gating_core.experiments.instance import ModelInstance, integrate_instance
from gating_core.export import notebook_text

IMPORTS = """\
from gating_core.attention import AttentionConfig, GateConfig
from gating_core.experiments.instance import ModelInstance, chart_of"""
LINE = "digest 0123456789ab; Manifold"


def cells(dimension, shown):
    config = f"AttentionConfig(model_dim={dimension}, gate=GateConfig())"
    surface = f"instance = ModelInstance({config}, 614)\nsurface = chart_of(instance)"
    text = notebook_text("A gated surface", LINE, IMPORTS, surface, dimension, shown)
    book = json.loads(text)
    assert book["nbformat"] == 4
    assert len({cell["id"] for cell in book["cells"]}) == len(book["cells"])
    first, *rest = book["cells"]
    assert first["cell_type"] == "markdown"
    assert LINE in "".join(first["source"])
    codes = ["".join(cell["source"]) for cell in rest]
    assert all(cell["cell_type"] == "code" for cell in rest)
    assert sum(len(code.splitlines()) for code in codes) <= 25
    return codes


@pytest.mark.parametrize("dimension", [3, pytest.param(2, marks=pytest.mark.soak),
                                       pytest.param(5, marks=pytest.mark.soak)])  # fmt: skip
def test_a_notebook_finds_the_number_that_the_page_showed(dimension, capsys):
    instance = ModelInstance(AttentionConfig(model_dim=dimension, gate=GateConfig()), 614)
    total = integrate_instance(instance).absolute  # with the page's own budget
    *codes, last = cells(dimension, (float(total.value), float(total.error)))
    names = {}
    for code in codes:
        exec(compile(code, "a cell", "exec"), names)
    figure = names["figure"]
    assert isinstance(figure, go.Figure)
    assert figure.data[0].z.shape == (61, 61)
    assert np.isfinite(figure.data[0].surfacecolor).all()
    exec(compile(last, "the last cell", "exec"), names)
    assert "total curvature" in capsys.readouterr().out
    *_, wrong = cells(dimension, (float(total.value) + 1.0, float(total.error)))
    with pytest.raises(AssertionError):
        exec(compile(wrong, "the last cell", "exec"), names)
