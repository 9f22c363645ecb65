"""Points and numbers of a link are read as browsers write them."""

import pytest

from ui.common.links import GRID_SIZE, parse_numbers, parse_pick

# Values that parameters of pages take, and others, for the fuzz over links.
GOOD = {
    "beside": "trained without", "proof": "true", "proof_cells": "16,000",
    "strength": "0.35", "task": "moons", "depth": "3", "gate": "headwise",
    "seed": "7", "colour": "curvature", "explore": "true", "pick": "20.30",
    "kind": "silu", "lambda": "0.5", "layers": "8", "chart": "weights", "by": "entropy",
    "more": "true", "source": "tokens", "position": "G4", "per": "head", "dim": "16", "n": "12",
    "heads": "4", "residual": "true", "norm": "post", "projection": "true", "model": "9999",
    "sharpness": "40", "grid": "151", "scale": "asinh", "layer": "8", "part": "3", "tab": "Doubt",
    "metric": "turned", "variance": "0.5", "variances": "1, 2, 0.5", "angle": "180", "ratio": "20",
    "axes": "2", "values": "1,-2,3e-1", "gates": "0", "whose": "ungated", "step": "1e-7",
    "pair": "2-3", "fooled": "normalisation", "gallery": "true", "point": "150.0",
    "data": "own", "left": "value", "right": "matched", "also": "half", "steps": "4000",
    "who": "picked", "picked_seed": "9999", "paint": "curvature", "discrete": "true",
    "noise": "0.5", "flip": "0.02",
    "balance": "0.9", "points": "64", "share": "0.1", "from": "tokens", "width": "16", "slots": "8",
    "attention_heads": "4", "stack": "4", "skip": "true", "rms": "pre", "out": "true",
    "optimiser": "sgd", "rate": "0.001", "batch": "128", "decay": "1", "soft": "0.03",
    "test_points": "false",
    "first": "9999",
    "drawing": "AAAAehIAeg6Q",
    "table": "q9Cp1MlJTErN4TLQMdBJ5DIEk0Zg0ljHEEgaAMkkoDiINAKTxjpGQBIA",
    "seeds": "32", "setup": "true", "own": "true", "looking": "true", "calibration": "true",
    "case": "monkey saddle", "radius": "1.5", "formula": "1/(3+u^2-v)", "tint": "|H|",
    "why": "true", "level": "0.5", "mark": "3.60",
    "maps": "true", "real": "true", "layer_from": "trained", "layer_seed": "9999",
    "layer_dim": "8", "hand": "set by hand", "exp_p": "-3", "exp_q": "0.5", "exp_c": "4",
    "premises": "true", "slice_by": "residual", "premise_seed": "5", "shaping": "true",
    "target": "ellipsoid", "target_size": "2", "fit_units": "4", "fit_seed": "1",
    "claim": "C7", "rows": "here", "wide": "all", "measure": "∫|K| dA",
    "study": "own selection", "tasks": "rings", "variants": "silu", "many": "64",
    "study_parts": "stacks", "only": "C6", "study_steps": "4000", "product": "true",
    "scheduler": "tcp://127.0.0.1:8786", "run_study": "true", "numbers": "true", "models": "true",
    "accuracies": "true", "report": "true",
    "edition": "first",
}  # fmt: skip
BAD = {
    "beside": "somewhere", "strength": "1.5", "proof": "proved", "proof_cells": "16000",
    "task": "spiral of death", "depth": "9", "gate": "ungated",
    "seed": "-1", "colour": "rainbow", "explore": "2", "pick": "61.3",
    "kind": "relu", "lambda": "1.1", "layers": "9", "chart": "maps", "by": "taste",
    "more": "less", "source": "well", "position": "G6", "per": "cent", "dim": "1", "n": "1",
    "heads": "0", "residual": "1", "norm": "both", "projection": "no", "model": "0.5",
    "sharpness": "nan", "grid": "999", "scale": "log", "layer": "9", "part": "-1", "tab": "see",
    "metric": "hyperbolic", "variance": "0", "variances": "1, two", "angle": "181", "ratio": "-1",
    "axes": "0", "values": "1,inf", "gates": "1,,2", "whose": "mine", "step": "1e-8",
    "pair": "3-4", "fooled": "fools", "gallery": "yes", "point": "151.0",
    "data": "mnist", "left": "relu", "right": "both", "also": "more", "steps": "49", "who": "mean",
    "picked_seed": "10032", "paint": "p", "discrete": "1", "noise": "0.6", "flip": "-0.1",
    "balance": "1", "points": "63", "share": "0.95", "from": "disk", "width": "2", "slots": "9",
    "attention_heads": "5", "stack": "0", "skip": "no", "rms": "layer", "out": "in",
    "optimiser": "lion", "rate": "0.02000", "batch": "65", "decay": "inf", "soft": "2",
    "test_points": "no",
    "first": "1e3",
    "drawing": "AAA", "table": "too large",
    "seeds": "1", "setup": "up", "own": "mine", "looking": "glass", "calibration": "sure",
    "case": "torus", "radius": "3", "formula": "u" * 10_001, "tint": "blue", "why": "because",
    "level": "-1", "mark": "3.61",
    "maps": "some", "real": "not", "layer_from": "somewhere", "layer_seed": "-1",
    "layer_dim": "99", "hand": "left", "exp_p": "-3.1", "exp_q": "x", "exp_c": "5",
    "premises": "no", "slice_by": "tokens", "premise_seed": "1e9", "shaping": "1",
    "target": "cube", "target_size": "0.1", "fit_units": "5", "fit_seed": "0.5",
    "claim": "C8", "rows": "mine", "wide": "all variants", "measure": "r", "study": "slow",
    "tasks": "mnist", "variants": "relu", "many": "65", "scheduler": "tcp://nowhere",
    "study_parts": "all", "only": "C0", "study_steps": "49", "product": "1",
    "run_study": "yes", "numbers": "1", "models": "all", "accuracies": "no", "report": "html",
    "edition": "third",
}  # fmt: skip


@pytest.mark.parametrize("text", ["", "1", "1.", ".1", "1.2.3", "-1.2", "a.b", "1e1.2", "²." "3",
                                  f"{GRID_SIZE}.0", "9" * 5000 + ".1"])  # fmt: skip
def test_points_that_are_none(text):
    assert parse_pick(text) is None


def test_points_of_the_grid():
    assert parse_pick("0.60") == (0, 60)
    assert parse_pick("0.60", 31) is None


@pytest.mark.parametrize(
    "text", ["", "a", "1,", "1;2", "nan", "1,inf", "1e999", "1_0", "1, +2", "１"]
)
def test_numbers_that_are_none(text):
    assert parse_numbers(text) is None


def test_numbers():
    assert parse_numbers(" 1, -2.5,3e-1") == (1.0, -2.5, 0.3)
