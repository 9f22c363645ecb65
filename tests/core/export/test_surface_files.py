"""Files of surfaces say what was measured, to readers that were written elsewhere."""

import io
import re
from dataclasses import replace

import numpy as np
import pytest
import pyvista
import trimesh
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from plyfile import PlyData
from pygltflib import GLTF2
from stl.mesh import Mesh as StlMesh

from gating_core.export import Colours, Surface, no_solid, surface_file
from gating_core.export.surface import LONGEST_MM, PICTURE, THICKNESS_MM, UNKNOWN

SIZE = 17
ABOUT = "digest 0123456789ab; A page; http://there.test/?seed=3"
AXIS = np.linspace(-1, 1, SIZE)
U, V = np.meshgrid(AXIS, AXIS)
TABLE = np.stack([np.arange(256), 255 - np.arange(256), np.full(256, 40)], 1).astype(np.uint8)
WHOLE = np.ones((SIZE, SIZE), bool)


def surface(x, y, z, gaussian, resolved=WHOLE):
    gaussian = np.where(resolved, np.broadcast_to(gaussian, U.shape), np.nan)
    fields = {"x1": U, "K": gaussian, "error of K": 1e-9 * (1 + U**2), "|H|": U - V}
    colours = Colours(gaussian, -1.0, 1.0, TABLE, "K from -1 to 1", {-1: "-1", 0: "0", 1: "1"})
    return Surface(np.stack([x, y, z], -1), resolved, fields, colours, ABOUT)


def holes():
    """Two holes, and two more that meet in a corner alone."""
    resolved = WHOLE.copy()
    resolved[3:6, 3:6] = resolved[9, 10] = False
    resolved[12, 12] = resolved[14, 14] = False
    return resolved


R2 = U**2 + V**2
SURFACES = {
    "flat": surface(U, V, 0 * U, 0.0),
    "dome": surface(U, V, -R2 / 2, 1 / (1 + R2) ** 2),
    "saddle": surface(U, V, (U**2 - V**2) / 2, -1 / (1 + R2) ** 2),
    "constant": surface(U / 2, V / 2, np.sqrt(1 - R2 / 4), 1.0),
    "needle": surface(U, 1e-3 * V, 0.2 * U**2, 0.0),
    "holes": surface(U, V, -R2 / 2, 1 / (1 + R2) ** 2, holes()),
}
NAMES = pytest.mark.parametrize("name", SURFACES)


def read(name, ending, **options):
    data = surface_file(SURFACES[name], ending)
    return trimesh.load(io.BytesIO(data), file_type=ending, **options)


def written(each):
    """The points of the grid that a sheet has, row by row: those of a cell with four of them."""
    cells = np.lib.stride_tricks.sliding_window_view(each.resolved, (2, 2)).all((2, 3))
    seen = np.zeros_like(each.resolved)
    for row, column in zip(*np.nonzero(cells), strict=True):
        seen[row : row + 2, column : column + 2] = True
    return seen


@pytest.mark.sampled(3)
@NAMES
def test_a_solid_is_closed_with_its_outside_out_and_100_mm_long(name):
    solid = read(name, "stl")
    assert solid.is_watertight
    assert solid.is_winding_consistent
    assert solid.is_volume
    assert solid.volume > 0
    assert solid.extents.max() == pytest.approx(LONGEST_MM, abs=1e-4)
    holes = 3 if name == "holes" else 0  # the two that meet in a corner have become one
    assert solid.euler_number == 2 - 2 * holes
    data = surface_file(SURFACES[name], "stl")
    assert not data.startswith(b"solid")  # readers would take it for text
    assert b"mm, closed solid; digest 0123456789ab" in data[:80]
    again = StlMesh.from_file("solid.stl", fh=io.BytesIO(data))  # by another reader
    np.testing.assert_array_equal(again.vectors, solid.triangles.astype("f4"))
    assert float(again.get_mass_properties()[0]) == pytest.approx(solid.volume, rel=1e-4)


def saturated(steepness, ridge):
    """A sheet of which most points nearly coincide, as where attention is saturated."""
    axis = np.linspace(-1, 1, 61)
    u, v = np.meshgrid(axis, axis)
    bump = np.exp(-ridge * u * u)
    whole, colours = np.ones(u.shape, bool), SURFACES["dome"].colours
    colours = replace(colours, drawn=0 * u)
    points = np.stack([0.2 * np.tanh(steepness * u), v, bump], -1)
    return Surface(points, whole, {"K": 0 * u}, colours, ABOUT)


@pytest.mark.parametrize(("steepness", "ridge"), [(20, 400), (40, 400), (300, 30), (8, 3000)])
def test_every_facet_of_a_saturated_sheet_has_an_area_and_a_normal(steepness, ridge):
    data = surface_file(saturated(steepness, ridge), "stl")
    again = StlMesh.from_file("solid.stl", fh=io.BytesIO(data))
    kinds = [("normal", "<3f4"), ("corners", "<(3,3)f4"), ("none", "<u2")]
    normals = np.frombuffer(data[84:], kinds)["normal"]  # that reader computes its own
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1, atol=1e-6)
    assert again.areas.min() > 0
    solid = trimesh.load(io.BytesIO(data), file_type="stl")
    assert solid.is_volume
    assert solid.euler_number == 2
    assert len(solid.faces) == len(again.data)  # none is without area for another reader
    assert solid.extents.max() == pytest.approx(LONGEST_MM, abs=0.01)


def test_a_sheet_far_from_the_origin_is_written_about_its_centre_and_says_so():
    each = SURFACES["dome"]
    far = replace(each, points=each.points + np.array([1e8, -3e9, 0.0]))
    middle = (each.points.max((0, 1)) + each.points.min((0, 1))) / 2
    exact = (each.points - middle).reshape(-1, 3)
    for ending in ("ply", "glb"):
        data = surface_file(far, ending)
        loaded = trimesh.load(io.BytesIO(data), file_type=ending, process=False)
        mesh = loaded if ending == "ply" else next(iter(loaded.geometry.values()))
        np.testing.assert_allclose(mesh.vertices, exact, atol=1e-6)
        assert b"centre of the sheet subtracted: 100000000.0 -3000000000.0" in data
        assert b"subtracted" not in surface_file(each, ending)


def test_what_is_infinite_has_no_number_in_a_file(tmp_path):
    each = SURFACES["dome"]
    gaussian = each.fields["K"].copy()
    gaussian[2, 3], gaussian[4, 5], gaussian[6, 7] = np.inf, -np.inf, 1e300
    error = np.where(np.isfinite(gaussian), 1e-9, np.inf)
    each = replace(each, fields={"K": gaussian, "error of K": error})
    ply = PlyData.read(io.BytesIO(surface_file(each, "ply")))["vertex"]
    lost = [2 * SIZE + 3, 4 * SIZE + 5, 6 * SIZE + 7]
    assert np.flatnonzero(np.isnan(ply["K"])).tolist() == lost
    assert np.flatnonzero(np.isnan(ply["error_of_K"])).tolist() == lost[:2]
    (mesh,) = trimesh.load(io.BytesIO(surface_file(each, "glb")), file_type="glb").geometry.values()
    assert np.flatnonzero(np.isnan(mesh.vertex_attributes["_K"].ravel())).tolist() == lost
    path = tmp_path / "surface.vtp"
    path.write_bytes(surface_file(each, "vtp"))
    assert not np.isinf(pyvista.read(path).point_data["K"]).any()


def test_a_flat_solid_has_the_volume_of_its_sheet():
    assert read("flat", "stl").volume == pytest.approx(LONGEST_MM**2 * THICKNESS_MM, rel=1e-6)


@given(st.lists(st.booleans(), min_size=36, max_size=36))
def test_a_solid_is_closed_whatever_is_unresolved(known):
    points = SURFACES["dome"].points[:6, :6]
    each = replace(SURFACES["dome"], points=points, resolved=np.reshape(known, (6, 6)))
    if not each.cells.any():
        assert "no surface" in no_solid(each)
        return
    assert no_solid(each) is None
    solid = trimesh.load(io.BytesIO(surface_file(each, "stl")), file_type="stl")
    assert solid.is_volume


@pytest.mark.parametrize(
    "points", [SURFACES["flat"].points * [1, 0, 0], 0 * SURFACES["flat"].points]
)
def test_a_line_and_a_point_have_no_solid(points):
    reason = no_solid(replace(SURFACES["flat"], points=points))
    assert reason
    with pytest.raises(ValueError, match=re.escape(reason)):
        surface_file(replace(SURFACES["flat"], points=points), "stl")


@NAMES
def test_a_ply_has_places_colours_and_numbers_of_every_point(name):
    each, mesh = SURFACES[name], read(name, "ply", process=False)
    seen = written(each)
    np.testing.assert_array_equal(mesh.vertices, each.points[seen].astype(np.float32))
    np.testing.assert_array_equal(mesh.visual.vertex_colors[:, :3], each.colours.rgb[seen])
    ply = PlyData.read(io.BytesIO(surface_file(each, "ply")))
    for field, plain in {"x1": "x1", "K": "K", "error of K": "error_of_K", "|H|": "H"}.items():
        np.testing.assert_array_equal(ply["vertex"][plain], each.fields[field][seen].astype("f4"))
    assert ABOUT in " ".join(ply.comments)
    assert "open sheet" in " ".join(ply.comments)
    assert ply["vertex"]["red"].dtype == np.uint8
    assert not mesh.is_watertight
    across = np.sign(mesh.face_normals[:, 2])
    assert np.all(across == across[0])  # triangles of one side


def test_a_point_of_unknown_curvature_is_grey_and_has_no_number():
    each = SURFACES["dome"]
    gaussian = each.fields["K"].copy()
    gaussian[2, 3] = np.nan
    each = replace(
        each, fields=each.fields | {"K": gaussian}, colours=replace(each.colours, drawn=gaussian)
    )
    ply = PlyData.read(io.BytesIO(surface_file(each, "ply")))["vertex"]
    point = 2 * SIZE + 3
    assert np.isnan(ply["K"][point])
    assert [ply[x][point] for x in ("red", "green", "blue")] == UNKNOWN.tolist()
    assert np.isnan(ply["K"]).sum() == 1


@NAMES
def test_a_glb_has_the_same_in_metres_with_y_upwards(name):
    scene, each = read(name, "glb"), SURFACES[name]
    (mesh,) = scene.geometry.values()
    seen = written(each)
    places = each.points[seen].astype(np.float32)
    np.testing.assert_array_equal(mesh.vertices, places)
    linear = np.asarray(mesh.visual.vertex_attributes["color"], float)[:, :3]
    if linear.max() > 1:
        linear /= 255
    shown = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    assert np.abs(255 * shown - each.colours.rgb[seen]).max() < 0.01
    np.testing.assert_array_equal(
        mesh.vertex_attributes["_K"].ravel(), each.fields["K"][seen].astype("f4")
    )
    assert scene.extents.max() == pytest.approx(0.1, rel=1e-5)
    size = 0.1 / np.ptp(places, 0).max()
    x, y, z = (size * places).T
    matrix, _ = scene.graph[next(iter(scene.graph.nodes_geometry))]
    moved = trimesh.transform_points(mesh.vertices, matrix)
    np.testing.assert_allclose(moved, np.stack([x, z, -y], 1), atol=1e-7)
    data = surface_file(each, "glb")
    assert ABOUT.encode() in data
    again = GLTF2.load_from_bytes(data)  # by another reader
    (primitive,) = again.meshes[0].primitives
    accessor = again.accessors[primitive.attributes.POSITION]
    start = again.bufferViews[accessor.bufferView].byteOffset
    found = np.frombuffer(again.binary_blob(), "<f4", 3 * accessor.count, start)
    np.testing.assert_array_equal(found.reshape(-1, 3), places)


@NAMES
def test_a_vtp_has_all_fields(name, tmp_path):
    each, path = SURFACES[name], tmp_path / "surface.vtp"
    path.write_bytes(surface_file(each, "vtp"))
    mesh, seen = pyvista.read(path), written(SURFACES[name])
    np.testing.assert_array_equal(mesh.points, each.points[seen])
    for field, values in each.fields.items():
        np.testing.assert_array_equal(mesh.point_data[field], values[seen])
    assert ABOUT in mesh.field_data["about"][0]


def test_a_picture_is_3000_pixels_wide_on_no_background():
    picture = Image.open(io.BytesIO(surface_file(SURFACES["dome"], "png")))
    assert picture.size == PICTURE
    assert picture.size[0] == 3000
    pixels = np.asarray(picture)
    assert pixels.shape[2] == 4
    opaque = pixels[..., 3] == 255
    assert 0.1 < opaque.mean() < 0.7
    assert pixels[0, 0, 3] == 0
    assert picture.text["Description"] == ABOUT
