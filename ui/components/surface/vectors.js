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

// "#2b6cb0", and what getComputedStyle says: "rgb(43, 108, 176)".
const hexColour = text => [1, 3, 5].map(i => parseInt(text.slice(i, i + 2), 16) / 255);
const cssColour = text => text.match(/[\d.]+/g).slice(0, 3).map(part => part / 255);
const isDark = colour => 0.3 * colour[0] + 0.59 * colour[1] + 0.11 * colour[2] < 0.5;

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
