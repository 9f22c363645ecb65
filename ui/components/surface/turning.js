// Turning a view: one finger or the mouse turns, two fingers or Ctrl and the wheel zoom, keys do
// both. Where the camera stands is in the address: the browser alone writes it there, and makes no
// step of its history; Python asks for it where it shares the address (camera.js).
//
// The canvas must have `touch-action: pan-y`: a finger that moves upwards scrolls the page.

const TURN = 0.008; // radians for each pixel
const TURN_BY_KEY = 0.12;
const ZOOM_BY_KEY = 0.92;
const STILL = 5; // pixels: a press that moves less is a click
const CAMERA_PARAMETER = 'camera'; // azimuth, elevation, and the share of the first distance
const FARTHEST_AZIMUTH = 100; // radians

// `onClick(point)` hears of clicks on the surface, and `onHover(point)` of the mouse: [column,
// row] as shares of one, or null. Space presses the button that `plays`.
function listenToTurning(view, { onClick = () => {}, onHover = () => {}, plays = null } = {}) {
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
    const wanted = camera.distance * factor;
    camera.distance = Math.max(NEAREST * distance, Math.min(FARTHEST * distance, wanted));
  };
  const pointAt = event => {
    const box = canvas.getBoundingClientRect();
    return view.hit(event.clientX - box.left, event.clientY - box.top);
  };
  canvas.addEventListener('pointerdown', event => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    const [x, y] = [event.clientX, event.clientY];
    fingers.set(event.pointerId, { x, y, way: 0, start: [x, y] });
  });
  canvas.addEventListener('pointermove', event => {
    const finger = fingers.get(event.pointerId);
    const isMouse = event.pointerType === 'mouse';
    if (!finger) {
      if (!fingers.size && isMouse) onHover(pointAt(event));
      return;
    }
    const [x, y, before] = [event.clientX, event.clientY, spread()];
    const [across, down] = [x - finger.x, y - finger.y];
    Object.assign(finger, { x, y, way: finger.way + Math.hypot(across, down) });
    // A finger that sets out upwards scrolls the page; until it has gone a little way, nobody
    // knows.
    if (event.pointerType === 'touch' && finger.scrolls === undefined && finger.way >= STILL) {
      finger.scrolls = Math.abs(y - finger.start[1]) > Math.abs(x - finger.start[0]);
    }
    if (before) zoom(before / spread());
    else if (event.pointerType !== 'touch' || finger.scrolls === false) {
      turn(TURN * across, TURN * down);
    }
    view.invalidate();
  });
  for (const name of ['pointerup', 'pointercancel']) {
    canvas.addEventListener(name, event => {
      const finger = fingers.get(event.pointerId);
      fingers.delete(event.pointerId);
      if (finger?.way > 0) keepCamera(view);
      if (finger && name === 'pointerup' && finger.way < STILL) onClick(pointAt(event));
    });
  }
  canvas.addEventListener('pointerleave', () => onHover(null));
  canvas.addEventListener('wheel', event => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(Math.exp(0.002 * event.deltaY));
    keepCamera(view);
    view.invalidate();
  }, { passive: false });
  const keys = {
    '+': () => zoom(ZOOM_BY_KEY),
    '-': () => zoom(1 / ZOOM_BY_KEY),
    Home: () => Object.assign(camera, view.home),
  };
  canvas.addEventListener('keydown', event => {
    const way = ARROWS[event.key];
    if (isChord(event)) return;
    if (way) turn(TURN_BY_KEY * way[0], -TURN_BY_KEY * way[1]);
    else if (keys[event.key]) keys[event.key]();
    else if (event.key === ' ' && plays) plays.click();
    else return;
    event.preventDefault();
    keepCamera(view);
    view.invalidate();
  });
}

const isHome = ({ camera, home }) =>
  ['azimuth', 'elevation', 'distance'].every(name => camera[name] === home[name]);

// Puts the camera into the address, or removes it where it is the first one.
function keepCamera(view) {
  const { azimuth, elevation, distance } = view.camera;
  putCamera(isHome(view) ? null : [azimuth, elevation, distance / view.home.distance]);
}

function putCamera(numbers = null) {
  const address = new URL(location.href);
  const camera = numbers && numbers.map(x => Number(x.toFixed(3))).join(',');
  window.__gcAddress = { path: address.pathname, camera }; // what the server sends may lack it
  if (camera) address.searchParams.set(CAMERA_PARAMETER, camera);
  else address.searchParams.delete(CAMERA_PARAMETER);
  if (address.href === location.href) return;
  History.prototype.replaceState.call(history, history.state, '', address); // see history.js
}

// Turns the view as the address says, whatever it shows.
function restoreCamera({ camera, home }) {
  const text = new URL(location.href).searchParams.get(CAMERA_PARAMETER) ?? '';
  const [azimuth, elevation, share, ...more] = text.split(',').map(Number);
  const isSound = share >= NEAREST && share <= FARTHEST && !more.length
    && Math.abs(azimuth) <= FARTHEST_AZIMUTH && Math.abs(elevation) <= STEEPEST;
  if (isSound) Object.assign(camera, { azimuth, elevation, distance: share * home.distance });
}
