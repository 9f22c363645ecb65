"""Does the page of texts name every topic, and does each picture lead to what it shows?"""

import json

import pytest
from PIL import Image

from gating_core.assets import ASSETS
from tests.ui.opening import mistakes, open_page
from ui.common.bar import EXPLORE, PAGES
from ui.common.guide import LIMITS, PICTURES, SHADES, TOPICS
from ui.common.lessons import section, sections

PAGE = "pages/10_Guide.py"
WITH_PICTURE = [name for name, topic in TOPICS.items() if topic.page]
TEXTS = [name for name in TOPICS if name != "limits"]  # which has a file of its own
MOST_BYTES = 400_000  # of all pictures


def test_every_topic_stands_in_the_contents_and_has_its_text_and_picture():
    app = open_page(PAGE)
    assert not app.exception
    finding, contents, *texts = [each.value for each in app.markdown]
    assert finding == section("guide", "finding")
    limits = [part for name in LIMITS for part in section("limits", name).split("\n\n")]
    expected = {name: [section("guide", name)] for name in TEXTS} | {"limits": limits}
    assert texts == [text for name in TOPICS for text in expected[name]]
    assert [each.proto.anchor for each in app.header] == [*TOPICS]
    for name, topic in TOPICS.items():
        assert f"[{topic.heading}](#{name})" in contents
    pictures = [image.proto for image in app.get("image")]
    cards = [topic for _, topic in LIMITS.values()]
    shown = [x for name in WITH_PICTURE for x in (cards if name == "limits" else [TOPICS[name]])]
    assert [each.link for each in pictures] == [topic.address for topic in shown]
    assert [each.imgs[0].alt for each in pictures] == [f"Picture: {x.alt}" for x in shown]


def test_the_page_of_limits_leads_with_the_strongest_and_has_a_card_for_each():
    app = open_page("pages/14_What_this_does_not_say.py")
    assert not app.exception
    assert [*LIMITS] == [*sections("limits")][1:]
    finding, *texts = [x.value for x in app.markdown]
    assert finding == section("limits", "finding")
    assert texts == [part for name in LIMITS for part in section("limits", name).split("\n\n")]
    channels = json.loads((ASSETS / "models" / "minilm" / "config.json").read_text())["hidden_size"]
    assert f"the {channels} of MiniLM" in section("limits", "models")
    assert len(app.get("image")) == len(LIMITS)


def test_topics_and_texts_are_the_same():
    assert ["finding", *TEXTS] == [*sections("guide")], "TOPICS in ui/common/guide.py"
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
    names = {*WITH_PICTURE, *dict(LIMITS.values())}
    files = {f"{name}_{shade}" for name in names for shade in SHADES}
    found = [*PICTURES.iterdir()]
    assert sorted(path.stem for path in found) == sorted(files), (
        "make them: python -m tests.browser.lesson_pictures"
    )
    assert sum(path.stat().st_size for path in found) <= MOST_BYTES
    for path in found:
        with Image.open(path) as picture:
            assert picture.width >= 500
