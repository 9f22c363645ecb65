// Strokes and choices by pointer, finger, keys and buttons.

const STEP = 1 / 20; // of an arrow key
const FINE_STEP = 1 / 100;

function listen(root, state) {
  const svg = root.querySelector('.gc-draw-plot');
  const pixel = event => pixelOf(svg, state.size, event);
  const isPaper = node => node.classList.contains('gc-draw-paper');

  svg.addEventListener('pointerdown', event => {
    if (event.button !== 0 || state.stroke || !isPaper(event.target)) return;
    event.preventDefault();
    const at = pixel(event);
    state.stroke = { pointer: event.pointerId, mode: state.mode, before: state.picture, at, travelled: 0 };
    svg.setPointerCapture(event.pointerId);
    svg.focus({ preventScroll: true });
    root.classList.remove('gc-draw-keys');
    state.cross = valueAt(state, ...at).map(rounded);
    dab(state, at);
    hover(root, state, at);
    draw(root, state);
  });
  keepTouch(svg, isPaper);
  svg.addEventListener('pointermove', event => {
    const { stroke } = state;
    const at = pixel(event);
    if (stroke?.pointer === event.pointerId) {
      (stroke.mode === ERASER ? erase : spray)(state, stroke.at, at);
      stroke.at = at;
      draw(root, state);
    }
    if (event.pointerType !== 'touch' || stroke) hover(root, state, at);
  });
  svg.addEventListener('lostpointercapture', event => {
    if (state.stroke?.pointer !== event.pointerId) return;
    const { before } = state.stroke;
    state.stroke = null;
    if (event.pointerType === 'touch') hover(root, state, null);
    finish(root, state, before);
  });
  svg.addEventListener('pointerleave', () => hover(root, state, null));

  root.addEventListener('keydown', event => {
    if (state.stroke) return;
    const pressed = event.key.toLowerCase();
    if ((event.ctrlKey || event.metaKey) && pressed === 'z' && !event.shiftKey && !event.altKey) undo(root, state);
    else if (event.ctrlKey || event.metaKey || event.altKey) return;
    else if (pressed === 'e') choose(root, state, ERASER);
    else if (/^[1-4]$/.test(pressed) && pressed <= state.names.length) choose(root, state, Number(pressed) - 1);
    else if (event.target !== svg || !typed(root, state, event)) return;
    event.preventDefault();
  });
  svg.addEventListener('focusin', () => {
    root.classList.toggle('gc-draw-keys', svg.matches(':focus-visible') && !state.stroke);
    drawCross(root, state);
  });
  svg.addEventListener('focusout', () => root.classList.remove('gc-draw-keys'));

  root.querySelector('.gc-draw-modes').addEventListener('change', event => {
    choose(root, state, Number(event.target.value));
  });
  root.querySelector('.gc-draw-undo').addEventListener('click', () => undo(root, state));
  root.querySelector('.gc-draw-clear').addEventListener('click', () => {
    if (state.stroke || !state.picture.length) return;
    const before = state.picture;
    state.picture = [];
    finish(root, state, before);
  });

  state.observer = redrawOnResize(svg, () => draw(root, state));
}

// Does what a key means on the square; returns whether it means anything.
function typed(root, state, { key, shiftKey, repeat }) {
  const before = state.picture;
  const at = pixelAt(state, ...state.cross);
  root.classList.add('gc-draw-keys');
  if (ARROWS[key]) {
    const step = shiftKey ? FINE_STEP : STEP;
    state.cross = state.cross.map((value, i) => rounded(value + step * ARROWS[key][i]));
    say(root, place(state));
    drawCross(root, state);
    return true;
  }
  if (key === ' ' || key === 'Enter') {
    if (repeat) return true; // held down it would add many points at one spot
    dab(state, at);
  } else if (key === 'Delete' || key === 'Backspace') {
    const far = point => distance(state, point, at, at);
    const nearest = before.reduce((best, point) => (best && far(best) <= far(point) ? best : point), null);
    remove(state, point => point === nearest);
  } else {
    return false;
  }
  if (before === state.picture) say(root, fullness(state) || 'Nothing here to erase');
  finish(root, state, before);
  return true;
}

function choose(root, state, mode) {
  state.mode = mode;
  root.querySelector(`input[value="${mode}"]`).checked = true;
  say(root, mode === ERASER ? 'Eraser' : `Painting ${state.names[mode]}`);
  hover(root, state, state.hover);
  drawCross(root, state);
}
