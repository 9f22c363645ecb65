// A plane through a surface: { normal, centre, a, b }: a unit normal, a centre, and unit axes within it.

const LEVEL = 0.1; // sine of the angle below which a plane is level, as far as its axes go

// The plane with the point nearest to `middle` as its centre. Its first axis is level, on the side of the one
// `before`; of a level plane it is that one, turned as little as possible.
function planeOf(normal, offset, middle, before = [1, 0, 0]) {
  const level = cross([0, 0, 1], normal);
  const turned = plus(before, normal, -dot(before, normal));
  const isSteep = lengthOf(level) > LEVEL || lengthOf(turned) < LEVEL;
  const a = unit(isSteep ? level.map(x => (dot(level, before) < 0 ? -x : x)) : turned);
  return { normal, centre: plus(middle, normal, -dot(normal, middle) - offset), a, b: cross(normal, a) };
}
