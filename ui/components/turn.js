// Page Up and Page Down, which a clicker sends, press the buttons of the previous and the next
// step, wherever focus is: heard before any element, and not passed on, or the page would scroll.
// While a class runs, Page Down presses its Reveal or Next, and Page Up nothing. Once a tab.
const STEPS = { PageUp: 'previous', PageDown: 'next' };

export default function () {
  if (window.__gcTurns) return;
  window.__gcTurns = true;
  addEventListener('keydown', event => {
    const step = STEPS[event.key];
    if (!step || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.target.closest?.('textarea')) return;
    if (!document.querySelector('.st-key-turns')) return; // not in present mode
    event.preventDefault();
    event.stopImmediatePropagation();
    const running = document.querySelector('.st-key-class_go');
    const place = running ? step === 'next' && '.st-key-class_go' : `.st-key-turn-${step}`;
    if (place && !event.repeat) document.querySelector(`${place} :is(button:enabled, a)`)?.click();
  }, true);
}
