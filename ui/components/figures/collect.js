// The pictures that are on the page, and what is drawn in one of them.

const LEFT_OUT = 'button, input, select, svg, style, [role=alert], [aria-live=polite],'
  + ' [class$="-hint"]';
const TOLD = 'p, dl, label, table, [class$="-verdict"], [class$="-more"]'; // not in the picture
const DRAWN_BY = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-opacity', 'opacity',
  'stroke-dasharray', 'font-size', 'font-family', 'font-style', 'font-weight', 'text-anchor',
  'dominant-baseline', 'visibility', 'display', 'background-color'];
const BAR = /linear-gradient\(90deg, (.*)\)/;
const STOP = /(rgba?\([^)]*\)) ([\d.]+)%/g;

const isShown = node => node.checkVisibility() && node.getBoundingClientRect().width > 0;
const isPart = node => /(^|\s)gc-/.test(node?.getAttribute?.('class') ?? '');
const plain = text => text.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ').trim();

// The outermost part of the component that a node belongs to.
function rootOf(node) {
  while (isPart(node.parentElement)) node = node.parentElement;
  return node;
}

// { root, title } of each, from the top of the page; a chart in an open popover counts, too.
function picturesOnPage() {
  const own = [...document.querySelectorAll('canvas')].filter(node => node.gcView && isShown(node));
  const charts = [...document.querySelectorAll('.stPlotlyChart .js-plotly-plot')].filter(isShown);
  const topOf = root => root.getBoundingClientRect().top;
  return [...new Set([...own.map(rootOf), ...charts])].sort((a, b) => topOf(a) - topOf(b))
    .map((root, i) => ({ root, title: titleOf(root) || `Figure ${i + 1}` }));
}

const titleOf = root => (root.layout ? plain(root.layout.title?.text ?? '')
  : root.querySelector('canvas')?.getAttribute('aria-label')?.split('. ')[0]);

// What is drawn in a picture, with its place in it in pixels: canvases, drawings, bars of colours,
// lines of text.
function partsOf(root) {
  const frame = root.getBoundingClientRect();
  const within = selector => [...root.querySelectorAll(selector)].filter(isShown).map(node => {
    const { left, top, width, height } = node.getBoundingClientRect();
    return { node, left: left - frame.left, top: top - frame.top, width, height };
  });
  const background = ({ node }) => getComputedStyle(node).backgroundImage;
  const bars = within('span, i').filter(bar => BAR.test(background(bar))).map(bar => {
    const stops = [...background(bar).matchAll(STOP)].map(([, colour, at]) => [at / 100, colour]);
    return { ...bar, stops, told: bar.node.closest(TOLD) !== null };
  });
  const { width, height } = frame;
  return { width, height, canvases: within('canvas'), drawings: within('svg'), bars,
    texts: textsOf(root, frame) };
}

// Every line of text, with its font, and its width without spaces at its end.
function textsOf(root, frame) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const lines = [];
  const range = document.createRange();
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!node.data.trim() || parent.closest(LEFT_OUT) || !isShown(parent)) continue;
    const { color: colour, fontStyle, fontWeight, fontSize, fontFamily } = getComputedStyle(parent);
    const shared = { colour, font: `${fontStyle} ${fontWeight} ${fontSize} ${fontFamily}`,
      told: parent.closest(TOLD) !== null };
    let line = null;
    for (const word of node.data.matchAll(/\S+\s*/g)) {
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].trimEnd().length);
      const box = range.getBoundingClientRect();
      const [left, top] = [box.left - frame.left, box.top - frame.top];
      if (!line || Math.abs(line.top - top) > 2) {
        line = { ...shared, left, top, height: box.height, text: '' };
        lines.push(line);
      }
      line.text += word[0];
      line.width = box.right - frame.left - line.left;
    }
  }
  return lines;
}

// A canvas as it is, or a drawing without the page's style sheets, as a data URL.
function imageOf({ node, width, height }, times = 1) {
  if (node.toDataURL) return node.gcView?.picture(times) ?? node.toDataURL();
  const copy = node.cloneNode(true);
  const from = [node, ...node.querySelectorAll('*')];
  [copy, ...copy.querySelectorAll('*')].forEach((part, i) => {
    const style = getComputedStyle(from[i]);
    DRAWN_BY.forEach(name => part.style.setProperty(name, style.getPropertyValue(name)));
  });
  const attributes = { xmlns: node.namespaceURI, width, height };
  Object.entries(attributes).forEach(([name, value]) => copy.setAttribute(name, value));
  const text = new XMLSerializer().serializeToString(copy);
  return `data:image/svg+xml,${encodeURIComponent(text)}`;
}
