// What is drawn in SVG and moved by hand: elements, pointers, and arrow keys.

const SVG = 'http://www.w3.org/2000/svg';
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

function assign(node, attributes) {
  Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));
}

function make(tag, attributes = {}, text = '') {
  const node = document.createElementNS(SVG, tag);
  assign(node, attributes);
  node.textContent = text;
  return node;
}

// The position of a pointer in the units of a drawing that is `size` units wide.
function pixelOf(svg, size, event) {
  const box = svg.getBoundingClientRect();
  const scale = size / box.width;
  return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
}

// Except on nodes that are `isMine`, a finger scrolls the page. Chromium applies `touch-action` to
// the whole picture, not to shapes within it, and would end a drag in the middle.
function keepTouch(svg, isMine) {
  svg.addEventListener('touchstart', event => {
    if (isMine(event.target)) event.preventDefault();
  }, { passive: false });
}

// One unit is one pixel, so that text and touch areas keep their size in a narrow column.
function redrawOnResize(node, redraw) {
  const observer = new ResizeObserver(() => { if (node.isConnected) redraw(); }); // of leaving, too
  observer.observe(node);
}

const isChord = event => event.ctrlKey || event.altKey || event.metaKey;

// Lets pointers and arrow keys move what stands on a node: `take(event)` returns what a press
// holds, or nothing; `drag(event, hold)` and `step(way, event)` move it; `release` ends either.
function listenToHand(node, { take, drag, step, release }) {
  const held = new Map(); // by pointer
  node.addEventListener('pointerdown', event => {
    const hold = event.button === 0 && take(event);
    if (!hold) return;
    node.setPointerCapture(event.pointerId);
    held.set(event.pointerId, hold);
  });
  node.addEventListener('pointermove', event => {
    if (held.has(event.pointerId)) drag(event, held.get(event.pointerId));
  });
  node.addEventListener('lostpointercapture', event => {
    if (held.delete(event.pointerId)) release();
  });
  node.addEventListener('keydown', event => {
    const way = ARROWS[event.key];
    if (!way || isChord(event) || step(way, event) === false) return;
    event.preventDefault();
  });
  node.addEventListener('keyup', event => { if (ARROWS[event.key]) release(); });
}

// Shares that sum to one in whole percent, which sum to 100: the largest remainders are rounded up.
function percentsOf(shares) {
  const whole = shares.map(share => Math.floor(100 * share));
  const missing = 100 - whole.reduce((sum, percent) => sum + percent, 0);
  const remainder = i => 100 * shares[i] - whole[i];
  const order = [...shares.keys()].sort((i, j) => remainder(j) - remainder(i));
  for (const i of order.slice(0, missing)) whole[i] += 1;
  return whole.map((percent, i) => (percent || !shares[i] ? `${percent} %` : '< 1 %'));
}
