// The question on arrival, and the wait for an answer elsewhere.

const ASKED = 'gc-stage-asked'; // in the browser's storage: this visitor has been asked
const RING_SECONDS = 4; // for which the ring stands
const FALL_SECONDS = 1.5;

// A visitor who comes for the first time sees the ring from near; then the surface falls flat, is
// seen from above, and they are asked, with the ring in a still picture beside it.
function open(state) {
  Object.assign(state, { strength: 1, opening: true });
  const { view, frames } = state;
  const above = aboveFlat(state);
  drawStage(state);
  state.root.classList.add('gc-stage-opening');
  showQuestion(state, true); // whose place is kept
  const seconds = RING_SECONDS + FALL_SECONDS;
  play(state, seconds, share => {
    const fallen = eased(Math.max(0, (share * seconds - RING_SECONDS) / FALL_SECONDS));
    if (fallen > 0 && state.strength === 1) keepStill(state, 'Gate on: the plane cuts a closed ring');
    state.strength = 1 - fallen;
    if (share === 1) ask(state);
    if (fallen > 0) drawStage(state);
    moveCamera(view.camera, frames.at(-1), above, fallen);
    if (share === 1) paintView(view); // now: the question is of what is seen
  });
}

// The camera from which the triangle is largest: from above, its longest side level.
function aboveFlat(state) {
  const { view, corners } = state;
  const home = { ...view.camera };
  const places = [0, 1, 2].map(i => vertexOf(corners, i));
  const [x, y] = places.map((place, i) => minus(place, places[(i + 1) % 3]))
    .reduce((longest, side) => (lengthOf(side) > lengthOf(longest) ? side : longest));
  const turn = Math.atan2(-x, y) - home.azimuth; // until the side points to the right
  view.camera.azimuth += turn - Math.PI * Math.round(turn / Math.PI);
  view.camera.elevation = STEEPEST;
  view.frame(places, FILLED);
  const above = { ...view.camera };
  for (const camera of [view.camera, view.home]) Object.assign(camera, home);
  return above;
}

// Moves a camera a share of the way between two others.
function moveCamera(camera, from, to, share) {
  const [start, end] = [from, to].map(({ azimuth, elevation, distance, centre }) =>
    [azimuth, elevation, distance, ...centre]);
  const [azimuth, elevation, distance, ...centre] = share < 1 ? mixed(start, end, share) : end;
  Object.assign(camera, { azimuth, elevation, distance, centre });
}

function endOpening(state) {
  state.opening = false;
  showQuestion(state, false);
  state.root.classList.remove('gc-stage-opening');
}

// The question, with a still picture over it.
const showQuestion = ({ find }, isShown) =>
  ['question', 'before'].forEach(name => { find(name).hidden = !isShown; });

function ask(state) {
  endOpening(state);
  state.asking = true;
  state.root.classList.add('gc-stage-asking');
  showQuestion(state, true);
  redrawOnResize(state.view.canvas, () => { // as Present mode does
    if (state.asking) Object.assign(state.view.camera, aboveFlat(state));
  });
  const why = 'a plane meets a flat surface in a straight line.'
    + ' Once the gate opens, it is flat no more.';
  const answers = { yes: `Not this one: ${why}`, no: `Right: ${why}`, show: '' };
  for (const [name, text] of Object.entries(answers)) {
    state.find(name).onclick = () => {
      endQuestion(state);
      drawStage(state);
      keepStill(state, 'Gate off: the plane cuts a straight line');
      state.find('answer').textContent = text;
      openGate(state, 0, { ...state.view.camera });
    };
  }
}

// What is shown now, beside what comes.
function keepStill({ view, find }, words) {
  Object.assign(find('still'), { src: view.picture(1), alt: words });
  find('still-words').textContent = words;
  find('before').hidden = false;
}

// The full gate's classes, which the surface carries along: the signs of distances from its plane.
function carriedField(state) {
  const full = { ...state, strength: 1 };
  const places = surfaceAt(full);
  return fieldOf(fittedAt(full, middleOf(places)), places);
}

function endQuestion(state) {
  try { localStorage.setItem(ASKED, 'yes'); } catch {} // no storage: asked again next time
  state.find('question').hidden = true;
  state.asking = false;
  state.root.classList.remove('gc-stage-asking');
}

// Held, the stage shows the flat surface and waits; released, the gate opens.
function hold(state, isHeld) {
  const isReleased = state.held && !isHeld;
  Object.assign(state, { held: isHeld, asking: isHeld });
  for (const name of ['asking', 'held']) state.root.classList.toggle(`gc-stage-${name}`, isHeld);
  if (isHeld) state.strength = 0;
  if (isReleased) openGate(state, 0, { ...state.view.camera });
}

function isAsked() {
  try { return localStorage.getItem(ASKED) !== null; } catch { return true; }
}
