// The surface at a gate strength, a plane through it, and what the plane does.
//
// A plane is { normal, centre, a, b }: a unit normal, the centre of its sheet, and unit axes within it.

const MISSES = 1.2; // farther from the middle of the surface a plane is not in the picture
const CONTAINS = 1e-6; // distance within which a plane contains a flat surface

// The place of a strength among `strengths`: the frame before it, and the share of the next.
function frameOf(strengths, strength) {
  const last = strengths.length - 2;
  const index = Math.min(last, Math.max(0, strengths.findIndex((_, i) => i > last || strengths[i + 1] >= strength)));
  return [index, (strength - strengths[index]) / (strengths[index + 1] - strengths[index])];
}

// One of `count` frames of an array (count x size) between two of them.
function between(values, size, [index, share], out = new Float32Array(size)) {
  for (let i = 0; i < size; i += 1) {
    const [before, after] = [values[index * size + i], values[(index + 1) * size + i]];
    out[i] = before + share * (after - before);
  }
  return out;
}

function middleOf(places) {
  const sum = [0, 0, 0];
  for (let i = 0; i < places.length; i += 1) sum[i % 3] += places[i];
  return sum.map(x => 3 * x / places.length);
}

const offsetOf = plane => -dot(plane.normal, plane.centre);
const fieldOf = ({ normal }, offset, places) => Float64Array.from({ length: places.length / 3 },
  (_, i) => dot(normal, vertexOf(places, i)) + offset);

const shifted = (plane, way) => ({ ...plane, centre: plus(plane.centre, plane.normal, way) });

// Turned about one of its axes, so that the end of the other one, "a" or "b", rises by so many radians.
function tilted(plane, end, angle) {
  const [cosine, sine] = [Math.cos(angle), Math.sin(angle)];
  const turn = (x, y, share) => unit(plus(x.map(part => part * cosine), y, share));
  const axis = turn(plane[end], plane.normal, sine);
  return { ...plane, normal: turn(plane.normal, plane[end], -sine), [end]: axis };
}

// What the plane cuts, in words.
function cutWords(isFlat, { loops, arcs, small }, field) {
  const name = isFlat ? 'flat surface' : 'surface';
  if (isFlat && field.every(distance => Math.abs(distance) < CONTAINS)) return 'The plane contains the flat surface.';
  if (isFlat && loops + arcs) return 'Flat: the plane cuts a straight line, never a ring.';
  if (loops + arcs === 0 && (isFlat || !small)) return `The plane misses the ${name}.`;
  const rings = loops === 1 ? 'a closed ring' : `${loops} closed rings`;
  const open = arcs === 1 ? 'an open curve, edge to edge' : `${arcs} open curves, edge to edge`;
  const tiny = `${small === 1 ? 'a closed ring' : 'closed rings'} smaller than a cell of the grid`;
  return `The plane cuts ${[loops && rings, arcs && open, small && tiny].filter(Boolean).join(' and ')}.`;
}

// How many points lie on the side of their label.
function rightOf(field, labels) {
  let count = 0;
  for (let i = 0; i < labels.length; i += 1) count += Number(field[i] > 0) === labels[i];
  return count;
}

const SIDES = [[0, -1], [0, 1], [-1, 0], [1, 0], [1, 1], [-1, -1]]; // along edges of triangles
const LEAST = 6; // vertices: a smaller part may be an artefact of the mesh

// The connected parts of a field on either side of zero: [{ side, vertices, top, isOpen: reaches the edge of the chart }].
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
      if (row === 0 || column === 0 || row === last || column === last) part.isOpen = true;
      if (side * field[i] > side * field[part.top]) part.top = i;
      for (const [down, across] of SIDES) {
        const [r, c] = [row + down, column + across];
        const j = r * size + c;
        if (r < 0 || c < 0 || r > last || c > last || seen[j] || field[j] > 0 !== side > 0) continue;
        seen[j] = 1;
        part.vertices.push(j);
      }
    }
    parts.push(part);
  }
  return parts;
}

// The highest closed part beyond the plane, on either side: { side, height, top, vertices }, or null.
const closedPart = (field, size) => partsOf(field, size)
  .map(part => ({ ...part, height: part.side * field[part.top] }))
  .filter(({ isOpen, vertices, height }) => !isOpen && vertices.length >= LEAST && height > 0)
  .reduce((best, part) => (best && best.height >= part.height ? best : part), null);

// Pairs of neighbours on the edge of the chart between which a field changes its sign: there a cut ends.
function endsOf(field, size) {
  const last = size - 1;
  const edge = [];
  for (let i = 0; i < last; i += 1) edge.push([i, i * size + last, last * size + last - i, (last - i) * size]);
  const rim = [0, 1, 2, 3].flatMap(k => edge.map(corners => corners[k]));
  return rim.map((i, k) => [i, rim[(k + 1) % rim.length]]).filter(([i, j]) => field[i] > 0 !== field[j] > 0);
}

// The cut on the mesh: { loops, arcs, small }; `small` counts rings between its vertices. An arc begins and ends
// at the edge of the chart; the curves divide the vertices into one part more than there are curves.
function cutKinds(field, size) {
  const arcs = endsOf(field, size).length / 2;
  return { arcs, loops: partsOf(field, size).length - 1 - arcs, small: ringsBetween(field, size) };
}

// Rings that hold no vertex: beside a vertex nearer to the plane than its eight neighbours, the paraboloid through
// the nine reaches the other side.
function ringsBetween(field, size) {
  let count = 0;
  for (let i = size + 1; i < field.length - size - 1; i += 1) {
    if (i % size === 0 || i % size === size - 1) continue;
    const side = field[i] > 0 ? 1 : -1;
    const [[a, b, c], [d, e, f], [g, h, k]] = [-size, 0, size].map(row => [-1, 0, 1].map(step => side * field[i + row + step]));
    if (e > Math.min(a, b, c, d, f, g, h, k)) continue;
    const [x, y] = [(f - d) / 2, (h - b) / 2];
    const [xx, xy, yy] = [f + d - 2 * e, (k + a - c - g) / 4, h + b - 2 * e];
    const determinant = xx * yy - xy * xy;
    count += determinant > 0 && e < (yy * x * x - 2 * xy * x * y + xx * y * y) / (2 * determinant);
  }
  return count;
}
