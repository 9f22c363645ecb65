"""What is selected on the Depth page, and the curves and the stack that belong to it."""

from __future__ import annotations

from dataclasses import dataclass

from gating_core.experiments.depth import ARRANGEMENTS, DepthRequest, TrainedRequest
from ui.limits import MANIFOLD_LAYERS

UNTRAINED = DepthRequest()  # what is measured of all regimes that need no training
SHIPPED = TrainedRequest()  # the stacks that come with the app
TRAINED = "trained"
SIDE_BY_SIDE = "all"
DEPTHS = SHIPPED.depths
MEMBERS = (0, UNTRAINED.seed_count - 1)  # indices of the seeds
STACKED = {
    "side by side": SIDE_BY_SIDE,
    "aligned gates": "aligned",
    "random gates": "random",
    "random stacks": "stacks",
    "trained stacks": TRAINED,
}


@dataclass(frozen=True)
class DepthSelection:
    """The page's controls."""

    stacked: str = SIDE_BY_SIDE  # a value of STACKED
    quantity: str = "total"  # a key of the core's QUANTITIES
    around: str = "residual"  # of random stacks: a key of ARRANGEMENTS
    strong: bool = True  # of aligned gates: which of both is replayed
    gated: bool = True  # of stacks, the same
    layers: int = DEPTHS[-1]  # of the trained stack that is replayed, one of DEPTHS
    member: int = 0  # index of the seed that is replayed
    first_seed: int = SHIPPED.seed  # of the trained stacks

    @property
    def trained(self) -> TrainedRequest:
        """The stacks to train."""
        return TrainedRequest(seed=self.first_seed)

    @property
    def is_trained(self) -> bool:
        return self.stacked == TRAINED

    @property
    def curves(self) -> dict[str, str]:
        """Titles of the curves that are compared, by regime."""
        if self.stacked == "aligned":
            return {"aligned": "weak gates", "strong": "strong gates"}
        if self.stacked == SIDE_BY_SIDE:
            return {}
        if self.stacked == "random":
            return {"random": "random gates"}
        end = "" if self.is_trained else f"_{self.around}"
        return {f"{name}{end}": name for name in ("ungated", "gated")}

    @property
    def replayed(self) -> str:
        """The regime whose surface is replayed, a key of `curves`."""
        first, *second = self.curves
        other = self.strong if self.stacked == "aligned" else self.gated
        return second[0] if second and other else first

    @property
    def seed(self) -> int:
        """The seed of the stack that is replayed."""
        return self.member + (self.first_seed if self.is_trained else UNTRAINED.seed)

    @property
    def depth(self) -> int:
        """Layers of the stack that is replayed."""
        return self.layers if self.is_trained else UNTRAINED.depth


def manifold_link(selection: DepthSelection, layer: int) -> dict[str, str]:
    """Return the parameters of a link to Manifold, for a random stack up to ``layer``.

    Manifold shows no more layers than `MANIFOLD_LAYERS`.
    """
    around = ARRANGEMENTS[selection.around]
    return {
        "layers": f"{min(layer, MANIFOLD_LAYERS[1])}",
        "dim": f"{UNTRAINED.model_dim}",
        "n": f"{UNTRAINED.value_count}",
        "model": f"{selection.seed}",
        "residual": f"{around.residual}".lower(),
        "norm": UNTRAINED.norm if around.normalised else "none",
    }
