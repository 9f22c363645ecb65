// Real heads: a wall of windows, one for each head of a model that reads a text; a click opens a
// head.
//
// Python sends a header, whose parts are those of `heads` in __init__.py, and arrays: scores (L,
// H, 3, n), values (L, H, n, 3), states (L, T, 2). It receives "opened" with { open, at, serial }
// when a head is opened, its mark let go, or the wall shown again. All else is drawn here.

const HOME = [0.3, 0.18]; // where the mark of a head stands at first
const ZOOM_MS = 260;
const percentOf = share => (share > 0 && share < 0.005 ? '< 1 %' : `${Math.round(100 * share)} %`);

export default function (component) {
  const take = ({ open, at }) => ({ open, at: open && at });
  const first = { take, draw: drawPointed, open: null, at: HOME, hover: null, lit: null };
  takeData(stateOf(component, 'heads', 'opened', first), component.data, 'The heads', adopt);
}

function adopt(state, header, buffer, address) {
  const others = state.shown !== address;
  state.header = header;
  if (others) {
    const { words, ranks, special } = header;
    const colours = words.map((_, number) => tokenColour(ranks[number], special[number]));
    const each = headsOf(header, unpack(header.arrays, buffer), colours);
    Object.assign(state, { colours, each, shown: address, pointed: null });
  }
  const chart = JSON.stringify(header.chart);
  if (others || chart !== state.charted) {
    const { tokens } = header.chart ?? {};
    state.chart = tokens ? { ...header.chart, ...keyParts(state, tokens) } : null;
    Object.assign(state, { charted: chart, lit: null });
  }
  if (!state.view) build(state);
  if (others) {
    buildText(state);
    buildWall(state);
  }
  if (!isOurs(state)) Object.assign(state, { open: header.open, at: header.at ?? HOME });
  show(state);
}

// What the keys of a head are, which are tokens: their number, words and colours.
const keyParts = ({ header, colours }, tokens) => ({
  n: tokens.length,
  tokens,
  words: tokens.map(token => header.words[token]),
  colours: tokens.map(token => colours[token]),
});

// Every head with its numbers.
function headsOf(header, { scores, values, states }, colours) {
  const { layers, heads, words, numbers, about } = header;
  const parts = keyParts({ header, colours }, header.keys);
  return Array.from({ length: layers * heads }, (_, i) => ({
    ...parts,
    scores: frameOf(scores, 3 * parts.n, i),
    values: frameOf(values, 3 * parts.n, i),
    states: frameOf(states, 2 * words.length, Math.floor(i / heads)),
    three: [],
    numbers: numbers[i],
    about,
  }));
}

const headOf = (state, layer, head) => state.each[layer * state.header.heads + head];
const isOpen = ({ open }, [layer, head]) => open[0] === layer && open[1] === head;
const hasOwnPlane = state => Boolean(state.chart) && isOpen(state, state.chart.head);
const shownHead = state => (hasOwnPlane(state) ? state.chart : headOf(state, ...state.open));

function build(state) {
  const { root } = state;
  buildChart(state);
  buildSheet(state);
  listenToText(state);
  listenToWall(state);
  state.find('back').addEventListener('click', () => closeHead(state));
  root.querySelectorAll('.gc-heads-step').forEach(button => button.addEventListener('click', () => {
    const { layers, heads } = state.header;
    const [here, count] = [state.open[0] * heads + state.open[1], layers * heads];
    const at = (here + Number(button.dataset.step) + count) % count;
    openHead(state, [Math.floor(at / heads), at % heads]);
  }));
  root.addEventListener('keydown', event => {
    if (event.key === 'Escape' && state.open) closeHead(state);
  });
  let width = 0;
  redrawOnResize(root, () => {
    if (width === root.clientWidth) return;
    width = root.clientWidth;
    show(state);
  });
}

// ---- changes by the visitor ---------------------------------------------------------------------

function openHead(state, open, from = null) {
  const start = from?.getBoundingClientRect();
  Object.assign(state, { open, at: HOME, hover: null, lit: null });
  show(state);
  if (start && !isStill()) zoomFrom(state.find('chart'), start);
  settle(state);
  state.find('back').focus({ preventScroll: true });
}

// The window grows to the chart.
function zoomFrom(chart, start) {
  const end = chart.getBoundingClientRect();
  const [across, down] = [start.left - end.left, start.top - end.top];
  const transform = `translate(${across}px, ${down}px) scale(${start.width / end.width})`;
  const steps = [transform, 'none'].map(each => ({ transformOrigin: '0 0', transform: each }));
  chart.animate(steps, { duration: ZOOM_MS, easing: 'ease-out' });
}

function closeHead(state) {
  const before = state.open;
  Object.assign(state, { open: null, hover: null, lit: null });
  show(state);
  settle(state);
  focusWindow(state, before);
}

// ---- drawing ------------------------------------------------------------------------------------

function show(state) {
  const { root, open } = state;
  // On a plane of its own Python measures each head: until it has, the numbers are of another
  // plane.
  if (open && state.chart && !hasOwnPlane(state)) root.dataset.stale = 'true';
  else delete root.dataset.stale;
  root.classList.toggle('gc-heads-opened', Boolean(open));
  if (open) {
    const head = shownHead(state);
    state.find('title').textContent = headName(state, ...open);
    drawNumbers(state, head.numbers);
    state.find('hint').textContent = head.about;
    drawChart(state);
    if (state.aimed !== head) aimSheet(state);
    state.aimed = head;
    countDrawing(root);
  } else {
    drawWall(state);
    drawNote(state);
  }
  drawPointed(state);
}

// Totals and spans of the head and of its twins.
function drawNumbers({ root, find }, [finding, rows, rest]) {
  find('finding').textContent = finding;
  find('rest').textContent = rest;
  root.querySelector('.gc-heads-numbers tbody').replaceChildren(...rows.map(([name, ...cells]) =>
    element('tr', {}, element('th', { scope: 'row' }, name),
      ...cells.map(text => element('td', {}, text)))));
}

// What the marked place, or that under the pointer, attends to; and what is lit.
function drawPointed(state) {
  if (state.relit && state.open) drawChart(state);
  else if (state.relit) drawWall(state);
  state.relit = false;
  const weights = state.open && weightsAt(shownHead(state), ...(state.hover ?? state.at));
  drawText(state, weights);
  const sentence = state.open ? attentionSentence(state, weights) : '';
  state.find('sentence').textContent = sentence && `At the mark: ${sentence}.`;
  if (!state.open) return;
  drawMark(state);
  drawSheet(state, weights);
  state.mark.setAttribute('aria-valuetext', sentence);
}
