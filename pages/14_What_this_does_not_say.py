"""The page of limits: what numbers do not say, and what nobody knows yet."""

from ui.common.page import draw_finding, page

with page("What this does not say"):
    from ui.common.guide import draw_limits
    from ui.common.lessons import section

    draw_finding(section("limits", "finding"))
    draw_limits()
