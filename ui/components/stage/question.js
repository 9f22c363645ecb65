// The question on arrival, and the wait for an answer elsewhere.

const ASKED = 'gc-stage-asked'; // in the browser's storage: this visitor has been asked
const RING_SECONDS = 4; // for which the ring stands
const FALL_SECONDS = 0.9;

// A visitor who comes for the first time sees the ring; then the surface falls flat, and they are
// asked. With reduced motion a still picture of the flat surface stands beside the answer.
function open(state) {
  Object.assign(state, { strength: 1, opening: true });
  drawStage(state);
  state.root.classList.add('gc-stage-opening');
  const seconds = RING_SECONDS + FALL_SECONDS;
  play(state, seconds, share => {
    const fallen = Math.max(0, (share * seconds - RING_SECONDS) / FALL_SECONDS);
    state.strength = 1 - eased(fallen);
    if (share === 1) ask(state);
    if (fallen > 0) drawStage(state);
  });
}

function endOpening(state) {
  state.opening = false;
  state.root.classList.remove('gc-stage-opening');
}

function ask(state) {
  endOpening(state);
  state.asking = true;
  state.root.classList.add('gc-stage-asking');
  state.find('question').hidden = false;
  const why = 'a plane meets a flat surface in a straight line.'
    + ' Once the gate opens, it is flat no more.';
  const answers = { yes: `Not this one: ${why}`, no: `Right: ${why}`, show: '' };
  for (const [name, text] of Object.entries(answers)) {
    state.find(name).onclick = () => {
      if (isStill()) state.find('still').src = state.view.picture(1);
      state.find('before').hidden = !isStill();
      endQuestion(state);
      state.find('answer').textContent = text;
      openGate(state, 0);
    };
  }
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
  if (isReleased) openGate(state, 0);
}

function isAsked() {
  try { return localStorage.getItem(ASKED) !== null; } catch { return true; }
}
