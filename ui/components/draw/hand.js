// Strokes and choices by pointer, finger, keys and buttons.

const STEP = 1 / 20; // of an arrow key
const FINE_STEP = 1 / 100;

function listen(state) {
  const { root, find } = state;
  const svg = find('plot');
  const pixel = event => pixelOf(svg, state.size, event);
  const isPaper = node => node.classList.contains('gc-draw-paper');
  state.id = `gc-draw-${Math.random().toString(36).slice(2)}`;
  keepTouch(svg, isPaper);
  svg.addEventListener('pointerdown', event => {
    if (event.button !== 0 || state.stroke || !isPaper(event.target)) return;
    event.preventDefault();
    const at = pixel(event);
    const { mode, picture } = state;
    state.stroke = { pointer: event.pointerId, mode, before: picture, at, travelled: 0 };
    svg.setPointerCapture(event.pointerId);
    svg.focus({ preventScroll: true });
    root.classList.remove('gc-draw-keys');
    state.cross = valueAt(state, ...at).map(rounded);
    dab(state, at);
    hover(state, at);
    draw(state);
  });
  svg.addEventListener('pointermove', event => {
    const { stroke } = state;
    const at = pixel(event);
    if (stroke?.pointer === event.pointerId) {
      (stroke.mode === ERASER ? erase : spray)(state, stroke.at, at);
      stroke.at = at;
      draw(state);
    }
    if (event.pointerType !== 'touch' || stroke) hover(state, at);
  });
  svg.addEventListener('lostpointercapture', event => {
    if (state.stroke?.pointer !== event.pointerId) return;
    const { before } = state.stroke;
    state.stroke = null;
    if (event.pointerType === 'touch') hover(state, null);
    finish(state, before);
  });
  svg.addEventListener('pointerleave', () => hover(state, null));
  root.addEventListener('keydown', event => {
    if (state.stroke) return;
    const pressed = event.key.toLowerCase();
    const isUndo = (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey;
    if (isUndo && pressed === 'z') undo(state);
    else if (isChord(event)) return;
    else if (pressed === 'e') choose(state, ERASER);
    else if (/^[1-4]$/.test(pressed) && pressed <= state.names.length) choose(state, pressed - 1);
    else if (event.target !== svg || !typed(state, event)) return;
    event.preventDefault();
  });
  svg.addEventListener('focusin', () => {
    root.classList.toggle('gc-draw-keys', svg.matches(':focus-visible') && !state.stroke);
    drawCross(state);
  });
  svg.addEventListener('focusout', () => root.classList.remove('gc-draw-keys'));
  find('modes').addEventListener('change', event => choose(state, Number(event.target.value)));
  find('undo').addEventListener('click', () => undo(state));
  find('clear').addEventListener('click', () => {
    if (state.stroke || !state.picture.length) return;
    const before = state.picture;
    state.picture = [];
    finish(state, before);
  });
  redrawOnResize(svg, () => draw(state));
}

// Does what a key means on the square; returns whether it means anything.
function typed(state, { key, shiftKey, repeat }) {
  const before = state.picture;
  const at = pixelAt(state, ...state.cross);
  state.root.classList.add('gc-draw-keys');
  if (ARROWS[key]) {
    const step = shiftKey ? FINE_STEP : STEP;
    state.cross = state.cross.map((value, i) => rounded(value + step * ARROWS[key][i]));
    tell(state, place(state));
    drawCross(state);
    return true;
  }
  if (key === ' ' || key === 'Enter') {
    if (repeat) return true; // held down it would add many points at one spot
    dab(state, at);
  } else if (key === 'Delete' || key === 'Backspace') {
    const far = point => distance(state, point, at);
    const [nearest] = [...before].sort((a, b) => far(a) - far(b));
    remove(state, point => point === nearest);
  } else {
    return false;
  }
  if (before === state.picture) tell(state, fullness(state) || 'Nothing here to erase');
  finish(state, before);
  return true;
}

function choose(state, mode) {
  state.mode = mode;
  state.root.querySelector(`input[value="${mode}"]`).checked = true;
  tell(state, mode === ERASER ? 'Eraser' : `Painting ${state.names[mode]}`);
  hover(state, state.hover);
  drawCross(state);
}
