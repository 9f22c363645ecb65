"""A notebook that measures a surface again and draws it: a few lines, to be run from the top."""

import json
from string import Template

GRID = 61  # points along each side, as `gating_core.measure` takes by default

HEAD = Template("""\
# $title

It measures this surface once more with `gating_core` and draws it. It needs
`pip install gating-curvature plotly`, from the project's folder where it is not published.

From $line
""")
IMPORTS = Template("""\
import numpy as np
import plotly.graph_objects as go
from gating_core import measure
$imports
""")
MEASURED = Template("""\
$surface
found = measure($measured)
print(found.verdict)
""")
DRAWN = Template(f"""\
values = found.values.numpy() - found.values.numpy().mean(0)
x, y, z = $drawn.reshape(3, {GRID}, {GRID})
gaussian = found.field.gaussian.reshape({GRID}, {GRID}).numpy()
end = np.quantile(np.abs(gaussian), 0.98) or 1.0
colours = dict(surfacecolor=gaussian, cmin=-end, cmax=end, colorscale="PuOr_r")
figure = go.Figure(go.Surface(x=x, y=y, z=z, colorbar_title="K", **colours))
figure.update_layout(title=$title, scene_aspectmode="data", height=700)
""")
TOTAL = """\
here, its_error = float(found.total.value), float(found.total.error)
"""
AT_POINT = Template("""\
field = measure(surface, torch.tensor([[$u, $v]], dtype=torch.float64)).field
here, its_error = float(field.gaussian[0]), float(field.gaussian_error[0])
""")
# $slack: rounding of other machines, where both errors are 0.
COMPARED = Template("""\
${found}shown, error = $value, $error
print(f"$quantity {here} ± {its_error}; on the page {shown} ± {error}")
assert abs(here - shown) <= its_error + error + $slack
""")


def notebook_text(
    title: str,
    line: str,
    imports: str,
    surface: str,
    dimension: int,
    shown: tuple[float, float],
    at: tuple[float, float] | None = None,
) -> str:
    """Return an .ipynb as text.

    Args:
        title: Of the notebook and its figure.
        line: Where it comes from.
        imports: Lines of Python, for what follows.
        surface: Lines that make ``surface``, (N, 2) -> (N, D) or (1, N, D).
        dimension: D. Beyond three, three principal components are drawn.
        shown: Total curvature and its error, which the last cell compares with.
        at: A point of the chart: then ``shown`` is K there and its error, and no total is computed.
    """
    drawn = {2: "np.c_[values, np.zeros(len(values))].T", 3: "values.T"}.get(
        dimension, "(values @ np.linalg.svd(values, full_matrices=False)[2][:3].T).T"
    )
    value, error = map(repr, map(float, shown))
    found, quantity, measured = TOTAL, "total curvature", "surface"
    if at is not None:
        u, v = map(repr, map(float, at))
        imports = f"import torch\nfrom gating_core.geometry import square_grid\n{imports}"
        measured = "surface, square_grid().points"
        found, quantity = AT_POINT.substitute(u=u, v=v), f"K at ({u}, {v})"
    cells = [
        _cell(0, "markdown", HEAD.substitute(title=title, line=line)),
        _cell(1, "code", IMPORTS.substitute(imports=imports)),
        _cell(2, "code", MEASURED.substitute(surface=surface, measured=measured)),
        _cell(3, "code", DRAWN.substitute(drawn=drawn, title=repr(title)) + "figure"),
        _cell(
            4,
            "code",
            COMPARED.substitute(
                found=found, quantity=quantity, value=value, error=error, slack=1e-9
            ),
        ),
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return json.dumps(
        {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5},
        indent=1,
        ensure_ascii=False,
    )


def _cell(number: int, kind: str, text: str) -> dict[str, object]:
    more: dict[str, object] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {
        "cell_type": kind,
        "id": f"cell-{number}",
        "metadata": {},
        "source": text.strip().splitlines(keepends=True),
        **more,
    }
