// A dot for every seed, a row for each kind of model.
//
// Python sends { label, title, rows: [{ name, colour, values }], seeds, shown, range, ticks,
// picks, heard } and receives "picked" with { seed, serial }. A picked dot is ringed before Python
// answers.

const ROW = 34; // pixels high
// In heights of the type, which is larger in present mode:
const FOOT = 3.1; // for the axis and its title
const LETTER = 0.55; // about the width of one in the names of rows
const RADIUS = { other: 5, shown: 7 };
const SPREAD = 8; // pixels up and down, so that dots of equal accuracy do not cover each other

export default function (component) {
  const { data: [data] } = component;
  const take = ({ shown, data: { seeds } }) => ({ seed: seeds[shown] });
  const state = stateOf(component, 'strip', 'picked', { take, draw: drawStrip });
  hear(state, data.heard);
  if (!isOurs(state)) state.shown = data.shown;
  if (!state.data) redrawOnResize(state.root, () => drawStrip(state));
  state.data = data;
  drawStrip(state);
  post(state);
}

function drawStrip(state) {
  const svg = state.root.querySelector('svg');
  const { label, title, rows, range: [low, high], ticks, picks } = state.data;
  const width = svg.clientWidth;
  if (!width) return; // not on the screen yet
  const type = parseFloat(getComputedStyle(svg).fontSize);
  const foot = FOOT * type;
  const height = ROW * rows.length + foot;
  const letters = Math.max(...rows.map(({ name }) => name.length));
  const left = Math.min(width / 3, LETTER * type * letters + 16);
  const across = value => left + (value - low) / (high - low) * (width - left - 12);
  const text = (x, y, anchor, content) => make('text', { x, y, 'text-anchor': anchor }, content);
  const axis = ticks.flatMap(tick => [
    make('line', { x1: across(tick), x2: across(tick), y1: 4, y2: height - foot }),
    text(across(tick), height - foot + 1.25 * type, 'middle', `${tick}`.replace('-', '−')),
  ]);
  const dots = rows.flatMap(({ name, colour, values }, row) => {
    const middle = ROW * (row + 0.5);
    return [text(left - 12, middle + 4, 'end', name), ...values.flatMap((value, place) => {
      if (!Number.isFinite(value)) return [];
      const up = values.length > 1 ? SPREAD * (2 * place / (values.length - 1) - 1) : 0;
      const shown = place === state.shown;
      const dot = make('circle', { cx: across(value), cy: middle + up, fill: colour,
        r: RADIUS[shown ? 'shown' : 'other'], class: shown ? 'gc-dot gc-shown' : 'gc-dot' });
      const said = `${name}, seed ${state.data.seeds[place]}: ${value.toFixed(1)} %`;
      dot.append(make('title', {}, said));
      if (picks) makeButton(state, dot, said, place, `${row}.${place}`);
      return [dot];
    })];
  });
  const focus = svg.contains(document.activeElement) && document.activeElement.dataset.place;
  const role = picks ? 'group' : 'img';
  assign(svg, { viewBox: `0 0 ${width} ${height}`, height, role, 'aria-label': label });
  const caption = text((left + width) / 2, height - 0.45 * type, 'middle', title);
  svg.replaceChildren(...axis, caption, ...dots);
  if (focus) svg.querySelector(`[data-place="${focus}"]`)?.focus({ preventScroll: true });
}

function makeButton(state, dot, said, shown, place) {
  assign(dot, { role: 'button', tabindex: 0, 'aria-label': said, 'data-place': place,
    'aria-pressed': shown === state.shown });
  const choose = () => {
    state.shown = shown;
    settle(state);
  };
  dot.onclick = choose;
  dot.onkeydown = event => {
    if (event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    choose();
  };
}
