"""The drawn axes are the same however large the surfaces are."""

import numpy as np
import pytest

from ui.drawing.axes import principal_axes


def test_axes_do_not_depend_on_the_size_of_a_cloud():
    rng = np.random.default_rng(0)
    clouds = [rng.normal(size=(count, 5)) for count in (50, 40)]
    basis = principal_axes(clouds).basis
    for large, small in ((1e200, 1e-200), (2.0**30, 2.0**-30)):
        sizes = zip(clouds, (large, small), strict=True)
        np.testing.assert_allclose(
            principal_axes([cloud * size for cloud, size in sizes]).basis, basis, atol=1e-12
        )


@pytest.mark.parametrize("lost", [np.inf, -np.inf, np.nan])
def test_points_that_are_not_finite_have_no_say(lost):
    cloud = np.random.default_rng(3).normal(size=(40, 5)) * [5, 3, 2, 1, 0.5]
    more = np.concatenate([cloud, np.full((3, 5), lost)])
    found, exact = principal_axes([more, cloud]), principal_axes([cloud, cloud])
    np.testing.assert_allclose(found.basis, exact.basis, atol=1e-12)
    np.testing.assert_allclose(found.origin, exact.origin, atol=1e-12)
    assert found.share(more) == pytest.approx(exact.share(cloud))
    assert np.isfinite(principal_axes([1e308 * np.sign(cloud)]).basis).all()
    assert np.isfinite(principal_axes([1e308 * np.sign(cloud)]).origin).all()
    nothing = principal_axes([np.full((3, 5), lost)])
    assert nothing.basis.shape == (5, 3)
    assert np.isfinite(nothing.basis).all()
