// The camera in the address, as numbers: the browser alone writes it there, and makes no step of its history.
// Python asks for it where it shares the address (camera.js).
const CAMERA_PARAMETER = 'camera';
const FARTHEST_NUMBER = 100;

// The camera that the address holds, `count` numbers, or null.
function cameraInAddress(count) {
  const numbers = (new URL(location.href).searchParams.get(CAMERA_PARAMETER) ?? '').split(',').map(Number);
  const sound = numbers.length === count && numbers.every(x => Math.abs(x) <= FARTHEST_NUMBER);
  return sound ? numbers : null;
}

// Puts the camera into the address, or removes it.
function putCamera(numbers = null) {
  const address = new URL(location.href);
  const camera = numbers && numbers.map(x => Number(x.toFixed(3))).join(',');
  window.__gcAddress = { path: address.pathname, camera }; // for history.js: what the server sends may lack it
  if (camera) address.searchParams.set(CAMERA_PARAMETER, camera);
  else address.searchParams.delete(CAMERA_PARAMETER);
  if (address.href !== location.href) History.prototype.replaceState.call(history, history.state, '', address);
}
