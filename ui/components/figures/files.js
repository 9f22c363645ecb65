// A picture as PNG, SVG, or a page that turns without this one. In each, the line that says where it is from.

const FOOT = 22; // pixels below a picture, for that line
const FOOT_FONT = '12px sans-serif';
const TYPES = { f4: Float32Array, f8: Float64Array, u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i4: Int32Array };

const paperOf = node => getComputedStyle(node.closest('.stApp') ?? document.body).backgroundColor;
const loaded = url => new Promise((resolve, reject) => {
  const image = new Image();
  image.onload = () => resolve(image);
  image.onerror = () => reject(new Error('a part of the picture cannot be drawn'));
  image.src = url;
});

// Of a slide: the picture alone, as large as fits, on nothing.
const SLIDE = { width: 1920, height: 1080 };
const SLIDE_FILLED = 0.94;

function slideOf(parts) {
  const [bars, texts] = [parts.bars, parts.texts].map(some => some.filter(({ told }) => !told));
  const all = [...parts.plots, ...parts.canvases, ...parts.drawings, ...bars, ...texts];
  const [left, top] = ['left', 'top'].map(side => Math.min(...all.map(part => part[side])));
  const [wide, tall] = [['left', 'width', left], ['top', 'height', top]].map(([side, size, from]) => Math.max(...all.map(part => part[side] + part[size])) - from);
  const times = SLIDE_FILLED * Math.min(SLIDE.width / wide, SLIDE.height / tall);
  return { bars, texts, times, origin: [(SLIDE.width - times * wide) / 2 - times * left, (SLIDE.height - times * tall) / 2 - times * top] };
}

async function pngOf(Plotly, { root }, { times: chosen, slide }, line) {
  const parts = partsOf(root);
  const { bars, texts, times, origin } = slide ? slideOf(parts) : { ...parts, times: Number(chosen), origin: [0, 0] };
  const canvas = Object.assign(document.createElement('canvas'), slide ? SLIDE
    : { width: Math.round(times * parts.width), height: Math.round(times * (parts.height + FOOT)) });
  const context = canvas.getContext('2d');
  context.setTransform(times, 0, 0, times, ...origin);
  if (!slide) {
    context.fillStyle = paperOf(root);
    context.fillRect(0, 0, parts.width, parts.height + FOOT);
  }
  const images = [
    ...parts.plots.map(async part => [part, await Plotly.toImage(figureOf(part.div), { format: 'png', scale: times, width: part.width, height: part.height })]),
    ...parts.canvases.map(async part => [part, part.canvas.gcView?.picture(times) ?? part.canvas.toDataURL()]),
    ...parts.drawings.map(async part => [part, drawingUrl(part.svg, part)]),
  ];
  for (const image of images) {
    const [{ left, top, width, height }, url] = await image;
    context.drawImage(await loaded(url), left, top, width, height);
  }
  for (const { left, top, width, height, stops } of bars) {
    const fill = context.createLinearGradient(left, 0, left + width, 0);
    stops.forEach(([at, colour]) => fill.addColorStop(at, colour));
    context.fillStyle = fill;
    context.fillRect(left, top, width, height);
  }
  context.textBaseline = 'middle';
  const write = ({ text, font, colour, left, top, height }) => {
    Object.assign(context, { font, fillStyle: colour });
    context.fillText(text, left, top + height / 2);
  };
  texts.forEach(write);
  if (!slide) write({ text: line, font: FOOT_FONT, colour: getComputedStyle(root).color, left: 6, top: parts.height, height: FOOT });
  return new Promise(resolve => canvas.toBlob(resolve, 'image/png'));
}

async function svgOf(Plotly, { root }, line) {
  const { data, layout } = figureOf(root);
  const below = { text: line, x: 0, xref: 'paper', xanchor: 'left', y: 0, yref: 'paper', yanchor: 'bottom', showarrow: false,
    font: { size: 12 }, yshift: -(root._fullLayout._size.b + FOOT) };
  const margin = { ...layout.margin, b: root._fullLayout._size.b + FOOT };
  const url = await Plotly.toImage({ data, layout: { ...layout, paper_bgcolor: paperOf(root), margin,
    height: layout.height + FOOT, annotations: [...(layout.annotations ?? []), below] } },
  { format: 'svg', width: layout.width, height: layout.height + FOOT });
  return new Blob([decodeURIComponent(url.slice(url.indexOf(',') + 1))], { type: 'image/svg+xml' });
}

// As plain data: arrays of numbers become bytes in letters, which Plotly reads.
function packed(value, key = '') {
  if (key.startsWith('_') || typeof value === 'function') return undefined;
  if (ArrayBuffer.isView(value)) {
    const dtype = Object.keys(TYPES).find(name => value instanceof TYPES[name]);
    if (!dtype) return [...value];
    const bytes = new Uint8Array(value.slice().buffer);
    let letters = '';
    for (let i = 0; i < bytes.length; i += 0x8000) letters += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
    return { dtype, bdata: btoa(letters) };
  }
  if (Array.isArray(value) && value.length && value.every(part => ArrayBuffer.isView(part) && part.length === value[0].length)) {
    const whole = new value[0].constructor(value.length * value[0].length);
    value.forEach((row, i) => whole.set(row, i * row.length));
    return { ...packed(whole), shape: `${value.length}, ${value[0].length}` };
  }
  if (Array.isArray(value)) return value.map(part => packed(part));
  if (value && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, packed(part, name)]));
  }
  return value;
}

// The program of the page: it puts the parts at their places; what is turned turns all.
function showParts(Plotly, figure) {
  const put = (tag, { left, top, width, height }, more = {}) => {
    const node = Object.assign(document.createElement(tag), more);
    const pixels = { left, top, width, height };
    Object.entries(pixels).forEach(([name, size]) => { if (size !== undefined) node.style[name] = `${size}px`; });
    document.getElementById('figure').append(node);
    return node;
  };
  for (const { text, font, colour, left, top, width } of figure.texts) {
    const span = put('span', { left, top }, { textContent: text.trimEnd() });
    Object.assign(span.style, { font, color: colour, transformOrigin: '0 0' });
    // Where the font is another one here, it takes as much room.
    if (width) span.style.transform = `scaleX(${width / span.getBoundingClientRect().width})`;
  }
  for (const { stops, ...place } of figure.bars) {
    put('span', place).style.background = `linear-gradient(90deg, ${stops.map(([at, colour]) => `${colour} ${100 * at}%`).join(', ')})`;
  }
  for (const { url, ...place } of figure.images) put('img', place, { src: url, alt: '' });
  const divs = figure.plots.map(({ data, layout, field, ...place }) => {
    const div = put('div', place);
    Plotly.newPlot(div, data, layout, { displayModeBar: false });
    if (field) { // of view, as on the page
      div._fullLayout.scene._scene.glplot.fovy = field;
      Plotly.relayout(div, { 'scene.camera': layout.scene.camera }); // drawn anew, all of it
    }
    return div;
  });
  const scenes = divs.filter((_, i) => figure.plots[i].layout.scene);
  for (const div of scenes) {
    const share = event => event['scene.camera'] && scenes.filter(other => other !== div)
      .forEach(other => Plotly.relayout(other, { 'scene.camera': event['scene.camera'] }));
    div.on('plotly_relayouting', share);
    div.on('plotly_relayout', () => figure.plots[divs.indexOf(div)].data.forEach(({ meta }, n) => {
      if (!meta?.places) return; // points that lie before the sheet, wherever it is seen from
      const { eye } = div._fullLayout.scene._scene.getCamera();
      const at = ['x', 'y', 'z'].map((name, i) => meta.middle[i] + eye[name] / meta.unit);
      const axis = i => meta.places.filter((_, k) => k % 3 === i).map(x => (x === null ? x : x + meta.nearer * (at[i] - x)));
      Plotly.restyle(div, { x: [axis(0)], y: [axis(1)], z: [axis(2)] }, [n]);
    }));
  }
}

async function htmlOf({ root, title }, line, plotlyUrl) {
  const parts = partsOf(root);
  const images = [...parts.drawings.map(({ svg, ...place }) => ({ url: drawingUrl(svg, place), ...place })),
    ...parts.canvases.filter(({ canvas }) => !canvas.gcView).map(({ canvas, ...place }) => ({ url: canvas.toDataURL(), ...place }))];
  const clear = { paper_bgcolor: 'rgba(0,0,0,0)' };
  const plots = [...parts.plots.map(({ div, ...place }) => ({ ...figureOf(div), ...place })),
    ...parts.canvases.filter(({ canvas }) => canvas.gcView).map(({ canvas, ...place }) => ({ ...canvas.gcView.figure(), ...place }))]
    .map(plot => ({ ...plot, layout: { ...plot.layout, ...clear, width: plot.width, height: plot.height } }));
  const foot = { text: line, font: FOOT_FONT, colour: getComputedStyle(root).color, left: 6, top: parts.height + 4 };
  const figure = packed({ texts: [...parts.texts, foot], bars: parts.bars, images, plots });
  const source = await (await fetch(new URL(plotlyUrl, document.baseURI))).text();
  const safe = text => text.replace(/&/g, '&amp;').replace(/</g, '&lt;');
  const box = `position:relative;width:${Math.ceil(parts.width)}px;height:${Math.ceil(parts.height + FOOT)}px;margin:auto`;
  return new Blob([`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="description" content="${safe(line).replace(/"/g, '&quot;')}">
<title>${safe(title)}</title>
<style>body{margin:1rem;background:${paperOf(root)}} #figure>*{position:absolute} #figure span{white-space:pre}</style></head>
<body><div id="figure" style="${box}"></div>
<script>`, source, `</script>
<script>(${showParts})(Plotly, ${JSON.stringify(figure).replace(/</g, '\\u003c')});</script>
</body></html>
`], { type: 'text/html' });
}
