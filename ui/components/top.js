// Scrolls to the top of the page where it shows something else: a phone would stay where it was.

export default function ({ data: [{ shown }] }) {
  const before = window.__gcShown;
  window.__gcShown = shown;
  if (before === undefined || before === shown) return;
  document.querySelector('[data-testid=stMain]')?.scrollTo({ top: 0 });
}
