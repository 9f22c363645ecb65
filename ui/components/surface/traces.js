// A scene (see view.js) as traces and layout of Plotly, for a file that is turned without this page.

const PLOTLY_FIELD = Math.PI / 4; // radians of height in Plotly's pictures
const GRID_INK = [0.42, 0.42, 0.46];
const BARE = { visible: false, showspikes: false };

function plotlyOf({ scene, camera, lens }) {
  const { size, places, plane, classes, colours } = scene;
  const axis = (values, i) => Float32Array.from({ length: values.length / 3 }, (_, k) => values[3 * k + i]);
  const along = values => ({ x: axis(values, 0), y: axis(values, 1), z: axis(values, 2) });
  const corners = [[], [], []];
  eachTriangle(size, (...triangle) => triangle.forEach((corner, i) => corners[i].push(corner)));
  const [i, j, k] = corners.map(corner => Uint32Array.from(corner));
  const side = vertex => classes[dot(plane.slice(0, 3), vertexOf(places, vertex)) + plane[3] > 0 ? 1 : 0];
  const vertexcolor = Array.from({ length: size * size },
    (_, vertex) => cssOf(plane ? side(vertex) : vertexOf(colours, vertex)));
  const quiet = { hoverinfo: 'skip', showlegend: false };
  const sheet = ({ corners: four, colour }) => ({ type: 'mesh3d', ...along(four.flat()), ...quiet,
    i: four.slice(2).map(() => 0), j: four.slice(2).map((_, n) => n + 1), k: four.slice(2).map((_, n) => n + 2),
    color: cssOf(colour), opacity: colour[3], lighting: { ambient: 1, diffuse: 0 } });
  const step = (size - 1) / scene.cells;
  const grid = [];
  for (let n = 0; scene.cells && n <= scene.cells; n += 1) {
    for (const at of [t => n * step * size + t, t => t * size + n * step]) {
      for (let t = 0; t + 1 < size; t += 1) grid.push(...vertexOf(places, Math.round(at(t))), ...vertexOf(places, Math.round(at(t + 1))));
    }
  }
  const drawn = [{ segments: grid, wide: 1, colour: GRID_INK }, ...(scene.lines ?? [])];
  const lines = drawn.map(({ segments, wide, colour }) => {
    const broken = [];
    for (let n = 0; n < segments.length; n += 6) broken.push(...segments.slice(n, n + 6), NaN, NaN, NaN);
    return { type: 'scatter3d', mode: 'lines', ...along(broken), line: { width: 1.5 * wide, color: cssOf(colour) }, ...quiet };
  });
  const traces = [{ type: 'mesh3d', ...along(places), i, j, k, vertexcolor, lighting: { ambient: 0.6, diffuse: 0.6 },
    hovertemplate: 'y = (%{x:.3g}, %{y:.3g}, %{z:.3g})<extra></extra>' },
  ...[scene.ground, ...(scene.sheets ?? [])].filter(Boolean).map(sheet), ...lines];
  if (scene.points) {
    const { places: points, colours: inks, size: wide } = scene.points;
    traces.push({ type: 'scatter3d', mode: 'markers', ...along(points), ...quiet, marker: { size: wide / 2, line: { color: '#ffffff', width: 1 },
      color: Array.from({ length: points.length / 3 }, (_, n) => cssOf(vertexOf(inks, n))) } });
  }
  const all = traces.map(({ x, y, z }) => [x, y, z]);
  const ends = [0, 1, 2].map(n => all.flatMap(place => [...place[n]]).filter(Number.isFinite))
    .map(values => values.reduce(([low, high], x) => [Math.min(low, x), Math.max(high, x)], [Infinity, -Infinity]));
  const unitOf = 2 / Math.hypot(...ends.map(([low, high]) => high - low));
  const middle = ends.map(([low, high]) => (low + high) / 2);
  const nearer = Math.tan(FIELD / 2) / Math.tan(PLOTLY_FIELD / 2);
  const seen = mixed(camera.centre, lens.eye, nearer);
  const place = point => Object.fromEntries(['x', 'y', 'z'].map((name, n) => [name, unitOf * (point[n] - middle[n])]));
  if (scene.points) { // as far before the sheet as it is drawn here, or they would sink into it
    const meta = { places: [...scene.points.places], nearer: NEARER, unit: unitOf, middle };
    const lifted = meta.places.map((x, n) => x + NEARER * (seen[n % 3] - x));
    Object.assign(traces.at(-1), along(lifted), { meta });
  }
  const axes = ends.map(range => ({ ...BARE, range }));
  return { data: traces, layout: { margin: { l: 0, r: 0, t: 0, b: 0 }, showlegend: false, scene: {
    xaxis: axes[0], yaxis: axes[1], zaxis: axes[2], aspectmode: 'manual',
    aspectratio: Object.fromEntries(['x', 'y', 'z'].map((name, n) => [name, unitOf * (ends[n][1] - ends[n][0])])),
    camera: { eye: place(seen), center: place(camera.centre), up: { x: 0, y: 0, z: 1 } } } } };
}
