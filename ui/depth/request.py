"""What someone asked to see of depth, and which curves and which stack belong to it?"""

from __future__ import annotations

from dataclasses import dataclass

from gating_core.experiments.depth import ARRANGEMENTS, DepthRequest, TrainedRequest
from ui.limits import MANIFOLD_LAYERS

UNTRAINED = DepthRequest()  # what is measured of all regimes that nobody has trained
SHIPPED = TrainedRequest()  # what the app brings
TRAINED = "trained"
DEPTHS = SHIPPED.depths
MEMBERS = (0, UNTRAINED.seed_count - 1)  # places of the seeds


@dataclass(frozen=True)
class Request:
    """The page's controls."""

    stacked: str = TRAINED  # a value of STACKED
    quantity: str = "total"  # a key of the core's QUANTITIES
    around: str = "residual"  # of random stacks: a key of ARRANGEMENTS
    strong: bool = True  # of aligned gates: which of both is replayed
    gated: bool = True  # of stacks, the same
    layers: int = DEPTHS[-1]  # of the trained stack that is replayed, one of DEPTHS
    member: int = 0  # which of the seeds is replayed
    first_seed: int = SHIPPED.seed  # of the trained stacks

    @property
    def trained(self) -> TrainedRequest:
        """The stacks that are to be trained."""
        return TrainedRequest(seed=self.first_seed)

    @property
    def is_trained(self) -> bool:
        return self.stacked == TRAINED

    @property
    def curves(self) -> dict[str, str]:
        """The names of the curves that are compared, by the name of their regime."""
        return CURVES[self.stacked](self.around)

    @property
    def replayed(self) -> str:
        """The regime whose surface is replayed, one of `curves`."""
        names = tuple(self.curves)
        if len(names) == 1:
            return names[0]
        return names[self.strong if self.stacked == "aligned" else self.gated]

    @property
    def seed(self) -> int:
        """The seed of the stack that is replayed."""
        return self.member + (self.first_seed if self.is_trained else UNTRAINED.seed)

    @property
    def depth(self) -> int:
        """Layers of the stack that is replayed."""
        return self.layers if self.is_trained else UNTRAINED.depth


STACKED = {
    "aligned gates": "aligned",
    "random gates": "random",
    "random stacks": "stacks",
    "trained stacks": TRAINED,
}
CURVES = {
    "aligned": lambda around: {"aligned": "weak gates", "strong": "strong gates"},
    "random": lambda around: {"random": "random gates"},
    "stacks": lambda around: {f"ungated_{around}": "ungated", f"gated_{around}": "gated"},
    TRAINED: lambda around: {"ungated": "ungated", "gated": "gated"},
}


def manifold_link(request: Request, layer: int) -> dict[str, str]:
    """What a link to Manifold says for a random stack, up to ``layer`` or as deep as it goes."""
    around = ARRANGEMENTS[request.around]
    return {
        "layers": f"{min(layer, MANIFOLD_LAYERS[1])}",
        "dim": f"{UNTRAINED.model_dim}",
        "n": f"{UNTRAINED.value_count}",
        "model": f"{request.seed}",
        "residual": f"{around.residual}".lower(),
        "norm": UNTRAINED.norm if around.normalised else "none",
    }
