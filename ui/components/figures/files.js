// A picture as PNG, SVG, or a page that turns without this one; in each the line that says where
// it is from. Charts are drawn by the program that has drawn them on the page. Before all files
// stands SAVED, the program of a page that turns.

const FOOT = 22; // pixels below a picture, for that line
const FOOT_FONT = '12px sans-serif';
const CLEAR = 'rgba(0,0,0,0)';
const SLIDE = { width: 1920, height: 1080 }; // the picture alone, as large as fits, on nothing
const SLIDE_FILLED = 0.94;

const paperOf = node => getComputedStyle(node.closest('.stApp') ?? document.body).backgroundColor;
const safe = text => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/"/g, '&quot;');

async function chartFile(chart, { kind, times, slide }, line) {
  const { data, layout, _fullLayout: { width, height, _size: { b } } } = chart;
  const tall = height + FOOT;
  const below = { text: line, x: 0, xref: 'paper', xanchor: 'left', y: 0, yref: 'paper',
    yanchor: 'bottom', yshift: -(b + FOOT), showarrow: false, font: { size: 12 } };
  const [size, scale, looks] = slide
    ? [{ width: height * SLIDE.width / SLIDE.height, height }, SLIDE.height / height,
      { paper_bgcolor: CLEAR, plot_bgcolor: CLEAR }]
    : [{ width, height: tall }, Number(times ?? 1),
      { paper_bgcolor: paperOf(chart), margin: { ...layout.margin, b: b + FOOT },
        annotations: [...layout.annotations ?? [], below] }];
  const drawn = { data, layout: { ...layout, ...looks, ...size, autosize: false } };
  const url = await window.Plotly.toImage(drawn, { format: kind, scale, ...size });
  return (await fetch(url)).blob();
}

async function loaded(url) {
  const image = Object.assign(new Image(), { src: url });
  await image.decode();
  return image;
}

function placeOnSlide({ canvases, drawings, bars, texts }) {
  const all = [...canvases, ...drawings, ...bars, ...texts];
  const [[left, right], [top, bottom]] = [['left', 'width'], ['top', 'height']].map(([at, size]) =>
    [Math.min(...all.map(part => part[at])), Math.max(...all.map(part => part[at] + part[size]))]);
  const [wide, tall] = [right - left, bottom - top];
  const times = SLIDE_FILLED * Math.min(SLIDE.width / wide, SLIDE.height / tall);
  const origin = [(SLIDE.width - times * wide) / 2 - times * left,
    (SLIDE.height - times * tall) / 2 - times * top];
  return { times, origin };
}

async function pngFile(root, { times: chosen, slide }, line) {
  const parts = partsOf(root);
  const isDrawn = part => !slide || !part.told;
  const [bars, texts] = [parts.bars.filter(isDrawn), parts.texts.filter(isDrawn)];
  const whole = { times: Number(chosen), origin: [0, 0] };
  const { times, origin } = slide ? placeOnSlide({ ...parts, bars, texts }) : whole;
  const tall = parts.height + FOOT;
  const size = { width: Math.round(times * parts.width), height: Math.round(times * tall) };
  const canvas = Object.assign(document.createElement('canvas'), slide ? SLIDE : size);
  const context = canvas.getContext('2d');
  context.setTransform(times, 0, 0, times, ...origin);
  if (!slide) {
    context.fillStyle = paperOf(root);
    context.fillRect(0, 0, parts.width, tall);
    const colour = getComputedStyle(root).color;
    texts.push({ text: line, font: FOOT_FONT, colour, left: 6, top: parts.height, height: FOOT });
  }
  for (const part of [...parts.canvases, ...parts.drawings]) {
    const image = await loaded(imageOf(part, times));
    context.drawImage(image, part.left, part.top, part.width, part.height);
  }
  for (const { left, top, width, height, stops } of bars) {
    const fill = context.createLinearGradient(left, 0, left + width, 0);
    stops.forEach(([at, colour]) => fill.addColorStop(at, colour));
    context.fillStyle = fill;
    context.fillRect(left, top, width, height);
  }
  for (const { text, font, colour, left, top, height } of texts) {
    Object.assign(context, { font, fillStyle: colour, textBaseline: 'middle' });
    context.fillText(text, left, top + height / 2);
  }
  return new Promise(resolve => { canvas.toBlob(resolve, 'image/png'); });
}

// Numbers as they are read in saved.js: six digits, null where there is none.
const plainNumbers = (_, value) => (ArrayBuffer.isView(value)
  ? Array.from(value, x => Number(x.toPrecision(6))) : value);

function htmlFile(root, title, line) {
  const { width, height, canvases, drawings, bars, texts } = partsOf(root);
  const placeOf = ({ node, ...place }) => place;
  const views = canvases.filter(({ node }) => node.gcView);
  const flat = canvases.filter(({ node }) => !node.gcView);
  const colour = getComputedStyle(root).color;
  const foot = { text: line, font: FOOT_FONT, colour, left: 6, top: height + 4 };
  const figure = JSON.stringify({
    texts: [...texts, foot],
    bars: bars.map(placeOf),
    images: [...flat, ...drawings].map(part => ({ url: imageOf(part), ...placeOf(part) })),
    views: views.map(part => {
      const { scene, camera, home } = part.node.gcView;
      return { scene, camera, home, ...placeOf(part) };
    }),
  }, plainNumbers).replace(/</g, '\\u003c'); // no end of a script
  const box = `width:${Math.ceil(width)}px;height:${Math.ceil(height + FOOT)}px`;
  return new Blob([`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="description" content="${safe(line)}">
<title>${safe(title)}</title>
<style>body{margin:1rem;color:${colour};background:${paperOf(root)}}
#figure{position:relative;margin:auto;${box}} #figure>*{position:absolute}
#figure span{white-space:pre} canvas{touch-action:pan-y;cursor:grab}</style></head>
<body><div id="figure"></div><script type="application/json" id="data">${figure}</script>
<script>${SAVED}</script></body></html>
`], { type: 'text/html' });
}
