// A head's chart as stained glass: a pane for each cell in its token's colour, as bright as its
// weight.

const LEAD = '#0c0f14';
const DIMMEST = 0.42; // of a pane's brightness, at a weight of zero
const LIGHT_SIDE = 22; // pixels of the brightness of a small window
const GOLDEN = 0.381966; // of a turn of hue, between a token and the next smaller one
const FONT = 'system-ui, sans-serif';

// Oklch to sRGB, each from 0 to 1.
function rgbOf(lightness, chroma, turn) {
  const [a, b] = [chroma * Math.cos(2 * Math.PI * turn), chroma * Math.sin(2 * Math.PI * turn)];
  const [l, m, s] = [
    lightness + 0.3963377774 * a + 0.2158037573 * b,
    lightness - 0.1055613458 * a - 0.0638541728 * b,
    lightness - 0.0894841775 * a - 1.291485548 * b,
  ].map(x => x ** 3);
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  const encoded = x => (x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055);
  return linear.map(x => Math.max(0, Math.min(1, encoded(x))));
}

// One colour for a token in all pictures, by its rank among those with the largest panes: the
// first ones differ most. Yellows are light and blues dark, as in glass. A special token is grey.
function tokenColour(rank, special) {
  const turn = (0.73 + rank * GOLDEN) % 1;
  const round = Math.floor(rank / 13) % 2;
  const light = 0.66 + 0.12 * Math.cos(2 * Math.PI * (turn - 0.27)) - 0.05 * round;
  return special ? rgbOf(0.66, 0.015, 0.7) : rgbOf(light, 0.175, turn);
}

const brightnessOf = weight => DIMMEST + (1 - DIMMEST) * weight ** 0.45;

// What darkens the panes: a small picture of black, the more opaque the smaller the largest
// weight.
function shadeOf(head, side) {
  const canvas = element('canvas', { width: side, height: side });
  const context = canvas.getContext('2d');
  const picture = context.createImageData(side, side);
  const weights = new Float64Array(head.n);
  for (let i = 0; i < side * side; i += 1) {
    const [u, v] = [i % side, Math.floor(i / side)].map(step => 2 * (step + 0.5) / side - 1);
    weightsAt(head, u, -v, weights);
    picture.data[4 * i + 3] = 255 * (1 - brightnessOf(weights[largestOf(weights)]));
  }
  context.putImageData(picture, 0, 0);
  return canvas;
}

// Paints the chart of `head` over the whole of a canvas. `lit`: the only key whose panes are
// bright.
function paintGlass(canvas, head, { lit = null, lead = 1, shadeSide = LIGHT_SIDE } = {}) {
  const context = squareContext(canvas);
  const side = canvas.clientWidth;
  head.cells ??= cellsOf(head);
  if (head.shade?.width !== shadeSide) head.shade = shadeOf(head, shadeSide);
  context.globalAlpha = 1;
  context.fillStyle = LEAD;
  context.fillRect(0, 0, side, side);
  for (const { key, polygon } of head.cells) {
    context.beginPath();
    for (let i = 0; i < polygon.length; i += 2) {
      context.lineTo((1 + polygon[i]) / 2 * side, (1 - polygon[i + 1]) / 2 * side);
    }
    context.closePath();
    context.globalAlpha = lit === null || lit === key ? 1 : 0.13;
    context.fillStyle = cssOf(head.colours[key]);
    context.fill();
    context.globalAlpha = 1;
    Object.assign(context, { strokeStyle: LEAD, lineWidth: lead, lineJoin: 'round' });
    context.stroke();
  }
  context.imageSmoothingQuality = 'high';
  if (lit === null) context.drawImage(head.shade, 0, 0, side, side);
}

// Names the cells that have room for their words, at most `most`: [{ key, x, y }] in shares of the
// side.
function paintWords(canvas, head, size, most, lit = null) {
  const context = canvas.getContext('2d');
  const side = canvas.clientWidth;
  Object.assign(context, { font: `600 ${size}px ${FONT}`, textAlign: 'center', lineJoin: 'round',
    textBaseline: 'middle', fillStyle: '#fff', strokeStyle: 'rgba(8,10,14,.72)',
    lineWidth: size / 4.5 });
  const cells = head.cells.flatMap(({ key, polygon, centre }) => {
    const heights = [-0.5, 0.5].map(part => centre[1] + part * 2.2 * size / side);
    const room = heights.map(height => chordAt(polygon, height));
    if (room.includes(null)) return [];
    const low = Math.max(room[0][0], room[1][0], -1);
    const high = Math.min(room[0][1], room[1][1], 1);
    const wide = context.measureText(head.words[key]).width + 5 * side / 100;
    const isRoomy = (high - low) / 2 * side > wide;
    return isRoomy ? [{ key, x: (2 + low + high) / 4, y: (1 - centre[1]) / 2 }] : [];
  }).slice(0, most);
  for (const { key, x, y } of cells) {
    if (lit !== null && lit !== key) continue;
    context.strokeText(head.words[key], x * side, y * side);
    context.fillText(head.words[key], x * side, y * side);
  }
  return cells;
}
