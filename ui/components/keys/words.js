// The one sentence of the picture: what the keys decide, and the range of K in this view.

// [bold, rest]
function sentenceOf(state, { sign, key, why }) {
  const sink = state.mode === 'sink';
  if (sign === null) return ['All keys lie on one line: the outputs fill a curve, not a surface.', 'Drag a key away from it.'];
  if (why === 'three') return ['Three values: the surface fills part of their flat triangle, K = 0 everywhere.', 'Proved: every output is an average of the three.'];
  if (why === 'coplanar') return ['The four values lie in one plane: the surface is flat, K = 0 everywhere.', 'Proved: every output is an average of the four.'];
  const range = state.surface.K.filter(Number.isFinite);
  const here = `Proved from ${sink ? 'the keys and the origin' : 'the four keys'}. At the ${group(range.length)} points drawn, K runs from ${number(Math.min(...range))} to ${number(Math.max(...range))}.`;
  if (sign > 0) return [`${placeWords(state, key, sink)}: a dome everywhere, K > 0.`, here];
  if (sign < 0) {
    const words = sink ? 'The origin lies beyond one edge of the key triangle' : 'The four keys are in convex position';
    return [`${words}: a saddle everywhere, K < 0.`, here];
  }
  if (key === null) return [sink ? 'A key lies at the origin: K = 0 everywhere.' : 'Two keys coincide: K = 0 everywhere.', 'Proved from the keys.'];
  const line = [0, 1, 2, 3].filter(i => i !== key).map(i => (isFixed(state, i) ? 'the origin' : `${i + 1}`));
  const names = sink && key !== 3 ? `Keys ${line.slice(0, 2).join(' and ')} and the origin lie` : `Keys ${line.slice(0, 2).join(', ')} and ${line[2]} lie`;
  return [`${names} on one line: K = 0 everywhere.`, 'Proved: the surface can be unrolled. Cross the line and the sign changes.'];
}

function placeWords(state, key, sink) {
  if (isFixed(state, key)) return 'The origin lies inside the triangle of the keys';
  return sink ? `Key ${key + 1} lies inside the triangle of the other two and the origin`
    : `Key ${key + 1} lies inside the triangle of the others`;
}

const group = n => n.toLocaleString('en-GB');
