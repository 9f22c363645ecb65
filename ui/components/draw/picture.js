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

// The classes and the eraser, created anew only for other classes: otherwise the focus would be
// lost.
function build(state, names, colours) {
  const { find } = state;
  const outline = JSON.stringify([names, colours]);
  if (state.outline === outline) return;
  if (state.names && state.names.length !== names.length) { // labels may be invalid now
    Object.assign(state, { stroke: null, waiting: false, history: [], picture: null });
  }
  Object.assign(state, { outline, names, colours });
  if (state.mode >= names.length) state.mode = 0;
  const modes = find('modes');
  modes.querySelectorAll('label').forEach(label => label.remove());
  modes.append(...names.map((name, mode) => {
    const path = make('path', { class: 'gc-draw-point', d: SHAPES[mode] });
    return segment(state, mode, name, path, mode + 1);
  }));
  const glyph = make('path', { class: 'gc-draw-glyph', d: ERASER_GLYPH });
  modes.append(segment(state, ERASER, 'Eraser', glyph, 'E'));
  const hint = find('hint');
  hint.id = `${state.id}-hint`;
  const keys = names.map((_, mode) => mode + 1).join(', ');
  hint.textContent = `Keys: ${keys} and E choose; arrows move (Shift: finer), Space paints,`
    + ' Delete erases.';
  find('plot').setAttribute('aria-describedby', hint.id);
}

function segment(state, mode, name, path, key) {
  const glyph = make('svg', { viewBox: '-8 -8 16 16', 'aria-hidden': true });
  glyph.append(path);
  const checked = mode === state.mode;
  const input = element('input', { type: 'radio', name: state.id, value: mode, checked });
  const label = element('label', { className: 'gc-draw-mode', title: `${name} (key ${key})` },
    input, glyph, element('span', {}, name));
  label.style.setProperty('--gc-draw-colour', state.colours[mode] ?? '');
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

function tell({ find }, words) {
  find('said').textContent = words;
}

function draw(state) {
  const { find, picture } = state;
  const svg = find('plot');
  state.size = svg.clientWidth;
  if (side(state) <= 0) return; // in a hidden tab; drawn when that opens
  svg.setAttribute('viewBox', `0 0 ${state.size} ${state.size}`);
  drawGrid(state);
  find('points').replaceChildren(...picture.map(point => dot(state, point)));
  drawCross(state);
  find('empty').style.display = picture.length ? 'none' : '';
  find('counts').textContent = counts(state, ' · ');
  find('full').textContent = fullness(state);
  // Not `disabled`: then a button pressed by a key would lose the focus.
  assign(find('undo'), { 'aria-disabled': !state.history.length });
  assign(find('clear'), { 'aria-disabled': !picture.length });
}

function drawGrid(state) {
  const { find } = state;
  if (state.gridSize === state.size) return;
  state.gridSize = state.size;
  const [left, top] = pixelAt(state, -1, 1);
  const [right, bottom] = pixelAt(state, 1, -1);
  const [width, height] = [right - left, bottom - top];
  assign(find('paper'), { x: left, y: top, width, height });
  assign(find('empty'), { x: left + width / 2, y: top + height * 0.45 });
  const lines = [-0.5, 0, 0.5].flatMap(value => {
    const [x, y] = pixelAt(state, value, value);
    const kind = { class: value ? 'gc-draw-line' : 'gc-draw-axis' };
    return [make('line', { ...kind, x1: x, x2: x, y1: top, y2: bottom }),
      make('line', { ...kind, x1: left, x2: right, y1: y, y2: y })];
  });
  const numbers = [['−1', -1], ['0', 0], ['1', 1]].flatMap(([number, value]) => {
    const [x, y] = pixelAt(state, value, value);
    return [make('text', { x, y: bottom + 16, 'text-anchor': 'middle' }, number),
      make('text', { x: left - 7, y: y + 4, 'text-anchor': 'end' }, number)];
  });
  find('grid').replaceChildren(...lines, ...numbers);
}

function dot(state, { x, y, label }) {
  const [across, down] = pixelAt(state, x, y).map(pixels => pixels.toFixed(2));
  const node = make('path', { class: 'gc-draw-point', d: SHAPES[label], 'data-label': label,
    transform: `translate(${across} ${down})` });
  node.style.setProperty('--gc-draw-colour', state.colours[label]);
  return node;
}

function drawCross(state) {
  if (!(side(state) > 0)) return;
  const [across, down] = pixelAt(state, ...state.cross);
  const [left, top] = pixelAt(state, -1, 1);
  const [right, bottom] = pixelAt(state, 1, -1);
  const [upright, level] = state.find('cross').children;
  assign(upright, { x1: across, x2: across, y1: top, y2: bottom });
  assign(level, { x1: left, x2: right, y1: down, y2: down });
  if (state.root.classList.contains('gc-draw-keys')) ring(state, [across, down]);
}

function ring(state, [cx, cy]) {
  assign(state.find('ring'), { cx, cy, r: state.mode === ERASER ? RUBBER : SPACING / 2 });
}

// A ring around the pointer shows the reach of the eraser.
function hover(state, at) {
  state.hover = at;
  const isOver = at !== null && modeNow(state) === ERASER && isOnPaper(state, ...at);
  state.root.classList.toggle('gc-draw-over', isOver);
  if (isOver) ring(state, at);
}
