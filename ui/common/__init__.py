"""Common to all pages: title, links, controls, charts, words."""
