"""What is proved of the curvature of the gated model, at the strength that is shown."""

from __future__ import annotations

from gating_core.experiments.comparison import PRESETS, STRENGTHS, Setting, strengths_model
from gating_core.geometry import Integral
from ui.landing.measured import LandingResult
from ui.proved.measured import ProvableSurface
from ui.proved.section import Code, Compared, draw_proofs
from ui.proved.words import short_code

AXES = "x<sub>1</sub>", "x<sub>2</sub>"


def draw_proof(result: LandingResult) -> None:
    """Draw the fold with the map of what is proved."""
    draw_proofs(lambda: _compared(result), AXES)


def _compared(result: LandingResult) -> tuple[list[Compared], Code]:
    run, strength = result.run, STRENGTHS[result.frame]
    member, setting = result.sweep.member, run.setting
    variant = setting.compared[1]
    model = strengths_model(run.variants[variant].ensemble, member, [strength])
    compared = Compared(
        f"With its gate at λ = {strength:.2f}",
        ProvableSurface((setting, member, strength), model.attention),
        _estimates(result),
        result.pair.right.surface.frame(result.frame),
    )
    return [compared], code(setting, variant, member, strength)


def _estimates(result: LandingResult) -> dict[str, Integral]:
    """Return the refined total, once it is there."""
    frame, sweep = result.frame, result.sweep
    if not sweep.measured[frame]:
        return {}
    total = sweep.total
    return {"absolute": Integral(total.value[frame], total.error[frame], total.complete[frame])}


def code(setting: Setting, variant: str, member: int, strength: float) -> Code:
    """Return imports and lines that make the model from the library."""
    shipped = next((name for name, preset in PRESETS.items() if preset == setting), None)
    names, run = (
        "Setting, strengths_model, train_setting",
        f"*_, run = train_setting({short_code(setting)})",
    )
    if shipped is not None:
        names, run = "load_preset, strengths_model", f"run = load_preset({shipped!r})"
    imports = f"from gating_core.experiments.comparison import {names}"
    return (
        imports,
        f"""\
{run}
ensemble = run.variants[{variant!r}].ensemble
surface = strengths_model(ensemble, {member}, [{strength}]).attention""",
    )
