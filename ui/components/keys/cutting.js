// A plane through the surface: it can cut a closed ring out of a dome, and out of no saddle
// (gating_core/geometry/islands.py).

const EVERY = 4; // vertices both ways, whose normals are tried
const TILT = 0.2;
const ABOVE = 0.1; // of the hill: where the plane cuts it

// The plane across the highest hill: above all of the surface's border, in the direction of some
// normal. Without a hill one through the middle, a little off the tangent plane.
function firstCut({ places, normals }) {
  const middle = (SIZE * SIZE - 1) / 2;
  const along = unit(minus(vertexOf(places, middle + 1), vertexOf(places, middle)));
  const tilt = unit(plus(plus(vertexOf(normals, middle), along, TILT), [0, 0, 1], Number.EPSILON));
  let best = { hill: 1e-6, numbers: [...tilt, -dot(tilt, vertexOf(places, middle))] };
  const rim = edgeOf(SIZE).map(([i]) => i);
  for (let i = 0; i < SIZE * SIZE; i += 1) {
    if (i % SIZE % EVERY || Math.floor(i / SIZE) % EVERY) continue;
    for (const side of [1, -1]) {
      const normal = vertexOf(normals, i).map(x => side * x);
      const heights = fieldOf({ normal, centre: [0, 0, 0] }, places);
      const border = Math.max(...rim.map(at => heights[at]));
      const hill = Math.max(...heights) - border;
      if (hill > best.hill) best = { hill, numbers: [...normal, -(border + ABOVE * hill)] };
    }
  }
  return planeOf(best.numbers, middleOf(places));
}

// Draws the plane and its cut; what it cuts, in words.
function cutBy({ plane, surface: { places }, ink }, scene, { sign, why }) {
  const field = fieldOf(plane, places);
  scene.sheets = [];
  addCut(scene, cutOf(field, SIZE, places));
  addSheet(scene, plane, middleOf(places), ink);
  const kinds = cutKinds(field, SIZE);
  if (!closedPart(field, SIZE)) kinds.loops = 0; // of a few vertices, as on meshes of saddles
  const words = cutWords(Boolean(why), kinds, field);
  if (why || sign === null) return words;
  const rings = sign > 0 ? 'Make it a saddle, and no plane cuts a closed ring.'
    : 'No plane cuts a closed ring: that needs K > 0.';
  return `${words} ${rings}`;
}
