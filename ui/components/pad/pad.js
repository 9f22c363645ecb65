// Handles to take hold of: they move in the browser at once, and Python hears of it now and then.

const SVG = 'http://www.w3.org/2000/svg';
const MARGIN = { left: 38, right: 20, top: 24, bottom: 34 }; // pixels; both pairs add up alike
const LINE_GAP = 40; // pixels, at least, between two lines of the grid
const DOT = 8; // radii in pixels
const GRIP = 11;
const RING = 13;
const HIT = 18;
const HEAD = { length: 13, half: 6 }; // of an arrow
const NAME = { gap: 16, height: 14 };
const SIDES = [[1, 0], [-1, 0], [0, -1], [0, 1], [1, -1], [-1, -1], [1, 1], [-1, 1]];
const STEPS = 40; // arrow keys take the extent in so many
const FINE_STEPS = 200;
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const GAP_MS = 120; // a move is reported at most this often
const LOOK_MS = 30; // how often to look whether Python is free again
const PATIENCE_MS = 2000; // after which a message counts as lost, or its run as too long to wait for
const HOLD_MS = 10000; // after which Python's word counts even so
const HINT = 'Drag, or Tab and arrow keys (Shift: finer)';
const HOLLOW = 'Hollow: outside the pad, shown at its rim';
const KEYS = 'keys'; // holds a handle as a pointer does

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector('.gc-pad');
  const state = (root.__gc ??= { handles: [], held: new Map(), outbox: new Map(), serial: 0, heard: 0 });
  state.report = setTriggerValue;
  receive(root, state, data);
  if (!state.observer) wire(root, state);
  draw(root, state);
  // Nothing to undo at the end, and rightly so: a call that the next one overtakes is "unmounted"
  // at once although the element stays, and quick reruns do overtake one another.
}

// ---- what Python says -----------------------------------------------------------------------

function receive(root, state, data) {
  Object.assign(state, { extent: data.extent, polygon: data.polygon, names: [data.x_name, data.y_name] });
  state.digits = Math.min(12, Math.max(0, Math.ceil(-Math.log10(data.extent / 100))));
  state.heard = Math.max(state.heard, data.heard);
  root.querySelector('.gc-pad-label').textContent = data.label;
  root.querySelector('.gc-pad-plot').setAttribute('aria-label', data.label);
  build(root, state, data.handles);
  data.handles.forEach(({ x, y, colour }, index) => {
    const handle = state.handles[index];
    handle.group.style.setProperty('--gc-pad-colour', colour);
    // What Python sends may be older than what the hand has done since: it must not jump back.
    const unheard = handle.sent > state.heard && performance.now() < handle.sentAt + HOLD_MS;
    if (!unheard && !state.outbox.has(index) && !isHeld(state, index)) Object.assign(handle, { x, y });
  });
  post(root, state);
}

const isHeld = (state, index) => [...state.held.values()].some(hold => hold.index === index);

// ---- what Python hears ----------------------------------------------------------------------

function move(root, state, index, x, y) {
  const { extent, digits } = state;
  const within = value => Math.max(-extent, Math.min(extent, Number(value.toFixed(digits + 2))));
  const handle = state.handles[index];
  if (handle.x === within(x) && handle.y === within(y)) return;
  [handle.x, handle.y] = [within(x), within(y)];
  enqueue(root, state, index, false);
  draw(root, state);
}

function release(root, state, holder) {
  const hold = state.held.get(holder);
  if (!hold) return;
  state.held.delete(holder);
  if (hold.moved) enqueue(root, state, hold.index, true);
  draw(root, state);
}

// One entry for each handle: only its newest position matters, read at the time of sending.
function enqueue(root, state, index, done) {
  for (const hold of state.held.values()) if (hold.index === index) hold.moved = true;
  const since = state.outbox.get(index)?.since ?? performance.now();
  state.outbox.set(index, { index, done, since });
  post(root, state);
}

// A message interrupts the run that draws the picture for the one before (outside of fragments),
// and of several that Python has not read yet it keeps only the newest. So there is one message in
// flight, until its run has ended; only the last word on the same handle may overtake it.
function post(root, state) {
  clearTimeout(state.timer);
  const [next] = state.outbox.values();
  if (!next || !root.isConnected) return;
  const { flying } = state;
  const now = performance.now();
  const supersedes = next.done && flying?.index === next.index;
  const inFlight = flying && now < flying.at + PATIENCE_MS && (flying.serial > state.heard || isRunning());
  const early = next.done ? 0 : next.since + GAP_MS - now;
  if (early > 0 || (inFlight && !supersedes)) {
    state.timer = setTimeout(() => post(root, state), Math.max(early, LOOK_MS));
    return;
  }
  state.outbox.delete(next.index);
  // Serials outgrow those of earlier visits to this page, which Python may still remember.
  const serial = state.serial = Math.max(state.serial + 1, state.heard + 1, Date.now());
  const handle = state.handles[next.index];
  Object.assign(handle, { sent: serial, sentAt: now });
  state.flying = { index: next.index, serial, at: now };
  state.report('moved', { index: next.index, x: handle.x, y: handle.y, done: next.done, serial });
  post(root, state);
}

// Streamlit shows this for tests; should it go, a message waits for its answer only.
const isRunning = () => !['notRunning', undefined]
  .includes(document.querySelector('[data-testid=stApp]')?.dataset.testScriptState);

// ---- the hand -------------------------------------------------------------------------------

function wire(root, state) {
  const svg = root.querySelector('.gc-pad-plot');
  const handleOf = node => node.closest?.('.gc-pad-handle');
  const indexOf = node => state.handles.findIndex(handle => handle.group === handleOf(node));
  const pixel = event => {
    const box = svg.getBoundingClientRect();
    const scale = state.size / box.width;
    return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
  };

  svg.addEventListener('pointerdown', event => {
    if (event.button !== 0 || !handleOf(event.target)) return;
    event.preventDefault();
    // Where the touch areas overlap, the nearest handle is meant, not the topmost.
    const at = pixel(event);
    const far = ({ spot }) => Math.hypot(spot[0] - at[0], spot[1] - at[1]);
    const index = state.handles.reduce((best, handle, i, all) => (far(handle) <= far(all[best]) ? i : best), 0);
    const { spot, group } = state.handles[index];
    svg.setPointerCapture(event.pointerId);
    group.focus({ preventScroll: true });
    state.held.set(event.pointerId, { index, shift: [spot[0] - at[0], spot[1] - at[1]], from: at });
    draw(root, state);
  });
  // Beside the handles a finger scrolls the page. Chromium heeds `touch-action` on the whole picture,
  // not on shapes within it, and would take the pointer away in the middle of a drag.
  svg.addEventListener('touchstart', event => {
    if (handleOf(event.target)) event.preventDefault();
  }, { passive: false });
  svg.addEventListener('pointermove', event => {
    const hold = state.held.get(event.pointerId);
    if (!hold) return;
    const at = pixel(event);
    // To take hold of a handle is not to move it, least of all one shown at the rim.
    if (!hold.moved && at[0] === hold.from[0] && at[1] === hold.from[1]) return;
    move(root, state, hold.index, ...valueAt(state, at[0] + hold.shift[0], at[1] + hold.shift[1]));
  });
  svg.addEventListener('lostpointercapture', event => release(root, state, event.pointerId));

  svg.addEventListener('keydown', event => {
    const way = ARROWS[event.key];
    const index = indexOf(event.target);
    if (!way || index < 0 || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    if (state.held.get(KEYS)?.index !== index) state.held.set(KEYS, { index });
    const step = state.extent / (event.shiftKey ? FINE_STEPS : STEPS);
    const { x, y } = state.handles[index];
    move(root, state, index, x + way[0] * step, y + way[1] * step);
  });
  svg.addEventListener('keyup', event => ARROWS[event.key] && release(root, state, KEYS));
  svg.addEventListener('focusout', () => release(root, state, KEYS));
  svg.addEventListener('focusin', () => tell(root, state));
  for (const name of ['pointerover', 'pointerout']) {
    svg.addEventListener(name, event => {
      state.hover = name === 'pointerover' ? indexOf(event.target) : -1;
      tell(root, state);
    });
  }

  // Drawn in true pixels, so that words and touch areas keep their size in a narrow column.
  state.observer = new ResizeObserver(() => draw(root, state));
  state.observer.observe(svg);
}

// ---- the picture ----------------------------------------------------------------------------

function make(tag, attributes = {}, text = '') {
  const node = document.createElementNS(SVG, tag);
  Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));
  node.textContent = text;
  return node;
}

// The handles' elements; made again only when there are others, or the focus would be lost.
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
    return { name, arrow, group, text: make('text', {}, name), side: 0, sent: 0, sentAt: 0 };
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
const say = (state, value) => value.toFixed(state.digits).replace(/^-(0\.?0*)$/, '$1').replace('-', '−');
const place = (state, { x, y }) => `${state.names[0]} ${say(state, x)}, ${state.names[1]} ${say(state, y)}`;

// Where a handle is shown: outside the extent at the rim, an arrow still in its own direction.
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
  tell(root, state);
}

function drawHandle(state, { name, group, x, y, spot, arrow }, origin) {
  const out = isOut(state, { x, y });
  group.classList.toggle('gc-pad-out', out);
  const words = place(state, { x, y });
  group.querySelector('title').textContent = out
    ? `${name} lies outside this pad, at ${words}; it is shown at the rim.` : `${name}, ${words}`;
  group.setAttribute('aria-valuemin', -state.extent);
  group.setAttribute('aria-valuemax', state.extent);
  group.setAttribute('aria-valuenow', shown(state, { x, y, arrow })[0]);
  group.setAttribute('aria-valuetext', out ? `${words}, outside the pad` : words);
  for (const circle of group.querySelectorAll('circle')) {
    circle.setAttribute('cx', spot[0]);
    circle.setAttribute('cy', spot[1]);
  }
  if (!arrow) return;
  const [dx, dy] = [spot[0] - origin[0], spot[1] - origin[1]];
  const length = Math.hypot(dx, dy);
  const head = Math.min(HEAD.length, length);
  const [ux, uy] = length ? [dx / length, dy / length] : [0, 0];
  const back = [spot[0] - head * ux, spot[1] - head * uy];
  const half = HEAD.half * head / HEAD.length;
  const line = group.querySelector('.gc-pad-shaft');
  Object.entries({ x1: origin[0], y1: origin[1], x2: back[0], y2: back[1] })
    .forEach(([key, value]) => line.setAttribute(key, value));
  group.querySelector('.gc-pad-head').setAttribute('d',
    `M${spot} L${back[0] - half * uy} ${back[1] + half * ux} L${back[0] + half * uy} ${back[1] - half * ux} Z`);
}

// Through the true places, cut off at the rim.
function drawPolygon(root, state) {
  const inside = root.querySelector('.gc-pad-inside');
  const box = { x: MARGIN.left, y: MARGIN.top, width: side(state), height: side(state) };
  Object.entries({ ...box, viewBox: `${box.x} ${box.y} ${box.width} ${box.height}` })
    .forEach(([key, value]) => inside.setAttribute(key, value));
  const corners = state.polygon ? state.handles.filter(handle => !handle.arrow) : [];
  root.querySelector('.gc-pad-join')
    .setAttribute('points', corners.map(({ x, y }) => pixelAt(state, x, y).join()).join(' '));
}

function drawGrid(root, state) {
  const { extent, size, names } = state;
  const wanted = JSON.stringify([extent, size, names]);
  if (state.grid === wanted) return;
  state.grid = wanted;
  // The smallest round step that leaves room, but one line at least beside the origin's.
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

// Each name on that side of its handle where it covers least, and rather where it was before.
function drawNames(state, origin) {
  const inTheWay = [];
  const between = (from, to) => {
    const parts = Math.ceil(Math.hypot(to[0] - from[0], to[1] - from[1]) / 6);
    for (let n = 1; n < parts; n += 1) inTheWay.push([0, 1].map(i => from[i] + (to[i] - from[i]) * n / parts));
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
      + inTheWay.filter(point => has(box, point)).length + 3 * dots.filter(point => has(box, point)).length
      + 40 * taken.filter(b => box.x < b.right && b.x < box.right && box.y < b.bottom && b.y < box.bottom).length
      + (box.x < 2 || box.right > state.size - 2 || box.y < 2 || box.bottom > state.size - 2 ? 80 : 0));
    handle.side = costs.indexOf(Math.min(...costs));
    const box = boxes[handle.side];
    taken.push(box);
    handle.text.setAttribute('x', box.x);
    handle.text.setAttribute('y', box.y + 11);
  });
}

// The line below: the handle that the visitor holds, points at or has the focus on.
function tell(root, state) {
  const focused = state.handles.findIndex(handle => handle.group === document.activeElement);
  const [hold] = state.held.values();
  const index = hold?.index ?? (state.hover >= 0 ? state.hover : focused);
  const handle = state.handles[index];
  root.querySelector('.gc-pad-hint').textContent = handle ? `${handle.name}: ${place(state, handle)}` : HINT;
  root.querySelector('.gc-pad-hollow').textContent = state.handles.some(one => isOut(state, one)) ? HOLLOW : '';
}
