"""Does the page of keys read its link, hear its picture, and say what the numbers say?"""

from dataclasses import replace

import numpy as np
import pytest

from gating_core.theory import key_sign, keys_at
from tests.ui.opening import data_of, mistakes, open_page, report, said
from ui.keys import four_keys
from ui.keys.four_keys import FIRST, FOURTH, VIEW_KEY, with_mode

PAGE = "pages/11_Which_keys_curve.py"
ON_A_LINE = "0,3;-2.75,-2;2.75,-2;0,-2"


def test_the_page_opens_with_a_dome_and_both_ways_agree():
    app = open_page(PAGE)
    assert not app.exception
    sent = data_of(app, VIEW_KEY)
    assert sent["mode"] == "key"
    assert key_sign(sent["model"]["keys"]).sign == 1
    assert sent["model"] == sent["first"]
    assert "They agree within their bounds." in said(app)


@pytest.mark.parametrize(("fourth", "mode"), FOURTH.items())
def test_a_link_says_all_of_the_model(fourth, mode):
    app = open_page(
        PAGE,
        fourth=fourth,
        keys=ON_A_LINE,
        biases="0,0.5,-1,2",
        at="0.25,-0.5",
        cut="0.6,0,0.8,-0.25",
        values="1,0,0;0,1,0;0,0,1;1,1,1",
    )
    assert not app.exception
    assert not mistakes(app)
    sent = data_of(app, VIEW_KEY)
    assert sent["mode"] == mode
    assert sent["model"]["keys"][3] == [0, -2]
    assert sent["model"]["biases"] == [0, 0.5, -1, 2]
    assert sent["model"]["values"][0] == [1, 0, 0]
    assert sent["model"]["at"] == [0.25, -0.5]
    assert sent["model"]["cut"] == [0.6, 0, 0.8, -0.25]
    words = said(app)
    assert ("At (0.25, −0.5): weights" in words) == (mode != "none")
    assert ("K = 0$ exactly" in words) == (mode == "none")
    proof = next(x.value for x in app.subheader if "proof" in x.value)
    assert proof.startswith("With a fourth key" if mode == "none" else "Why four keys")


def test_a_move_goes_into_the_link_without_a_digit_lost_and_back():
    app = open_page(PAGE)
    third = 1 + 2**-19  # on the lattice of lines
    moved = data_of(app, VIEW_KEY)["model"] | {"at": [0.1, 0.2], "serial": 1_700_000_000_000}
    moved["cut"] = [0.6, 0, 0.8, -0.25]
    moved["keys"] = [[0, 3], [-2.75, -2], [2.75, -2], [third, -0.25]]
    app = report(app, VIEW_KEY, "moved", moved)
    assert not app.exception
    link = app.query_params["keys"]
    assert open_page(PAGE, keys=link).exception == []
    assert data_of(app, VIEW_KEY)["model"]["keys"][3] == [third, -0.25]
    assert "biases" not in app.query_params
    assert app.query_params["cut"] == "0.6,0.0,0.8,-0.25"
    assert "At (0.1, 0.2)" in said(app)
    first = data_of(app, VIEW_KEY)["first"] | {"serial": 1_700_000_000_001}
    app = report(app, VIEW_KEY, "moved", first)
    assert not {"keys", "at", "cut"} & set(app.query_params)


def test_no_surface_and_a_disagreement_are_said():
    line = keys_at([[0, 0], [1, 1], [2, 2], [3, 3]], [0] * 4, FIRST.values, (0, 0))
    assert "there is no surface" in four_keys.comparison(line)
    found = keys_at(FIRST.keys, FIRST.biases, FIRST.values, (0, 0))
    assert "agree within their bounds" in four_keys.comparison(found)
    assert "**disagree**" in four_keys.comparison(replace(found, jet=-found.jet))


def test_a_sink_is_the_origin_twice():
    sunk = with_mode("sink", FIRST)
    assert sunk.keys[3] == (0, 0)
    assert sunk.values[3] == (0, 0, 0)
    assert sunk.biases == FIRST.biases
    assert len(with_mode("none", FIRST).keys) == 3


@pytest.mark.parametrize("count", [4, 5])
def test_the_sentence_of_more_keys_is_that_of_the_numbers(count):
    app = open_page(PAGE, five_keys="true", key_count=str(count), key_seed="3")
    assert not app.exception
    surface = four_keys.measure_random(count, 3)
    signs = np.sign(surface.known[0])
    both = bool((signs > 0).any() and (signs < 0).any())
    assert both == (count == 5)
    (said,) = [x.value for x in app.markdown if x.value.startswith(f"**{count} keys:")]
    assert ("Both signs" in said) == both
