// What the drawings in SVG share: elements, the pointer's position, directions of the arrow keys.
// Comes before the script of a component that uses it (see source.py).

const SVG = 'http://www.w3.org/2000/svg';
const PAD_MOVED = 'gc-pad-moved'; // on the document: { pad, places }, after every drawing of a pad
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

// Except on nodes that are `isMine`, a finger scrolls the page. Chromium applies `touch-action` to the
// whole picture, not to shapes within it, and would end a drag in the middle.
function keepTouch(svg, isMine) {
  svg.addEventListener('touchstart', event => {
    if (isMine(event.target)) event.preventDefault();
  }, { passive: false });
}

// One unit is one pixel, so that text and touch areas keep their size in a narrow column.
function redrawOnResize(svg, redraw) {
  const observer = new ResizeObserver(() => { if (svg.isConnected) redraw(); }); // it hears of leaving, too
  observer.observe(svg);
  return observer;
}
