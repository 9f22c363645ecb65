// What plays by itself: with reduced motion its end is shown at once.

const isStill = () => matchMedia('(prefers-reduced-motion: reduce)').matches;
const eased = share => share * share * (3 - 2 * share);

// Calls `step(share)` at every frame until, after so many seconds, it is 1, or until something
// else plays; `from` is the share to begin with. A run that grows has other `seconds` at every
// frame: a function.
function play(state, seconds, step, from = 0) {
  const playing = {};
  state.playing = playing;
  let share = from;
  let before = performance.now();
  const frame = now => {
    if (state.playing !== playing || !state.root.isConnected) return;
    share = isStill() ? 1 : Math.min(1, share + Math.max(0, now - before) / 1000 / seconds);
    before = now;
    if (share === 1) state.playing = false;
    step(share);
    if (share < 1) requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}

// The words of a button that plays or pauses. Its bars are drawn: fonts lack a sign for them.
function showPlaying(button, isPlaying) {
  if (button.dataset.playing === String(isPlaying)) return; // a press goes on
  button.dataset.playing = isPlaying;
  button.textContent = isPlaying ? 'Pause' : '▶ Play';
  if (isPlaying) button.prepend(element('span', { className: 'gc-bars' }));
}
