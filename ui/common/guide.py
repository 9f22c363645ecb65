"""The topics of *Guide*: a text, a picture, and the state of a page that it shows."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import streamlit as st
from PIL import Image

from ui.common.bar import GUIDE, PAGES, address
from ui.common.lessons import section, sections

PICTURES = Path(__file__).resolve().parents[2] / "assets" / "guide"
SHADES = ("light", "dark")


class Topic(NamedTuple):
    """A row of `TOPICS`; without a ``page`` it has no picture."""

    heading: str
    page: str = ""  # its title in the table of pages
    query: dict[str, str] = {}
    alt: str = ""  # what the picture shows

    @property
    def address(self) -> str:
        """The link to the state, relative to this page's address."""
        path = address(self.page) or "."
        return f"{path}?{urlencode(self.query)}" if self.query else path


TOPICS = {  # by the section of the lesson, which is also the name of the picture
    "bend": Topic(
        "To bend and to curve", "Learn", {"lesson": "bent", "guess": "bent-1"},
        "a tube, grey: bent, K = 0; a dome, K > 0; a saddle, K < 0"),
    "surface": Topic(
        "What is drawn", "Flat or curved?", {"strength": "1"},
        "a curved surface that a plane cuts in a closed ring, and the same cut in the square"),
    "numbers": Topic(
        "The numbers, and how they are known", "Which gates curve?",
        {"case": "bump"}, "a bump in the surface: K > 0 on its top, K < 0 round it"),
    "proved": Topic(
        "Proved curvature", "Flat or curved?", {"proof": "true"},
        "the input square in cells: K > 0 is proved on some, K < 0 on others, few are open"),
    "manifold": Topic(
        "Manifold", "Manifold", {},
        "the outputs of one model without and with its gate, and K over the chart"),
    "boundary": Topic(
        "Decision boundary", "Decision boundary", {},
        "two trained models, their surfaces and their decision boundaries"),
    "gates": Topic(
        "Which gates curve?", "Which gates curve?",
        {"case": "saddle"}, "a gate that curves the flat surface to a saddle, K < 0"),
    "keys": Topic(
        "Which keys curve?", "Which keys curve?", {},
        "four keys in a plane, one inside the triangle of the others, and the dome they give"),
    "depth": Topic(
        "Depth", "Depth", {},
        "the surface of a trained stack after its last layer, and K over its chart"),
    "islands": Topic(
        "Curved or bent?", "Curved or bent?", {"bent_tab": "Islands"},
        "a hill of a trained surface, cut in a closed loop, under a dome of glass that touches it"),
    "claims": Topic(
        "Claims", "Claims", {"claim": "C4"},
        "differences of accuracy between gated and ungated models, task by task"),
    "experts": Topic(
        "Mixture of experts", "Mixture of experts", {},
        "one entry of the output as a tree of heads, experts and tokens"),
    "language_models": Topic(
        "Should I gate?", "Should I gate?", {"measure": "Attention sinks"},
        "maps of a layer that learns a sink: the first letter's column is less bright with a gate"),
    "efficient": Topic(
        "Efficient attention", "Efficient attention", {},
        "the Δ loss of models in which every head keeps its k largest weights, less with a gate"),
    "steering": Topic(
        "Steering", "Steering", {},
        "a text goes on in English, and with a steering vector the same one goes on in Spanish"),
    "limits": Topic(
        "What this does not say", "Curved or bent?",
        {"flat_guess": "left", "camera": "4.712,0.4,1"},
        "two trained models, K in colours: the left surface bends and is grey, K ≈ 0, inside its"
        " closed boundary, and its model is no less accurate"),
    "sources": Topic("Sources"),
}  # fmt: skip
LIMITS = {  # by the section of the lesson: the name of its picture, and what that shows
    "accuracy": ("limits", TOPICS["limits"]),
    "gates": ("sphere", Topic(
        "", "Which gates curve?", {"case": "sphere"}, "a part of a sphere, K > 0 in green")),
    "models": ("channels", Topic(
        "", "Real heads", {}, "left three dots, right the hundreds of channels of MiniLM")),
    "flat": ("dome", TOPICS["keys"]._replace(
        alt="left, the flat triangle of three values; right, a dome, K > 0 in green, within the"
        " tetrahedron of four")),
    "points": ("peak", Topic(
        "", "Which gates curve?",
        {"case": "own", "formula": "1+0.3*exp(-((u-0.1)^2+(v-0.1)^2)/0.0012)"},
        "a flat surface, K ≈ 0 in grey, with one narrow peak, which stands on"
        " few of the points at which it is measured")),
}  # fmt: skip


def draw_guide(title: str) -> None:
    """Draw the popover with what *Guide* says of the page called ``title``."""
    with st.popover(
        "Guide", icon=":material/help:", type="tertiary", key="guide", on_change="rerun"
    ) as popover:
        if not popover.open:
            return
        names = [
            name for name in sections("guide") if name in TOPICS and TOPICS[name].page == title
        ]
        for name in names or ["surface", "numbers"]:
            st.subheader(TOPICS[name].heading, anchor=False)
            st.markdown(section("guide", name))
        st.page_link(PAGES[GUIDE].path, label="The whole guide, to print", icon=PAGES[GUIDE].icon)


def draw_contents() -> None:
    """Draw links to all topics of this page, folded."""
    with st.expander("Contents"):
        st.markdown(" · ".join(f"[{topic.heading}](#{name})" for name, topic in TOPICS.items()))


def draw_limits() -> None:
    """Draw what is not said: for each limit a card with a picture and one sentence, more folded."""
    with st.container(key="limits"):
        for name, (picture, topic) in LIMITS.items():
            with st.container(border=True):
                heading, sentence, more = section("limits", name).split("\n\n")
                st.markdown(heading)
                _draw_picture(picture, topic)
                st.markdown(sentence)
                with st.expander("More"):
                    st.markdown(more)
                    _draw_link(topic)
                    if name == "accuracy":
                        st.page_link(
                            PAGES["Learn"].path,
                            label=f"{section('learn', 'title')} What is known, and what is not",
                            icon=PAGES["Learn"].icon,
                            query_params={"lesson": "end"},
                        )


def draw_topics() -> None:
    """Draw every topic: its text and its picture, beside it or (page.css) above."""
    for name, topic in TOPICS.items():
        st.header(topic.heading, anchor=name)
        if name == "limits":
            draw_limits()
        elif not topic.page:
            st.markdown(section("guide", name))
        else:
            text, picture = st.container(key=f"topic-{name}").columns(2, gap="large")
            with text:
                st.markdown(section("guide", name))
                _draw_link(topic)
            with picture:  # that of the first topic is over its own table
                caption = f"{topic.alt[0].upper()}{topic.alt[1:]}."
                _draw_picture(name, topic, None if name == "bend" else caption)


@cache
def _jpeg(file: Path) -> bytes:
    """Return a picture as Streamlit would send it, which converts others at every run."""
    picture = Image.open(file).convert("RGB")
    picture.save(out := io.BytesIO(), "JPEG", quality=92, subsampling="4:4:4")
    return out.getvalue()


def _draw_picture(name: str, topic: Topic, caption: str | None = None) -> None:
    """The picture, which is a link to what it shows."""
    shade = SHADES[st.context.theme.type == "dark"]
    st.image(
        _jpeg(next(PICTURES.glob(f"{name}_{shade}.*"))),
        caption,
        width="stretch",
        alt=f"Picture: {topic.alt}",
        link=topic.address,
    )


def _draw_link(topic: Topic) -> None:
    st.page_link(
        PAGES[topic.page].path,
        label=f"Open this on *{topic.page}*",
        icon=":material/open_in_new:",
        query_params=topic.query,
    )
