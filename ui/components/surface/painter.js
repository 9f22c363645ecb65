// Paints a scene (see view.js) on a 2-D canvas, the farthest part first, where there is no WebGL.

const LIGHT = [...unit([0.35, -0.45, 0.9]), 0.48]; // and how bright the far side is
// What is compared has one light: from behind the viewer's shoulder, and weaker shades.
const lightOf = ({ headlit }, { right, up }) =>
  (headlit ? [...unit(plus(plus(cross(right, up), up, 0.2), right, -0.3)), 0.8] : LIGHT);
const NEARER = 0.012; // of the distance: lines and points are sorted as if they were so much nearer

const byteOf = share => Math.round(255 * Math.max(0, Math.min(1, share)));
const cssOf = (colour, alpha = 1) => `rgba(${colour.slice(0, 3).map(byteOf)},${alpha})`;

function canvasPainter(canvas) {
  const context = canvas.getContext('2d');
  const paint = (scene, lens) => paintByCanvas(context, scene, lens);
  return { kind: 'canvas', paint, release: () => {} };
}

function paintByCanvas(context, scene, lens) {
  context.setTransform(lens.ratio, 0, 0, lens.ratio, 0, 0);
  context.clearRect(0, 0, lens.width, lens.height);
  const trace = spots => {
    context.beginPath();
    for (const [x, y] of spots) context.lineTo(x, y);
  };
  const flat = ({ corners, colour }) => {
    trace(corners.map(lens.project));
    context.fillStyle = cssOf(colour, colour[3]);
    context.fill();
  };
  (scene.ground ?? []).forEach(flat);
  const parts = meshParts(context, scene, lens, trace);
  for (const { segments, wide, colour, alpha = 1 } of scene.lines ?? []) {
    for (let i = 0; i < segments.length; i += 6) {
      const [a, b] = [segments.slice(i, i + 3), segments.slice(i + 3, i + 6)].map(lens.project);
      parts.push({ depth: (a[2] + b[2]) / 2 * (1 - NEARER), paint: () => {
        trace([a, b]);
        context.strokeStyle = cssOf(colour, alpha);
        Object.assign(context, { lineWidth: wide, lineCap: 'round' });
        context.stroke();
      } });
    }
  }
  const { places: points = [], colours, size } = scene.points ?? {};
  for (let i = 0; i < points.length / 3; i += 1) {
    const [x, y, depth] = lens.project(vertexOf(points, i));
    parts.push({ depth: depth * (1 - NEARER), paint: () => {
      context.beginPath();
      context.arc(x, y, size / 2 - 0.7, 0, 2 * Math.PI);
      context.fillStyle = cssOf(vertexOf(colours, i));
      Object.assign(context, { strokeStyle: '#fff', lineWidth: 1.2 });
      context.fill();
      context.stroke();
    } });
  }
  parts.sort((a, b) => b.depth - a.depth);
  parts.forEach(({ paint }) => paint());
  (scene.sheets ?? []).forEach(flat);
}

// A part for every cell of the mesh, with the grid lines at its first two edges.
function meshParts(context, scene, lens, trace) {
  const { size, places, normals, colours, field, classes, cells } = scene;
  const light = lightOf(scene, lens);
  const spots = Array.from({ length: size * size }, (_, i) => lens.project(vertexOf(places, i)));
  const line = cells / (size - 1);
  const isLine = at => Math.floor(at * line + 1e-9) !== Math.floor((at - 1) * line + 1e-9);
  const parts = [];
  for (let row = 0; row < size - 1; row += 1) {
    for (let column = 0; column < size - 1; column += 1) {
      const i = row * size + column;
      const corners = [i, i + 1, i + size + 1, i + size];
      if (corners.some(j => Number.isNaN(spots[j][2]))) continue;
      parts.push({ depth: corners.reduce((sum, j) => sum + spots[j][2] / 4, 0), paint: () => {
        const place = vertexOf(places, i);
        const normal = vertexOf(normals, i);
        const seen = dot(normal, minus(lens.eye, place)) < 0 ? -1 : 1;
        const lit = light[3] + (1.16 - light[3]) * (0.5 + 0.5 * seen * dot(normal, light)) ** 2;
        const colour = field ? classes[Number(field[i] > 0)] : vertexOf(colours, i);
        trace(corners.map(j => spots[j]));
        context.closePath();
        context.fillStyle = context.strokeStyle = cssOf(colour.map(x => x * lit));
        context.lineWidth = 0.7;
        context.fill();
        context.stroke();
        Object.assign(context, { strokeStyle: 'rgba(20,20,30,.4)', lineWidth: 1 });
        for (const [at, next] of [[row, i + 1], [column, i + size]]) {
          if (!isLine(at)) continue;
          trace([spots[i], spots[next]]);
          context.stroke();
        }
      } });
    }
  }
  return parts;
}
