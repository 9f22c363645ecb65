// Which keys curve? Four keys to drag; the surface is computed and painted here while they move.
//
// Python sends { mode: none | key | sink, model: { keys, biases, values, at, cut }, first: a
// model, hold, alone, elevations, heard } and receives "moved" with { keys, biases, values, at, cut,
// serial } when the visitor lets go. `cut` is a plane [a, b, c, d], or null.

const MODES = { none: 3, key: 4, sink: 4 };
const LARGEST_BIAS = 4;
const REVEAL_SECONDS = 4;
const INDICES = '₁₂₃₄';
const POWERS = '⁻⁰¹²³⁴⁵⁶⁷⁸⁹';

export default function (component) {
  const { data: [data] } = component;
  const take = ({ model: { keys, biases, values }, at, plane }) =>
    ({ keys, biases, values, at, cut: plane && planeNumbers(plane) });
  const first = { take, draw: drawAll, round: 1, active: 3 };
  const state = stateOf(component, 'keys', 'moved', first);
  hear(state, data.heard);
  const isReleased = state.held && !data.hold;
  if (!isOurs(state) && !isReleased) adopt(state, data.model);
  const others = state.mode !== data.mode;
  Object.assign(state, { first: data.first, mode: data.mode });
  state.alone = data.alone;
  if (!state.view) build(state, data.elevations?.[data.hold ? 0 : 1]);
  if (others) aim(state);
  if (data.hold !== Boolean(state.held)) hold(state, data.hold);
  drawAll(state);
  if (isReleased) reveal(state, data.model, data.elevations);
  post(state);
}

function adopt(state, { at, cut, ...model }) {
  const plane = cut && planeOf(cut, middleOf(model.values.flat()), state.plane?.a);
  Object.assign(state, { at, plane, model: structuredClone(model) });
}

const slotsOf = state => MODES[state.mode];
const isFixed = (state, index) => state.mode === 'sink' && index === 3;
// The key whose places are tinted: the one that was moved last; with a sink, the origin.
const movingKey = state => (state.mode === 'sink' ? 3 : Math.min(state.active, slotsOf(state) - 1));

function attentionOf(state) {
  const [keys, biases, values] = ['keys', 'biases', 'values']
    .map(name => state.model[name].slice(0, slotsOf(state)));
  if (state.mode === 'sink') [keys[3], values[3]] = [[0, 0], [0, 0, 0]];
  return { keys, biases, values };
}
const keysOf = state => attentionOf(state).keys;

function number(x) {
  const isPlain = x === 0 || (Math.abs(x) < 1e4 && Math.abs(x) >= 1e-3);
  const raised = n => [...n].map(c => POWERS['-0123456789'.indexOf(c)]).join('');
  const text = isPlain ? String(Number(x.toPrecision(3)))
    : x.toExponential(1).replace(/e\+?(-?\d+)/, (_, n) => ` × 10${raised(n)}`);
  return text.replace('-', '−');
}

// ---- building -----------------------------------------------------------------------------------

function build(state, elevation) {
  const { find } = state;
  const lesson = elevation === undefined ? {} : { azimuth: Math.PI, elevation }; // value 1 above
  state.view = makeView(find('space'), { ...CAMERA, ...lesson });
  state.other = makeView(find('other'), CAMERA);
  buildPlane(state);
  buildValues(state);
  buildKnobs(state);
  listenToTurning(state.view, {
    onClick: hit => {
      if (!hit) return;
      state.at = pointOf(hit);
      settle(state);
    },
    onHover: hit => showPoint(state, pointOf(hit)),
  });
  restoreCamera(state.view);
  state.sliders = state.model.biases.map((_, index) => {
    const range = { type: 'range', min: -LARGEST_BIAS, max: LARGEST_BIAS, step: 0.05 };
    const slider = element('input', range);
    slider.addEventListener('input', () => {
      state.model.biases[index] = Number(slider.value);
      change(state);
    });
    slider.addEventListener('change', () => settle(state));
    return element('label', {}, element('span'), slider);
  });
  find('biases').replaceChildren(...state.sliders);
  find('cut').addEventListener('click', () => {
    state.plane = state.plane ? null : firstCut(state.surface);
    settle(state);
  });
  find('break').addEventListener('click', () => {
    find('broken').textContent = breakingSentence(tryToBreak(state));
  });
  find('first').addEventListener('click', () => {
    adopt(state, state.first);
    aim(state);
    settle(state);
  });
  redrawOnResize(find('plane'), () => {
    fit(state);
    drawAll(state);
  });
}

function forgetTiles({ find }) {
  find('tiles').hidden = true;
  find('broken').textContent = '';
}

// Held, the picture answers nothing but the turning of its view.
function hold(state, isHeld) {
  state.held = isHeld;
  state.root.classList.toggle('gc-keys-held', isHeld);
  for (const name of ['left', 'over', 'biases', 'test']) state.find(name).inert = isHeld;
}

// From the model that is shown to `target`, with the camera at the last of the `elevations`, if
// any.
function reveal(state, target, elevations) {
  const { camera } = state.view;
  const [from, height] = [structuredClone(state.model), camera.elevation];
  play(state, REVEAL_SECONDS, share => {
    const way = eased(share);
    if (elevations) {
      camera.elevation = height + way * (elevations[1] - height);
      aim(state); // from the side the values stand elsewhere in the picture
    }
    if (share === 1) {
      adopt(state, target);
      settle(state);
      return;
    }
    const rows = name => from[name].map((row, i) => mixed(row, target[name][i], way));
    const biases = mixed(from.biases, target.biases, way);
    state.model = { keys: rows('keys'), biases, values: rows('values') };
    drawAll(state);
  });
}

// ---- drawing ------------------------------------------------------------------------------------

function drawAll(state) {
  const { root, find } = state;
  state.ink = cssColour(getComputedStyle(root).color);
  const model = attentionOf(state);
  const keys = String(model.keys);
  if (keys !== state.keys) forgetTiles(state); // they were of others
  state.keys = keys;
  const verdict = verdictOf(model);
  state.surface = sampled(model);
  drawOther(state, verdict);
  drawPlane(state, verdict);
  const scene = sceneOf(state, state.surface, verdict);
  const words = state.plane && cutBy(state, scene, verdict);
  state.view.show(scene);
  state.sliders.forEach((label, i) => {
    label.hidden = i >= slotsOf(state);
    const [name, slider] = label.children;
    slider.value = state.model.biases[i];
    const symbol = isFixed(state, i) ? 'sink logit s' : `bias b${INDICES[i]}`;
    name.textContent = `${symbol} = ${number(state.model.biases[i])}`;
  });
  const [bold, rest] = sentenceOf(state, verdict);
  say(find('sentence'), bold, words || rest);
  find('cut').setAttribute('aria-pressed', Boolean(state.plane));
  find('now').textContent = state.held || verdict.sign === null ? 'Output space, with the values'
    : `Outputs now: ${KINDS[verdict.sign + 1]}`;
  root.classList.toggle('gc-keys-uncut', !state.plane);
  root.classList.toggle('gc-keys-three', slotsOf(state) < 4); // which are flat: there are no signs
  root.dataset.sign = verdict.sign ?? 'none';
  showPoint(state, null);
  countDrawing(root);
}

// What the keys decide: three values are flat, and so are four values in one plane.
function verdictOf({ keys, values }) {
  if (keys.length < 4) return areaOf(...keys) === 0 ? { sign: null } : { sign: 0, why: 'three' };
  const verdict = signOfKeys(keys);
  return verdict.sign !== null && isCoplanar(values) ? { sign: 0, why: 'coplanar' } : verdict;
}

// The number of a point: K there, by the Gauss equation.
function showPoint(state, point) {
  const at = point ?? state.at;
  const model = attentionOf(state);
  const isFlat = state.root.dataset.sign === '0'; // proved: what is computed there is rounding
  const K = at && (isFlat ? 0 : curvatureOf(model, outputAt(model, ...at)).K);
  const place = at?.map(x => number(Number(x.toFixed(2)))).join(', ');
  state.find('point').textContent = at ? `At (${place}): K = ${number(K)}`
    : 'Click a point: its K';
}
