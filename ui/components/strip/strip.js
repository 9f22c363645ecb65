// A dot for every seed, a row for each kind of model. Comes after wire.js and svg.js.
//
// Python sends { label, title, rows: [{ name, colour, values }], seeds, shown, range, ticks, picks,
// heard } and receives "picked" with { seed, serial }. A picked dot is ringed at once, before Python has
// answered.

const ROW = 34; // pixels high
// In heights of the type, which is larger in present mode:
const FOOT = 3.1; // for the axis and its title
const LETTER = 0.55; // about the width of one in the names of rows
const RADIUS = { other: 5, shown: 7 };
const SPREAD = 8; // pixels up and down, so that dots of equal accuracy do not cover each other

export default function ({ data: [data], parentElement, setTriggerValue }) {
  const svg = parentElement.querySelector('.gc-strip');
  const state = (svg.__gc ??= { heard: 0, next: nextMessage });
  state.report = setTriggerValue;
  hear(state, data.heard);
  if (!isUnheard(state, state.flying) && state.picked === undefined) state.shown = data.shown;
  state.data = data;
  state.redraw = () => drawStrip(svg, state);
  if (!state.wired) redrawOnResize(svg, () => state.redraw());
  state.wired = true;
  state.redraw();
  post(svg, state);
}

const nextMessage = state => state.picked !== undefined && { name: 'picked', take: () => takePick(state) };

function takePick(state) {
  const seed = state.picked;
  state.picked = undefined;
  return { seed };
}

function drawStrip(svg, state) {
  const { label, title, rows, seeds, range: [low, high], ticks, picks } = state.data;
  const width = svg.clientWidth;
  if (!width) return; // not on the screen yet
  const type = parseFloat(getComputedStyle(svg).fontSize);
  const foot = FOOT * type;
  const height = ROW * rows.length + foot;
  const left = Math.min(width / 3, LETTER * type * Math.max(...rows.map(({ name }) => name.length)) + 16);
  const across = value => left + (value - low) / (high - low) * (width - left - 12);
  const focus = svg.contains(document.activeElement) ? document.activeElement.dataset.place : null;
  assign(svg, { viewBox: `0 0 ${width} ${height}`, height, role: picks ? 'group' : 'img', 'aria-label': label });
  const parts = ticks.flatMap(tick => [
    make('line', { x1: across(tick), x2: across(tick), y1: 4, y2: height - foot }),
    make('text', { x: across(tick), y: height - foot + 1.25 * type, 'text-anchor': 'middle' }, `${tick}`.replace('-', '−')),
  ]);
  parts.push(make('text', { x: (left + width) / 2, y: height - 0.45 * type, 'text-anchor': 'middle' }, title));
  rows.forEach(({ name, colour, values }, row) => {
    const middle = ROW * (row + 0.5);
    parts.push(make('text', { x: left - 12, y: middle + 4, 'text-anchor': 'end' }, name));
    values.forEach((value, place) => {
      if (!Number.isFinite(value)) return;
      const shown = place === state.shown;
      const up = values.length > 1 ? SPREAD * (2 * place / (values.length - 1) - 1) : 0;
      const dot = make('circle', { cx: across(value), cy: middle + up, r: RADIUS[shown ? 'shown' : 'other'],
        fill: colour, class: shown ? 'gc-dot gc-shown' : 'gc-dot' });
      const text = `${name}, seed ${seeds[place]}: ${value.toFixed(1)} %`;
      dot.append(make('title', {}, text));
      if (picks) {
        assign(dot, { role: 'button', tabindex: 0, 'aria-label': text, 'aria-pressed': shown, 'data-place': `${row}.${place}` });
        dot.onclick = () => choose(svg, state, place);
        dot.onkeydown = event => {
          if (event.key !== 'Enter' && event.key !== ' ') return;
          event.preventDefault();
          choose(svg, state, place);
        };
      }
      parts.push(dot);
    });
  });
  svg.replaceChildren(...parts);
  if (focus) svg.querySelector(`[data-place="${focus}"]`)?.focus({ preventScroll: true });
}

function choose(svg, state, place) {
  state.shown = place;
  state.picked = state.data.seeds[place];
  state.redraw();
  post(svg, state);
}
