// A classified surface: its data points, the classifier's plane as a sheet along its cut, and its
// cut of the ground.

const DATA_SHARE = 65; // widths of a data point in that of the picture
const DATA_SIZES = [4, 6.5]; // pixels: the least and the largest
const PIN = 0.3; // above a marked point, which would be lost among the others
const SHEET_MARGIN = 1.15; // length of the sheet, in lengths of the cut
const SHEET_LEAST = 0.25; // its least half-width

// The training points of one frame on the surface; test points stand on the map alone.
function dataPoints(places, all, classes, width) {
  const [labels, tested] = [all('Labels'), all('Tested')];
  const drawn = [...labels.keys()].filter(i => !tested[i]);
  const colours = classes.map(hexColour);
  const [least, most] = DATA_SIZES;
  return { size: Math.max(least, Math.min(most, width / DATA_SHARE)),
    places: Float32Array.from(drawn.flatMap(i => vertexOf(places, i))),
    colours: Float32Array.from(drawn.flatMap(i => colours[labels[i]])) };
}

function addPin({ lines, points }, place) {
  const pin = [...place, ...plus(place, [0, 0, PIN])];
  lines.push({ segments: pin, wide: 3, colour: ACCENT, hidden: 0.5 });
  points.places = Float32Array.from([...points.places, ...place]);
  points.colours = Float32Array.from([...points.colours, ...ACCENT]);
}

// Adds to a scene what the plane [a, b, c, d] does along its `cut`; a plane that is not known, or
// misses the surface, is not drawn.
function addPlane(scene, numbers, cut, corners, before, ink) {
  const length = lengthOf(numbers);
  if (!(length > 0) || !cut.length) return null;
  const plane = planeOf(numbers.map(x => x / length), cut.slice(0, 3), before?.a);
  const [a, b] = [plane.a, plane.b].map(axis => {
    const along = Array.from({ length: cut.length / 3 }, (_, i) =>
      dot(axis, minus(vertexOf(cut, i), plane.centre)));
    const [low, high] = endsAmong(along);
    return [(low + high) / 2, Math.max(SHEET_MARGIN * (high - low) / 2, SHEET_LEAST)];
  });
  const sheet = SQUARE_CORNERS.map(([x, y]) =>
    plus(plus(plane.centre, plane.a, a[0] + x * a[1]), plane.b, b[0] + y * b[1]));
  scene.lines.push({ segments: ringOf(sheet), wide: 1.5, colour: ink, alpha: 0.55, hidden: 0.2 });
  scene.sheets = [{ corners: sheet, colour: sheetColour(ink) }];
  if (corners) {
    const heights = fieldOf(plane, corners.flat());
    const sides = [[0, 1], [1, 2], [2, 0]].filter(([i, j]) => heights[i] > 0 !== heights[j] > 0);
    const segments = sides.flatMap(side => crossingOf(heights, side, i => corners[i]));
    scene.lines.push({ segments, wide: 3, colour: ink, hidden: 0.8 });
  }
  return plane;
}
