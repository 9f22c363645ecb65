// A classified surface: the classifier's plane as a sheet along its cut, and its two sides of the
// plane in which a flat surface lies. Data points stand on the map: on a folded surface they would hide it.

const SHEET_MARGIN = 1.06; // length of a sheet, in lengths of what it is drawn around
const SHEET_LEAST = 0.25; // its least half-width

// The rectangle around places (3 N) in the plane through a centre along two directions.
function sheetAround(places, { centre, a, b }) {
  const [across, along] = [a, b].map(axis => {
    const [low, high] = endsAmong(Array.from({ length: places.length / 3 }, (_, i) =>
      dot(axis, minus(vertexOf(places, i), centre))));
    return [(low + high) / 2, Math.max(SHEET_MARGIN * (high - low) / 2, SHEET_LEAST)];
  });
  return SQUARE_CORNERS.map(([x, y]) =>
    plus(plus(centre, a, across[0] + x * across[1]), b, along[0] + y * along[1]));
}

// The part of the plane of three values in which their averages lie: the triangle is mostly larger.
function floorOf([centre, second, third], places) {
  const normal = unit(cross(minus(second, centre), minus(third, centre)));
  const a = unit(plus([1, 0, 0], normal, -normal[0]));
  return sheetAround(places, { centre, a, b: cross(normal, a) });
}

// Adds to a scene what the plane [a, b, c, d] does along its `cut`; a plane that is not known, or
// misses the surface, is not drawn.
function addPlane(scene, numbers, cut, corners, before, classes, ink) {
  const length = lengthOf(numbers);
  if (!(length > 0) || !cut.length) return null;
  const plane = planeOf(numbers.map(x => x / length), cut.slice(0, 3), before?.a);
  const sheet = sheetAround(cut, plane);
  scene.lines.push({ segments: ringOf(sheet), wide: 1.5, colour: ink, alpha: 0.55, hidden: 0.2 });
  scene.sheets = [{ corners: sheet, colour: sheetColour(ink) }];
  if (corners) {
    const heights = fieldOf(plane, corners.flat());
    const sides = [[0, 1], [1, 2], [2, 3], [3, 0]].filter(([i, j]) => heights[i] > 0 !== heights[j] > 0);
    const ends = sides.map(side => crossingOf(heights, side, i => corners[i]));
    scene.lines.push({ segments: ends.flat(), wide: 1.5, colour: ink, alpha: 0.8, hidden: 0.6 });
    const partOf = side => corners.flatMap((corner, i) => [
      ...(heights[i] > 0) === side ? [corner] : [],
      ...ends.filter((_, n) => sides[n][0] === i)]);
    scene.ground = [false, true].map((side, i) =>
      ({ corners: partOf(side), colour: [...hexColour(classes[i]), isDark(ink) ? 0.12 : 0.2] }));
  }
  return plane;
}
