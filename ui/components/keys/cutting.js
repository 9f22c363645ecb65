// A plane through the surface: it can cut a closed ring out of a dome, and out of no saddle (gating_core/geometry/islands.py).

const EVERY = 4; // vertices both ways, whose normals are tried
const TILT = 0.2;
const ABOVE = 0.1; // of the hill: where the plane cuts it

const stop = () => {}; // nothing plays here while a plane is dragged

function takePlane(state, plane) {
  state.plane = plane;
  change(state);
}

// The plane across the highest hill: above all of the surface's border, in the direction of some normal. Without a hill
// one through the middle, a little off the tangent plane.
function firstCut({ places, normals }) {
  const [last, middle] = [SIZE - 1, (SIZE * SIZE - 1) / 2];
  const along = unit(minus(vertexOf(places, middle + 1), vertexOf(places, middle)));
  const tilted = unit(plus(plus(vertexOf(normals, middle), along, TILT), [0, 0, 1], Number.EPSILON));
  let best = { hill: 1e-6, normal: tilted, offset: -dot(tilted, vertexOf(places, middle)) };
  for (let row = 0; row < SIZE; row += EVERY) {
    for (let column = 0; column < SIZE; column += EVERY) {
      for (const side of [1, -1]) {
        const normal = vertexOf(normals, row * SIZE + column).map(x => side * x);
        let [top, rim] = [-Infinity, -Infinity];
        fieldOf({ normal }, 0, places).forEach((height, i) => {
          const [r, c] = [Math.floor(i / SIZE), i % SIZE];
          if (height > top) top = height;
          if (height > rim && (r === 0 || c === 0 || r === last || c === last)) rim = height;
        });
        if (top - rim > best.hill) best = { hill: top - rim, normal, offset: -(rim + ABOVE * (top - rim)) };
      }
    }
  }
  return planeOf(best.normal, best.offset, middleOf(places));
}

// Draws the plane and its cut; what it cuts, in words.
function cutBy({ plane, surface: { places }, ink }, scene, { sign, why }) {
  const field = fieldOf(plane, offsetOf(plane), places);
  scene.sheets = [];
  addCut(scene, cutOf(field, SIZE, places));
  addSheet(scene, plane, middleOf(places), ink, !isDark(ink));
  const kinds = cutKinds(field, SIZE);
  if (!closedPart(field, SIZE)) kinds.loops = 0; // of a few vertices, as the mesh has them on saddles, too
  const words = cutWords(Boolean(why), kinds, field);
  if (why || sign === null) return words;
  return `${words} ${sign > 0 ? 'Make it a saddle, and no plane cuts a closed ring.' : 'No plane cuts a closed ring: that needs K > 0.'}`;
}
