// The picture of the square: buttons, grid, points, crosshair, and the texts for screen readers.

const MARGIN = { left: 24, right: 8, top: 9, bottom: 23 }; // pixels; both pairs add up alike
// One shape for each class, about equal in area: colour is not the only channel.
const SHAPES = [
  'M4.6 0A4.6 4.6 0 1 1-4.6 0A4.6 4.6 0 1 1 4.6 0Z',
  'M-4.1-4.1H4.1V4.1H-4.1Z',
  'M0-5.8L5.5 4H-5.5Z',
  'M0-5.9L5.9 0L0 5.9L-5.9 0Z',
];
const ERASER_GLYPH = 'M-6 1.5L1-5.5L6-.5L.5 5H-2.5ZM-2.5-2L3 3.5M-3.5 6.5H6';

// The classes and the eraser, created anew only for other classes: otherwise the focus would be lost.
function build(root, state, names, colours) {
  const outline = JSON.stringify([names, colours]);
  if (state.outline === outline) return;
  if (state.names && state.names.length !== names.length) { // labels may be invalid now
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
  // Not `disabled`: then a button pressed by a key would lose the focus.
  assign(root.querySelector('.gc-draw-undo'), { 'aria-disabled': !state.history.length });
  assign(root.querySelector('.gc-draw-clear'), { 'aria-disabled': !state.picture.length });
}

function drawGrid(root, state) {
  if (state.gridSize === state.size) return;
  state.gridSize = state.size;
  const [left, top] = pixelAt(state, -1, 1);
  const [right, bottom] = pixelAt(state, 1, -1);
  assign(root.querySelector('.gc-draw-paper'), { x: left, y: top, width: right - left, height: bottom - top });
  assign(root.querySelector('.gc-draw-empty'), { x: (left + right) / 2, y: top + (bottom - top) * 0.45 });
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
  // Usually a point was added at the end: the others stay as they are.
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
  const [upright, level] = svg.querySelectorAll('.gc-draw-cross line');
  assign(upright, { x1: across, x2: across, y1: top, y2: bottom });
  assign(level, { x1: left, x2: right, y1: down, y2: down });
  if (root.classList.contains('gc-draw-keys')) ring(root, state, [across, down]);
}

function ring(root, state, [across, down]) {
  const r = state.mode === ERASER ? RUBBER : SPACING / 2;
  assign(root.querySelector('.gc-draw-ring'), { cx: across, cy: down, r });
}

// A ring around the pointer shows the reach of the eraser.
function hover(root, state, at) {
  state.hover = at;
  const isOver = at !== null && modeNow(state) === ERASER && isOnPaper(state, ...at);
  root.classList.toggle('gc-draw-over', isOver);
  if (isOver) ring(root, state, at);
}
