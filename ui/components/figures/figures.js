// Saves what is on the page, as it is seen: the browser draws it again, larger or into a file.

const KEPT_MS = 60000; // a saved file's address, for slow disks

export default function ({ data: [header], parentElement }) {
  const root = parentElement.querySelector('.gc-figures');
  const which = root.querySelector('.gc-figures-which');
  const status = root.querySelector('.gc-figures-status');
  const buttons = [...root.querySelectorAll('button')];
  const state = (root.gcFigures ??= { busy: false });
  state.header = header;
  const chosen = () => state.pictures[which.selectedIndex];
  const allow = () => buttons.forEach(button => {
    const isChart = Boolean(chosen()?.root._fullLayout);
    const fits = { svg: isChart, html: !isChart }[button.dataset.kind] ?? true;
    button.disabled = state.busy || !chosen() || !fits;
  });
  const look = () => {
    const before = which.value;
    state.pictures = picturesOnPage();
    which.replaceChildren(...state.pictures.map(({ title }) => new Option(title, title)));
    if (state.pictures.some(({ title }) => title === before)) which.value = before;
    status.textContent = state.pictures.length ? '' : 'There is no figure on the screen.';
    allow();
  };
  look();
  which.onpointerdown = look;
  which.onchange = allow;
  buttons.forEach(button => {
    button.onclick = async () => {
      state.busy = true;
      allow();
      status.textContent = 'Drawing …';
      try {
        save(await fileOf(chosen(), button.dataset, state.header.line), chosen().title,
          button.dataset, state.header.name);
        status.textContent = '';
      } catch (error) {
        status.textContent = `The figure could not be drawn: ${error.message}`;
      }
      state.busy = false;
      allow();
    };
  });
}

function fileOf({ root, title }, options, line) {
  if (root._fullLayout) return chartFile(root, options, line);
  return options.kind === 'png' ? pngFile(root, options, line) : htmlFile(root, title, line);
}

function save(blob, title, { kind, times, slide }, name) {
  const what = title.replace(/[^\w.,=-]+/g, '-').slice(0, 60).replace(/^-+|-+$/g, '');
  const size = `${times ? `_${times}x` : ''}${slide ? '_slide' : ''}`;
  const href = URL.createObjectURL(blob);
  const download = `${name}_${what}${size}.${kind}`;
  Object.assign(document.createElement('a'), { href, download }).click();
  setTimeout(() => URL.revokeObjectURL(href), KEPT_MS);
}
