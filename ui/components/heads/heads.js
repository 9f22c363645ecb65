// Real heads: a wall of windows, one for each head of a model that reads a text; a click opens a head.
//
// Python sends a header { source, arrays: { scores (L, H, 3, n), values (L, H, n, 3), states (L, T, 2) },
// layers, heads, layerNames, words and glued and special and ranks (T), keys (n), numbers (L H)
// [finding, rows [name, total, span], rest], hint, about, frames: null or { name, colours, texts }, open: null or
// [layer, head], chart: null or the open head on another plane { head, tokens, scores, values, states,
// prescribed, three, numbers, about }, at, heard } and receives "opened" with { open, at, serial } when a head is
// opened, its mark let go, or the wall shown again. All else is drawn here.

const HOME = [0.3, 0.18]; // where the mark of a head stands at first
const ZOOM_MS = 260;
const percentOf = share => (share > 0 && share < 0.005 ? '< 1 %' : `${Math.round(100 * share)} %`);

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector('.gc-heads');
  const state = (root.__gc ??= { root, heard: 0, next: nextMessage, open: null, at: HOME, hover: null, lit: null });
  state.report = setTriggerValue;
  takeData(root, state, data, root.querySelector('.gc-heads-error'), 'The heads', adopt);
}

function adopt(root, state, header, buffer, address) {
  const others = state.shown !== address;
  state.header = header;
  if (others) {
    const arrays = unpack(header.arrays, buffer);
    state.colours = header.words.map((_, number) => tokenColour(header.ranks[number], header.special[number]));
    state.each = headsOf(header, arrays, state.colours);
    Object.assign(state, { shown: address, lit: null, pointed: null });
  }
  const chart = JSON.stringify(header.chart);
  if (others || chart !== state.charted) {
    Object.assign(state, { charted: chart, chart: header.chart && chartOf(header, state.colours), lit: null });
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
function headsOf({ layers, heads, words, keys, numbers, about }, { scores, values, states }, colours) {
  const n = keys.length;
  return Array.from({ length: layers * heads }, (_, i) => {
    const layer = Math.floor(i / heads);
    return {
      n,
      tokens: keys,
      scores: scores.subarray(3 * n * i, 3 * n * (i + 1)),
      values: values.subarray(3 * n * i, 3 * n * (i + 1)),
      states: states.subarray(2 * words.length * layer, 2 * words.length * (layer + 1)),
      words: keys.map(token => words[token]),
      colours: keys.map(token => colours[token]),
      three: [],
      numbers: numbers[i],
      about,
    };
  });
}

// The open head on a plane of its own.
function chartOf({ chart, words }, colours) {
  return { ...chart, n: chart.tokens.length, words: chart.tokens.map(token => words[token]), colours: chart.tokens.map(token => colours[token]) };
}

const headOf = (state, layer, head) => state.each[layer * state.header.heads + head];
const isOpen = ({ open }, [layer, head]) => open[0] === layer && open[1] === head;
const shownHead = state => (state.chart && isOpen(state, state.chart.head) ? state.chart : headOf(state, ...state.open));

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
  // On a plane of its own Python measures each head: until it has, the numbers are those of another plane.
  if (state.open && state.chart && !isOpen(state, state.chart.head)) root.dataset.stale = 'true';
  else delete root.dataset.stale;
  root.classList.toggle('gc-heads-opened', Boolean(state.open));
  if (state.open) {
    const head = shownHead(state);
    root.querySelector('.gc-heads-title').textContent = headName(state, ...state.open);
    drawNumbers(root, head.numbers);
    root.querySelector('.gc-heads-hint').textContent = head.about;
    drawChart(root, state);
    if (state.aimed !== head) aimSheet(root, state);
    state.aimed = head;
    root.dataset.n = 1 + Number(root.dataset.n ?? 0);
  } else {
    drawWall(root, state);
    drawNote(root, state);
  }
  drawReading(root, state);
}

// Totals and spans of the head and of its twins.
function drawNumbers(root, [finding, rows, rest]) {
  root.querySelector('.gc-heads-finding').textContent = finding;
  root.querySelector('.gc-heads-numbers tbody').replaceChildren(...rows.map(([name, ...cells]) => {
    const row = document.createElement('tr');
    row.append(Object.assign(document.createElement('th'), { scope: 'row', textContent: name }),
      ...cells.map(text => Object.assign(document.createElement('td'), { textContent: text })));
    return row;
  }));
  root.querySelector('.gc-heads-rest').textContent = rest;
}

// What the marked place, or that under the pointer, attends to.
function drawReading(root, state) {
  if (!state.open) {
    drawText(root, state, null);
    return;
  }
  const weights = weightsAt(shownHead(state), ...(state.hover ?? state.at));
  drawText(root, state, weights);
  drawMark(state, root.querySelector('.gc-heads-over').clientWidth);
  drawSheet(state, weights);
  const sentence = attentionSentence(state, weights);
  state.mark.setAttribute('aria-valuetext', sentence);
  root.querySelector('.gc-heads-reading').textContent = `At the mark: ${sentence}.`;
}
