// Vectors of three numbers, and colours as three shares of one, all as plain arrays.

const plus = (a, b, factor = 1) =>
  [a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2]];
const minus = (a, b) => plus(a, b, -1);
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) =>
  [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
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
const isDark = ([r, g, b]) => 0.3 * r + 0.59 * g + 0.11 * b < 0.5; // light ink is on dark paper

// The colour at a share of a scale, a list of [share, hex].
function colourAt(scale, share) {
  const end = Math.max(1, scale.findIndex(([stop]) => stop >= share));
  const [[low, from], [high, to]] = [scale[end - 1], scale[end]];
  const way = Math.max(0, Math.min(1, (share - low) / (high - low)));
  return mixed(hexColour(from), hexColour(to), way);
}

const UNKNOWN = 256; // after the colours of 256 shares
const tables = new WeakMap(); // by scale

function tableOf(scale) {
  if (!tables.has(scale)) {
    const known = Array.from({ length: UNKNOWN }, (_, i) => colourAt(scale, i / 255));
    tables.set(scale, [...known, hexColour(PALETTE.neutral)]);
  }
  return tables.get(scale);
}

// The colours of shares from 0 to 1, or in bytes from 0 to 255.
function coloursOf(shares, scale) {
  const table = tableOf(scale);
  const clamped = share => Math.round(255 * Math.max(0, Math.min(1, share)));
  const placeOf = share => (Number.isNaN(share) ? UNKNOWN : clamped(share));
  const place = shares instanceof Uint8Array ? share => share : placeOf;
  const colours = new Float32Array(3 * shares.length);
  shares.forEach((share, i) => colours.set(table[place(share)], 3 * i));
  return colours;
}

// The sides of a polygon, as segments.
const ringOf = corners =>
  corners.flatMap((corner, i) => [...corner, ...corners[(i + 1) % corners.length]]);

const SQUARE_CORNERS = [[-1, -1], [1, -1], [1, 1], [-1, 1]];
const SIDE_PARTS = 8; // of each side of a triangle, between its lines

// Straight lines in a triangle, parallel to its sides: whatever lies in it is seen to be flat.
function linesIn([a, b, c]) {
  const shares = Array.from({ length: SIDE_PARTS - 1 }, (_, n) => (n + 1) / SIDE_PARTS);
  return [[a, b, c], [b, c, a], [c, a, b]].flatMap(([tip, left, right]) =>
    shares.flatMap(share => [...mixed(tip, left, share), ...mixed(tip, right, share)]));
}

// The triangle of three values on the ground of a scene, with its lines so opaque.
function addTriangle(scene, corners, ink, opacity, alpha) {
  scene.ground = [{ corners, colour: [...ACCENT, isDark(ink) ? 0.09 : opacity] }];
  scene.lines.push({ segments: ringOf(corners), wide: 2, colour: ACCENT, hidden: 0.5 },
    { segments: linesIn(corners), wide: 1, colour: ACCENT, alpha, hidden: 0.15 });
}
const shadowOn = ink => (isDark(ink) ? 0.17 : 0.4);
const sheetColour = ink => [0.55, 0.58, 0.64, isDark(ink) ? 0.2 : 0.22];
const POINT_INK = [0.08, 0.08, 0.1]; // nearly black, as the cut of a plane
