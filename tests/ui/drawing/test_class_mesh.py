"""The colours of several classes meet where the boundary is drawn, and nowhere else."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ui.drawing.class_mesh import class_mesh, class_triangle

SIZE = 15
AXIS = np.linspace(-1, 1, SIZE)
U, V = np.meshgrid(AXIS, AXIS)


def areas(vertices, corners):
    a, b, c = (vertices[corners[:, i]] for i in range(3))
    return np.linalg.norm(np.cross(b - a, c - a), axis=-1) / 2


@given(turn=st.floats(0, 6.3), bias=st.tuples(*[st.floats(-0.3, 0.3)] * 3))
def test_cut_along_straight_boundaries_every_face_lies_on_its_side(turn, bias):
    """Logits that are affine in the chart are affine in every face: nothing is approximated.

    But for a tip of a third class that reaches into a face without one of its corners.
    """
    angles = turn + np.arange(3) * 2 * np.pi / 3
    weight = np.stack([np.cos(angles), np.sin(angles)])
    logits = np.stack([U, V], -1) @ weight + bias
    mesh = class_mesh(np.stack([U, V, 0 * U], -1)[None], logits[None])
    vertices, corners = mesh.vertices[0], mesh.corners[0]
    np.testing.assert_array_equal(vertices[: SIZE**2, :2], np.stack([U, V], -1).reshape(-1, 2))
    assert areas(vertices, corners).sum() == pytest.approx(4)
    found = vertices[corners][..., :2] @ weight + bias  # (F, 3, K)
    own = np.take_along_axis(found, mesh.classes[0].astype(int)[:, None, None], -1)[..., 0]
    wrong = (own < found.max(-1) - 1e-9).any(-1)
    assert areas(vertices, corners[wrong]).sum() <= 2 * (AXIS[1] - AXIS[0]) ** 2


def test_two_frames_of_different_counts_repeat_what_is_there():
    still = np.zeros((SIZE, SIZE, 3))
    still[..., 0] = 1
    logits = np.stack([still, np.stack([U, V, -U - V], -1)])
    surface = np.stack([U, V, U * V], -1)
    mesh = class_mesh(np.stack([surface, surface]), logits)
    assert mesh.vertices.shape[:2] == (2, len(mesh.vertices[1]))
    assert set(mesh.classes[0]) == {0}
    assert set(mesh.classes[1]) == {0, 1, 2}
    for vertices, corners in zip(mesh.vertices, mesh.corners, strict=True):
        once = np.unique(corners, axis=0)
        assert corners.max() < len(vertices)
        assert areas(vertices, once).sum() == pytest.approx(
            areas(
                surface.reshape(-1, 3),
                np.unique(class_mesh(surface[None], still[None]).corners[0], axis=0),
            ).sum()
        )


NUMBERS = st.floats(-4, 4, allow_subnormal=False)


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=2, max_size=4))
@example([(0.0, 0.0, -4.7e-59), (-1.0, 0.0, 0.0)])  # a region that is narrower than rounding
def test_a_flat_triangle_is_cut_exactly_where_the_likeliest_class_changes(rows):
    """Also where the class that is likeliest in its middle is so at none of its corners."""
    logits = np.array(rows).T  # (3, K)
    triangle = np.array([[0.0, 0.0, 1.0], [2.0, 0.0, 1.0], [0.0, 1.0, 3.0]])
    mesh, cuts = class_triangle(triangle[None], logits[None])
    vertices, corners, classes = mesh.vertices[0], mesh.corners[0], mesh.classes[0]
    whole = np.linalg.norm(np.cross(triangle[1] - triangle[0], triangle[2] - triangle[0])) / 2
    assert areas(vertices, corners).sum() == pytest.approx(whole)

    def said(points):
        shares = np.linalg.lstsq(triangle.T, points.T, rcond=None)[0].T
        return shares @ logits

    found = said(vertices[corners].mean(1))
    own = np.take_along_axis(found, classes[:, None].astype(int), 1)[:, 0]
    np.testing.assert_allclose(own, found.max(1), atol=1e-9)
    ends = cuts[0][~np.isnan(cuts[0][:, 0])]
    if len(ends):
        best = np.sort(said(ends), 1)
        np.testing.assert_allclose(best[:, -1], best[:, -2], atol=1e-9)
    assert (len(ends) > 0) == (len(np.unique(classes[areas(vertices, corners) > 0])) > 1)


def test_a_triangle_of_one_class_in_some_frames_covers_nothing_twice():
    """What is seen through would be darker there."""
    triangle = np.eye(3)
    mixed = np.array([[1.0, -1.0], [-1.0, 1.0], [-1.0, 1.0]])
    mesh, cuts = class_triangle(np.stack([triangle] * 3), np.stack([mixed, 0 * mixed, abs(mixed)]))
    for vertices, corners in zip(mesh.vertices, mesh.corners, strict=True):
        assert areas(vertices, corners).sum() == pytest.approx(np.sqrt(3) / 2)
    assert np.isfinite(cuts[0]).any()
    assert np.isnan(cuts[1:]).all()
