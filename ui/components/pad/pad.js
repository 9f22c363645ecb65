// Handles to drag: they move in the browser at once, and Python receives their positions now and then.

const STEPS = 40; // arrow keys take the extent in so many
const FINE_STEPS = 200;
const GAP_MS = 120; // a move is reported at most this often
const KEYS = 'keys'; // the keyboard, among the holders of handles

export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = parentElement.querySelector('.gc-pad');
  const state = (root.__gc ??= { handles: [], held: new Map(), outbox: new Map(), heard: 0, next: nextMessage });
  state.report = setTriggerValue;
  receive(root, state, data);
  if (!state.observer) listen(root, state);
  draw(root, state);
}

// ---- from Python ----------------------------------------------------------------------------

function receive(root, state, data) {
  Object.assign(state, { key: data.key, extent: data.extent, polygon: data.polygon, names: [data.x_name, data.y_name] });
  state.digits = Math.min(12, Math.max(0, Math.ceil(-Math.log10(data.extent / 100))));
  hear(state, data.heard);
  root.querySelector('.gc-pad-label').textContent = data.label;
  root.querySelector('.gc-pad-plot').setAttribute('aria-label', data.label);
  build(root, state, data.handles);
  data.handles.forEach(({ x, y, colour }, index) => {
    const handle = state.handles[index];
    handle.group.style.setProperty('--gc-pad-colour', colour);
    // Python's data may be older than the last drag: the handle must not jump back.
    const isOurs = isUnheard(state, handle.sent) || state.outbox.has(index) || isHeld(state, index);
    if (!isOurs) Object.assign(handle, { x, y });
  });
  post(root, state);
}

const isHeld = (state, index) => [...state.held.values()].some(hold => hold.index === index);

// ---- to Python ------------------------------------------------------------------------------

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

// What wire.js sends next: the last position of a handle may overtake the one in flight.
function nextMessage(state) {
  const [entry] = state.outbox.values();
  if (!entry) return null;
  const { index, done, since } = entry;
  const handle = state.handles[index];
  return {
    name: 'moved',
    early: done ? 0 : since + GAP_MS - performance.now(),
    overtakes: done && handle.sent === state.flying,
    take: () => {
      state.outbox.delete(index);
      handle.sent = state.flying;
      return { index, x: handle.x, y: handle.y, done };
    },
  };
}

// ---- the hand -------------------------------------------------------------------------------

function listen(root, state) {
  const svg = root.querySelector('.gc-pad-plot');
  const handleOf = node => node.closest?.('.gc-pad-handle');
  const indexOf = node => state.handles.findIndex(handle => handle.group === handleOf(node));
  const pixel = event => pixelOf(svg, state.size, event);

  svg.addEventListener('pointerdown', event => {
    if (event.button !== 0 || !handleOf(event.target)) return;
    event.preventDefault();
    // Where touch areas overlap, the nearest handle counts, not the topmost.
    const at = pixel(event);
    const far = ({ spot }) => Math.hypot(spot[0] - at[0], spot[1] - at[1]);
    const index = state.handles.reduce((best, handle, i, all) => (far(handle) <= far(all[best]) ? i : best), 0);
    const { spot, group } = state.handles[index];
    svg.setPointerCapture(event.pointerId);
    group.focus({ preventScroll: true });
    state.held.set(event.pointerId, { index, shift: [spot[0] - at[0], spot[1] - at[1]], from: at });
    draw(root, state);
  });
  keepTouch(svg, handleOf);
  svg.addEventListener('pointermove', event => {
    const hold = state.held.get(event.pointerId);
    if (!hold) return;
    const at = pixel(event);
    // A press alone moves no handle, least of all one that is shown at the rim.
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
  svg.addEventListener('focusin', () => showHint(root, state));
  for (const name of ['pointerover', 'pointerout']) {
    svg.addEventListener(name, event => {
      state.hover = name === 'pointerover' ? indexOf(event.target) : -1;
      showHint(root, state);
    });
  }

  state.observer = redrawOnResize(svg, () => draw(root, state));
}
