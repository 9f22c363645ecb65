// Attention over fixed keys along a plane of queries, whose coordinates u and v run from -1 to 1.
//
// A head: `n` keys; `scores`, 3 n numbers: those at the origin, then the slopes along u and along
// v; `values`, 3 n numbers, three coordinates for each key. `prescribed`: the scores are the
// weights.

// Softmax of the scores, which are affine.
function weightsAt({ n, scores, prescribed }, u, v, out = new Float64Array(n)) {
  let top = -Infinity;
  for (let i = 0; i < n; i += 1) {
    out[i] = scores[i] + u * scores[n + i] + v * scores[2 * n + i];
    if (out[i] > top) top = out[i];
  }
  if (prescribed) return out;
  let sum = 0;
  for (let i = 0; i < n; i += 1) {
    out[i] = Math.exp(out[i] - top);
    sum += out[i];
  }
  for (let i = 0; i < n; i += 1) out[i] /= sum;
  return out;
}

// The mean of the values by these weights.
function outputOf({ n, values }, weights) {
  const place = [0, 0, 0];
  for (let i = 0; i < n; i += 1) {
    for (let k = 0; k < 3; k += 1) place[k] += weights[i] * values[3 * i + k];
  }
  return place;
}

function largestOf(numbers) {
  let at = 0;
  for (let i = 1; i < numbers.length; i += 1) if (numbers[i] > numbers[at]) at = i;
  return at;
}

const SQUARE = [-1, -1, 1, -1, 1, 1, -1, 1];

// The part of a convex polygon [x, y, x, y, …] where a + b x + c y >= 0.
function clipped(polygon, a, b, c) {
  const size = polygon.length;
  let [px, py] = polygon.slice(size - 2);
  let before = a + b * px + c * py;
  let whole = true; // mostly: then nothing is made
  for (let i = 0; whole && i < size; i += 2) whole = a + b * polygon[i] + c * polygon[i + 1] >= 0;
  if (whole) return polygon;
  const out = [];
  for (let i = 0; i < size; i += 2) {
    const [x, y] = [polygon[i], polygon[i + 1]];
    const here = a + b * x + c * y;
    if ((here >= 0) !== (before >= 0)) {
      const share = before / (before - here);
      out.push(px + share * (x - px), py + share * (y - py));
    }
    if (here >= 0) out.push(x, y);
    [px, py, before] = [x, y, here];
  }
  return out;
}

// Twice the signed area of a polygon, and its centroid.
function areaAndCentre(polygon) {
  let [twice, cx, cy] = [0, 0, 0];
  for (let i = 0, j = polygon.length - 2; i < polygon.length; j = i, i += 2) {
    const part = polygon[j] * polygon[i + 1] - polygon[i] * polygon[j + 1];
    twice += part;
    cx += part * (polygon[i] + polygon[j]);
    cy += part * (polygon[i + 1] + polygon[j + 1]);
  }
  return { area: twice / 2, centre: [cx / (3 * twice), cy / (3 * twice)] };
}

// Where each key has the largest score: a power diagram of the square, exactly. Largest cells
// first; `share` is of the square's area.
function cellsOf({ n, scores }) {
  const cells = [];
  for (let i = 0; i < n; i += 1) {
    let polygon = SQUARE;
    for (let j = 0; j < n && polygon.length; j += 1) {
      if (j === i) continue;
      const gap = part => scores[part * n + i] - scores[part * n + j];
      polygon = clipped(polygon, gap(0), gap(1), gap(2));
    }
    if (polygon.length < 6) continue;
    const { area, centre } = areaAndCentre(polygon);
    if (area > 0) cells.push({ key: i, polygon, share: area / 4, centre });
  }
  return cells.sort((a, b) => b.share - a.share);
}

// The width of a convex polygon at a height, as its two ends; null where it has none there.
function chordAt(polygon, height) {
  const ends = [];
  for (let i = 0, j = polygon.length - 2; i < polygon.length; j = i, i += 2) {
    const [y, before] = [polygon[i + 1], polygon[j + 1]];
    if ((y > height) !== (before > height)) {
      ends.push(polygon[j] + (height - before) / (y - before) * (polygon[i] - polygon[j]));
    }
  }
  return ends.length === 2 ? ends.sort((a, b) => a - b) : null;
}
