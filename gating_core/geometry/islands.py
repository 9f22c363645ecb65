"""Islands: closed loops that a plane cuts out of a surface, and the curvature that they need.

A linear classifier h (affine, with a gradient of length 1) divides the surface f: Omega -> R^D over
an open chart. An *island* is a component C of {h o f > 0} whose closure is a compact part of
Omega: around it the decision boundary is closed. Let p be its highest point and H = h(f(p)) its
height; R the largest distance of its boundary, where h = 0, from f(p); R_C that of all of C.

**Theorem (an island needs a hill).** f is twice continuously differentiable, 0 < eps < H / R^2. The
distance from the centre c = f(p) - grad h / (2 eps) has a local maximum r over C at a point q of C,
with r^2 <= R_C^2 + 1 / (4 eps^2). If f is immersed at q, then:

1. The second fundamental form at q is definite in the direction of c, its eigenvalues are at least
   1 / r, and so is the mean curvature |H|. There is no island without bending, whatever D is.
2. A surface in a three-dimensional affine space: K >= 1 / r^2 at q. A surface with K <= 0
   everywhere, flat or saddle-shaped, has no island, whatever plane cuts it.
3. In such a space, where f is immersed on C: the integral of max(K, 0) dA over C is at least
   2 pi (1 - cos theta), with tan theta = H / sqrt(R^2 - H^2).

*Proof.* On the surface, with y = f(x), h + eps |y - f(p)|^2 = eps |y - c|^2 + const. It is at most
eps R^2 < H on the boundary and H at p, so that its maximum over the closure of C is at a point q
of C. There y - c is normal to the surface, and along any curve through q the second derivative of
|y - c|^2 / 2, that is |y'|^2 + <y'', y - c>, is not positive: II(w, w) has a component of at least
|w|^2 / r along (c - y) / r, where r = |f(q) - c|. Half the trace gives 1. In three dimensions there
is one normal, and K is the product of two eigenvalues of one sign: 2, with h restricted to the
space. For r: h(f(q)) <= H, so that r^2 = |f(q) - f(p)|^2 + (h(f(q)) - H) / eps + 1 / (4 eps^2) is
at most R_C^2 + 1 / (4 eps^2). For 3, let m be a unit vector at an angle alpha < theta from grad h:
<m, y - f(p)> is at most -H cos(alpha) + sqrt(R^2 - H^2) sin(alpha) < 0 on the boundary and 0 at p.
It has its maximum in C, at a point with normal m or -m where II is semidefinite, K >= 0. The
normals of these points cover the cap of radius theta, of area 2 pi (1 - cos theta), at least once
up to sign, and K is the Jacobian of the map to them. (Where f has rank one, it is normal to a great
circle of vectors m only: isolated points, as cross-caps are, take nothing from the cap.) QED

In D >= 4, K may vanish: (cos u, sin u, cos v, sin v) is flat, and h = y_1 + y_3 - 1 cuts an island
out of it. Where f is not immersed at q, at a *fold*, the theorem says nothing about curvature: in
a plane all islands are folds.

**Attention.** With three fixed values and one number per head, a headwise gate or a sink, outputs
lie in the linear span of the values, whatever D is: their islands need K > 0. An elementwise gate
leaves that space, and from D = 4 on its islands need no more than bending.

Classical: that no plane cuts a crust off a saddle surface, which is Shefel's definition of saddle
surfaces (Burago & Shefel', *The geometry of surfaces in Euclidean spaces*, Geometry III, 1992), and
the comparison with a sphere that touches from outside. Ours: the bounds by height and radius, and
what follows for gates.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from gating_core.checks import check_number
from gating_core.geometry.curvature import CurvatureField, curvature, second_fundamental_form
from gating_core.geometry.flatness import AffineSpace, affine_space
from gating_core.geometry.grid import square_grid
from gating_core.geometry.integrals import Integral, density_of
from gating_core.jets.casts import carried
from gating_core.jets.map_check import check_output, evaluate
from gating_core.jets.second_order import SecondOrderJet, second_order_jet

CHART_SIDE = 61  # grid points along each side of the chart, where islands are looked for
ISLAND_SIDE = 121  # along each side of the box around an island, where it is measured
MARGIN = 2  # steps of the chart's grid between an island and the sides of its box
SHARE = 0.99  # of H / R^2: the eps of the touching sphere
ZOOMS, WINDOW = 9, 11  # of the search for a highest point: each window is a quarter of the last
BISECTIONS = 30  # of a step of the grid, for points of the boundary
AROUND = torch.tensor([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1]], dtype=torch.float64)
EVERYWHERE = np.ones((3, 3))  # neighbours across corners count

Map = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True, eq=False)
class Island:
    """A component of {h o f > 0} inside the chart, the sphere that touches it, and its curvature.

    ``h`` counts in units of length: it is divided by the length of its gradient along the surface's
    affine hull. Needed numbers are ``None`` where the theorem is silent: all at a fold, K and its
    total where no three-dimensional space holds the surface, the total where it may fold elsewhere
    on the island.

    Attributes:
        top: (2,), chart point p of the largest height.
        boundary: (M, 2), chart points of its boundary, in no order.
        height: H (length).
        radius: R, the largest distance of the boundary from f(p) (length); ``radius_error`` is an
            estimate, by every second line of the grid.
        reach: R_C, the largest distance of the island from f(p) (length).
        centre: (D,), of the sphere that touches from outside, at chart point q, and
            ``sphere_radius`` r (length).
        dimension: Of the surface's affine hull, or a bound on it that is proved.
        proved: True where ``dimension`` is; otherwise it is seen at the grid's points.
        immersed: False where the tangents at q may be dependent within the distance to which q is
            known: a fold.
        thin: The share of the island's grid points at which the same holds within half a step.
        gaussian: K at q (1 / length^2); ``gaussian_error`` counts the change of K over the distance
            to which q is known.
        mean: |H| at q (1 / length), the mean curvature; ``mean_error`` as for K.
        positive: The integral of max(K, 0) dA over the island.
    """

    top: torch.Tensor
    boundary: torch.Tensor
    height: float
    radius: float
    radius_error: float
    reach: float
    centre: torch.Tensor
    sphere_radius: float
    dimension: int
    proved: bool
    immersed: bool
    thin: float
    gaussian: float
    gaussian_error: float
    mean: float
    mean_error: float
    positive: Integral

    @property
    def needed_mean(self) -> float | None:
        """The least |H| at q (1 / length)."""
        return 1 / self.sphere_radius if self.immersed else None

    @property
    def needed_gaussian(self) -> float | None:
        """The least K at q (1 / length^2)."""
        return self.sphere_radius**-2 if self.immersed and self.dimension <= 3 else None

    @property
    def needed_total(self) -> float | None:
        """The least integral of max(K, 0) dA over the island; ``None`` also if it may fold within.

        Normals of a fold, a curve of points of rank one, may cover a part of the cap.
        """
        if not self.immersed or self.thin > 0 or self.dimension > 3:
            return None
        steep = min(self.height / (self.radius + self.radius_error), 1.0)
        return 2 * math.pi * (1 - math.sqrt(1 - steep**2))


@torch.no_grad()
def islands(
    function: Map, normal: object, offset: float, casts: str = "refuse"
) -> tuple[Island, ...]:
    """Find the islands of h(y) = <normal, y> + offset on a surface, largest height first.

    They are looked for on a grid of 61 x 61 points of the chart [-1, 1]^2: smaller ones are not
    seen. Each is then sampled on a grid of its own of 121 x 121 points. A loop of that grid's edges
    around it must have h < 0, with what second derivatives allow between points; one that comes
    too close to the chart's border or to another part of {h > 0} for that is left out. Closed loops
    around {h < 0} are islands of -h.

    Args:
        function: Torch callable (N, 2) -> (1, N, D) or (N, D), D >= 2, of one surface.
        normal: (D,), gradient of h; not zero.
        offset: Constant term of h.
        casts: As for `second_order_jet`.

    Returns:
        The islands, none where the plane misses the surface, touches it, or cuts it in open lines.

    Raises:
        ValueError: The function makes several surfaces or gives values that are not finite, the
            plane does not fit it, or as `second_order_jet` raises.

    Example:
        >>> def dome(uv):
        ...     return torch.cat([uv, (4 - uv.square().sum(-1, keepdim=True)).sqrt()], -1)
        >>> (cap,) = islands(dome, [0.0, 0.0, 1.0], -1.8)  # of a sphere of radius 2
        >>> round(cap.height, 6), round(cap.needed_gaussian, 3), round(cap.gaussian, 3)
        (0.2, 0.245, 0.25)
        >>> islands(lambda uv: torch.cat([uv, uv.prod(-1, keepdim=True)], -1), [0.0, 0.0, 1.0], 0.0)
        ()
    """
    function = carried(function, casts)
    grid = square_grid(CHART_SIDE)
    surface = _one_surface(function)
    values = surface(grid.points)
    if not values.isfinite().all():
        raise ValueError("function gives NaN or infinite values; islands need all to be finite")
    normal = torch.as_tensor(normal, dtype=torch.float64)
    if normal.shape != values.shape[1:] or not normal.isfinite().all() or not normal.any():
        raise ValueError(
            f"normal has shape {tuple(normal.shape)}; it must be {values.shape[1]} finite numbers,"
            " not all 0"
        )
    check_number("offset", offset, -sys.float_info.max, sys.float_info.max)
    space = affine_space(function, values)
    along = normal if space.basis is None else space.basis.mT @ (space.basis @ normal)
    length = float(torch.linalg.vector_norm(along))
    if length <= 1e-12 * float(torch.linalg.vector_norm(normal)):  # h is constant
        return ()

    def height(y: torch.Tensor) -> torch.Tensor:
        return (y @ normal + offset) / length

    labels = _labelled((height(values) > 0).reshape(CHART_SIDE, CHART_SIDE))
    found: list[Island] = []
    for label in range(1, int(labels.max()) + 1):
        rows, columns = np.nonzero(labels == label)
        edges = (rows.min(), rows.max(), columns.min(), columns.max())
        if min(edges) == 0 or max(edges) == CHART_SIDE - 1:
            continue
        low, high = (
            torch.stack([grid.axis[columns_at], grid.axis[rows_at]])
            for columns_at, rows_at in (
                (max(edges[2] - MARGIN, 0), max(edges[0] - MARGIN, 0)),
                (min(edges[3] + MARGIN, CHART_SIDE - 1), min(edges[1] + MARGIN, CHART_SIDE - 1)),
            )
        )
        island = _island(surface, height, along / length, low, high, space)
        # Two components of the coarse grid may be parts of one island.
        if island and not any(torch.dist(island.top, other.top) < 1e-5 for other in found):
            found.append(island)
    return tuple(sorted(found, key=lambda island: -island.height))


def _one_surface(function: Map) -> Map:
    """``function`` as (N, 2) -> (N, D); ``ValueError`` where it makes several surfaces."""

    def surface(points: torch.Tensor) -> torch.Tensor:
        output = function(points)
        while output.ndim > 2:
            output = output[0]
        return output

    output = evaluate(function, square_grid(3).points)
    check_output(output, 9)
    if output.shape[:-2].numel() != 1:
        raise ValueError(f"function returned {output.shape[:-2].numel()} surfaces; it must be one")
    surface.pure = getattr(function, "pure", False)  # type: ignore[attr-defined]
    return surface


def _labelled(where: torch.Tensor, corners: bool = False) -> np.ndarray:
    """(R, C) int: the connected parts of ``where``, from 1 on; 0 elsewhere."""
    from scipy import ndimage  # here: a fifth of a second to import

    return np.asarray(ndimage.label(where.numpy(), EVERYWHERE if corners else None)[0])


def _island(
    surface: Map,
    height: Map,
    normal: torch.Tensor,
    low: torch.Tensor,
    high: torch.Tensor,
    space: AffineSpace,
) -> Island | None:
    """The island around the highest point of the box, or ``None`` where none is known to close."""
    side = ISLAND_SIDE
    steps = (high - low) / (side - 1)
    ticks = torch.arange(side, dtype=torch.float64)
    v, u = torch.meshgrid(low[1] + ticks * steps[1], low[0] + ticks * steps[0], indexing="ij")
    points = torch.stack([u.flatten(), v.flatten()], -1)
    jet = second_order_jet(surface, points)
    h = height(jet.value).reshape(side, side)
    slopes = (jet.first.mT @ normal).abs()  # (N, 2): of h along the chart
    bends = jet.second.movedim(1, -1) @ normal  # (N, 2, 2)
    # Between two points of an edge h exceeds the larger of its values by this at most.
    slack = (bends.diagonal(dim1=-2, dim2=-1).abs() * steps.square() / 8).amax(-1)
    slack = _largest_near(slack.reshape(side, side))
    outer = _labelled(h > -slack, corners=True)
    top = int(h.argmax())
    region = torch.from_numpy(outer == outer.flat[top])
    border = torch.cat([region[0], region[-1], region[:, 0], region[:, -1]])
    if h.flatten()[top] <= 0 or bool(border.any()):
        return None
    inside = region & (h > 0)

    p, _ = _highest(lambda x: height(surface(x)), points[top], steps)
    summit = surface(p[None])[0]
    peak = float(height(summit[None]))
    boundary, coarse = _boundary(lambda x: height(surface(x)), points, h, region)
    distances = torch.linalg.vector_norm(surface(boundary) - summit, dim=-1)
    radius = float(distances.max())
    error = radius - float(distances[coarse].max()) if coarse.any() else radius
    eps = SHARE * peak / (radius + error) ** 2

    def from_centre(x: torch.Tensor) -> torch.Tensor:  # a multiple of the squared distance, shifted
        y = surface(x)
        return height(y) + eps * (y - summit).square().sum(-1)

    nodes = points[inside.flatten()]
    q, known = _highest(from_centre, nodes[from_centre(nodes).argmax()], steps)
    centre = summit - normal / (2 * eps)
    contact = surface(q[None])[0]
    reach = max(
        float(torch.linalg.vector_norm(surface(nodes) - summit, dim=-1).max()),
        float(torch.dist(contact, summit)),
        radius,
    )

    there = second_order_jet(surface, q + AROUND * known, "rigorous")
    field, form = curvature(there), second_fundamental_form(there)
    size = torch.linalg.vector_norm(form.mean_vector, dim=-1)
    immersed = bool(field.resolved.all()) and not bool(may_fold(there, known).any())
    return Island(
        top=p,
        boundary=boundary,
        height=peak,
        radius=radius,
        radius_error=error,
        reach=reach,
        centre=centre,
        sphere_radius=float(torch.dist(contact, centre)),
        dimension=space.dimension,
        proved=space.proved,
        immersed=immersed,
        thin=float(may_fold(jet, steps / 2)[inside.flatten()].double().mean()),
        gaussian=float(field.gaussian[0]),
        gaussian_error=_with_change(field.gaussian, field.gaussian_error),
        mean=float(size[0]),
        mean_error=_with_change(size, form.mean_error),
        positive=_positive(curvature(jet), h, slopes.reshape(side, side, 2) * steps, region, steps),
    )


def _largest_near(x: torch.Tensor) -> torch.Tensor:
    """(R, C): the largest of each entry and its eight neighbours."""
    return torch.nn.functional.max_pool2d(x[None, None], 3, 1, 1)[0, 0]


def _highest(
    height: Map, start: torch.Tensor, steps: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """A local maximum (2,) near ``start``, within a few ``steps`` (2,), and how far it is known."""
    line = torch.linspace(-1, 1, WINDOW, dtype=torch.float64)
    window = torch.cartesian_prod(line, line)
    for _ in range(ZOOMS):
        points = start + window * steps
        start, steps = points[height(points).argmax()], steps / 4
    return start, steps


def _boundary(
    height: Map, points: torch.Tensor, h: torch.Tensor, region: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Points (M, 2) with h = 0 on the edges of the grid, and which lie on every second line."""
    side = len(h)
    index = torch.arange(side * side).reshape(side, side)
    inside = (h > 0) & region
    pairs, coarse = [], []
    for a, b in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1], np.s_[1:])):
        cut = inside[a] & (h[b] <= 0) | inside[b] & (h[a] <= 0)
        up = (h[a] > 0)[cut]
        first, last = index[a][cut], index[b][cut]
        pairs.append(torch.stack([torch.where(up, first, last), torch.where(up, last, first)]))
        along_row = a == np.s_[:, :-1]
        coarse.append((first // side if along_row else first % side) % 2 == 0)
    within, beyond = (points[x] for x in torch.cat(pairs, 1))
    for _ in range(BISECTIONS):
        middle = (within + beyond) / 2
        above = (height(middle) > 0)[:, None]
        within, beyond = torch.where(above, middle, within), torch.where(above, beyond, middle)
    return (within + beyond) / 2, torch.cat(coarse)


def may_fold(jet: SecondOrderJet, distance: torch.Tensor) -> torch.Tensor:
    """(N,): where the tangents may be dependent within a chart ``distance`` (2,) of a point."""
    change = torch.linalg.vector_norm(jet.second * distance, dim=(-3, -2, -1))
    return torch.linalg.svdvals(jet.first)[:, -1] <= change


def _with_change(values: torch.Tensor, errors: torch.Tensor) -> float:
    """The error of the first value, and how far the others differ from it."""
    return float(errors[0] + (values - values[0]).abs().max())


def _positive(
    field: CurvatureField,
    h: torch.Tensor,
    slopes: torch.Tensor,
    region: torch.Tensor,
    steps: torch.Tensor,
) -> Integral:
    """The integral of max(K, 0) dA over the island: each point counts for its part of a cell.

    Of a cell in which h is linear that part is a ramp in h, whose errors on both sides of the
    boundary cancel. ``error`` is the change by every second line, and rounding.
    """
    side = len(h)
    density, noise = (x.reshape(side, side) for x in density_of("positive", field))
    # Also points of the other side whose cells reach into the island.
    near = _largest_near(region.double()) > 0

    def total(density: torch.Tensor, stride: int) -> torch.Tensor:
        part = np.s_[::stride, ::stride]
        ramp = (0.5 + h[part] / (stride * slopes[part].sum(-1))).nan_to_num(0.5).clamp(0, 1)
        return (density[part] * ramp * near[part]).sum() * steps.prod() * stride**2

    fine, coarse = total(density, 1), total(density, 2)
    resolved = field.resolved.reshape(side, side)[near].all()
    return Integral(fine, (fine - coarse).abs() + total(noise, 1), resolved)
