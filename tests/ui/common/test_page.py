"""Links to all pages stand in groups, and lead back to what a visitor has left."""

import pytest

from tests.ui.opening import open_page
from ui.common import page as pages
from ui.common.page import CURVATURE, PAGES, Page, draw_links

AT_WORK, HELP = "Attention at work", "Guide"
CURVED = [title for title, page in PAGES.items() if page.group == CURVATURE]
COMING = ["Language models", "Mixture of experts", "Efficient attention", "Steering", "Real layers"]


@pytest.fixture
def links(monkeypatch):
    """Twelve pages in two groups; returns the links that a page of a group draws."""
    coming = {title: Page(f"pages/{title}.py", ":material/hub:", AT_WORK) for title in COMING}
    rows = {title: PAGES[title] for title in CURVED} | coming | {HELP: PAGES[HELP]}
    monkeypatch.setattr(pages, "PAGES", rows)

    def drawn(group, left=None):
        calls = []
        monkeypatch.setattr(
            pages.st, "page_link", lambda path, **more: calls.append((more["label"], path, more))
        )
        draw_links(group, left or {})
        return calls

    return drawn


def test_a_group_stands_beside_one_link_to_the_other(links):
    to_work, back = f"{COMING[0]} →", f"{CURVED[0]} →"
    assert [label for label, *_ in links(CURVATURE)] == [*CURVED, to_work, HELP]
    assert [label for label, *_ in links(AT_WORK)] == [back, *COMING, HELP]
    assert [label for label, *_ in links("")] == [*CURVED, to_work, HELP]  # as on HELP
    tooltips = {label: more["help"] for label, _, more in links(CURVATURE)}
    assert tooltips[to_work] == f"{AT_WORK}: {', '.join(COMING)}"


def test_a_link_leads_to_what_was_left_there(links):
    left = {"Manifold": {"dim": ["8"], "n": ["4"]}, CURVED[0]: {"task": ["xor"]}}
    carried = {label: more["query_params"] for label, _, more in links(CURVATURE, left)}
    assert carried["Manifold"] == left["Manifold"]
    assert carried["Depth"] is None
    other = {label: more["query_params"] for label, _, more in links(AT_WORK, left)}
    assert other[f"{CURVED[0]} →"] == left[CURVED[0]]


@pytest.mark.parametrize("path", ["app.py", "pages/7_Language_models.py"])  # of both groups
def test_a_link_named_after_a_page_opens_that_page(path):
    titles = {
        page.path.removesuffix(".py").partition("_")[2]: title for title, page in PAGES.items()
    }
    links = [link.proto for link in open_page(path).get("page_link")]
    named = {
        link.label.removesuffix(" →"): titles[link.page]
        for link in links
        if link.label.endswith("→") or link.label in PAGES
    }
    assert len(named) >= 5
    assert named == {title: title for title in named}
