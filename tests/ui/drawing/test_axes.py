"""The drawn axes are the same however large the surfaces are."""

import numpy as np

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
