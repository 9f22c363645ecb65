// The stage: one surface that lifts off its flat triangle while the gate opens, and a plane to cut
// it.
//
// Python sends a header { source, arrays, strengths, strength, plane, eye, colours, pointColours,
// flat, curved, ask, hold, heard } and receives "left" with { strength, plane: [a, b, c, d] or null, serial }
// when the visitor lets go.

const CELLS = 10;
const DRAWN = 200; // test points at most; all of them count
const AIMED = [0, 0.25, 0.5, 0.75, 1];
const FILLED = 0.92; // of the picture
const NAME_GAP = 13; // pixels from a corner to its name
const LARGEST_DOT = 10; // pixels; smaller in a narrow picture
const SECONDS = 7; // from no gate to the full one
const decimals = x => x.toFixed(2);
const percentOf = (count, all) => `${(100 * count / all).toFixed(1)} %`;
const plainColours = size =>
  Float32Array.from({ length: 3 * size * size }, (_, i) => [0.72, 0.71, 0.76][i % 3]);

export default function (component) {
  const take = ({ strength, own, plane }) => ({ strength, plane: own ? planeNumbers(plane) : null });
  const first = { take, draw: drawStage, strength: 1, own: false };
  takeData(stateOf(component, 'stage', 'left', first), component.data, 'The surface', adopt);
}

function adopt(state, header, buffer, address) {
  const others = state.shown !== address;
  state.header = header;
  if (others) {
    Object.assign(state, unpack(header.arrays, buffer), { shown: address });
    state.size = header.arrays.surfaces.shape[1];
    state.find('answer').textContent = '';
    state.find('before').hidden = true;
  }
  const first = !state.view;
  if (first) build(state);
  const turns = header.hold !== Boolean(state.held);
  if (turns) hold(state, header.hold); // before the aim: its picture is wider
  if (others) aim(state);
  if (turns && header.hold) Object.assign(state.view.camera, aboveFlat(state));
  if (isAskedFor(state, header, others) && !turns) {
    state.playing = state.waiting = false;
    endOpening(state);
    if (state.asking && !header.hold) endQuestion(state); // what is asked for answers it
  }
  if (!isOurs(state) && !state.asking) {
    const { strength, plane } = header;
    Object.assign(state, { strength, own: Boolean(plane) });
    if (plane) state.plane = planeOf(plane, middleOf(surfaceAt(state)), state.plane?.a);
  }
  if (first) {
    follow(state);
    restoreCamera(state.view);
  } else if (others) putCamera(); // it was of another surface
  if (first && header.ask && !isAsked()) open(state);
  drawStage(state);
}

// Whether Python asks for another state, as a preset and the browser's Back do: neither the one
// that it has heard from here, nor the one before; or for that of other surfaces.
function isAskedFor(state, { strength, plane, ask, heard }, others) {
  const request = JSON.stringify([strength, plane, ask]);
  const isNew = others || state.request !== request;
  const isOther = state.request !== undefined && isNew && heard === state.answered;
  Object.assign(state, { request, answered: heard });
  return isOther;
}

// One of the arrays at the gate's strength.
function arrayAt({ header: { strengths }, strength, ...state }, name) {
  const after = Math.max(1, strengths.findIndex(each => each >= strength));
  const [low, high] = [strengths[after - 1], strengths[after]];
  const frame = after - 1 + (strength - low) / (high - low);
  return frameOf(state[name], state[name].length / strengths.length, frame);
}
const surfaceAt = state => arrayAt(state, 'surfaces');

function build(state) {
  const camera = { azimuth: 0, elevation: 1, distance: 3, centre: [0, 0, 0] };
  state.view = makeView(state.find('space'), camera);
  state.view.onPaint = () => {
    placeKnobs(state);
    placeNames(state);
  };
  const [button, slider] = [state.find('play'), state.find('strength')];
  listenToTurning(state.view, { plays: button });
  buildKnobs(state);
  button.addEventListener('click', () => (state.playing ? pause(state) : openGate(state)));
  slider.addEventListener('input', () => {
    Object.assign(state, { playing: false, strength: Number(slider.value) });
    change(state);
  });
  slider.addEventListener('change', () => settle(state));
  state.find('fit').addEventListener('click', () => {
    state.own = false;
    settle(state);
  });
  redrawOnResize(state.find('square'), () => drawStage(state));
}

// At each of `AIMED` strengths the camera has the surface and the fitted plane in the picture, without
// a gate also the triangle.
function aim(state) {
  const { view, corners, header: { eye: [azimuth, elevation] } } = state;
  Object.assign(view.camera, { azimuth, elevation });
  const listed = all => Array.from({ length: all.length / 3 }, (_, i) => vertexOf(all, i));
  const seen = AIMED.map(strength => {
    const at = { ...state, strength };
    const places = surfaceAt(at);
    return [...listed(places), ...sheetCorners(fittedAt(at, middleOf(places)))];
  });
  seen[0].push(...listed(corners));
  view.frame(seen.flat(), FILLED, view.canvas.parentElement); // which gets its height
  state.frames = seen.map(places => {
    view.frame(places, FILLED);
    return { ...view.camera };
  });
}

// The names of the corners, beyond them; not where the triangle is not drawn, or cropped.
function placeNames({ view: { scene, canvas, project }, find, corners }) {
  const spots = [0, 1, 2].map(i => project(vertexOf(corners, i)));
  const middle = [0, 1].map(k => spots.reduce((sum, spot) => sum + spot[k] / 3, 0));
  spots.forEach(([x, y], i) => {
    const length = Math.hypot(x - middle[0], y - middle[1]) / NAME_GAP;
    const [left, top] = [x + (x - middle[0]) / length, y + (y - middle[1]) / length];
    const isSeen = Math.abs(left / canvas.clientWidth - 0.5) < 0.5
      && Math.abs(top / canvas.clientHeight - 0.5) < 0.5;
    const name = find(`v${i}`);
    name.hidden = !scene.ground || !isSeen;
    name.style.transform = `translate(${left}px, ${top}px) translate(-50%, -50%)`;
  });
}

// The camera comes nearer while the surface leaves its triangle, until it is turned.
function follow({ view, frames, strength }) {
  const wasHome = isHome(view);
  const place = strength * (AIMED.length - 1);
  const before = Math.min(Math.floor(place), AIMED.length - 2);
  moveCamera(view.home, frames[before], frames[before + 1], place - before);
  if (wasHome) Object.assign(view.camera, view.home);
}

// To the full gate, from a strength or the one that is shown; with reduced motion from the full
// one back. A camera `from` which is given goes home first.
function openGate(state, strength = state.strength % 1, from = null) {
  const end = isStill() && strength !== state.strength ? 0 : 1;
  play(state, SECONDS, share => {
    state.strength = end * eased(share);
    if (share < 1) drawStage(state);
    else settle(state);
    const { camera, home } = state.view;
    if (from) moveCamera(camera, from, home, eased(Math.min(1, 4 * share)));
  }, strength);
}

// At the nearest strength for which a plane was fitted.
function pause(state) {
  const steps = state.planes.length / 4 - 1;
  Object.assign(state, { playing: false, strength: Math.round(state.strength * steps) / steps });
  settle(state);
}

// ---- drawing ------------------------------------------------------------------------------------

// The plane between the strengths at which one was fitted.
function fittedAt({ planes, strength, plane }, middle) {
  const numbers = frameOf(planes, 4, strength * (planes.length / 4 - 1));
  const length = lengthOf(numbers) || 1;
  return planeOf(Array.from(numbers, x => x / length), middle, plane?.a);
}

function drawStage(state) {
  follow(state);
  const { root, size, labels, view, header, strength, asking } = state;
  const [places, testPlaces] = ['surfaces', 'testValues'].map(name => arrayAt(state, name));
  const middle = middleOf(places);
  const fitted = fittedAt(state, middle);
  if (!state.own) state.plane = fitted;
  const { plane } = state;
  const field = fieldOf(plane, places);
  const testField = fieldOf(plane, testPlaces);
  const ink = cssColour(getComputedStyle(root).color);
  const isFlat = strength === 0 && header.flat;
  const isFalling = state.opening && strength < 1;
  const carried = isFalling || asking ? carriedField(state) : null;
  const scene = { size, places, normals: normalsOf(places, size), lines: [], sheets: [],
    cells: isFlat ? 0 : CELLS, // curved lines would make a flat surface look curved
    classes: header.colours.map(hexColour), field: carried ?? field,
    shadow: 0, headlit: true };
  if (!state.opening || isFalling) { // from near it would be cropped
    addTriangle(scene, [0, 1, 2].map(i => vertexOf(state.corners, i)), ink, 0.14, 0.45);
    scene.shadow = shadowOn(ink) * Math.min(1, 4 * strength);
  }
  const drawn = Math.min(DRAWN, labels.length);
  const ends = carried ? [] : endsOf(field, size)
    .flatMap(pair => crossingOf(field, pair, i => vertexOf(places, i)));
  const inks = header[state.held ? 'colours' : 'pointColours'].map(hexColour); // on grey, on colours
  const points = [...labels.subarray(0, drawn)].flatMap(label => inks[label]);
  scene.points = { size: Math.min(LARGEST_DOT, 5 + view.canvas.clientWidth / 180),
    places: new Float32Array([...testPlaces.subarray(0, 3 * drawn), ...ends]),
    colours: new Float32Array([...points, ...ends.map((_, i) => POINT_INK[i % 3])]) };
  if (isFalling) addCut(scene, cutOf(carried, size, places));
  else if (!asking) {
    addSheet(scene, plane, middle, ink, state.opening);
    addCut(scene, cutOf(field, size, places));
    const shown = state.testPoints.subarray(0, 2 * drawn);
    paintSquare(state.find('square'),
      { field, size, points: shown, labels, pointField: testField, ...header });
  }
  if (state.held) Object.assign(scene, { field: null, colours: plainColours(size) });
  const isBetween = strength > 0 && strength < 1;
  if (isBetween && !state.opening) {
    const segments = pullsOf(i => vertexOf(state.surfaces, i), places, size);
    scene.lines.push({ segments, wide: 1.2, colour: ink, alpha: 0.45, hidden: 0.15 });
  }
  view.show(scene);
  say(state.find('sentence'), ...sentenceOf(state, isFlat, field, testField,
    fieldOf(fitted, testPlaces)));
  showControls(state, isBetween);
  countDrawing(root);
}

// What the plane cuts, and how many test points lie on their side of it: [bold, rest].
function sentenceOf(state, isFlat, field, testField, fittedField) {
  const { strength, size, own, labels, asking } = state;
  if (state.opening && strength < 1) return ['The gate closes.', 'The same surface falls flat.'];
  const gates = { 0: 'Gate off.', 1: state.header.curved ? 'Gate on: curved.' : 'Gate on.' };
  const gate = gates[strength] ?? `Gate at λ = ${decimals(strength)}.`;
  if (asking) {
    const rest = 'Every output is an average of three fixed values, the corners.';
    return [`${gate} The surface is flat.`, rest];
  }
  const all = labels.length.toLocaleString('en-GB');
  const shareOf = points => percentOf(rightOf(points, labels), labels.length);
  const right = points => `classifies ${shareOf(points)} of ${all} test points correctly`;
  const offText = () => {
    const off = { ...state, strength: 0 };
    const plane = fittedAt(off, middleOf(surfaceAt(off)));
    return `, ${shareOf(fieldOf(plane, arrayAt(off, 'testValues')))} with the gate off`;
  };
  return [`${gate} ${cutWords(isFlat, cutKinds(field, size), field)}`,
    own ? `Your plane ${right(testField)}, the fitted plane ${shareOf(fittedField)}.`
      : `The fitted plane ${right(fittedField)}${strength === 1 && !state.opening ? offText() : ''}.`];
}

function showControls({ find, strength, own, playing, asking, opening }, isBetween) {
  const slider = find('strength');
  slider.value = strength;
  slider.setAttribute('aria-valuetext', `gate strength ${decimals(strength)}`);
  find('lambda').textContent = decimals(strength);
  find('why').hidden = !isBetween;
  find('fit').hidden = !own;
  showPlaying(find('play'), Boolean(playing) && !opening);
  for (const name of ['play', 'strength']) find(name).disabled = Boolean(asking || opening);
}
