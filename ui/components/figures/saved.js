// The program of a saved page: it puts the parts of a picture at their places; what is turned
// turns all.

const figure = JSON.parse(document.getElementById('data').textContent);

function put(tag, { left, top, width, height }, properties = {}) {
  const node = element(tag, properties);
  Object.entries({ left, top, width, height }).forEach(([name, size]) => {
    if (size !== undefined) node.style[name] = `${size}px`;
  });
  document.getElementById('figure').append(node);
  return node;
}

for (const { text, font, colour, width, left, top } of figure.texts) {
  const span = put('span', { left, top }, { textContent: text.trimEnd() });
  Object.assign(span.style, { font, color: colour, transformOrigin: '0 0' });
  // Where the font is another one here, it takes as much room.
  const share = width / span.getBoundingClientRect().width;
  if (width) span.style.transform = `scaleX(${share})`;
}
for (const { stops, ...place } of figure.bars) {
  const colours = stops.map(([at, colour]) => `${colour} ${100 * at}%`);
  put('span', place).style.background = `linear-gradient(90deg, ${colours})`;
}
for (const { url, ...place } of figure.images) put('img', place, { src: url, alt: '' });

const saved = figure.views.map(({ scene, camera, home, ...place }) => {
  const view = makeView(put('canvas', place, { tabIndex: 0 }), camera);
  Object.assign(view, { home });
  for (const part of [scene, scene.points ?? {}]) {
    for (const name of ['places', 'normals', 'colours']) {
      if (part[name]) part[name] = Float32Array.from(part[name], x => x ?? NaN);
    }
  }
  view.show(scene);
  return view;
});
linkViews(saved);
saved.forEach(view => listenToTurning(view));
