// The output surface of the open head in its three principal components, in the colours of the
// chart.

const SHEET_SIZE = 141; // vertices both ways
const SHEET_CELLS = 10;
const SHEET_CAMERA = { azimuth: -1.08, elevation: 0.84, distance: 3, centre: [0, 0, 0] };
const SHEET_FILLED = 0.8; // of the picture
const NAMED = 0.02; // share of the chart of a cell whose token is named in space
const chartAt = share => 2 * share - 1;
const pointOf = hit => hit && hit.map(share => rounded(chartAt(share)));

// Places, normals and colours over the chart, row by row: v grows with the row, u with the column.
// `scale` is that of the largest extent, so that every head fills its picture; proportions are
// kept.
function sheetOf(head, size = SHEET_SIZE) {
  const [places, colours] = [new Float32Array(3 * size * size), new Float32Array(3 * size * size)];
  const weights = new Float64Array(head.n);
  const peaks = new Map(); // of each key: the vertex at which its weight is largest
  for (let i = 0; i < size * size; i += 1) {
    const [u, v] = [i % size, Math.floor(i / size)].map(step => chartAt(step / (size - 1)));
    weightsAt(head, u, v, weights);
    places.set(outputOf(head, weights), 3 * i);
    const top = largestOf(weights);
    colours.set(head.colours[top].map(part => part * brightnessOf(weights[top])), 3 * i);
    if (!(peaks.get(top)?.weight > weights[top])) peaks.set(top, { weight: weights[top], at: i });
  }
  const ends = [0, 1, 2].map(k => endsAmong(places.filter((_, i) => i % 3 === k)));
  const middle = ends.map(([low, high]) => (low + high) / 2);
  const scale = 2 / Math.max(...ends.map(([low, high]) => high - low), 1e-30);
  for (let i = 0; i < places.length; i += 1) places[i] = scale * (places[i] - middle[i % 3]);
  return { places, colours, normals: normalsOf(places, size), middle, scale, peaks };
}

function buildSheet(state) {
  state.view = makeView(state.find('space'), SHEET_CAMERA);
  state.view.onPaint = () => placeNames(state);
  listenToTurning(state.view, {
    onClick: hit => {
      if (!hit) return;
      state.at = pointOf(hit);
      settle(state);
    },
    onHover: hit => {
      state.hover = pointOf(hit);
      redraw(state);
    },
  });
}

// Another head: its surface, in the first view of it.
function aimSheet({ view, find, ...state }) {
  const head = shownHead(state);
  head.sheet ??= sheetOf(head);
  const { places, peaks } = head.sheet;
  Object.assign(view.camera, SHEET_CAMERA);
  view.home = { ...SHEET_CAMERA };
  const count = Math.ceil(places.length / 33);
  view.frame(Array.from({ length: count }, (_, i) => vertexOf(places, 11 * i)), SHEET_FILLED);
  const named = head.cells.filter(({ key, share }) => share > NAMED && peaks.has(key));
  find('names').replaceChildren(...named.map(({ key }) => {
    const name = label('gc-heads-name', head.words[key]);
    name.dataset.vertex = peaks.get(key).at;
    name.style.setProperty('--gc-own', cssOf(head.colours[key]));
    return name;
  }));
}

function drawSheet(state, weights) {
  const head = shownHead(state);
  const { places, normals, colours, middle, scale } = head.sheet;
  const mark = outputOf(head, weights).map((x, k) => scale * (x - middle[k]));
  const points = { places: new Float32Array(mark), colours: new Float32Array([1, 1, 1]), size: 14 };
  state.view.show({ size: SHEET_SIZE, places, normals, colours, cells: SHEET_CELLS, points });
}

function placeNames(state) {
  const { places } = (state.open && shownHead(state).sheet) || {};
  if (!places) return;
  for (const name of state.find('names').children) {
    const [x, y] = state.view.project(vertexOf(places, Number(name.dataset.vertex)));
    name.style.transform = `translate(${x}px, ${y}px) translate(-50%, -110%)`;
  }
}
