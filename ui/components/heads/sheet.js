// The output surface of the open head in its three principal components, in the colours of the chart.

const SHEET_SIZE = 141; // vertices both ways
const SHEET_CELLS = 10;
const SHEET_CAMERA = { azimuth: -1.08, elevation: 0.84, distance: 3, centre: [0, 0, 0] };
const SHEET_FILLED = 0.8; // of the picture
const NAMED = 0.02; // share of the chart of a cell whose token is named in space
const chartAt = share => 2 * share - 1;

// Places, normals and colours over the chart, row by row: v grows with the row, u with the column. `scale` is that
// of the largest extent, so that every head fills its picture; proportions are kept.
function sheetOf(head, size = SHEET_SIZE) {
  const [places, colours] = [new Float32Array(3 * size * size), new Float32Array(3 * size * size)];
  const weights = new Float64Array(head.n);
  const ends = [[Infinity, -Infinity], [Infinity, -Infinity], [Infinity, -Infinity]];
  const peaks = new Map(); // of each key: the vertex at which its weight is largest
  for (let i = 0; i < size * size; i += 1) {
    weightsAt(head, chartAt(i % size / (size - 1)), chartAt(Math.floor(i / size) / (size - 1)), weights);
    const place = outputOf(head, weights);
    places.set(place, 3 * i);
    place.forEach((x, k) => { ends[k] = [Math.min(ends[k][0], x), Math.max(ends[k][1], x)]; });
    const top = largestOf(weights);
    const bright = brightnessOf(weights[top]);
    for (let k = 0; k < 3; k += 1) colours[3 * i + k] = bright * head.colours[top][k];
    if (!(peaks.get(top)?.weight > weights[top])) peaks.set(top, { weight: weights[top], at: i });
  }
  const middle = ends.map(([low, high]) => (low + high) / 2);
  const scale = 2 / Math.max(...ends.map(([low, high]) => high - low), 1e-30);
  for (let i = 0; i < places.length; i += 1) places[i] = scale * (places[i] - middle[i % 3]);
  return { places, colours, normals: normalsOf(places, size), middle, scale, peaks };
}

function buildSheet(root, state) {
  const canvas = root.querySelector('.gc-heads-space');
  state.view = makeView(canvas, SHEET_CAMERA);
  state.view.onPaint = () => placeNames(root, state);
  listenToTurning(state.view, {
    onClick: (x, y) => {
      const hit = state.view.hit(x, y);
      if (!hit) return;
      state.at = [hit.column, hit.row].map(chartAt).map(rounded);
      settle(state);
    },
    onHover: (x, y) => {
      const hit = x === undefined ? null : state.view.hit(x, y);
      state.hover = hit && [hit.column, hit.row].map(chartAt).map(rounded);
      change(state);
    },
  });
}

// Another head: its surface, in the first view of it.
function aimSheet(root, state) {
  const head = shownHead(state);
  head.sheet ??= sheetOf(head);
  const { places } = head.sheet;
  Object.assign(state.view.camera, SHEET_CAMERA);
  state.view.home = { ...SHEET_CAMERA };
  const step = 3 * 11;
  const corners = [];
  for (let i = 0; i < places.length; i += step) corners.push([places[i], places[i + 1], places[i + 2]]);
  state.view.frame(corners, SHEET_FILLED);
  const named = head.cells.filter(({ key, share }) => share > NAMED && head.sheet.peaks.has(key));
  root.querySelector('.gc-heads-names').replaceChildren(...named.map(({ key }) => {
    const name = label('gc-heads-name', head.words[key]);
    name.dataset.vertex = head.sheet.peaks.get(key).at;
    name.style.setProperty('--gc-own', cssOf(head.colours[key]));
    return name;
  }));
}

function drawSheet(state, weights) {
  const head = shownHead(state);
  const { places, normals, colours, middle, scale } = head.sheet;
  const mark = outputOf(head, weights).map((x, k) => scale * (x - middle[k]));
  state.view.show({ size: SHEET_SIZE, places, normals, colours, cells: SHEET_CELLS,
    points: { places: new Float32Array(mark), colours: new Float32Array(hexColour('#ffffff')), size: 14 } });
}

function placeNames(root, state) {
  if (!state.open) return;
  const { places } = shownHead(state).sheet ?? {};
  if (!places) return;
  for (const name of root.querySelector('.gc-heads-names').children) {
    const [x, y] = state.view.project(vertexOf(places, Number(name.dataset.vertex)));
    name.style.transform = `translate(${x}px, ${y}px) translate(-50%, -110%)`;
  }
}
