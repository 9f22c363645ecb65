// The chart of the open head: its cells, the text's own states as dots, and a mark to drag.

const DOT_ROOM = 0.15; // of half the chart, between the words of two dots
const MARK_STEP = 0.05;
const CHART_SHADE = 160; // pixels of its brightness
const TOUCHED = 22; // pixels around the mark
const rounded = x => Number(Math.max(-1, Math.min(1, x)).toFixed(3)) + 0;

function buildChart(state) {
  const svg = state.find('over');
  state.dots = make('g', { 'aria-hidden': 'true' });
  state.mark = make('g', { class: 'gc-mark', tabindex: 0, role: 'slider', 'aria-valuemin': -1,
    'aria-valuemax': 1, 'aria-label': 'Marked place of the query' });
  state.mark.append(make('circle', { class: 'gc-mark-touch', r: TOUCHED }),
    make('circle', { class: 'gc-mark-ring', r: 11 }),
    make('path', { class: 'gc-mark-cross', d: 'M-7 0H7M0 -7V7' }));
  svg.replaceChildren(state.dots, state.mark);
  const placeAt = event => {
    const [x, y] = pixelOf(svg, 2, event);
    return [rounded(x - 1), rounded(1 - y)];
  };
  const isMark = node => Boolean(node.closest?.('.gc-mark'));
  const isMouse = event => event.pointerType === 'mouse';
  const move = place => {
    state.at = place;
    change(state);
  };
  keepTouch(svg, isMark);
  listenToHand(svg, {
    take: event => {
      if (!isMouse(event) && !isMark(event.target)) return null;
      event.preventDefault();
      state.mark.focus({ preventScroll: true });
      state.hover = null;
      move(placeAt(event));
      return true;
    },
    drag: event => move(placeAt(event)),
    step: (way, { shiftKey }) => {
      const step = shiftKey ? MARK_STEP / 5 : MARK_STEP;
      move(state.at.map((x, k) => rounded(x + way[k] * step)));
    },
    release: () => settle(state),
  });
  svg.addEventListener('pointermove', event => {
    if (state.handling || !isMouse(event)) return;
    state.hover = placeAt(event);
    redraw(state);
  });
  svg.addEventListener('pointerleave', () => {
    state.hover = null;
    redraw(state);
  });
  svg.addEventListener('click', event => {
    if (isMouse(event) || isMark(event.target)) return;
    state.at = placeAt(event);
    settle(state);
  });
}

// Cells, dots and words: when another head is opened, or the window gets another size.
function drawChart(state) {
  const canvas = state.find('chart').querySelector('canvas');
  const side = canvas.clientWidth;
  if (!side) return;
  const head = shownHead(state);
  const { shade } = head;
  paintGlass(canvas, head, { lit: state.lit, lead: 1.5, shadeSide: CHART_SHADE });
  if (shade) head.shade = shade; // that of its window
  const named = paintWords(canvas, head, Math.max(13, side / 26), 12, state.lit);
  assign(state.find('over'), { viewBox: `0 0 ${side} ${side}` });
  const shown = named.map(({ x, y }) => [2 * x - 1, 1 - 2 * y]);
  const parts = [];
  state.header.words.forEach((word, number) => {
    const place = stateOfToken(head, number);
    if (!isOnChart(place)) return;
    const [x, y] = [(1 + place[0]) / 2 * side, (1 - place[1]) / 2 * side];
    parts.push(make('circle', { cx: x, cy: y, r: head.three.includes(number) ? 5 : 2.6 }));
    const isNear = other => Math.hypot(other[0] - place[0], other[1] - place[1]) <= DOT_ROOM;
    if (shown.some(isNear) || x > side - 8 * word.length) return;
    shown.push(place);
    parts.push(make('text', { x: x + 5, y: y - 4 }, word));
  });
  state.dots.replaceChildren(...parts);
}

function drawMark(state) {
  const side = state.find('over').clientWidth;
  const [u, v] = state.hover ?? state.at;
  const transform = `translate(${(1 + u) / 2 * side},${(1 - v) / 2 * side})`;
  assign(state.mark, { transform, 'aria-valuenow': u });
  state.mark.classList.toggle('gc-mark-hovers', Boolean(state.hover));
}
