"""A surface as a file for other programs: a printable solid, coloured meshes, a picture.

A cell of the grid is written only where all four corners are resolved: what is unknown is a hole.
All files but STL hold the open sheet itself. R x C grid points, V vertices and F triangles written.
"""

from __future__ import annotations

import io
import json
import struct
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gating_core.progress import Progress, silent

LONGEST_MM = 100.0  # the longest side of a solid
THICKNESS_MM = 2.0  # of a sheet that is 100 mm long
LOWEST_MM = 1e-3  # height of a facet of a solid: of a lower one no reader has the normal
STL_HEADER = 80  # bytes
# Units in the last place of single precision, as a share of a sheet's extent: where its points
# would be rounded by more it is moved.
FAR = 2.0**24 * 1e-5
PICTURE = (3000, 2250)  # pixels
UNKNOWN = np.array([201, 201, 201], np.uint8)  # the colour of a point without a number
CORNERS = np.array([[0, 1, 3], [0, 3, 2]])  # two triangles of a cell's four corners, row by row
FLOAT, UNSIGNED_INT, ARRAY, ELEMENTS = 5126, 5125, 34962, 34963  # of glTF


@dataclass(frozen=True, eq=False)
class Colours:
    """The colours of a quantity: ``drawn`` (R, C) from ``low`` to ``high``, NaN where unknown.

    ``table`` (256, 3) holds 8-bit colours; ``ticks`` are texts at numbers of the drawn scale.
    """

    drawn: np.ndarray
    low: float
    high: float
    table: np.ndarray
    title: str
    ticks: Mapping[float, str]

    @property
    def rgb(self) -> np.ndarray:
        """(R, C, 3): 8-bit colours; beyond an end of the scale that of the end."""
        share = (self.drawn - self.low) / (self.high - self.low)
        index = np.rint(255 * np.nan_to_num(share, nan=0.0).clip(0, 1)).astype(int)
        return np.where(np.isnan(self.drawn)[..., None], UNKNOWN, self.table[index])


@dataclass(frozen=True, eq=False)
class Surface:
    """A measured surface in three dimensions.

    ``fields`` (R, C) by name go into PLY and VTP as they are. ``about``, one line of ASCII, is
    printed in every file. ``eye`` (3,) is the direction that a picture is seen from.
    """

    points: np.ndarray  # (R, C, 3)
    resolved: np.ndarray  # (R, C)
    fields: Mapping[str, np.ndarray]
    colours: Colours
    about: str
    eye: tuple[float, float, float] = (1.25, 1.25, 0.9)

    @cached_property
    def cells(self) -> np.ndarray:
        """(R - 1, C - 1): the cells with four resolved corners."""
        whole = self.resolved & np.isfinite(self.points).all(-1)
        return whole[:-1, :-1] & whole[:-1, 1:] & whole[1:, :-1] & whole[1:, 1:]

    @cached_property
    def mesh(self) -> Mesh:
        """The open sheet."""
        return _mesh(self.points, self.cells)

    @cached_property
    def centre(self) -> np.ndarray:
        """(3,): what files in single precision leave out, 0 but for a sheet far from the origin."""
        low, high = self.mesh.vertices.min(0), self.mesh.vertices.max(0)
        far = np.maximum(abs(low), abs(high)).max() > FAR * (high - low).max()
        return (low + high) / 2 if far else np.zeros(3)

    def per_vertex(self, field: np.ndarray) -> np.ndarray:
        """(V, ...): a ``field`` (R, C, ...) at the vertices of the sheet; NaN where infinite."""
        if field.dtype.kind == "f":
            field = np.where(np.isfinite(field), field, np.nan)
        return field.reshape(self.resolved.size, *field.shape[2:])[self.mesh.places]

    def single(self, field: np.ndarray) -> np.ndarray:
        """`per_vertex` in single precision; NaN where that has no number."""
        numbers = self.per_vertex(field)
        with np.errstate(over="ignore"):
            numbers = numbers.astype("<f4")
        return np.where(np.isfinite(numbers), numbers, np.float32(np.nan))


class Mesh(NamedTuple):
    """Triangles; ``places`` (V,) are their vertices' numbers in the grid, row by row."""

    vertices: np.ndarray  # (V, 3)
    triangles: np.ndarray  # (F, 3)
    places: np.ndarray


def _mesh(points: np.ndarray, cells: np.ndarray) -> Mesh:
    """Return the mesh of these ``cells``; ``ValueError`` if there is none."""
    if not cells.any():
        raise ValueError("no cell of the grid has four resolved corners; there is no surface")
    rows, columns = np.nonzero(cells)
    first, width = rows * points.shape[1] + columns, points.shape[1]
    corners = first[:, None] + np.array([0, 1, width, width + 1])
    places, triangles = np.unique(corners[:, CORNERS], return_inverse=True)
    return Mesh(points.reshape(-1, 3)[places], triangles.reshape(-1, 3), places)


# --- A solid --------------------------------------------------------------------------------------


def solid_of(surface: Surface) -> tuple[np.ndarray, np.ndarray]:
    """Thicken the sheet to a closed solid in millimetres; triangles turn outwards.

    Where two cells meet in nothing but a corner, one is left out: no solid is joined in a line.
    Returns vertices (V, 3) in single precision and triangles (F, 3). ``ValueError`` where the sheet
    is too thin in single precision, or lies on itself, so that no closed surface bounds it.
    """
    sheet = _mesh(surface.points, _without_pinches(surface.cells))
    extent = np.ptp(sheet.vertices, 0).max()
    if not extent > 0:
        raise ValueError("all points of the surface are one point; there is no solid")
    middle = (sheet.vertices.max(0) + sheet.vertices.min(0)) / 2
    places = (sheet.vertices - middle) * (LONGEST_MM / extent)
    offset = THICKNESS_MM / 2 * _vertex_normals(places, sheet.triangles)
    vertices = np.concatenate([places + offset, places - offset])
    vertices *= LONGEST_MM / np.ptp(vertices, 0).max()
    count, above = len(places), sheet.triangles
    rim = _rim(above)
    a, b = rim.T
    walls = np.stack([[a + count, b + count, b], [a + count, b, a]]).transpose(0, 2, 1)
    triangles = np.concatenate([above, above[:, ::-1] + count, walls.reshape(-1, 3)])
    return _welded(vertices.astype(np.float32), triangles)


def _without_pinches(cells: np.ndarray) -> np.ndarray:
    """Remove cells until no two of them meet in nothing but a corner."""
    cells = cells.copy()
    while True:
        a, b, c, d = cells[:-1, :-1], cells[:-1, 1:], cells[1:, :-1], cells[1:, 1:]
        down, up = a & d & ~b & ~c, b & c & ~a & ~d
        if not (down.any() or up.any()):
            return cells
        cells[1:, 1:] &= ~down
        cells[1:, :-1] &= ~up


def _rim(triangles: np.ndarray) -> np.ndarray:
    """(E, 2): the edges that belong to one triangle alone, in its direction."""
    edges = triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    size = triangles.max() + 1
    alone = ~np.isin(edges[:, 0] * size + edges[:, 1], edges[:, 1] * size + edges[:, 0])
    return edges[alone]


def _vertex_normals(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """(V, 3): unit normals, weighted by area; of a point without any, that of the whole sheet."""
    a, b, c = (vertices[corner] for corner in triangles.T)
    normals = np.zeros_like(vertices)
    for corner in triangles.T:
        np.add.at(normals, corner, np.cross(b - a, c - a))
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    across = np.linalg.svd(vertices - vertices.mean(0), full_matrices=False)[2][-1]
    return np.where(lengths > 0, normals / np.where(lengths > 0, lengths, 1), across)


def _welded(vertices: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Join vertices that no printer tells apart, drop what becomes a line, and check the rest.

    Equal ones first; then the ends of the shortest side of every triangle whose height is below
    `LOWEST_MM`, until there is none: a facet without area has no normal.
    """
    vertices, number = np.unique(vertices, axis=0, return_inverse=True)
    triangles = _renumbered(triangles, number.reshape(-1))
    places = vertices.astype(float)
    while len(triangles):
        corners = places[triangles]
        sides = np.roll(corners, -1, 1) - corners
        lengths = np.linalg.norm(sides, axis=2)
        doubled = np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1)
        low = doubled <= LOWEST_MM * lengths.max(1)
        if not low.any():
            break
        shortest = lengths[low].argmin(1)
        rows, number = triangles[low], np.arange(len(places))
        ends = np.stack([rows[np.arange(len(rows)), (shortest + i) % 3] for i in (0, 1)], 1)
        for first, last in np.sort(ends, 1):
            if number[first] == first and number[last] == last:
                number[last] = first
        while (number[number] != number).any():
            number = number[number]
        triangles = _renumbered(triangles, number)
    edges = triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    if not len(edges) or len(np.unique(edges, axis=0)) < len(edges) or len(_rim(triangles)):
        raise ValueError(
            "the surface is so thin, or lies so exactly on itself, that no closed solid bounds it"
        )
    return vertices, triangles


def _renumbered(triangles: np.ndarray, number: np.ndarray) -> np.ndarray:
    """Triangles of the vertices ``number[i]``, without those that have become lines."""
    triangles = number[triangles]
    a, b, c = triangles.T
    return triangles[(a != b) & (b != c) & (c != a)]


# --- Files ----------------------------------------------------------------------------------------


def stl_file(surface: Surface) -> bytes:
    """Return a binary STL of the solid, in millimetres."""
    vertices, triangles = solid_of(surface)
    corners = vertices[triangles].astype(float)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    rows = np.zeros(len(triangles), [("normal", "<3f4"), ("corners", "<(3,3)f4"), ("none", "<u2")])
    rows["normal"], rows["corners"] = normals / lengths, corners
    header = f"mm, closed solid; {surface.about}".encode("ascii", "replace")[:STL_HEADER]
    return header.ljust(STL_HEADER) + struct.pack("<I", len(rows)) + rows.tobytes()


def ply_file(surface: Surface) -> bytes:
    """Return a binary PLY of the open sheet, with colours and all fields at its vertices."""
    mesh, fields = surface.mesh, {_plain(name): x for name, x in surface.fields.items()}
    kinds = [(axis, "<f4") for axis in "xyz"]
    kinds += [(colour, "u1") for colour in ("red", "green", "blue")]
    rows = np.zeros(len(mesh.places), kinds + [(name, "<f4") for name in fields])
    rgb = surface.per_vertex(surface.colours.rgb)
    for index, (axis, colour) in enumerate(zip("xyz", ("red", "green", "blue"), strict=True)):
        rows[axis] = mesh.vertices[:, index] - surface.centre[index]
        rows[colour] = rgb[:, index]
    for name, field in fields.items():
        rows[name] = surface.single(field)
    faces = np.zeros(len(mesh.triangles), [("count", "u1"), ("corners", "<3i4")])
    faces["count"], faces["corners"] = 3, mesh.triangles
    types = {"u1": "uchar", "<f4": "float"}
    header = "\n".join([
        "ply", "format binary_little_endian 1.0",
        f"comment open sheet; {_ascii(surface.about)}",
        f"comment colours: {_ascii(surface.colours.title)}",
        *([f"comment {_centred(surface)}"] if surface.centre.any() else []),
        *(f"comment {_plain(name)}: {_ascii(name)}" for name in surface.fields),
        f"element vertex {len(rows)}",
        *(f"property {types[kind]} {name}" for name, kind in [
            *kinds, *((name, "<f4") for name in fields)]),
        f"element face {len(faces)}", "property list uchar int vertex_indices", "end_header\n",
    ])  # fmt: skip
    return header.encode("ascii") + rows.tobytes() + faces.tobytes()


def _centred(surface: Surface) -> str:
    """Say where the origin of a file in single precision lies."""
    return f"centre of the sheet subtracted: {' '.join(repr(float(x)) for x in surface.centre)}"


def glb_file(surface: Surface) -> bytes:
    """Return a binary glTF of the open sheet with colours, K as `_K`; it is 100 mm long there.

    Vertices are in the surface's own units, about its centre where that is far away; the node turns
    z upwards and scales them.
    """
    mesh = surface.mesh
    red_green_blue = surface.per_vertex(surface.colours.rgb) / 255
    linear = np.where(
        red_green_blue <= 0.04045, red_green_blue / 12.92, ((red_green_blue + 0.055) / 1.055) ** 2.4
    )  # glTF multiplies light
    arrays = {
        "POSITION": (mesh.vertices - surface.centre).astype("<f4"),
        "NORMAL": _vertex_normals(mesh.vertices, mesh.triangles).astype("<f4"),
        "COLOR_0": linear.astype("<f4"),
        "_K": surface.single(surface.fields["K"]),
        "indices": mesh.triangles.astype("<u4"),
    }
    views: list[dict[str, int]] = []
    accessors: list[dict[str, Any]] = []
    offset = 0
    for name, array in arrays.items():
        numbers = name == "indices"
        views.append(
            {
                "buffer": 0,
                "byteOffset": offset,
                "byteLength": array.nbytes,
                "target": ELEMENTS if numbers else ARRAY,
            }
        )
        accessors.append(
            {
                "bufferView": len(accessors),
                "count": array.size if numbers else len(array),
                "componentType": UNSIGNED_INT if numbers else FLOAT,
                "type": "VEC3" if array.ndim == 2 and not numbers else "SCALAR",
            }
        )
        offset += array.nbytes
    places = arrays["POSITION"]
    accessors[0] |= {"min": places.min(0).tolist(), "max": places.max(0).tolist()}
    # In metres, with y upwards.
    size = LONGEST_MM / 1000 / max(float(np.ptp(mesh.vertices, 0).max()), 1e-30)
    matrix = [size, 0, 0, 0, 0, 0, -size, 0, 0, size, 0, 0, 0, 0, 0, 1]  # column by column
    attributes = {name: index for index, name in enumerate(arrays) if name != "indices"}
    tree: dict[str, Any] = {
        "asset": {"version": "2.0", "generator": "gated attention",
                  "extras": {"about": f"open sheet; {surface.about}",
                             "colours": surface.colours.title,
                             **({"centre": _centred(surface)} if surface.centre.any() else {})}},
        "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0, "matrix": matrix}],
        "meshes": [{"primitives": [{"attributes": attributes, "material": 0,
                                    "indices": len(accessors) - 1}]}],
        "materials": [{"doubleSided": True, "pbrMetallicRoughness": {
            "metallicFactor": 0.0, "roughnessFactor": 0.9}}],
        "accessors": accessors, "bufferViews": views, "buffers": [{"byteLength": offset}],
    }  # fmt: skip
    tree["scene"] = 0  # the one that is shown
    text = json.dumps(tree).encode()
    text += b" " * (-len(text) % 4)
    binary = b"".join(array.tobytes() for array in arrays.values())
    chunks = struct.pack("<I4s", len(text), b"JSON") + text
    chunks += struct.pack("<I4s", len(binary), b"BIN\0") + binary
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def vtp_file(surface: Surface) -> bytes:
    """Return a VTP of the open sheet with all fields and colours, for ParaView."""
    poly = _poly_data(surface)
    for name, field in surface.fields.items():
        poly.point_data[name] = surface.per_vertex(field)
    poly.point_data["colours"] = surface.per_vertex(surface.colours.rgb)
    poly.add_field_data([f"open sheet; {surface.about}"], "about")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "surface.vtp"
        poly.save(path)
        return path.read_bytes()


def picture_file(surface: Surface, progress: Progress = silent) -> bytes:
    """Return a PNG of 3,000 pixels across for print, on no background, with a colour bar.

    It takes seconds; ``progress`` hears of them.
    """
    from PIL import Image, PngImagePlugin  # here: only files need it

    pixels = picture_pixels(surface, progress)
    about, out = PngImagePlugin.PngInfo(), io.BytesIO()
    about.add_text("Description", surface.about)
    Image.fromarray(pixels).save(out, "PNG", pnginfo=about, dpi=(300, 300))
    return out.getvalue()


def picture_pixels(
    surface: Surface, progress: Progress = silent, *, line_width: float = 3, bar: bool = True
) -> np.ndarray:
    """Draw `picture_file` as an array (2250, 3000, 4) of bytes, with a colour ``bar`` or without.

    ``line_width`` is that of the chart's grid, in pixels.
    """
    progress(0.0)
    import pyvista  # here: seconds to import, and only files need it

    poly, colours = _poly_data(surface), surface.colours
    poly.point_data["colours"] = surface.per_vertex(colours.rgb)
    progress(0.2)
    plotter: Any = pyvista.Plotter(off_screen=True, window_size=[*PICTURE])
    try:
        plotter.add_mesh(
            poly,
            scalars="colours",
            rgb=True,
            ambient=0.6,
            diffuse=0.45,
            smooth_shading=True,
            split_sharp_edges=False,
        )
        lines = np.insert(_grid_lines(surface), 0, 2, axis=1)
        grid = pyvista.PolyData(surface.points.reshape(-1, 3), lines=lines.ravel())
        drawn = plotter.add_mesh(grid, color="#5b5f66", line_width=line_width, lighting=False)
        drawn.mapper.SetResolveCoincidentTopologyToPolygonOffset()
        # before the sheet
        drawn.mapper.SetRelativeCoincidentTopologyLineOffsetParameters(-2, -8)
        if bar:
            # The table with its title, and texts at its ticks.
            actor = pyvista.DataSetMapper(pyvista.PolyData(np.zeros((1, 3))))
            actor.lookup_table = pyvista.LookupTable(
                values=np.c_[colours.table, np.full(256, 255)],
                scalar_range=(colours.low, colours.high),
                annotations=dict(colours.ticks),
            )
            plotter.add_scalar_bar(
                title=colours.title,
                mapper=actor,
                n_labels=0,
                color="black",
                title_font_size=56,
                label_font_size=48,
                width=0.5,
                height=0.09,
                position_x=0.25,
                position_y=0.05,
                unconstrained_font_size=True,
            )
        plotter.view_vector(surface.eye, viewup=(0, 0, 1))
        plotter.camera.zoom(1.15)
        plotter.enable_anti_aliasing("msaa", multi_samples=4)
        progress(0.4)
        pixels: np.ndarray = plotter.screenshot(transparent_background=True, return_img=True)
    finally:
        plotter.close()
    progress(0.8)
    return pixels


def _grid_lines(surface: Surface) -> np.ndarray:
    """(E, 2): edges of written cells along some rows and columns, as numbers of grid points."""
    cells, (rows, columns) = surface.cells, surface.resolved.shape
    number, edges = np.arange(rows * columns).reshape(rows, columns), []
    for beside, along in ((cells, number), (cells.T, number.T)):
        edge = np.pad(beside, ((0, 1), (0, 0))) | np.pad(beside, ((1, 0), (0, 0)))
        # Eleven lines of the chart, each way.
        for at in np.linspace(0, len(along) - 1, 11).round().astype(int):
            edges.append(np.stack([along[at, :-1], along[at, 1:]], 1)[edge[at]])
    return np.concatenate(edges)


def _poly_data(surface: Surface) -> Any:
    import pyvista  # here: seconds to import, and only files need it

    return pyvista.PolyData.from_regular_faces(surface.mesh.vertices, surface.mesh.triangles)


def _ascii(text: str) -> str:
    return " ".join(text.encode("ascii", "replace").decode().split())


def _plain(name: str) -> str:
    """Return the name of a field for formats that know words of letters only."""
    return "_".join("".join(c if c.isascii() and c.isalnum() else " " for c in name).split())


FILES: dict[str, Callable[[Surface], bytes]] = {
    "stl": stl_file,
    "ply": ply_file,
    "glb": glb_file,
    "vtp": vtp_file,
    "png": picture_file,
}


def no_solid(surface: Surface) -> str | None:
    """Return why no solid can be made of ``surface``; ``None`` if one can."""
    try:
        solid_of(surface)
    except ValueError as error:
        return str(error)
    return None


def surface_file(surface: Surface, ending: str) -> bytes:
    """Return ``surface`` as one of `FILES`; ``ValueError`` says why there is none."""
    return FILES[ending](surface)
