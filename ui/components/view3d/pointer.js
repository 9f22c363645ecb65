// The point under the pointer, and the one that a click marks.

const CLICK_PIXELS = 5;
const CLICK_MS = 600; // that a click may wait for Plotly to find its point
const REACH_PIXELS = 24;
const AFTER_RELEASE_MS = 120; // by then the camera has been read

// Stores the camera of a scene that was let go. Plotly 7.1 stores it in the layout that it was first
// given, not in the current one: the next marker would turn the scene back.
function keepTurn(state, div) {
  const now = cameraNow(div);
  if (!now) return;
  const whole = state.before ? keepWhole(state, state.before, now) : now;
  if (!near(whole, div.layout.scene.camera)) setCamera(state, whole);
}

// Moves the markers once at a time; of several requests the last counts.
function pointer(root, state) {
  let marking = false;
  let again = false;
  let release = null; // the timer
  const remark = async () => {
    again = true;
    if (marking || state.held) return; // a restyle would undo the turn of a scene that is held
    marking = true;
    try {
      await null; // outside of Plotly's render loop: removing a trace while it runs would end it for good
      while (again && !state.held && root.isConnected) {
        again = false;
        await mark(root, state);
      }
    } finally {
      marking = false;
    }
  };
  const letGo = div => {
    release = setTimeout(() => {
      state.held = false;
      keepTurn(state, div);
      if (again) remark();
    }, AFTER_RELEASE_MS);
  };
  return {
    point: spot => {
      if (JSON.stringify(spot) === JSON.stringify(state.hover)) return;
      state.hover = spot;
      remark();
    },
    select: (row, column) => {
      state.pick = [row, column];
      remark();
      state.report('pick', { row, column });
    },
    hold: div => {
      state.held = true;
      state.before = state.camera(panelOf(state, div));
      clearTimeout(release);
      afterRelease(() => letGo(div));
    },
  };
}

// Calls `act` once, when what is pressed is released or taken away, wherever that is.
function afterRelease(act) {
  const names = ['pointerup', 'pointercancel'];
  const once = event => {
    names.forEach(name => window.removeEventListener(name, once, true));
    act(event);
  };
  names.forEach(name => window.addEventListener(name, once, true));
}

// A key that is the browser's: with Alt it goes back, with Ctrl it zooms the page.
const isShortcut = event => event.ctrlKey || event.altKey || event.metaKey;

// gl3d fires a click at every frame while the button is down: store the hit and act once.
function pointAtScene(state, div, { point, select, hold }) {
  let hit = null;
  let down = null;
  let waits = null; // a click whose point is not known yet
  const seize = click => {
    if (waits !== click) return;
    if (hit) {
      waits = null;
      select(...hit);
    } else if (performance.now() - click.since < CLICK_MS) requestAnimationFrame(() => seize(click));
  };
  const remember = e => {
    const columns = state.arrays.axis.size; // a mesh counts grid points row by row, then those of cuts
    const found = e.points.find(p => p.curveNumber === 0 && p.pointNumber < columns ** 2);
    if (found) hit = [Math.floor(found.pointNumber / columns), found.pointNumber % columns];
    return found && hit;
  };
  div.on('plotly_hover', e => { if (remember(e) && !down) point(hit); });
  div.on('plotly_click', remember);
  div.on('plotly_unhover', () => { hit = null; point(null); });
  div.addEventListener('pointerdown', e => {
    down = [e.clientX, e.clientY];
    hold(div);
  }, true);
  div.addEventListener('pointerup', e => {
    const still = down && Math.hypot(e.clientX - down[0], e.clientY - down[1]) < CLICK_PIXELS;
    down = null;
    // Plotly finds the point when it draws next, which may be a while after a short click.
    waits = still ? { x: e.clientX, y: e.clientY, since: performance.now() } : null;
    if (waits) requestAnimationFrame(() => requestAnimationFrame(() => seize(waits)));
  }, true);
  div.addEventListener('pointermove', e => {
    if (!e.buttons) down = null; // it was released beside the scene
    if (waits && Math.hypot(e.clientX - waits.x, e.clientY - waits.y) >= CLICK_PIXELS) waits = null;
  }, true);
}

function pointAtPlane(state, plot, hand) {
  const { pick } = state.header.columns[plot.c].panels[plot.p];
  if (state.arrays[pick.x].inner.length === 2) pointAtNearest(state, plot, hand);
  else pointAtHit(plot.div, () => state.arrays[pick.x].values, hand);
}

// A heat map may be finer than the grid: the nearest point of the grid counts.
function pointAtHit(div, axis, { point, select }) {
  const nearestOf = place => {
    const [first, last] = [axis()[0], axis().at(-1)];
    return Math.round((axis().length - 1) * (place - first) / (last - first));
  };
  const found = e => {
    const hit = e.points.find(each => each.curveNumber === 0);
    return hit && [nearestOf(hit.y), nearestOf(hit.x)];
  };
  div.on('plotly_click', e => found(e) && select(...found(e)));
  div.on('plotly_hover', e => found(e) && point(found(e)));
  div.on('plotly_unhover', () => point(null));
}

function pointAtNearest(state, plot, { point, select }) {
  plot.div.addEventListener('pointermove', event => point(nearest(state, plot, event)));
  plot.div.addEventListener('pointerleave', () => point(null));
  plot.div.addEventListener('click', event => {
    const spot = nearest(state, plot, event);
    if (spot) select(...spot);
  }, true);
}

// On a bent grid its nearest point counts, if it is within reach of a finger.
function nearest(state, { div, c, p }, event) {
  const { xaxis, yaxis } = div._fullLayout;
  const box = div.getBoundingClientRect();
  const { x, y } = state.header.columns[c].panels[p].pick;
  const [xs, ys] = [state.arrays[x], state.arrays[y]];
  const [rows, columns] = xs.inner;
  let best = null;
  let least = REACH_PIXELS;
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) {
      const across = xaxis._offset + xaxis.d2p(at(xs, state.frame, [row, column])) - (event.clientX - box.left);
      const down = yaxis._offset + yaxis.d2p(at(ys, state.frame, [row, column])) - (event.clientY - box.top);
      const far = Math.hypot(across, down);
      if (far < least) [least, best] = [far, [row, column]];
    }
  }
  return best;
}

// The page scrolls over a picture as elsewhere: the wheel zooms with Ctrl or once a scene was clicked,
// one finger turns it once it was tapped.
function letScroll(div) {
  const mine = () => document.activeElement === div;
  const pass = event => event.stopPropagation();
  div.addEventListener('wheel', event => { if (!event.ctrlKey && !mine()) pass(event); }, true);
  let tapped = false;
  div.addEventListener('touchstart', event => {
    tapped = mine();
    if (!tapped && event.touches.length === 1) pass(event);
  }, true);
  for (const name of ['touchmove', 'touchend']) {
    div.addEventListener(name, event => { if (!tapped && event.touches.length < 2) pass(event); }, true);
  }
  if (div.tabIndex === 0) div.addEventListener('click', () => div.focus({ preventScroll: true }), true);
}
