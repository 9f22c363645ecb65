// The wall: a window for each head, layers down and heads across. Each is a button.

const SMALLEST_LETTERED = 48; // pixels: a smaller window has no words

function buildWall(root, state) {
  const { layers, heads } = state.header;
  const glass = root.querySelector('.gc-heads-glass');
  glass.style.setProperty('--gc-columns', heads);
  glass.style.setProperty('--gc-rows', layers);
  const narrow = Math.min(heads, 6); // windows in a row on a phone
  glass.style.setProperty('--gc-narrow', narrow);
  glass.style.setProperty('--gc-folded', Math.ceil(heads / narrow));
  const cells = [];
  cells.push(label('gc-heads-corner', ''), ...Array.from({ length: heads }, (_, head) => label('gc-heads-column', head ? `${head + 1}` : 'head 1')));
  state.windows = [];
  for (let layer = 0; layer < layers; layer += 1) {
    const name = label('gc-heads-layer', state.header.layerNames[layer]);
    if (!layer) name.prepend(label('', 'layer '));
    cells.push(name);
    for (let head = 0; head < heads; head += 1) {
      const button = Object.assign(document.createElement('button'), { type: 'button', className: 'gc-window', tabIndex: cells.length > heads + 2 ? -1 : 0 });
      button.dataset.head = `${layer}.${head}`;
      button.append(document.createElement('canvas'));
      button.setAttribute('aria-label', headName(state, layer, head));
      state.windows.push(button);
      cells.push(button);
    }
  }
  glass.replaceChildren(...cells);
}

function label(className, text) {
  const span = Object.assign(document.createElement('span'), { className, textContent: text });
  span.setAttribute('aria-hidden', 'true');
  return span;
}

function listenToWall(root, state) {
  const glass = root.querySelector('.gc-heads-glass');
  const windowOf = event => event.target.closest?.('.gc-window');
  glass.addEventListener('click', event => {
    const button = windowOf(event);
    if (button) openHead(root, state, button.dataset.head.split('.').map(Number), button);
  });
  const point = button => { state.pointed = button?.dataset.head ?? null; drawNote(root, state); };
  glass.addEventListener('pointerover', event => { if (event.pointerType === 'mouse') point(windowOf(event)); });
  glass.addEventListener('pointerleave', () => point(null));
  glass.addEventListener('focusin', event => point(windowOf(event)));
  glass.addEventListener('focusout', () => point(null));
  glass.addEventListener('keydown', event => {
    const way = ARROWS[event.key];
    const button = windowOf(event);
    if (!way || !button || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const [layer, head] = button.dataset.head.split('.').map(Number);
    focusWindow(state, [layer - way[1], head + way[0]]);
  });
}

function focusWindow(state, [layer, head]) {
  const { layers, heads } = state.header;
  const at = Math.max(0, Math.min(layers - 1, layer)) * heads + Math.max(0, Math.min(heads - 1, head));
  state.windows.forEach((button, i) => { button.tabIndex = i === at ? 0 : -1; });
  state.windows[at].focus();
}

// Paints all windows, one row of them in a frame: the wall lights up from above. What was painted before is
// painted again at once.
function drawWall(root, state) {
  const { heads } = state.header;
  cancelAnimationFrame(state.painting);
  const paint = from => {
    for (const button of state.windows.slice(from, from + heads)) paintWindow(root, state, button);
    const next = from + heads;
    if (next < state.windows.length && state.each.at(-1).shade) paint(next);
    else if (next < state.windows.length) state.painting = requestAnimationFrame(() => paint(next));
    else root.dataset.n = 1 + Number(root.dataset.n ?? 0);
  };
  paint(0);
}

function paintWindow(root, state, button) {
  const canvas = button.querySelector('canvas');
  const side = canvas.clientWidth;
  if (!side) return; // not on the screen
  const ratio = Math.min(devicePixelRatio || 1, 2);
  if (canvas.width !== Math.round(side * ratio)) canvas.width = canvas.height = Math.round(side * ratio);
  const [layer, number] = button.dataset.head.split('.').map(Number);
  const head = headOf(state, layer, number);
  const { frames, heads } = state.header;
  button.style.borderColor = frames ? frames.colours[layer * heads + number] : '';
  paintGlass(canvas, head, { lit: state.lit, lead: ratio * Math.max(0.8, side / 90) });
  if (side >= SMALLEST_LETTERED) paintWords(canvas, head, ratio * Math.max(12, side / 9), 4, state.lit);
  button.setAttribute('aria-label', windowSentence(state, layer, number));
}

const headName = (state, layer, head) => `Layer ${state.header.layerNames[layer]}, head ${head + 1}`;

function windowSentence(state, layer, number) {
  const head = headOf(state, layer, number);
  const { frames, heads } = state.header;
  head.cells ??= cellsOf(head);
  const named = head.cells.slice(0, 3).map(({ key, share }) => `“${head.words[key]}” ${percentOf(share)}`).join(', ');
  const more = head.cells.length > 3 ? ` and ${head.cells.length - 3} more` : '';
  const framed = frames ? ` ${frames.name}: ${frames.texts[layer * heads + number]}.` : '';
  return `${headName(state, layer, number)}: attends most to ${named} of its chart${more}.${framed}`;
}

function drawNote(root, state) {
  if (state.open) return;
  const note = root.querySelector('.gc-heads-note');
  const pointed = state.pointed?.split('.').map(Number);
  note.textContent = pointed ? windowSentence(state, ...pointed) : state.header.hint;
}
