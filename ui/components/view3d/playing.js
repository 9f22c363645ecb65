// The frame: Play, the timeline with its steps, and frames that play when the page is opened.

const FRAME_MS = 90; // of a frame that plays, at least

// The place of a frame along the timeline, and the frame nearest to a place.
const placeOf = (state, frame) => state.header.places[frame] ?? frame;

function frameAt(state, place) {
  const far = frame => Math.abs(placeOf(state, frame) - place);
  const frames = Array.from({ length: state.header.frames }, (_, frame) => frame);
  return frames.reduce((best, frame) => (far(frame) < far(best) ? frame : best), 0);
}

function show(root, state, frame) {
  const next = Math.max(0, Math.min(state.header.frames - 1, frame));
  if (next === state.frame) return Promise.resolve();
  state.frame = next;
  return draw(root, state, moves(state));
}

function stop(root, state) {
  state.playing = false;
  showPlaying(root.querySelector('.gc-play'), false);
  state.report('stop', { frame: state.frame });
}

async function play(root, state) {
  if (state.playing) return stop(root, state);
  if (state.header.frames < 2) return;
  state.playing = true;
  const run = state.run = (state.run ?? 0) + 1;
  const goesOn = () => state.playing && state.run === run && root.isConnected;
  showPlaying(root.querySelector('.gc-play'), true);
  if (state.frame >= state.header.frames - 1) await show(root, state, 0);
  while (goesOn() && state.frame < state.header.frames - 1) {
    const begun = performance.now();
    await show(root, state, state.frame + 1);
    const rest = FRAME_MS - (performance.now() - begun);
    await new Promise(done => setTimeout(done, Math.max(rest, 0)));
  }
  if (state.run !== run) return; // Play was pressed again meanwhile
  if (state.playing) stop(root, state);
  else showPlaying(root.querySelector('.gc-play'), false); // the timeline, say, has ended it
}

// Draws one frame at a time; of several requests the last counts.
function chaser(root, state) {
  let target = null;
  return async frame => {
    const busy = target !== null;
    target = frame;
    if (busy) return;
    try {
      while (root.isConnected && (target = Math.min(target, state.header.frames - 1)) !== state.frame) {
        await show(root, state, target);
      }
    } finally {
      target = null;
    }
  };
}

function listenToBar(root, state, chase) {
  root.querySelector('.gc-play').onclick = () => play(root, state);
  const scrub = root.querySelector('.gc-scrub');
  const chosenFrame = () => frameAt(state, Number(scrub.value));
  scrub.oninput = () => { state.playing = false; chase(chosenFrame()); };
  scrub.onchange = () => state.report('stop', { frame: chosenFrame() });
  // With places, the next frame is further away than one step of the slider.
  scrub.onkeydown = event => {
    const by = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    if (!by || isShortcut(event) || !state.header.places.length) return;
    event.preventDefault();
    state.playing = false;
    const frame = Math.max(0, Math.min(state.header.frames - 1, state.frame + by));
    chase(frame);
    state.report('stop', { frame });
  };
  root.querySelectorAll('.gc-step').forEach(node => {
    node.onclick = async () => {
      state.playing = false;
      await show(root, state, state.frame + Number(node.dataset.by));
      state.report('stop', { frame: state.frame });
    };
  });
}

// A click on curves along the timeline goes to the nearest frame. Plotly covers the page while a button
// is down, so there is no click event: it is a press and a release at one spot.
function goWhereClicked(state, div, chase) {
  const go = event => {
    const axis = div._fullLayout?.xaxis;
    if (!axis || !state.header.places.length) return;
    const across = event.clientX - div.getBoundingClientRect().left - axis._offset;
    if (across < 0 || across > axis._length) return;
    const frame = frameAt(state, axis.p2d(across));
    state.playing = false;
    chase(frame);
    state.report('stop', { frame });
  };
  div.addEventListener('pointerdown', down => afterRelease(up => {
    if (Math.hypot(up.clientX - down.clientX, up.clientY - down.clientY) < CLICK_PIXELS) go(up);
  }), true);
}

const LONGEST_LEAP = 4; // frames that are left out at most, where drawing all would take longer
const nextFrame = () => new Promise(requestAnimationFrame);

// Whether new frames play by themselves: those of a run that trains now, once in a tab.
function follows(state, header, grows) {
  if (!header.follow || isStill()) return false;
  const followed = (window.__gcFollowed ??= new Set());
  const isNew = grows ? header.frames - 1 > state.last : !followed.has(header.family);
  followed.add(header.family);
  return isNew;
}

// Plays new frames once, as many as can be drawn in time. A touch ends it, but for one of Pause.
async function follow(root, state) {
  const button = root.querySelector('.gc-play');
  const left = () => state.header.frames - 1 - state.frame;
  state.playing = true;
  showPlaying(button, true);
  let touched = false;
  const touch = event => { touched ||= !button.contains(event.target); };
  const touches = ['pointerdown', 'keydown', 'wheel', 'touchstart'];
  touches.forEach(name => root.addEventListener(name, touch, { capture: true, passive: true }));
  for (let i = 0; i < 2; i += 1) await nextFrame(); // the first picture is on the screen before it moves
  let at = performance.now();
  while (!touched && state.playing && root.isConnected && (left() > 0 || state.header.grows)) {
    if (left() <= 0) at = performance.now(); // it waits for the next steps
    const due = Math.floor((performance.now() - at) / FRAME_MS);
    at += due * FRAME_MS;
    if (due > 0) await show(root, state, state.frame + Math.min(due, LONGEST_LEAP));
    await nextFrame();
  }
  touches.forEach(name => root.removeEventListener(name, touch, { capture: true }));
  state.playing = false;
  showPlaying(button, false);
  if (touched) state.report('stop', { frame: state.frame });
}
