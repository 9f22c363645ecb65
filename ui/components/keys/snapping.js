// Where a key may stand: on a lattice, or exactly on the line of two others: K = 0 can be reached.
//
// Coordinates are multiples of powers of two. So a point of a line is one exactly, and `areaOf` is
// exactly 0.

const LATTICE = 2 ** -6;
const LINE_STEPS = 2 ** 7; // from a key to the next along their line
const FINEST = 2 ** -20; // finer coordinates would be rounded in `areaOf`
const EXTENT = 4; // keys stay within −4 and 4
const CATCH = 0.12; // a key nearer than this to a line is put on it
const APART = 0.1; // keys nearer to each other than this make no line to snap to

const onLattice = point => point.map(x =>
  Math.max(-EXTENT, Math.min(EXTENT, LATTICE * Math.round(x / LATTICE))) + 0);

// The place for a key dragged to `point`, among `others`.
function snapped(point, others) {
  let best = { far: CATCH, place: onLattice(point) };
  others.forEach((a, i) => others.slice(0, i).forEach(b => {
    const along = [b[0] - a[0], b[1] - a[1]];
    const squared = along[0] ** 2 + along[1] ** 2;
    if (squared < APART ** 2) return;
    const share = ((point[0] - a[0]) * along[0] + (point[1] - a[1]) * along[1]) / squared;
    const step = Math.round(share * LINE_STEPS) / LINE_STEPS;
    const place = [a[0] + step * along[0], a[1] + step * along[1]];
    const far = Math.hypot(place[0] - point[0], place[1] - point[1]);
    const isSound = x => Number.isInteger(x / FINEST) && Math.abs(x) <= EXTENT;
    if (far < best.far && place.every(isSound)) best = { far, place };
  }));
  return best.place;
}
