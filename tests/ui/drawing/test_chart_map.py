"""A pixel of a map of cells has a kind only where all of it has."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ui.drawing.chart_map import CellKind, cell_map, kinds_of_pixels

KINDS = [CellKind("up", "#b35806"), CellKind("down", "#542788"), CellKind("open", None)]


def halved(seed: int, count: int):
    """The chart, its cells halved ``count`` times at random, each of a kind."""
    rng = np.random.default_rng(seed)
    cells = [(np.zeros(2), np.ones(2))]
    for _ in range(count):
        centre, radius = cells.pop(rng.integers(len(cells)))
        step = np.eye(2)[rng.integers(2)] * radius / 2
        cells += [(centre - step, radius - step), (centre + step, radius - step)]
    centres, radius = (np.array(part) for part in zip(*cells, strict=True))
    return centres, radius, rng.integers(0, 3, len(cells)).astype(np.int8)


@given(seed=st.integers(0, 10**6), count=st.integers(0, 40), power=st.integers(0, 4))
def test_a_pixel_has_the_kind_of_all_cells_that_reach_into_it(seed, count, power):
    centres, radius, labels = halved(seed, count)
    side = 2**power
    found = kinds_of_pixels(centres, radius, labels, 3, side)
    for row in range(side):
        for column in range(side):
            low = np.array([column, row]) * 2 / side - 1
            meets = (centres - radius < low + 2 / side) & (centres + radius > low)
            kinds = {int(label) for label in labels[meets.all(1)]}
            assert found[row, column] == (kinds.pop() if len(kinds) == 1 else -1)


def test_the_first_coordinate_goes_to_the_right_and_the_second_up():
    centres = np.array([[-0.5, 0.0], [0.5, -0.5], [0.5, 0.5]])
    radius = np.array([[0.5, 1.0], [0.5, 0.5], [0.5, 0.5]])
    pixels = kinds_of_pixels(centres, radius, np.array([0, 1, 2]), 3, 2)
    assert pixels.tolist() == [[0, 1], [0, 2]]


def test_open_cells_are_hatched_and_the_others_have_their_colours():
    centres = np.array([[-0.5, 0.0], [0.5, 0.0]])
    radius = np.tile([0.5, 1.0], (2, 1))
    figure = cell_map(centres, radius, np.array([1, 2]), KINDS, ("u", "v"), 300)
    pixels, strokes, read, *legend = figure.data
    assert set(np.unique(pixels.z[:, :128])) == {2}
    assert set(np.unique(pixels.z[:, 128:])) == {0}  # which is transparent
    colours = dict(pixels.colorscale)
    assert colours[1.0] == "#542788"
    assert pixels.colorscale[0][1] == "rgba(0, 0, 0, 0)"
    assert np.nanmin(strokes.x) > -0.01
    assert [trace.name for trace in legend] == ["down", "open"]
    assert read.text[0][0] == "down"
    assert read.text[0][-1] == "open"
    assert (figure.layout.width, figure.layout.yaxis.scaleanchor) == (300, "x")
