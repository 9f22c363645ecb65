// A classified surface: the classifier's plane as a sheet along its cut, and its two sides of the
// ground. Data points stand on the map: on a folded surface they would hide it.

const SHEET_MARGIN = 1.15; // length of the sheet, in lengths of the cut
const SHEET_LEAST = 0.25; // its least half-width

// Adds to a scene what the plane [a, b, c, d] does along its `cut`; a plane that is not known, or
// misses the surface, is not drawn.
function addPlane(scene, numbers, cut, corners, before, classes, ink) {
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
    const ends = sides.map(side => crossingOf(heights, side, i => corners[i]));
    scene.lines.push({ segments: ends.flat(), wide: 1.5, colour: ink, alpha: 0.8, hidden: 0.6 });
    const partOf = side => [0, 1, 2].flatMap(i => [
      ...(heights[i] > 0) === side ? [corners[i]] : [],
      ...ends.filter((_, n) => sides[n][0] === i)]);
    scene.ground = [false, true].map((side, i) =>
      ({ corners: partOf(side), colour: [...hexColour(classes[i]), isDark(ink) ? 0.12 : 0.2] }));
  }
  return plane;
}
