"""Links to all pages stand in groups, and lead back to what a visitor has left."""

import pytest

from ui.common import page as pages
from ui.common.page import CURVATURE, PAGES, Page, draw_links

AT_WORK, HELP = "Attention at work", "How to read it"
CURVED = [title for title, page in PAGES.items() if page.group == CURVATURE]
COMING = ["Experts", "At work", "Left out", "Steering", "Real layers"]


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
    assert [label for label, *_ in links(CURVATURE)] == [*CURVED, f"{AT_WORK} →", HELP]
    assert [label for label, *_ in links(AT_WORK)] == [f"{CURVATURE} →", *COMING, HELP]
    assert [label for label, *_ in links("")] == [*CURVED, f"{AT_WORK} →", HELP]  # as on HELP
    paths = {label: path for label, path, _ in links(AT_WORK)}
    assert paths[f"{CURVATURE} →"] == PAGES[CURVED[0]].path


def test_a_link_leads_to_what_was_left_there(links):
    left = {"Manifold": {"dim": ["8"], "n": ["4"]}, CURVED[0]: {"task": ["xor"]}}
    carried = {label: more["query_params"] for label, _, more in links(CURVATURE, left)}
    assert carried["Manifold"] == left["Manifold"]
    assert carried["Depth"] is None
    other = {label: more["query_params"] for label, _, more in links(AT_WORK, left)}
    assert other[f"{CURVATURE} →"] == left[CURVED[0]]
