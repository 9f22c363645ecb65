// Is what is shown still what the link says? From the moment of a choice until Python has answered it
// is not, and is dimmed.

const chosen = state => {
  const said = new URLSearchParams(location.search);
  return JSON.stringify((state.header.choices ?? []).map(name => said.getAll(name)));
};

// Streamlit marks as stale what a running script has not sent again yet.
function watchChoices(root, state) {
  const box = root.closest('[data-testid="stElementContainer"]');
  state.answered ??= chosen(state);
  if (!box || state.choices) return;
  let looking = false;
  const look = () => {
    looking = root.isConnected && (box.dataset.stale === 'true' || state.drawn < state.calls);
    if (!looking) state.answered = chosen(state);
    root.classList.toggle('gc-waits', looking && chosen(state) !== state.answered);
    if (looking) requestAnimationFrame(look);
  };
  state.choices = new MutationObserver(() => { if (!looking) look(); });
  state.choices.observe(box, { attributes: true, attributeFilter: ['data-stale'] });
}
