// The surface over the chart [−1, 1]², coloured by K, within the wire frame of its values.

const SIZE = 41; // vertices both ways
const CELLS = 10;
const CAMERA = { azimuth: -1.3, elevation: 0.32, distance: 3.9, centre: [0, 0, 0] };
const FILLED = 0.8; // of the picture
const FARTHEST_VALUE = 2;
const VALUE_STEP = 1 / 16;
const [SADDLE, HALF_SADDLE, NEUTRAL, HALF_DOME, DOME] = ['negative', 'half-negative', 'neutral', 'half-positive', 'positive'].map(name => hexColour(PALETTE[name]));
const chartAt = share => 2 * share - 1;

// Places, normals and K of the surface at all vertices, row by row: v grows with the row, u with the column.
function sampled(model, size = SIZE) {
  const [places, normals] = [new Float32Array(3 * size * size), new Float32Array(3 * size * size)];
  const [K, error] = [new Float64Array(size * size), new Float64Array(size * size)];
  for (let row = 0; row < size; row += 1) {
    for (let column = 0; column < size; column += 1) {
      const i = row * size + column;
      const output = outputAt(model, chartAt(column / (size - 1)), chartAt(row / (size - 1)));
      const curvature = curvatureOf(model, output);
      places.set(output.y, 3 * i);
      normals.set(unit(cross(output.yu, output.yv)), 3 * i);
      K[i] = curvature.K;
      error[i] = curvature.error;
    }
  }
  return { places, normals, K, error };
}

function medianSize(numbers) {
  const sorted = Float64Array.from(numbers, Math.abs).filter(Number.isFinite).sort();
  return sorted[sorted.length >> 1] || 1;
}

// Neutral at K = 0, half of the colour at K = `half`, all of it at infinity.
function colourOf(K, half) {
  const share = Math.abs(K) / (Math.abs(K) + half) || 0;
  const [middle, end] = K > 0 ? [HALF_DOME, DOME] : [HALF_SADDLE, SADDLE];
  return share < 0.5 ? mixed(NEUTRAL, middle, 2 * share) : mixed(middle, end, 2 * share - 1);
}

function sceneOf(state, surface, verdict) {
  const { values } = attentionOf(state);
  const colours = new Float32Array(3 * SIZE * SIZE);
  state.half = medianSize(surface.K);
  surface.K.forEach((K, i) => colours.set(verdict.sign ? colourOf(K, state.half) : NEUTRAL, 3 * i));
  const frame = values.flatMap((a, i) => values.slice(0, i).flatMap(b => [...a, ...b]));
  const { places, normals } = surface;
  const mark = state.at && outputAt(attentionOf(state), ...state.at).y;
  const planar = values.length === 3; // the curved lines of the chart would make it look bent
  return {
    size: SIZE, places, normals, colours, cells: planar ? 0 : CELLS,
    lines: [{ segments: frame, wide: 1.6, colour: state.ink, alpha: 0.6, hidden: 0.25, near: 0 },
      ...(planar ? [{ segments: linesIn(values), wide: 1, colour: state.ink, alpha: 0.35, hidden: 0.15 }] : [])],
    points: mark && { places: new Float32Array(mark), colours: new Float32Array(ACCENT), size: 13 },
  };
}

// All values and their names in the picture; the visitor's turning stays.
const aim = state => state.view.frame(attentionOf(state).values, FILLED, state.view.canvas.parentElement);

// ---- values to drag ---------------------------------------------------------------------------

function buildValues(root, state) {
  const over = root.querySelector('.gc-keys-over');
  state.valueKnobs = state.model.values.map((_, index) => {
    const knob = document.createElement('button');
    Object.assign(knob, { type: 'button', className: 'gc-keys-value', textContent: `v${'₁₂₃₄'[index]}` });
    knob.dataset.value = index;
    listenToValue(knob, state, index);
    return knob;
  });
  over.replaceChildren(...state.valueKnobs);
  state.view.onPaint = () => {
    placeValues(state);
    if (state.plane) placeKnobs(state);
  };
}

// A value moves parallel to the screen; an arrow key moves it by a sixteenth.
function listenToValue(knob, state, index) {
  const { view } = state;
  let last = null;
  const move = place => {
    state.model.values[index] = place.map(x => Math.max(-FARTHEST_VALUE, Math.min(FARTHEST_VALUE, Number(x.toFixed(3)))) + 0);
    change(state);
  };
  knob.addEventListener('pointerdown', event => {
    if (event.button !== 0 || isFixed(state, index)) return;
    knob.setPointerCapture(event.pointerId);
    last = [event.clientX, event.clientY];
  });
  knob.addEventListener('pointermove', event => {
    if (!last) return;
    const [x, y, depth] = view.project(state.model.values[index]);
    const [dx, dy] = [event.clientX - last[0], event.clientY - last[1]];
    last = [event.clientX, event.clientY];
    if (dx || dy) move(view.unproject(x + dx, y + dy, depth));
  });
  knob.addEventListener('lostpointercapture', () => { last = null; settle(state); });
  knob.addEventListener('keydown', event => {
    const way = ARROWS[event.key];
    if (!way || isFixed(state, index) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const { right, up } = view.lens;
    move(plus(plus(state.model.values[index], right, way[0] * VALUE_STEP), up, way[1] * VALUE_STEP));
  });
  knob.addEventListener('keyup', event => { if (ARROWS[event.key]) settle(state); });
}

function placeValues(state) {
  const { values } = attentionOf(state);
  const middle = [0, 1, 2].map(k => values.reduce((sum, value) => sum + value[k] / values.length, 0));
  state.valueKnobs.forEach((knob, i) => {
    knob.hidden = i >= values.length;
    if (knob.hidden) return;
    const [x, y] = state.view.project(plus(values[i], unit(minus(values[i], middle)), 0.12)); // beside its corner
    knob.style.transform = `translate(${x}px, ${y}px) translate(-50%, -50%)`;
    knob.disabled = isFixed(state, i);
    knob.textContent = isFixed(state, i) ? '0' : `v${'₁₂₃₄'[i]}`;
    knob.setAttribute('aria-label', isFixed(state, i) ? 'Value of the sink, fixed at the origin'
      : `Value ${i + 1} at ${values[i].map(x => number(x)).join(', ')}; arrow keys move it`);
  });
}
