// Linked pictures: all 3-D panels share one camera, all panels one frame, one marked point, and the
// point under the pointer. Python decides which traces are drawn.

const LOW = 200; // pixels: a wide column that is lower stands above the sentence
export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector('.gc-view');
  const state = (root.__gc ??= { frame: 0, pick: null, hover: null, draws: 0, plots: [], calls: 0, shown: 0, camera: panel => cameraOf(state, panel) });
  const header = headerIn(data);
  const call = ++state.calls;
  delete root.dataset.ahead;
  root.dataset.stale = 'true'; // until it is drawn
  state.sent ??= [];
  state.report = (what, value) => {
    if (what === 'stop') state.sent.push(value.frame);
    root.dataset.ahead = ''; // the picture shows it already
    setTriggerValue(what, value);
  };
  if (!state.header) adopt(root, state, header); // texts at once; the pictures stay until the new arrays have come
  const address = new URL(header.source, document.baseURI).href;
  const isDrawn = () => { if (call === state.calls) delete root.dataset.stale; };
  Promise.all([newest(state, address), loadPlotly(header.plotly)]).then(async ([buffer, Plotly]) => {
    if (!buffer || !root.isConnected || call < state.shown) return;
    state.shown = call;
    state.Plotly = Plotly;
    const numbers = JSON.stringify([address, header.arrays]);
    if (state.numbers !== numbers) {
      const before = state.arrays?.axis?.size;
      state.arrays = unpack(header.arrays, buffer);
      if (state.arrays.axis?.size !== before) state.hover = null; // it is a point of the grid before
    }
    state.numbers = numbers;
    adopt(root, state, header);
    const others = state.frames !== undefined && state.frames !== header.frames;
    state.frames = header.frames;
    await draw(root, state, () => true);
    isDrawn();
    root.querySelector('.gc-error').textContent = '';
    if (others && !header.family) refit(state); // they may be larger than those before
    if (!state.wired) listen(root, state);
    state.wired = true;
    if (state.follows) follow(root, state);
    state.follows = false;
  }).catch(error => {
    if (call < state.calls) return;
    isDrawn();
    root.querySelector('.gc-error').textContent = `The 3-D view could not start: ${error.message}`;
  });

  // Called on unmounting, and also when one run overtakes another while the element stays.
  return () => setTimeout(() => {
    if (root.isConnected) return;
    state.playing = false;
    state.sizes?.disconnect();
    if (state.Plotly) state.plots.forEach(plot => state.Plotly.purge(plot.div));
  });
}

// Shows this header, at its frame or at the one that the visitor has gone to since.
function adopt(root, state, header) {
  state.header = header;
  // This is called whenever anything on the page changes: only other data count, or the picture would
  // jump back to the last frame that Python chose.
  const served = JSON.stringify([header.serial, header.frames, header.frame, header.pick]);
  if (state.served !== served) {
    state.served = served;
    const grows = header.family && state.family === header.family;
    // Other frames: nothing was reported of them yet.
    if (!grows && (state.family !== header.family || state.last !== header.frames - 1)) state.sent = [];
    // A frame that was reported from here comes back: by now the visitor may be at another.
    const echo = state.sent.indexOf(header.frame);
    if (echo >= 0) state.sent.splice(0, echo + 1);
    else if (!state.playing && (!grows || state.frame === state.last)) {
      state.follows = follows(state, header, grows);
      if (!state.follows) state.frame = header.frame;
      else if (!grows) state.frame = 0;
    }
    state.family = header.family;
    state.last = header.frames - 1;
    state.pick = header.pick;
  }
  state.frame = Math.min(state.frame, header.frames - 1);
  beginScene(root, state);
  build(root, state);
  if (header.reveal && header.reveal !== window.__gcRevealed) {
    window.__gcRevealed = header.reveal;
    root.scrollIntoView();
  }
}

// The elements around the pictures, created anew only when the panels change.
function build(root, state) {
  const { header } = state;
  const find = selector => root.querySelector(selector);
  const outline = JSON.stringify(header.columns.map(column => [column.wide, ...column.panels.map(p => p.kind)]));
  if (state.outline !== outline) {
    state.outline = outline;
    if (state.Plotly) state.plots.forEach(plot => state.Plotly.purge(plot.div));
    state.plots = [];
    state.wired = false;
    const boxes = header.columns.map((column, c) => {
      const box = element('div', column.wide ? 'gc-column gc-wide' : 'gc-column');
      box.style.setProperty('--gc-asides', column.panels.length - 1);
      box.append(element('h3', 'gc-heading'), element('p', 'gc-caption'));
      column.panels.forEach((panel, p) => {
        const div = element('div', `${panel.kind === 'scene' ? 'gc-scene' : 'gc-plane'} ${p ? 'gc-aside' : 'gc-first'}`);
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
      box.append(element('p', 'gc-flat'), element('p', 'gc-readout'));
      return box;
    });
    const wide = box => box.classList.contains('gc-wide');
    find('.gc-columns').replaceChildren(...boxes.filter(box => !wide(box)));
    const below = find('.gc-below'), low = boxes.some(wide) && header.wide < LOW;
    below.replaceChildren(...boxes.filter(wide));
    root.classList.toggle('gc-low', low);
    if (low) find('.gc-reading').before(below); else root.append(below);
  }
  state.plots.forEach(plot => plot.div.setAttribute('aria-label',
    header.columns[plot.c].panels[plot.p].label));
  // In a narrow window a uniform panel is a sentence.
  state.plots.forEach(({ div, c, p }) => div.classList.toggle('gc-even', header.columns[c].panels[p].plain !== ''));
  root.querySelectorAll('.gc-flat').forEach((node, c) => {
    node.textContent = header.columns[c].panels.map(panel => panel.plain).filter(Boolean).join(' · ');
  });
  root.querySelectorAll('.gc-readout').forEach((node, c) => { node.hidden = !header.columns[c].readout.length; });
  root.querySelectorAll('.gc-heading').forEach((node, c) => { node.textContent = header.columns[c].heading; });
  root.classList.toggle('gc-film', header.scrub);
  root.classList.toggle('gc-maps', !header.columns.some(column => column.panels.some(panel => panel.kind === 'scene')));
  root.classList.toggle('gc-alone', header.frames < 2); // a timeline of one frame would stand at its start
  root.style.setProperty('--gc-spare', `${header.spare}px`);
  root.style.setProperty('--gc-wide', `${header.wide}px`);
  find('.gc-scrubs').textContent = `, ${header.click_does}`;
  find('.gc-scrubs').hidden = !header.places.length;
  const plays = header.frame_labels.length > 0;
  root.querySelectorAll('.gc-step, .gc-scrub').forEach(node => { node.hidden = !header.scrub || !plays; });
  find('.gc-scrub').min = placeOf(state, 0);
  find('.gc-scrub').max = placeOf(state, header.frames - 1);
  find('.gc-bar').hidden = !plays;
  root.querySelectorAll('.gc-play, .gc-frame, .gc-plays').forEach(node => { node.hidden = !plays; });
  find('.gc-play').disabled = header.frames < 2;
  const keys = header.legend.keys.map(([word, colour]) => {
    const key = element('span', 'gc-key', word);
    key.style.setProperty('--gc-colour', colour);
    return key;
  });
  const scale = element('span', 'gc-scale');
  scale.style.background = `linear-gradient(90deg, ${header.legend.scale.map(([at, colour]) => `${colour} ${100 * at}%`).join(', ')})`;
  const ends = [element('span', '', header.legend.low), scale, element('span', '', header.legend.high)];
  find('.gc-legend').replaceChildren(...(keys.length ? keys : ends),
    element('span', 'gc-note'));
}

// Once for each set of panels: everything that the visitor can do with them.
function listen(root, state) {
  const chase = chaser(root, state);
  listenToBar(root, state, chase);
  state.sizes = new ResizeObserver(entries => {
    entries.forEach(({ target }) => resize(state, target));
    if (!entries.filter(({ target }) => hasNewSize(target)).length) return; // the camera fits it
    if (state.typePixels !== typePixels()) draw(root, state, () => true); // with room for larger type
    refit(state);
    if (spots(state).length) mark(root, state); // they stand a little before the surface, as it is seen
  });
  const hand = pointer(root, state);
  state.plots.filter(({ blind }) => !blind).forEach(plot => {
    const { div, c, p } = plot;
    letScroll(div);
    state.sizes.observe(div);
    if (!div.classList.contains('gc-scene')) {
      if (linked(state.header.columns[c].panels[p])) pointAtPlane(state, plot, hand);
      else goWhereClicked(state, div, chase);
      return;
    }
    shareCamera(state, div);
    pointAtScene(state, div, hand);
    div.onkeydown = event => {
      if (isShortcut(event)) return;
      if (event.key === ' ') play(root, state);
      else if (!turned(root, state, event.key, panelOf(state, div))) return;
      event.preventDefault();
    };
  });
}

function element(tag, className, text = '') {
  const node = document.createElement(tag);
  node.className = className;
  node.textContent = text;
  return node;
}
