// What do the drawings in SVG share? Elements, the pointer's place, the ways of the arrow keys.
// Stands before the script of a component that draws so (see source.py).

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

// Where a pointer is, in the drawing's own units, of which there are `size` from left to right.
function pixelOf(svg, size, event) {
  const box = svg.getBoundingClientRect();
  const scale = size / box.width;
  return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
}

// Beside what `isMine` a finger scrolls the page. Chromium heeds `touch-action` on the whole picture,
// not on shapes within it, and would take the pointer away in the middle of a drag.
function keepTouch(svg, isMine) {
  svg.addEventListener('touchstart', event => {
    if (isMine(event.target)) event.preventDefault();
  }, { passive: false });
}

// Drawn in true pixels, so that words and touch areas keep their size in a narrow column.
function redrawOnResize(svg, redraw) {
  const observer = new ResizeObserver(redraw);
  observer.observe(svg);
  return observer;
}
