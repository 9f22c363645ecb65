"""Weights and script that a page that trains models offers in *Take along*."""

from __future__ import annotations

import re
from dataclasses import fields

from gating_core.experiments.comparison import TrainedRun
from gating_core.export import script_problem, script_text, weights_file
from ui.common.take_along import File, offered


def offer_model(run: TrainedRun, variant: str, member: int) -> None:
    """Offer all seeds of a ``variant`` as weights, and one ``member`` as a script beside them."""
    ensemble = run.variants[variant].ensemble
    seeds = ensemble.seeds
    name = f"{run.setting.task}_{variant}_seeds{seeds[0]}-{seeds[-1]}_step{int(run.steps[-1])}"
    name = re.sub(r"[^\w-]+", "-", name, flags=re.ASCII)
    weights, problem = f"{name}.safetensors", script_problem(ensemble.config)
    offer = offered()
    offer.settings["seeds"] = [*seeds]
    offer.files["Weights"] = File(
        weights, lambda line: weights_file(ensemble, run.task, about(run, variant) | {"from": line})
    )
    offer.files["Script"] = File(
        f"{name}_seed{seeds[member]}.py",
        lambda line: f"{script_text(ensemble, seeds[member], weights)}\n# {line}\n",
        ":material/code:",
        problem,
    )


def about(run: TrainedRun, variant: str) -> dict[str, object]:
    """Say in a file of weights of which run they are."""
    setting = run.setting
    return {field.name: getattr(setting, field.name) for field in fields(setting)} | {
        "variant": variant,
        "task": run.task.name,
        "own": setting.own is not None,
        "steps": int(run.steps[-1]),
    }
