// The pictures that are on the page, and what is drawn in one of them.

const LEFT_OUT = 'button, input, select, [role=alert], [aria-live=polite], [class$="-hint"], [class$="-seconds"], .js-plotly-plot, svg, style';
const TOLD = 'p, dl, label, table, [class$="-verdict"], [class$="-more"]'; // of the picture, not in it
const DRAWN_BY = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-opacity', 'stroke-dasharray', 'opacity',
  'font-size', 'font-family', 'font-weight', 'text-anchor', 'dominant-baseline', 'visibility', 'display', 'background-color'];
const BAR = /linear-gradient\(90deg, (.*)\)/;
const STOP = /(rgba?\([^)]*\)) ([\d.]+)%/g;

const isShown = node => node.checkVisibility() && node.getBoundingClientRect().width > 0;
const isOurs = node => /(^|\s)gc-/.test(node?.getAttribute?.('class') ?? '');
const plain = text => text.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ').trim();

// The outermost part of the component that a node belongs to.
function rootOf(node) {
  while (isOurs(node.parentElement)) node = node.parentElement;
  return node;
}

// { root, title } of each, from the top of the page; a chart in an open popover counts, too.
function picturesOnPage() {
  const own = [...document.querySelectorAll('canvas')].filter(isShown).filter(node => node.gcView).map(rootOf);
  const charts = [...document.querySelectorAll('.stPlotlyChart .js-plotly-plot')].filter(isShown);
  return [...new Set([...own, ...charts])]
    .sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)
    .map((root, i) => ({ root, title: titleOf(root) || `Figure ${i + 1}` }));
}

function titleOf(root) {
  const title = root.layout?.title?.text;
  if (title) return plain(title);
  return root.querySelector('canvas')?.getAttribute('aria-label')?.split('. ')[0];
}

// What is drawn in a picture, with its place in it in pixels.
function partsOf(root) {
  const frame = root.getBoundingClientRect();
  const place = node => {
    const { left, top, width, height } = node.getBoundingClientRect();
    return { left: left - frame.left, top: top - frame.top, width, height };
  };
  const within = selector => [root, ...root.querySelectorAll(selector)].filter(node => node.matches(selector) && isShown(node));
  const plots = within('.js-plotly-plot');
  const apart = node => !plots.some(plot => plot.contains(node));
  return {
    width: frame.width,
    height: frame.height,
    plots: plots.map(div => ({ div, ...place(div) })),
    canvases: within('canvas').filter(apart).map(canvas => ({ canvas, ...place(canvas) })),
    drawings: within('svg').filter(apart).map(svg => ({ svg, ...place(svg) })),
    bars: within('span, i').filter(apart).filter(node => BAR.test(getComputedStyle(node).backgroundImage))
      .map(node => ({ stops: [...getComputedStyle(node).backgroundImage.matchAll(STOP)].map(([, colour, at]) => [at / 100, colour]), told: node.closest(TOLD) !== null, ...place(node) })),
    texts: textsOf(root, frame),
  };
}

// Every line of text, with its font, and its width without spaces at its end.
function textsOf(root, frame) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const lines = [];
  const range = document.createRange();
  for (let node; (node = walker.nextNode());) {
    const parent = node.parentElement;
    if (!node.data.trim() || parent.closest(LEFT_OUT) || !isShown(parent)) continue;
    const style = getComputedStyle(parent);
    let line = null;
    for (const word of node.data.matchAll(/\S+\s*/g)) {
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].trimEnd().length);
      const { left, right, top, height } = range.getBoundingClientRect();
      if (!line || Math.abs(line.top - (top - frame.top)) > 2) {
        line = { left: left - frame.left, top: top - frame.top, height, text: '', colour: style.color, told: parent.closest(TOLD) !== null,
          font: `${style.fontWeight} ${style.fontSize} ${style.fontFamily}` };
        lines.push(line);
      }
      line.text += word[0];
      line.width = right - frame.left - line.left;
    }
  }
  return lines;
}

// Data and layout of a chart as it is seen.
function figureOf({ data, layout, _fullLayout: drawn }) {
  return { data, layout: { ...layout, width: drawn.width, height: drawn.height, autosize: false } };
}

// An SVG that looks the same without the page's style sheets, as a data URL.
function drawingUrl(svg, { width, height }) {
  const copy = svg.cloneNode(true);
  const from = [svg, ...svg.querySelectorAll('*')];
  [copy, ...copy.querySelectorAll('*')].forEach((node, i) => {
    const style = getComputedStyle(from[i]);
    DRAWN_BY.forEach(name => node.style.setProperty(name, style.getPropertyValue(name)));
  });
  Object.entries({ xmlns: svg.namespaceURI, width, height }).forEach(([name, value]) => copy.setAttribute(name, value));
  return `data:image/svg+xml,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
}
