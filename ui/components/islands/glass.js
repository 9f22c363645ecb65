// The island that a plane cuts out of a sampled surface, and the dome that touches it from
// outside.
//
// The theorem and its exact numbers are gating_core/geometry/islands.py; these are from the
// vertices.

const SHARE = 0.99; // of H / R²: of the dome that touches, as in Python
const MERIDIANS = 16;
const PARALLELS = 5;
const ARCS = 6; // segments of a meridian between two parallels

const valueOf = ({ values, dim }, i) => Array.from(values.subarray(dim * i, dim * (i + 1)));
const apart = (a, b) => Math.hypot(...a.map((x, k) => x - b[k]));

// What the theorem says of the island, and what the vertices say: null where no part is closed.
// What is needed is a lower estimate, from a boundary that is wider by a quarter of the way to the
// vertices beyond it. Where the island may fold, nothing is known to be needed.
function islandOf(surface, field, normal) {
  const { size, dim, gaussian, positive, mean, thin } = surface;
  const part = closedPart(field, size);
  if (!part) return null;
  const { side, height, top, vertices } = part;
  const summit = valueOf(surface, top);
  const up = [...normal.map(x => side * x), 0].slice(0, dim);
  let [radius, beyond] = [0, 0];
  for (const i of vertices) {
    for (const [down, across] of SIDES) {
      const j = i + down * size + across;
      if (side * field[j] > 0) continue;
      const edge = crossingOf(field, [i, j], k => valueOf(surface, k));
      beyond = Math.max(beyond, apart(valueOf(surface, j), summit));
      radius = Math.max(radius, apart(edge, summit));
    }
  }
  const eps = SHARE * height / radius ** 2;
  const rise = i => side * field[i] + eps * apart(valueOf(surface, i), summit) ** 2;
  const touching = vertices.reduce((best, i) => (rise(i) > rise(best) ? i : best), top);
  const centre = summit.map((x, k) => x - up[k] / (2 * eps));
  const sphere = apart(valueOf(surface, touching), centre);
  const most = radius + (beyond - radius) / 4;
  const least = radius ** 2 / most ** 2 / sphere; // of the dome over the wider boundary
  const total = 2 * Math.PI * (1 - Math.sqrt(1 - Math.min(1, height / most) ** 2));
  const cell = (2 / (size - 1)) ** 2;
  return {
    top, up, centre, sphere, touching, height, eps,
    needed: {
      K: thin[touching] ? null : least ** 2,
      total: vertices.some(i => thin[i]) ? null : total,
      H: thin[touching] ? null : least,
    },
    measured: {
      K: gaussian[touching],
      total: vertices.reduce((sum, i) => sum + positive[i] * cell, 0),
      H: mean[touching],
    },
  };
}

// The part of the sphere beyond the plane: lines, and translucent pieces.
function addGlass(scene, { up: [x, y, z], centre, sphere, height, eps }, ink) {
  const a = unit(cross(Math.abs(z) < 0.9 ? [0, 0, 1] : [1, 0, 0], [x, y, z]));
  const b = cross([x, y, z], a);
  const widest = Math.acos(Math.max(-1, Math.min(1, (1 / (2 * eps) - height) / sphere)));
  const spot = (down, around) => { // in parallels and meridians
    const [rise, turn] = [down * widest / PARALLELS, around * 2 * Math.PI / MERIDIANS];
    const aside = plus(a.map(n => n * Math.cos(turn)), b, Math.sin(turn));
    const way = plus(aside.map(n => n * Math.sin(rise)), [x, y, z], Math.cos(rise));
    return way.map((n, k) => centre[k] + sphere * n);
  };
  const segments = [];
  const colour = isDark(ink) ? [0.35, 0.5, 0.75, 0.05] : [0.75, 0.85, 1, 0.045];
  for (let m = 0; m < MERIDIANS; m += 1) {
    for (let n = 0; n < PARALLELS * ARCS; n += 1) {
      segments.push(...spot(n / ARCS, m), ...spot((n + 1) / ARCS, m));
    }
    for (let n = 1; n <= PARALLELS; n += 1) {
      for (let k = m; k < m + 1; k += 1 / 4) segments.push(...spot(n, k), ...spot(n, k + 1 / 4));
      const corners = [spot(n - 1, m), spot(n, m), spot(n, m + 1), spot(n - 1, m + 1)];
      scene.sheets.push({ corners, colour });
    }
  }
  scene.lines.push({ segments, wide: 1.2, colour: ink, alpha: 0.42, hidden: 0.12 });
}
