// The camera that all scenes of a view share; it stays over a change of pages.

const HOME = 'Home';
const TURN = 8 * Math.PI / 180; // radians, of an arrow key
const NEARER = 0.9; // share of the distance that is left after a plus
const STEEPEST = 1.5; // radians above the ground: past the pole, left and right would swap
const SETTLED_MS = 40; // after which a zoom has been applied
const SAME = 1e-6; // difference of two cameras that count as the same
const PARTS = ['eye', 'center', 'up']; // of a camera of Plotly's
const CAMERAS = (window.__gcCameras ??= {});
const SCENES = (window.__gcSceneOf ??= {}); // the scene of each camera
const WRITE_MS = 300; // after which a camera that stays is written into the address
const TURNED = (window.__gcTurned ??= new Set()); // views that the visitor has turned

const cameraNow = div => div._fullLayout?.scene?._scene?.getCamera();

// A copy of the view's camera, which is Python's at first. Edge-on, where the planes of two columns
// differ, each `panel` has the camera of its column.
function cameraOf(state, panel = null) {
  const column = state.apart ? state.header.columns.findIndex(({ panels }) => panels.includes(panel)) : -1;
  return structuredClone(state.apart?.[column] ?? (CAMERAS[state.header.key] ??= linkedCamera(state) ?? home(state)));
}

// The camera of Python, fitted to the panels as they are now.
function home(state) {
  state.plots.forEach(({ div }) => hasNewSize(div));
  return fitted(state, state.header.camera);
}

// The camera of the address, which counts as turned by the visitor.
function linkedCamera(state) {
  const numbers = cameraInAddress(9);
  if (!numbers) return null;
  TURNED.add(state.header.key);
  return Object.fromEntries(PARTS.map((part, i) => [part, place(numbers.slice(3 * i, 3 * i + 3))]));
}

// The panel that a scene shows.
function panelOf(state, div) {
  const { c, p } = state.plots.find(plot => plot.div === div);
  return state.header.columns[c].panels[p];
}

const near = (a, b) => PARTS.every(
  part => ['x', 'y', 'z'].every(axis => Math.abs(a[part][axis] - b[part][axis]) < SAME));

function setCamera(state, camera, from = null) {
  CAMERAS[state.header.key] = structuredClone(camera);
  state.apart = null;
  showCameras(state, from);
  clearTimeout(state.writing);
  state.writing = setTimeout(() => {
    const { key } = state.header;
    putCamera(TURNED.has(key) ? PARTS.flatMap(part => vector(CAMERAS[key][part])) : null);
  }, WRITE_MS);
}

function showCameras(state, from = null) {
  TURNED.add(state.header.key);
  state.plots.forEach(({ div, c, p }) => {
    if (div === from || !div.classList.contains('gc-scene') || !div._fullLayout) return;
    const panel = state.header.columns[c].panels[p];
    const camera = cameraOf(state, panel);
    const ticks = ['x', 'y', 'z'].map((axis, i) => [`scene.${axis}axis.tickvals`, ticksOf(i, panel, div, camera)]);
    state.Plotly.relayout(div, { 'scene.camera': camera,
      'scene.annotations': leaders(panel, state, div), ...Object.fromEntries(ticks) });
  });
}

// Another scene begins with its own camera; the same one, after a change of pages, keeps the visitor's.
function beginScene(root, state) {
  const { key, scene } = state.header;
  if (key in SCENES && SCENES[key] !== scene) {
    TURNED.delete(key);
    delete CAMERAS[key];
    putCamera();
    state.apart = null;
  }
  SCENES[key] = scene;
}

// Fits again after a change of size, unless the visitor has turned the view.
function refit(state) {
  if (TURNED.has(state.header.key)) return;
  delete CAMERAS[state.header.key];
  setCamera(state, state.camera());
  TURNED.delete(state.header.key);
}

// Turns all scenes when one is turned.
function shareCamera(state, div) {
  div.on('plotly_relayouting', e => e['scene.camera'] && setCamera(state, e['scene.camera'], div));
  const share = (camera, from = null) => {
    if (camera && !near(camera, state.camera(panelOf(state, div)))) setCamera(state, camera, from);
  };
  div.on('plotly_relayout', e => share(e['scene.camera'], div));
  // Plotly reports the camera from before the zoom. What draws the scene next, such as a marker, would
  // put that one back: share the new one at once, after Plotly's own listeners.
  div.addEventListener('wheel', () => share(cameraNow(div)), { passive: true });
  // Touch reports before the zoom is applied: read the camera a moment later.
  let waiting = null;
  const later = () => {
    waiting ??= setTimeout(() => { waiting = null; share(cameraNow(div)); }, SETTLED_MS);
  };
  for (const name of ['touchend', 'pointerup']) {
    div.addEventListener(name, later, { passive: true, capture: true });
  }
  div.addEventListener('touchmove', () => requestAnimationFrame(() => {
    const camera = cameraNow(div);
    if (camera) setCamera(state, camera, div);
  }), { passive: true, capture: true });
}

// Does what a key means to the camera; returns whether it means anything.
function turned(root, state, key, panel) {
  const turn = { ArrowLeft: [-TURN, 0], ArrowRight: [TURN, 0], ArrowUp: [0, TURN], ArrowDown: [0, -TURN] }[key];
  const zoom = { '+': NEARER, '=': NEARER, '-': 1 / NEARER }[key];
  if (key === HOME) {
    setCamera(state, fitted(state, state.header.camera));
    TURNED.delete(state.header.key);
  } else if (turn || zoom) {
    const camera = state.camera(panel);
    const centre = vector(camera.center);
    const [x, y, z] = vector(camera.eye).map((place, i) => place - centre[i]);
    const far = Math.hypot(x, y, z) * (zoom ?? 1);
    const around = Math.atan2(y, x) + (turn?.[0] ?? 0);
    const above = Math.asin(z / Math.hypot(x, y, z)) + (turn?.[1] ?? 0);
    const up = Math.max(-STEEPEST, Math.min(STEEPEST, above));
    const eye = [Math.cos(up) * Math.cos(around), Math.cos(up) * Math.sin(around), Math.sin(up)];
    const before = state.camera(panel);
    camera.eye = place(eye.map((part, i) => centre[i] + far * part));
    setCamera(state, keepWhole(state, before, camera));
  } else {
    return false;
  }
  return true;
}
