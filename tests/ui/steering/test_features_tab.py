"""Does the tab Features draw what is shipped of a dictionary, and say what follows from it?"""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

from gating_core.steering import (
    DictionaryCard,
    DirectionRequest,
    Passage,
    WrittenAlong,
    effect_on_next,
    load_dictionaries,
    passages,
    written_along,
)
from tests.ui.opening import figure, notes, numbers, open_page
from ui.common.parts import csv_text
from ui.steering import measured, picture, words
from ui.steering.measured import Fired
from ui.steering.request import FEATURES, NESTED, PLAIN, SINGLE

PAGE = "pages/9_Steering.py"
MODEL = "none", 0
CARD = DictionaryCard(0.8, 8.0, 3)


@pytest.fixture
def of():
    """Three features: of English, of nothing, of Spanish."""
    return Fired(
        np.array([[0.9, 0.5, 0.1], [0.2, 0.5, 0.8]]), np.array([-1.0, 0.0, 2.0]),
        np.array([0.8, 0.5, 0.95]), np.array([-0.9, 0.0, 0.97]), np.array([0.2, 1.0, np.nan]),
        CARD,
    )  # fmt: skip


def read(text):
    return [*csv.reader(io.StringIO(text))]


def test_what_is_shipped_is_read_by_layer():
    shipped = load_dictionaries(*MODEL)
    of = measured.fired(MODEL, NESTED, 3)
    statistics = shipped.kinds[NESTED].statistics
    np.testing.assert_allclose(of.difference, statistics.mean[2, 1] - statistics.mean[2, 0],
                               rtol=1e-3)  # fmt: skip
    assert (of.auc >= 0.5).all()
    chosen = statistics.language_feature(2, spanish=True)
    direction = shipped.kinds[NESTED].dictionary.directions[2, chosen].double().numpy()
    gap = shipped.gap[2].double().numpy()
    cosine = direction @ gap / np.linalg.norm(direction) / np.linalg.norm(gap)
    assert of.cosine[chosen] == pytest.approx(cosine, abs=1e-3)
    assert cosine > 0.7
    assert set(measured.dictionaries(MODEL, 1)) == set(shipped.kinds)


def test_the_tab_shows_one_feature_and_all_others():
    app = open_page(PAGE, tab_steering=FEATURES, after_layer="2", feature="1", push="3")
    assert not app.exception
    request = DirectionRequest(*MODEL, layer=1, feature=0)
    spanish = passages(request)
    bodies = [node.proto.body for node in app.get("html")]
    (shown,) = [body for body in bodies if "gc-passages" in body and "gc-head" in body[:30]]
    assert shown.endswith(words.passage_html(spanish))
    order = figure(app, "steering_order")["data"]
    assert sum(len(numbers(line["x"])) for line in order[:2]) == 192
    z = numbers(figure(app, "steering_along")["data"][0]["z"])
    parts = written_along(request)
    np.testing.assert_allclose(z[:, 1:-1], parts.heads, rtol=1e-6)
    assert np.nansum(z) == pytest.approx(parts.total, abs=1e-6)
    change = effect_on_next(request, 3.0)
    bars = numbers(figure(app, "steering_effect")["data"][0]["y"])
    assert bars[0] == pytest.approx(100 * change.max(), rel=1e-4)
    app.button(key="most_english").click().run()
    statistics = load_dictionaries(*MODEL).kinds[NESTED].statistics
    assert app.session_state["feature"] == statistics.language_feature(1, spanish=False) + 1


def test_a_seed_without_a_plain_dictionary_shows_another():
    app = open_page(PAGE, tab_steering=FEATURES, steered_seed="2", dictionary="plain top-k")
    assert not app.exception
    (note,) = notes(app)
    assert "Seed 2 has no dictionary" in note


# --- Words and pictures ---------------------------------------------------------------------------


@pytest.mark.parametrize(("auc", "says"), [
    (0.95, "tells the languages apart"), (0.8, "in part"), (0.55, "does not"), (0.9, "tells the"),
    (0.7, "in part"),
])  # fmt: skip
def test_the_auc_decides_what_is_said(auc, says):
    assert says in words.apart(auc)


def test_a_feature_is_described_by_its_numbers(of):
    some = [Passage("abc", np.array([0, 2, 1])), Passage("d e", np.array([0, 1, 3]))]
    text = words.feature_text(of, 2, some).replace("\u00a0", " ")
    assert "**Feature 3 tells the languages apart**: AUC 0.950" in text
    assert "at 10 % of English and 80 % of Spanish characters" in text
    assert "means is +0.97. It is strongest after `ab`, `␣e`." in text
    assert "strongest after" not in words.feature_text(of, 0, [])


def test_dictionaries_stand_beside_each_other(of):
    blind = replace(of, auc=np.array([0.5, 0.52, 0.6]), letters=np.array([1.0, 0.8, 0.2]))
    text = words.kinds_text({NESTED: of, PLAIN: blind}).replace("\u00a0", " ")
    assert "*means of 16* tells the languages apart (feature 3, AUC 0.950); 33 % of the" in text
    assert "*plain top-k* does not tell them apart (feature 3, AUC 0.600); 67 % of the" in text
    assert "Nesting" not in text
    whole = words.kinds_text({NESTED: of, SINGLE: blind, PLAIN: blind})
    assert whole.endswith("neither dictionary of single characters tells the languages apart.")
    table = words.kinds_table({PLAIN: blind})
    assert table.splitlines()[2] == "|**plain top-k**|80\u00a0%|8 of 192|3|0.600|67\u00a0%|"
    rows = read(csv_text(words.features_csv({PLAIN: blind})))
    assert rows[1][:5] == ["plain top-k", "1", "0.9", "0.2", "-1.0"]


def test_passages_are_darkest_where_the_feature_is_strongest():
    text = "a" * 100
    values = np.zeros(100)
    values[70:73] = 1, 10, 4
    html = words.passage_html([Passage(text, values)])
    assert html.count("a</span>") >= 4
    assert '<span class="gc-fires-5">a</span><span class="gc-fires-2">' in html
    assert html.count("gc-release") == 1
    assert len("".join(part.partition(">")[2] for part in html.split("<"))) == 64 + 20
    assert "never fires" in words.passage_html([])


def test_parts_are_named_and_add_up():
    parts = WrittenAlong(0.5, np.array([[0.1, -2.0]]), np.array([3.0]), 1.6, 2e-15)
    text = words.along_text(parts)
    assert "+1.60 from English to Spanish. The largest parts are the MLP of layer 1 (+3.00)" in text
    assert "and head 1.2 (−2.00). All parts add up to +1.60, at every character up to 2e-15" in text
    z = picture.along_chart(parts).data[0].z
    np.testing.assert_array_equal(z, [[0.5, 0.1, -2.0, 3.0]])
    deep = WrittenAlong(0.5, np.ones((2, 2)), np.ones(2), 6.5, 0.0)
    z = picture.along_chart(deep).data[0].z
    assert np.isnan(z[1, 0])
    assert np.nansum(z) == 6.5
    rows = read(csv_text(words.along_csv(deep, np.array([0.1, -0.1]))))
    assert sum(float(row[3]) for row in rows[1:8]) == 6.5
    assert rows[8] == ["is", "", "stream", "6.5"]
    assert rows[9] == ["change of probability", "", "end", "0.1"]


def test_the_next_characters_that_change_most_are_named():
    change = np.zeros(60)
    change[[0, 3, 4]] = -0.2, 0.1, 0.05
    text = words.effect_text(change, -2.5)
    assert text.startswith("A push of −2.5 makes")
    assert "likelier by 10.0 points and `end` less likely by 20.0" in text
    bars = picture.effect_chart(change).data[0]
    assert bars.y[0] == pytest.approx(10)
    assert bars.y[-1] == pytest.approx(-20)
    assert bars.customdata[-1] == "end"


def test_the_chosen_feature_is_ringed(of):
    english, spanish, chosen = picture.order_chart(of, 2).data
    assert list(spanish.y) == [2.0]
    assert [row[0] for row in english.customdata] == [1, 2]
    assert list(english.customdata[0][1:3]) == [90, 20]
    assert (list(chosen.x), list(chosen.y)) == ([3], [2.0])
