// A classified surface: its data points, the classifier's plane as a sheet along its cut, and its cut of the ground.

const DATA_SHARE = 65; // widths of a data point in that of the picture
const DATA_SIZES = [4, 6.5]; // pixels: the least and the largest
const PIN = 0.3; // above a marked point, which would be lost among the others
const SHEET_MARGIN = 1.15; // length of the sheet, in lengths of the cut
const SHEET_LEAST = 0.25; // its least half-width

// The training points of one frame on the surface; test points stand on the map alone.
function dataPoints(state, side, classes, at, width) {
  const [labels, tested] = [state[`${side}Labels`], state[`${side}Tested`]];
  const all = frameOf(state[`${side}Points`], 3 * labels.length, at);
  const drawn = [...labels.keys()].filter(i => !tested[i]);
  const colours = classes.map(hexColour);
  return { size: Math.max(DATA_SIZES[0], Math.min(DATA_SIZES[1], width / DATA_SHARE)), places: Float32Array.from(drawn.flatMap(i => vertexOf(all, i))),
    colours: Float32Array.from(drawn.flatMap(i => colours[labels[i]])) };
}

function markAmong(points, place) {
  return { ...points, places: Float32Array.from([...points.places, ...place]), colours: Float32Array.from([...points.colours, ...ACCENT]) };
}

// Adds to a scene what the plane [a, b, c, d] does along its `cut`; a plane that is not known, or misses the surface, is not drawn.
function addPlane(scene, numbers, cut, corners, before, { ink, dark }) {
  const length = lengthOf(numbers.slice(0, 3));
  if (!(length > 0) || !cut.length) return null;
  const normal = numbers.slice(0, 3).map(x => x / length);
  const plane = planeOf(normal, numbers[3] / length, cut.slice(0, 3), before?.a);
  const [a, b] = [plane.a, plane.b].map(axis => {
    const along = [];
    for (let i = 0; i < cut.length; i += 3) along.push(dot(axis, cut.slice(i, i + 3)) - dot(axis, plane.centre));
    const [low, high] = along.reduce(([least, most], x) => [Math.min(least, x), Math.max(most, x)], [Infinity, -Infinity]);
    return [(low + high) / 2, Math.max(SHEET_MARGIN * (high - low) / 2, SHEET_LEAST)];
  });
  const sheet = [[-1, -1], [1, -1], [1, 1], [-1, 1]].map(([x, y]) =>
    plus(plus(plane.centre, plane.a, a[0] + x * a[1]), plane.b, b[0] + y * b[1]));
  scene.lines.push({ segments: ringOf(sheet), wide: 1.5, colour: ink, alpha: 0.55, hidden: 0.2 });
  scene.sheets = [{ corners: sheet, colour: [0.55, 0.58, 0.64, dark ? 0.22 : 0.2] }];
  if (corners) {
    const heights = corners.map(corner => dot(normal, corner) + numbers[3] / length);
    const ends = corners.flatMap((corner, i) => {
      const j = (i + 1) % corners.length;
      return heights[i] > 0 === heights[j] > 0 ? [] : mixed(corner, corners[j], heights[i] / (heights[i] - heights[j]));
    });
    scene.lines.push({ segments: ends, wide: 1.5, colour: ink, hidden: 0.5 });
  }
  return plane;
}

// The data points on the map: full circles for training points, hollow ones for test points.
function paintData(context, spotAt, radius, { chart, labels, tested, colours }) {
  labels.forEach((label, i) => {
    context.beginPath();
    context.arc(...spotAt(chart[2 * i], chart[2 * i + 1]), radius, 0, 2 * Math.PI);
    Object.assign(context, { fillStyle: tested[i] ? 'transparent' : colours[label], strokeStyle: tested[i] ? colours[label] : '#fff', lineWidth: 1 });
    context.fill();
    context.stroke();
  });
}
