// Which frame is shown? Play, the timeline with its steps, and the slider that Python owns.

const FRAME_MS = 90; // at least, of a frame that plays

function show(root, state, frame) {
  const next = Math.max(0, Math.min(state.header.frames - 1, frame));
  if (next === state.frame) return Promise.resolve();
  state.frame = next;
  return draw(root, state, moves(state));
}

function stop(root, state) {
  state.playing = false;
  root.querySelector('.gc-play').textContent = '▶ Play';
  state.report('stop', { frame: state.frame });
}

async function play(root, state) {
  if (state.playing) return stop(root, state);
  if (state.header.frames < 2) return;
  state.playing = true;
  root.querySelector('.gc-play').textContent = '⏸ Pause';
  if (state.frame >= state.header.frames - 1) await show(root, state, 0);
  while (state.playing && root.isConnected && state.frame < state.header.frames - 1) {
    const begun = performance.now();
    await show(root, state, state.frame + 1);
    const rest = FRAME_MS - (performance.now() - begun);
    await new Promise(done => setTimeout(done, Math.max(rest, 0)));
  }
  if (state.playing) stop(root, state);
}

// One draw at a time; the last wish wins.
function chaser(root, state) {
  let target = null;
  return async frame => {
    const busy = target !== null;
    target = frame;
    if (busy) return;
    try {
      while (root.isConnected && target !== state.frame) await show(root, state, target);
    } finally {
      target = null;
    }
  };
}

function listenToBar(root, state, chase) {
  root.querySelector('.gc-play').onclick = () => play(root, state);
  const scrub = root.querySelector('.gc-scrub');
  scrub.oninput = () => { state.playing = false; chase(Number(scrub.value)); };
  scrub.onchange = () => state.report('stop', { frame: Number(scrub.value) });
  root.querySelectorAll('.gc-step').forEach(node => {
    node.onclick = async () => {
      state.playing = false;
      await show(root, state, state.frame + Number(node.dataset.by));
      state.report('stop', { frame: state.frame });
    };
  });
}

// The slider that Python owns: follow it while it is dragged, before it reports its value.
// It fires no events of its own then, but says its value to screen readers. React also writes the
// value it already has, as at the end of a Play: only a change counts.
function followSlider(state, chase) {
  state.observer?.disconnect();
  state.observer = new MutationObserver(changes => {
    const { follow, frames } = state.header;
    const slider = follow && changes.find(({ target, oldValue }) =>
      target.matches(follow) && target.getAttribute('aria-valuetext') !== oldValue)?.target;
    if (!slider || frames < 2 || state.playing) return;
    const { min, max, value } = slider;
    chase(Math.round((frames - 1) * (value - min) / (max - min)));
  });
  state.observer.observe(document.body, { subtree: true, attributeOldValue: true, attributeFilter: ['aria-valuetext'] });
}
