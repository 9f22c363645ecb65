// The gate opens and closes: play, the question on arrival, and the wait for an answer elsewhere.

const SECONDS = 7; // from no gate to the full one
const ASKED = 'gc-stage-asked'; // in the browser's storage: this visitor has been asked

function listenToPlaying(root, state) {
  const find = name => root.querySelector(`.gc-stage-${name}`);
  find('play').addEventListener('click', () => (state.playing ? stop(state, true) : play(state)));
  find('strength').addEventListener('input', event => {
    stop(state);
    state.strength = Number(event.target.value);
    change(state);
  });
  find('strength').addEventListener('change', () => settle(state));
  find('fit').addEventListener('click', () => {
    state.own = false;
    settle(state);
  });
  state.view.canvas.addEventListener('keydown', event => {
    if (event.key !== ' ') return;
    event.preventDefault();
    find('play').click();
  });
}

// With reduced motion the other end is shown at once.
function play(state) {
  if (isStill()) {
    state.strength = state.strength < 1 ? 1 : 0;
    settle(state);
    return;
  }
  let share = state.strength < 1 ? state.strength : 0; // of the way, as if it had begun without easing
  let before = performance.now();
  state.playing = true;
  const step = now => {
    if (!state.playing || !state.root.isConnected) return;
    share = Math.min(1, share + Math.max(0, now - before) / 1000 / SECONDS);
    before = now;
    state.strength = eased(share);
    drawStage(state);
    if (share < 1) requestAnimationFrame(step);
    else stop(state, true);
  };
  requestAnimationFrame(step);
}

// Ends a Play, at the nearest strength for which a plane was fitted; `isSettled` where nothing else changes.
function stop(state, isSettled = false) {
  if (!state.playing) return;
  state.playing = false;
  const steps = state.planes.length / 4 - 1;
  state.strength = Math.round(state.strength * steps) / steps;
  if (isSettled) settle(state);
}

// ---- on arrival: the ring, and the question -----------------------------------------------------

const RING_SECONDS = 4; // for which the ring stands
const FALL_SECONDS = 0.9;

// A visitor who comes for the first time sees the ring; then the surface falls flat, and they are asked beside a still
// picture of the ring. With reduced motion they see both at once.
function open(root, state) {
  Object.assign(state, { strength: 1, opening: true });
  drawStage(state);
  root.querySelector('.gc-stage-before').src = state.view.picture(1);
  if (isStill()) {
    ask(root, state);
    return;
  }
  root.classList.add('gc-stage-opening');
  const begins = performance.now() + 1000 * RING_SECONDS;
  const step = now => {
    if (!state.opening || !root.isConnected) return;
    const share = Math.min(1, (now - begins) / 1000 / FALL_SECONDS);
    if (share >= 1) ask(root, state);
    if (share > 0) {
      state.strength = 1 - eased(share);
      drawStage(state);
    }
    if (share < 1) requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}

function endOpening(root, state) {
  state.opening = false;
  root.classList.remove('gc-stage-opening');
}

function ask(root, state) {
  const answer = text => {
    endQuestion(root, state);
    root.querySelector('.gc-stage-answer').textContent = text;
    state.strength = 0;
    play(state);
  };
  endOpening(root, state);
  Object.assign(state, { asking: true, strength: 0 });
  root.classList.add('gc-stage-asking');
  root.querySelector('.gc-stage-question').hidden = false;
  const why = 'a plane meets a flat surface in a straight line. Once the gate opens, it is flat no more.';
  for (const [name, text] of [['yes', `Not this one: ${why}`], ['no', `Right: ${why}`], ['show', '']]) {
    root.querySelector(`.gc-stage-${name}`).onclick = () => answer(text);
  }
}

function endQuestion(root, state) {
  try { localStorage.setItem(ASKED, 'yes'); } catch {} // no storage: asked again next time
  root.querySelector('.gc-stage-question').hidden = true;
  state.asking = false;
  root.classList.remove('gc-stage-asking');
}

// Held, the stage shows the flat surface and waits; released, the gate opens.
function hold(root, state, isHeld) {
  const isReleased = state.held && !isHeld;
  Object.assign(state, { held: isHeld, asking: isHeld });
  for (const name of ['asking', 'held']) root.classList.toggle(`gc-stage-${name}`, isHeld);
  if (isHeld || isReleased) state.strength = 0;
  if (isReleased) play(state);
}

function isAsked() {
  try { return localStorage.getItem(ASKED) !== null; } catch { return true; }
}
