// The one sentence of the picture: what the keys decide, and the range of K in this view.

const group = n => n.toLocaleString('en-GB');
const listed = names => `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;

// [bold, rest]
function sentenceOf(state, { sign, key, why }) {
  const isSink = state.mode === 'sink';
  if (sign === null) {
    return ['All keys lie on one line: the outputs fill a curve, not a surface.',
      'Drag a key away from it.'];
  }
  if (why === 'three') {
    return ['Three values: the surface fills part of their flat triangle, K = 0 everywhere.',
      'Proved: every output is an average of the three.'];
  }
  if (why === 'coplanar') {
    return ['The four values lie in one plane: the surface is flat, K = 0 everywhere.',
      'Proved: every output is an average of the four.'];
  }
  if (sign === 0 && key === null) {
    const where = isSink ? 'A key lies at the origin' : 'Two keys coincide';
    return [`${where}: K = 0 everywhere.`, 'Proved from the keys.'];
  }
  if (sign === 0) {
    const line = [0, 1, 2, 3].filter(i => i !== key && !isFixed(state, i)).map(i => `${i + 1}`);
    const names = line.length < 3 ? [...line, 'the origin'] : line;
    return [`Keys ${listed(names)} lie on one line: K = 0 everywhere.`,
      'Proved: the surface can be unrolled. Cross the line and the sign changes.'];
  }
  const range = state.surface.K.filter(Number.isFinite);
  const [least, most] = endsAmong(range).map(number);
  const proof = `Proved from ${isSink ? 'the keys and the origin' : 'the four keys'}.`;
  const count = group(range.length);
  const here = `${proof} At the ${count} points drawn, K runs from ${least} to ${most}.`;
  if (sign > 0) return [`${insideWords(state, key, isSink)}: a dome everywhere, K > 0.`, here];
  const where = isSink ? 'The origin lies beyond one edge of the key triangle'
    : 'The four keys are in convex position';
  return [`${where}: a saddle everywhere, K < 0.`, here];
}

function insideWords(state, key, isSink) {
  if (isFixed(state, key)) return 'The origin lies inside the triangle of the keys';
  const others = isSink ? 'other two and the origin' : 'others';
  return `Key ${key + 1} lies inside the triangle of the ${others}`;
}
