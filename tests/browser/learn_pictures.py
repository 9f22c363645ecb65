"""The pictures of lessons for the handout and for phones: before the reveal and after it.

    python -m tests.browser.learn_pictures [LESSON ...]

Saved where `ui.learn.lessons.picture` looks for them, in light colours.
"""

import sys

from ui.learn.lessons import PICTURES, WHEN, Lesson, lessons, picture

from .lesson_pictures import photograph
from .serving import chromium, serve
from .visiting import DESK

PARTS = {  # by the page that draws
    "Flat or curved?": ".gc-stage",
    "Which keys curve?": ".gc-keys-row",
    "Which gates curve?": ".gc-pair-row",
    "Depth": ".gc-pair-row",
    "Manifold": ".st-key-learn_picture",
    "Curved or bent?": ".gc-islands-stack",
}
# Without what is for the hand, or said elsewhere; the square in a corner of its picture.
WITHOUT = """.gc-stage .gc-stage-stack.gc-stage-stack { grid-area: 1 / 1 / 2 / -1 !important; }
  .gc-stage .gc-stage-square.gc-stage-square { grid-area: 1 / 1 !important; align-self: end;
    z-index: 1; }
  .gc-keys-hint, .gc-keys-point, .gc-keys-biases, .gc-pair-bar, .gc-stage > p,
  .gc-stage-bar, .gc-stage-fit, .gc-plane-knob, [data-testid=stSelectbox],
  [data-testid=stElementContainer]:has([data-testid=stMetric]) ~ * { display: none !important; }"""


def address(lesson: Lesson, when: str) -> str:
    """Return the address of a lesson before the reveal or after it."""
    guess = f"&guess={lesson.name}-{lesson.correct + 1}" if when == "after" else ""
    return f"/Learn?lesson={lesson.name}{guess}&present=1"  # in larger type


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    with chromium() as browser, serve() as app:
        for name in sys.argv[1:] or lessons():
            for when in WHEN:
                lesson = lessons()[name]
                photograph(
                    browser,
                    f"{app.url}{address(lesson, when)}",
                    PARTS[lesson.page],
                    picture(lesson, when),
                    WITHOUT,
                    color_scheme="light",
                    **DESK,
                )


if __name__ == "__main__":
    main()
