// The input square: the class on either side of the cut, the cut, and the test points.

const WRONG = 5; // pixels: half a cross over a point on the wrong side
const CUT_INK = '#15141a';

function paintSquare(canvas, scene) {
  const { field, size, points, labels, pointField, colours, pointColours } = scene;
  const side = canvas.clientWidth;
  if (!side) return;
  const context = squareContext(canvas);
  context.fillStyle = colours[0];
  context.fillRect(0, 0, side, side);
  const spotOf = ([x, y]) => [(x + 1) / 2 * side, (1 - y) / 2 * side];
  const vertex = i => [2 * (i % size) / (size - 1) - 1, 2 * Math.floor(i / size) / (size - 1) - 1];
  const place = i => spotOf(vertex(i));
  fillPositive(context, field, size, place, colours[1]);
  strokeCut(context, field, size, place);
  for (const ends of endsOf(field, size)) {
    paintDot(context, crossingOf(field, ends, place), 6, CUT_INK);
  }
  for (let i = 0; i < points.length / 2; i += 1) {
    const [x, y] = spotOf(points.subarray(2 * i, 2 * i + 2));
    paintDot(context, [x, y], 3.6, pointColours[labels[i]]);
    if (Number(pointField[i] > 0) === labels[i]) continue;
    context.beginPath();
    for (const way of [-WRONG, WRONG]) {
      context.moveTo(x - WRONG, y - way);
      context.lineTo(x + WRONG, y + way);
    }
    Object.assign(context, { strokeStyle: CUT_INK, lineWidth: 2 });
    context.stroke();
  }
}

function paintDot(context, [x, y], radius, colour) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  Object.assign(context, { fillStyle: colour, strokeStyle: '#fff', lineWidth: 1.3 });
  context.fill();
  context.stroke();
}

function strokeCut(context, field, size, place) {
  const grid = Array.from(field, (_, i) => place(i)).flat();
  const cut = cutOf(field, size, grid, 2);
  context.beginPath();
  for (let i = 0; i < cut.length; i += 4) {
    context.moveTo(cut[i], cut[i + 1]);
    context.lineTo(cut[i + 2], cut[i + 3]);
  }
  context.lineCap = 'round';
  for (const [ink, wide] of [['#fff', 6], [CUT_INK, 3.2]]) {
    Object.assign(context, { strokeStyle: ink, lineWidth: wide });
    context.stroke();
  }
}

// The parts of the triangles in which the field, linear between their corners, is positive: one
// path, so that no hairline stays between neighbours.
function fillPositive(context, field, size, place, colour) {
  context.beginPath();
  eachTriangle(size, (...corners) => {
    const outline = corners.flatMap((i, k) => {
      const j = corners[(k + 1) % 3];
      const own = field[i] > 0 ? [place(i)] : [];
      return field[i] > 0 === field[j] > 0 ? own : [...own, crossingOf(field, [i, j], place)];
    });
    outline.forEach((spot, k) => (k ? context.lineTo(...spot) : context.moveTo(...spot)));
    if (outline.length) context.closePath();
  });
  context.fillStyle = colour;
  context.fill();
}
