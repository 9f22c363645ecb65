// Held, the picture answers nothing but the turning of its view; released, it changes to what Python sends.

const REVEAL_SECONDS = 4;

function hold(root, state, isHeld) {
  state.held = isHeld;
  root.classList.toggle('gc-keys-held', isHeld);
  for (const name of ['left', 'over', 'biases', 'test']) root.querySelector(`.gc-keys-${name}`).inert = isHeld;
}

// From the model that is shown to `target`, with the camera at the last of the `elevations`, if any.
function reveal(state, target, elevations) {
  const { camera } = state.view;
  const [from, height, begun] = [structuredClone(state.model), camera.elevation, performance.now()];
  const between = (a, b, share) => a.map((row, i) => mixed(row, b[i], share));
  state.playing = true;
  const step = now => {
    if (!state.root.isConnected) return;
    const way = isStill() ? 1 : eased(Math.min(1, Math.max(0, now - begun) / 1000 / REVEAL_SECONDS));
    if (elevations) {
      camera.elevation = height + way * (elevations[1] - height);
      aim(state); // from the side the values stand elsewhere in the picture
    }
    if (way === 1) {
      adopt(state, target);
      state.playing = false;
      settle(state);
      return;
    }
    state.model = { keys: between(from.keys, target.keys, way), biases: mixed(from.biases, target.biases, way),
      values: between(from.values, target.values, way) };
    drawAll(state.root, state);
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
}
