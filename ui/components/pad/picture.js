// The picture of a pad: grid, handles, names that do not overlap, the line below.

const MARGIN = { left: 38, right: 20, top: 24, bottom: 34 }; // pixels; both pairs add up alike
const LINE_GAP = 40; // pixels, at least, between two lines of the grid
const DOT = 8; // radii in pixels
const GRIP = 11;
const RING = 13;
const HIT = 18;
const HEAD = { length: 13, half: 6 }; // of an arrow
const NAME = { gap: 16, height: 14 };
const SIDES = [[1, 0], [-1, 0], [0, -1], [0, 1], [1, -1], [-1, -1], [1, 1], [-1, 1]];
const HINT = 'Drag, or Tab and arrow keys';
const HOLLOW = 'Hollow: outside the pad, shown at its rim';

// The elements of the handles, created anew only for other handles: otherwise the focus would be lost.
function build(root, state, given) {
  const outline = JSON.stringify(given.map(({ name, arrow }) => [name, arrow]));
  if (state.outline === outline) return;
  state.outline = outline;
  state.held.clear();
  state.outbox.clear();
  state.handles = given.map(({ name, arrow }) => {
    const group = make('g', { class: 'gc-pad-handle', tabindex: 0, role: 'slider', 'aria-label': name });
    group.append(make('title'), make('circle', { class: 'gc-pad-hit', r: HIT }));
    if (arrow) {
      group.append(make('circle', { class: 'gc-pad-grip', r: GRIP }), make('line', { class: 'gc-pad-shaft' }),
        make('path', { class: 'gc-pad-head' }));
    } else {
      group.append(make('circle', { class: 'gc-pad-dot', r: DOT }));
    }
    group.append(make('circle', { class: 'gc-pad-ring', r: RING }));
    return { name, arrow, group, text: make('text', {}, name), side: 0 };
  });
  root.querySelector('.gc-pad-handles').replaceChildren(...state.handles.map(handle => handle.group));
  root.querySelector('.gc-pad-names').replaceChildren(...state.handles.map(handle => handle.text));
}

const isOut = (state, { x, y }) => Math.max(Math.abs(x), Math.abs(y)) > state.extent;
const side = state => state.size - MARGIN.left - MARGIN.right;
const pixelAt = (state, x, y) => [
  MARGIN.left + side(state) * (1 + x / state.extent) / 2,
  MARGIN.top + side(state) * (1 - y / state.extent) / 2,
];
const valueAt = (state, across, down) => [
  state.extent * (2 * (across - MARGIN.left) / side(state) - 1),
  state.extent * (1 - 2 * (down - MARGIN.top) / side(state)),
];
const format = (state, value) => value.toFixed(state.digits).replace(/^-(0\.?0*)$/, '$1').replace('-', '−');
const place = (state, { x, y }) => `${state.names[0]} ${format(state, x)}, ${state.names[1]} ${format(state, y)}`;

// The position at which a handle is shown: at the rim if it is outside; an arrow keeps its direction.
function shown({ extent }, { x, y, arrow }) {
  if (arrow) {
    const shrink = Math.min(1, extent / Math.max(Math.abs(x), Math.abs(y), extent));
    return [x * shrink, y * shrink];
  }
  return [x, y].map(value => Math.max(-extent, Math.min(extent, value)));
}

function draw(root, state) {
  const svg = root.querySelector('.gc-pad-plot');
  state.size = svg.clientWidth;
  if (side(state) <= 0) return; // in a hidden tab; drawn when that opens
  svg.setAttribute('viewBox', `0 0 ${state.size} ${state.size}`);
  drawGrid(root, state);
  const origin = pixelAt(state, 0, 0);
  state.handles.forEach((handle, index) => {
    handle.spot = pixelAt(state, ...shown(state, handle));
    drawHandle(state, handle, origin);
    handle.group.classList.toggle('gc-pad-held', isHeld(state, index));
  });
  drawPolygon(root, state);
  drawNames(state, origin);
  showHint(root, state);
  const places = state.handles.map(({ x, y }) => [x, y]);
  document.dispatchEvent(new CustomEvent(PAD_MOVED, { detail: { pad: state.key, places } }));
}

function drawHandle(state, { name, group, x, y, spot, arrow }, origin) {
  const out = isOut(state, { x, y });
  group.classList.toggle('gc-pad-out', out);
  const words = place(state, { x, y });
  group.querySelector('title').textContent = out
    ? `${name} lies outside this pad, at ${words}; it is shown at the rim.` : `${name}, ${words}`;
  assign(group, {
    'aria-valuemin': -state.extent,
    'aria-valuemax': state.extent,
    'aria-valuenow': shown(state, { x, y, arrow })[0],
    'aria-valuetext': out ? `${words}, outside the pad` : words,
  });
  group.querySelectorAll('circle').forEach(circle => assign(circle, { cx: spot[0], cy: spot[1] }));
  if (!arrow) return;
  const [dx, dy] = [spot[0] - origin[0], spot[1] - origin[1]];
  const length = Math.hypot(dx, dy);
  const head = Math.min(HEAD.length, length);
  const [ux, uy] = length ? [dx / length, dy / length] : [0, 0];
  const back = [spot[0] - head * ux, spot[1] - head * uy];
  const half = HEAD.half * head / HEAD.length;
  assign(group.querySelector('.gc-pad-shaft'), { x1: origin[0], y1: origin[1], x2: back[0], y2: back[1] });
  assign(group.querySelector('.gc-pad-head'), {
    d: `M${spot} L${back[0] - half * uy} ${back[1] + half * ux} L${back[0] + half * uy} ${back[1] - half * ux} Z`,
  });
}

// Through the true positions, clipped at the rim.
function drawPolygon(root, state) {
  const box = { x: MARGIN.left, y: MARGIN.top, width: side(state), height: side(state) };
  assign(root.querySelector('.gc-pad-inside'), { ...box, viewBox: `${box.x} ${box.y} ${box.width} ${box.height}` });
  const corners = state.polygon ? state.handles.filter(handle => !handle.arrow) : [];
  const points = corners.map(({ x, y }) => pixelAt(state, x, y).join()).join(' ');
  assign(root.querySelector('.gc-pad-join'), { points });
}

function drawGrid(root, state) {
  const { extent, size, names } = state;
  const grid = JSON.stringify([extent, size, names]);
  if (state.grid === grid) return;
  state.grid = grid;
  // The smallest round step that leaves room, with at least one line beside the origin's.
  const power = 10 ** Math.floor(Math.log10(extent) + 1e-9);
  const steps = [0.1, 0.2, 0.5, 1, 2, 5].map(factor => factor * power).filter(one => one <= extent * (1 + 1e-9));
  const step = steps.find(one => side(state) / 2 * one / extent >= LINE_GAP) ?? steps.at(-1);
  const digits = Math.min(12, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
  const count = Math.floor(extent / step + 1e-9);
  const [left, top] = pixelAt(state, -extent, extent);
  const [right, bottom] = pixelAt(state, extent, -extent);
  const nodes = [make('rect', { class: 'gc-pad-frame', x: left, y: top, width: right - left, height: bottom - top, rx: 2 })];
  for (let n = -count; n <= count; n += 1) {
    const [x, y] = pixelAt(state, n * step, n * step);
    const kind = n === 0 ? 'gc-pad-axis' : 'gc-pad-line';
    const number = (n * step).toFixed(digits).replace('-', '−');
    nodes.push(
      make('line', { class: kind, x1: x, x2: x, y1: top, y2: bottom }),
      make('line', { class: kind, x1: left, x2: right, y1: y, y2: y }),
      make('text', { x, y: bottom + 15, 'text-anchor': 'middle' }, number),
      make('text', { x: left - 7, y: y + 4, 'text-anchor': 'end' }, number),
    );
  }
  const name = 'gc-pad-axis-name';
  nodes.push(make('text', { class: name, x: right, y: bottom + 31, 'text-anchor': 'end' }, `${names[0]} →`));
  nodes.push(make('text', { class: name, x: left, y: top - 10 }, `↑ ${names[1]}`));
  root.querySelector('.gc-pad-grid').replaceChildren(...nodes);
}

// Puts each name on the side of its handle where it covers least, preferably where it was before.
function drawNames(state, origin) {
  const obstacles = [];
  const between = (from, to) => {
    const parts = Math.ceil(Math.hypot(to[0] - from[0], to[1] - from[1]) / 6);
    for (let n = 1; n < parts; n += 1) obstacles.push([0, 1].map(i => from[i] + (to[i] - from[i]) * n / parts));
  };
  const corners = state.polygon ? state.handles.filter(handle => !handle.arrow) : [];
  corners.forEach((corner, n) => between(corner.spot, corners[(n + 1) % corners.length].spot));
  state.handles.forEach(({ arrow, spot }) => arrow && between(origin, spot));
  const dots = state.handles.flatMap(({ spot }) =>
    [-DOT, 0, DOT].flatMap(dx => [-DOT, 0, DOT].map(dy => [spot[0] + dx, spot[1] + dy])));

  const taken = [];
  state.handles.forEach(handle => {
    const width = handle.text.getComputedTextLength();
    const boxes = SIDES.map(([across, down]) => {
      const gap = across && down ? NAME.gap * 0.75 : NAME.gap;
      const x = handle.spot[0] + across * gap + (across - 1) * width / 2;
      const y = handle.spot[1] + down * gap + (down - 1) * NAME.height / 2;
      return { x, y, right: x + width, bottom: y + NAME.height };
    });
    const has = (box, [x, y]) => x > box.x - 2 && x < box.right + 2 && y > box.y - 2 && y < box.bottom + 2;
    const costs = boxes.map((box, n) => n * 0.1 - (n === handle.side ? 1.5 : 0)
      + obstacles.filter(point => has(box, point)).length + 3 * dots.filter(point => has(box, point)).length
      + 40 * taken.filter(b => box.x < b.right && b.x < box.right && box.y < b.bottom && b.y < box.bottom).length
      + (box.x < 2 || box.right > state.size - 2 || box.y < 2 || box.bottom > state.size - 2 ? 80 : 0));
    handle.side = costs.indexOf(Math.min(...costs));
    const box = boxes[handle.side];
    taken.push(box);
    assign(handle.text, { x: box.x, y: box.y + 11 });
  });
}

// The line below: the handle that is dragged, under the pointer or focused.
function showHint(root, state) {
  const focused = state.handles.findIndex(handle => handle.group === document.activeElement);
  const [hold] = state.held.values();
  const index = hold?.index ?? (state.hover >= 0 ? state.hover : focused);
  const handle = state.handles[index];
  root.querySelector('.gc-pad-hint').textContent = handle ? `${handle.name}: ${place(state, handle)}` : HINT;
  root.querySelector('.gc-pad-hollow').textContent = state.handles.some(one => isOut(state, one)) ? HOLLOW : '';
}
