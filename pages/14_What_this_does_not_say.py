"""The page of limits: what numbers do not say, and what nobody knows yet."""

from ui.common.page import page

with page("What this does not say"):
    from ui.common.guide import draw_limits

    draw_limits()
