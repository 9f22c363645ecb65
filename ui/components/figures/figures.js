// Saves what is on the page, as it is seen: the browser draws it again, larger or into a file of its own.

const KEPT_MS = 60000; // a saved file's address, for slow disks

export default function ({ data: [header], parentElement }) {
  const root = parentElement.querySelector('.gc-figures');
  const find = selector => root.querySelector(selector);
  const [which, status] = [find('.gc-figures-which'), find('.gc-figures-status')];
  const buttons = [...root.querySelectorAll('button')];
  const state = (root.gcFigures ??= { busy: false });
  state.header = header;
  const allow = () => buttons.forEach(button => {
    const picture = state.pictures[which.selectedIndex];
    button.disabled = state.busy || !picture || (button.dataset.kind === 'svg' && !picture.root._fullLayout);
  });
  const look = () => {
    const chosen = which.value;
    state.pictures = picturesOnPage();
    which.replaceChildren(...state.pictures.map(({ title }) => new Option(title, title)));
    if (state.pictures.some(({ title }) => title === chosen)) which.value = chosen;
    status.textContent = state.pictures.length ? '' : 'There is no figure on the screen.';
    allow();
  };
  look();
  which.onpointerdown = look;
  which.onchange = allow;
  buttons.forEach(button => {
    button.onclick = async () => {
      Object.assign(state, { busy: true });
      allow();
      status.textContent = 'Drawing …';
      try {
        const picture = state.pictures[which.selectedIndex];
        await save(await draw(picture, button.dataset, state.header), picture, button.dataset, state.header);
        status.textContent = '';
      } catch (error) {
        status.textContent = `The figure could not be drawn: ${error.message}`;
      }
      state.busy = false;
      allow();
    };
  });
}

async function draw(picture, { kind, ...options }, { plotly, line }) {
  const Plotly = await loadPlotly(plotly);
  if (kind === 'png') return pngOf(Plotly, picture, options, line);
  return kind === 'svg' ? svgOf(Plotly, picture, line) : htmlOf(picture, line, plotly);
}

function save(blob, { title }, { kind, times, slide }, { name }) {
  const what = title.replace(/[^\w.,=-]+/g, '-').slice(0, 60).replace(/^-+|-+$/g, '');
  const link = Object.assign(document.createElement('a'), { href: URL.createObjectURL(blob),
    download: `${name}_${what}${times ? `_${times}x` : ''}${slide ? '_slide' : ''}.${kind}` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS);
}
