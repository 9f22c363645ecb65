// Which keys curve? Four keys to drag; the surface is computed and painted here while they move.
//
// Python sends { mode: none | key | sink, model: { keys, biases, values, at, cut }, first: a model, hold, elevations, heard } and
// receives "moved" with { keys, biases, values, at, cut, serial } when the visitor lets go. `cut` is a plane [a, b, c, d], or null.

const MODES = { none: 3, key: 4, sink: 4 };
const LARGEST_BIAS = 4;

export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = parentElement.querySelector('.gc-keys');
  const state = (root.__gc ??= { heard: 0, next: nextMessage, round: 1, active: 3 });
  state.report = setTriggerValue;
  state.root = root;
  hear(state, data.heard);
  const isReleased = state.held && !data.hold;
  const isOurs = isUnheard(state, state.flying) || state.waiting || state.handling || state.playing || isReleased;
  if (!isOurs) adopt(state, data.model);
  state.first = data.first;
  const others = state.mode !== data.mode;
  state.mode = data.mode;
  if (!state.view) build(root, state, data.elevations?.[data.hold ? 0 : 1] ?? CAMERA.elevation);
  if (others) {
    forgetTiles(root);
    aim(state);
  }
  if (data.hold !== Boolean(state.held)) hold(root, state, data.hold);
  drawAll(root, state);
  if (isReleased) reveal(state, data.model, data.elevations);
  post(root, state);
}

function adopt(state, { at, cut, ...model }) {
  const plane = cut && planeOf(cut.slice(0, 3), cut[3], middleOf(model.values.flat()), state.plane?.a);
  Object.assign(state, { at, plane, model: structuredClone(model) });
}

const slotsOf = state => MODES[state.mode];
const isFixed = (state, index) => state.mode === 'sink' && index === 3;
// The key whose places are tinted: the one that was moved last; with a sink, the origin.
const movingKey = state => (state.mode === 'sink' ? 3 : Math.min(state.active, slotsOf(state) - 1));
const keysOf = state => state.model.keys.slice(0, slotsOf(state)).map((key, i) => (isFixed(state, i) ? [0, 0] : key));
const attentionOf = state => ({
  keys: keysOf(state),
  biases: state.model.biases.slice(0, slotsOf(state)),
  values: state.model.values.slice(0, slotsOf(state)).map((value, i) => (isFixed(state, i) ? [0, 0, 0] : value)),
});
const nameOf = (state, index) => (isFixed(state, index) ? 'The origin, key of the sink' : `Key ${index + 1}`);
const number = x => (x === 0 ? '0' : Math.abs(x) >= 1e4 || Math.abs(x) < 1e-3 ? power(x) : String(Number(x.toPrecision(3)))).replace('-', '−');
const power = x => x.toExponential(1).replace(/e\+?(-?\d+)/, (_, n) => ` × 10${[...n].map(c => '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'['-0123456789'.indexOf(c)]).join('')}`);

// ---- building -----------------------------------------------------------------------------------

function build(root, state, elevation) {
  const canvas = root.querySelector('.gc-keys-space');
  state.view = makeView(canvas, { ...CAMERA, elevation });
  buildPlane(root, state);
  buildValues(root, state);
  buildKnobs(root, state);
  listenToTurning(state.view, {
    onClick: (x, y) => {
      const hit = state.view.hit(x, y);
      if (!hit) return;
      state.at = [hit.column, hit.row].map(share => Number(chartAt(share).toFixed(3)));
      settle(state);
    },
    onHover: (x, y) => {
      const hit = x === undefined ? null : state.view.hit(x, y);
      showPoint(root, state, hit && [hit.column, hit.row].map(chartAt));
    },
  });
  restoreCamera(state.view);
  state.sliders = state.model.biases.map((_, index) => {
    const label = document.createElement('label');
    const slider = Object.assign(document.createElement('input'),
      { type: 'range', min: -LARGEST_BIAS, max: LARGEST_BIAS, step: 0.05 });
    label.append(document.createElement('span'), slider);
    slider.addEventListener('input', () => { state.model.biases[index] = Number(slider.value); change(state); });
    slider.addEventListener('change', () => settle(state));
    return label;
  });
  root.querySelector('.gc-keys-biases').replaceChildren(...state.sliders);
  root.querySelector('.gc-keys-cut').addEventListener('click', () => {
    state.plane = state.plane ? null : firstCut(state.surface);
    settle(state);
  });
  root.querySelector('.gc-keys-break').addEventListener('click', () => {
    const text = breakingSentence(tryToBreak(root, state));
    root.querySelector('.gc-keys-broken').textContent = text;
  });
  root.querySelector('.gc-keys-first').addEventListener('click', () => {
    adopt(state, state.first);
    aim(state);
    forgetTiles(root);
    settle(state);
  });
  redrawOnResize(root.querySelector('.gc-keys-plane'), () => drawAll(root, state));
}

function forgetTiles(root) {
  root.querySelector('.gc-keys-tiles').hidden = true;
  root.querySelector('.gc-keys-broken').textContent = '';
}

// ---- changes by the visitor ---------------------------------------------------------------------

// While something is dragged: at most one drawing for each frame.
function change(state) {
  state.handling = true;
  state.frame ??= requestAnimationFrame(() => {
    state.frame = null;
    forgetTiles(state.root);
    drawAll(state.root, state);
  });
}

// The visitor has let go: Python hears of it, and the sentence is read aloud.
function settle(state) {
  Object.assign(state, { handling: false, waiting: true });
  if (state.frame) cancelAnimationFrame(state.frame);
  state.frame = null;
  drawAll(state.root, state);
  state.root.querySelector('.gc-keys-aloud').textContent = state.root.querySelector('.gc-keys-sentence').textContent;
  post(state.root, state);
}

const nextMessage = state => state.waiting && !state.handling && !state.playing && { name: 'moved', take: () => takeModel(state) };

function takeModel(state) {
  state.waiting = false;
  const { keys, biases, values } = state.model;
  return { keys, biases, values, at: state.at, cut: state.plane && [...state.plane.normal, offsetOf(state.plane)].map(x => Number(x.toFixed(6))) };
}

// ---- drawing ------------------------------------------------------------------------------------

function drawAll(root, state) {
  state.ink = cssColour(getComputedStyle(root).color);
  const model = attentionOf(state);
  const verdict = verdictOf(state, model);
  state.surface = sampled(model);
  drawPlane(root, state, verdict);
  const scene = sceneOf(state, state.surface, verdict);
  const words = state.plane && cutBy(state, scene, verdict);
  state.view.show(scene);
  state.sliders.forEach((label, i) => {
    label.hidden = i >= slotsOf(state);
    const [name, slider] = label.children;
    slider.value = state.model.biases[i];
    name.textContent = `${isFixed(state, i) ? 'sink logit s' : `bias b${'₁₂₃₄'[i]}`} = ${number(state.model.biases[i])}`;
  });
  const [bold, rest] = sentenceOf(state, verdict);
  root.classList.toggle('gc-keys-uncut', !state.plane);
  root.querySelector('.gc-keys-cut').setAttribute('aria-pressed', Boolean(state.plane));
  const sentence = root.querySelector('.gc-keys-sentence');
  sentence.replaceChildren(Object.assign(document.createElement('strong'), { textContent: bold }), ` ${words || rest}`);
  root.querySelector('.gc-keys-half').textContent = verdict.sign ? `half colour at |K| = ${number(state.half)}` : 'K = 0';
  root.classList.toggle('gc-keys-three', slotsOf(state) < 4); // which are flat: there are no signs
  root.dataset.sign = verdict.sign ?? 'none';
  showPoint(root, state, null);
  root.dataset.n = 1 + Number(root.dataset.n ?? 0);
}

// What the keys decide: three values are flat, and so are four values in one plane.
function verdictOf(state, { keys, values }) {
  if (keys.length < 4) return areaOf(...keys) === 0 ? { sign: null } : { sign: 0, why: 'three' };
  const verdict = signOfKeys(keys);
  return verdict.sign !== null && isCoplanar(values) ? { sign: 0, why: 'coplanar' } : verdict;
}

// The number of a point: K there, by the Gauss equation.
function showPoint(root, state, point) {
  const at = point ?? state.at;
  const model = attentionOf(state);
  const curvature = at && curvatureOf(model, outputAt(model, ...at));
  const flat = root.dataset.sign === '0'; // proved: what is computed there is rounding
  root.querySelector('.gc-keys-point').textContent = !at ? 'Click a point of the surface for its numbers below.'
    : `At (${at.map(x => number(Number(x.toFixed(2)))).join(', ')}): K = ${number(flat ? 0 : curvature.K)}`;
}
