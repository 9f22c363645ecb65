// The surface over the chart [−1, 1]², coloured by K, within the wire frame of its values.

const SIZE = 41; // vertices both ways
const CELLS = 10;
const DEPTH = 0.6; // of the way to the darkest colour: where |K| is infinite
const CAMERA = { azimuth: 2.98, elevation: 0.3, distance: 3.9, centre: [0, 0, 0] };
const ASIDE = 0.9; // radians, from where both bends of the other sign's surface are seen first
const FILLED = 0.8; // of the picture
const FARTHEST_VALUE = 2;
const VALUE_STEP = 1 / 16;
const NEUTRAL = hexColour(PALETTE.neutral);
const [SADDLE, DOME] = ['negative', 'positive'].map(name => {
  const [pale, deep] = [`half-${name}`, name].map(colour => hexColour(PALETTE[colour]));
  return [pale, mixed(pale, deep, DEPTH)];
});
const KINDS = ['a saddle', 'flat', 'a dome']; // by sign
const chartAt = share => 2 * share - 1;

const pointOf = hit => hit && hit.map(share => Number(chartAt(share).toFixed(3)));

// Places, normals and K of the surface at all vertices, row by row: v grows with the row, u with
// the column.
function sampled(model, size = SIZE) {
  const [places, normals] = [new Float32Array(3 * size * size), new Float32Array(3 * size * size)];
  const [K, error] = [new Float64Array(size * size), new Float64Array(size * size)];
  for (let i = 0; i < size * size; i += 1) {
    const [u, v] = [i % size, Math.floor(i / size)].map(step => chartAt(step / (size - 1)));
    const output = outputAt(model, u, v);
    places.set(output.y, 3 * i);
    normals.set(unit(cross(output.yu, output.yv)), 3 * i);
    const curvature = curvatureOf(model, output);
    K[i] = curvature.K;
    error[i] = curvature.error;
  }
  return { places, normals, K, error };
}

function medianSize(numbers) {
  const sorted = Float64Array.from(numbers, Math.abs).filter(Number.isFinite).sort();
  return sorted[sorted.length >> 1] || 1;
}

// Deeper where |K| is larger, with half of its way at |K| = `half`.
const colourOf = (K, half, sign) =>
  mixed(...(sign > 0 ? DOME : SADDLE), Math.abs(K) / (Math.abs(K) + half) || 0);

function sceneOf(state, { places, normals, K }, verdict) {
  const { values } = attentionOf(state);
  const colours = new Float32Array(3 * SIZE * SIZE);
  const half = medianSize(K);
  const colourAt = k => (verdict.sign ? colourOf(k, half, verdict.sign) : NEUTRAL);
  K.forEach((k, i) => colours.set(colourAt(k), 3 * i));
  const frame = values.flatMap((a, i) => values.slice(0, i).flatMap(b => [...a, ...b]));
  const edges = { wide: 1.6, colour: state.ink, alpha: 0.6, hidden: 0.25, near: 0 };
  const isPlanar = values.length === 3; // the curved lines of the chart would make it look bent
  const mark = state.at && outputAt(attentionOf(state), ...state.at).y;
  const isBare = isPlanar && mark && state.held; // a guess at where the mark can go is asked for
  const lines = isBare ? [] : [{ segments: frame, ...edges }];
  if (isPlanar && !isBare) lines.push({ segments: linesIn(values), wide: 1,
    colour: [0.1, 0.1, 0.12], alpha: 0.4, hidden: 0.15 }); // dark, as grid lines are
  sharesOf(state).forEach((share, i) => lines.push(
    { segments: [...mark, ...values[i]], wide: 1 + 12 * share, colour: ACCENT, alpha: 0.45 }));
  const dots = mark ? [[mark, ACCENT], ...(isBare ? values.map(x => [x, state.ink]) : [])] : [];
  const [spots, tints] = [0, 1].map(i => new Float32Array(dots.flatMap(dot => dot[i])));
  const points = mark && { places: spots, colours: tints, size: 18 };
  const shown = isBare ? new Float32Array(places.length).fill(NaN) : places;
  const cells = isPlanar ? 0 : CELLS;
  return { size: SIZE, places: shown, normals, colours, cells, lines, points, headlit: true };
}

// The weights of three values at the marked point, which is their average.
const sharesOf = state => (state.at && slotsOf(state) < 4
  ? weightsAt(attentionOf(state), ...state.at) : []);

// All values and their names in the picture; the visitor's turning stays.
const aim = ({ view, ...state }) =>
  view.frame(attentionOf(state).values, FILLED, view.canvas.parentElement);

const fit = state => {
  if (state.view.camera.distance === state.view.home.distance) aim(state); // not yet zoomed
};

// The surface of the other sign beside it, whose key stands in the dashed ring. While the key moves
// the ring waits for it.
function drawOther(state, verdict) {
  const moving = movingKey(state);
  if (!state.handling || state.across?.moving !== moving) {
    const isHidden = state.held || state.alone || !verdict.sign || isFixed(state, moving);
    const keys = isHidden ? null : keysAcross(keysOf(state), moving);
    state.across = keys && { moving, place: keys[moving] };
  }
  const wide = state.find('space').clientWidth;
  state.root.classList.toggle('gc-keys-alone', !state.across);
  if (state.find('space').clientWidth !== wide) fit(state);
  if (!state.across) return;
  const keys = keysOf(state).with(moving, state.across.place);
  const other = { ...state, at: null, model: { ...state.model, keys } };
  const { sign } = verdictOf(attentionOf(other));
  state.other.show(sceneOf(other, sampled(attentionOf(other)), { sign }));
  const key = `key ${moving + 1}`;
  state.find('elsewhere').textContent = `With ${key} in the dashed ring: ${KINDS[sign + 1]}`;
}

// ---- values to drag ---------------------------------------------------------------------------

// A value moves parallel to the screen; an arrow key moves it by a sixteenth.
function buildValues(state) {
  const { view } = state;
  state.valueKnobs = state.model.values.map((_, index) => {
    const knob = element('button', { type: 'button', className: 'gc-keys-value' });
    knob.dataset.value = index;
    const most = FARTHEST_VALUE;
    const within = x => Math.max(-most, Math.min(most, Number(x.toFixed(3)))) + 0;
    const move = place => {
      state.model.values[index] = place.map(within);
      change(state);
    };
    listenToHand(knob, {
      take: ({ clientX, clientY }) => !isFixed(state, index) && { at: [clientX, clientY] },
      drag: ({ clientX, clientY }, hold) => {
        const [x, y, depth] = view.project(state.model.values[index]);
        const [dx, dy] = [clientX - hold.at[0], clientY - hold.at[1]];
        hold.at = [clientX, clientY];
        if (dx || dy) move(plus(view.lens.eye, view.lens.ray(x + dx, y + dy), depth));
      },
      step: ([x, y]) => {
        if (isFixed(state, index)) return false;
        const { right, up } = view.lens;
        const place = plus(state.model.values[index], right, x * VALUE_STEP);
        return move(plus(place, up, y * VALUE_STEP));
      },
      release: () => settle(state),
    });
    return knob;
  });
  state.find('over').replaceChildren(...state.valueKnobs);
  view.onPaint = () => {
    const azimuth = view.camera.azimuth + ASIDE;
    Object.assign(state.other.camera, view.camera, { azimuth });
    state.other.invalidate();
    placeValues(state);
    if (state.plane) placeKnobs(state);
  };
}

function placeValues(state) {
  const { values } = attentionOf(state);
  const middle = middleOf(values.flat());
  const percents = percentsOf(sharesOf(state));
  state.valueKnobs.forEach((knob, i) => {
    knob.hidden = i >= values.length;
    if (knob.hidden) return;
    const apart = percents[i] ? Math.max(0.12, 40 / state.view.canvas.clientHeight) : 0.12;
    const beside = plus(values[i], unit(minus(values[i], middle)), apart); // its corner
    const [x, y] = state.view.project(beside);
    knob.disabled = isFixed(state, i);
    knob.textContent = isFixed(state, i) ? '0' : `v${INDICES[i]} ${percents[i] ?? ''}`.trim();
    const half = knob.offsetWidth / 2;
    const inside = Math.max(half, Math.min(state.view.canvas.clientWidth - half, x));
    knob.style.transform = `translate(${inside}px, ${y}px) translate(-50%, -50%)`;
    const place = values[i].map(x => number(x)).join(', ');
    knob.setAttribute('aria-label', isFixed(state, i) ? 'Value of the sink, fixed at the origin'
      : `Value ${i + 1} at ${place}; arrow keys move it`);
  });
}
