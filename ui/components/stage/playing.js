// The gate opens and closes: play, speed, the question on arrival, and the wait for an answer elsewhere.

const SECONDS = [14, 10, 7, 5, 3]; // from no gate to the full one
const FIRST_SPEED = 2;
const ASKED = 'gc-stage-asked'; // in the browser's storage: this visitor has been asked

function listenToPlaying(root, state) {
  const find = name => root.querySelector(`.gc-stage-${name}`);
  state.speed = FIRST_SPEED;
  find('play').addEventListener('click', () => (state.playing ? stop(state, true) : play(state)));
  for (const [name, way] of [['slower', -1], ['faster', 1]]) {
    find(name).addEventListener('click', () => {
      state.speed = Math.max(0, Math.min(SECONDS.length - 1, state.speed + way));
      showSpeed(root, state);
    });
  }
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
  showSpeed(root, state);
}

function showSpeed(root, state) {
  root.querySelector('.gc-stage-seconds').textContent = `${SECONDS[state.speed]} s`;
  root.querySelector('.gc-stage-slower').disabled = state.speed === 0;
  root.querySelector('.gc-stage-faster').disabled = state.speed === SECONDS.length - 1;
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
    share = Math.min(1, share + Math.max(0, now - before) / 1000 / SECONDS[state.speed]);
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

const RING_SECONDS = 2; // for which the ring stands
const FALL_SECONDS = 1.3;

// A visitor who comes for the first time sees the ring; then the surface falls flat, and they are asked. With
// reduced motion a still picture of the ring stands beside the flat surface.
function open(root, state) {
  state.strength = 1;
  if (isStill()) {
    drawStage(state);
    const before = root.querySelector('.gc-stage-before');
    Object.assign(before, { src: state.view.picture(1), hidden: false });
    ask(root, state);
    aim(state); // it has half the room
    return;
  }
  state.opening = true;
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
  const before = root.querySelector('.gc-stage-before');
  if (!before.hidden) {
    before.hidden = true;
    aim(state);
  }
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
