"""What axe-core, the checker of the WCAG's rules, says of a page as it is shown."""

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


def assert_accessible(page: Page, within: str = "html") -> None:
    """Axe finds nothing serious or critical ``within`` a part, in the colours it has now."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    found = page.evaluate(FIND, within)
    assert not found, "\n".join(found)
