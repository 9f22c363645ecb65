"""Rows of scores for tests: random, tied, with huge gaps, equal, some keys not seen."""

import torch
from hypothesis import strategies as st

SIZES = st.integers(1, 40)


@st.composite
def rows(draw, sizes=SIZES):
    """(n,) float64: scores of one row, of which at least one is finite."""
    n, seed = draw(sizes), draw(st.integers(0, 2**31))
    random = torch.Generator().manual_seed(seed)
    kind = draw(st.sampled_from(["normal", "ties", "gaps", "equal", "two levels", "steps"]))
    if kind == "normal":
        scores = draw(st.floats(0.0, 8.0)) * torch.randn(n, generator=random).double()
    elif kind == "ties":
        scores = torch.randint(-3, 4, (n,), generator=random).double()
    elif kind == "gaps":
        scores = 200.0 * torch.randn(n, generator=random).double()
    elif kind == "equal":
        scores = torch.full((n,), draw(st.floats(-1e6, 1e6))).double()
    elif kind == "two levels":
        gap = draw(st.floats(0.0, 30.0))
        scores = gap * torch.randint(0, 2, (n,), generator=random).double()
    else:  # stretches of equal scores whose lengths double
        scores = -draw(st.floats(0.0, 3.0)) * torch.arange(1, n + 1).double().log2().ceil()
    if draw(st.booleans()):
        unseen = torch.rand(n, generator=random) < 0.4
        unseen[draw(st.integers(0, n - 1))] = False
        scores = scores.masked_fill(unseen, -torch.inf)
    return scores
