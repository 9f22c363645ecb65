// Islands: a surface, a plane to drag, and a glass dome where the cut closes.
//
// Python sends a header { source, arrays, plane, first, turn, turns, scale, texts, hold, heard }
// and receives "moved" with { plane: [a, b, c, d], turn, serial } when the visitor lets go. Of
// four coordinates three are drawn: the third one is turned by so many degrees towards the fourth.
// The plane depends on the first three alone.

const CELLS = 10;
const CAMERA = { azimuth: -1.15, elevation: 0.42, distance: 4, centre: [0, 0, 0] };
const FILLED = 0.84; // of the picture
const DRAWS = 1000; // random planes
const SHOWN_DRAWS = 36; // of them
const DRAWS_SECONDS = 1.2;
const TURN_SECONDS = 4; // of the shadow, once it is no more held
const digits = x => Number(x.toPrecision(2)).toString().replace('-', '−');
const number = x => (Math.abs(x) < 5e-4 ? '0' : digits(x));

export default function (component) {
  const take = ({ plane, turn }) => ({ plane: planeNumbers(plane), turn });
  const state = stateOf(component, 'islands', 'moved', { take, draw, turn: 0 });
  takeData(state, component.data, 'The surface', adopt);
}

function adopt(state, header, buffer, address) {
  const others = state.shown !== address;
  state.header = header;
  if (others) {
    const { shares, ...arrays } = unpack(header.arrays, buffer);
    const [size, , dim] = header.arrays.values.shape;
    const colours = coloursOf(shares, header.scale);
    const surface = { size, dim, ...arrays };
    Object.assign(state, { shown: address, surface, colours, handling: false, waiting: false });
    state.playing = false;
    state.find('tried').textContent = '';
  }
  const first = !state.view;
  if (first) build(state);
  const isReleased = state.asking && !header.hold;
  state.asking = header.hold; // no knobs
  state.root.classList.toggle('gc-islands-held', header.hold);
  if (others || !isOurs(state)) {
    state.turn = header.turn;
    setPlane(state, header.plane);
  }
  if (others) aim(state, first);
  if (isReleased && header.turn && !isStill()) {
    state.turn = 0;
    play(state, TURN_SECONDS, share => {
      state.turn = Math.round(header.turn * eased(share));
      draw(state);
    });
  }
  draw(state);
}

function setPlane(state, numbers) {
  state.plane = planeOf(numbers, [0, 0, 0], state.plane?.a);
}

function build(state) {
  const { find } = state;
  state.view = makeView(find('space'), CAMERA);
  state.view.onPaint = () => placeKnobs(state);
  listenToTurning(state.view);
  buildKnobs(state);
  find('turn').addEventListener('input', event => {
    Object.assign(state, { playing: false, turn: Number(event.target.value) });
    change(state);
  });
  find('turn').addEventListener('change', () => settle(state));
  find('first').addEventListener('click', () => {
    Object.assign(state, { playing: false, turn: 0 });
    setPlane(state, state.header.first);
    settle(state);
  });
  find('try').addEventListener('click', () => tryPlanes(state));
}

// From all sides that the shadow can show.
function aim({ view, surface, header }, first) {
  Object.assign(view.camera, CAMERA);
  const spots = (header.turns ? [0, 45, 90] : [0]).flatMap(turn => {
    const places = placesOf(surface, turn);
    const count = Math.ceil(surface.size ** 2 / 7);
    return Array.from({ length: count }, (_, i) => vertexOf(places, 7 * i));
  });
  view.frame(spots, FILLED);
  if (first) restoreCamera(view);
  else putCamera();
}

// Random planes through random points; a few of them are seen.
function tryPlanes(state) {
  const { root, surface } = state;
  const places = placesOf(surface, 0);
  const normal = () => Math.sqrt(-2 * Math.log(1 - Math.random()))
    * Math.cos(2 * Math.PI * Math.random());
  const planes = Array.from({ length: DRAWS }, () => {
    const way = unit([normal(), normal(), normal()]);
    const centre = vertexOf(places, Math.floor(Math.random() * surface.size ** 2));
    return planeOf([...way, -dot(way, centre)], [0, 0, 0]);
  });
  const closed = planes.filter(plane => closedPart(fieldOf(plane, places), surface.size)).length;
  const all = DRAWS.toLocaleString('en-GB');
  state.find('tried').textContent = `${closed} of ${all} random planes cut out an island.`;
  root.dataset.tried = closed;
  if (isStill()) return;
  const own = state.plane;
  state.turn = 0;
  play(state, DRAWS_SECONDS, share => {
    state.plane = share < 1 ? planes[Math.floor(share * SHOWN_DRAWS)] : own;
    draw(state);
  });
}

// ---- drawing ------------------------------------------------------------------------------------

// The values in the picture, with the shadow turned by so many degrees.
function placesOf(surface, turn) {
  const places = new Float32Array(3 * surface.size ** 2);
  const [cosine, sine] = [Math.cos(turn * Math.PI / 180), Math.sin(turn * Math.PI / 180)];
  for (let i = 0; i < places.length / 3; i += 1) {
    const [x, y, z, w = 0] = valueOf(surface, i);
    places.set([x, y, cosine * z + sine * w], 3 * i);
  }
  return places;
}

function draw(state) {
  const { root, surface, plane, view, colours, turn } = state;
  const { size } = surface;
  const ink = cssColour(getComputedStyle(root).color);
  const field = fieldOf(plane, placesOf(surface, 0));
  const island = islandOf(surface, field, plane.normal);
  const places = placesOf(surface, turn);
  const normals = normalsOf(places, size);
  const scene = { size, places, normals, colours, cells: CELLS, sheets: [], lines: [] };
  addCut(scene, cutOf(field, size, places));
  state.turned = turn > 0;
  const isShown = !state.turned && !state.asking;
  if (isShown) addSheet(scene, plane, [0, 0, 0], ink);
  if (island && isShown) addGlass(scene, island, ink);
  if (island && !state.asking) {
    const touching = new Float32Array(vertexOf(places, island.touching));
    scene.points = { size: 15, places: touching, colours: new Float32Array(ACCENT) };
  }
  view.show(scene);
  showNumbers(state, island);
  root.dataset.closed = Boolean(island);
  countDrawing(root);
}

function showNumbers({ root, find, header, turn, surface }, island) {
  const isFourth = surface.dim > 3;
  say(find('sentence'), ...header.texts[island ? 'closed' : 'open']);
  root.classList.toggle('gc-islands-bends', isFourth);
  for (const name of ['K', 'total', 'H']) {
    const least = island?.needed[name] ?? null;
    const needed = isFourth && name !== 'H' ? 'none' : `≥ ${number(least)}`; // of K none
    find(`needed-${name}`).textContent = least === null ? '–' : needed;
    find(`measured-${name}`).textContent = island ? number(island.measured[name]) : '–';
  }
  find('dial').hidden = !header.turns;
  find('turn').value = turn;
  const shadow = header.turns?.findLast(([from]) => turn >= from)?.[1] ?? '';
  find('shadow').textContent = shadow;
  find('turn').setAttribute('aria-valuetext', `${turn} degrees, ${shadow}`);
}
