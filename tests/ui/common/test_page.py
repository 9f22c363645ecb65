"""The thread leads through all pages, and every page has its part of the guide."""

from itertools import pairwise

from tests.each import each
from tests.ui.opening import open_page
from ui.common.bar import FIRST, GUIDE, PAGES, THREAD, address, beside
from ui.common.guide import TOPICS
from ui.common.lessons import section


def test_the_thread_leads_from_the_first_page_through_all_others_and_back():
    followed, title = [FIRST], FIRST
    while (following := beside(title)[1]) is not None:
        path, title = following
        assert path == PAGES[title].path
        followed.append(title)
    assert followed == THREAD
    assert {*PAGES} - {*THREAD} == {"Learn", GUIDE}
    for before, after in pairwise(THREAD):
        assert beside(after)[0] == (PAGES[before].path, before)
    assert beside("Learn") == [None, beside(FIRST)[1]]
    assert beside(GUIDE) == [None, None]


@each(["Which keys curve?", "Steering"])
def test_the_end_of_a_page_asks_the_next_question(title):
    links = [x.proto for x in open_page(PAGES[title].path).get("page_link")]
    asked = [x for x in links if x.label.startswith("Next question: ")]
    if title == THREAD[-1]:
        assert not asked
    else:
        (link,), (_, following) = asked, beside(title)[1]
        assert link.label.endswith(PAGES[following].question)
        assert link.page == address(following)


@each(["Manifold", "Real heads"])
def test_the_guide_of_a_page_is_its_part_of_the_guide(title):
    closed = open_page(PAGES[title].path, gate="tanh")
    parts = [name for name, topic in TOPICS.items() if topic.page == title]
    texts = {section("guide", name) for name in parts or ["surface", "numbers"]}
    assert not texts & {x.value for x in closed.markdown}
    closed.session_state["guide"] = True
    assert texts <= {x.value for x in closed.run().markdown}
