"""The gated model at every strength and the model beside it are what their names say."""

import numpy as np
import pytest

from gating_core.attention.stack import restore
from gating_core.experiments.comparison.frames import cut_of
from gating_core.geometry.grid import square_grid
from tests.pairs import small_pair

AXIS = np.linspace(-1, 1, 21)


@pytest.fixture(scope="module")
def pair():
    return small_pair()


def test_margins_and_accuracies_belong_to_the_classifier(pair):
    run, *sides = pair
    for side in sides:
        frames = side.frames
        plane = np.einsum("trcd,td->trc", frames.values, frames.normal)
        plane = plane + frames.offset[:, None, None]
        np.testing.assert_allclose(frames.margin, plane, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(frames.values, side.surface.values, rtol=1e-12, atol=1e-14)
    # float32 while training against float64 here: a point on the boundary may flip.
    gated, right = run.variants["sigmoid"].ensemble, sides[1]
    assert abs(right.test_accuracy[-1] - gated.test_accuracy[-1, gated.best]) <= 2e-3
    assert sides[0].test_accuracy[0] == right.test_accuracy[0]


def test_frames_of_a_strength_share_the_weights_and_the_first_has_no_gate(pair):
    run, _, right = pair
    ensemble = run.variants["sigmoid"].ensemble
    state = {name: x for name, x in ensemble.state.items() if ".gate." not in name}
    bare = restore(run.setting.base, ensemble.seeds, state)
    values = bare.attention(square_grid(21).points)[ensemble.best].unflatten(0, (21, 21))
    np.testing.assert_array_equal(right.frames.values[0], values.numpy())
    for part in ("weight", "bias"):
        whole = getattr(right.frames, part)
        assert len(whole) == 3
        assert (whole == ensemble.state[part][ensemble.best]).all()


@pytest.mark.parametrize(
    ("margin", "loops", "lines", "bend"),
    [(lambda u, v: u * u + v * v - 0.5, 1, 0, 0), (lambda u, v: u - 0.3 * v - 0.1, 0, 1, 0),
     (lambda u, v: u * u - 0.25, 0, 2, 0), (lambda u, v: 1 + 0 * u, 0, 0, 0),
     (lambda u, v: v - u * u / 2, 0, 1, 0.5)],
)  # fmt: skip
def test_loops_and_open_lines_are_counted_and_their_sagitta_is_measured(margin, loops, lines, bend):
    found = cut_of(margin(*np.meshgrid(AXIS, AXIS)), AXIS)
    assert (found.loops, found.lines) == (loops, lines)
    assert found.bend == pytest.approx(bend, abs=1e-3)


def test_the_last_frame_is_the_trained_model_and_the_first_has_no_gate(pair):
    _, _, right = pair
    assert right.surface.without_curvature[0]
    assert not right.surface.without_curvature[-1]
    shares = right.surface.shares
    curved = shares.positive + shares.negative
    np.testing.assert_allclose(curved + shares.flat + shares.undetermined, 1, atol=1e-12)
    assert (curved[0], shares.flat[0], shares.undetermined[0]) == (0, 1, 0)
