// What is drawn? Traces, markers and words of one frame, in the colours of the page.

const LIFT = 0.02; // of the way to the viewer
const GRID_SHARE = 0.16; // of the text colour in the axes' grid lines
const MARKER = { size: 7, color: '#c026d3', line: { color: '#ffffff', width: 2 } };
const TICK_SIZES = 3; // of its type, along an axis, for one number
// Around planes: beside a surface only three numbers stand along each axis.
const MARGIN = { l: 48, r: 10, t: 12, b: 40 };
const NARROW = { l: 46, r: 6, t: 8, b: 40 };
const TYPE_PIXELS = 12; // of the numbers for which these have room
const WORDS = 0.6; // share of them that grows with the type, except above: the rest is ticks and gaps
const CLEAR = 'rgba(0,0,0,0)';

// The margins in which numbers of this size have room.
const roomFor = (size, margin) => Object.fromEntries(
  Object.entries(margin).map(([side, pixels]) => [side, Math.round(pixels * (1 + (side === 't' ? 1 : WORDS) * (size / TYPE_PIXELS - 1)))]));

function label(root, state) {
  const { header, frame } = state;
  root.querySelectorAll('.gc-caption').forEach((node, c) => {
    const { captions } = header.columns[c];
    write(node, captions[Math.min(frame, captions.length - 1)]);
  });
  write(root.querySelector('.gc-reading'), header.readings[Math.min(frame, header.readings.length - 1)] ?? '');
  root.querySelector('.gc-frame').textContent = header.frame_labels[frame] ?? '';
  const notes = [header.legend.note].flat();
  root.querySelector('.gc-note').textContent = notes[Math.min(frame, notes.length - 1)];
  const scrub = root.querySelector('.gc-scrub');
  scrub.value = placeOf(state, frame);
  scrub.setAttribute('aria-valuetext', header.frame_labels[frame] ?? '');
}

// Text in which ** marks what is bold.
function write(node, text) {
  node.replaceChildren(...text.split('**').map((part, i) => (i % 2 ? element('strong', '', part) : part)));
}

// The marked point, and the one under the pointer.
const spots = ({ pick, hover }) => [pick, hover].filter(spot => spot);

// In a scene they are lifted a little towards the viewer, or the surface would swallow them.
function marker(panel, state) {
  return Object.fromEntries(Object.entries(panel.pick).map(([axis, name]) => {
    let lift = 0;
    if (panel.kind === 'scene') {
      const [low, high] = panel.layout[`${axis}axis`].range;
      lift = LIFT * state.camera(panel).eye[axis] * (high - low) / panel.layout.aspectratio[axis];
    }
    return [axis, spots(state).map(spot => at(state.arrays[name], state.frame, spot, axis) + lift)];
  }));
}

// Whether a panel shows the points of the chart, and marks can be put on it.
const linked = panel => Object.keys(panel.pick).length > 0;

const UNKNOWN = 'not known';
const readable = number => (Number.isNaN(number) ? UNKNOWN : Number.isFinite(number) ? Number(number.toPrecision(3)).toString() : '–').replace('-', '−');

// Numbers with what they are, or in a formula that has {} for each: as long as all are known.
function said(label, numbers) {
  if (!label.includes('{}')) return `${label} = ${numbers.length > 1 ? `(${numbers.join(', ')})` : numbers[0]}`;
  if (numbers.includes(UNKNOWN)) return `${label.split(' = ')[0]} = ${UNKNOWN}`;
  return numbers.reduce((text, number) => text.replace('{}', number), label);
}

// What the arrays say at the point under the pointer, or else at the marked one, or where it rests.
function readOut(root, state) {
  const spot = state.hover ?? state.pick ?? state.header.rest;
  const read = names => names.map(name => readable(at(state.arrays[name], state.frame, spot)));
  root.querySelectorAll('.gc-readout').forEach((node, c) => {
    const { readout } = state.header.columns[c];
    if (!spot || !readout.length) { node.textContent = ''; return; }
    const place = ['x', 'y'].map(axis => readable(at(state.arrays.axis, 0, spot, axis)));
    const parts = readout.map(({ label, arrays }) => said(label, read(arrays)));
    node.textContent = `At (${place.join(', ')}): ${parts.join(' · ')}`;
  });
}

// WebGL ignores the alpha of Streamlit's border colour: mix text and background instead.
function mix(text, background, share) {
  const context = Object.assign(document.createElement('canvas'), { width: 1, height: 1 }).getContext('2d', { willReadFrequently: true });
  const rgb = colour => {
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
    return context.getImageData(0, 0, 1, 1).data;
  };
  const [a, b] = [[...rgb(text)], [...rgb(background)]];
  return `rgb(${a.slice(0, 3).map((x, i) => Math.round(share * x + (1 - share) * b[i])).join()})`;
}

// The numbers along an axis that have room in the picture: all, the middle one, or none.
function ticksOf(i, { layout }, div, camera) {
  const { tickvals } = layout[`${'xyz'[i]}axis`];
  if (!tickvals) return undefined;
  const view = vector(camera.eye).map((x, j) => x - vector(camera.center)[j]);
  const far = Math.hypot(...view);
  const long = layout.aspectratio['xyz'[i]] * Math.sqrt(1 - (view[i] / far) ** 2);
  const pixels = long / (2 * far * Math.tan(FIELD / 2)) * div.clientHeight;
  const room = TICK_SIZES * typePixels();
  if (pixels > room * (tickvals.length + 1)) return tickvals;
  return pixels > room ? tickvals.slice(tickvals.length >> 1, (tickvals.length >> 1) + 1) : [];
}

// 12 pixels, more in present mode, as all type on the page.
const typePixels = () => 0.75 * parseFloat(getComputedStyle(document.documentElement).fontSize);

function layoutOf(root, panel, state, div) {
  const style = getComputedStyle(root);
  const css = name => style.getPropertyValue(name).trim();
  const size = typePixels();
  const font = { family: css('--st-font'), color: css('--st-text-color'), size };
  const grid = mix(font.color, css('--st-background-color'), GRID_SHARE);
  const base = { font, paper_bgcolor: CLEAR, plot_bgcolor: CLEAR, showlegend: false, uirevision: state.header.key };
  if (panel.kind === 'plane') {
    const axes = Object.entries(panel.layout).map(([name, spec]) => [name, { ...spec, gridcolor: grid, linecolor: grid }]);
    // A finger or the wheel scrolls the page: nothing is zoomed here.
    const margin = panel.layout.margin ?? (linked(panel) ? NARROW : MARGIN);
    return { ...base, dragmode: false, ...Object.fromEntries(axes), margin: roomFor(size, margin) };
  }
  const camera = state.camera(panel);
  const bare = hasNumbers(panel, div) ? {} : { showticklabels: false, title: { text: '' } };
  const axis = (spec, i) => ({ ...spec, ...bare, tickvals: ticksOf(i, panel, div, camera), color: font.color, gridcolor: grid, zerolinecolor: grid, showbackground: false, showspikes: false });
  const { xaxis, yaxis, zaxis, ...rest } = panel.layout;
  const annotations = leaders(panel, state, div);
  return { ...base, margin: { l: 0, r: 0, t: 0, b: 0 },
    scene: { ...rest, annotations, camera, xaxis: axis(xaxis, 0), yaxis: axis(yaxis, 1), zaxis: axis(zaxis, 2) } };
}

// Lines drawn on the page itself have the colour of its text.
function inked(trace, ink) {
  return trace.line?.color === 'ink' ? { ...trace, line: { ...trace.line, color: ink } } : trace;
}

// Plotly follows the window's size only, and draws 700 pixels wide what has no width yet: a page may
// show a view a moment after it was drawn.
function resize(state, div) {
  const { clientWidth, clientHeight, _fullLayout: drawn } = div;
  if (!drawn || !clientWidth || !clientHeight) return;
  const off = (size, place) => Math.abs(size - place) > 1; // Plotly ignores less
  if (off(drawn.width, clientWidth) || off(drawn.height, clientHeight)) state.Plotly.Plots.resize(div);
}

// Whether a panel has another size than when this was last called, as when a camera is fitted to it.
function hasNewSize(div) {
  const size = `${div.clientWidth} ${div.clientHeight}`;
  const changed = div.__gcSize !== size;
  div.__gcSize = size;
  return changed;
}

const NO_WEBGL = 'This browser draws no 3-D pictures, because WebGL is off. Maps and numbers are complete.';

// Asked only where a scene has failed: it would take a context from the pictures.
const hasWebGL = () => ['webgl2', 'webgl'].some(kind => document.createElement('canvas').getContext(kind));

// Writes one sentence in place of a scene.
function sayWhy({ Plotly }, plot) {
  plot.blind = true;
  Plotly.purge(plot.div);
  plot.div.replaceChildren(element('p', 'gc-blind', NO_WEBGL));
}

async function draw(root, state, isDrawn) {
  const { header, arrays, frame, Plotly } = state;
  const ink = getComputedStyle(root).getPropertyValue('--st-text-color').trim();
  state.typePixels = typePixels();
  fitBoxes(state);
  label(root, state);
  readOut(root, state);
  await Promise.all(state.plots.map(plot => {
    const panel = header.columns[plot.c].panels[plot.p];
    if (!isDrawn(panel) || plot.blind) return null;
    const spot = { ...marker(panel, state), mode: 'markers', hoverinfo: 'skip',
      type: panel.kind === 'scene' ? 'scatter3d' : 'scatter',
      marker: panel.kind === 'scene' ? MARKER : { ...MARKER, size: 13 } };
    const traces = fill(panel.traces, arrays, frame).map(trace => inked(trace, ink));
    return Promise.resolve().then(() => Plotly.react(plot.div, linked(panel) ? [...traces, spot] : traces,
      layoutOf(root, panel, state, plot.div), { displayModeBar: false })).then(div => {
      // Its panel may have gone meanwhile: it must not keep a WebGL context.
      if (!root.isConnected || !state.plots.includes(plot)) { Plotly.purge(div); return; }
      seeThrough(div);
      putUnder(div);
      ignoreGone(div);
      if (panel.kind === 'scene' && !div._fullLayout.scene?._scene?.glplot) throw new Error('there is no scene');
    }).catch(error => {
      if (panel.kind !== 'scene' || hasWebGL()) throw error;
      sayWhy(state, plot);
    });
  }));
  state.draws += 1;
  root.dataset.frame = frame;
  root.dataset.n = state.draws; // tests wait for this
}

// Moves the markers alone.
async function mark(root, state) {
  readOut(root, state);
  await Promise.all(state.plots.map(({ div, c, p }) => {
    const panel = state.header.columns[c].panels[p];
    if (!linked(panel) || !div.data) return null; // not drawn yet, or no more
    const where = marker(panel, state);
    const update = Object.fromEntries(Object.entries(where).map(([axis, list]) => [axis, [list]]));
    return state.Plotly.restyle(div, update, [div.data.length - 1]);
  }));
  state.draws += 1;
  root.dataset.n = state.draws;
}

const moves = state => panel => JSON.stringify(panel.traces).match(/"array":"[^"]+"/g)
  .some(name => state.arrays[name.slice(9, -1)].framed);
