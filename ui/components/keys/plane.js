// The plane of the keys: handles to drag, and the sign of K that each place of one key would give.

const KEY_RADIUS = 13; // pixels
const TOUCH = 24;
const STEP = 8 * LATTICE; // of an arrow key
const FINE_STEP = LATTICE;
const SHOWN = 1.08 * EXTENT; // half the width of the picture
const REACH = 40; // plane units: how far lines go

function buildPlane(root, state) {
  const svg = root.querySelector('.gc-keys-plane');
  const rows = ['zones', 'lines', 'words', 'handles'].map(name => make('g', { class: `gc-keys-${name}` }));
  rows.slice(0, 3).forEach(group => group.setAttribute('aria-hidden', 'true'));
  svg.replaceChildren(...rows);
  state.groups = Object.fromEntries(['zones', 'lines', 'words', 'handles'].map((name, i) => [name, rows[i]]));
  state.handles = state.model.keys.map((_, index) => {
    const group = make('g', { class: 'gc-key', tabindex: 0, role: 'slider', 'data-key': index,
      'aria-valuemin': -EXTENT, 'aria-valuemax': EXTENT });
    group.append(make('circle', { class: 'gc-key-touch', r: TOUCH }), make('circle', { class: 'gc-key-ring', r: KEY_RADIUS + 4 }),
      make('circle', { class: 'gc-key-dot', r: KEY_RADIUS }), make('text', { 'text-anchor': 'middle', y: 5 }));
    return group;
  });
  state.groups.handles.replaceChildren(...state.handles);
  listenToKeys(svg, state);
}

const keyAt = event => {
  const index = event.target.closest?.('.gc-key')?.dataset.key;
  return index === undefined ? -1 : Number(index);
};

function listenToKeys(svg, state) {
  const pointAt = event => {
    const [x, y] = pixelOf(svg, state.side, event);
    return [(2 * x / state.side - 1) * SHOWN, (1 - 2 * y / state.side) * SHOWN];
  };
  const move = (index, point) => {
    Object.assign(state, { active: index, moved: true });
    state.model.keys[index] = snapped(point, keysOf(state).filter((_, i) => i !== index));
    change(state);
  };
  const held = new Map();
  keepTouch(svg, node => Boolean(node.closest?.('.gc-key')));
  svg.addEventListener('pointerdown', event => {
    const index = keyAt(event);
    if (event.button !== 0 || index < 0 || isFixed(state, index)) return;
    event.preventDefault();
    svg.setPointerCapture(event.pointerId);
    state.handles[index].focus({ preventScroll: true });
    const [x, y] = pointAt(event);
    const [a, b] = state.model.keys[index];
    held.set(event.pointerId, { index, shift: [a - x, b - y] });
  });
  svg.addEventListener('pointermove', event => {
    const hold = held.get(event.pointerId);
    if (!hold) return;
    const [x, y] = pointAt(event);
    move(hold.index, [x + hold.shift[0], y + hold.shift[1]]);
  });
  svg.addEventListener('lostpointercapture', event => {
    if (held.delete(event.pointerId)) settle(state);
  });
  svg.addEventListener('keydown', event => {
    const index = keyAt(event);
    const way = ARROWS[event.key];
    if (!way || index < 0 || isFixed(state, index) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const step = event.shiftKey ? FINE_STEP : STEP;
    Object.assign(state, { active: index, moved: true });
    // Without snapping a key could not leave a line by keys; lines through the lattice are met exactly.
    state.model.keys[index] = onLattice(state.model.keys[index].map((x, k) => x + way[k] * step));
    change(state);
  });
  svg.addEventListener('keyup', event => { if (ARROWS[event.key] && keyAt(event) >= 0) settle(state); });
}

function drawPlane(root, state, verdict) {
  const svg = root.querySelector('.gc-keys-plane');
  state.side = svg.clientWidth;
  if (!state.side) return; // in a hidden tab
  svg.setAttribute('viewBox', `0 0 ${state.side} ${state.side}`);
  const shown = state.held ? Math.min(SHOWN, 2 * Math.max(...keysOf(state).flat().map(Math.abs))) : SHOWN; // near, where no key moves
  const pixel = ([x, y]) => [(1 + x / shown) / 2 * state.side, (1 - y / shown) / 2 * state.side];
  const spots = points => points.map(point => pixel(point).map(x => x.toFixed(2)).join()).join(' ');
  const keys = keysOf(state);
  const moving = movingKey(state);
  const fixed = keys.filter((_, i) => i !== moving);
  svg.style.setProperty('--gc-others', keys.length < 4 || areaOf(...fixed) === 0 ? 0 : 1);
  const beyond = (from, to) => {
    const length = Math.hypot(to[0] - from[0], to[1] - from[1]) || 1;
    return [0, 1].map(k => to[k] + (to[k] - from[k]) * REACH / length);
  };
  const zones = [];
  const lines = [];
  const words = [];
  if (keys.length === 4) {
    const [a, b, c] = fixed;
    const cone = (p, q, r) => [p, beyond(q, p), beyond(r, p)];
    for (const zone of [[a, b, c], cone(a, b, c), cone(b, a, c), cone(c, a, b)]) {
      zones.push(make('polygon', { points: spots(zone) }));
    }
    for (const [p, q] of [[a, b], [b, c], [c, a]]) {
      const [from, to] = [beyond(q, p), beyond(p, q)].map(pixel);
      lines.push(make('line', { x1: from[0], y1: from[1], x2: to[0], y2: to[1] }));
    }
    words.push(...signWords(fixed, keys[moving], pixel, state.side));
    const [x, y] = pixel(keys[moving]);
    if (!state.moved && !isFixed(state, moving)) words.push(make('text', { x: x + KEY_RADIUS + 8, y: y + 4 }, 'drag me'));
  } else {
    lines.push(make('polygon', { points: spots(keys) }));
  }
  if (state.at) {
    const [x, y] = pixel(state.at);
    lines.push(make('circle', { cx: x, cy: y, r: 5, class: 'gc-keys-input' }), make('text', { x, y: y + 30, 'text-anchor': 'middle' }, 'x'));
  }
  state.groups.zones.replaceChildren(...zones);
  state.groups.lines.replaceChildren(...lines);
  state.groups.words.replaceChildren(...words);
  state.handles.forEach((group, i) => {
    group.style.display = i < slotsOf(state) ? '' : 'none';
    if (i >= slotsOf(state)) return;
    const [x, y] = keys[i];
    const spot = pixel(keys[i]);
    const name = nameOf(state, i);
    assign(group, { transform: `translate(${spot[0]},${spot[1]})`, 'aria-label': name, 'aria-valuenow': x,
      'aria-valuetext': `${number(x)}, ${number(y)}`, 'aria-disabled': isFixed(state, i) });
    group.classList.toggle('gc-key-moving', i === moving && keys.length === 4);
    group.querySelector('text').textContent = isFixed(state, i) ? '0' : `${i + 1}`;
  });
  svg.dataset.sign = verdict.sign ?? 'none';
}

// "K > 0" within the triangle, "K < 0" beyond its edges, so that colour is not the only cue.
function signWords([a, b, c], moving, pixel, side) {
  const middle = points => [0, 1].map(k => points.reduce((sum, point) => sum + point[k], 0) / points.length);
  const centre = middle([a, b, c]);
  const outside = [[a, b], [b, c], [c, a]].map(edge => {
    const from = middle(edge);
    const length = Math.hypot(from[0] - centre[0], from[1] - centre[1]) || 1;
    return [0, 1].map(k => from[k] + (from[k] - centre[k]) * 0.9 / length);
  });
  const far = point => Math.hypot(point[0] - moving[0], point[1] - moving[1]);
  const inside = [a, b, c].map(corner => middle([corner, centre, centre])).sort((p, q) => far(q) - far(p))[0];
  return [['K > 0', inside], ...outside.map(point => ['K < 0', point])].map(([text, point]) => {
    const [x, y] = pixel(point).map(at => Math.max(24, Math.min(side - 24, at)));
    return make('text', { x, y: y + 4, 'text-anchor': 'middle' }, text);
  });
}
