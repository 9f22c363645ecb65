// One surface in a canvas: seen from a camera, painted only when something has changed.
//
//   const view = makeView(canvas, { azimuth, elevation, distance, centre });
//   view.show(scene)       paints the scene at the next frame
//   view.invalidate()      the same scene again: the camera or the window has changed
//   view.frame(places, share, stack)   the camera's centre and distance, so that these fill a share
//                          of the picture; `stack` around it gets their ratio, `--gc-aspect`
//   view.project(place)    [x, y, depth] on the screen, in pixels
//   view.hit(x, y)         [column, row] of the surface as shares of one, or null
//   view.picture(times)    what is shown as a PNG so many times as large
//   view.onPaint           called after each painting
//
// A scene: size, places and normals (3 size², NaN in holes), `cells` between grid lines, and a
// colour for every vertex (`colours`, 3 size²), or a `field` (size²) with the colours of its two
// signs (`classes`). `headlit`: its light turns with the camera. Besides:
//   ground   [{ corners, colour [r, g, b, alpha] }], onto which it throws a `shadow` (0 to 1)
//   lines    [{ segments [x y z x y z …], wide, colour, alpha, hidden: alpha behind it, near }]
//   points   { places, colours, size in pixels }
//   sheets   [{ corners, colour [r, g, b, alpha] }], translucent, painted last

const FIELD = 0.5; // radians of height in the picture
const STEEPEST = 1.5; // radians: the elevation of a camera
const NEAREST = 0.4; // of the first distance
const FARTHEST = 2.5;
const LARGEST_RATIO = 2; // pixels of the picture for each of the window's

const views = (window.__gcViews ??= new Set()); // of every component, each of which has this file

function makeView(canvas, camera) {
  // A browser gives sixteen contexts: a picture that has left the page gives its own back.
  for (const old of views) {
    if (old.canvas.isConnected) continue;
    old.painter.release();
    views.delete(old);
  }
  const view = { canvas, camera: { ...camera }, home: { ...camera }, scene: null };
  view.onPaint = () => {};
  view.painter = webglPainter(canvas) ?? canvasPainter(canvas);
  canvas.dataset.painter = view.painter.kind;
  view.invalidate = () => {
    view.waiting ??= requestAnimationFrame(() => {
      view.waiting = null;
      paintView(view);
    });
  };
  view.show = scene => { view.scene = scene; view.invalidate(); };
  view.frame = (places, share, stack) => {
    if (stack) stack.style.removeProperty('--gc-aspect');
    const tall = Math.max(LEAST_TALL, CROP_MARGIN * frameAll(view, places, share));
    if (stack && tall < 1) {
      stack.style.setProperty('--gc-aspect', stack.clientWidth / (tall * canvas.clientHeight));
      frameAll(view, places, share);
    }
    view.invalidate();
  };
  view.project = place => view.lens.project(place);
  view.hit = (x, y) => view.scene && view.lens
    && hitOf(view.scene.places, view.scene.size, view.lens.eye, view.lens.ray(x, y));
  view.picture = times => {
    paintView(view, times);
    const url = canvas.toDataURL();
    paintView(view);
    return url;
  };
  canvas.gcView = view;
  canvas.addEventListener('webglcontextrestored', view.invalidate);
  new ResizeObserver(view.invalidate).observe(canvas);
  views.add(view);
  return view;
}

// Gives views one camera, the first one's.
function linkViews(views) {
  const { camera, home } = views[0] ?? {};
  for (const view of views) {
    Object.assign(view, { camera, home });
    view.onPaint = () => {
      view.painted = JSON.stringify(camera);
      for (const other of views) if (other.painted !== view.painted) other.invalidate();
    };
  }
}

const ROUNDS = 8; // of framing: perspective changes with the distance
const CROP_MARGIN = 1.1; // of a stack's height, for shadows and handles
const LEAST_TALL = 0.4; // of its greatest height: what is seen edge-on is still turned

const endsAmong = numbers => numbers.reduce(
  ([low, high], x) => [Math.min(low, x), Math.max(high, x)], [Infinity, -Infinity]);

// Returns the share of its height that a picture needs; where that is less than one, its width
// limits it.
function frameAll({ canvas, camera, home }, places, share) {
  let tall = 1;
  const [width, height] = [canvas.clientWidth || 3, canvas.clientHeight || 2];
  for (let round = 0; round < ROUNDS; round += 1) {
    const lens = lensOf(camera, width, height, 1);
    const spots = places.map(lens.project);
    const [across, down] = [0, 1].map(k => endsAmong(spots.map(spot => spot[k])));
    const middle = [across, down].map(([low, high]) => (low + high) / 2);
    camera.centre = plus(lens.eye, lens.ray(...middle), camera.distance);
    const [wide, high] = [(across[1] - across[0]) / width, (down[1] - down[0]) / height];
    camera.distance *= Math.max(wide, high) / share;
    tall = high / Math.max(wide, high);
  }
  Object.assign(home, camera);
  return tall;
}

function paintView(view, ratio = Math.min(devicePixelRatio || 1, LARGEST_RATIO)) {
  const { canvas, scene } = view;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (!scene || !width || !height) return; // in a hidden tab; painted when that opens
  const sizes = [width, height].map(length => Math.round(ratio * length));
  if (canvas.width !== sizes[0]) [canvas.width] = sizes;
  if (canvas.height !== sizes[1]) [, canvas.height] = sizes;
  const { camera, centre = camera.centre } = view; // which linked views have of their own
  view.lens = lensOf({ ...camera, centre }, width, height, ratio);
  view.painter.paint(scene, view.lens);
  countDrawing(canvas);
  view.onPaint();
}

// A canvas for square pictures, as large as it is shown; its drawing is in pixels of the window.
function squareContext(canvas, side = canvas.clientWidth) {
  const ratio = Math.min(devicePixelRatio || 1, LARGEST_RATIO);
  const pixels = Math.round(side * ratio);
  if (canvas.width !== pixels || canvas.height !== pixels) canvas.width = canvas.height = pixels;
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

// The projection: a matrix, column by column, and its inverse as rays of depth one.
function lensOf({ azimuth, elevation, distance, centre }, width, height, ratio) {
  const back = [Math.cos(elevation) * Math.cos(azimuth), Math.cos(elevation) * Math.sin(azimuth),
    Math.sin(elevation)];
  const eye = plus(centre, back, distance);
  const right = unit(cross([0, 0, 1], back));
  const up = cross(back, right);
  const narrow = Math.min(1, width / height / 1.2); // it shows as much
  const tall = narrow / Math.tan(FIELD / 2);
  const wide = tall * height / width;
  const [near, far] = [0.05 * distance, 20 * distance];
  const row = (axis, factor) => [...axis.map(x => x * factor), -factor * dot(axis, eye)];
  const flat = (far + near) / (near - far);
  const rows = [row(right, wide), row(up, tall), row(back, flat), row(back, -1)];
  rows[2][3] += 2 * far * near / (near - far);
  const matrix = new Float32Array(16);
  rows.forEach((numbers, i) => numbers.forEach((number, j) => { matrix[4 * j + i] = number; }));
  const at = (numbers, place) => dot(numbers, place) + numbers[3];
  return {
    matrix, eye, width, height, ratio, right, up,
    project: place => {
      const [x, y, , depth] = rows.map(numbers => at(numbers, place));
      return [(1 + x / depth) / 2 * width, (1 - y / depth) / 2 * height, depth];
    },
    ray: (x, y) => {
      const level = plus(back.map(part => -part), right, (2 * x / width - 1) / wide);
      return plus(level, up, (1 - 2 * y / height) / tall);
    },
  };
}
