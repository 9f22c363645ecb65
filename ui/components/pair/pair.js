// One to four surfaces under one camera that change by frames, and a quantity over their chart.
//
// Python sends a header, whose parts are those of `Pair`, `Side` and `header_of` in __init__.py,
// and receives "left" with { frame, point, corners, serial } when the visitor lets go. Arrays of a
// side have one frame or all. Knobs move the left corners within their level plane, once a button
// has shown these; whatever waits for Python meanwhile is dimmed. The maps of the frames in `strip`
// stand below, each a button.

const CELLS = 10;
const CAMERA = { azimuth: 0, elevation: 0.6, distance: 3, centre: [0, 0, 0] };
const FILLED = 0.95; // of a picture
const PLAY_SECONDS = 5;
const GROWING = 40; // frames, as long as a run has fewer: as fast as a whole run
const SIDE_NAMES = ['left', 'right', 'third', 'fourth'];
const EDGE_INK = [0.2, 0.21, 0.25];
const FLAT_INK = [0.35, 0.36, 0.4];
const lastFrame = state => state.header.places.length - 1;
const signed = text => text.replace('-', '−');

export default function (component) {
  const take = ({ frame, point, corners }) => ({ frame: Math.round(frame), point, corners });
  const first = { take, draw: drawPair, frame: 0, point: null, hover: null, planes: {} };
  takeData(stateOf(component, 'pair', 'left', first), component.data, 'The surfaces', adopt);
}

function adopt(state, header, buffer, address) {
  const ours = isOurs(state);
  const isFollowed = state.followed === header.follow;
  const isAtEnd = state.header && state.frame >= lastFrame(state);
  const goesOn = isFollowed && header.grows && !isStill() && isAtEnd;
  // A drag goes on where the frames have become more: they are known by their places.
  const known = state.header && (ours || goesOn);
  const sought = known ? state.header.places[Math.round(state.frame)] : header.places[header.frame];
  state.header = header;
  const others = state.shown !== address;
  if (others) {
    const arrays = unpack(header.arrays, buffer);
    const names = SIDE_NAMES.slice(0, header.sides.length);
    const sides = names.map(side => framesOf(header, arrays, side));
    Object.assign(state, { shown: address, sides, size: header.arrays.left.shape[1] });
    if (!header.follow || !isFollowed) state.playing = false;
  }
  const far = i => Math.abs(header.places[i] - sought);
  const place = header.places.reduce((best, _, i) => (far(i) < far(best) ? i : best), 0);
  const isThere = state.playing && place === Math.round(state.frame); // and does not stop there
  if (!isThere) state.frame = place;
  if (!ours) Object.assign(state, { point: header.point, corners: null });
  if (!state.views) build(state);
  if (header.follow && !isFollowed) {
    state.followed = header.follow;
    if (!header.grows || !isStill()) { // else Python's newest frame is shown
      state.frame = 0;
      playFrames(state);
    }
  } else if (state.frame < lastFrame(state) && (goesOn || (state.playing && others))) {
    playFrames(state);
  }
  drawPair(state); // its texts decide how large the pictures are
  if (state.scene !== header.scene) aim(state, state.scene === undefined);
  state.scene = header.scene;
}

// The arrays of a side: `at(kind, frame)` is one frame of it, between two of them if `frame` is.
function framesOf(header, arrays, side) {
  const at = (kind, frame = 0) => {
    const values = arrays[`${side}${kind}`];
    if (!values) return undefined;
    const [count] = header.arrays[`${side}${kind}`].shape;
    return frameOf(values, values.length / count, count > 1 ? frame : 0);
  };
  const all = kind => arrays[`${side}${kind}`];
  return { side, at, all, moves: header.arrays[side].shape[0] > 1 };
}

function build(state) {
  const { root, find, header } = state;
  const { sides, maps } = header;
  const kinds = {
    single: sides.length === 1,
    unmapped: !maps,
    'two-maps': maps && sides.some(({ second }) => second),
    stripped: header.strip.length > 0,
    charted: Boolean(header.curve),
    classed: sides.length > 1 && sides.every(({ classes }) => classes),
  };
  for (const [kind, is] of Object.entries(kinds)) root.classList.toggle(`gc-pair-${kind}`, is);
  root.style.setProperty('--sides', sides.length);
  for (const { side } of state.sides.slice(2)) {
    const figure = root.querySelector('figure[data-side=right]').cloneNode(true);
    figure.dataset.side = side;
    find('maps').before(figure);
  }
  state.views = state.sides.map(({ side }) =>
    makeView(root.querySelector(`figure[data-side=${side}] canvas`), CAMERA));
  linkViews(state.views);
  const [first] = state.views;
  const { camera, home, onPaint } = first;
  first.onPaint = () => {
    onPaint();
    placeCorners(state);
  };
  const indexOf = share => Math.round(share * (state.size - 1));
  const indices = point => point && point.map(indexOf).reverse();
  state.views.forEach(view => {
    listenToTurning(view, {
      onClick: point => pick(state, state.header.maps ? indices(point) : null),
      onHover: point => hover(state, state.header.maps ? indices(point) : null),
      plays: find('play'),
    });
  });
  state.knobs = [...root.querySelectorAll('.gc-pair-knob')];
  state.knobs.forEach((knob, corner) => listenToKnob(knob, state, corner));
  for (const canvas of root.querySelectorAll('.gc-pair-map canvas')) {
    const pointAt = event => mapPoint(canvas, event, state.size);
    canvas.addEventListener('pointermove', event => hover(state, pointAt(event)));
    canvas.addEventListener('pointerleave', () => hover(state, null));
    canvas.addEventListener('click', event => pick(state, pointAt(event)));
    redrawOnResize(canvas, () => drawPair(state));
  }
  const look = elevation => { // turns all about the level axis
    Object.assign(camera, { elevation });
    keepCamera(first);
    state.views.forEach(view => view.invalidate());
  };
  const isEdgeOn = () => Math.abs(camera.elevation) < 0.01;
  find('edge').addEventListener('click', () => look(isEdgeOn() ? home.elevation : 0));
  find('top').addEventListener('click', () => look(STEEPEST));
  find('values').addEventListener('click', () => {
    state.valued = !state.valued;
    aim(state);
    drawPair(state);
  });
  find('play').addEventListener('click', () => {
    if (state.playing) show(state, state.frame);
    else playFrames(state);
  });
  find('strength').addEventListener('input', event => {
    Object.assign(state, { playing: false, frame: Number(event.target.value) });
    change(state);
  });
  find('strength').addEventListener('change', () => show(state, state.frame));
}

// All of each surface in its first, middle and last frame is in its picture, in the middle; where
// frames stand in a strip, in all of these. Of classified ones the last frame: what the run came
// to. They share one scale, that of the one which needs most room.
function aim(state, isFirst) {
  const { header, sides, views } = state;
  const [{ camera, home }] = views;
  const isClassed = header.sides.some(({ classes }) => classes);
  const last = lastFrame(state);
  const ends = header.strip.length ? header.strip : [0, last >> 1, last];
  const shown = isClassed ? [last] : ends;
  const distances = sides.map(({ at, moves }, i) => {
    const places = (moves ? shown : [0]).flatMap(frame => {
      const values = at('', frame);
      return Array.from({ length: values.length / 3 }, (_, n) => vertexOf(values, n));
    }).filter(([x]) => !Number.isNaN(x));
    const about = header.sides[i];
    const { ground, origin, corners } = about;
    const floor = () => floorOf(corners.at(-1), at('', last));
    const triangles = hasCorners(state, about) ? (about.classes ? floor() : corners.flat()) : [];
    places.push(...ground ?? [], ...origin ? [origin] : [], ...triangles);
    Object.assign(camera, CAMERA, { azimuth: header.eye[0], elevation: header.eye[1] });
    if (places.length) views[i].frame(places, isClassed ? FILLED - 0.08 : FILLED);
    views[i].centre = camera.centre;
    return camera.distance;
  });
  camera.distance = home.distance = Math.max(...distances);
  if (isFirst) restoreCamera(views[0]);
  else putCamera();
}

// ---- knobs: the three values --------------------------------------------------------------------

const MOVE_BY_KEY = 0.04; // in units of the picture
const EDGE_ON = 0.05; // radians
const KNOB_MARGIN = 14; // pixels

// The triangle of the values: where it has a place in every frame it moves.
function cornersAt({ corners }, frame) {
  if (!corners || corners.length === 1) return corners?.[0];
  const after = corners[Math.ceil(frame)];
  return corners[Math.floor(frame)].map((place, i) => mixed(place, after[i], frame % 1));
}
// What can be moved is shown when asked for: mostly it is much larger than the surfaces.
const hasCorners = ({ header, valued }, { corners }) => corners && (valued || !header.moves);
const cornersOf = (state, frame = 0) => state.corners ?? cornersAt(state.header.sides[0], frame);

function placeCorners(state) {
  const corners = cornersOf(state);
  state.knobs.forEach((knob, corner) => {
    knob.hidden = !corners || !state.header.moves || !state.valued;
    if (!knob.hidden) placeKnob(knob, state.views[0], corners[corner], KNOB_MARGIN);
  });
  const { origin } = state.header.sides[0];
  state.find('zero').hidden = !origin;
  if (origin) placeKnob(state.find('zero'), state.views[0], origin, KNOB_MARGIN);
}

function listenToKnob(knob, state, corner) {
  const [view] = state.views;
  const move = ([x, y]) => {
    const moved = (place, i) => (i === corner ? plus(place, [x, y, 0]) : place);
    state.corners = cornersOf(state).map(moved);
    change(state);
  };
  // Where the ray through a pixel meets the level plane of the corners; edge-on, which is so far
  // away as the corner.
  const meet = event => {
    const box = view.canvas.getBoundingClientRect();
    const ray = view.lens.ray(event.clientX - box.left, event.clientY - box.top);
    const away = minus(cornersOf(state)[corner], view.lens.eye);
    const isLevel = Math.abs(view.camera.elevation) < EDGE_ON;
    const depth = isLevel ? lengthOf(away) / lengthOf(ray) : away[2] / ray[2];
    return depth > 0 && Number.isFinite(depth) ? plus(view.lens.eye, ray, depth) : null;
  };
  listenToHand(knob, {
    take: event => {
      state.playing = false;
      return { at: meet(event) };
    },
    drag: (event, hold) => {
      const now = meet(event);
      if (now && hold.at) move(minus(now, hold.at));
      hold.at = now ?? hold.at;
    },
    step: way => {
      const [x, y] = view.lens.right; // level
      const [a, b] = way.map(step => step * MOVE_BY_KEY);
      move([a * x - b * y, a * y + b * x]);
    },
    release: () => { if (state.corners) show(state, state.frame); },
  });
}

// Averages of three values follow the values: places (3 N) in the level plane of one triangle, in
// that of another.
function followCorners(places, [a, b, c], moved) {
  const area = (p, q) => p[0] * q[1] - p[1] * q[0];
  const [ab, ac] = [minus(b, a), minus(c, a)];
  const followed = new Float32Array(places.length);
  for (let i = 0; i < places.length; i += 3) {
    const from = minus(vertexOf(places, i / 3), a);
    const [second, third] = [area(from, ac) / area(ab, ac), area(ab, from) / area(ab, ac)];
    const shares = [1 - second - third, second, third];
    for (let k = 0; k < 3; k += 1) {
      followed[i + k] = shares.reduce((sum, share, n) => sum + share * moved[n][k], 0);
    }
  }
  return followed;
}

// ---- changes by the visitor ---------------------------------------------------------------------

function hover(state, point) {
  if (String(point) === String(state.hover)) return;
  state.hover = point;
  redraw(state);
}

function pick(state, point) {
  state.point = point;
  show(state, state.frame);
}

// Ends what plays at a frame, of which Python hears.
function show(state, frame) {
  Object.assign(state, { playing: false, frame: Math.round(frame) });
  settle(state);
}

// To the last frame, from the one that is shown or the first; with reduced motion back from the
// last.
function playFrames(state, from = state.frame % (lastFrame(state) || 1)) {
  const [last, { grows, frame }] = [lastFrame(state), state.header];
  const end = isStill() && from !== state.frame ? 0 : last;
  const seconds = PLAY_SECONDS * (grows ? Math.min(1, last / GROWING) : 1);
  state.frame = from;
  play(state, seconds, share => {
    state.frame = share * end;
    if (share === 1 && !(grows && frame === last)) show(state, end);
    else drawPair(state); // Python knows the end
  }, last ? from / last : 1);
}

// ---- drawing ------------------------------------------------------------------------------------

function drawPair(state) {
  const { root, header } = state;
  const { color } = getComputedStyle(root);
  const nearest = Math.round(state.frame);
  const mark = state.hover ?? state.point;
  state.sides.forEach((arrays, i) => {
    const about = header.sides[i];
    const own = arrays.moves ? nearest : 0;
    showSide(state, i, own, cssColour(color), mark);
    const figure = root.querySelector(`figure[data-side=${arrays.side}]`);
    figure.hidden = !about.name;
    figure.querySelector('.gc-pair-verdict').title = about.exact[own] ?? '';
    const told = { name: about.name, verdict: about.verdict[own], more: about.more[own] };
    for (const [part, text] of Object.entries(told)) {
      figure.querySelector(`.gc-pair-${part}`).textContent = text;
    }
    if (header.maps) drawMap(state, i, own, color, mark);
  });
  drawStrip(state, nearest);
  showTexts(state, nearest, mark);
  const isStale = Boolean(state.corners);
  root.classList.toggle('gc-pair-stale', isStale);
  state.find('later').textContent = isStale ? 'Measured with these values when you let go' : '';
  countDrawing(root);
}

// The frame in which logits are shown: they are known everywhere, K is not.
const classedFrame = ({ header, frame }, i, own) =>
  (header.sides[i].classes ? (header.whole ? own : frame) : own);

function showSide(state, i, own, ink, mark) {
  const { header, size } = state;
  const [about, { side, at }, view] = [header.sides[i], state.sides[i], state.views[i]];
  const frame = header.whole ? Math.round(state.frame) : state.frame;
  const dragged = i === 0 && state.corners;
  const follow = values =>
    (dragged ? followCorners(values, cornersAt(about), state.corners) : values);
  const places = follow(at('', frame));
  const triangle = i === 0 ? cornersOf(state, frame) : cornersAt(about, frame);
  const corners = hasCorners(state, about)
    && (about.classes ? floorOf(triangle, places) : triangle);
  const classed = classedFrame(state, i, own);
  const isFlat = about.flat[own];
  const straight = isFlat ? at('Lines', own) : []; // all zero where there are none
  const { headlit } = header;
  const scene = { size, places, headlit, normals: normalsOf(places, size), lines: [],
    colours: coloursOf(at('Shares', classed), header.scale),
    cells: (isFlat && about.classes) || straight.some(Boolean) ? 0 : CELLS };
  if (corners && about.classes) scene.lines.push({ segments: ringOf(corners), wide: 1, colour: ink, alpha: 0.4 });
  else if (corners) {
    addTriangle(scene, corners, ink, 0.16, 0.3);
    scene.shadow = isFlat ? 0 : shadowOn(ink);
  }
  if (about.ground) addGround(scene, about, ink);
  const edges = edgeOf(size).filter(ends => !ends.some(n => Number.isNaN(places[3 * n])));
  const edge = edges.flat().flatMap(n => vertexOf(places, n));
  scene.lines.push({ segments: follow(straight), wide: 1.2, colour: FLAT_INK });
  if (about.classes && isFlat) addShades(scene, edges, at('Shares', classed), header.scale);
  else if (about.classes) scene.lines.push({ segments: edge, wide: 1, colour: FLAT_INK });
  else scene.lines.push({ segments: edge, wide: 1.6, colour: EDGE_INK });
  const cuts = at('Cuts', own);
  const zeros = cuts ? known(cuts, 6) : signChanges(at('Signed', classed), size, places, 3);
  if (about.cut) addCut(scene, zeros, about.classes ? 5 : undefined);
  else if (about.lined) {
    scene.lines.push({ segments: zeros, wide: 2.2, colour: POINT_INK, near: 0.002 });
  }
  const marked = mark ? vertexOf(places, mark[0] * size + mark[1]) : [NaN];
  const isMarked = !Number.isNaN(marked[0]);
  if (about.classes) {
    const plane = addPlane(scene, [...at('Planes', classed)], zeros, isFlat && corners,
      state.planes[side], about.classes, ink);
    state.planes[side] = plane;
  }
  if (isMarked) {
    const places = new Float32Array(marked);
    scene.points = { size: 13, places, colours: new Float32Array(ACCENT) };
  }
  view.show(scene);
  const keys = 'Arrow keys turn, plus and minus zoom, Home resets, space plays.';
  view.canvas.setAttribute('aria-label', `${about.name}: ${about.verdict[own]}. ${keys}`);
}

const SHADES = 8; // of an edge

// The edge of a flat surface in the colours of its classes: it may be as thin as a line.
function addShades({ places, lines }, edges, shares, scale) {
  for (const [shade, ends] of Map.groupBy(edges, ([n]) => Math.round(SHADES * shares[n]))) {
    const segments = ends.flat().flatMap(n => vertexOf(places, n));
    lines.push({ segments, wide: 5, colour: [...coloursOf([shade / SHADES], scale)] });
  }
}

function drawMap(state, i, own, ink, mark) {
  const { root, header, size } = state;
  const [about, { side, at, all }] = [header.sides[i], state.sides[i]];
  const map = root.querySelector(`.gc-pair-map[data-side=${side}]`);
  const canvas = map.querySelector('canvas');
  const classed = classedFrame(state, i, own);
  const shared = { size, names: header.names, mark, ink };
  map.hidden = about.plain;
  const isOnly = header.sides.some(({ plain }) => plain);
  map.querySelector('span').textContent = isOnly ? '' : about.short;
  canvas.setAttribute('aria-label', `${header.quantity}: ${about.name}`);
  if (!about.plain) {
    const field = kind => at(`Fine${kind}`, classed) ?? at(kind, classed);
    paintMap(canvas, { ...shared, shares: field('Shares'), signed: field('Signed'),
      cuts: at('ChartCuts', own), scale: header.scale, classes: about.classes, all });
  }
  if (!about.second) return;
  const { title, scale, ends } = about.second; // another quantity, in colours of its own
  const part = state.find('second');
  const second = part.querySelector('canvas');
  part.querySelector('p').textContent = title;
  paintMap(second, { ...shared, shares: at('Second', own), scale });
  second.setAttribute('aria-label', title);
  showScale(part.querySelector('.gc-pair-scale'), scale, ends);
}

const stopsOf = scale => scale.map(([stop, colour]) => `${colour} ${100 * stop}%`);
const gradientOf = scale => `linear-gradient(90deg, ${stopsOf(scale)})`; // see collect.js

function showScale(part, scale, ends) {
  const [low, bar, high] = part.children;
  bar.style.background = gradientOf(scale);
  [low.textContent, high.textContent] = ends;
  part.hidden = !ends[0];
  part.classList.toggle('gc-pair-signed', /^(K[^=]*= )?−/.test(ends[0])); // its middle is zero
}

// The maps of some frames, one side below the other; new ones where the numbers are. With a
// `curve` they are the axis of a column chart, drawn as frames play.
function drawStrip(state, nearest) {
  const { find, header } = state;
  const strip = find('strip');
  if (state.stripped !== state.shown) {
    state.stripped = state.shown;
    strip.replaceChildren(...header.strip.map(frame => {
      const button = element('button', { type: 'button', title: header.labels[frame] });
      if (header.curve) button.append(columnOf(header.curve, frame));
      const maps = state.sides.map(({ at }) => imageOf(at('Shares', frame), header.scale));
      button.append(...maps, `${header.places[frame]}`);
      button.addEventListener('click', () => show(state, frame));
      return button;
    }), ...header.curve?.ranges.length ? [rangesOf(header.curve)] : []);
    const { title = '', bars = [] } = header.curve ?? {};
    find('curve').replaceChildren(title, ...keysOf(bars.length > 1 ? bars : []));
  }
  const shown = header.strip.findLastIndex(frame => frame <= nearest);
  strip.querySelectorAll('button').forEach((button, n) => {
    button.setAttribute('aria-pressed', n === shown);
    button.classList.toggle('gc-pair-ahead', n > shown);
  });
  strip.lastElementChild?.classList.toggle('gc-pair-ahead', shown < header.strip.length - 1);
}

const twoFigures = number => `${Number(number.toPrecision(2))}`;

// Bars from low to high in shares of the largest number, the first with its number above.
function columnOf({ bars, ranges }, frame, spans = bars.map(bar => [0, bar[2][frame]])) {
  const largest = Math.max(...bars.flatMap(bar => bar[2]), ...ranges.flat(), Number.MIN_VALUE);
  return element('span', { className: 'gc-pair-column' }, ...spans.map(([low, high], n) => {
    const [, ink, , complete] = bars[n];
    const part = element('i', { className: complete[frame] === false ? 'gc-pair-least' : '' });
    const style = { '--low': low / largest, '--high': high / largest, '--ink': ink };
    Object.entries(style).forEach(entry => part.style.setProperty(...entry));
    if (!n || !(frame < bars[n][2].length - 1)) part.append(element('b', {}, twoFigures(high)));
    if (low) part.append(element('b', {}, twoFigures(low)));
    return part;
  }));
}

// The middle half of all seeds after the last frame, of both bars.
function rangesOf(curve) {
  const said = curve.ranges.map((range, n) =>
    `${curve.bars[n][0]} ${range.map(twoFigures).join(' to ')}`);
  const words = `half of ${curve.seeds} seeds`;
  return element('div', { className: 'gc-pair-seeds', title: `${words}: ${said.join(', ')}` },
    columnOf(curve, undefined, curve.ranges), element('span', {}, words));
}

const keysOf = pairs => pairs.map(([word, colour]) => {
  const bar = element('i');
  bar.style.background = gradientOf([[0, colour], [1, colour]]);
  return element('span', {}, bar, word);
});

// A flat surface beside the other, and how a gate pulls every point of it towards the origin.
function addGround(scene, { ground, origin }, ink) {
  const { places, size, lines } = scene;
  scene.ground = [{ corners: ground, colour: [...ACCENT, 0.1] }];
  lines.push({ segments: ringOf(ground), wide: 1.4, colour: ACCENT, hidden: 0.4 });
  if (!origin) return;
  const from = i => {
    const [x, y] = [i % size, Math.floor(i / size)].map(step => step / (size - 1));
    return mixed(mixed(ground[0], ground[1], x), mixed(ground[3], ground[2], x), y);
  };
  const rays = ground.flatMap(corner => [...corner, ...origin]);
  const dot = [...origin, ...plus(origin, [0, 0, 0.01])];
  const pulls = pullsOf(from, places, size, 2); // more of them hide the surface
  lines.push({ segments: pulls, wide: 1.4, colour: ink, alpha: 0.7, hidden: 0.15 },
    { segments: rays, wide: 1, colour: ACCENT, alpha: 0.35, hidden: 0.15 },
    { segments: dot, wide: 8, colour: ACCENT, hidden: 0.5 });
}

function showTexts(state, nearest, mark) {
  const { root, find, header } = state;
  const last = lastFrame(state);
  const isBoth = header.sides.length > 1 && !header.sides.some(({ plain }) => plain);
  root.classList.toggle('gc-pair-both', isBoth);
  root.classList.toggle('gc-pair-alone', header.alone);
  say(find('finding'), ...header.findings[nearest] ?? ['', '']);
  find('quantity').textContent = header.quantity;
  showScale(find('scale'), header.scale, header.ends);
  find('keys').replaceChildren(...keysOf(header.keys));
  const fixed = { max: 100, value: 100 * header.places[0], disabled: true };
  const moving = { max: last, value: nearest, disabled: false };
  Object.assign(find('strength'), last ? moving : fixed);
  find('lambda').textContent = header.labels[nearest];
  find('strength').setAttribute('aria-valuetext', header.labels[nearest]);
  showPlaying(find('play'), Boolean(state.playing));
  find('play').disabled = !last;
  find('values').hidden = !header.moves || !header.sides[0].corners;
  find('values').setAttribute('aria-pressed', Boolean(state.valued));
  find('note').textContent = header.notes[nearest];
  find('reading').textContent = mark ? reading(state, nearest, mark)
    : `Point to read ${header.symbol}, click to keep; drag to turn, Ctrl + wheel to zoom.`;
}

function reading({ header, size, sides }, nearest, [row, column]) {
  const share = i => signed((-1 + 2 * i / (size - 1)).toFixed(2));
  const digits = x => signed(Number(x.toPrecision(4)).toString());
  const number = x => (Number.isNaN(x) ? 'undetermined' : digits(x));
  const parts = sides.map(({ at }, i) => {
    const about = header.sides[i];
    if (!about.name) return null;
    const there = kind => at(kind, nearest)[row * size + column];
    const [K, error] = [there('K'), there('Error')];
    const rest = about.symbols.map((symbol, n) => `, ${symbol} = ${number(there(`Read${n}`))}`);
    const read = header.keys.length && !Number.isNaN(K) ? header.keys[K][0] : number(K);
    const bound = error > 0 ? ` (error below ${error.toExponential(0)})` : '';
    return `${about.short} ${header.symbol} = ${read}${bound}${rest.join('')}`.trim();
  });
  const place = `At ${header.names[0]} = ${share(column)}, ${header.names[1]} = ${share(row)}`;
  return `${place}: ${parts.filter(Boolean).join(' · ')}`;
}
