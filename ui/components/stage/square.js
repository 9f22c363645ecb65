// The input square: the class on either side of the cut, the cut, and the test points.

const WRONG = 5; // pixels: half a cross over a point on the wrong side

function paintSquare(canvas, { field, size, points, labels, pointField, colours, pointColours }) {
  const ratio = Math.min(devicePixelRatio || 1, LARGEST_RATIO);
  const side = canvas.clientWidth;
  if (!side) return;
  const pixels = Math.round(side * ratio);
  if (canvas.width !== pixels || canvas.height !== pixels) canvas.width = canvas.height = pixels;
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = colours[0];
  context.fillRect(0, 0, side, side);
  paintCut(context, side, field, size, colours[1]);
  for (let i = 0; i < points.length / 2; i += 1) {
    const [x, y] = [(points[2 * i] + 1) / 2 * side, (1 - points[2 * i + 1]) / 2 * side];
    paintDot(context, x, y, 3.6, pointColours[labels[i]]);
    if (Number(pointField[i] > 0) === labels[i]) continue;
    context.beginPath();
    for (const way of [-1, 1]) {
      context.moveTo(x - WRONG, y - way * WRONG);
      context.lineTo(x + WRONG, y + way * WRONG);
    }
    Object.assign(context, { strokeStyle: '#15141a', lineWidth: 2 });
    context.stroke();
  }
}

function paintDot(context, x, y, radius, colour) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  Object.assign(context, { fillStyle: colour, strokeStyle: '#fff', lineWidth: 1.3 });
  context.fill();
  context.stroke();
}

// The side of class 1, the cut, and a dot at each of its ends.
function paintCut(context, side, field, size, colour) {
  const spot = i => [i % size * side / (size - 1), side * (1 - Math.floor(i / size) / (size - 1))];
  context.fillStyle = colour;
  fillPositive(context, field, size, spot);
  const grid = Array.from({ length: 2 * size * size }, (_, i) => spot(i >> 1)[i % 2]);
  const cut = cutOf(field, size, grid, 2);
  context.beginPath();
  for (let i = 0; i < cut.length; i += 4) {
    context.moveTo(cut[i], cut[i + 1]);
    context.lineTo(cut[i + 2], cut[i + 3]);
  }
  context.lineCap = 'round';
  for (const [ink, wide] of [['#fff', 6], ['#15141a', 3.2]]) {
    Object.assign(context, { strokeStyle: ink, lineWidth: wide });
    context.stroke();
  }
  for (const [i, j] of endsOf(field, size)) paintDot(context, ...mixed(spot(i), spot(j), field[i] / (field[i] - field[j])), 6, '#15141a');
}

const OVERLAP = 0.5; // pixels, so that no hairline stays between neighbours

// Fills all that is positive: runs of whole cells as rectangles, and parts of the triangles on the cut.
function fillPositive(context, field, size, spot) {
  context.beginPath();
  for (let row = 0; row < size - 1; row += 1) {
    const cell = column => [0, 1, size + 1, size].map(step => row * size + column + step);
    for (let column = 0; column < size - 1; column += 1) {
      const corners = cell(column);
      const positive = corners.filter(i => field[i] > 0).length;
      if (positive === 0) continue;
      if (positive < 4) {
        const [a, b, c, d] = corners;
        addPart(context, [a, b, c], field, spot);
        addPart(context, [a, c, d], field, spot);
        continue;
      }
      let end = column;
      while (end < size - 2 && cell(end + 1).every(i => field[i] > 0)) end += 1;
      const [[left, bottom], [right, top]] = [spot(corners[0]), spot(cell(end)[2])];
      context.fillRect(left - OVERLAP, top - OVERLAP, right - left + 2 * OVERLAP, bottom - top + 2 * OVERLAP);
      column = end;
    }
  }
  context.fill();
}

// The part of a triangle in which the field, linear between its corners, is positive.
function addPart(context, corners, field, spot) {
  const outline = [];
  corners.forEach((i, k) => {
    const j = corners[(k + 1) % 3];
    if (field[i] > 0) outline.push(spot(i));
    if (field[i] > 0 === field[j] > 0) return;
    outline.push(mixed(spot(i), spot(j), field[i] / (field[i] - field[j])));
  });
  outline.forEach(([x, y], k) => (k ? context.lineTo(x, y) : context.moveTo(x, y)));
  if (outline.length) context.closePath();
}
