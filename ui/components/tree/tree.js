// The tree of one entry, redrawn in the browser while the input or the gate's strength moves.
//
// Python sends { label, name, values, queries, keys, projection, tokens, valueMap, channel, gate:
// { place, kind, logits, title } or null, strength, point, expert, spare, heard } and receives
// "left" with { point, strength, expert, serial }.

const LEAST_HEIGHT = 290; // pixels
const ROOT_PIXELS = 16; // of the page's type; in present mode it is larger, and the tree with it
const INPUT = { side: 240, unit: 95, centre: [131, 115] }; // pixels of the square in tree.html
const STEP = 1 / 20; // of an arrow key
const FINE_STEP = 1 / 100;

export default function (component) {
  const { data: [data] } = component;
  const take = ({ x, strength, followed }) => ({ point: x, strength, expert: followed });
  const state = stateOf(component, 'tree', 'left', { take, draw: drawTree, hover: '' });
  hear(state, data.heard);
  if (!isOurs(state)) {
    Object.assign(state, { x: data.point, strength: data.strength, followed: data.expert });
  }
  const numbers = JSON.stringify([data.values, data.gate, data.channel, data.queries, data.keys]);
  if (numbers !== state.numbers) state.width = 0; // to be made anew
  if (!state.data) listen(state);
  Object.assign(state, { data, numbers });
  drawTree(state);
  post(state);
}

function listen(state) {
  const svg = state.find('plot');
  const slider = state.root.querySelector('input');
  slider.addEventListener('input', () => {
    state.strength = Number(slider.value);
    change(state);
  });
  slider.addEventListener('change', () => settle(state));
  const expertAt = event => event.target.closest?.('.gc-expert')?.dataset.expert ?? '';
  const point = expert => {
    state.hover = expert;
    drawTree(state);
  };
  for (const name of ['pointerover', 'focusin']) {
    svg.addEventListener(name, event => point(expertAt(event)));
  }
  for (const name of ['pointerleave', 'focusout']) svg.addEventListener(name, () => point(''));
  const pick = expert => {
    state.followed = expert === state.followed ? '' : expert; // a second time: none
    state.hover = '';
    settle(state);
  };
  svg.addEventListener('click', event => expertAt(event) && pick(expertAt(event)));
  svg.addEventListener('keydown', event => {
    if (!expertAt(event) || (event.key !== 'Enter' && event.key !== ' ')) return;
    event.preventDefault();
    pick(expertAt(event));
  });
  redrawOnResize(svg, () => drawTree(state));
  listenToInput(state);
}

// The input, a point of the square.
function listenToInput(state) {
  const [square, handle] = [state.find('input'), state.find('handle')];
  const pointAt = event => {
    const [x, y] = pixelOf(square, INPUT.side, event);
    return [(x - INPUT.centre[0]) / INPUT.unit, (INPUT.centre[1] - y) / INPUT.unit];
  };
  const move = place => {
    state.x = place.map(x => Number(Math.max(-1, Math.min(1, x)).toFixed(4)) + 0);
    change(state);
  };
  keepTouch(square, node => handle.contains(node));
  listenToHand(handle, {
    take: event => {
      event.preventDefault();
      handle.focus({ preventScroll: true });
      const from = pointAt(event);
      return { shift: state.x.map((x, k) => x - from[k]) };
    },
    drag: (event, { shift }) => move(pointAt(event).map((x, k) => x + shift[k])),
    step: (way, { shiftKey }) =>
      move(state.x.map((x, k) => x + way[k] * (shiftKey ? FINE_STEP : STEP))),
    release: () => settle(state),
  });
}

function drawInput({ find, x }) {
  const [across, down] = [0, 1].map(k => INPUT.centre[k] + (k ? -1 : 1) * INPUT.unit * x[k]);
  const words = `x₁ ${x[0].toFixed(2)}, x₂ ${x[1].toFixed(2)}`.replaceAll('-', '−');
  assign(find('handle'), { transform: `translate(${across} ${down})`, 'aria-valuenow': x[0],
    'aria-valuetext': words });
  find('place').textContent = words;
}

function drawTree(state) {
  const { root, find, data } = state;
  const svg = find('plot');
  const width = svg.clientWidth;
  if (!width) return; // in a hidden tab; drawn when that opens
  const scale = parseFloat(getComputedStyle(document.documentElement).fontSize) / ROOT_PIXELS;
  if (width !== state.width || scale !== state.scale) build(svg, state, width, scale);
  state.entry = entryOf(data, state.x, state.strength);
  state.updates.forEach(update => update(state.entry));
  svg.setAttribute('aria-label', data.label);
  drawInput(state);
  const [text, slider] = find('strength').children;
  find('strength').hidden = !data.gate;
  text.textContent = `Gate interpolation λ = ${state.strength.toFixed(2)}`;
  slider.value = state.strength;
  const expert = state.hover || state.followed;
  svg.classList.toggle('gc-follows', Boolean(expert));
  for (const group of svg.querySelectorAll('.gc-expert')) {
    group.classList.toggle('gc-followed', group.dataset.expert === expert);
    group.setAttribute('aria-pressed', group.dataset.expert === state.followed);
  }
  find('sum').textContent = sumText(state);
  find('formula').replaceChildren(...formulaLines(state, expert));
  countDrawing(root);
}

function build(svg, state, pixels, scale) {
  Object.assign(state, { width: pixels, scale });
  const width = pixels / scale;
  const { data } = state;
  const draw = pen(svg);
  const focus = svg.contains(document.activeElement) && document.activeElement.dataset.expert;
  const box = svg.querySelector('.gc-gate-box') ?? gateBox();
  svg.replaceChildren(box);
  const room = Math.max(LEAST_HEIGHT, (window.innerHeight - data.spare) / scale);
  const drawn = width < NARROW ? drawNarrow(draw, data, width) : drawWide(draw, data, width, room);
  assign(svg, { viewBox: `0 0 ${width} ${drawn.height}`, height: drawn.height * scale });
  moveBox(box, drawn.box, data.gate?.title);
  state.updates = draw.updates;
  if (focus) svg.querySelector(`[data-expert="${focus}"]`)?.focus({ preventScroll: true });
}

// The gate's box stays the same element, so that one sees it move to another place.
function gateBox() {
  const box = make('g', { class: 'gc-gate-box' });
  box.append(make('rect', { x: -BOX.half, width: 2 * BOX.half, rx: 6 }),
    make('text', { 'text-anchor': 'middle' }));
  return box;
}

function moveBox(box, place, title) {
  box.style.display = place ? '' : 'none';
  if (!place) return;
  const [top, bottom] = place.span;
  box.style.transform = `translateX(${place.x}px)`;
  assign(box.firstChild, { y: top, height: bottom - top });
  assign(box.lastChild, { y: top + 10 });
  box.lastChild.textContent = title;
}

// ---- in words ---------------------------------------------------------------------------------

function sumText({ data, entry }) {
  const heads = entry.heads.map(head => numberText(head.sum)).join(' + ').replaceAll('+ −', '− ');
  const all = data.gate?.place === 'G5' ? `${numberText(entry.outside)} · (${heads})` : heads;
  return `${data.name} = ${all} ≈ ${numberText(entry.value)}`;
}

function formulaLines({ data, entry, x }, expert) {
  const [h, c] = expert.split('.').map(number => number - 1);
  const own = entry.heads[h]?.experts[c];
  const line = (...parts) => element('div', {}, ...parts);
  if (!own) return [line(data.hint)];
  const strong = text => element('b', {}, text);
  const place = data.gate?.place;
  const gate = (at, number) => (place === at ? ` × gate ${numberText(number)}` : '');
  const tokens = own.tokens.map(part =>
    `${numberText(part.weight)}${gate('G2', part.gate)} · ${numberText(part.gives)}`).join(' + ');
  const ungated = own.tokens.map(part => numberText(part.ungated)).join(', ');
  const routed = ROUTING.includes(place) ? ` Without the gate, α would be ${ungated}.` : '';
  const vector = numbers => `(${numbers.map(numberText).join(', ')})`;
  const factors = `Wₒ ${numberText(own.projection)}${gate('G1', own.gate)}`;
  const first = affine(data.tokens, x)[0];
  return [
    line(strong(`Expert ${c + 1} of head ${h + 1}: `), `${factors} × [${tokens}] = `,
      strong(numberText(own.sum)), `.${routed}`),
    line(`Its linear map is Wᵥ[:, ${expert}] = ${vector(data.valueMap[h][c])}. Token 1 is`
      + ` ${vector(first)}, so its value is ${numberText(own.tokens[0].gives)}.`),
  ];
}
