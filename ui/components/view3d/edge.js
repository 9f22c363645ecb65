// Edge-on: the camera from which a flat sheet is a line, or one for each column.

function lookEdgeOn(root, state, edge = !state.edge) {
  state.edge = edge;
  const planes = state.header.edge_on;
  if (state.edge && planes.length > 1) {
    state.apart = planes.map(({ camera, level }, c) => fitted(state, camera, level, c));
    showCameras(state);
  } else {
    setCamera(state, state.edge ? fitted(state, planes[0].camera, planes[0].level) : fitted(state, state.header.camera));
  }
  root.querySelector('.gc-edge').setAttribute('aria-pressed', state.edge);
  if (!state.edge) TURNED.delete(state.header.key);
}
