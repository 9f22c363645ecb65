// Points painted and erased: the browser has the picture, and Python receives it after each
// stroke.

const SPACING = 12; // pixels of a stroke for each point
const JITTER = 7; // pixels, at most, between a sprayed point and the stroke
const RUBBER = 13; // radius of the eraser in pixels
const DIGITS = 3; // of a coordinate
const ERASER = -1; // the mode; the others are the classes
const UNDOS = 100; // steps, at most, that can be taken back

export default function (component) {
  const { data: [data] } = component;
  const first = { take: takeDrawn, mode: 0, cross: [0, 0], stroke: null, hover: null, history: [] };
  const state = stateOf(component, 'draw', 'drawn', first);
  hear(state, data.heard);
  state.most = data.most;
  state.given = data.points.map(([x, y], i) => ({ x, y, label: data.labels[i] }));
  if (!state.id) listen(state);
  build(state, data.class_names, data.colours);
  adopt(state);
  draw(state);
  post(state);
}

const isSame = (some, others) => JSON.stringify(some) === JSON.stringify(others);

// Python's points may be older than the last stroke: that must not be lost.
function adopt(state) {
  if (state.stroke || isOurs(state) || isSame(state.picture, state.given)) return;
  if (state.picture) remember(state, state.picture); // Undo takes back a reset, too
  state.picture = state.given;
}

// The whole picture, with all strokes since the message in flight.
function takeDrawn({ stroke, picture }) {
  const points = stroke?.before ?? picture;
  return { points: points.map(({ x, y }) => [x, y]), labels: points.map(({ label }) => label) };
}

// ---- changes by the visitor ----------------------------------------------------------------

function remember(state, picture) {
  state.history = [...state.history, picture].slice(-UNDOS);
}

// A step that Undo takes back: a whole stroke, a point set by keys, a clearing.
function finish(state, before) {
  if (before === state.picture) {
    adopt(state); // which a stroke may have prevented
  } else {
    remember(state, before);
    report(state);
  }
  draw(state);
}

function undo(state) {
  if (state.stroke || !state.history.length) return;
  state.picture = state.history.pop();
  report(state);
  draw(state);
}

function report(state) {
  state.waiting = true;
  post(state);
  tell(state, [counts(state, ', '), fullness(state)].filter(Boolean).join('. '));
}

// A stroke keeps its mode, even if another finger chooses one meanwhile.
const modeNow = state => state.stroke?.mode ?? state.mode;
const rounded = value => Number(Math.max(-1, Math.min(1, value)).toFixed(DIGITS)) + 0; // no −0

function add(state, x, y) {
  if (state.picture.length >= state.most) return;
  state.picture = [...state.picture, { x: rounded(x), y: rounded(y), label: modeNow(state) }];
}

function remove(state, isHit) {
  const left = state.picture.filter(point => !isHit(point));
  if (left.length < state.picture.length) state.picture = left;
}

// The distance of a point from the segment between two pixels.
function distance(state, { x, y }, from, to = from) {
  const [px, py] = pixelAt(state, x, y);
  const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
  const share = ((px - from[0]) * dx + (py - from[1]) * dy) / (dx * dx + dy * dy || 1);
  const t = Math.max(0, Math.min(1, share));
  return Math.hypot(px - from[0] - t * dx, py - from[1] - t * dy);
}

const erase = (state, from, to) =>
  remove(state, point => distance(state, point, from, to) <= RUBBER);

// The start of a stroke, a tap or a key: at the crosshair, without jitter.
function dab(state, at) {
  if (modeNow(state) === ERASER) erase(state, at);
  else add(state, ...state.cross);
}

// Points at even distances along the segment; the rest of its length counts for the next one.
function spray(state, from, to) {
  const length = Math.hypot(to[0] - from[0], to[1] - from[1]);
  let at = SPACING - state.stroke.travelled;
  for (; at <= length; at += SPACING) {
    const spot = from.map((start, k) => start + (to[k] - start) * at / length);
    if (!isOnPaper(state, ...spot)) continue;
    const [angle, radius] = [2 * Math.PI * Math.random(), JITTER * Math.sqrt(Math.random())];
    const [across, down] = [radius * Math.cos(angle), radius * Math.sin(angle)];
    add(state, ...valueAt(state, spot[0] + across, spot[1] + down));
  }
  state.stroke.travelled = length - at + SPACING;
}
