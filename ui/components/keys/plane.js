// The plane of the keys: handles to drag, and the sign of K that each place of one key would give.

const KEY_RADIUS = 13; // pixels
const TOUCH = 24;
const STEP = 8 * LATTICE; // of an arrow key
const FINE_STEP = LATTICE;
const SHOWN = 1.08 * EXTENT; // half the width of the picture
const REACH = 40; // plane units: how far lines go
const LEAST_BEYOND = 1; // plane units
const LEAST_WORDED = 180; // pixels: in a smaller picture words would hide the keys
const GROUPS = ['zones', 'lines', 'words', 'handles'];

function buildPlane(state) {
  const svg = state.find('plane');
  const groups = GROUPS.map(name => make('g', { class: `gc-keys-${name}` }));
  groups.slice(0, 3).forEach(group => group.setAttribute('aria-hidden', 'true'));
  svg.replaceChildren(...groups);
  state.groups = Object.fromEntries(GROUPS.map((name, i) => [name, groups[i]]));
  state.handles = state.model.keys.map((_, index) => {
    const group = make('g', { class: 'gc-key', tabindex: 0, role: 'slider', 'data-key': index,
      'aria-valuemin': -EXTENT, 'aria-valuemax': EXTENT });
    for (const [name, r] of [['touch', TOUCH], ['ring', KEY_RADIUS + 4], ['dot', KEY_RADIUS]]) {
      group.append(make('circle', { class: `gc-key-${name}`, r }));
    }
    group.append(make('text', { 'text-anchor': 'middle', y: 5 }));
    return group;
  });
  state.groups.handles.replaceChildren(...state.handles);
  listenToKeys(svg, state);
}

function listenToKeys(svg, state) {
  const keyAt = node => node.closest?.('.gc-key');
  const indexAt = event => {
    const key = keyAt(event.target);
    const index = key ? Number(key.dataset.key) : null;
    return index === null || isFixed(state, index) ? null : index;
  };
  const pointAt = event => {
    const [x, y] = pixelOf(svg, state.side, event);
    return [(2 * x / state.side - 1) * SHOWN, (1 - 2 * y / state.side) * SHOWN];
  };
  const move = (index, point) => {
    Object.assign(state, { active: index, moved: true });
    state.model.keys[index] = point;
    change(state);
  };
  keepTouch(svg, node => Boolean(keyAt(node)));
  listenToHand(svg, {
    take: event => {
      const index = indexAt(event);
      if (index === null) return null;
      event.preventDefault();
      state.handles[index].focus({ preventScroll: true });
      const [x, y] = pointAt(event);
      const [a, b] = state.model.keys[index];
      return { index, shift: [a - x, b - y] };
    },
    drag: (event, { index, shift }) => {
      const place = pointAt(event).map((x, k) => x + shift[k]);
      move(index, snapped(place, keysOf(state).filter((_, i) => i !== index)));
    },
    // Without snapping a key could not leave a line; lines through the lattice are met exactly.
    step: (way, event) => {
      const index = indexAt(event);
      if (index === null) return false;
      const step = event.shiftKey ? FINE_STEP : STEP;
      return move(index, onLattice(state.model.keys[index].map((x, k) => x + way[k] * step)));
    },
    release: () => settle(state),
  });
}

function drawPlane(state, verdict) {
  const svg = state.find('plane');
  state.side = svg.clientWidth;
  if (!state.side) return; // in a hidden tab
  svg.setAttribute('viewBox', `0 0 ${state.side} ${state.side}`);
  svg.dataset.sign = verdict.sign ?? 'none';
  const keys = keysOf(state);
  const near = Math.min(SHOWN, 2 * Math.max(...keys.flat().map(Math.abs)));
  const shown = state.held ? near : SHOWN; // near, where no key moves
  const pixel = ([x, y]) => [(1 + x / shown) / 2 * state.side, (1 - y / shown) / 2 * state.side];
  const polygon = points => make('polygon', { points: points.map(pixel).join(' ') });
  const moving = movingKey(state);
  const fixed = keys.filter((_, i) => i !== moving);
  svg.style.setProperty('--gc-others', keys.length < 4 || areaOf(...fixed) === 0 ? 0 : 1);
  const [zones, lines, words] = keys.length === 4 ? zonesOf(fixed, keys[moving], pixel, polygon)
    : [[], [polygon(keys)], []];
  if (state.across) {
    const [[x1, y1], [x2, y2]] = [keys[moving], state.across.place].map(pixel);
    lines.push(make('line', { x1, y1, x2, y2, class: 'gc-keys-way' }),
      make('circle', { cx: x2, cy: y2, r: KEY_RADIUS, class: 'gc-keys-ring' }));
  }
  if (keys.length === 4 && !state.moved && !isFixed(state, moving)) {
    const [x, y] = pixel(keys[moving]);
    words.push(make('text', { x: x + KEY_RADIUS + 8, y: y + 4 }, 'drag me'));
  }
  if (state.at) {
    const [x, y] = pixel(state.at);
    lines.push(make('circle', { cx: x, cy: y, r: 6, class: 'gc-keys-input' }),
      make('text', { x: x + 9, y: y + 5 }, 'x'));
  }
  state.groups.zones.replaceChildren(...zones);
  state.groups.lines.replaceChildren(...lines);
  state.groups.words.replaceChildren(...words);
  state.handles.forEach((group, i) => {
    group.style.display = i < keys.length ? '' : 'none';
    if (i >= keys.length) return;
    const name = isFixed(state, i) ? 'The origin, key of the sink' : `Key ${i + 1}`;
    assign(group, { transform: `translate(${pixel(keys[i])})`, 'aria-valuenow': keys[i][0],
      'aria-label': name, 'aria-valuetext': keys[i].map(number).join(', '),
      'aria-disabled': isFixed(state, i) });
    group.classList.toggle('gc-key-moving', i === moving && keys.length === 4);
    group.querySelector('text').textContent = isFixed(state, i) ? '0' : `${i + 1}`;
  });
}

// The keys with one of them across a line of two others, where the sign is the other one: as far
// beyond the line as it is before, but at least `LEAST_BEYOND`. Null where there is no such place.
function keysAcross(keys, moving) {
  const [x, y] = keys[moving];
  const fixed = keys.filter((_, i) => i !== moving);
  const { sign } = signOfKeys(keys);
  if (!sign) return null;
  return fixed.map((_, i) => {
    const [a, b] = [fixed[(i + 1) % 3], fixed[(i + 2) % 3]];
    const [across, up] = [a[1] - b[1], b[0] - a[0]]; // a normal of the line
    const length = Math.hypot(across, up);
    const far = ((a[0] - x) * across + (a[1] - y) * up) / length; // of the line, with its sign
    const way = (far + Math.sign(far) * Math.max(Math.abs(far), LEAST_BEYOND)) / length;
    return keys.with(moving, onLattice([x + way * across, y + way * up]));
  }).find(moved => signOfKeys(moved).sign === -sign) ?? null;
}

// Where a fourth key gives which sign: the zones of a dome, lines through the others, and words.
function zonesOf([a, b, c], moving, pixel, polygon) {
  const beyond = (from, to) => {
    const length = Math.hypot(to[0] - from[0], to[1] - from[1]) || 1;
    return [0, 1].map(k => to[k] + (to[k] - from[k]) * REACH / length);
  };
  const cone = (p, q, r) => [p, beyond(q, p), beyond(r, p)];
  const zones = [[a, b, c], cone(a, b, c), cone(b, a, c), cone(c, a, b)].map(polygon);
  const lines = [[a, b], [b, c], [c, a]].map(([p, q]) => {
    const [[x1, y1], [x2, y2]] = [beyond(q, p), beyond(p, q)].map(pixel);
    return make('line', { x1, y1, x2, y2 });
  });
  const isSmall = pixel([0, 0])[0] < LEAST_WORDED / 2;
  return [zones, lines, isSmall ? [] : signWords([a, b, c], moving, pixel)];
}

// "dome" within the triangle, "saddle" beyond its edges, so that colour is not the only cue.
function signWords([a, b, c], moving, pixel) {
  const side = 2 * pixel([0, 0])[0];
  const mean = numbers => numbers.reduce((sum, x) => sum + x, 0) / numbers.length;
  const middle = points => [0, 1].map(k => mean(points.map(point => point[k])));
  const centre = middle([a, b, c]);
  const outside = [[a, b], [a, c], [b, c]].map(edge => {
    const from = middle([...edge, edge[0]]); // beside the way of a key across the middle
    const length = Math.hypot(from[0] - centre[0], from[1] - centre[1]) || 1;
    return from.map((x, k) => x + (x - centre[k]) * 0.9 / length);
  });
  const far = point => Math.hypot(point[0] - moving[0], point[1] - moving[1]);
  const inside = [a, b, c].map(corner => middle([corner, centre, centre]))
    .sort((p, q) => far(q) - far(p))[0];
  return [['dome', inside], ...outside.map(point => ['saddle', point])].map(([text, point]) => {
    const [x, y] = pixel(point).map(at => Math.max(24, Math.min(side - 24, at)));
    return make('text', { x, y: y + 4, 'text-anchor': 'middle' }, text);
  });
}
