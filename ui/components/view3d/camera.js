// From where is it seen? All scenes of a view share one camera, which outlives a change of pages.

const HOME = 'Home';
const TURN = 8 * Math.PI / 180; // radians, of an arrow key
const NEARER = 0.9; // of the way to the middle, of a plus
const STEEPEST = 1.5; // radians above the ground: overhead, left and right would change places
const SETTLED_MS = 40; // after which a zoom has been applied
const CAMERAS = (window.__gcCameras ??= {});
const TURNED = (window.__gcTurned ??= new Set()); // views that the visitor has turned

const scenesOf = state => state.plots.map(plot => plot.div).filter(div => div.classList.contains('gc-scene'));

const cameraNow = div => div._fullLayout?.scene?._scene?.getCamera();

// The camera of a view: a copy, or that of Python until there is one.
const cameraOf = ({ header }) => structuredClone(CAMERAS[header.key] ??= structuredClone(header.camera));

function setCamera(state, camera, from = null) {
  CAMERAS[state.header.key] = structuredClone(camera);
  TURNED.add(state.header.key);
  scenesOf(state).forEach(div => div !== from && div._fullLayout
    && state.Plotly.relayout(div, { 'scene.camera': structuredClone(camera) }));
}

// Another picture may be better seen from elsewhere, unless the visitor has chosen from where.
function forgetCamera({ key }) {
  if (!TURNED.has(key)) delete CAMERAS[key];
}

// What turns one scene turns them all.
function shareCamera(state, div) {
  div.on('plotly_relayouting', e => e['scene.camera'] && setCamera(state, e['scene.camera'], div));
  div.on('plotly_relayout', e => {
    const camera = e['scene.camera'];
    if (camera && JSON.stringify(camera) !== JSON.stringify(state.camera())) setCamera(state, camera, div);
  });
  // Wheel and touch report before the zoom is applied: read the camera a moment later.
  let waiting = null;
  const later = () => {
    waiting ??= setTimeout(() => {
      waiting = null;
      const camera = cameraNow(div);
      if (camera) setCamera(state, camera);
    }, SETTLED_MS);
  };
  for (const name of ['wheel', 'touchend', 'pointerup']) {
    div.addEventListener(name, later, { passive: true, capture: true });
  }
  div.addEventListener('touchmove', () => requestAnimationFrame(() => {
    const camera = cameraNow(div);
    if (camera) setCamera(state, camera, div);
  }), { passive: true, capture: true });
}

// Whether a key means something to the camera; if so, it is done.
function turned(state, key) {
  const turn = { ArrowLeft: [-TURN, 0], ArrowRight: [TURN, 0], ArrowUp: [0, TURN], ArrowDown: [0, -TURN] }[key];
  const zoom = { '+': NEARER, '=': NEARER, '-': 1 / NEARER }[key];
  if (key === HOME) {
    setCamera(state, state.header.camera);
  } else if (turn || zoom) {
    const camera = state.camera();
    const { x, y, z } = camera.eye;
    const far = Math.hypot(x, y, z) * (zoom ?? 1);
    const around = Math.atan2(y, x) + (turn?.[0] ?? 0);
    const above = Math.asin(z / Math.hypot(x, y, z)) + (turn?.[1] ?? 0);
    const up = Math.max(-STEEPEST, Math.min(STEEPEST, above));
    camera.eye = { x: far * Math.cos(up) * Math.cos(around), y: far * Math.cos(up) * Math.sin(around), z: far * Math.sin(up) };
    setCamera(state, camera);
  } else {
    return false;
  }
  return true;
}
