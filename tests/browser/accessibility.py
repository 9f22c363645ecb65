"""The rules of the WCAG, checked by axe-core on a page as it is shown, and sizes of type."""

from importlib.resources import files

from playwright.sync_api import Page

AXE = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
FIND = """async within => {
  // Chromium and Firefox let the keyboard reach whatever scrolls; axe wants an attribute besides,
  // which Streamlit's tables lack.
  // What `region` says is never serious, and it takes a sixth of the time.
  const rules = {
    'scrollable-region-focusable': { enabled: false }, region: { enabled: false },
  };
  // The bar on phones is Streamlit's list of pages, whose menus stand in it as `div` (1.67).
  const context = { include: [within], exclude: ['[data-testid=stSidebarNavItems]'] };
  const { violations } = await axe.run(context, { resultTypes: ['violations'], rules });
  return violations.filter(({ impact }) => ['serious', 'critical'].includes(impact))
    .flatMap(({ id, nodes }) => nodes.map(
      ({ target, html, failureSummary }) => `${id}: ${target} ${html} ${failureSummary}`));
}"""

# Five sizes of type, in rem, and nothing smaller; formulas have sizes of their own,
# and Plotly makes powers of ten .9375.
SIZES = [0.75, 0.875, 1, 1.25, 1.9]
MEASURE = """([within, sizes]) => {
  const root = parseFloat(getComputedStyle(document.documentElement).fontSize);
  const presents = document.querySelector('.st-key-turns') !== null; // drawings are scaled there
  const odd = {};
  const walker = document.createTreeWalker(document.querySelector(within), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { textContent, parentElement: part } = walker.currentNode;
    const without = 'script, style, .katex, sub, sup, tspan[dy], [data-testid=stIconMaterial]';
    if (!textContent.trim() || !part.getClientRects().length || part.closest(without)) continue;
    const matrix = part.ownerSVGElement && part.getScreenCTM();
    const size = parseFloat(getComputedStyle(part).fontSize)
      * (matrix ? Math.hypot(matrix.a, matrix.b) : 1);
    const more = part.closest('.xtick, .ytick') ? [0.9375] : [];
    const fits = presents ? size > sizes[0] * root - 0.5
      : [...sizes, ...more].some(each => Math.abs(each * root - size) < 0.1);
    const words = `${size.toFixed(1)} px: ${textContent.trim().slice(0, 40)}`;
    if (!fits) odd[words] = part.outerHTML.slice(0, 120);
  }
  return Object.entries(odd).map(entry => entry.join(' '));
}"""


def assert_accessible(page: Page, within: str = "html") -> None:
    """Axe finds nothing serious or critical ``within`` a part, in the colours it has now.

    Its words are of one of the five sizes.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    found = page.evaluate(FIND, within)
    found += page.evaluate(MEASURE, [within, SIZES])
    assert not found, "\n".join(found)
