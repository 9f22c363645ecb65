"""The contract of colours: one meaning each, told apart by dichromats, on both themes.

Simulated deficiencies are those of Machado, Oliveira and Fernandes (2009) at full severity;
differences are CIEDE2000 (Sharma, Wu and Dalal 2005).
"""

import re
import tomllib
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

from ui.drawing import palette

ROOT = Path(__file__).resolve().parents[3]
THEMES = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())["theme"]
PAPERS = [THEMES[scheme]["backgroundColor"] for scheme in ("light", "dark")]
SEEN_BY = {
    "most people": np.eye(3),
    "protanopes": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                   [-0.003882, -0.048116, 1.051998]],
    "deuteranopes": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                     [-0.011820, 0.042940, 0.968881]],
}  # fmt: skip
SIGNS = (palette.NEGATIVE, palette.POSITIVE)
MEANINGS = {
    "class 0": palette.CLASS_COLOURS[0],
    "class 1": palette.CLASS_COLOURS[1],
    "K < 0": palette.NEGATIVE[0],
    "K > 0": palette.POSITIVE[0],
    "left": palette.SIDE_COLOURS["left"],
    "right": palette.SIDE_COLOURS["right"],
}
GRAPHIC, TEXT = 3.0, 4.5  # least contrast, WCAG 2.2
CAPTION = 0.6  # opacity of Streamlit's captions
APART, OPPOSITE = 12.0, 25.0  # least difference: of any two meanings, of those in one picture
HUES_APART = 25  # degrees


def linear(colour):
    shares = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)]) / 255
    return np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)


def contrast(a, b):
    low, high = sorted(float(linear(x) @ [0.2126, 0.7152, 0.0722]) for x in (a, b))
    return (high + 0.05) / (low + 0.05)


def lab(colour, who="most people"):
    seen = np.clip(np.asarray(SEEN_BY[who]) @ linear(colour), 0, 1)
    xyz = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
                    [0.0193339, 0.1191920, 0.9503041]]) @ seen / [0.95047, 1, 1.08883]  # fmt: skip
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz * 841 / 108 + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def difference(first, second):
    """CIEDE2000 of two colours in CIELAB."""
    (l1, a1, b1), (l2, a2, b2) = first, second
    mean = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    more = 1.5 - 0.5 * np.sqrt(mean**7 / (mean**7 + 25.0**7))
    c1, c2 = np.hypot(more * a1, b1), np.hypot(more * a2, b2)
    h1, h2 = (np.degrees(np.arctan2(b, more * a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = (h2 - h1 + 180) % 360 - 180 if c1 * c2 else 0.0
    hue = (h1 + turn / 2) % 360 if c1 * c2 else h1 + h2
    light, chroma = (l1 + l2) / 2 - 50, (c1 + c2) / 2
    waves = ((0.17, 1, -30), (-0.24, 2, 0), (-0.32, 3, 6), (0.2, 4, -63))
    t = 1 - sum(size * np.cos(np.radians(n * hue + at)) for size, n, at in waves)
    parts = (
        (l2 - l1) / (1 + 0.015 * light**2 / np.sqrt(20 + light**2)),
        (c2 - c1) / (1 + 0.045 * chroma),
        2 * np.sqrt(c1 * c2) * np.sin(np.radians(turn / 2)) / (1 + 0.015 * chroma * t),
    )
    bend = -2 * np.sqrt(chroma**7 / (chroma**7 + 25.0**7))
    bend *= np.sin(np.radians(60 * np.exp(-(((hue - 275) / 25) ** 2))))
    return float(np.sqrt(sum(part**2 for part in parts) + bend * parts[1] * parts[2]))


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
        ((50, 2.5, 0), (73, 25, -18), 27.1492),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
        ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
    ],
)
def test_difference_is_that_of_the_published_pairs(first, second, wanted):
    assert difference(first, second) == pytest.approx(wanted, abs=1e-4)


def test_colours_stand_out_from_both_papers():
    graphics = [*palette.CLASS_COLOURS, *palette.SIDE_COLOURS.values(), *palette.SERIES,
                palette.BESIDE, palette.ACCENT]  # fmt: skip
    for colour, paper in product(graphics, PAPERS):
        assert contrast(colour, paper) >= GRAPHIC, (colour, paper)
    for shades, paper in product(SIGNS, PAPERS):
        assert max(contrast(shade, paper) for shade in shades) >= GRAPHIC, (shades, paper)
    for own, dot in zip(palette.CLASS_COLOURS, palette.POINT_COLOURS, strict=True):
        assert contrast(own, dot) >= 2, (own, dot)  # which have white rims, too


@pytest.mark.parametrize("who", SEEN_BY)
def test_meanings_are_told_apart(who):
    seen = {name: lab(colour, who) for name, colour in MEANINGS.items()}
    for a, b in combinations(seen, 2):
        together = {a, b} in ({"class 0", "class 1"}, {"K < 0", "K > 0"})
        assert difference(seen[a], seen[b]) >= (OPPOSITE if together else APART), (a, b)
    halves = [lab(shades[1], who) for shades in SIGNS]
    assert difference(*halves) >= OPPOSITE


def test_signs_have_hues_of_their_own_and_the_brand_has_none():
    def turn(*colours):
        first, second = (np.degrees(np.arctan2(*lab(colour)[:0:-1])) for colour in colours)
        return abs((first - second + 180) % 360 - 180)

    for shades, other in product(SIGNS, palette.CLASS_COLOURS[:2]):
        assert turn(shades[0], other) >= HUES_APART, (shades, other)
    assert turn("#b35806", palette.CLASS_COLOURS[1]) < HUES_APART  # a brown would be an orange
    for scheme, colour in palette.BRAND.items():
        assert np.hypot(*lab(colour)[1:]) < 15  # nearly grey
        theme = THEMES[scheme]
        assert theme["primaryColor"] == theme["linkColor"] == colour
        for paper in ("backgroundColor", "secondaryBackgroundColor"):
            assert contrast(colour, theme[paper]) >= TEXT
            assert contrast(theme["textColor"], theme[paper]) >= TEXT
        mixture = [(0.0, theme["backgroundColor"]), (1.0, theme["textColor"])]
        caption = palette.colour_at(mixture, CAPTION)
        assert contrast(caption, theme["backgroundColor"]) >= TEXT


def test_what_streamlit_does_not_serve_has_the_brand_too():
    for file in ("ui/classroom/student/student.css", "ui/learn/handout.css"):
        assert palette.BRAND["light"] in (ROOT / file).read_text(), file
    assert palette.BRAND["dark"] in (ROOT / "ui/classroom/student/student.css").read_text()


def test_components_take_colours_from_here():
    """Greys may be written; any other colour has a name. The wall of heads is glass of its own."""
    for file in (ROOT / "ui" / "components").rglob("*.[cj]s*"):
        for code in re.findall(r"#[0-9a-f]{6}\b", file.read_text(encoding="utf-8")):
            shares = [int(code[at : at + 2], 16) for at in (1, 3, 5)]
            grey = max(shares) - min(shares) < 24
            assert grey or "heads" in file.parts, f"{file.name} writes {code}"
