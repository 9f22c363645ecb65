"""Peers compute the same numbers as we do, and what is slower than in the last table stands out."""

import subprocess
import sys
from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest
import torch
import trimesh

from gating_core.checkpoints.state_plane import state_plane
from gating_core.geometry.curvature import curvature
from gating_core.geometry.grid import square_grid
from gating_core.jets.second_order import second_order_jet
from gating_core.proved.signs import LABELS, NEGATIVE, POSITIVE
from gating_core.tasks.task import make_task
from gating_core.training.recipe import Recipe
from gating_core.training.trainer import Trainer
from tests.benchmarks import library, rows
from tests.benchmarks.rows import SLOWER, Ratio, Row, Table, change, comparison, in_turns, row
from tests.browser.serving import REPOSITORY

MACHINE = Ratio(0.9, 1.0, 1.1)
ROW = Row("jet", "mesh", 0.002, 0.001, MACHINE)


def layer(dim):
    model = library.gated_layer(dim)
    weights = library.member_weights(model)
    return model, lambda points: library.plain_layer(weights, points)


# --- Peers ----------------------------------------------------------------------------------------


def test_curvature_by_torch_func_is_ours():
    model, plain = layer(16)
    points = library.shifted(1, 11)
    field = curvature(second_order_jet(model, points))
    gaussian, area = library.plain_curvature(plain, points)
    torch.testing.assert_close(gaussian, field.gaussian[0], rtol=1e-8, atol=0)
    torch.testing.assert_close(area, field.area_element[0], rtol=1e-10, atol=0)


def test_the_mesh_of_pyvista_has_nearly_our_curvature():
    model, plain = layer(3)
    points = square_grid(41).points
    ours = curvature(second_order_jet(model, points)).gaussian.reshape(41, 41)
    mesh = torch.from_numpy(library.mesh_curvature(plain, points)).reshape(41, 41)
    off = (mesh - ours).abs()[2:-2, 2:-2]  # a mesh does not know its rim
    assert off.median() < 0.02 * ours.abs().median()


def test_an_encoder_layer_by_torch_func_has_our_curvature():
    layer, states = library.encoder_layer(8, 2, 12, 5)
    plane = state_plane(layer, "", states, token=3)
    points = library.shifted(1, 3)
    ours = curvature(second_order_jet(plane, points))
    plain = library.plain_encoder(layer, states, plane.plane.state, 3)
    gaussian, area = library.plain_curvature(plain, points)
    torch.testing.assert_close(gaussian, ours.gaussian, rtol=1e-8, atol=0)
    torch.testing.assert_close(area, ours.area_element, rtol=1e-10, atol=0)


def test_a_plain_loop_learns_the_weights_that_the_trainer_learns_for_its_first_seed():
    task = make_task("circle", library.POINTS, seeds=range(3))
    trainer = Trainer([library.TRAINED], task, Recipe())
    trainer.advance(25)
    state = trainer.snapshots()[0].state
    weights = library.plain_training(task, 25)
    assert {*state} == {*weights}
    for name, weight in weights.items():
        np.testing.assert_allclose(weight.detach(), state[name][0], atol=1e-4, err_msg=name)


def test_a_head_has_our_total_curvature():
    drawn, states = library.random_layer(1)
    one = replace(drawn, **{x: getattr(drawn, x)[:1] for x in ("query", "key", "value")})
    (head,) = library.measured_heads(one, states)
    total = library.plain_total(library.plain_head(one, states, 0))
    assert total == pytest.approx(float(head.total.value), rel=1e-8)


def test_proved_signs_are_those_of_the_peer_at_the_cells_centres():
    model, plain = layer(3)
    proof = library.proved(model)
    assert proof.open <= library.OPEN_SHARE
    gaussian, _ = library.plain_curvature(plain, proof.cells.centres)
    for label, sign in ((POSITIVE, 1), (NEGATIVE, -1)):
        signs = gaussian[proof.labels == LABELS.index(label)].sign()
        assert len(signs) > 0
        assert (signs == sign).all()


def test_both_files_hold_the_same_surface():
    surface = library.drawn_surface(1, 31)
    ours, theirs = (
        next(iter(trimesh.load(BytesIO(file), file_type="glb", process=False).geometry.values()))
        for file in (library.glb_file(surface), library.trimesh_file(surface))
    )
    np.testing.assert_array_equal(ours.vertices, theirs.vertices)
    assert {*map(frozenset, ours.faces.tolist())} == {*map(frozenset, theirs.faces.tolist())}


@pytest.mark.soak  # long
def test_rows_of_the_library_are_measured_in_a_process_without_pages():
    code = (
        "import sys, tests.benchmarks.__main__\n"
        "assert not any(name.split('.')[0] in ('ui', 'streamlit') for name in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=REPOSITORY)


# --- The table ------------------------------------------------------------------------------------


def test_alternatives_take_turns_until_the_time_is_over_and_the_first_round_is_left_out():
    calls = []
    measured = {name: lambda n, name=name: calls.append((name, n)) or 1.0 + n for name in "ab"}
    seconds = in_turns(measured, 9, limit_s=0)
    assert calls == [(name, n) for n in range(4) for name in "ab"]
    assert seconds["a"].tolist() == [2, 3, 4]
    assert len(in_turns(measured, 9)["b"]) == 9


def test_the_ratio_is_that_of_each_rounds_own_times():
    seconds = {"jet": np.array([1.0, 10.0, 4.0]), "mesh": np.array([2.0, 20.0, 2.0])}
    assert row(seconds, "jet", "mesh", (2, 1)).ratio == (0.25, 0.25, 0.625)


@pytest.mark.parametrize(
    ("now", "text"),
    [
        (Ratio(1.9, 2.0, 2.1), f"x 2.00 {SLOWER}"),
        (Ratio(0.4, 0.5, 0.6), "x 0.50 faster"),
        (Ratio(1.0, 1.08, 1.2), "x 1.08"),
        (Ratio(1.0, 2.0, 3.0), "x 2.00"),  # rounds that differ so much say nothing
    ],
)
def test_a_change_beyond_the_rounds_own_spread_is_marked(now, text):
    assert change(now, MACHINE) == text
    assert replace(ROW, ratio=now).text(MACHINE).endswith(text)


def test_the_table_that_was_written_is_the_last_one_and_says_what_is_slower(tmp_path):
    path = tmp_path / "last.json"
    assert rows.load(path) is None
    assert "--keep" in "\n".join(comparison([ROW], None))
    quick = replace(ROW, what="λ", ratio=Ratio(0.123456, 0.2, 0.3))
    rows.save([ROW, quick], path)
    last = rows.load(path)
    assert last.machine == rows.machine()
    assert last.ratios == {ROW.name: MACHINE, quick.name: (0.1235, 0.2, 0.3)}
    (where,) = comparison([ROW, quick], last)
    assert last.date in where
    slower, new = replace(ROW, ratio=Ratio(1.9, 2.0, 2.1)), replace(ROW, what="new")
    assert comparison([slower, quick, new], last)[1:] == [
        "Slower than in the last table: jet / mesh"
    ]
    assert new.text(last.ratios.get(new.name)).endswith("new")


def test_a_table_of_another_machine_is_compared_with_a_warning():
    assert "Another machine" in comparison([ROW], Table("a machine", "2026-01-02", {}))[1]
