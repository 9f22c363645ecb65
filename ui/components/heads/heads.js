// Real heads: a wall of windows, one for each head of a model that reads a text; a click opens a head.
//
// Python sends a header { source, arrays: { scores (L, H, 3, n), values (L, H, n, 3), states (L, T, 2), norms (L, H, 6)
// or none }, layers, heads, layerNames, words and glued and special and ranks (T), keys [from, to), lines (L H) [bold, rest], hint,
// frames: null or { name, colours, texts }, open: null or [layer, head], at, heard } and receives "opened" with
// { open, at, serial } when a head is opened, its mark let go, or the wall shown again. All else is drawn here.

const HOME = [0.3, 0.18]; // where the mark of a head stands at first
const ZOOM_MS = 260;
const percentOf = share => (share > 0 && share < 0.005 ? '< 1 %' : `${Math.round(100 * share)} %`);

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector('.gc-heads');
  const state = (root.__gc ??= { root, heard: 0, next: nextMessage, open: null, at: HOME, hover: null, lit: null });
  state.report = setTriggerValue;
  const header = headerIn(data);
  hear(state, header.heard);
  const address = new URL(header.source, document.baseURI).href;
  newest(state, address).then(buffer => {
    if (!buffer || !root.isConnected) return;
    root.querySelector('.gc-heads-error').textContent = '';
    adopt(root, state, header, buffer, address);
    post(root, state);
  }).catch(error => {
    root.querySelector('.gc-heads-error').textContent = `The heads could not be loaded: ${error.message}`;
  });
}

function adopt(root, state, header, buffer, address) {
  const others = state.shown !== address;
  state.header = header;
  if (others) {
    const arrays = unpack(header.arrays, buffer);
    state.states = arrays.states.values;
    state.colours = header.words.map((_, number) => tokenColour(header.ranks[number], header.special[number]));
    state.each = headsOf(header, arrays, state.colours);
    Object.assign(state, { shown: address, lit: null, pointed: null });
  }
  if (!state.view) build(root, state);
  if (others) {
    buildText(root, state);
    buildWall(root, state);
  }
  const isOurs = isUnheard(state, state.flying) || state.waiting || state.handling;
  if (!isOurs) Object.assign(state, { open: header.open, at: header.at ?? HOME });
  show(root, state);
}

// Every head with its numbers, its words and its colours.
function headsOf({ layers, heads, words, keys: [from, to] }, { scores, values, norms }, colours) {
  const n = to - from;
  return Array.from({ length: layers * heads }, (_, i) => ({
    n,
    scores: scores.values.subarray(3 * n * i, 3 * n * (i + 1)),
    values: values.values.subarray(3 * n * i, 3 * n * (i + 1)),
    norm: norms ? norms.values.subarray(6 * i, 6 * (i + 1)) : null,
    words: words.slice(from, to),
    colours: colours.slice(from, to),
  }));
}

const headOf = (state, layer, head) => state.each[layer * state.header.heads + head];

function build(root, state) {
  buildChart(root, state);
  buildSheet(root, state);
  listenToText(root, state);
  listenToWall(root, state);
  root.querySelector('.gc-heads-back').addEventListener('click', () => closeHead(root, state));
  root.querySelectorAll('.gc-heads-step').forEach(button => button.addEventListener('click', () => {
    const { layers, heads } = state.header;
    const at = (state.open[0] * heads + state.open[1] + Number(button.dataset.step) + layers * heads) % (layers * heads);
    openHead(root, state, [Math.floor(at / heads), at % heads]);
  }));
  root.addEventListener('keydown', event => { if (event.key === 'Escape' && state.open) closeHead(root, state); });
  let width = 0;
  const observer = new ResizeObserver(() => {
    if (!root.isConnected || width === root.clientWidth) return;
    width = root.clientWidth;
    show(root, state);
  });
  observer.observe(root);
}

// ---- changes by the visitor ---------------------------------------------------------------------

function openHead(root, state, open, from = null) {
  const start = from?.getBoundingClientRect();
  Object.assign(state, { open, at: HOME, hover: null, lit: null });
  show(root, state);
  if (start && !matchMedia('(prefers-reduced-motion: reduce)').matches) zoomFrom(root, start);
  settle(state);
  root.querySelector('.gc-heads-back').focus({ preventScroll: true });
}

// The window grows to the chart.
function zoomFrom(root, start) {
  const chart = root.querySelector('.gc-heads-chart');
  const end = chart.getBoundingClientRect();
  chart.animate([
    { transformOrigin: '0 0', transform: `translate(${start.left - end.left}px, ${start.top - end.top}px) scale(${start.width / end.width})` },
    { transformOrigin: '0 0', transform: 'none' },
  ], { duration: ZOOM_MS, easing: 'ease-out' });
}

function closeHead(root, state) {
  const before = state.open;
  Object.assign(state, { open: null, hover: null, lit: null });
  show(root, state);
  settle(state);
  focusWindow(state, before);
}

// While something is dragged or pointed at: at most one drawing for each frame.
function change(state) {
  state.frame ??= requestAnimationFrame(() => {
    state.frame = null;
    if (state.relit) {
      state.relit = false;
      if (state.open) drawChart(state.root, state);
      else drawWall(state.root, state);
    }
    drawReading(state.root, state);
  });
}

// The visitor has let go: Python hears of it, and the reading is read aloud.
function settle(state) {
  state.waiting = true;
  drawReading(state.root, state);
  state.root.querySelector('.gc-heads-aloud').textContent = state.open ? state.root.querySelector('.gc-heads-reading').textContent : '';
  post(state.root, state);
}

const nextMessage = state => state.waiting && { name: 'opened', take: () => {
  state.waiting = false;
  return { open: state.open, at: state.open && state.at };
} };

// ---- drawing ------------------------------------------------------------------------------------

function show(root, state) {
  root.classList.toggle('gc-heads-opened', Boolean(state.open));
  if (state.open) {
    const [layer, head] = state.open;
    const [bold, rest] = state.header.lines[layer * state.header.heads + head];
    root.querySelector('.gc-heads-title').textContent = headName(state, layer, head);
    root.querySelector('.gc-heads-line').replaceChildren(Object.assign(document.createElement('strong'), { textContent: bold }), ` ${rest}`);
    drawChart(root, state);
    if (state.aimed !== headOf(state, layer, head)) aimSheet(root, state);
    state.aimed = headOf(state, layer, head);
    root.dataset.n = 1 + Number(root.dataset.n ?? 0);
  } else {
    drawWall(root, state);
    drawNote(root, state);
  }
  drawReading(root, state);
}

// What the marked place, or that under the pointer, attends to.
function drawReading(root, state) {
  if (!state.open) {
    drawText(root, state, null);
    return;
  }
  const weights = weightsAt(headOf(state, ...state.open), ...(state.hover ?? state.at));
  drawText(root, state, weights);
  drawMark(state, root.querySelector('.gc-heads-over').clientWidth);
  drawSheet(state, weights);
  const sentence = attentionSentence(state, weights);
  state.mark.setAttribute('aria-valuetext', sentence);
  root.querySelector('.gc-heads-reading').textContent = `At the mark: ${sentence}.`;
}
