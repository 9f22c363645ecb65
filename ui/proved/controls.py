"""The controls of proofs, in the link of every page that shows them."""

from __future__ import annotations

from ui.common.control_table import Controls, table
from ui.common.controls import Choice, Fold
from ui.common.lessons import section

PROOF: Controls = table(
    Fold("proof", "Proved curvature: the sign of K on every cell of the chart"),
    Choice("proof_cells", "Cells to judge at most", default=64_000,
        words={"16,000": 16_000, "64,000": 64_000, "256,000": 256_000},
        help=section("proved", "help_cells")),
)  # fmt: skip
