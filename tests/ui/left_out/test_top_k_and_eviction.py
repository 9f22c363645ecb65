"""Do the tabs Top-k and Eviction draw the specimen chosen, and claim what intervals allow?"""

import base64
import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest

from gating_core.at_work import PairedDifference
from gating_core.language import load_model
from gating_core.left_out import COSTS, gaussian_scores, masses, smallest_k
from gating_core.left_out_at_work import (
    BUDGETS,
    POLICIES,
    SIZES,
    EvictionRequest,
    Identity,
    evict,
    head_specimen,
    row_at,
    row_curves,
    search,
)
from tests.ui.opening import notes, open_page
from ui.common.lessons import sections
from ui.common.parts import csv_text
from ui.left_out import eviction_results, measured, top_k_results, words
from ui.left_out.controls import LEFT_OUT, TABS
from ui.left_out.eviction_section import _over_texts
from ui.left_out.request import EVICTION, GAUSSIAN, HEAD, SLOW, LeftOutSelection, TopKSelection
from ui.left_out.sections import SECTIONS

PAGE = "pages/8_Left_out.py"
FIRST = LeftOutSelection()
TEXT = "In the beginning God created the heaven"


@pytest.fixture(scope="module")
def top_k():
    return open_page(PAGE, left_text=TEXT, top_keys="3", left_dial="0.5")


@pytest.fixture(scope="module")
def eviction():
    return open_page(PAGE, tab_left_out=EVICTION, left_text=TEXT, evict_protect="false",
                     evict_budget="6")  # fmt: skip


@pytest.fixture(scope="module")
def head():
    return head_specimen(load_model(*FIRST.model)[0], TEXT, *FIRST.layer_and_head, 0.5)


def figure(app, name):
    (spec,) = [c.proto.spec for c in app.get("plotly_chart")
               if c.proto.id.endswith(f"left_out_{name}")]  # fmt: skip
    return json.loads(spec)


def array(data):
    return np.frombuffer(base64.b64decode(data["bdata"]), data["dtype"])


def said(app):
    return " ".join(m.value for m in app.markdown).replace("\u00a0", " ")


def rows_of(rows):
    return [*csv.reader(io.StringIO(csv_text(rows)))]


def difference(mean, half, seeds=3):
    return PairedDifference(np.full(seeds, mean), half)


def test_every_tab_is_a_section_that_explains_itself():
    assert tuple(SECTIONS) == TABS
    assert all(control.key == key for key, control in LEFT_OUT.items())
    for name in ("top_k", "eviction"):
        assert len(sections("left_out")[name].split("\n\n")) == 4


# --- The specimen ---------------------------------------------------------------------------------


def test_what_a_specimen_does_not_depend_on_is_no_part_of_its_key():
    other = replace(FIRST, keys=64, sigma=1.0, draw=5)
    assert measured.only_shown(other) == FIRST
    scores = measured.only_shown(replace(other, kind=GAUSSIAN, head="1.1", typed="a"))
    assert scores == replace(FIRST, kind=GAUSSIAN, keys=64, sigma=1.0, draw=5)
    ungated = replace(FIRST, name="none", strength=0.3)
    assert measured.only_shown(ungated) == replace(ungated, strength=1.0)
    assert ungated.gated == FIRST.name
    assert TopKSelection(k=8, share=0.1).size(500, SLOW) == 50
    assert TopKSelection(k=8).size(5, HEAD) == 5


def test_a_head_is_read_with_its_dialled_gate(top_k, head):
    assert not top_k.exception
    row = row_curves(head, 0.05)
    bars = figure(top_k, "top_weights")["data"]
    drawn = np.concatenate([array(trace["y"]) for trace in bars])
    np.testing.assert_allclose(drawn, np.maximum(row.weights, 1.05e-4), rtol=1e-6)
    assert len(array(bars[0]["y"])) == 3
    bounds = figure(top_k, "top_bounds")["data"]
    assert len(bounds) == 5
    at = row_at(head, 3)
    assert f"τ = {top_k_results.figures(at.masses[0])}**" in said(top_k)
    assert f"this row needs k = {row.certified['truth'].k}" in said(top_k)


@pytest.mark.parametrize(("kind", "keys"), [(GAUSSIAN, "left_keys"), (SLOW, "left_tokens")])
def test_synthetic_specimens_are_shown(kind, keys):
    app = open_page(PAGE, left_from=kind, top_share="20 %", **{keys: "400"})
    assert not app.exception
    assert "k = 80 of 400" in said(app)
    if kind == GAUSSIAN:
        needed = int(smallest_k(masses(gaussian_scores(400, 2.0)), 0.05))
        assert f"this row needs k = {needed}" in said(app)


def test_eviction_needs_keys_and_a_text():
    app = open_page(PAGE, tab_left_out=EVICTION, left_from=GAUSSIAN, left_keys="64")
    (note,) = notes(app)
    assert "Shown: 64 independent tokens. In every row their scores are" in note
    assert "of 48 keys by mass" in said(app)
    few = open_page(PAGE, tab_left_out=EVICTION, left_from=GAUSSIAN, left_keys="16")
    assert not few.exception
    assert "for at least 24 tokens" in few.info[0].value
    short = open_page(PAGE, tab_left_out=EVICTION, left_text="too short")
    assert not short.exception
    assert "texts of at least 23 characters" in short.info[0].value


# --- Top-k ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mean", "half", "seeds", "verdict"), [
    (-0.02, 0.01, 3, "**A gate makes top-4 cheaper**. Nats a character above"),
    (0.02, 0.01, 3, "**A gate makes top-4 dearer**"),
    (-0.02, 0.03, 3, "**It is undecided whether a gate makes top-4 cheaper**"),
    (-0.02, 0.01, 2, "Whether a gate makes top-4 cheaper: too few seeds (2)."),
])  # fmt: skip
def test_a_gate_is_called_cheaper_beyond_the_interval_only(mean, half, seeds, verdict):
    text = words.gate_text(difference(mean, half, seeds), "top-4", 0.03, 0.01)
    assert verdict in text
    assert (" above full attention: 0.03 → 0.01, difference " in text) == (seeds == 3)


def test_losses_are_above_the_same_models_with_all_keys():
    ungated, gated = measured.tables(FIRST.name).values()
    of_gated, of_ungated = map(top_k_results.losses_of, (gated, ungated))
    saves = words.gate_saves(of_gated, of_ungated, SIZES.index(4))
    above = {name: [float((of["truncation.sums"][2] - of["truncation.sums"][-1]).sum()
                          / of["truncation.counts"].sum()) for of in tables]
             for name, tables in (("gated", gated), ("ungated", ungated))}  # fmt: skip
    np.testing.assert_allclose(saves.by_seed, np.subtract(above["gated"], above["ungated"]),
                               atol=1e-5)  # fmt: skip
    losses = of_ungated.above(SIZES)
    assert losses[4].mean == pytest.approx(np.mean(above["ungated"]), abs=1e-5)
    assert [words.nearest(SIZES, k) for k in (1, 3, 7, 100)] == [1, 4, 8, 32]
    assert len(rows_of(top_k_results.losses_csv({"no gate": losses}))) == 7
    assert len(rows_of(top_k_results.heads_csv(measured.table()))) == 1 + 16 * len(measured.table())


def test_the_rule_fails_where_it_asks_for_less_than_half():
    rules = {"a": (np.array([[1.0, 4.0, 9.0]]), np.array([[3.0, 8.0, 10.0]])),
             "b": (np.ones((1, 2)), np.ones((1, 2)))}  # fmt: skip
    text = top_k_results.rule_text(rules).replace("\u00a0", " ")
    assert "in 1 of 3 heads (a, median need 3 keys), in 0 of 2 heads (b)." in text
    powers = {"a": (np.array([[1.0, 4.0, 9.0]]), np.array([[1.0, 2.0, 3.0]]) ** 0.5)}
    assert top_k_results.rule_text(powers).endswith(
        "The logarithms of rule and need correlate by 1 (a)."
    )
    assert top_k_results.rule_text(rules).endswith("(a).")  # b has no correlation


def test_a_row_is_saved_and_its_cost_is_the_librarys(head):
    row = row_curves(head, 0.05)
    rows = rows_of(top_k_results.row_csv(row))
    assert len(rows) == 1 + row.n
    assert float(rows[3][3]) == pytest.approx(row.mass[2])
    assert float(rows[3][-1]) == pytest.approx(row.errors[1, 2])
    share = COSTS["top_k"](row.n, 1, 2).mixed / COSTS["full"](row.n, 1).mixed
    assert f"{share:.0%}".replace("%", " %") in top_k_results.cost_text(row.n, 2).replace(
        "\u00a0", " "
    )
    long = top_k_results.weight_chart(row_curves(gaussian_scores(1000, 1.0), 0.05), 10, None)
    assert long.layout.xaxis.type == "log"


# --- Eviction -------------------------------------------------------------------------------------


def test_kept_keys_are_drawn_on_the_text(eviction):
    assert not eviction.exception
    of = evict(head_specimen(load_model(*FIRST.model)[0], TEXT, *FIRST.layer_and_head),
               EvictionRequest("mass", 6, False), (6,))  # fmt: skip
    drawn = figure(eviction, "evict_strip")
    kept = array(drawn["data"][0]["z"]).reshape(of.kept[1].shape)
    np.testing.assert_array_equal(kept, of.kept[1])
    assert drawn["layout"]["xaxis"]["ticktext"][:4] == ["¶", "I", "n", "␣"]
    assert "the newest key has been seen by nobody" in said(eviction)
    text = eviction_results.head_text(of, EvictionRequest("mass", 6, False), 0)
    assert text in said(eviction)


def test_measured_policies_and_budgets_are_the_nearest():
    assert eviction_results.measured_policy(EvictionRequest("mass", 9, False)) == "mass_unprotected"
    assert eviction_results.measured_policy(EvictionRequest("key", 9, False)) == "key"
    assert [words.nearest(BUDGETS, budget) for budget in (2, 12, 64)] == [8, 16, 48]
    tables, gated = measured.tables(FIRST.name).values()
    saves = eviction_results.protection_saves(tables, 16)
    rows = [[*POLICIES].index(name) for name in ("mass_unprotected", "mass")]
    expected = [(of["eviction.sums"][rows[0], 1] - of["eviction.sums"][rows[1], 1]).sum()
                / of["eviction.counts"].sum() for of in tables]  # fmt: skip
    np.testing.assert_allclose(saves.by_seed, expected, atol=1e-5)
    losses = [eviction_results.losses_of(of, "mass") for of in (gated, tables)]
    both = [of.above(BUDGETS)[16].mean for of in losses]
    difference = words.gate_saves(*losses, BUDGETS.index(16))
    assert difference.mean == pytest.approx(both[0] - both[1], abs=1e-9)


def test_errors_over_texts_are_those_of_the_selected_head_and_policy(eviction):
    """With the gate as trained; at another strength, and of tokens, nothing is said of texts."""
    table, texts = (
        measured.table()[FIRST.model],
        len(measured.table()[FIRST.model]["eviction.counts"]),
    )
    errors, half = eviction_results.errors_over_texts(
        table, "mass_unprotected", FIRST.layer_and_head
    )
    row = [*POLICIES].index("mass_unprotected")
    np.testing.assert_array_equal(errors, table["eviction.errors"][row, :, 1, 1])
    assert (half > 0).all()
    line = figure(eviction, "evict_errors")["data"][-1]
    assert line["name"] == f"over {texts} texts"
    np.testing.assert_allclose(array(line["y"]), errors, rtol=1e-6)
    np.testing.assert_allclose(array(line["error_y"]["array"]), half, rtol=1e-6)
    told = eviction_results.over_texts_text(errors, half, texts, "mass_unprotected", 8)
    assert told in said(eviction)
    assert f"Over {texts} texts of the corpus, 8 of 96 keys by mass, nothing protected" in told
    for chosen in (replace(FIRST, strength=0.5), replace(FIRST, kind=SLOW)):
        assert _over_texts(chosen, EvictionRequest("mass", 8, True)) == (None, "")


def test_sentences_of_eviction_follow_from_numbers(head):
    text = eviction_results.identity_text(Identity(40, 3e-15, 0.5))
    assert "the same to 3e-15 (largest move 0.5)" in text
    for mean, half, word in ((0.1, 0.02, "costs"), (-0.1, 0.02, "saves"), (0.1, 0.2, "may cost")):
        assert f"nothing {word}" in eviction_results.protection_text(
            difference(mean, half), 16, "a"
        )
    assert eviction_results.protection_text(difference(0.1, 0.01, 2), 16, "a") == ""
    of, few = evict(head, EvictionRequest("key", 4, True), (2, 4)), search(head)
    for row, protects in enumerate((True, False)):
        said_of_it = eviction_results.head_text(of, EvictionRequest("key", 4, protects), 1)
        assert (
            f"by key change later outputs by {eviction_results.figures(of.errors[row, 3, 1])}"
            in (said_of_it)
        )
    least = min(few.errors[:, 3])
    assert eviction_results.figures(least) in eviction_results.search_text(few)
    assert len(rows_of(eviction_results.kept_csv(of))) == 1 + 2 * 6 * of.prefill
    assert len(rows_of(eviction_results.errors_csv(of, few))) == 1 + 2 * 6 * 2 + 7 * 11
    share = COSTS["evicted"](40, 1, 4).scores / COSTS["full"](40, 1).scores
    assert f"{share:.0%}"[:-1] in eviction_results.cost_text(40, 4)
    named = {"no gate": {"mass": {8: difference(0.5, 0.25)}}}
    assert rows_of(eviction_results.losses_csv(named))[1] == ["no gate", "mass", "8", "0.5", "0.25"]


def test_losses_of_whole_models_say_that_their_gates_are_at_full_strength(top_k, eviction):
    note = f":material/info: {sections('left_out')['full_strength']}"
    assert note in [one.value for one in top_k.caption]
    assert note not in [one.value for one in eviction.caption]  # its gate is at full strength, too
