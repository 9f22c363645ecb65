// What is drawn in space: surface, triangle, plane, cut and test points; and the sentence beside it.

const grouped = n => n.toLocaleString('en-GB');

function stageScene(state, places, testPlaces, field, plane, middle) {
  const { size, normals, header, labels, corners, asking } = state;
  const style = getComputedStyle(state.root);
  const ink = cssColour(style.color);
  const dark = !isDark(ink); // light ink is on dark paper
  const triangle = [0, 1, 2].map(i => vertexOf(corners, i));
  const scene = {
    size, places, normals, cells: state.strength === 0 && header.flat ? 0 : CELLS, // curved lines would make a flat surface look curved
     plane: [...plane.normal, offsetOf(plane)], classes: header.colours.map(hexColour),
    ground: { corners: triangle, colour: [...ACCENT, dark ? 0.14 : 0.09] },
    shadow: (dark ? 0.4 : 0.17) * Math.min(1, 4 * state.strength),
    lines: [{ segments: ringOf(triangle), wide: 2, colour: ACCENT, hidden: 0.5 },
      { segments: linesIn(triangle), wide: 1, colour: ACCENT, alpha: 0.45, hidden: 0.15 }],
    sheets: [],
  };
  const drawn = Math.min(DRAWN, labels.length);
  const colours = header.pointColours.map(hexColour);
  scene.points = { size: 7.5, places: testPlaces.subarray(0, 3 * drawn),
    colours: Float32Array.from({ length: 3 * drawn }, (_, i) => colours[labels[Math.floor(i / 3)]][i % 3]) };
  if (state.strength > 0 && state.strength < 1) {
    scene.lines.push({ segments: pullsOf(i => vertexOf(state.surfaces, i), places, size), wide: 1.6, colour: ink, alpha: 0.6, hidden: 0.2 });
  }
  if (asking) { // no result before the answer
    Object.assign(scene, { plane: null, colours: plainColours(size) });
    return scene;
  }
  const cut = cutOf(field, size, places);
  addCut(scene, cut);
  addSheet(scene, plane, middle, ink, dark);
  return scene;
}

const plainColours = size => Float32Array.from({ length: 3 * size * size }, (_, i) => [0.72, 0.71, 0.76][i % 3]);

// [bold, rest]: what the plane cuts, and how many test points lie on their side of it.
function stageSentence({ strength, kinds, own, right, labels, header, asking }, field) {
  const points = `${grouped(labels.length)} test points`;
  if (asking) return [`λ = ${decimals(strength)}.`, 'The gate is closed: every output is an average of three fixed values, the corners.'];
  const yours = `Your plane: ${percentOf(right.plane, labels.length)} of ${points}; the fitted plane: ${percentOf(right.fitted, labels.length)}.`;
  return [cutWords(strength === 0 && header.flat, kinds, field),
    own ? yours : `The fitted plane: ${percentOf(right.fitted, labels.length)} of ${points}.`];
}
