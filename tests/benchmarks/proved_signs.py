"""Cells, seconds and the open share of a chart: five trained models, three orders of enclosures.

First order are balls (`enclosing_jet`), second order are Taylor models of degree one, and the usual
ones are of degree three. Then the gates of the gallery, each at full strength, by the judge of
gated sheets. Seconds are of the processor, of one thread.
"""

from __future__ import annotations

import time

import torch

from gating_core.attention.stack import Attention, restore
from gating_core.experiments.comparison.run import train_setting
from gating_core.experiments.comparison.setting import Setting
from gating_core.proved import Budget, ProvedCurvature, proof_steps
from gating_core.proved.prove import DEGREE
from gating_core.theory import GALLERY, sign_shares

SECONDS = 4.0  # of the processor, for each model and order
DEGREES = {"first": 0, "second": 1, "usual": DEGREE}
SOFT = {"entropy_bonus": 0.03, "weight_decay": 0.02, "gate_penalty": 0.003, "seed": 32}
SPREAD = SOFT | {"every_layer": True, "spread_bonus": 0.1, "entropy_bonus": 0.3}
MODELS = {
    "one layer, D 3, n 3": Setting(steps=800, **SOFT),
    "one layer, D 8, n 8": Setting(steps=400, model_dim=8, value_count=8, **SOFT),
    "tokens, D 3, n 3": Setting(steps=400, source="tokens", **SOFT),
    "tokens, D 8, n 8": Setting(steps=300, source="tokens", model_dim=8, value_count=8, **SOFT),
    "two layers, D 3, n 3": Setting(steps=400, depth=2, **SPREAD),
}


def proved_signs() -> str:
    """A table of what is proved within `SECONDS`."""
    torch.set_num_threads(1)
    lines = [f"{'model':22} {'order':7} {'cells':>7} {'seconds':>8} {'open':>8}  total of |K| dA"]
    for name, setting in MODELS.items():
        model = trained(setting)
        for order, degree in DEGREES.items():
            proof, seconds = _proved(model, degree)
            low, high = proof.absolute
            lines.append(
                f"{name:22} {order:7} {proof.count:7} {seconds:8.1f} {proof.open:8.2%}"
                f"  {low:.2f} to {high:.2f}"
            )
    return "\n".join([*lines, "", *_gates()])


def _gates() -> list[str]:
    """Lines of a table of the gallery's gates."""
    lines = [f"{'gate':22} {'seconds':>8} {'open':>8}  K > 0    K < 0"]
    for name, case in GALLERY.items():
        start = time.process_time()
        shares = sign_shares(case.gate, 1.0, case.formulas)
        seconds = time.process_time() - start
        lines.append(
            f"{name:22} {seconds:8.2f} {shares.open:8.2%}  {shares.positive:7.2%}"
            f"  {shares.negative:7.2%}"
        )
    return lines


def trained(setting: Setting) -> Attention:
    """The gated member that is best on the training points."""
    *_, run = train_setting(setting)
    ensemble = run.variants[setting.compared[1]].ensemble
    model = restore(ensemble.config, ensemble.seeds, ensemble.state).attention
    return model.member(int(ensemble.best))


def _proved(model: Attention, degree: int) -> tuple[ProvedCurvature, float]:
    start = time.process_time()
    steps = proof_steps(model, budget=Budget(600.0), degree=degree)
    proof = next(steps)
    while time.process_time() - start < SECONDS:
        proof = next(steps, proof)
    return proof, time.process_time() - start
