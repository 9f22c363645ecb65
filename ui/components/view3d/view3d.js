// Linked pictures: every 3-D panel shares one camera, every panel one frame, one marked point, and
// the point under the pointer.
// Python sends a header and raw float32 arrays; which traces are drawn is decided there.

const HOME = 'Home';
const TURN = 8 * Math.PI / 180;
const CLICK_PIXELS = 5;
const REACH_PIXELS = 24;
const AFTER_RELEASE_MS = 120; // the camera has been read by then
const LIFT = 0.02; // of the way to the viewer
const FRAME_MS = 90;
const GRID_SHARE = 0.16; // of the text colour in the axes' grid lines
const MARKER = { size: 7, color: '#c026d3', line: { color: '#ffffff', width: 2 } };
const CLEAR = 'rgba(0,0,0,0)';
const CAMERAS = (window.__gcCameras ??= {});
const TURNED = (window.__gcTurned ??= new Set()); // views that the visitor has turned

// Streamlit's own chart component puts its Plotly on `window.Plotly`: keep ours apart from it.
const loadPlotly = url => (window.__gcPlotly ??= new Promise((resolve, reject) => {
  const other = window.Plotly;
  const script = document.createElement('script');
  script.src = url;
  script.onload = () => {
    const own = window.Plotly;
    if (other) window.Plotly = other;
    resolve(own);
  };
  script.onerror = () => {
    window.__gcPlotly = undefined;
    reject(new Error(`cannot load ${url}`));
  };
  document.head.appendChild(script);
}));

// Layout of the payload: header length (u32), header (JSON), then the arrays (float32).
function unpack(bytes) {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const start = bytes.byteOffset + 4 + length;
  const arrays = {};
  for (const [name, { shape, offset, framed }] of Object.entries(header.arrays)) {
    const count = shape.reduce((p, q) => p * q, 1);
    const from = start + offset; // unaligned: slice before viewing as float32
    const values = new Float32Array(bytes.buffer.slice(from, from + 4 * count));
    const inner = framed ? shape.slice(1) : shape;
    arrays[name] = { values, inner, framed, size: inner.reduce((p, q) => p * q, 1) };
  }
  return [header, arrays];
}

// One frame of an array, as Plotly takes it: a vector, or a list of rows.
function take(array, frame) {
  const from = array.framed ? frame * array.size : 0;
  if (array.inner.length < 2) return array.values.subarray(from, from + array.size);
  const [rows, columns] = array.inner;
  return Array.from({ length: rows }, (_, r) =>
    array.values.subarray(from + r * columns, from + (r + 1) * columns));
}

// A trace with every {array: name} replaced by that array's data.
function fill(spec, arrays, frame) {
  if (Array.isArray(spec)) return spec.map(part => fill(part, arrays, frame));
  if (spec === null || typeof spec !== 'object') return spec;
  if (typeof spec.array === 'string') {
    const array = arrays[spec.array];
    return take(spec.flat ? { ...array, inner: [array.size] } : array, frame);
  }
  return Object.fromEntries(Object.entries(spec).map(([k, v]) => [k, fill(v, arrays, frame)]));
}

function element(tag, className, text = '') {
  const node = document.createElement(tag);
  node.className = className;
  node.textContent = text;
  return node;
}

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector('.gc-view');
  const find = selector => root.querySelector(selector);
  const state = (root.__gc ??= { frame: 0, pick: null, hover: null, draws: 0, plots: [] });
  [state.header, state.arrays] = unpack(data);
  const { header } = state;
  state.report = setTriggerValue;
  // Called again with what we know whenever anything on the page changes: only news count, or
  // the picture would jump back to the last frame that Python chose.
  const served = JSON.stringify([header.serial, header.frames, header.frame, header.pick]);
  if (state.served !== served) {
    state.served = served;
    const grows = header.family && state.family === header.family;
    if (!grows || state.frame === state.last) state.frame = header.frame;
    state.family = header.family;
    state.last = header.frames - 1;
    state.pick = header.pick;
  }
  // Another picture may be better seen from elsewhere, unless the visitor has chosen from where.
  if (state.serial !== header.serial && !TURNED.has(header.key)) delete CAMERAS[header.key];
  state.serial = header.serial;
  state.camera = () => structuredClone(CAMERAS[header.key] ??= structuredClone(header.camera));

  build(root, find, state);
  loadPlotly(header.plotly).then(async Plotly => {
    if (!root.isConnected) return;
    state.Plotly = Plotly;
    await draw(root, state, () => true);
    if (!state.wired) wire(root, find, state);
    state.wired = true;
  }).catch(error => { find('.gc-hint').textContent = `The 3-D view could not start: ${error.message}`; });

  // Called on unmounting, and also when one run overtakes another while the element stays.
  return () => setTimeout(() => {
    if (root.isConnected) return;
    state.playing = false;
    state.observer?.disconnect();
    if (state.Plotly) state.plots.forEach(plot => state.Plotly.purge(plot.div));
  });
}

// The elements around the pictures; made again only when the panels change.
function build(root, find, state) {
  const { header } = state;
  const outline = JSON.stringify(header.columns.map(column => [column.wide, ...column.panels.map(p => p.kind)]));
  if (state.outline !== outline) {
    state.outline = outline;
    if (state.Plotly) state.plots.forEach(plot => state.Plotly.purge(plot.div));
    state.plots = [];
    state.wired = false;
    find('.gc-columns').replaceChildren(...header.columns.map((column, c) => {
      const box = element('div', column.wide ? 'gc-column gc-wide' : 'gc-column');
      box.append(element('h3', 'gc-heading'), element('p', 'gc-caption'));
      column.panels.forEach((panel, p) => {
        const div = element('div', panel.kind === 'scene' ? 'gc-scene' : 'gc-plane');
        if (panel.kind === 'scene') {
          div.tabIndex = 0;
          div.setAttribute('role', 'application');
          div.setAttribute('aria-roledescription', '3-D surface');
        } else {
          div.setAttribute('role', 'img');
        }
        box.append(div);
        state.plots.push({ div, c, p });
      });
      box.append(element('p', 'gc-readout'));
      return box;
    }));
  }
  state.plots.forEach(plot => plot.div.setAttribute('aria-label',
    header.columns[plot.c].panels[plot.p].label));
  root.querySelectorAll('.gc-readout').forEach((node, c) => { node.hidden = !header.columns[c].readout.length; });
  root.querySelectorAll('.gc-heading').forEach((node, c) => { node.textContent = header.columns[c].heading; });
  root.classList.toggle('gc-film', header.scrub);
  find('.gc-progress').hidden = header.scrub;
  root.querySelectorAll('.gc-step, .gc-scrub').forEach(node => { node.hidden = !header.scrub; });
  find('.gc-scrub').max = header.frames - 1;
  find('.gc-bar').hidden = header.frame_labels.length === 0;
  find('.gc-plays').hidden = header.frame_labels.length === 0;
  find('.gc-play').disabled = header.frames < 2;
  const scale = element('span', 'gc-scale');
  scale.style.background = `linear-gradient(90deg, ${header.legend.scale.map(([at, colour]) => `${colour} ${100 * at}%`).join(', ')})`;
  find('.gc-legend').replaceChildren(
    element('span', '', header.legend.low), scale, element('span', '', header.legend.high),
    element('span', '', header.legend.note));
}

function label(root, state) {
  const { header, frame } = state;
  root.querySelectorAll('.gc-caption').forEach((node, c) => {
    const { captions } = header.columns[c];
    node.textContent = captions[Math.min(frame, captions.length - 1)];
  });
  root.querySelector('.gc-frame').textContent = header.frame_labels[frame] ?? '';
  const scrub = root.querySelector('.gc-scrub');
  scrub.value = frame;
  scrub.setAttribute('aria-valuetext', header.frame_labels[frame] ?? '');
  const share = header.frames > 1 ? frame / (header.frames - 1) : 1;
  root.querySelector('.gc-done').style.width = `${100 * share}%`;
}

// One number of an array at a grid point; a chart's axis has columns along x and rows along y.
function at(array, frame, [row, column], axis) {
  const from = array.framed ? frame * array.size : 0;
  const inside = array.inner.length === 2 ? row * array.inner[1] + column : axis === 'x' ? column : row;
  return array.values[from + inside];
}

// The marked point, and the one under the pointer.
const spots = ({ pick, hover }) => [pick, hover].filter(spot => spot);

// In a scene they are lifted a little towards the viewer, or the surface would swallow them.
function marker(panel, state) {
  return Object.fromEntries(Object.entries(panel.pick).map(([axis, name]) => {
    let lift = 0;
    if (panel.kind === 'scene') {
      const [low, high] = panel.layout[`${axis}axis`].range;
      lift = LIFT * state.camera().eye[axis] * (high - low) / panel.layout.aspectratio[axis];
    }
    return [axis, spots(state).map(spot => at(state.arrays[name], state.frame, spot, axis) + lift)];
  }));
}

// Whether a panel shows the points of the chart, and marks can be put on it.
const linked = panel => Object.keys(panel.pick).length > 0;

const readable = number => (Number.isFinite(number) ? Number(number.toPrecision(3)).toString() : '–').replace('-', '−');

// What the arrays say at the point under the pointer, or else at the marked one.
function readOut(root, state) {
  const spot = state.hover ?? state.pick;
  const read = names => names.map(name => readable(at(state.arrays[name], state.frame, spot)));
  root.querySelectorAll('.gc-readout').forEach((node, c) => {
    const { readout } = state.header.columns[c];
    if (!spot || !readout.length) { node.textContent = ''; return; }
    const place = ['x', 'y'].map(axis => readable(at(state.arrays.axis, 0, spot, axis)));
    const parts = readout.map(({ label, arrays }) => {
      const numbers = read(arrays);
      return `${label} = ${numbers.length > 1 ? `(${numbers.join(', ')})` : numbers[0]}`;
    });
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

function layoutOf(root, panel, state) {
  const style = getComputedStyle(root);
  const css = name => style.getPropertyValue(name).trim();
  const font = { family: css('--st-font'), color: css('--st-text-color') };
  const grid = mix(font.color, css('--st-background-color'), GRID_SHARE);
  const base = { font, paper_bgcolor: CLEAR, plot_bgcolor: CLEAR, showlegend: false, uirevision: state.header.key };
  if (panel.kind === 'plane') {
    const axes = Object.entries(panel.layout).map(([name, spec]) => [name, { ...spec, gridcolor: grid, linecolor: grid }]);
    return { ...base, margin: { l: 48, r: 10, t: 12, b: 40 }, ...Object.fromEntries(axes) };
  }
  const axis = spec => ({ ...spec, color: font.color, gridcolor: grid, zerolinecolor: grid, showbackground: false, showspikes: false });
  const { xaxis, yaxis, zaxis, ...rest } = panel.layout;
  return { ...base, margin: { l: 0, r: 0, t: 0, b: 0 },
    scene: { ...rest, camera: state.camera(), xaxis: axis(xaxis), yaxis: axis(yaxis), zaxis: axis(zaxis) } };
}

// What answers no hover (plane, lines, data) must not hide the surface from the pointer either.
function seeThrough(div) {
  div._fullLayout?.scene?._scene?.glplot.objects
    .filter(part => part._trace?.data.hoverinfo === 'skip')
    .forEach(part => { part.drawPick = () => {}; });
}

async function draw(root, state, wanted) {
  const { header, arrays, frame, Plotly } = state;
  label(root, state);
  readOut(root, state);
  await Promise.all(state.plots.map(plot => {
    const panel = header.columns[plot.c].panels[plot.p];
    if (!wanted(panel)) return null;
    const spot = { ...marker(panel, state), mode: 'markers', hoverinfo: 'skip',
      type: panel.kind === 'scene' ? 'scatter3d' : 'scatter',
      marker: panel.kind === 'scene' ? MARKER : { ...MARKER, size: 13 } };
    const traces = fill(panel.traces, arrays, frame);
    return Plotly.react(plot.div, linked(panel) ? [...traces, spot] : traces,
      layoutOf(root, panel, state), { responsive: true, displayModeBar: false }).then(seeThrough);
  }));
  state.draws += 1;
  root.dataset.frame = frame;
  root.dataset.n = state.draws; // tests wait for this
}

// Move the markers alone.
async function mark(root, state) {
  readOut(root, state);
  await Promise.all(state.plots.map(({ div, c, p }) => {
    const panel = state.header.columns[c].panels[p];
    if (!linked(panel)) return null;
    const where = marker(panel, state);
    const update = Object.fromEntries(Object.entries(where).map(([axis, list]) => [axis, [list]]));
    return state.Plotly.restyle(div, update, [div.data.length - 1]);
  }));
  state.draws += 1;
  root.dataset.n = state.draws;
}

const moves = state => panel => JSON.stringify(panel.traces).match(/"array":"[^"]+"/g)
  .some(found => state.arrays[found.slice(9, -1)].framed);

function wire(root, find, state) {
  const { Plotly } = state;
  const scenes = state.plots.filter(plot => plot.div.classList.contains('gc-scene')).map(plot => plot.div);
  const cameraOf = div => div._fullLayout?.scene?._scene?.getCamera();

  const setCamera = (camera, from) => {
    CAMERAS[state.header.key] = structuredClone(camera);
    TURNED.add(state.header.key);
    scenes.forEach(div => div !== from && div._fullLayout
      && Plotly.relayout(div, { 'scene.camera': structuredClone(camera) }));
  };

  const show = frame => {
    const next = Math.max(0, Math.min(state.header.frames - 1, frame));
    if (next === state.frame) return Promise.resolve();
    state.frame = next;
    return draw(root, state, moves(state));
  };

  // One move of the markers at a time; the last wish wins.
  let marking = false;
  let again = false;
  const remark = async () => {
    again = true;
    if (marking || state.held) return; // a restyle would undo the turn of a scene that is held
    marking = true;
    try {
      await null; // out of Plotly's render loop: a trace that goes while it runs would end it for good
      while (again && !state.held && root.isConnected) {
        again = false;
        await mark(root, state);
      }
    } finally {
      marking = false;
    }
  };

  const point = spot => {
    if (JSON.stringify(spot) === JSON.stringify(state.hover)) return;
    state.hover = spot;
    remark();
  };

  const select = (row, column) => {
    state.pick = [row, column];
    remark();
    state.report('pick', { row, column });
  };

  const stop = () => {
    state.playing = false;
    find('.gc-play').textContent = '▶ Play';
    state.report('stop', { frame: state.frame });
  };

  const play = async () => {
    if (state.playing) return stop();
    if (state.header.frames < 2) return;
    state.playing = true;
    find('.gc-play').textContent = '⏸ Pause';
    if (state.frame >= state.header.frames - 1) await show(0);
    while (state.playing && root.isConnected && state.frame < state.header.frames - 1) {
      const begun = performance.now();
      await show(state.frame + 1);
      const rest = FRAME_MS - (performance.now() - begun);
      await new Promise(done => setTimeout(done, Math.max(rest, 0)));
    }
    if (state.playing) stop();
  };

  find('.gc-play').onclick = play;

  // The slider that Python owns: follow it while it is dragged, before it reports its value.
  // It fires no events of its own then, but says its value to screen readers. React also writes the
  // value it already has, as at the end of a Play: only a change counts. One draw at a time.
  let target = null;
  const chase = async frame => {
    const busy = target !== null;
    target = frame;
    if (busy) return;
    try {
      while (root.isConnected && target !== state.frame) await show(target);
    } finally {
      target = null;
    }
  };
  const scrub = find('.gc-scrub');
  scrub.oninput = () => { state.playing = false; chase(Number(scrub.value)); };
  scrub.onchange = () => state.report('stop', { frame: Number(scrub.value) });
  root.querySelectorAll('.gc-step').forEach(node => {
    node.onclick = async () => {
      state.playing = false;
      await show(state.frame + Number(node.dataset.by));
      state.report('stop', { frame: state.frame });
    };
  });

  state.observer?.disconnect();
  state.observer = new MutationObserver(changes => {
    const { follow, frames } = state.header;
    const slider = follow && changes.find(({ target: node, oldValue }) =>
      node.matches(follow) && node.getAttribute('aria-valuetext') !== oldValue)?.target;
    if (!slider || frames < 2 || state.playing) return;
    const { min, max, value } = slider;
    chase(Math.round((frames - 1) * (value - min) / (max - min)));
  });
  state.observer.observe(document.body, { subtree: true, attributeOldValue: true, attributeFilter: ['aria-valuetext'] });

  scenes.forEach(div => {
    div.on('plotly_relayouting', e => e['scene.camera'] && setCamera(e['scene.camera'], div));
    div.on('plotly_relayout', e => {
      const camera = e['scene.camera'];
      if (camera && JSON.stringify(camera) !== JSON.stringify(state.camera())) setCamera(camera, div);
    });
    // Wheel and touch report before the zoom is applied: read the camera a moment later.
    let waiting = null;
    const later = () => {
      waiting ??= setTimeout(() => {
        waiting = null;
        const camera = cameraOf(div);
        if (camera) setCamera(camera, null);
      }, 40);
    };
    for (const name of ['wheel', 'touchend', 'pointerup']) {
      div.addEventListener(name, later, { passive: true, capture: true });
    }
    div.addEventListener('touchmove', () => requestAnimationFrame(() => {
      const camera = cameraOf(div);
      if (camera) setCamera(camera, div);
    }), { passive: true, capture: true });

    // gl3d fires a click at every frame while the button is down: remember the hit and act once.
    let hit = null;
    let down = null;
    const remember = e => {
      const found = e.points.find(p => p.curveNumber === 0);
      const columns = state.arrays.axis.size; // a mesh counts its points row by row
      if (found) hit = [Math.floor(found.pointNumber / columns), found.pointNumber % columns];
      return found && hit;
    };
    div.on('plotly_hover', e => { if (remember(e) && !down) point(hit); });
    div.on('plotly_click', remember);
    div.on('plotly_unhover', () => { hit = null; point(null); });
    div.addEventListener('pointerdown', e => {
      down = [e.clientX, e.clientY];
      state.held = true;
      window.addEventListener('pointerup', () => {
        state.held = false;
        setTimeout(() => again && remark(), AFTER_RELEASE_MS);
      }, { once: true, capture: true });
    }, true);
    div.addEventListener('pointerup', e => {
      const still = down && Math.hypot(e.clientX - down[0], e.clientY - down[1]) < CLICK_PIXELS;
      down = null;
      if (still) requestAnimationFrame(() => requestAnimationFrame(() => hit && select(...hit)));
    }, true);

    div.onkeydown = e => {
      if (e.key === ' ') { e.preventDefault(); play(); return; }
      const turn = { ArrowLeft: [-TURN, 0], ArrowRight: [TURN, 0], ArrowUp: [0, TURN], ArrowDown: [0, -TURN] }[e.key];
      const zoom = { '+': 0.9, '=': 0.9, '-': 1 / 0.9 }[e.key];
      if (!turn && !zoom && e.key !== HOME) return;
      e.preventDefault();
      if (e.key === HOME) { setCamera(state.header.camera, null); return; }
      const camera = state.camera();
      const { x, y, z } = camera.eye;
      const far = Math.hypot(x, y, z) * (zoom ?? 1);
      const around = Math.atan2(y, x) + (turn?.[0] ?? 0);
      const above = Math.asin(z / Math.hypot(x, y, z)) + (turn?.[1] ?? 0);
      const up = Math.max(-1.5, Math.min(1.5, above));
      camera.eye = { x: far * Math.cos(up) * Math.cos(around), y: far * Math.cos(up) * Math.sin(around), z: far * Math.sin(up) };
      setCamera(camera, null);
    };
  });

  state.plots.filter(plot => !scenes.includes(plot.div)).forEach(({ div, c, p }) => {
    const panel = () => state.header.columns[c].panels[p];
    if (!linked(panel())) return;
    if (state.arrays[panel().pick.x].inner.length === 2) { pointAtNearest(div, panel); return; }
    const found = e => e.points.find(hit => hit.curveNumber === 0)?.pointNumber; // [row, column]
    div.on('plotly_click', e => found(e) && select(...found(e)));
    div.on('plotly_hover', e => found(e) && point(found(e)));
    div.on('plotly_unhover', () => point(null));
  });

  // Where the grid is bent, its nearest point counts, no further from the pointer than a finger.
  function pointAtNearest(div, panel) {
    const nearest = event => {
      const { xaxis, yaxis } = div._fullLayout;
      const box = div.getBoundingClientRect();
      const { x, y } = panel().pick;
      const [xs, ys] = [state.arrays[x], state.arrays[y]];
      const [rows, columns] = xs.inner;
      let best = null;
      let least = REACH_PIXELS;
      for (let row = 0; row < rows; row += 1) {
        for (let column = 0; column < columns; column += 1) {
          const across = xaxis._offset + xaxis.d2p(at(xs, state.frame, [row, column])) - (event.clientX - box.left);
          const down = yaxis._offset + yaxis.d2p(at(ys, state.frame, [row, column])) - (event.clientY - box.top);
          const far = Math.hypot(across, down);
          if (far < least) [least, best] = [far, [row, column]];
        }
      }
      return best;
    };
    div.addEventListener('pointermove', event => point(nearest(event)));
    div.addEventListener('pointerleave', () => point(null));
    div.addEventListener('click', event => {
      const spot = nearest(event);
      if (spot) select(...spot);
    }, true);
  }
}
