// A plane that cuts a surface: its cut, its sheet, and three knobs. One moves it along its normal,
// two tilt it.

const HALF = 0.36; // of the sheet's side
const SHIFT_BY_KEY = 0.02;
const TILT_BY_KEY = Math.PI / 90;
const FINE = 0.25; // with Shift
const EPSILON = 0.05; // a step along the normal, to see where it goes on the screen
const FLATTEST = 4; // pixels: a normal that looks shorter than this is dragged up and down
const RIM = 16; // pixels: a knob outside the picture stands at the rim
const KNOBS = {
  move: { at: ({ a, b }) => plus(a, b), turn: shifted, step: SHIFT_BY_KEY, name: 'Move the plane' },
  a: {
    at: ({ a }) => a,
    turn: (plane, way) => tilted(plane, 'a', way / HALF),
    step: TILT_BY_KEY * HALF,
    name: 'Tilt the plane',
  },
  b: {
    at: ({ b }) => b,
    turn: (plane, way) => tilted(plane, 'b', way / HALF),
    step: TILT_BY_KEY * HALF,
    name: 'Tilt the plane the other way',
  },
};
const knobPlace = (plane, name) => plus(plane.centre, KNOBS[name].at(plane), HALF);

function addCut({ lines }, segments, wide = 3.5) {
  lines.push({ segments, wide: wide + 3, colour: [1, 1, 1], alpha: 0.85, near: 0.0018 },
    { segments, wide, colour: [0.08, 0.08, 0.1], hidden: 0.28, near: 0.002 });
}

const sheetCorners = ({ centre, a, b }) =>
  SQUARE_CORNERS.map(([x, y]) => plus(plus(centre, a, HALF * x), b, HALF * y));

// The sheet, with the stem of the knob that moves it; not where the plane is far from the `middle`
// of the surface. A `bare` one has no knobs.
function addSheet({ lines, sheets }, plane, middle, ink, bare) {
  if (lengthOf(minus(plane.centre, middle)) > MISSES) return;
  const corners = sheetCorners(plane);
  lines.push({ segments: ringOf(corners), wide: 2, colour: ink, alpha: 0.75, hidden: 0.2 });
  sheets.push({ corners, colour: sheetColour(ink) });
  if (bare) return;
  const stem = [-0.14, 0.14].flatMap(way => plus(knobPlace(plane, 'move'), plane.normal, way));
  lines.push({ segments: stem, wide: 2.5, colour: ACCENT, hidden: 0.5 });
}

function takePlane(state, plane) {
  Object.assign(state, { plane, own: true, playing: false });
  change(state);
}

// The numbers of a plane as Python gets them.
const planeNumbers = plane => [...plane.normal, offsetOf(plane)].map(x => Number(x.toFixed(6)));

function buildKnobs(state) {
  state.knobs = Object.entries(KNOBS).map(([name, { turn, step, name: label }]) => {
    const knob = element('button', { type: 'button', className: `gc-plane-knob gc-plane-${name}`,
      title: `${label}: drag, or arrow keys` });
    knob.setAttribute('aria-label', `${label}; arrow keys, with Shift finer`);
    knob.dataset.knob = name;
    listenToHand(knob, {
      take: ({ clientX, clientY }) => ({ at: [clientX, clientY] }),
      drag: ({ clientX, clientY }, hold) => {
        const [dx, dy] = [clientX - hold.at[0], clientY - hold.at[1]];
        hold.at = [clientX, clientY];
        const place = knobPlace(state.plane, name);
        const ends = [place, plus(place, state.plane.normal, EPSILON)].map(state.view.project);
        let [x, y] = [0, 1].map(k => ends[1][k] - ends[0][k]);
        if (Math.hypot(x, y) < FLATTEST) [x, y] = [0, -FLATTEST];
        const way = EPSILON * (dx * x + dy * y) / (x * x + y * y);
        takePlane(state, turn(state.plane, way));
      },
      step: ([x, y], { shiftKey }) =>
        takePlane(state, turn(state.plane, (x + y) * step * (shiftKey ? FINE : 1))),
      release: () => settle(state),
    });
    return knob;
  });
  state.root.querySelector('.gc-plane-over').replaceChildren(...state.knobs);
}

// Puts the centre of a knob at a place, within the picture: it can always be reached.
function placeKnob(knob, { project, canvas }, place, rim = RIM) {
  const within = (at, end) => Math.max(rim, Math.min(end - rim, at));
  const [x, y] = project(place);
  const [left, top] = [within(x, canvas.clientWidth), within(y, canvas.clientHeight)];
  knob.style.transform = `translate(${left}px, ${top}px) translate(-50%, -50%)`;
}

function placeKnobs(state) {
  state.knobs.forEach(knob => {
    placeKnob(knob, state.view, knobPlace(state.plane, knob.dataset.knob));
    knob.hidden = Boolean(state.asking || state.turned); // no plane is drawn
    knob.disabled = Boolean(state.opening);
  });
}
