// Pictures are dimmed from the moment of a choice in the link until Python has answered it.

const chosen = state => {
  const link = new URLSearchParams(location.search);
  return JSON.stringify((state.header.choices ?? []).map(name => link.getAll(name)));
};

// Streamlit marks elements as stale that a running script has not sent again yet.
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

function element(tag, className, text = '') {
  const node = document.createElement(tag);
  node.className = className;
  node.textContent = text;
  return node;
}
