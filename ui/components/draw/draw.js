// Points painted and erased: the browser owns the picture, and Python hears of it after each stroke.

const SVG = 'http://www.w3.org/2000/svg';
const MARGIN = { left: 24, right: 8, top: 9, bottom: 23 }; // pixels; both pairs add up alike
const SPACING = 12; // pixels of a stroke for each point
const JITTER = 7; // pixels, at most, between a sprayed point and the stroke
const RUBBER = 13; // radius of the eraser in pixels
const DIGITS = 3; // of a coordinate
const ERASER = -1; // the mode; the others are the classes
const STEP = 1 / 20; // of an arrow key
const FINE_STEP = 1 / 100;
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const UNDOS = 100; // steps, at most, that can be taken back
const LOOK_MS = 30; // how often to look whether Python is free again
const PATIENCE_MS = 2000; // after which a message counts as lost, or its run as too long to wait for
const HOLD_MS = 10000; // after which Python's word counts even so
// One shape for each class, about equal in area: colour is not the only channel.
const SHAPES = [
  'M4.6 0A4.6 4.6 0 1 1-4.6 0A4.6 4.6 0 1 1 4.6 0Z',
  'M-4.1-4.1H4.1V4.1H-4.1Z',
  'M0-5.8L5.5 4H-5.5Z',
  'M0-5.9L5.9 0L0 5.9L-5.9 0Z',
];
const ERASER_GLYPH = 'M-6 1.5L1-5.5L6-.5L.5 5H-2.5ZM-2.5-2L3 3.5M-3.5 6.5H6';

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector('.gc-draw');
  const state = (root.__gc ??= {
    id: `gc-draw-${Math.random().toString(36).slice(2)}`, mode: 0, cross: [0, 0], picture: null, stroke: null, hover: null,
    history: [], nodes: new Map(), waiting: false, flying: { serial: 0, at: 0 }, heard: 0,
  });
  state.report = setTriggerValue;
  receive(root, state, data);
  if (!state.observer) wire(root, state);
  draw(root, state);
  // Nothing to undo at the end, and rightly so: a call that the next one overtakes is "unmounted"
  // at once although the element stays, and quick reruns do overtake one another.
}

// ---- what Python says -----------------------------------------------------------------------

function receive(root, state, data) {
  state.most = data.most;
  state.heard = Math.max(state.heard, data.heard);
  state.given = data.points.map(([x, y], i) => ({ x, y, label: data.labels[i] }));
  build(root, state, data.class_names, data.colours);
  adopt(state);
  post(root, state);
}

// What Python sends may be older than what the hand has done since: that must not be lost.
function adopt(state) {
  const unheard = state.flying.serial > state.heard && performance.now() < state.flying.at + HOLD_MS;
  if (state.stroke || state.waiting || unheard || isSame(state.picture, state.given)) return;
  if (state.picture) remember(state, state.picture); // a reset can be taken back as well
  state.picture = state.given;
}

const isSame = (some, others) => some?.length === others.length
  && some.every(({ x, y, label }, i) => x === others[i].x && y === others[i].y && label === others[i].label);

// ---- what Python hears ----------------------------------------------------------------------

// A message interrupts the run that draws the picture for the one before (outside of fragments).
// So there is one message in flight, until its run has ended; the next has all that came meanwhile.
function post(root, state) {
  clearTimeout(state.timer);
  if (!state.waiting || !root.isConnected) return;
  const { flying } = state;
  const now = performance.now();
  const isAwaited = flying.at && now < flying.at + PATIENCE_MS;
  if (isAwaited && (flying.serial > state.heard || isRunning())) {
    state.timer = setTimeout(() => post(root, state), LOOK_MS);
    return;
  }
  state.waiting = false;
  // Serials outgrow those of earlier visits to this page, which Python may still remember.
  const serial = Math.max(flying.serial + 1, state.heard + 1, Date.now());
  state.flying = { serial, at: now };
  const whole = state.stroke?.before ?? state.picture;
  state.report('drawn', { points: whole.map(({ x, y }) => [x, y]), labels: whole.map(({ label }) => label), serial });
}

// Streamlit shows this for tests; should it go, a message waits for its answer only.
const isRunning = () => !['notRunning', undefined]
  .includes(document.querySelector('[data-testid=stApp]')?.dataset.testScriptState);

// ---- what the hand does to the picture ------------------------------------------------------

function remember(state, picture) {
  state.history = [...state.history, picture].slice(-UNDOS);
}

// A step that Undo takes back: a whole stroke, a point set by keys, a clearing.
function finish(root, state, before) {
  if (before === state.picture) {
    adopt(state); // for which a stroke may have been in the way
  } else {
    remember(state, before);
    tellPython(root, state);
  }
  draw(root, state);
}

function undo(root, state) {
  if (state.stroke || !state.history.length) return;
  state.picture = state.history.pop();
  tellPython(root, state);
  draw(root, state);
}

function tellPython(root, state) {
  state.waiting = true;
  post(root, state);
  say(root, [counts(state, ', '), fullness(state)].filter(Boolean).join('. '));
}

// A stroke keeps the mode in which it began, whatever another finger chooses meanwhile.
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

// How far a point is from the way from one pixel to another.
function distance(state, { x, y }, from, to) {
  const [px, py] = pixelAt(state, x, y);
  const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
  const share = ((px - from[0]) * dx + (py - from[1]) * dy) / (dx * dx + dy * dy || 1);
  const t = Math.max(0, Math.min(1, share));
  return Math.hypot(px - from[0] - t * dx, py - from[1] - t * dy);
}

const erase = (state, from, to) => remove(state, point => distance(state, point, from, to) <= RUBBER);

// What a stroke begins with, and all that a tap or a key does: at the crosshair, without jitter.
function dab(state, at) {
  if (modeNow(state) === ERASER) erase(state, at, at);
  else add(state, ...state.cross);
}

// Points at even distances along the way; what is left over counts for the next stretch.
function spray(state, from, to) {
  const length = Math.hypot(to[0] - from[0], to[1] - from[1]);
  let at = SPACING - state.stroke.travelled;
  for (; at <= length; at += SPACING) {
    const [across, down] = [0, 1].map(i => from[i] + (to[i] - from[i]) * at / length);
    if (!isOnPaper(state, across, down)) continue;
    const [angle, radius] = [2 * Math.PI * Math.random(), JITTER * Math.sqrt(Math.random())];
    add(state, ...valueAt(state, across + radius * Math.cos(angle), down + radius * Math.sin(angle)));
  }
  state.stroke.travelled = length - at + SPACING;
}

// ---- the hand -------------------------------------------------------------------------------

function wire(root, state) {
  const svg = root.querySelector('.gc-draw-plot');
  const pixel = event => {
    const box = svg.getBoundingClientRect();
    const scale = state.size / box.width;
    return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
  };
  const isPaper = node => node.classList.contains('gc-draw-paper');

  svg.addEventListener('pointerdown', event => {
    if (event.button !== 0 || state.stroke || !isPaper(event.target)) return;
    event.preventDefault();
    const at = pixel(event);
    state.stroke = { pointer: event.pointerId, mode: state.mode, before: state.picture, at, travelled: 0 };
    svg.setPointerCapture(event.pointerId);
    svg.focus({ preventScroll: true });
    root.classList.remove('gc-draw-keys');
    state.cross = valueAt(state, ...at).map(rounded);
    dab(state, at);
    hover(root, state, at);
    draw(root, state);
  });
  // The margin beside the square scrolls the page. Chromium heeds `touch-action` on the whole picture,
  // not on shapes within it, and would take the pointer away in the middle of a stroke.
  svg.addEventListener('touchstart', event => {
    if (isPaper(event.target)) event.preventDefault();
  }, { passive: false });
  svg.addEventListener('pointermove', event => {
    const { stroke } = state;
    const at = pixel(event);
    if (stroke?.pointer === event.pointerId) {
      (stroke.mode === ERASER ? erase : spray)(state, stroke.at, at);
      stroke.at = at;
      draw(root, state);
    }
    if (event.pointerType !== 'touch' || stroke) hover(root, state, at);
  });
  svg.addEventListener('lostpointercapture', event => {
    if (state.stroke?.pointer !== event.pointerId) return;
    const { before } = state.stroke;
    state.stroke = null;
    if (event.pointerType === 'touch') hover(root, state, null);
    finish(root, state, before);
  });
  svg.addEventListener('pointerleave', () => hover(root, state, null));

  root.addEventListener('keydown', event => {
    if (state.stroke) return;
    const wants = event.key.toLowerCase();
    if ((event.ctrlKey || event.metaKey) && wants === 'z' && !event.shiftKey && !event.altKey) undo(root, state);
    else if (event.ctrlKey || event.metaKey || event.altKey) return;
    else if (wants === 'e') choose(root, state, ERASER);
    else if (/^[1-4]$/.test(wants) && wants <= state.names.length) choose(root, state, Number(wants) - 1);
    else if (event.target !== svg || !typed(root, state, event)) return;
    event.preventDefault();
  });
  svg.addEventListener('focusin', () => {
    root.classList.toggle('gc-draw-keys', svg.matches(':focus-visible') && !state.stroke);
    drawCross(root, state);
  });
  svg.addEventListener('focusout', () => root.classList.remove('gc-draw-keys'));

  root.querySelector('.gc-draw-modes').addEventListener('change', event => {
    choose(root, state, Number(event.target.value));
  });
  root.querySelector('.gc-draw-undo').addEventListener('click', () => undo(root, state));
  root.querySelector('.gc-draw-clear').addEventListener('click', () => {
    if (state.stroke || !state.picture.length) return;
    const before = state.picture;
    state.picture = [];
    finish(root, state, before);
  });

  // Drawn in true pixels, so that points and words keep their size in a narrow column.
  state.observer = new ResizeObserver(() => draw(root, state));
  state.observer.observe(svg);
}

// Whether a key means something on the square; if so, it is done.
function typed(root, state, { key, shiftKey, repeat }) {
  const before = state.picture;
  const at = pixelAt(state, ...state.cross);
  root.classList.add('gc-draw-keys');
  if (ARROWS[key]) {
    const step = shiftKey ? FINE_STEP : STEP;
    state.cross = state.cross.map((value, i) => rounded(value + step * ARROWS[key][i]));
    say(root, place(state));
    drawCross(root, state);
    return true;
  }
  if (key === ' ' || key === 'Enter') {
    if (repeat) return true; // held down it would pile points up at one spot
    dab(state, at);
  } else if (key === 'Delete' || key === 'Backspace') {
    const far = point => distance(state, point, at, at);
    const nearest = before.reduce((best, point) => (best && far(best) <= far(point) ? best : point), null);
    remove(state, point => point === nearest);
  } else {
    return false;
  }
  if (before === state.picture) say(root, fullness(state) || 'Nothing here to erase');
  finish(root, state, before);
  return true;
}

function choose(root, state, mode) {
  state.mode = mode;
  root.querySelector(`input[value="${mode}"]`).checked = true;
  say(root, mode === ERASER ? 'Eraser' : `Painting ${state.names[mode]}`);
  hover(root, state, state.hover);
  drawCross(root, state);
}

// ---- the picture ----------------------------------------------------------------------------

function make(tag, attributes = {}, text = '') {
  const node = document.createElementNS(SVG, tag);
  Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));
  node.textContent = text;
  return node;
}

// The row of classes and the eraser; made again only when there are others, or the focus would be lost.
function build(root, state, names, colours) {
  const outline = JSON.stringify([names, colours]);
  if (state.outline === outline) return;
  if (state.names && state.names.length !== names.length) { // labels may mean nothing any more
    Object.assign(state, { stroke: null, waiting: false, history: [], picture: null });
  }
  Object.assign(state, { outline, names, colours });
  state.nodes.clear();
  if (state.mode >= names.length) state.mode = 0;
  const modes = root.querySelector('.gc-draw-modes');
  modes.querySelectorAll('label').forEach(label => label.remove());
  names.forEach((name, mode) => modes.append(
    segment(state, mode, name, make('path', { class: 'gc-draw-point', d: SHAPES[mode] }), colours[mode], mode + 1)));
  modes.append(segment(state, ERASER, 'Eraser', make('path', { class: 'gc-draw-glyph', d: ERASER_GLYPH }), '', 'E'));
  const hint = root.querySelector('.gc-draw-hint');
  hint.id = `${state.id}-hint`;
  const keys = names.map((_, mode) => mode + 1).join(', ');
  hint.textContent = `Keys: ${keys} and E choose; arrows move (Shift: finer), Space paints, Delete erases.`;
  root.querySelector('.gc-draw-plot').setAttribute('aria-describedby', hint.id);
}

function segment(state, mode, name, path, colour, key) {
  const label = document.createElement('label');
  label.className = 'gc-draw-mode';
  label.title = `${name} (key ${key})`;
  if (colour) label.style.setProperty('--gc-draw-colour', colour);
  const input = document.createElement('input');
  Object.assign(input, { type: 'radio', name: state.id, value: mode, checked: mode === state.mode });
  const glyph = make('svg', { viewBox: '-8 -8 16 16', 'aria-hidden': true });
  glyph.append(path);
  const words = document.createElement('span');
  words.textContent = name;
  label.append(input, glyph, words);
  return label;
}

const side = state => state.size - MARGIN.left - MARGIN.right;
const pixelAt = (state, x, y) => [
  MARGIN.left + side(state) * (1 + x) / 2,
  MARGIN.top + side(state) * (1 - y) / 2,
];
const valueAt = (state, across, down) => [
  2 * (across - MARGIN.left) / side(state) - 1,
  1 - 2 * (down - MARGIN.top) / side(state),
];
const isOnPaper = (state, ...at) => valueAt(state, ...at).every(value => Math.abs(value) <= 1);
const place = ({ cross: [x, y] }) => `x ${x.toFixed(2)}, y ${y.toFixed(2)}`.replaceAll('-', '−');

function counts({ names, picture }, between) {
  const count = mode => picture.filter(({ label }) => label === mode).length;
  return names.map((name, mode) => `${name}\u00a0${count(mode)}`).join(between);
}

const fullness = ({ picture, most }) => (picture.length < most ? ''
  : `${most} points: no more fit. Erase some to paint on.`);

function say(root, words) {
  root.querySelector('.gc-draw-said').textContent = words;
}

function draw(root, state) {
  const svg = root.querySelector('.gc-draw-plot');
  if (state.size !== svg.clientWidth) {
    state.size = svg.clientWidth;
    state.nodes.clear();
  }
  if (side(state) <= 0) return; // in a hidden tab; drawn when that opens
  svg.setAttribute('viewBox', `0 0 ${state.size} ${state.size}`);
  drawGrid(root, state);
  drawPoints(root, state);
  drawCross(root, state);
  root.querySelector('.gc-draw-empty').style.display = state.picture.length ? 'none' : '';
  root.querySelector('.gc-draw-counts').textContent = counts(state, ' · ');
  root.querySelector('.gc-draw-full').textContent = fullness(state);
  // Not `disabled`: that would take the focus away from whoever presses them with a key.
  root.querySelector('.gc-draw-undo').setAttribute('aria-disabled', !state.history.length);
  root.querySelector('.gc-draw-clear').setAttribute('aria-disabled', !state.picture.length);
}

function drawGrid(root, state) {
  if (state.gridSize === state.size) return;
  state.gridSize = state.size;
  const [left, top] = pixelAt(state, -1, 1);
  const [right, bottom] = pixelAt(state, 1, -1);
  const box = { x: left, y: top, width: right - left, height: bottom - top };
  Object.entries(box).forEach(([name, value]) => root.querySelector('.gc-draw-paper').setAttribute(name, value));
  const empty = root.querySelector('.gc-draw-empty');
  empty.setAttribute('x', (left + right) / 2);
  empty.setAttribute('y', top + (bottom - top) * 0.45);
  const nodes = [];
  for (const value of [-0.5, 0, 0.5]) {
    const [x, y] = pixelAt(state, value, value);
    const kind = value ? 'gc-draw-line' : 'gc-draw-axis';
    nodes.push(make('line', { class: kind, x1: x, x2: x, y1: top, y2: bottom }));
    nodes.push(make('line', { class: kind, x1: left, x2: right, y1: y, y2: y }));
  }
  for (const value of [-1, 0, 1]) {
    const [x, y] = pixelAt(state, value, value);
    const number = String(value).replace('-', '−');
    nodes.push(make('text', { x, y: bottom + 16, 'text-anchor': 'middle' }, number));
    nodes.push(make('text', { x: left - 7, y: y + 4, 'text-anchor': 'end' }, number));
  }
  root.querySelector('.gc-draw-grid').replaceChildren(...nodes);
}

function drawPoints(root, state) {
  const layer = root.querySelector('.gc-draw-points');
  const nodes = new Map(state.picture.map(point => [point, state.nodes.get(point) ?? dot(state, point)]));
  // Most often a point has been added at the end: the others are left alone.
  const kept = new Set(nodes.values());
  for (const node of [...layer.children]) if (!kept.has(node)) node.remove();
  [...kept].forEach((node, at) => layer.children[at] !== node && layer.insertBefore(node, layer.children[at] ?? null));
  state.nodes = nodes;
}

function dot(state, { x, y, label }) {
  const [across, down] = pixelAt(state, x, y);
  const transform = `translate(${across.toFixed(2)} ${down.toFixed(2)})`;
  const node = make('path', { class: 'gc-draw-point', d: SHAPES[label], transform, 'data-label': label });
  node.style.setProperty('--gc-draw-colour', state.colours[label]);
  return node;
}

function drawCross(root, state) {
  const svg = root.querySelector('.gc-draw-plot');
  if (!(side(state) > 0)) return;
  const [across, down] = pixelAt(state, ...state.cross);
  const [left, top] = pixelAt(state, -1, 1);
  const [right, bottom] = pixelAt(state, 1, -1);
  const set = (node, values) => Object.entries(values).forEach(([name, value]) => node.setAttribute(name, value));
  const [upright, level] = svg.querySelectorAll('.gc-draw-cross line');
  set(upright, { x1: across, x2: across, y1: top, y2: bottom });
  set(level, { x1: left, x2: right, y1: down, y2: down });
  if (root.classList.contains('gc-draw-keys')) ring(root, state, [across, down]);
}

function ring(root, state, [across, down]) {
  const circle = root.querySelector('.gc-draw-ring');
  const attributes = { cx: across, cy: down, r: state.mode === ERASER ? RUBBER : SPACING / 2 };
  Object.entries(attributes).forEach(([name, value]) => circle.setAttribute(name, value));
}

// The eraser goes with the pointer as a ring, so that its reach can be seen.
function hover(root, state, at) {
  state.hover = at;
  const isOver = at !== null && modeNow(state) === ERASER && isOnPaper(state, ...at);
  root.classList.toggle('gc-draw-over', isOver);
  if (isOver) ring(root, state, at);
}
