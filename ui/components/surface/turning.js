// Turning a view: one finger or the mouse turns, two fingers or Ctrl and the wheel zoom, keys do both.
//
// The canvas must have `touch-action: pan-y`, so that a finger that moves upwards scrolls the page.

const TURN = 0.008; // radians for each pixel
const TURN_BY_KEY = 0.12;
const ZOOM_BY_KEY = 0.92;
const STILL = 5; // pixels: a press that moves less is a click

// `onClick(x, y)` hears of clicks, `onHover(x, y)` of the mouse, without arguments when it leaves.
function listenToTurning(view, { onClick = () => {}, onHover = () => {} } = {}) {
  const { canvas, camera } = view;
  const fingers = new Map();
  const spread = () => {
    const [a, b] = [...fingers.values()];
    return b && Math.hypot(a.x - b.x, a.y - b.y);
  };
  const turn = (across, down) => {
    camera.azimuth -= across;
    camera.elevation = Math.max(-STEEPEST, Math.min(STEEPEST, camera.elevation + down));
  };
  const zoom = factor => {
    const { distance } = view.home; // the first one
    camera.distance = Math.max(NEAREST * distance, Math.min(FARTHEST * distance, camera.distance * factor));
  };
  const keep = () => {
    const { azimuth, elevation, distance } = camera;
    const same = azimuth === view.home.azimuth && elevation === view.home.elevation && distance === view.home.distance;
    putCamera(same ? null : [azimuth, elevation, distance / view.home.distance]);
  };
  const within = event => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const isHeld = () => fingers.size > 0;
  canvas.addEventListener('pointerdown', event => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, { x: event.clientX, y: event.clientY, way: 0, start: [event.clientX, event.clientY] });
  });
  canvas.addEventListener('pointermove', event => {
    const finger = fingers.get(event.pointerId);
    if (!finger) {
      if (!isHeld() && event.pointerType === 'mouse') onHover(...within(event));
      return;
    }
    const [across, down, before] = [event.clientX - finger.x, event.clientY - finger.y, spread()];
    Object.assign(finger, { x: event.clientX, y: event.clientY, way: finger.way + Math.hypot(across, down) });
    // A finger that sets out upwards scrolls the page; until it has gone a little way, nobody knows.
    if (event.pointerType === 'touch' && finger.scrolls === undefined && finger.way >= STILL) {
      finger.scrolls = Math.abs(event.clientY - finger.start[1]) > Math.abs(event.clientX - finger.start[0]);
    }
    if (before) zoom(before / spread());
    else if (event.pointerType !== 'touch' || finger.scrolls === false) turn(TURN * across, TURN * down);
    view.invalidate();
  });
  for (const name of ['pointerup', 'pointercancel']) {
    canvas.addEventListener(name, event => {
      const finger = fingers.get(event.pointerId);
      fingers.delete(event.pointerId);
      if (finger?.way > 0) keep();
      if (finger && name === 'pointerup' && finger.way < STILL) onClick(...within(event));
    });
  }
  canvas.addEventListener('pointerleave', () => onHover());
  canvas.addEventListener('wheel', event => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(Math.exp(0.002 * event.deltaY));
    keep();
    view.invalidate();
  }, { passive: false });
  canvas.addEventListener('keydown', event => {
    const act = {
      ArrowLeft: () => turn(-TURN_BY_KEY, 0), ArrowRight: () => turn(TURN_BY_KEY, 0),
      ArrowUp: () => turn(0, -TURN_BY_KEY), ArrowDown: () => turn(0, TURN_BY_KEY),
      '+': () => zoom(ZOOM_BY_KEY), '-': () => zoom(1 / ZOOM_BY_KEY),
      Home: () => Object.assign(camera, view.home),
    }[event.key];
    if (!act || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    act();
    keep();
    view.invalidate();
  });
}

// Turns the view as the address says, whatever it shows: azimuth, elevation, and the share of the first distance.
function restoreCamera({ camera, home }) {
  const [azimuth, elevation, share] = cameraInAddress(3) ?? [];
  if (!(share >= NEAREST && share <= FARTHEST && Math.abs(elevation) <= STEEPEST)) return;
  Object.assign(camera, { azimuth, elevation, distance: share * home.distance });
}
