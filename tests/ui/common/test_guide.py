"""Does the page of texts name every topic, and does each picture lead to what it shows?"""

import pytest
from PIL import Image

from tests.ui.opening import mistakes, open_page
from ui.common.bar import EXPLORE, PAGES
from ui.common.guide import PICTURES, SHADES, TOPICS
from ui.common.lessons import section, sections

PAGE = "pages/10_Guide.py"
WITH_PICTURE = [name for name, topic in TOPICS.items() if topic.page]
MOST_BYTES = 400_000  # of all pictures


def test_every_topic_stands_in_the_contents_and_has_its_text_and_picture():
    app = open_page(PAGE)
    assert not app.exception
    contents, *texts = [each.value for each in app.markdown]
    assert texts == [section("guide", name) for name in TOPICS]
    assert [each.proto.anchor for each in app.header] == [*TOPICS]
    for name, topic in TOPICS.items():
        assert f"[{topic.heading}](#{name})" in contents
    pictures = [image.proto for image in app.get("image")]
    assert [each.link for each in pictures] == [TOPICS[name].address for name in WITH_PICTURE]
    assert [each.imgs[0].alt for each in pictures] == [
        f"Picture: {TOPICS[name].alt}" for name in WITH_PICTURE
    ]


def test_topics_and_texts_are_the_same():
    assert list(sections("guide")) == list(TOPICS), "TOPICS in ui/common/guide.py"
    titles = {topic.page for topic in TOPICS.values()}
    lacking = {title for title, page in PAGES.items() if page.group == EXPLORE} - titles
    assert not lacking, "a page on curvature needs a topic: TOPICS in ui/common/guide.py"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", WITH_PICTURE)
def test_a_picture_leads_to_a_state_that_its_page_understands(name):
    topic = TOPICS[name]
    page = open_page(PAGES[topic.page].path, **topic.query)
    assert not page.exception
    assert not mistakes(page)


def test_pictures_are_there_in_both_colours_and_are_small():
    files = {f"{name}_{shade}.webp" for name in WITH_PICTURE for shade in SHADES}
    found = {path.name for path in PICTURES.iterdir()}
    assert found == files, "make them: python -m tests.browser.lesson_pictures"
    assert sum(path.stat().st_size for path in PICTURES.iterdir()) <= MOST_BYTES
    for name in files:
        with Image.open(PICTURES / name) as picture:
            assert picture.width >= 500
