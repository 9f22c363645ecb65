// What plays by itself: with reduced motion its end is shown at once.

const isStill = () => matchMedia('(prefers-reduced-motion: reduce)').matches;
const eased = share => share * share * (3 - 2 * share);

// The words of a button that plays or pauses. Its bars are drawn: fonts lack a sign for them.
function showPlaying(button, isPlaying) {
  if (button.dataset.playing === String(isPlaying)) return; // a press goes on
  button.dataset.playing = isPlaying;
  button.textContent = isPlaying ? 'Pause' : '▶ Play';
  if (!isPlaying) return;
  const bars = document.createElement('span');
  Object.assign(bars.style, { display: 'inline-block', width: '0.25em', height: '0.7em', borderInline: '0.22em solid', marginRight: '0.45em' });
  button.prepend(bars);
}
