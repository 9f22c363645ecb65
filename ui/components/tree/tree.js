// The tree of one entry, redrawn in the browser while the input or the gate's strength moves.
// Comes after wire.js, svg.js, entry.js and picture.js.
//
// Python sends { label, name, values, queries, keys, projection, tokens, valueMap, channel, gate:
// { place, kind, logits, title } or null, strength, point, pad, expert, spare, heard } and receives
// "moved" with { strength, serial } and "picked" with { expert, serial }. `pad` names the pad whose
// first handle is the input.

const LEAST_HEIGHT = 250; // pixels
const ROOT_PIXELS = 16; // of the page's type; in present mode it is larger, and the whole tree with it

export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = parentElement.querySelector('.gc-tree');
  const state = (root.__gc ??= { heard: 0, next: nextMessage, x: data.point });
  state.report = setTriggerValue;
  hear(state, data.heard);
  const isOurs = isUnheard(state, state.flying) || state.moved || state.picked !== undefined;
  if (!isOurs) Object.assign(state, { strength: data.strength, followed: data.expert });
  const numbers = JSON.stringify([data.values, data.gate, data.channel, data.queries, data.keys]);
  if (numbers !== state.numbers) state.width = 0; // to be made anew
  Object.assign(state, { data, numbers });
  if (!state.wired) listen(root, state);
  redraw(root, state);
  post(root, state);
}

function nextMessage(state) {
  if (state.moved) {
    return { name: 'moved', take: () => {
      state.moved = false;
      return { strength: state.strength };
    } };
  }
  return state.picked !== undefined && { name: 'picked', take: () => {
    const expert = state.picked;
    state.picked = undefined;
    return { expert };
  } };
}

function listen(root, state) {
  state.wired = true;
  const svg = root.querySelector('.gc-tree-plot');
  const input = root.querySelector('input');
  input.addEventListener('input', () => {
    Object.assign(state, { strength: Number(input.value), held: true });
    redraw(root, state);
  });
  input.addEventListener('change', () => {
    Object.assign(state, { held: false, moved: true });
    post(root, state);
  });
  const expertAt = event => event.target.closest?.('.gc-expert')?.dataset.expert ?? '';
  for (const [name, at] of [['pointerover', expertAt], ['pointerleave', () => ''], ['focusin', expertAt], ['focusout', () => '']]) {
    svg.addEventListener(name, event => {
      state.hover = at(event);
      redraw(root, state);
    });
  }
  const pick = expert => {
    state.followed = state.picked = expert === state.followed ? '' : expert; // a second time: none
    state.hover = '';
    redraw(root, state);
    post(root, state);
  };
  svg.addEventListener('click', event => expertAt(event) && pick(expertAt(event)));
  svg.addEventListener('keydown', event => {
    if (!expertAt(event) || (event.key !== 'Enter' && event.key !== ' ')) return;
    event.preventDefault();
    pick(expertAt(event));
  });
  redrawOnResize(svg, () => redraw(root, state));
  const follow = ({ detail }) => {
    if (!root.isConnected) return document.removeEventListener(PAD_MOVED, follow);
    if (detail.pad !== state.data.pad) return undefined;
    state.x = detail.places[0];
    return redraw(root, state);
  };
  document.addEventListener(PAD_MOVED, follow);
}

function redraw(root, state) {
  const svg = root.querySelector('.gc-tree-plot');
  const width = svg.clientWidth;
  if (!width) return; // in a hidden tab; drawn when that opens
  const { data } = state;
  const scale = parseFloat(getComputedStyle(document.documentElement).fontSize) / ROOT_PIXELS;
  if (width !== state.width || scale !== state.scale) build(svg, state, width, scale);
  state.entry = entryOf(data, state.x, state.strength);
  state.updates.forEach(update => update(state.entry));
  svg.setAttribute('aria-label', data.label);
  const bar = root.querySelector('.gc-tree-strength');
  bar.hidden = !data.gate;
  bar.firstElementChild.textContent = `Gate interpolation λ = ${state.strength.toFixed(2)}`;
  if (!state.held) bar.lastElementChild.value = state.strength;
  const expert = state.hover || state.followed;
  svg.classList.toggle('gc-follows', Boolean(expert));
  for (const group of svg.querySelectorAll('.gc-expert')) {
    group.classList.toggle('gc-followed', group.dataset.expert === expert);
    group.setAttribute('aria-pressed', group.dataset.expert === state.followed);
  }
  root.querySelector('.gc-tree-sum').textContent = sumText(state);
  root.querySelector('.gc-tree-formula').replaceChildren(...formulaLines(state, expert));
  root.dataset.n = Number(root.dataset.n ?? 0) + 1;
}

function build(svg, state, pixels, scale) {
  Object.assign(state, { width: pixels, scale });
  const width = pixels / scale;
  const { data } = state;
  const draw = pen(svg);
  const focus = svg.contains(document.activeElement) ? document.activeElement.dataset.expert : null;
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
  box.append(make('rect', { x: -BOX.half, width: 2 * BOX.half, rx: 6 }), make('text', { y: BOX.top - 1, 'text-anchor': 'middle' }));
  return box;
}

function moveBox(box, place, title) {
  box.style.display = place ? '' : 'none';
  if (!place) return;
  const [top, bottom] = place.span;
  box.style.transform = `translateX(${place.x}px)`;
  assign(box.firstChild, { y: top, height: bottom - top });
  assign(box.lastChild, { y: top + 1 });
  box.lastChild.textContent = title;
}

// ---- in words ---------------------------------------------------------------------------------

function sumText({ data, entry }) {
  const heads = entry.heads.map(head => numberText(head.sum)).join(' + ').replaceAll('+ −', '− ');
  return `${data.name} = ${heads} = ${numberText(entry.value)}`;
}

function line(...parts) {
  const out = document.createElement('span');
  out.style.display = 'block';
  out.append(...parts);
  return out;
}

function strong(text) {
  const out = document.createElement('b');
  out.textContent = text;
  return out;
}

function formulaLines({ data, entry, x }, expert) {
  if (!expert) return [line(data.hint)];
  const [h, c] = expert.split('.').map(number => number - 1);
  const own = entry.heads[h]?.experts[c];
  if (!own) return [line(data.hint)];
  const factor = (place, number) => (data.gate?.place === place ? ` × gate ${numberText(number)}` : '');
  const tokens = own.tokens.map(part => `${numberText(part.weight)}${factor('G2', part.gate)} · ${numberText(part.gives)}`);
  const routed = ['G3', 'G4'].includes(data.gate?.place)
    ? ` Without the gate, α would be ${own.tokens.map(part => numberText(part.ungated)).join(', ')}.` : '';
  const vector = numbers => `(${numbers.map(numberText).join(', ')})`;
  const first = affine(data.tokens, x)[0];
  return [
    line(strong(`Expert ${c + 1} of head ${h + 1}: `), `Wₒ ${numberText(own.projection)}${factor('G1', own.gate)}`
      + `${factor('G5', entry.outside)} × [${tokens.join(' + ')}] = `, strong(numberText(own.sum)), `.${routed}`),
    line(`Its linear map is Wᵥ[:, ${expert}] = ${vector(data.valueMap[h][c])}. Token 1 is ${vector(first)},`
      + ` so its value is ${numberText(own.tokens[0].gives)}.`),
  ];
}
