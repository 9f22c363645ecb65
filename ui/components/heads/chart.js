// The chart of the open head: its cells, the text's own states as dots, and a mark to drag.

const DOT_ROOM = 0.15; // of half the chart, between the words of two dots
const MARK_STEP = 0.05;
const CHART_SHADE = 160; // pixels of its brightness
const TOUCHED = 22; // pixels around the mark
const rounded = x => Number(Math.max(-1, Math.min(1, x)).toFixed(3)) + 0;

function buildChart(root, state) {
  const svg = root.querySelector('.gc-heads-over');
  state.dots = make('g', { 'aria-hidden': 'true' });
  state.mark = make('g', { class: 'gc-mark', tabindex: 0, role: 'slider', 'aria-label': 'Marked place of the query',
    'aria-valuemin': -1, 'aria-valuemax': 1 });
  state.mark.append(make('circle', { class: 'gc-mark-touch', r: TOUCHED }), make('circle', { class: 'gc-mark-ring', r: 11 }),
    make('path', { class: 'gc-mark-cross', d: 'M-7 0H7M0 -7V7' }));
  svg.replaceChildren(state.dots, state.mark);
  const placeAt = event => {
    const [x, y] = pixelOf(svg, 2, event);
    return [x - 1, 1 - y];
  };
  const isMark = node => Boolean(node.closest?.('.gc-mark'));
  keepTouch(svg, isMark);
  let held = null;
  svg.addEventListener('pointerdown', event => {
    if (event.button !== 0 || (event.pointerType !== 'mouse' && !isMark(event.target))) return;
    event.preventDefault();
    svg.setPointerCapture(event.pointerId);
    held = event.pointerId;
    state.mark.focus({ preventScroll: true });
    state.at = placeAt(event).map(rounded);
    state.hover = null;
    change(state);
  });
  svg.addEventListener('pointermove', event => {
    if (held === event.pointerId) state.at = placeAt(event).map(rounded);
    else if (held === null && event.pointerType === 'mouse') state.hover = placeAt(event).map(rounded);
    else return;
    change(state);
  });
  svg.addEventListener('lostpointercapture', event => {
    if (held !== event.pointerId) return;
    held = null;
    settle(state);
  });
  svg.addEventListener('pointerleave', () => { state.hover = null; change(state); });
  svg.addEventListener('click', event => {
    if (event.pointerType === 'mouse' || isMark(event.target)) return;
    state.at = placeAt(event).map(rounded);
    settle(state);
  });
  state.mark.addEventListener('keydown', event => {
    const way = ARROWS[event.key];
    if (!way || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    state.at = state.at.map((x, k) => rounded(x + way[k] * (event.shiftKey ? MARK_STEP / 5 : MARK_STEP)));
    change(state);
  });
  state.mark.addEventListener('keyup', event => { if (ARROWS[event.key]) settle(state); });
}

// Cells, dots and words: when another head is opened, or the window gets another size.
function drawChart(root, state) {
  const canvas = root.querySelector('.gc-heads-chart canvas');
  const side = canvas.clientWidth;
  if (!side) return;
  const ratio = Math.min(devicePixelRatio || 1, 2);
  if (canvas.width !== Math.round(side * ratio)) canvas.width = canvas.height = Math.round(side * ratio);
  const head = shownHead(state);
  const shade = head.shade;
  paintGlass(canvas, head, { lit: state.lit, lead: 1.5 * ratio, shadeSide: CHART_SHADE });
  if (shade) head.shade = shade; // that of its window
  const named = paintWords(canvas, head, ratio * Math.max(13, side / 26), 12, state.lit);
  const svg = root.querySelector('.gc-heads-over');
  assign(svg, { viewBox: `0 0 ${side} ${side}` });
  const shown = named.map(({ x, y }) => [2 * x - 1, 1 - 2 * y]);
  const parts = [];
  state.header.words.forEach((word, number) => {
    const place = stateOf(head, number);
    if (!isOnChart(place)) return;
    const [x, y] = [(1 + place[0]) / 2 * side, (1 - place[1]) / 2 * side];
    parts.push(make('circle', { cx: x, cy: y, r: head.three.includes(number) ? 5 : 2.6 }));
    const alone = shown.every(other => Math.hypot(other[0] - place[0], other[1] - place[1]) > DOT_ROOM);
    if (!alone || x > side - 8 * word.length) return;
    shown.push(place);
    parts.push(make('text', { x: x + 5, y: y - 4 }, word));
  });
  state.dots.replaceChildren(...parts);
}

function drawMark(state, side) {
  const [u, v] = state.hover ?? state.at;
  assign(state.mark, { transform: `translate(${(1 + u) / 2 * side},${(1 - v) / 2 * side})`, 'aria-valuenow': u });
  state.mark.classList.toggle('gc-mark-hovers', Boolean(state.hover));
}
