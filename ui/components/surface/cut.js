// A plane through a surface, and what it cuts.
//
// A plane is { normal, centre, a, b }: a unit normal, the centre of its sheet, and unit axes in
// it.

const LEVEL = 0.1; // sine of the angle below which a plane is level, as far as its axes go
const MISSES = 1.2; // farther from the middle of the surface a plane is not in the picture
const CONTAINS = 1e-6; // distance within which a plane contains a flat surface

// The plane with the point nearest to `middle` as its centre. Its first axis is level, on the side
// of the one `before`; of a level plane it is that one, turned as little as possible.
function planeOf([x, y, z, offset], middle, before = [1, 0, 0]) {
  const normal = [x, y, z];
  const level = cross([0, 0, 1], normal);
  const turned = plus(before, normal, -dot(before, normal));
  const isSteep = lengthOf(level) > LEVEL || lengthOf(turned) < LEVEL;
  const a = unit(isSteep ? level.map(part => (dot(level, before) < 0 ? -part : part)) : turned);
  const centre = plus(middle, normal, -dot(normal, middle) - offset);
  return { normal, centre, a, b: cross(normal, a) };
}

function middleOf(places) {
  const sum = [0, 0, 0];
  for (let i = 0; i < places.length; i += 1) sum[i % 3] += places[i];
  return sum.map(x => 3 * x / places.length);
}

const offsetOf = plane => -dot(plane.normal, plane.centre);

// The distances of places (3 N) from a plane.
function fieldOf(plane, places) {
  const offset = offsetOf(plane);
  const heightOf = (_, i) => dot(plane.normal, vertexOf(places, i)) + offset;
  return Float64Array.from({ length: places.length / 3 }, heightOf);
}

const shifted = (plane, way) => ({ ...plane, centre: plus(plane.centre, plane.normal, way) });

// Turned about one of its axes, so that the end of the other one, "a" or "b", rises by an angle.
function tilted(plane, end, angle) {
  const [cosine, sine] = [Math.cos(angle), Math.sin(angle)];
  const turn = (x, y, share) => unit(plus(x.map(part => part * cosine), y, share));
  const axis = turn(plane[end], plane.normal, sine);
  return { ...plane, normal: turn(plane.normal, plane[end], -sine), [end]: axis };
}

// What the plane cuts, in words.
function cutWords(isFlat, { loops, arcs, small }, field) {
  const name = isFlat ? 'flat surface' : 'surface';
  const contains = isFlat && field.every(distance => Math.abs(distance) < CONTAINS);
  if (contains) return 'The plane contains the flat surface.';
  if (isFlat && loops + arcs) return 'Flat: the plane cuts a straight line, never a ring.';
  if (loops + arcs === 0 && (isFlat || !small)) return `The plane misses the ${name}.`;
  const rings = loops === 1 ? 'a closed ring' : `${loops} closed rings`;
  const open = `${arcs === 1 ? 'an open curve' : `${arcs} open curves`}, edge to edge`;
  const tiny = `${small === 1 ? 'a closed ring' : 'closed rings'} smaller than a cell of the grid`;
  const parts = [loops && rings, arcs && open, small && tiny].filter(Boolean);
  return `The plane cuts ${parts.join(' and ')}.`;
}

// How many points lie on the side of their label.
function rightOf(field, labels) {
  let count = 0;
  for (let i = 0; i < labels.length; i += 1) count += Number(field[i] > 0) === labels[i];
  return count;
}

const SIDES = [[0, -1], [0, 1], [-1, 0], [1, 0], [1, 1], [-1, -1]]; // along edges of triangles
const LEAST = 6; // vertices: a smaller part may be an artefact of the mesh

// The connected parts of a field on either side of zero: { side, vertices, top, isOpen }; an open
// one reaches the edge of the chart.
function partsOf(field, size) {
  const last = size - 1;
  const seen = new Uint8Array(field.length);
  const parts = [];
  for (let start = 0; start < field.length; start += 1) {
    if (seen[start]) continue;
    const side = field[start] > 0 ? 1 : -1;
    const part = { side, vertices: [start], top: start, isOpen: false };
    seen[start] = 1;
    for (const i of part.vertices) { // which grows
      const [row, column] = [Math.floor(i / size), i % size];
      part.isOpen ||= row === 0 || column === 0 || row === last || column === last;
      if (side * field[i] > side * field[part.top]) part.top = i;
      for (const [down, across] of SIDES) {
        const [r, c] = [row + down, column + across];
        const j = r * size + c;
        if (r < 0 || c < 0 || r > last || c > last) continue;
        if (seen[j] || field[j] > 0 !== side > 0) continue;
        seen[j] = 1;
        part.vertices.push(j);
      }
    }
    parts.push(part);
  }
  return parts;
}

// The highest closed part beyond the plane: { side, height, top, vertices }, or null.
const closedPart = (field, size) => partsOf(field, size)
  .map(part => ({ ...part, height: part.side * field[part.top] }))
  .filter(({ isOpen, vertices, height }) => !isOpen && vertices.length >= LEAST && height > 0)
  .reduce((best, part) => (best && best.height >= part.height ? best : part), null);

// Neighbours on the edge of the chart between which a field changes its sign: there a cut ends.
const endsOf = (field, size) =>
  edgeOf(size).filter(([i, j]) => field[i] > 0 !== field[j] > 0);

// Where a field changes its sign between two vertices, whose places are given.
const crossingOf = (field, [i, j], placeOf) =>
  mixed(placeOf(i), placeOf(j), field[i] / (field[i] - field[j]));

// The cut on the mesh: { loops, arcs, small }; `small` counts rings between its vertices. An arc
// begins and ends at the edge; the curves divide the vertices into one part more than there are.
function cutKinds(field, size) {
  const arcs = endsOf(field, size).length / 2;
  return { arcs, loops: partsOf(field, size).length - 1 - arcs, small: ringsBetween(field, size) };
}

// Rings that hold no vertex: beside a vertex nearer to the plane than its eight neighbours, the
// paraboloid through the nine reaches the other side.
function ringsBetween(field, size) {
  let count = 0;
  for (let i = size + 1; i < field.length - size - 1; i += 1) {
    if (i % size === 0 || i % size === size - 1) continue;
    const side = field[i] > 0 ? 1 : -1;
    const rowAt = start => [-1, 0, 1].map(step => side * field[i + start + step]);
    const [[a, b, c], [d, e, f], [g, h, k]] = [-size, 0, size].map(rowAt);
    if (e > Math.min(a, b, c, d, f, g, h, k)) continue;
    const [x, y] = [(f - d) / 2, (h - b) / 2];
    const [xx, xy, yy] = [f + d - 2 * e, (k + a - c - g) / 4, h + b - 2 * e];
    const determinant = xx * yy - xy * xy;
    const depth = (yy * x * x - 2 * xy * x * y + xx * y * y) / (2 * determinant);
    count += determinant > 0 && e < depth;
  }
  return count;
}
