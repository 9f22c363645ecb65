// The camera from which a scene is seen as a whole, and where its points are then.

const FIELD = Math.PI / 4; // radians: the vertical field of Plotly's cameras
const EDGE = 14; // pixels around what must be seen: room for half a label
const [AWAY, MOST_AWAY] = [1.03, 40]; // factor and number of steps away from a scene
const ROOM = 0.9; // share of half the panel, for the scene
const NOTES_ROOM = 28; // pixels at each edge at least, with words at the corners of the scene
const AXES_ROOM = 0.62; // with numbers and titles along the axes
const AXES_SIZES = 20; // of their type: in a smaller panel, as on a phone, they would be cut off

const unit = vector => vector.map(x => x / Math.hypot(...vector));
const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
const cross = ([a, b, c], [d, e, f]) => [b * f - c * e, c * d - a * f, a * e - b * d];
const vector = place => ['x', 'y', 'z'].map(axis => place[axis]);
const place = ([x, y, z]) => ({ x, y, z });

// A point of a scene in the units of cameras.
const inUnits = (point, { layout }) => ['x', 'y', 'z'].map((axis, i) => {
  const [low, high] = layout[`${axis}axis`].range;
  return ((point[i] - low) / (high - low) - 0.5) * layout.aspectratio[axis];
});

const hasNumbers = ({ layout }, div) => layout.xaxis.showticklabels !== false && Math.min(div.clientWidth, div.clientHeight) >= AXES_SIZES * typePixels();

// The points of a scene that must be visible: those that Python names, or the corners of its boxes.
function mustBeSeen(panel) {
  if (panel.fits.length) return panel.fits;
  if (panel.inside.length) return panel.inside.map(point => inUnits(point, panel));
  return (panel.layouts.length ? panel.layouts : [panel.layout]).flatMap(layout => {
    const ranges = ['x', 'y', 'z'].map(axis => layout[`${axis}axis`].range);
    const corners = [0, 1, 2, 3, 4, 5, 6, 7].map(corner => ranges.map((range, i) => range[corner >> i & 1]));
    return corners.map(point => inUnits(point, { layout }));
  });
}

// Uses the box of the shown frame, where each frame has its own.
function fitBoxes({ header, frame }) {
  header.columns.flatMap(column => column.panels).filter(panel => panel.layouts.length)
    .forEach(panel => { panel.layout = panel.layouts[Math.min(frame, panel.layouts.length - 1)]; });
}

// The position of a point in the picture: pixels to the right of its middle and down.
const inPicture = (point, panel, camera, div) => ofUnits(inUnits(point, panel), camera, div);

// The same of a point in the units of cameras.
function ofUnits(point, camera, div) {
  const centre = vector(camera.center);
  const from = (a, b) => a.map((x, i) => x - b[i]);
  const view = from(vector(camera.eye), centre);
  const towards = unit(view);
  const right = unit(cross(vector(camera.up), towards));
  const place = from(point, centre);
  const scale = div.clientHeight / 2 / Math.tan(FIELD / 2) / (Math.hypot(...view) - dot(place, towards));
  return [scale * dot(place, right), -scale * dot(place, cross(towards, right))];
}

// The camera in the same direction, as near as everything fits into every scene, or into those of one
// `column`. To show a plane as a line it stands in the plane, as high as its point `level`.
function fitted(state, camera, level = null, column = null) {
  const panels = state.plots.filter(({ c }) => column === null || c === column)
    .map(({ div, c, p }) => ({ div, panel: state.header.columns[c].panels[p] }))
    .filter(({ panel, div }) => panel.kind === 'scene' && div.clientHeight);
  if (!panels.length || !camera.eye) return camera;
  const towards = unit(vector(camera.eye));
  const right = unit(cross(vector(camera.up), towards));
  const over = cross(towards, right);
  const seen = panels.flatMap(({ div, panel }) => {
    const room = hasNumbers(panel, div) ? AXES_ROOM : ROOM;
    const notes = [Math.max(NOTES_ROOM, ...panel.notes.filter(atCorner).map(roomOf)), NOTES_ROOM];
    const [wide, tall] = [div.clientWidth, div.clientHeight].map((size, i) => Math.tan(FIELD / 2) / div.clientHeight
      * Math.min(size * room, panel.notes.length ? size - 2 * notes[i] : size));
    return mustBeSeen(panel).map(p => [dot(p, right) / wide, dot(p, over) / tall, dot(p, towards), wide, tall]);
  });
  // For both directions in the picture: the middle, and the nearest distance that shows both edges.
  const spread = i => {
    const after = Math.max(...seen.map(p => p[i] + p[2]));
    const before = Math.max(...seen.map(p => p[2] - p[i]));
    return [(after - before) / 2, (after + before) / 2];
  };
  const [, , , wide, tall] = seen[0];
  const [[across, farX], [middle, farY]] = [spread(0), spread(1)];
  const up = level ? dot(inUnits(level, panels[0].panel), over) / tall : middle;
  const far = Math.max(farX, farY + Math.abs(up - middle));
  const depths = seen.map(p => p[2]); // it turns about the middle of what is seen
  const deep = (Math.min(...depths) + Math.max(...depths)) / 2;
  const centre = [0, 1, 2].map(i => across * wide * right[i] + up * tall * over[i] + deep * towards[i]);
  return { eye: place(centre.map((x, i) => x + (far - deep) * towards[i])), up: camera.up, center: place(centre) };
}

// Whether all that must be seen is within every scene.
const isWhole = (state, camera) => state.plots.every(({ div, c, p }) => {
  const panel = state.header.columns[c].panels[p];
  return panel.kind !== 'scene' || !div.clientHeight || mustBeSeen(panel).every(point => {
    const pixels = ofUnits(point, camera, div);
    return [div.clientWidth, div.clientHeight].every((size, i) => Math.abs(pixels[i]) < size / 2 - EDGE);
  });
});

const distance = ({ eye, center }) => Math.hypot(...vector(eye).map((x, i) => x - vector(center)[i]));

const scaled = (camera, factor) => ({ ...camera, eye: place(vector(camera.eye).map((x, i) => {
  const centre = vector(camera.center)[i];
  return centre + (x - centre) * factor;
})) });

// A turned camera, as far away as needed for all that was seen `before`; a zoom or a shift stays.
function keepWhole(state, before, camera) {
  const moved = Math.abs(distance(camera) / distance(before) - 1) > SAME * 1e3
    || vector(camera.center).some((x, i) => Math.abs(x - vector(before.center)[i]) > SAME * 1e3);
  if (moved || !isWhole(state, before)) return camera;
  const least = distance(fitted(state, state.header.camera)) / distance(camera);
  let result = scaled(camera, Math.min(least, 1));
  for (let tries = 0; tries < MOST_AWAY && !isWhole(state, result); tries += 1) result = scaled(result, AWAY);
  return result;
}
