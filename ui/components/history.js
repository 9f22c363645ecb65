// A change of a control is a step of the browser's history, so that "Back" undoes it alone.
// Streamlit replaces the address when a control moves (with a whole address), and makes a step
// whenever the server changes it (with a path), if only to correct it: then it is one only after a
// visitor's input. The camera, which the browser alone writes (turning.js), stays in the address
// of its page. Once a tab.
const INPUTS = ['pointerdown', 'keydown'];
const PHONE = 768; // pixels: a narrower window has its menu over the page
const MENU_MS = 400; // after which Streamlit has closed that itself, on what it knows as a phone

function closeMenu() {
  const button = document.querySelector('[data-testid=stSidebarCollapseButton] button');
  if (innerWidth < PHONE && button?.getBoundingClientRect().left >= 0) button.click();
}

export default function () {
  if (Object.hasOwn(history, 'pushState')) return;
  const { setItem } = Storage.prototype;
  Storage.prototype.setItem = function keep(key, value) {
    // Streamlit keeps a menu that is open for the next visit, whose page it would cover.
    if (!key.startsWith('stSidebarCollapsed')) setItem.call(this, key, value);
  };
  let input = false; // since the last step
  for (const type of INPUTS) addEventListener(type, () => { input = true; }, true);
  addEventListener('popstate', () => { input = false; }, true);
  for (const method of ['pushState', 'replaceState']) {
    history[method] = (state, title, address) => {
      const to = new URL(address ?? location.href, location.href);
      const { path, camera } = window.__gcAddress ?? {};
      if (path === to.pathname && camera) to.searchParams.set('camera', camera);
      else if (path === to.pathname) to.searchParams.delete('camera');
      const isOther = to.pathname !== location.pathname;
      if (isOther) setTimeout(closeMenu, MENU_MS);
      const steps = isOther ? method === 'pushState'
        : to.href !== location.href && (URL.canParse(address) || input);
      if (steps) input = false;
      History.prototype[steps ? 'pushState' : 'replaceState'].call(history, state, title, to.href);
    };
  }
}
