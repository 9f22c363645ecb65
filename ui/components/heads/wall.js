// The wall: a window for each head, layers down and heads across. Each is a button.

const SMALLEST_LETTERED = 48; // pixels: a smaller window has no words
const NARROW = 6; // windows in a row on a phone

function buildWall(state) {
  const { layers, heads, layerNames } = state.header;
  const glass = state.find('glass');
  const narrow = Math.min(heads, NARROW);
  const counts = { columns: heads, rows: layers, narrow, folded: Math.ceil(heads / narrow) };
  Object.entries(counts).forEach(([name, n]) => glass.style.setProperty(`--gc-${name}`, n));
  const columns = Array.from({ length: heads }, (_, head) => (head ? `${head + 1}` : 'head 1'));
  state.windows = state.each.map((_, at) => {
    const [layer, head] = [Math.floor(at / heads), at % heads];
    const button = element('button',
      { type: 'button', className: 'gc-window', tabIndex: at ? -1 : 0 }, element('canvas'));
    button.dataset.head = `${layer}.${head}`;
    return button;
  });
  const rows = layerNames.flatMap((text, layer) => {
    const name = label('gc-heads-layer', text);
    if (!layer) name.prepend(label('', 'layer '));
    return [name, ...state.windows.slice(layer * heads, (layer + 1) * heads)];
  });
  glass.replaceChildren(label('gc-heads-corner', ''),
    ...columns.map(text => label('gc-heads-column', text)), ...rows);
}

const label = (className, text) => element('span', { className, ariaHidden: 'true' }, text);

const headAt = button => button.dataset.head.split('.').map(Number);

function listenToWall(state) {
  const glass = state.find('glass');
  const windowOf = event => event.target.closest?.('.gc-window');
  glass.addEventListener('click', event => {
    const button = windowOf(event);
    if (button) openHead(state, headAt(button), button);
  });
  const point = button => {
    state.pointed = button ? headAt(button) : null;
    drawNote(state);
  };
  glass.addEventListener('pointerover', event => {
    if (event.pointerType === 'mouse') point(windowOf(event));
  });
  glass.addEventListener('focusin', event => point(windowOf(event)));
  for (const name of ['pointerleave', 'focusout']) glass.addEventListener(name, () => point(null));
  glass.addEventListener('keydown', event => {
    const way = ARROWS[event.key];
    const button = windowOf(event);
    if (!way || !button || isChord(event)) return;
    event.preventDefault();
    const [layer, head] = headAt(button);
    focusWindow(state, [layer - way[1], head + way[0]]);
  });
}

function focusWindow(state, [layer, head]) {
  const { layers, heads } = state.header;
  const within = (at, count) => Math.max(0, Math.min(count - 1, at));
  focusOne(state.windows, within(layer, layers) * heads + within(head, heads));
}

// Paints all windows, one row of them in a frame: the wall lights up from above. What was painted
// before is painted again at once.
function drawWall(state) {
  const { heads } = state.header;
  cancelAnimationFrame(state.painting);
  const paint = from => {
    for (const button of state.windows.slice(from, from + heads)) paintWindow(state, button);
    const next = from + heads;
    if (next >= state.windows.length) countDrawing(state.root);
    else if (state.each.at(-1).shade) paint(next);
    else state.painting = requestAnimationFrame(() => paint(next));
  };
  paint(0);
}

function paintWindow(state, button) {
  const canvas = button.querySelector('canvas');
  const side = canvas.clientWidth;
  if (!side) return; // not on the screen
  const [layer, number] = headAt(button);
  const head = headOf(state, layer, number);
  const { frames, heads } = state.header;
  button.style.borderColor = frames ? frames.colours[layer * heads + number] : '';
  paintGlass(canvas, head, { lit: state.lit, lead: Math.max(0.8, side / 90) });
  if (side >= SMALLEST_LETTERED) paintWords(canvas, head, Math.max(12, side / 9), 4, state.lit);
  button.setAttribute('aria-label', windowSentence(state, layer, number));
}

const headName = ({ header }, layer, head) =>
  `Layer ${header.layerNames[layer]}, head ${head + 1}`;

function windowSentence(state, layer, number) {
  const head = headOf(state, layer, number);
  const { frames, heads } = state.header;
  head.cells ??= cellsOf(head);
  const percents = percentsOf(head.cells.map(({ share }) => share));
  const named = head.cells.slice(0, 3).map(({ key }, i) => `“${head.words[key]}” ${percents[i]}`);
  const more = head.cells.length > 3 ? ` and ${head.cells.length - 3} more` : '';
  const framed = frames ? ` ${frames.name}: ${frames.texts[layer * heads + number]}.` : '';
  const name = headName(state, layer, number);
  return `${name}: attends most to ${named.join(', ')} of its chart${more}.${framed}`;
}

function drawNote(state) {
  if (state.open) return;
  const said = state.pointed ? windowSentence(state, ...state.pointed) : state.header.hint;
  state.find('note').textContent = said;
}
