// Islands: a surface, a plane to drag, and a glass dome where the cut closes.
//
// Python sends a header { source, arrays, plane, first, turn, turns, scale, texts, hold, heard } and receives "moved" with
// { plane: [a, b, c, d], turn, serial } when the visitor lets go. Of four coordinates three are drawn: the third one
// is turned by so many degrees towards the fourth. The plane depends on the first three alone.

const CELLS = 10;
const CAMERA = { azimuth: -1.15, elevation: 0.42, distance: 4, centre: [0, 0, 0] };
const FILLED = 0.84; // of the picture
const DRAWS = 1000; // random planes
const SHOWN_DRAWS = 36; // of them
const TURN_SECONDS = 4; // of the shadow, once it is no more held
const number = x => (Math.abs(x) < 5e-4 ? '0' : Number(x.toPrecision(2)).toString()).replace('-', '−');

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector('.gc-islands');
  const state = (root.__gc ??= { root, heard: 0, next: nextMessage, turn: 0 });
  state.report = setTriggerValue;
  takeData(root, state, data, root.querySelector('.gc-islands-error'), 'The surface', adopt);
}

function adopt(root, state, header, buffer, address) {
  const others = state.shown !== address;
  state.header = header;
  if (others) {
    const { values, gaussian, positive, mean, thin, shares } = unpack(header.arrays, buffer);
    const [size, , dim] = header.arrays.values.shape;
    state.shown = address;
    state.surface = { size, dim, values, gaussian, positive, mean, thin };
    state.colours = coloursOf(shares, header.scale);
    root.querySelector('.gc-islands-tried').textContent = '';
    Object.assign(state, { handling: false, waiting: false, trying: null });
  }
  const first = !state.view;
  if (first) build(root, state);
  const isReleased = state.asking && !header.hold;
  state.asking = header.hold; // no knobs
  root.classList.toggle('gc-islands-held', header.hold);
  if (others || !(isUnheard(state, state.flying) || state.waiting || state.handling || state.trying)) {
    state.turn = header.turn;
    setPlane(state, header.plane);
  }
  if (others) aim(state, first);
  if (isReleased && !isStill()) turnShadow(state, header.turn);
  draw(state);
}

function setPlane(state, [x, y, z, offset]) {
  state.plane = planeOf([x, y, z], offset, [0, 0, 0], state.plane?.a);
}

function build(root, state) {
  const find = name => root.querySelector(`.gc-islands-${name}`);
  state.view = makeView(find('space'), CAMERA);
  state.view.onPaint = () => placeKnobs(state);
  listenToTurning(state.view);
  buildKnobs(root, state);
  find('turn').addEventListener('input', event => {
    state.turn = Number(event.target.value);
    change(state);
  });
  find('turn').addEventListener('change', () => settle(state));
  find('first').addEventListener('click', () => {
    state.turn = 0;
    setPlane(state, state.header.first);
    settle(state);
  });
  find('try').addEventListener('click', () => tryPlanes(state));
}

// From all sides that the shadow can show.
function aim(state, first) {
  const { view, surface: { size } } = state;
  Object.assign(view.camera, CAMERA);
  const all = state.header.turns ? [0, 45, 90] : [0];
  const spots = all.flatMap(turn => {
    const places = placesOf(state.surface, turn);
    return Array.from({ length: Math.ceil(size * size / 7) }, (_, i) => vertexOf(places, 7 * i));
  });
  view.frame(spots, FILLED);
  if (first) restoreCamera(view);
  else putCamera();
}

// ---- changes by the visitor ---------------------------------------------------------------------

const stop = state => { state.trying = null; };

function takePlane(state, plane) {
  state.plane = plane;
  change(state);
}

// While something is dragged: at most one drawing for each frame.
function change(state) {
  state.handling = true;
  state.frame ??= requestAnimationFrame(() => {
    state.frame = null;
    draw(state);
  });
}

// The visitor has let go: Python hears of it, and the sentence is read aloud.
function settle(state) {
  Object.assign(state, { handling: false, waiting: true, trying: null });
  if (state.frame) cancelAnimationFrame(state.frame);
  state.frame = null;
  draw(state);
  state.root.querySelector('.gc-islands-aloud').textContent = state.root.querySelector('.gc-islands-sentence').textContent;
  post(state.root, state);
}

const nextMessage = state => state.waiting && !state.handling && { name: 'moved', take: () => {
  state.waiting = false;
  const { normal } = state.plane;
  return { plane: [...normal, offsetOf(state.plane)].map(x => Number(x.toFixed(6))), turn: state.turn };
} };

// From the first shadow to one that is turned by so many degrees.
function turnShadow(state, end) {
  const [begun, trying] = [performance.now(), {}];
  Object.assign(state, { turn: 0, trying });
  const step = now => {
    if (state.trying !== trying || !state.root.isConnected) return;
    const way = Math.min(1, Math.max(0, now - begun) / 1000 / TURN_SECONDS);
    state.turn = Math.round(end * eased(way));
    if (way === 1) state.trying = null;
    draw(state);
    if (way < 1) requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}

// Random planes through random points; a few of them are seen.
function tryPlanes(state) {
  const { root, surface } = state;
  const places = placesOf(surface, 0);
  const random = () => {
    const normal = unit([0, 0, 0].map(() => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random())));
    return [...normal, -dot(normal, vertexOf(places, Math.floor(Math.random() * surface.size ** 2)))];
  };
  const planes = Array.from({ length: DRAWS }, random);
  const closed = planes.filter(([x, y, z, offset]) => closedPart(fieldOf({ normal: [x, y, z] }, offset, places), surface.size)).length;
  root.querySelector('.gc-islands-tried').textContent = `${closed} of ${DRAWS.toLocaleString('en-GB')} random planes cut out an island.`;
  root.dataset.tried = closed;
  if (isStill()) return;
  const [own, trying] = [[...state.plane.normal, offsetOf(state.plane)], {}];
  Object.assign(state, { turn: 0, trying });
  const step = n => {
    if (state.trying !== trying || !root.isConnected) return;
    setPlane(state, n < SHOWN_DRAWS ? planes[n] : own);
    draw(state);
    if (n < SHOWN_DRAWS) requestAnimationFrame(() => requestAnimationFrame(() => step(n + 1)));
    else state.trying = null;
  };
  step(0);
}

// ---- drawing ------------------------------------------------------------------------------------

// A value in the picture.
const placed = turn => {
  const [cosine, sine] = [Math.cos(turn * Math.PI / 180), Math.sin(turn * Math.PI / 180)];
  return ([x, y, z, w = 0]) => [x, y, cosine * z + sine * w];
};

function placesOf(surface, turn) {
  const places = new Float32Array(3 * surface.size ** 2);
  const place = placed(turn);
  for (let i = 0; i < places.length / 3; i += 1) places.set(place(valueOf(surface, i)), 3 * i);
  return places;
}

function draw(state) {
  const { root, surface, plane, view, colours, turn, header } = state;
  const style = getComputedStyle(root);
  const ink = cssColour(style.color);
  const dark = !isDark(ink); // light ink is on dark paper
  const field = fieldOf(plane, offsetOf(plane), placesOf(surface, 0));
  const island = islandOf(surface, field, plane.normal);
  const places = placesOf(surface, turn);
  const scene = { size: surface.size, places, normals: normalsOf(places, surface.size), colours, cells: CELLS, sheets: [], lines: [] };
  addCut(scene, cutOf(field, surface.size, places));
  state.turned = turn > 0;
  if (!state.turned && !state.asking) addSheet(scene, plane, [0, 0, 0], ink, dark);
  if (island && !state.turned && !state.asking) {
    const glass = glassOf(island);
    scene.lines.push({ segments: glass.lines, wide: 1.2, colour: ink, alpha: 0.42, hidden: 0.12 });
    scene.sheets.push(...glass.sheets.map(corners => ({ corners, colour: dark ? [0.75, 0.85, 1, 0.045] : [0.35, 0.5, 0.75, 0.05] })));
  }
  if (island && !state.asking) {
    scene.points = { size: 15, places: places.slice(3 * island.touching, 3 * island.touching + 3), colours: new Float32Array(ACCENT) };
  }
  view.show(scene);
  showNumbers(state, island);
  root.dataset.closed = Boolean(island);
  root.dataset.n = 1 + Number(root.dataset.n ?? 0);
}

function showNumbers(state, island) {
  const { root, header, turn, surface } = state;
  const find = name => root.querySelector(`.gc-islands-${name}`);
  const [bold, rest] = header.texts[island ? 'closed' : 'open'];
  find('sentence').replaceChildren(Object.assign(document.createElement('strong'), { textContent: bold }), ` ${rest}`);
  root.classList.toggle('gc-islands-bends', surface.dim > 3);
  for (const name of ['K', 'total', 'H']) {
    const isSilent = surface.dim > 3 && name !== 'H'; // no K is needed
    find(`needed-${name}`).textContent = !island || island.needed[name] === null ? '–' : isSilent ? 'none' : `≥ ${number(island.needed[name])}`;
    find(`measured-${name}`).textContent = island ? number(island.measured[name]) : '–';
  }
  find('dial').hidden = !header.turns;
  find('turn').value = turn;
  const shadow = header.turns?.findLast(([from]) => turn >= from)?.[1] ?? '';
  find('shadow').textContent = shadow;
  find('turn').setAttribute('aria-valuetext', `${turn} degrees, ${shadow}`);
}
