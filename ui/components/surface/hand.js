// A plane that cuts a surface: its cut, its sheet, and three knobs. One moves it along its normal, two tilt it.

const HALF = 0.36; // of the sheet's side
const SHIFT_BY_KEY = 0.02;
const TILT_BY_KEY = Math.PI / 90;
const FINE = 0.25; // with Shift
const EPSILON = 0.05; // a step along the normal, to see where it goes on the screen
const FLATTEST = 4; // pixels: a normal that looks shorter than this is dragged up and down
const KNOBS = {
  move: { at: ({ a, b }) => plus(a, b), turn: (plane, way) => shifted(plane, way), step: SHIFT_BY_KEY, name: 'Move the plane' },
  a: { at: ({ a }) => a, turn: (plane, way) => tilted(plane, 'a', way / HALF), step: TILT_BY_KEY * HALF, name: 'Tilt the plane' },
  b: { at: ({ b }) => b, turn: (plane, way) => tilted(plane, 'b', way / HALF), step: TILT_BY_KEY * HALF, name: 'Tilt the plane the other way' },
};
const knobPlace = (plane, name) => plus(plane.centre, KNOBS[name].at(plane), HALF);

function addCut({ lines }, segments) {
  lines.push({ segments, wide: 6.5, colour: [1, 1, 1], alpha: 0.85, near: 0.0018 },
    { segments, wide: 3.5, colour: [0.08, 0.08, 0.1], hidden: 0.28, near: 0.002 });
}

// The sheet, with the stem of the knob that moves it; not where the plane is far from the `middle` of the surface.
function addSheet({ lines, sheets }, plane, middle, ink, dark) {
  if (lengthOf(minus(plane.centre, middle)) > MISSES) return;
  const corners = [[-1, -1], [1, -1], [1, 1], [-1, 1]].map(([x, y]) => plus(plus(plane.centre, plane.a, HALF * x), plane.b, HALF * y));
  const stem = knobPlace(plane, 'move');
  lines.push({ segments: ringOf(corners), wide: 1.5, colour: ink, alpha: 0.55, hidden: 0.2 },
    { segments: [...plus(stem, plane.normal, -0.14), ...plus(stem, plane.normal, 0.14)], wide: 2.5, colour: ACCENT, hidden: 0.5 });
  sheets.push({ corners, colour: [0.55, 0.58, 0.64, dark ? 0.22 : 0.2] });
}

function buildKnobs(root, state) {
  const over = root.querySelector('.gc-plane-over');
  state.knobs = Object.entries(KNOBS).map(([name, { turn, step, name: label }]) => {
    const knob = document.createElement('button');
    Object.assign(knob, { type: 'button', className: `gc-plane-knob gc-plane-${name}`, title: `${label}: drag, or arrow keys` });
    knob.setAttribute('aria-label', `${label}; arrow keys, with Shift finer`);
    knob.dataset.knob = name;
    listenToKnob(knob, state, way => takePlane(state, turn(state.plane, way)), name, step);
    return knob;
  });
  over.replaceChildren(...state.knobs);
}

function listenToKnob(knob, state, turn, name, step) {
  let last = null;
  knob.addEventListener('pointerdown', event => {
    if (event.button !== 0) return;
    knob.setPointerCapture(event.pointerId);
    stop(state);
    last = [event.clientX, event.clientY];
  });
  knob.addEventListener('pointermove', event => {
    if (!last) return;
    const drag = [event.clientX - last[0], event.clientY - last[1]];
    last = [event.clientX, event.clientY];
    const place = knobPlace(state.plane, name);
    const [from, to] = [place, plus(place, state.plane.normal, EPSILON)].map(state.view.project);
    let along = [to[0] - from[0], to[1] - from[1]];
    if (Math.hypot(...along) < FLATTEST) along = [0, -FLATTEST];
    turn(EPSILON * (drag[0] * along[0] + drag[1] * along[1]) / (along[0] ** 2 + along[1] ** 2));
  });
  knob.addEventListener('lostpointercapture', () => {
    last = null;
    settle(state);
  });
  knob.addEventListener('keydown', event => {
    const way = ARROWS[event.key];
    if (!way || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    stop(state);
    turn((way[0] + way[1]) * step * (event.shiftKey ? FINE : 1));
  });
  knob.addEventListener('keyup', event => { if (ARROWS[event.key]) settle(state); });
}

function placeKnobs(state) {
  state.knobs.forEach(knob => {
    const [x, y] = state.view.project(knobPlace(state.plane, knob.dataset.knob));
    const { clientWidth: width, clientHeight: height } = state.view.canvas;
    const within = (at, end) => Math.max(16, Math.min(end - 16, at)); // always to be reached
    knob.style.transform = `translate(${within(x, width)}px, ${within(y, height)}px) translate(-50%, -50%)`;
    knob.hidden = Boolean(state.asking || state.turned); // no plane is drawn
    knob.disabled = Boolean(state.opening);
  });
}
