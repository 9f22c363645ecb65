// The island that a plane cuts out of a sampled surface, and the glass dome that touches it from outside.
//
// The theorem and its exact numbers are gating_core/geometry/islands.py; these are from the vertices, while one drags.

const SHARE = 0.99; // of H / R²: of the dome that touches, as in Python
const MERIDIANS = 16;
const PARALLELS = 5;
const ARCS = 6; // segments of a meridian between two parallels

const valueOf = ({ values, dim }, i) => Array.from(values.subarray(dim * i, dim * (i + 1)));
const apart = (a, b) => Math.hypot(...a.map((x, k) => x - b[k]));

// What the theorem says of the island, and what the vertices say: null where no part is closed. What is needed is a lower
// estimate, from a boundary that is wider by a quarter of the way to the vertices beyond it. Where the island may fold, nothing
// is known to be needed.
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
      beyond = Math.max(beyond, apart(valueOf(surface, j), summit));
      const share = field[i] / (field[i] - field[j]);
      radius = Math.max(radius, apart(mixed(valueOf(surface, i), valueOf(surface, j), share), summit));
    }
  }
  const eps = SHARE * height / radius ** 2;
  const rise = i => side * field[i] + eps * apart(valueOf(surface, i), summit) ** 2;
  const touching = vertices.reduce((best, i) => (rise(i) > rise(best) ? i : best), top);
  const centre = summit.map((x, k) => x - up[k] / (2 * eps));
  const sphere = apart(valueOf(surface, touching), centre);
  const most = radius + (beyond - radius) / 4;
  const least = radius ** 2 / most ** 2 / sphere; // of the dome over the wider boundary
  const cell = (2 / (size - 1)) ** 2;
  return {
    top, up, centre, sphere, touching, height, eps,
    needed: {
      K: thin[touching] ? null : least ** 2,
      total: vertices.some(i => thin[i]) ? null : 2 * Math.PI * (1 - Math.sqrt(1 - Math.min(1, height / most) ** 2)),
      H: thin[touching] ? null : least,
    },
    measured: { K: gaussian[touching], total: vertices.reduce((sum, i) => sum + positive[i] * cell, 0), H: mean[touching] },
  };
}

// The part of the sphere beyond the plane: lines, and translucent pieces.
function glassOf({ up, centre, sphere, height, eps }) {
  const [x, y, z] = up;
  const a = unit(cross(Math.abs(z) < 0.9 ? [0, 0, 1] : [1, 0, 0], [x, y, z]));
  const b = cross([x, y, z], a);
  const widest = Math.acos(Math.max(-1, Math.min(1, (1 / (2 * eps) - height) / sphere)));
  const spot = (down, around) => {
    const aside = plus(a.map(n => n * Math.cos(around)), b, Math.sin(around));
    const way = plus(aside.map(n => n * Math.sin(down)), [x, y, z], Math.cos(down));
    return way.map((n, k) => centre[k] + sphere * n);
  };
  const [lines, sheets] = [[], []];
  const turn = 2 * Math.PI / MERIDIANS;
  for (let m = 0; m < MERIDIANS; m += 1) {
    for (let n = 0; n < PARALLELS * ARCS; n += 1) {
      const step = widest / PARALLELS / ARCS;
      lines.push(...spot(n * step, m * turn), ...spot((n + 1) * step, m * turn));
    }
    for (let n = 1; n <= PARALLELS; n += 1) {
      const down = n * widest / PARALLELS;
      for (let k = 0; k < 3; k += 1) lines.push(...spot(down, (m + k / 3) * turn), ...spot(down, (m + (k + 1) / 3) * turn));
      const before = down - widest / PARALLELS;
      sheets.push([spot(before, m * turn), spot(down, m * turn), spot(down, (m + 1) * turn), spot(before, (m + 1) * turn)]);
    }
  }
  return { lines, sheets };
}
