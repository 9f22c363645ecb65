// One to four surfaces under one camera that change by frames, and a quantity over their chart.
//
// Python sends a header { source, arrays, scene, eye: [azimuth, elevation], labels and places of the frames, frame, point,
// sides, findings, scale, ends, keys, symbol, quantity, names, notes, alone, whole, moves, maps, strip, curve, follow, grows, heard } and receives
// "left" with { frame, point, corners, serial } when the visitor lets go. A side has `name`, `short`, `verdict` and `more` by
// frame, `flat` (no chart lines: curved ones would make it look curved), `corners` in one frame or all, or null, `plain` (no
// map), `ground` (corners of a flat surface beside it) or null, `origin` (the point towards which a gate pulls that one) or null, a `second` map { title, scale, ends } or null, `symbols` of what
// else is read at a point; its arrays have one frame or all. Without `maps` nothing is read at a point either.
// Knobs move the left corners within their level plane, once a button has shown these; whatever waits for Python meanwhile is dimmed. The maps of the frames
// in `strip` stand below, each a button; with a `curve` [title, numbers, complete] they are the axis of a column chart, drawn as frames play. A side with `classes`, the colours of its data points by class, is classified: see
// classes.js; its `signed` is the difference of the logits; of more than two classes its boundaries come from Python, and
// `keys` are their names and colours. `alone`: maps without pictures. `whole`: nothing is drawn between two frames.
// For a new text `follow` frames play once from the first, and as long as the run `grows` on from the last one before.

const PAIR_CELLS = 10;
const PAIR_CAMERA = { azimuth: 0, elevation: 0.6, distance: 3, centre: [0, 0, 0] };
const FILLED = 0.9;
const FULL = 0.95; // of a picture of classified surfaces, whose last frame alone counts
const PLAY_SECONDS = 5;
const GROWING = 40; // frames, as long as a run has fewer: as fast as a whole run
const SIDES = ['left', 'right', 'third', 'fourth'];
const OF_SOME = ['Cuts', 'ChartCuts', 'FineShares', 'FineSigned']; // arrays that a side may lack
const sidesOf = header => SIDES.slice(0, header.sides.length);

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector('.gc-pair');
  const state = (root.__gc ??= { root, heard: 0, next: nextMessage, frame: 0, point: null, hover: null, planes: {} });
  state.report = setTriggerValue;
  takeData(root, state, data, root.querySelector('.gc-pair-error'), 'The surfaces', adopt);
}

function adopt(root, state, header, buffer, address) {
  const isOurs = isUnheard(state, state.flying) || state.waiting || state.handling || state.playing;
  const goesOn = state.followed === header.follow && header.grows && !isStill() && state.frame >= lastFrame(state);
  // A drag goes on where the frames have become more: they are known by their places.
  const sought = state.header && (isOurs || goesOn) ? state.header.places[Math.round(state.frame)] : header.places[header.frame];
  state.header = header;
  if (state.shown !== address) {
    state.shown = address;
    for (const side of SIDES) for (const kind of OF_SOME) delete state[`${side}${kind}`];
    Object.assign(state, unpack(header.arrays, buffer));
    state.size = header.arrays.left.shape[1];
    state.playing &&= Boolean(header.follow) && state.followed === header.follow;
  }
  const place = header.places.reduce((best, x, i, all) => (Math.abs(x - sought) < Math.abs(all[best] - sought) ? i : best), 0);
  if (!state.playing || place !== Math.round(state.frame)) state.frame = place; // what plays does not stop there
  if (!isOurs) Object.assign(state, { point: header.point, corners: null });
  if (!state.views) build(root, state);
  if (state.scene !== header.scene) aim(state, state.scene === undefined);
  state.scene = header.scene;
  if (header.follow && state.followed !== header.follow) {
    state.followed = header.follow;
    if (!header.grows || !isStill()) { // else Python's newest frame is shown
      state.frame = 0;
      play(state);
    }
  } else if (goesOn && !state.playing && state.frame < lastFrame(state)) play(state);
  drawPair(state);
}

const lastFrame = state => state.header.places.length - 1;

const nextMessage = state => state.waiting && !state.handling && !state.playing && { name: 'left', take: () => {
  state.waiting = false;
  return { frame: Math.round(state.frame), point: state.point, corners: state.corners };
} };

function build(root, state) {
  const find = name => root.querySelector(`.gc-pair-${name}`);
  root.classList.toggle('gc-pair-single', state.header.sides.length === 1);
  root.classList.toggle('gc-pair-unmapped', !state.header.maps);
  root.classList.toggle('gc-pair-two-maps', state.header.maps && state.header.sides.some(({ second }) => second));
  root.style.setProperty('--sides', state.header.sides.length);
  for (const side of sidesOf(state.header).slice(2)) {
    const figure = root.querySelector('figure[data-side=right]').cloneNode(true);
    figure.dataset.side = side;
    root.querySelector('.gc-pair-maps').before(figure);
  }
  root.classList.toggle('gc-pair-stripped', state.header.strip.length > 0);
  root.classList.toggle('gc-pair-charted', Boolean(state.header.curve));
  root.classList.toggle('gc-pair-classed', state.header.sides.length > 1 && state.header.sides.every(({ classes }) => classes));
  state.views = sidesOf(state.header).map(side => makeView(root.querySelector(`figure[data-side=${side}] canvas`), PAIR_CAMERA));
  const [first] = state.views;
  for (const view of state.views.slice(1)) Object.assign(view, { camera: first.camera, home: first.home }); // one camera
  state.views.forEach((view, i) => {
    view.onPaint = () => {
      const key = JSON.stringify(first.camera);
      view.painted = key;
      for (const other of state.views) if (other !== view && other.painted !== key) other.invalidate();
      if (i === 0) placeKnobs(state);
    };
    const pointAt = (x, y) => {
      const hit = x === undefined || !state.header.maps ? null : view.hit(x, y);
      return hit && [hit.row, hit.column].map(share => Math.round(share * (state.size - 1)));
    };
    listenToTurning(view, { onClick: (x, y) => pick(state, pointAt(x, y)), onHover: (x, y) => hover(state, pointAt(x, y)) });
    view.canvas.addEventListener('keydown', event => {
      if (event.key !== ' ') return;
      event.preventDefault();
      find('play').click();
    });
  });
  state.knobs = [...root.querySelectorAll('.gc-pair-knob')];
  state.knobs.forEach((knob, corner) => listenToKnob(knob, state, corner));
  for (const canvas of root.querySelectorAll('.gc-pair-map canvas')) {
    canvas.addEventListener('pointermove', event => hover(state, mapPoint(canvas, event, state.size)));
    canvas.addEventListener('pointerleave', () => hover(state, null));
    canvas.addEventListener('click', event => pick(state, mapPoint(canvas, event, state.size)));
    redrawOnResize(canvas, () => drawPair(state));
  }
  const look = elevation => { // turns both about the level axis
    Object.assign(first.camera, { elevation });
    putCamera([first.camera.azimuth, elevation, first.camera.distance / first.home.distance]);
    state.views.forEach(view => view.invalidate());
  };
  find('edge').addEventListener('click', () => look(Math.abs(first.camera.elevation) < 0.01 ? first.home.elevation : 0));
  find('top').addEventListener('click', () => look(STEEPEST));
  find('values').addEventListener('click', () => {
    state.valued = !state.valued;
    aim(state);
    drawPair(state);
  });
  find('play').addEventListener('click', () => (state.playing ? stop(state) : play(state)));
  find('strength').addEventListener('input', event => {
    state.playing = false;
    state.frame = Number(event.target.value);
    state.handling = true;
    state.drawing ??= requestAnimationFrame(() => { state.drawing = null; drawPair(state); });
  });
  find('strength').addEventListener('change', () => settle(state));
}

// All of the surfaces in their first and last frame is in the picture; where frames stand in a strip, in all of these. Of
// classified ones the last frame: what the run came to.
function aim(state, isFirst) {
  const { header, views: [view] } = state;
  Object.assign(view.camera, PAIR_CAMERA, { azimuth: header.eye[0], elevation: header.eye[1] });
  const places = [];
  const count = 3 * state.size ** 2;
  const isClassed = header.sides.some(({ classes }) => classes);
  const shown = isClassed ? [lastFrame(state)] : header.strip.length ? header.strip : [0, lastFrame(state)];
  for (const values of sidesOf(header).flatMap(side => shown.map(frame => state[side].subarray(...state[side].length > count ? [frame * count, (frame + 1) * count] : [])))) {
    for (let i = 0; i < values.length; i += 3) if (!Number.isNaN(values[i])) places.push(vertexOf(values, i / 3));
  }
  for (const about of header.sides) places.push(...about.ground ?? [], ...about.origin ? [about.origin] : [], ...hasCorners(state, about) ? about.corners.flat() : []);
  if (places.length) view.frame(places, isClassed ? FULL : FILLED);
  if (isFirst) restoreCamera(view);
  else putCamera();
}

// ---- knobs: the three values --------------------------------------------------------------------

const MOVE_BY_KEY = 0.04; // in units of the picture
const EDGE_ON = 0.05; // radians
const KNOB_MARGIN = 14; // pixels: a corner outside the picture has its knob at the rim

// The triangle of the values: where it has a place in every frame it moves.
function cornersAt({ corners }, frame) {
  if (!corners || corners.length === 1) return corners?.[0];
  const after = corners[Math.ceil(frame)];
  return corners[Math.floor(frame)].map((place, i) => mixed(place, after[i], frame % 1));
}
// What can be moved is shown when asked for: mostly it is much larger than the surfaces.
const hasCorners = ({ header, valued }, { corners }) => corners && (valued || !header.moves);
const cornersOf = (state, frame = 0) => state.corners ?? cornersAt(state.header.sides[0], frame);

function placeKnobs(state) {
  const corners = cornersOf(state);
  const { canvas, project } = state.views[0];
  const { clientWidth: width, clientHeight: height } = canvas;
  const within = (at, end) => Math.max(KNOB_MARGIN, Math.min(end - KNOB_MARGIN, at));
  state.knobs.forEach((knob, corner) => {
    knob.hidden = !corners || !state.header.moves || !state.valued;
    if (knob.hidden) return;
    const [x, y] = project(corners[corner]);
    knob.style.transform = `translate(${within(x, width)}px, ${within(y, height)}px) translate(-50%, -50%)`;
  });
}

function moveCorner(state, corner, [across, along]) {
  state.corners = cornersOf(state).map((place, i) => (i === corner ? [place[0] + across, place[1] + along, place[2]] : place));
  state.handling = true;
  state.drawing ??= requestAnimationFrame(() => { state.drawing = null; drawPair(state); });
}

function listenToKnob(knob, state, corner) {
  let last = null;
  // Where the ray through a pixel meets the level plane of the corners; edge-on, which is so far away as the corner.
  const meet = event => {
    const { lens, canvas, camera } = state.views[0];
    const box = canvas.getBoundingClientRect();
    const ray = lens.ray(event.clientX - box.left, event.clientY - box.top);
    const away = plus(cornersOf(state)[corner], lens.eye, -1);
    const depth = Math.abs(camera.elevation) < EDGE_ON ? lengthOf(away) / lengthOf(ray) : away[2] / ray[2];
    return depth > 0 && Number.isFinite(depth) ? plus(lens.eye, ray, depth) : null;
  };
  knob.addEventListener('pointerdown', event => {
    if (event.button !== 0) return;
    knob.setPointerCapture(event.pointerId);
    state.playing = false;
    last = meet(event);
  });
  knob.addEventListener('pointermove', event => {
    const now = last && meet(event);
    if (!now) return;
    moveCorner(state, corner, [now[0] - last[0], now[1] - last[1]]);
    last = now;
  });
  knob.addEventListener('lostpointercapture', () => {
    last = null;
    if (state.corners) settle(state);
  });
  knob.addEventListener('keydown', event => {
    const way = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!way || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const { right } = state.views[0].lens; // level
    const [a, b] = way.map(step => step * MOVE_BY_KEY);
    moveCorner(state, corner, [a * right[0] - b * right[1], a * right[1] + b * right[0]]);
  });
  knob.addEventListener('keyup', event => { if (state.corners && event.key.startsWith('Arrow')) settle(state); });
}

// Averages of three values follow the values: places (3 N) in the level plane of one triangle, in that of another.
function followCorners(places, [a, b, c], moved) {
  const whole = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
  const followed = new Float32Array(places.length);
  for (let i = 0; i < places.length; i += 3) {
    const [x, y] = [places[i] - a[0], places[i + 1] - a[1]];
    const second = (x * (c[1] - a[1]) - y * (c[0] - a[0])) / whole;
    const third = (y * (b[0] - a[0]) - x * (b[1] - a[1])) / whole;
    for (let k = 0; k < 3; k += 1) followed[i + k] = (1 - second - third) * moved[0][k] + second * moved[1][k] + third * moved[2][k];
  }
  return followed;
}

// ---- changes by the visitor ---------------------------------------------------------------------

function hover(state, point) {
  if (String(point) === String(state.hover)) return;
  state.hover = point;
  state.drawing ??= requestAnimationFrame(() => { state.drawing = null; drawPair(state); });
}

function pick(state, point) {
  state.point = point;
  settle(state);
}

function settle(state) {
  Object.assign(state, { handling: false, waiting: true, frame: Math.round(state.frame) });
  drawPair(state);
  post(state.root, state);
}

function stop(state) {
  state.playing = false;
  settle(state);
}

function play(state) {
  const first = lastFrame(state);
  if (isStill()) {
    state.frame = state.frame < first ? first : 0;
    settle(state);
    return;
  }
  if (state.frame >= first) state.frame = 0;
  let before = performance.now();
  state.playing = true;
  const step = now => {
    if (!state.playing || !state.root.isConnected) return;
    const [last, { grows, frame }] = [lastFrame(state), state.header];
    state.frame = Math.min(last, state.frame + Math.max(0, now - before) / 1000 * Math.max(last, grows ? GROWING : 0) / PLAY_SECONDS);
    before = now;
    if (state.frame === last && grows && frame === last) state.playing = false; // Python knows it
    drawPair(state);
    if (state.frame < last) requestAnimationFrame(step);
    else if (state.playing) stop(state);
  };
  requestAnimationFrame(step);
}

// ---- drawing ------------------------------------------------------------------------------------

const lengthInFrame = ({ arrays }, name) => arrays[name].shape.slice(1).reduce((p, q) => p * q, 1);

// One frame of an array; with `share`, of the next.
function frameOf(values, size, frame) {
  const [index, share] = [Math.floor(frame), frame % 1];
  const before = values.subarray(index * size, (index + 1) * size);
  return share ? before.map((x, i) => x + share * (values[(index + 1) * size + i] - x)) : before;
}

function drawPair(state) {
  const { root, header, size } = state;
  const style = getComputedStyle(root);
  const ink = cssColour(style.color);
  const [nearest, count] = [Math.round(state.frame), size * size];
  const frame = header.whole ? nearest : state.frame;
  const mark = state.hover ?? state.point;
  sidesOf(header).forEach((side, i) => {
    const about = header.sides[i];
    const moves = state[side].length > 3 * count; // else it has a single frame
    const own = moves ? nearest : 0;
    const given = (kind, shown) => {
      const name = `${side}${kind}`;
      return state[name] && frameOf(state[name], lengthInFrame(header, name), shown);
    };
    const follow = values => (i === 0 && state.corners ? followCorners(values, cornersAt(about), state.corners) : values);
    const places = follow(frameOf(state[side], 3 * count, moves ? frame : 0));
    const corners = hasCorners(state, about) && (i === 0 ? cornersOf(state, frame) : cornersAt(about, frame));
    const at = about.classes && moves ? frame : own; // logits are known everywhere, K is not
    const [shares, signed] = [state[`${side}Shares`], state[`${side}Signed`]].map(values => frameOf(values, count, at));
    const colours = coloursOf(shares, header.scale);
    const isFlat = about.flat[own];
    const scene = { size, places, normals: normalsOf(places, size), colours, cells: isFlat ? 0 : PAIR_CELLS, lines: [] };
    const dark = !isDark(ink);
    if (corners) {
      scene.ground = { corners, colour: [...ACCENT, dark ? 0.16 : 0.09] };
      scene.shadow = isFlat ? 0 : dark ? 0.4 : 0.17;
      scene.lines.push({ segments: ringOf(corners), wide: 2, colour: ACCENT, hidden: 0.5 },
        { segments: linesIn(corners), wide: 1, colour: ACCENT, alpha: 0.3, hidden: 0.15 });
    }
    if (about.ground) {
      const { ground } = about;
      scene.ground = { corners: ground, colour: [...ACCENT, 0.1] };
      scene.shadow = 0.12;
      scene.lines.push({ segments: ringOf(ground), wide: 1.4, colour: ACCENT, hidden: 0.4 });
      if (about.origin) addPulls(scene, about, ink);
    }
    if (isFlat) scene.lines.push({ segments: follow(given('Lines', own)), wide: 1.2, colour: [0.35, 0.36, 0.4], near: 0.001 });
    scene.lines.push({ segments: edgeOf(places, size), wide: 1.6, colour: [0.2, 0.21, 0.25], near: 0.001 });
    const cuts = given('Cuts', own);
    const zeros = cuts ? known(cuts, 6) : signChanges(signed, size, places, 3);
    if (about.cut && zeros.length) scene.lines.push({ segments: zeros, wide: 6, colour: [1, 1, 1], alpha: 0.85, near: 0.0018 });
    if (zeros.length) scene.lines.push({ segments: zeros, wide: about.cut ? 3.2 : 2.2, colour: [0.08, 0.08, 0.1], hidden: about.cut ? 0.28 : 0, near: 0.002 });
    const marked = mark && vertexOf(places, mark[0] * size + mark[1]);
    if (about.classes) {
      const plane = [...frameOf(state[`${side}Planes`], 4, at)];
      state.planes[side] = addPlane(scene, plane, zeros, isFlat && corners, state.planes[side], { ink, dark });
      scene.points = dataPoints(state, side, about.classes, at, state.views[i].canvas.clientWidth);
      if (marked) scene.lines.push({ segments: [...marked, ...plus(marked, [0, 0, 1], PIN)], wide: 3, colour: ACCENT, hidden: 0.5 });
      if (marked) scene.points = markAmong(scene.points, marked);
    } else if (marked && !Number.isNaN(marked[0])) scene.points = { size: 13, places: new Float32Array(marked), colours: new Float32Array(ACCENT) };
    const view = state.views[i];
    view.show(scene);
    view.canvas.setAttribute('aria-label', `${about.name}: ${about.verdict[own]}. Arrow keys turn, plus and minus zoom, Home resets, space plays.`);
    const figure = root.querySelector(`figure[data-side=${side}]`);
    figure.hidden = !about.name;
    figure.querySelector('.gc-pair-verdict').title = about.exact[own] ?? '';
    for (const part of ['name', 'verdict', 'more']) figure.querySelector(`.gc-pair-${part}`).textContent = part === 'name' ? about.name : about[part][own];
    if (!header.maps) return;
    const map = root.querySelector(`.gc-pair-map[data-side=${side}]`);
    map.hidden = about.plain;
    map.querySelector('span').textContent = header.sides.some(({ plain }) => plain) ? '' : about.short;
    if (!about.plain) paintMap(map.querySelector('canvas'), { shares: given('FineShares', at) ?? shares, signed: given('FineSigned', at) ?? signed, cuts: given('ChartCuts', own), scale: header.scale, size, names: header.names, mark, ink: style.color,
      data: about.classes && { chart: state[`${side}Chart`], labels: state[`${side}Labels`], tested: state[`${side}Tested`], colours: about.classes } });
    map.querySelector('canvas').setAttribute('aria-label', `${header.quantity}: ${about.name}`);
    if (about.second) drawSecond(state, about.second, frameOf(state[`${side}Second`], count, own), mark, style.color);
  });
  drawStrip(state, nearest);
  showTexts(state, nearest, mark);
  const isStale = Boolean(state.corners);
  root.classList.toggle('gc-pair-stale', isStale);
  root.querySelector('.gc-pair-later').textContent = isStale ? 'Measured with these values when you let go' : '';
  root.dataset.n = 1 + Number(root.dataset.n ?? 0);
}

// Another quantity over the chart, in colours of its own.
function drawSecond({ root, header, size }, { title, scale, ends }, shares, mark, ink) {
  const part = root.querySelector('.gc-pair-second');
  const canvas = part.querySelector('canvas');
  part.querySelector('p').textContent = title;
  paintMap(canvas, { shares, scale, size, names: header.names, mark, ink });
  canvas.setAttribute('aria-label', title);
  showScale(part.querySelector('.gc-pair-scale'), scale, ends);
}

function showScale(part, scale, ends) {
  const [low, bar, high] = part.children;
  bar.style.background = `linear-gradient(90deg, ${scale.map(([stop, colour]) => `${colour} ${100 * stop}%`)})`;
  [low.textContent, high.textContent] = ends;
  part.hidden = !ends[0];
  part.classList.toggle('gc-pair-signed', /^(K = )?−/.test(ends[0])); // its middle is zero
}

// The maps of some frames, one side below the other; new ones where the numbers are.
function drawStrip(state, nearest) {
  const { root, header, size } = state;
  const strip = root.querySelector('.gc-pair-strip');
  if (state.stripped !== state.shown) {
    state.stripped = state.shown;
    strip.replaceChildren(...header.strip.map(frame => {
      const button = Object.assign(document.createElement('button'), { type: 'button', title: header.labels[frame] });
      if (header.curve) button.append(columnOf(header.curve, frame));
      button.append(...sidesOf(header).map(side => imageOf(frameOf(state[`${side}Shares`], size * size, frame), header.scale)), `${header.places[frame]}`);
      button.addEventListener('click', () => { state.playing = false; state.frame = frame; settle(state); });
      return button;
    }));
    root.querySelector('.gc-pair-curve').textContent = header.curve?.[0] ?? '';
  }
  const shown = header.strip.findLastIndex(frame => frame <= nearest);
  [...strip.children].forEach((button, n) => {
    button.setAttribute('aria-pressed', n === shown);
    button.classList.toggle('gc-pair-ahead', n > shown);
  });
}

// A number as a column, as high as its share of the largest; above it the number.
function columnOf([, numbers, complete], frame) {
  const [column, number] = ['span', 'b'].map(tag => document.createElement(tag));
  column.className = `gc-pair-column${complete[frame] ? '' : ' gc-pair-least'}`;
  column.style.setProperty('--share', numbers[frame] / Math.max(...numbers, Number.MIN_VALUE));
  number.textContent = Number(numbers[frame].toPrecision(2));
  column.append(number);
  return column;
}

// How a gate pulls every point of the ground towards the origin, by a factor of its own.
function addPulls({ places, size, lines }, { ground, origin }, ink) {
  const at = i => [i % size, Math.floor(i / size)].map(x => x / (size - 1));
  const from = i => mixed(mixed(ground[0], ground[1], at(i)[0]), mixed(ground[3], ground[2], at(i)[0]), at(i)[1]);
  lines.push({ segments: pullsOf(from, places, size), wide: 1.6, colour: ink, alpha: 0.6, hidden: 0.2 },
    { segments: ground.flatMap(corner => [...corner, ...origin]), wide: 1, colour: ACCENT, alpha: 0.35, hidden: 0.15 },
    { segments: [...origin, ...plus(origin, [0, 0, 0.01])], wide: 8, colour: ACCENT, hidden: 0.5 });
}

// The border of the chart on the surface, as segments; holes cut it.
function edgeOf(places, size) {
  const last = size - 1;
  const rim = [];
  for (let n = 0; n < last; n += 1) rim.push([n, n + 1], [n * size + last, (n + 1) * size + last], [last * size + n, last * size + n + 1], [n * size, (n + 1) * size]);
  return rim.filter(ends => !ends.some(i => Number.isNaN(places[3 * i]))).flatMap(([i, j]) => [...vertexOf(places, i), ...vertexOf(places, j)]);
}

function showTexts(state, nearest, mark) {
  const { root, header, size } = state;
  const find = name => root.querySelector(`.gc-pair-${name}`);
  const [bold, rest] = header.findings[nearest] ?? ['', ''];
  find('finding').replaceChildren(Object.assign(document.createElement('strong'), { textContent: bold }), ` ${rest}`);
  root.classList.toggle('gc-pair-both', header.sides.length > 1 && !header.sides.some(({ plain }) => plain));
  root.classList.toggle('gc-pair-alone', header.alone);
  find('quantity').textContent = header.quantity;
  showScale(find('scale'), header.scale, header.ends);
  find('keys').replaceChildren(...header.keys.map(([word, colour]) => {
    const [key, bar] = ['span', 'i'].map(tag => document.createElement(tag));
    bar.style.background = `linear-gradient(90deg, ${colour} 0%, ${colour} 100%)`; // as saved pictures look for it
    key.append(bar, word);
    return key;
  }));
  const last = header.places.length - 1;
  Object.assign(find('strength'), last ? { max: last, value: Math.round(state.frame), disabled: false }
    : { max: 100, value: 100 * header.places[0], disabled: true });
  find('lambda').textContent = header.labels[nearest];
  find('strength').setAttribute('aria-valuetext', find('lambda').textContent);
  showPlaying(find('play'), Boolean(state.playing));
  find('play').disabled = !last;
  find('values').hidden = !header.moves || !header.sides[0].corners;
  find('values').setAttribute('aria-pressed', Boolean(state.valued));
  find('note').textContent = header.notes[nearest];
  find('reading').textContent = mark ? reading(state, nearest, mark) : `Point at a surface or at the map to read ${header.symbol} there; a click keeps the point. Drag to turn, Ctrl and wheel zoom.`;
}

function reading({ header, size, ...state }, nearest, [row, column]) {
  const at = i => (-1 + 2 * i / (size - 1)).toFixed(2).replace('-', '−');
  const number = x => (Number.isNaN(x) ? 'undetermined' : Number(x.toPrecision(4)).toString().replace('-', '−'));
  const parts = sidesOf(header).filter((_, i) => header.sides[i].name).map((side, i) => {
    const K = state[`${side}K`];
    const index = (K.length > size * size ? nearest : 0) * size * size + row * size + column;
    const error = state[`${side}Error`][index];
    const rest = header.sides[i].symbols.map((symbol, n) => `, ${symbol} = ${number(state[`${side}Read${n}`][index])}`).join('');
    const read = header.keys.length && !Number.isNaN(K[index]) ? header.keys[K[index]][0] : number(K[index]);
    return `${header.sides[i].short} ${header.symbol} = ${read}${error > 0 ? ` (error below ${error.toExponential(0)})` : ''}${rest}`.trim();
  });
  return `At ${header.names[0]} = ${at(column)}, ${header.names[1]} = ${at(row)}: ${parts.join(' · ')}`;
}
