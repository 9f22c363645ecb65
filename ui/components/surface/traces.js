// A scene (see view.js) as traces and layout of Plotly, for a file that is turned without this page.

const GRID_INK = [0.3, 0.3, 0.36];
const GREY = [0.8, 0.79, 0.78]; // towards which classes fade near the plane, as in shaders.js
const LIT = { lighting: { ambient: 0.72, diffuse: 0.5, specular: 0.1, fresnel: 0 }, lightposition: { x: 3.5e4, y: -4.5e4, z: 9e4 } };
const POINTS_NEAR = 0.0016; // of points in shaders.js, beside which lines have their own
const BARE = { visible: false, showspikes: false };

function plotlyOf({ scene, camera, lens }) {
  const { size, places, plane, classes, colours } = scene;
  const axis = (values, i) => Float32Array.from({ length: values.length / 3 }, (_, k) => values[3 * k + i] ?? NaN);
  const along = values => ({ x: axis(values, 0), y: axis(values, 1), z: axis(values, 2) });
  const { vertices, triangles, inks } = plane ? classed(places, size, plane, classes)
    : { vertices: places, triangles: trianglesOf(size), inks: colours };
  const [i, j, k] = [0, 1, 2].map(n => Uint32Array.from(triangles, triangle => triangle[n]));
  const vertexcolor = Array.from({ length: inks.length / 3 }, (_, vertex) => cssOf(vertexOf(inks, vertex)));
  const quiet = { hoverinfo: 'skip', showlegend: false };
  const sheet = ({ corners: four, colour }) => ({ type: 'mesh3d', ...along(four.flat()), ...quiet,
    i: four.slice(2).map(() => 0), j: four.slice(2).map((_, n) => n + 1), k: four.slice(2).map((_, n) => n + 2),
    color: cssOf(colour), opacity: colour[3], lighting: { ambient: 1, diffuse: 0 } });
  const grid = scene.cells ? gridLines(places, size, scene.cells) : [];
  const drawn = [{ segments: grid, wide: 1, colour: GRID_INK, near: 0.001 }, ...(scene.lines ?? [])];
  const before = []; // traces that lie before the sheet, or they would sink into it, with how near the eye
  const lines = drawn.map(({ segments, wide, colour, near }) => {
    const broken = [];
    for (let n = 0; n < segments.length; n += 6) broken.push(...segments.slice(n, n + 6), null, null, null);
    const trace = { type: 'scatter3d', mode: 'lines', ...along(broken), line: { width: 1.5 * wide, color: cssOf(colour) }, ...quiet };
    if (near) before.push([trace, broken, near / POINTS_NEAR * NEARER]);
    return trace;
  });
  const traces = [{ type: 'mesh3d', ...along(vertices), i, j, k, vertexcolor, ...LIT,
    hovertemplate: 'y = (%{x:.3g}, %{y:.3g}, %{z:.3g})<extra></extra>' },
  ...[scene.ground, ...(scene.sheets ?? [])].filter(Boolean).map(sheet), ...lines];
  if (scene.points) {
    const { places: points, colours: pointInks, size: wide } = scene.points;
    traces.push({ type: 'scatter3d', mode: 'markers', ...along(points), ...quiet, marker: { size: wide / 2, line: { color: '#ffffff', width: 2 },
      color: Array.from({ length: points.length / 3 }, (_, n) => cssOf(vertexOf(pointInks, n))) } });
    before.push([traces.at(-1), [...points], NEARER]);
  }
  const all = traces.map(({ x, y, z }) => [x, y, z]);
  const ends = [0, 1, 2].map(n => all.flatMap(place => [...place[n]]).filter(Number.isFinite))
    .map(values => values.reduce(([low, high], x) => [Math.min(low, x), Math.max(high, x)], [Infinity, -Infinity]));
  const unitOf = 2 / Math.hypot(...ends.map(([low, high]) => high - low));
  const middle = ends.map(([low, high]) => (low + high) / 2);
  const place = point => Object.fromEntries(['x', 'y', 'z'].map((name, n) => [name, unitOf * (point[n] - middle[n])]));
  for (const [trace, at, nearer] of before) {
    const lifted = at.map((x, n) => (x === null ? null : x + nearer * (lens.eye[n % 3] - x)));
    Object.assign(trace, along(lifted), { meta: { places: at, nearer, unit: unitOf, middle } });
  }
  const axes = ends.map(range => ({ ...BARE, range }));
  return { field: FIELD, data: traces, layout: { margin: { l: 0, r: 0, t: 0, b: 0 }, showlegend: false, scene: {
    xaxis: axes[0], yaxis: axes[1], zaxis: axes[2], aspectmode: 'manual',
    aspectratio: Object.fromEntries(['x', 'y', 'z'].map((name, n) => [name, unitOf * (ends[n][1] - ends[n][0])])),
    camera: { eye: place(lens.eye), center: place(camera.centre), up: { x: 0, y: 0, z: 1 } } } } };
}

function trianglesOf(size) {
  const triangles = [];
  eachTriangle(size, (...triangle) => triangles.push(triangle));
  return triangles;
}

// The mesh cut along the plane: each side has its own vertices and its colour, which fades near the plane.
function classed(places, size, plane, classes) {
  const vertices = [];
  const inks = [];
  const triangles = [];
  const known = new Map();
  const heightOf = point => dot(plane, point) + plane[3];
  const add = (point, side, key) => {
    if (key !== undefined && known.has(key)) return known.get(key);
    const share = 0.62 + 0.38 * Math.tanh(2 * Math.abs(heightOf(point)));
    inks.push(...mixed(GREY, classes[side], share));
    const index = vertices.push(...point) / 3 - 1;
    if (key !== undefined) known.set(key, index);
    return index;
  };
  for (const triangle of trianglesOf(size)) {
    const corners = triangle.map(vertex => vertexOf(places, vertex));
    const heights = corners.map(heightOf);
    for (const side of [0, 1]) {
      const within = heights.map(height => height > 0 === Boolean(side));
      const cell = corners.flatMap((corner, n) => {
        const next = (n + 1) % 3;
        const own = within[n] ? [add(corner, side, triangle[n])] : [];
        if (within[n] === within[next]) return own;
        return [...own, add(mixed(corner, corners[next], heights[n] / (heights[n] - heights[next])), side)];
      });
      for (let n = 1; n + 1 < cell.length; n += 1) triangles.push([cell[0], cell[n], cell[n + 1]]);
    }
  }
  return { vertices, triangles, inks };
}
