// The stage: one surface that lifts off its flat triangle while the gate opens, and a plane to cut it with.
//
// Python sends a header { source, arrays, strengths, strength, plane, colours, pointColours, flat, ask, hold, heard }
// and receives "left" with { strength, plane: [a, b, c, d] or null, serial } when the visitor lets go.

const CELLS = 10;
const DRAWN = 200; // test points at most; all of them count
const ASIDE = 0.1; // radians: seen straight on, lines coincide
const FILLED = 0.89; // of the picture
const decimals = x => x.toFixed(2);
const percentOf = (count, all) => `${(100 * count / all).toFixed(1)} %`;

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector('.gc-stage');
  const state = (root.__gc ??= { root, heard: 0, next: nextMessage, strength: 1, own: false });
  state.report = setTriggerValue;
  takeData(root, state, data, root.querySelector('.gc-stage-error'), 'The surface', adopt);
}

function adopt(root, state, header, buffer, address) {
  const others = state.shown !== address;
  state.header = header;
  if (others) {
    Object.assign(state, unpack(header.arrays, buffer), { shown: address, size: header.arrays.surfaces.shape[1], answer: '' });
    state.surface = new Float32Array(3 * state.size ** 2);
    root.querySelector('.gc-stage-answer').textContent = '';
  }
  const first = !state.view;
  if (first) build(root, state);
  const turns = header.hold !== Boolean(state.held);
  if (turns) hold(root, state, header.hold); // before the aim: its picture is wider
  if (others) aim(state);
  if (first) restoreCamera(state.view);
  else if (others) putCamera(); // it was of another surface
  if (isAskedFor(state, header, others) && !turns) {
    state.playing = state.waiting = false;
    endOpening(root, state);
    if (state.asking && !header.hold) endQuestion(root, state); // what is asked for answers it
  }
  const isOurs = isUnheard(state, state.flying) || state.waiting || state.handling || state.playing || state.opening || state.asking;
  if (!isOurs) {
    Object.assign(state, { strength: header.strength, own: Boolean(header.plane) });
    if (state.own) state.plane = planeOf(header.plane.slice(0, 3), header.plane[3], middleOf(surfaceAt(state)), state.plane?.a);
  }
  if (first && header.ask && !isAsked()) open(root, state);
  drawStage(state);
}

// Whether Python asks for another state, as a preset and the browser's Back do: neither the one that it has
// heard from here, nor the one before; or for that of other surfaces.
function isAskedFor(state, { strength, plane, ask, heard }, others) {
  const request = JSON.stringify([strength, plane, ask]);
  const isOther = state.request !== undefined && (others || state.request !== request) && heard === state.answered;
  Object.assign(state, { request, answered: heard });
  return isOther;
}

const surfaceAt = state => between(state.surfaces, state.surface.length, frameOf(state.header.strengths, state.strength), state.surface);

function build(root, state) {
  const canvas = root.querySelector('.gc-stage-space');
  state.view = makeView(canvas, { azimuth: 0, elevation: 1, distance: 3, centre: [0, 0, 0] });
  state.view.onPaint = () => placeKnobs(state);
  listenToTurning(state.view);
  buildKnobs(root, state);
  listenToPlaying(root, state);
  redrawOnResize(root.querySelector('.gc-stage-square'), () => drawStage(state));
}

// Across the triangle, whose longest extent is the first axis, on the side to which the last fitted plane faces
// upwards; halfway between this plane and the triangle: a ring at the full gate and the flat surface are both seen
// broadly. The triangle and the surfaces at both ends are in the picture.
function aim({ view, surfaces, corners, planes }) {
  const [, y, z] = planes.subarray(-4).map((part, _, all) => (all[2] < 0 ? -part : part));
  Object.assign(view.camera, { azimuth: Math.sign(y) * Math.PI / 2 + ASIDE, elevation: (Math.asin(z) + Math.PI / 2) / 2 });
  const all = new Float32Array([...corners, ...surfaces]);
  view.frame(Array.from({ length: all.length / 3 }, (_, i) => vertexOf(all, i)), FILLED, view.canvas.parentElement);
}

// ---- changes by the visitor ---------------------------------------------------------------------

function takePlane(state, plane) {
  Object.assign(state, { plane, own: true });
  change(state);
}

// While something is dragged: at most one drawing for each frame.
function change(state) {
  state.handling = true;
  state.frame ??= requestAnimationFrame(() => {
    state.frame = null;
    drawStage(state);
  });
}

// The visitor has let go: Python hears of it, and the sentence is read aloud.
function settle(state) {
  const { root } = state;
  Object.assign(state, { handling: false, waiting: true });
  if (state.frame) cancelAnimationFrame(state.frame);
  state.frame = null;
  drawStage(state);
  root.querySelector('.gc-stage-aloud').textContent = root.querySelector('.gc-stage-sentence').textContent;
  post(root, state);
}

const nextMessage = state => state.waiting && !state.handling && !state.playing && { name: 'left', take: () => {
  state.waiting = false;
  const { strength, own, plane } = state;
  return { strength, plane: own ? [...plane.normal, offsetOf(plane)].map(x => Number(x.toFixed(6))) : null };
} };

// ---- drawing ------------------------------------------------------------------------------------

// The fitted plane between the strengths at which one was fitted: [normal, offset].
function fittedAt({ planes, strength }) {
  const steps = planes.length / 4 - 1;
  const index = Math.min(steps - 1, Math.floor(strength * steps));
  const share = strength * steps - index;
  const at = i => Array.from(planes.subarray(4 * i, 4 * i + 4));
  const numbers = mixed(at(index), at(index + 1), share);
  const length = lengthOf(numbers) || 1;
  return [numbers.slice(0, 3).map(x => x / length), numbers[3] / length];
}

function drawStage(state) {
  const { root, size, labels, view, header } = state;
  const places = surfaceAt(state);
  const middle = middleOf(places);
  const [normal, offset] = fittedAt(state);
  if (!state.own) state.plane = planeOf(normal, offset, middle, state.plane?.a);
  const { plane } = state;
  const frame = frameOf(header.strengths, state.strength);
  const testPlaces = between(state.testValues, 3 * labels.length, frame);
  const field = fieldOf(plane, offsetOf(plane), places);
  const testField = fieldOf(plane, offsetOf(plane), testPlaces);
  state.normals = normalsOf(places, size, state.normals?.length === places.length ? state.normals : undefined);
  view.show(stageScene(state, places, testPlaces, field, plane, middle));
  const drawn = Math.min(DRAWN, labels.length);
  if (!state.asking) {
    paintSquare(root.querySelector('.gc-stage-square'), { field, size, points: state.testPoints.subarray(0, 2 * drawn),
      labels, pointField: testField, colours: header.colours, pointColours: header.pointColours });
  }
  state.right = { plane: rightOf(testField, labels), fitted: rightOf(fieldOf({ normal }, offset, testPlaces), labels) };
  state.kinds = cutKinds(field, size);
  showNumbers(state, field);
  root.dataset.n = 1 + Number(root.dataset.n ?? 0);
}

function showNumbers(state, field) {
  const { root, strength, own, playing } = state;
  const find = name => root.querySelector(`.gc-stage-${name}`);
  const [bold, rest] = stageSentence(state, field);
  find('sentence').replaceChildren(Object.assign(document.createElement('strong'), { textContent: bold }), ` ${rest}`);
  find('strength').value = strength;
  find('why').hidden = strength === 0 || strength === 1;
  find('strength').setAttribute('aria-valuetext', `gate strength ${decimals(strength)}`);
  find('lambda').textContent = decimals(strength);
  showPlaying(find('play'), Boolean(playing));
  find('fit').hidden = !own;
  for (const name of ['play', 'strength']) find(name).disabled = Boolean(state.asking || state.opening);
}
