// The mesh of a surface: size x size vertices, row by row; its normals, its cuts, what a ray hits.
//
// Positions are flat arrays, three numbers for each vertex. A cell has two triangles, split by the
// diagonal from its first corner: drawing, cutting and picking use the same ones.

const vertexOf = (places, i) => [places[3 * i], places[3 * i + 1], places[3 * i + 2]];

// One frame of an array, each `size` numbers long; between two of them if `frame` is.
function frameOf(values, size, frame) {
  const [index, share] = [Math.floor(frame), frame % 1];
  const before = values.subarray(index * size, (index + 1) * size);
  if (!share) return before;
  return before.map((x, i) => x + share * (values[(index + 1) * size + i] - x));
}

// The edge of the chart, as pairs of neighbours in order.
function edgeOf(size) {
  const [last, steps] = [size - 1, Array.from({ length: size - 1 }, (_, n) => n)];
  const rim = [n => n, n => n * size + last, n => size * size - 1 - n, n => (last - n) * size]
    .flatMap(side => steps.map(side));
  return rim.map((i, n) => [i, rim[(n + 1) % rim.length]]);
}

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

// Unit normals by central differences along rows and columns, one-sided beside a hole (NaN). In
// plain numbers: at every frame of a drag this would make ten arrays for each vertex.
function normalsOf(places, size) {
  const out = new Float32Array(places.length);
  const beside = (here, step, isThere) =>
    (isThere && !Number.isNaN(places[here + 3 * step]) ? here + 3 * step : here);
  for (let i = 0; i < size * size; i += 1) {
    const [row, column, here] = [Math.floor(i / size), i % size, 3 * i];
    const left = beside(here, -1, column > 0);
    const right = beside(here, 1, column < size - 1);
    const above = beside(here, -size, row > 0);
    const below = beside(here, size, row < size - 1);
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
  return out;
}

// Marching triangles: segments along which a field (size²) is zero, as ends one after the other,
// with `dimension` numbers each, interpolated between the vertices' `places`.
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

const PULLED = 6; // parts of a side, at whose ends arrows stand
const ARROW = 0.05; // length of an arrow's head, at most

// Arrows from where points of the flat surface are, `from(i)`, to where a gate has pulled them.
function pullsOf(from, places, size, parts = PULLED) {
  const step = (size - 1) / parts;
  const segments = [];
  for (let n = 0; n < (parts + 1) ** 2; n += 1) {
    const [row, column] = [Math.floor(n / (parts + 1)), n % (parts + 1)];
    const i = Math.round(row * step) * size + Math.round(column * step);
    const [start, tip] = [from(i), vertexOf(places, i)];
    const way = minus(tip, start);
    const length = lengthOf(way);
    if (!(length > 0)) continue; // also at a hole
    const head = Math.min(ARROW, length / 3) / length;
    const across = unit(cross(way, Math.abs(way[2]) > 0.9 * length ? [1, 0, 0] : [0, 0, 1]));
    const half = head * length / 2;
    const wings = [half, -half].map(side => plus(plus(tip, way, -head), across, side));
    segments.push(...start, ...tip, ...wings.flatMap(wing => [...tip, ...wing]));
  }
  return segments;
}

// Where a ray first meets the mesh, [column, row] as shares of one; null where it misses.
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
    if (second < 0 || third < 0 || second + third > 1) return;
    if (distance <= 0 || distance >= nearest) return;
    nearest = distance;
    const first = 1 - second - third;
    const mean = at => (first * at(i) + second * at(j) + third * at(k)) / (size - 1);
    hit = [mean(x => x % size), mean(x => Math.floor(x / size))];
  });
  return hit;
}
