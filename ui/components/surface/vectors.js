// Vectors of three numbers, and colours as three shares of one, all as plain arrays.

const plus = (a, b, factor = 1) => [a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2]];
const minus = (a, b) => plus(a, b, -1);
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const lengthOf = a => Math.hypot(a[0], a[1], a[2]);
const mixed = (a, b, share) => a.map((x, i) => x + share * (b[i] - x));

function unit(a) {
  const length = lengthOf(a) || 1;
  return [a[0] / length, a[1] / length, a[2] / length];
}

// "#rrggbb", and what getComputedStyle says: "rgb(43, 108, 176)".
const hexColour = text => [1, 3, 5].map(i => parseInt(text.slice(i, i + 2), 16) / 255);
const ACCENT = hexColour(PALETTE.accent);
const cssColour = text => text.match(/[\d.]+/g).slice(0, 3).map(part => part / 255);
const isDark = colour => 0.3 * colour[0] + 0.59 * colour[1] + 0.11 * colour[2] < 0.5;

// The colour at a share of a scale, a list of [share, hex].
function colourAt(scale, share) {
  const end = Math.max(1, scale.findIndex(([stop]) => stop >= share));
  const [[low, from], [high, to]] = [scale[end - 1], scale[end]];
  return mixed(hexColour(from), hexColour(to), Math.max(0, Math.min(1, (share - low) / (high - low))));
}

const UNKNOWN = 256; // after the colours of 256 shares
const tables = new WeakMap(); // by scale

function tableOf(scale) {
  if (!tables.has(scale)) tables.set(scale, [...Array.from({ length: UNKNOWN }, (_, i) => colourAt(scale, i / 255)), hexColour(PALETTE.neutral)]);
  return tables.get(scale);
}

// The colours of shares from 0 to 1, or in bytes from 0 to 255.
function coloursOf(shares, scale) {
  const table = tableOf(scale);
  const placeOf = share => (Number.isNaN(share) ? UNKNOWN : Math.round(255 * Math.max(0, Math.min(1, share))));
  const colours = new Float32Array(3 * shares.length);
  shares.forEach((share, i) => colours.set(table[shares instanceof Uint8Array ? share : placeOf(share)], 3 * i));
  return colours;
}

// The sides of a polygon, as segments.
const ringOf = corners => corners.flatMap((corner, i) => [...corner, ...corners[(i + 1) % corners.length]]);

const SIDE_PARTS = 8; // of each side of a triangle, between its lines
// Straight lines in a triangle, parallel to its sides: whatever lies in it is seen to be flat.
function linesIn([a, b, c]) {
  const lines = [];
  for (let n = 1; n < SIDE_PARTS; n += 1) {
    for (const [tip, left, right] of [[a, b, c], [b, c, a], [c, a, b]]) lines.push(...mixed(tip, left, n / SIDE_PARTS), ...mixed(tip, right, n / SIDE_PARTS));
  }
  return lines;
}
