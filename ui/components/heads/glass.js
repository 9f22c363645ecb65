// A head's chart as stained glass: a pane for each cell in its token's colour, as bright as its weight, in lead.

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
  return linear.map(x => Math.max(0, Math.min(1, x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055)));
}

// One colour for a token in all pictures, by its rank among those with the largest panes: the first ones differ
// most. Yellows are light and blues dark, as in glass. A special token is grey.
function tokenColour(rank, special) {
  const turn = (0.73 + rank * GOLDEN) % 1;
  const light = 0.66 + 0.12 * Math.cos(2 * Math.PI * (turn - 0.27)) - 0.05 * (Math.floor(rank / 13) % 2);
  return special ? rgbOf(0.66, 0.015, 0.7) : rgbOf(light, 0.175, turn);
}

const brightnessOf = weight => DIMMEST + (1 - DIMMEST) * weight ** 0.45;

// What darkens the panes: a small picture of black, the more opaque the smaller the largest weight.
function shadeOf(head, side) {
  const canvas = Object.assign(document.createElement('canvas'), { width: side, height: side });
  const context = canvas.getContext('2d');
  const picture = context.createImageData(side, side);
  const weights = new Float64Array(head.n);
  for (let row = 0; row < side; row += 1) {
    for (let column = 0; column < side; column += 1) {
      weightsAt(head, 2 * (column + 0.5) / side - 1, 1 - 2 * (row + 0.5) / side, weights);
      picture.data[4 * (row * side + column) + 3] = 255 * (1 - brightnessOf(weights[largestOf(weights)]));
    }
  }
  context.putImageData(picture, 0, 0);
  return canvas;
}

// Paints the chart of `head` over the whole of a canvas. `lit`: the only key whose panes are bright; null: all.
function paintGlass(canvas, head, { lit = null, lead = 1, shadeSide = LIGHT_SIDE } = {}) {
  const context = canvas.getContext('2d');
  const { width } = canvas;
  head.cells ??= cellsOf(head);
  if (head.shade?.width !== shadeSide) head.shade = shadeOf(head, shadeSide);
  const pixel = (x, y) => [(1 + x) / 2 * width, (1 - y) / 2 * width];
  context.globalAlpha = 1;
  context.fillStyle = LEAD;
  context.fillRect(0, 0, width, width);
  for (const { key, polygon } of head.cells) {
    context.beginPath();
    for (let i = 0; i < polygon.length; i += 2) context.lineTo(...pixel(polygon[i], polygon[i + 1]));
    context.closePath();
    context.globalAlpha = lit === null || lit === key ? 1 : 0.13;
    context.fillStyle = cssOf(head.colours[key]);
    context.fill();
    Object.assign(context, { globalAlpha: 1, strokeStyle: LEAD, lineWidth: lead, lineJoin: 'round' });
    context.stroke();
  }
  context.imageSmoothingEnabled = true;
  context.imageSmoothingQuality = 'high';
  if (lit === null) context.drawImage(head.shade, 0, 0, width, width);
}

// The words of the cells that have room for them, at most `most`: [{ key, x, y }] in shares of the side.
function roomyCells(context, head, width, size, most) {
  const found = [];
  for (const { key, polygon, centre } of head.cells) {
    if (found.length === most) break;
    const room = [-0.5, 0.5].map(part => chordAt(polygon, centre[1] + part * 2.2 * size / width));
    if (room.includes(null)) continue;
    const low = Math.max(room[0][0], room[1][0], -1);
    const high = Math.min(room[0][1], room[1][1], 1);
    if ((high - low) / 2 * width > context.measureText(head.words[key]).width + 5 * width / 100) {
      found.push({ key, x: (2 + low + high) / 4, y: (1 - centre[1]) / 2 });
    }
  }
  return found;
}

// Returns the cells that it has named.
function paintWords(canvas, head, size, most, lit = null) {
  const context = canvas.getContext('2d');
  Object.assign(context, { font: `600 ${size}px ${FONT}`, textAlign: 'center', textBaseline: 'middle', lineJoin: 'round' });
  const cells = roomyCells(context, head, canvas.width, size, most);
  for (const { key, x, y } of cells) {
    if (lit !== null && lit !== key) continue;
    Object.assign(context, { fillStyle: '#fff', strokeStyle: 'rgba(8,10,14,.72)', lineWidth: size / 4.5 });
    context.strokeText(head.words[key], x * canvas.width, y * canvas.width);
    context.fillText(head.words[key], x * canvas.width, y * canvas.width);
  }
  return cells;
}
