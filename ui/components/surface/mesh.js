// The mesh of a surface: size x size vertices, row by row; its normals, its cuts, what a ray hits.
//
// Positions are flat arrays, three numbers for each vertex. A cell has two triangles, split by the
// diagonal from its first corner: drawing, cutting and picking use the same ones.

const vertexOf = (places, i) => [places[3 * i], places[3 * i + 1], places[3 * i + 2]];

// Calls visit(i, j, k) with the vertices of every triangle.
function eachTriangle(size, visit) {
  for (let row = 0; row < size - 1; row += 1) {
    for (let column = 0; column < size - 1; column += 1) {
      const i = row * size + column;
      visit(i, i + 1, i + size + 1);
      visit(i, i + size + 1, i + size);
    }
  }
}

// Unit normals by central differences along rows and columns, one-sided beside a hole (NaN). In plain numbers: at every
// frame of a drag this would make ten arrays for each vertex.
function normalsOf(places, size, out = new Float32Array(places.length)) {
  for (let row = 0; row < size; row += 1) {
    for (let column = 0; column < size; column += 1) {
      const here = 3 * (row * size + column);
      const left = column > 0 && !Number.isNaN(places[here - 3]) ? here - 3 : here;
      const right = column < size - 1 && !Number.isNaN(places[here + 3]) ? here + 3 : here;
      const above = row > 0 && !Number.isNaN(places[here - 3 * size]) ? here - 3 * size : here;
      const below = row < size - 1 && !Number.isNaN(places[here + 3 * size]) ? here + 3 * size : here;
      const ax = places[right] - places[left];
      const ay = places[right + 1] - places[left + 1];
      const az = places[right + 2] - places[left + 2];
      const bx = places[below] - places[above];
      const by = places[below + 1] - places[above + 1];
      const bz = places[below + 2] - places[above + 2];
      const [x, y, z] = [ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx];
      const length = Math.hypot(x, y, z) || 1;
      out[here] = x / length;
      out[here + 1] = y / length;
      out[here + 2] = z / length;
    }
  }
  return out;
}

// Marching triangles: segments along which a field (size²) is zero, as ends one after the other, with
// `dimension` numbers each, interpolated between the vertices' `places`.
function cutOf(field, size, places, dimension = 3) {
  const segments = [];
  const crossing = (i, j) => {
    const share = field[i] / (field[i] - field[j]);
    for (let k = 0; k < dimension; k += 1) {
      segments.push(places[dimension * i + k] * (1 - share) + places[dimension * j + k] * share);
    }
  };
  eachTriangle(size, (i, j, k) => {
    const [a, b, c] = [field[i] > 0, field[j] > 0, field[k] > 0];
    if (a !== b) crossing(i, j);
    if (b !== c) crossing(j, k);
    if (c !== a) crossing(k, i);
  });
  return segments;
}

// The lines of the chart's grid on the surface, as segments.
function gridLines(places, size, cells) {
  const segments = [];
  for (let n = 0; n <= cells; n += 1) {
    const line = n * (size - 1) / cells;
    for (const at of [t => line * size + t, t => t * size + line]) {
      for (let t = 0; t + 1 < size; t += 1) segments.push(...vertexOf(places, Math.round(at(t))), ...vertexOf(places, Math.round(at(t + 1))));
    }
  }
  return segments;
}

const PULLED = 6; // parts of a side, at whose ends arrows stand
const HEAD = 0.05; // length of an arrow's head, at most

// Arrows from where points of the flat surface are, `from(i)`, to where a gate has pulled them.
function pullsOf(from, places, size) {
  const step = (size - 1) / PULLED;
  const segments = [];
  for (let n = 0; n < (PULLED + 1) ** 2; n += 1) {
    const i = Math.round(Math.floor(n / (PULLED + 1)) * step) * size + Math.round(n % (PULLED + 1) * step);
    const [start, tip] = [from(i), vertexOf(places, i)];
    const way = minus(tip, start);
    const length = lengthOf(way);
    if (!(length > 0)) continue; // also at a hole
    const head = Math.min(HEAD, length / 3) / length;
    const across = unit(cross(way, Math.abs(way[2]) > 0.9 * length ? [1, 0, 0] : [0, 0, 1])).map(x => x * head * length / 2);
    segments.push(...start, ...tip);
    for (const side of [1, -1]) segments.push(...tip, ...plus(plus(tip, way, -head), across, side));
  }
  return segments;
}

// Where a ray first meets the mesh: { row, column } as shares of one; null where it misses.
function hitOf(places, size, origin, direction) {
  let nearest = Infinity;
  let hit = null;
  eachTriangle(size, (i, j, k) => {
    const a = vertexOf(places, i);
    const [ab, ac] = [minus(vertexOf(places, j), a), minus(vertexOf(places, k), a)];
    const p = cross(direction, ac);
    const volume = dot(ab, p);
    if (!volume) return; // edge-on, or at a hole
    const from = minus(origin, a);
    const second = dot(from, p) / volume;
    const q = cross(from, ab);
    const third = dot(direction, q) / volume;
    const distance = dot(ac, q) / volume;
    if (second < 0 || third < 0 || second + third > 1 || distance <= 0 || distance >= nearest) return;
    nearest = distance;
    const mean = at => ((1 - second - third) * at(i) + second * at(j) + third * at(k)) / (size - 1);
    hit = { row: mean(x => Math.floor(x / size)), column: mean(x => x % size) };
  });
  return hit;
}
