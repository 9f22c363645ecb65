"""One call measures a layer: closed forms, what it says, what it refuses, and its table."""

import csv
import io
import json
import math
from dataclasses import replace

import pytest
import torch

from gating_core import (
    AttentionConfig,
    GateConfig,
    build_attention,
    measure,
    measurement,
)
from gating_core.geometry import adaptive_integrals
from gating_core.geometry.verdict import AT_POINTS, CURVED, FLAT, PROVED, SEEN, UNKNOWN, Verdict
from gating_core.measurement import SAMPLES, _sentence, touched

CELL = torch.nn.GRU(2, 3)
POINTS = torch.tensor([[0.1, 0.2], [-0.5, 0.4], [0.9, -0.8]])


def sphere(uv, radius=2.0):
    return torch.cat([uv, (radius**2 - uv.square().sum(-1, keepdim=True)).sqrt()], -1)


def plane(uv):
    return torch.cat([uv, uv @ uv.new_tensor([[1.0], [2.0]])], -1)


def area_over_square(radius):
    """The area of a sphere above [-1, 1]^2, by Archimedes: the lune integral in closed form."""
    a = 1 / radius
    return (
        radius**2
        * 4
        * (2 * a * math.asin(a / math.sqrt(1 - a * a)) - math.asin(a * a / (1 - a * a)))
    )


def test_a_sphere_has_its_curvature_its_area_and_its_total():
    found = measure(sphere)
    assert (found.word, found.knowledge) == (CURVED, AT_POINTS)
    field = found.field
    assert bool((abs(field.gaussian - 0.25) <= field.gaussian_error).all())
    assert float(field.gaussian_error.max()) < 1e-12
    area = area_over_square(2.0)
    assert abs(float(found.area.value) - area) <= float(found.area.error)
    assert abs(float(found.total.value) - area / 4) <= float(found.total.error)
    assert abs(float(found.bending.value) - area / 2) <= float(found.bending.error)
    assert float(found.total.error) < 0.01 * area
    assert found.verdict == (
        "Curved, established at all 7,442 sample points: K > 0 on 100.0% of the area."
    )


def test_a_saddle_and_a_plane_are_told_apart_at_a_few_points():
    saddle = measure(lambda uv: torch.cat([uv, uv.prod(-1, keepdim=True)], -1), POINTS)
    u, v = POINTS.double().T
    assert bool(
        (
            abs(saddle.field.gaussian + (1 + u * u + v * v) ** -2.0) <= saddle.field.gaussian_error
        ).all()
    )
    assert "K < 0 on 100.0% of the points" in saddle.verdict
    assert saddle.total is saddle.area is saddle.bending is None
    flat = measure(plane, POINTS)
    assert (flat.word, flat.knowledge) == (FLAT, SEEN)
    assert "seen at 3 points, not proved" in flat.verdict


def test_what_a_theorem_says_is_called_proved_and_a_gate_takes_it_away():
    config = AttentionConfig(model_dim=4)
    flat = measure(build_attention(config, (5,)))
    assert (flat.word, flat.knowledge) == (FLAT, PROVED)
    for zero in (flat.total, flat.bending):
        assert float(zero.value) == float(zero.error) == 0.0
    assert "plane of three fixed values" in flat.verdict
    gated = measure(build_attention(AttentionConfig(model_dim=4, gate=GateConfig()), (5,)))
    assert (gated.word, gated.knowledge) == (CURVED, AT_POINTS)
    assert ("some of" in gated.verdict) == ("undetermined on" in gated.verdict)
    four = measure(build_attention(AttentionConfig(value_count=4), (0,)))
    assert (four.word, four.knowledge) == (CURVED, PROVED)
    assert four.verdict == (
        "Curved: K < 0 on the whole chart, proved, because the four keys are in convex position."
    )


def test_shares_add_up_to_all_however_small_one_is():
    def valley(uv):  # K = 0 where u = 0
        return torch.cat([uv, uv[..., :1] ** 3 + (uv**2).prod(-1, keepdim=True)], -1)

    found = measure(valley, torch.tensor([[0.0, 0.5], [0.5, 0.5], [-0.5, 0.2]]))
    assert found.verdict == (
        "Curved, established at some of the 3 sample points: K > 0 on 33.3% and K < 0 on 33.3%,"
        " K = 0 within errors on 33.3% of the points."
    )
    verdict = Verdict(CURVED, 0.2, 0.8, 0.0, 1e-5, 0.0, 1e-12, "rigorous", None, 3721)
    estimate = replace(verdict, bound_kind="estimate")
    assert "seen at 3,721 points" in _sentence(estimate, found.field, "area")
    text = _sentence(verdict, found.field, "area")
    assert text.endswith("K < 0 on 80.0%, undetermined on under 0.1% of the area.")


def test_where_there_is_no_tangent_plane_nothing_is_said():
    line = measure(lambda uv: torch.cat([uv.sum(-1, keepdim=True)] * 3, -1), POINTS)
    assert (line.word, line.knowledge) == (UNKNOWN, None)
    assert line.verdict.startswith("Inconclusive: ")
    assert line.to_dict()["smallest_K"] is None


def graph(height):
    return lambda uv: torch.cat([uv, height(uv[:, :1], uv[:, 1:])], -1)


def test_points_without_a_value_are_counted_and_nothing_is_said_of_them():
    half = measure(graph(lambda u, v: u.log() * v))  # a saddle where u > 0
    assert half.verdict == (
        "Curved, established at some of the 7,442 sample points: K < 0 on 100.0%"
        " of the area at resolved points. At 1,891 points the layer gives NaN or infinite values."
    )
    assert not half.total.complete
    at = torch.tensor([[0.5, 0.5], [-0.5, 0.5]]).double()
    few = measure(graph(lambda u, v: u.log() * v), at)
    assert "K < 0 on 50.0%, undetermined on 50.0% of the points. At one point" in few.verdict
    with pytest.raises(ValueError, match="layer gives NaN or infinite values at all 3,721 points"):
        measure(graph(lambda u, v: u * torch.nan))


def test_a_fold_leaves_its_points_open_and_operations_with_kinks_are_named():
    fold = measure(graph(lambda u, v: u.abs()))
    assert fold.verdict == (
        "Inconclusive: no point is known to curve, but at 61 of 3,721 points K or the tangent plane"
        " is unresolved."
    )
    assert fold.notes[0].startswith("abs is not smooth everywhere")
    net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
    *_, note = measure(net.double(), POINTS).notes
    assert note.startswith("relu is not smooth everywhere")
    assert not measure(graph(lambda u, v: (u * v).tanh()), POINTS).notes


def test_single_precision_is_carried_and_said_or_refused():
    net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
    single, double = measure(net, POINTS), measure(net.double(), POINTS)
    torch.testing.assert_close(single.field.gaussian, double.field.gaussian, rtol=1e-9, atol=1e-9)
    assert "torch.float32" in single.notes[0]
    assert not double.notes
    with pytest.raises(ValueError, match="convert it with double"):
        measure(net.float(), POINTS, casts="refuse")


@pytest.mark.parametrize(("layer", "points", "says"), [
    (torch.nn.Linear(4, 3), None, r"layer fails on points of shape \(N, 2\): mat1 and mat2"),
    (torch.nn.MultiheadAttention(4, 2), None, r"layer fails .* lambda uv: layer\(origin"),
    (torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), None,
     r"layer fails .* expecting embedding dimension of 8, but got 2.* of tokens lambda uv"),
    (lambda uv: CELL(uv)[0], None, "a point alone"),  # its points are a sequence
    (torch.nn.Linear(2, 1), None, "a surface needs D >= 2"),
    (build_attention(AttentionConfig(), (0, 1)), None, "2 surfaces of a chart, of shape"),
    (torch.nn.BatchNorm1d(2), None, "a point alone|statistics of the batch"),
    (plane, torch.zeros(3, 3), r"points has shape \(3, 3\); a surface needs \(N, 2\)"),
    (plane, torch.full((1, 2), torch.nan), "points contains NaN"),
    (lambda uv: uv.numpy(), None, "ndarray"),
])  # fmt: skip
def test_what_is_no_surface_is_refused_in_the_words_of_the_caller(layer, points, says):
    with pytest.raises(ValueError, match=says):
        measure(layer, points)


def test_the_table_and_the_dictionary_hold_what_was_measured(tmp_path):
    found = measure(sphere, POINTS)
    text = found.to_csv(tmp_path / "k.csv")
    assert (tmp_path / "k.csv").read_text(encoding="utf-8") == text
    header, *rows = csv.reader(io.StringIO(text))
    assert header[2] == "K (1/length^2)"
    assert [float(row[2]) for row in rows] == found.field.gaussian.tolist()
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["points"] == told["resolved"] == 3
    assert told["total"] is told["bending"] is None
    flat = measure(plane)
    assert json.loads(json.dumps(flat.to_dict()))["total"]["complete"] is True
    verdict, total, area, bending = str(flat).splitlines()
    assert (str(found), verdict) == (found.verdict, flat.verdict)
    assert total.startswith("∫|K| dA: ")
    assert area.startswith("area: ")
    assert area.endswith(" (estimate)")
    assert bending.startswith("bending ∫|II|² dA: ")


def test_a_model_of_one_seed_has_no_axis_of_seeds():
    found = measure(build_attention(AttentionConfig(model_dim=4, gate=GateConfig()), (5,)), POINTS)
    assert found.field.gaussian.shape == found.field.resolved.shape == (len(POINTS),)
    assert found.values.shape == (len(POINTS), 4)
    assert len(found.to_csv().splitlines()) == 1 + len(POINTS)


def test_the_totals_of_a_trainable_layer_keep_no_graph():
    layer = torch.nn.Linear(2, 3).double()
    assert not adaptive_integrals(layer, largest_sample=0).absolute.value.requires_grad


def test_a_larger_sample_narrows_the_error():
    def ridge(uv):
        return torch.cat([uv, torch.tanh(30 * uv.prod(-1, keepdim=True))], -1)

    few, many = (measure(ridge, largest_sample=n).total.error for n in (1000, 20_000))
    assert many < few


def ripples(uv):
    """In step with a grid of 61 points, which sees tops and valleys only."""
    u, v = uv[:, :1], uv[:, 1:]
    w = 30 * math.pi
    return torch.cat([uv, 0.003 * (1 - torch.cos(w * u)) * (1 - torch.cos(w * v))], -1)


def test_shares_are_those_of_all_points_that_decide():
    x = torch.rand(400_000, 2, generator=torch.Generator().manual_seed(0)).double() * 60 * math.pi
    (c, d), (s, t) = x.cos().T, x.sin().T
    domes = (c * (1 - d) * d * (1 - c) > (s * t) ** 2).double()
    slope = (0.09 * math.pi) ** 2 * ((s * (1 - d)) ** 2 + (t * (1 - c)) ** 2)
    exact = float((domes * (1 + slope).sqrt()).sum() / (1 + slope).sqrt().sum())
    found = measure(ripples)
    share = float(found.verdict.partition("K > 0 on ")[2].partition("%")[0]) / 100
    assert abs(share - exact) < 0.02
    assert "flat" not in found.verdict
    assert not found.total.complete
    assert f"(estimate, refined to {found.total.points:,} points)" in str(found)


def test_a_sign_on_little_of_the_area_is_named_and_one_on_nothing_is_not():
    def saddle_on_a_bowl(uv):  # about one point of the grid
        x = uv - 1 / 30
        near = torch.exp(-x.square().sum(-1, keepdim=True) / 0.0001)
        return torch.cat(
            [uv, uv.square().sum(-1, keepdim=True) + 3 * x.prod(-1, keepdim=True) * near], -1
        )

    assert "K < 0" not in measure(sphere).verdict
    assert "K < 0 on under 0.1% of the area" in measure(saddle_on_a_bowl).verdict


def test_the_error_of_k_is_called_what_it_is():
    bounds, estimates = (
        measure(sphere, POINTS, bound=b).to_csv() for b in ("rigorous", "estimate")
    )
    assert "bound on the error of K" in bounds.splitlines()[0]
    assert "estimate of the error of K" in estimates.splitlines()[0]
    assert str(measure(sphere)).splitlines()[1].endswith(" (estimate)")


def test_a_costly_layer_is_refined_less():
    small, large = (torch.nn.Linear(2, n).double() for n in (3, 100_000))
    cheap = SAMPLES[0][0]
    assert touched(small, POINTS[:1].double()) < cheap < touched(large, POINTS[:1].double()) / 5


def test_a_layer_as_large_as_those_of_language_models_has_fewer_points_and_says_so(monkeypatch):
    monkeypatch.setattr(measurement, "touched", lambda *_: 1e9)
    found = measure(sphere, bound="estimate")
    assert (len(found.points), found.word) == (31**2, "curved")
    assert 2_000 < found.total.points <= 4_000
    assert not found.total.complete
    assert f"refined to {found.total.points:,} points" in str(found)
    exact = measure(sphere, bound="estimate").total
    assert abs(found.total.value - exact.value) <= found.total.error + exact.error
