"""Does the page of a real model's heads read its link, and say what its numbers say?"""

import csv
import io
import json
import math
import re
import shutil
import sys
from functools import partial

import numpy as np
import pytest
import torch

from gating_core import square_grid, state_plane
from gating_core.checkpoints import DrawnGate, head_map, principal_plane
from gating_core.geometry import MeasuredSurface, curvature
from gating_core.jets import second_order_jet
from gating_core.real_heads import (
    FINE_SIZE,
    FIRST_THREE,
    TEXTS,
    OwnText,
    dial_head,
    file_stamp,
    keys_of,
    open_head,
    open_own,
    shipped_charts,
    shipped_layers,
    shipped_measures,
    shipped_reading,
    shipped_text,
)
from tests.ui.opening import (
    figure,
    header,
    mistakes,
    numbers,
    offered,
    open_page,
    open_settled,
    report,
    said,
)
from ui.common.formatting import plus_minus
from ui.real_heads import gates, own, records, wall
from ui.real_heads.curvature import answer, entropy_sentence, interval_sentence, twins_sentence
from ui.real_heads.shared import drawn_words
from ui.real_heads.wall import numbers_of, with_unread

PAGE = "pages/13_Real_heads.py"
WALL = "heads_wall"
MOBY = next(iter(TEXTS))


def test_the_page_opens_on_a_head_beside_its_twin_and_the_shares_of_all_heads():
    app = open_settled(PAGE)
    assert not app.exception
    found = shipped_measures(MOBY, False)
    own, twin = header(app, "heads_surfaces")["sides"]
    ratios = found["total"] / np.exp(np.log(found["sharp"].astype(float)).mean(0))
    first = np.unravel_index(np.where(ratios < 1, found["total"], 0).argmax(), ratios.shape)
    assert own["name"] == f"Layer {first[0] + 1}, head {first[1] + 1}"
    assert twin["name"] == "A random twin, 1 of 8"
    total, verdict = own["exact"][0].split("; ")
    assert total.startswith(f"total |K| = {found['total'][first]:.4f} ± 0.00")
    assert verdict.startswith("curved, established at the sample points: K > 0 on")
    assert own["more"] == [""]
    drawn = float(twin["verdict"][0].rpartition("= ")[2])
    assert min(abs(found["sharp"][(..., *first)] - drawn)) < 0.005
    heads, mean, ring = (drawn := figure(app, "heads_ratios"))["data"]
    less = int((ratios < 1).sum())
    notes = [x["text"] for x in drawn["layout"]["annotations"]]
    assert {f"{less} less curved", f"{72 - less} more"} < {*notes}
    np.testing.assert_allclose(numbers(heads["x"]), ratios.ravel())
    assert numbers(mean["x"]) == pytest.approx([1 / 1.61], abs=0.005)
    assert ring["x"] == pytest.approx([ratios[first]])
    assert "has **62 %** (95 % interval over 6 layers: 35 to 111 %) of the total" in said(app)
    (charts,) = offered(app).charts.values()
    rows = [*csv.DictReader(io.StringIO(charts.csv_files()["heads"]))]
    assert len(rows) == 72
    assert (rows[27]["layer"], rows[27]["head"]) == ("3", "4")
    assert float(rows[27]["∫|K| dA (estimate)"]) == found["total"][2, 3]
    assert float(rows[27]["mean number of keys needed, ε = 0.01"]) == found["needed"][0, 2, 3]
    (twin,) = [name for name in rows[27] if "random queries and keys" in name]
    assert float(rows[27][twin]) == pytest.approx(
        math.prod(map(float, found["sharp"][:, 2, 3])) ** (1 / len(found["sharp"]))
    )


def test_the_wall_shows_all_heads_without_special_tokens():
    app = open_page(PAGE, heads_tab="Heads")
    assert not app.exception
    sent = header(app, WALL)
    assert (sent["layers"], sent["heads"], len(sent["numbers"])) == (6, 12, 72)
    assert sent["open"] is None
    assert sent["keys"] == [*range(1, 63)]
    assert sent["chart"] is None
    assert sent["words"][0] == "[CLS]"
    assert sent["special"] == [True, *[False] * 62, True]
    assert sent["frames"] is None


def test_a_link_opens_a_head_and_a_click_goes_into_the_link():
    app = open_page(
        PAGE, heads_tab="Heads", heads_head="1.3", heads_at="0.5,-0.25", heads_special="true"
    )
    assert not app.exception
    assert not mistakes(app)
    sent = header(app, WALL)
    assert (sent["open"], sent["at"]) == ([0, 2], [0.5, -0.25])
    assert sent["keys"] == [*range(64)]
    message = {"open": [4, 11], "at": [0.1, 0.2], "serial": 10**12}
    app = report(app, "heads_wall", "opened", message)
    assert app.query_params["heads_head"] == "5.12"
    assert app.query_params["heads_at"] == "0.1,0.2"
    app = report(app, "heads_wall", "opened", {"open": None, "at": None, "serial": 10**12 + 1})
    assert not {"heads_head", "heads_at"} & set(app.query_params)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", ["three tokens", "attention weights"])
def test_the_open_head_is_drawn_and_measured_on_a_plane_that_is_chosen(kind):
    link = {"heads_head": "1.3", "heads_plane": kind, "heads_three": "15,37,46"}
    link |= {"heads_tab": "Heads"}
    app = open_settled(PAGE, **link)
    assert not app.exception
    assert not mistakes(app)
    chart = header(app, WALL)["chart"]
    drawn, found = open_head(shipped_reading(MOBY, False, 0), 2, kind, (14, 36, 45))
    assert chart["head"] == [0, 2]
    assert chart["prescribed"] == (kind == "attention weights")
    assert chart["tokens"] == [*drawn.tokens]
    np.testing.assert_allclose(chart["scores"], drawn.scores.ravel(), rtol=1e-6)
    rows = chart["numbers"][1]
    assert rows[0][1] == plus_minus(float(found["total"][0, 0]), float(found["error"][0, 0]))
    assert len(rows) == (3 if chart["prescribed"] else 5)
    assert "of “long”, “thought” and “the”, " in chart["about"]


@pytest.mark.parametrize(("tokens", "said"), [
    ("15,37", "Choose three tokens"), ("15,15,37", "`heads_three`"), ("1,15,37", "`heads_three`"),
    ("15,37,46,50", "`heads_three`"), ("1e9,2,3", "`heads_three`"),
])  # fmt: skip
def test_tokens_that_span_no_plane_are_one_sentence(tokens, said):
    app = open_settled(
        PAGE,
        heads_tab="Heads",
        heads_head="1.3",
        heads_plane="three tokens",
        heads_three=tokens,
    )
    assert not app.exception
    notes = [*mistakes(app), *[each.value for each in app.info]]
    assert len(notes) == 1
    assert said in notes[0]


@pytest.mark.parametrize("shown", wall.FRAMES)
def test_frames_have_a_colour_and_a_number_for_every_head(shown):
    frames, hint = wall.frames_of(shown, shipped_measures(MOBY, False))
    assert len(frames.colours) == len(frames.texts) == 72
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in frames.colours)
    # One head in five may not have the colour of another: an outlier takes none from the others.
    assert len(set(frames.colours)) > 58
    assert hint


@pytest.mark.parametrize(("title", "last"), [(MOBY, "sp(leen)"), ("A Tale of Two Cities", "was")])
def test_the_unread_rest_of_a_word_stands_in_brackets(title, last):
    assert wall.wall_of(title, False).words[-2] == last
    words = ["off", "the", "sp", "lee"]
    glued, special = [False, False, False, True], [False] * 4
    assert with_unread(words, glued, special, "off the spleen")[-1] == "lee(n)"
    assert with_unread(words, glued, special, "Off the Splee, n") == words


def test_words_of_both_kinds_of_tokenisers_are_joined():
    assert drawn_words(["call", "ish", "##mael", "."]) == (
        ["call", "ish", "mael", "."], [False, False, True, True])  # fmt: skip
    assert drawn_words(["Call", "Ġme", "Ġsp", "leen", "Ċ"]) == (
        ["Call", "me", "sp", "leen", "¶"], [False, False, False, True, True])  # fmt: skip
    assert drawn_words(["El", " ni", "ño", "…🙂", " ", "\n"]) == (
        ["El", "ni", "ño", "…🙂", "␣", "¶"], [False, False, True, True, False, True])  # fmt: skip
    assert drawn_words(["▁The", "▁s", "ea"]) == (["The", "s", "ea"], [False, False, True])


# --- Sentences ------------------------------------------------------------------------------------


MEASURES = {"total": [6.21], "error": [3e-4], "span": [0.68], "proved": [1.0],
            "sharp": [15.0, 18.0, 21.0], "sharp_span": [0.5, 0.6, 0.7],
            "offset": [5.0, 6.0, 8.0], "offset_span": [0.5, 0.5, 0.5], "dealt": [6.0, 7.0, 8.0],
            "dealt_span": [0.4, 0.4, 0.4], "shuffled": [5.5], "shuffled_span": [0.3]}  # fmt: skip


def of_one_head(**changes):
    """Measures as arrays, with some changed or, if ``None``, left out."""
    found = {name: values for name, values in (MEASURES | changes).items() if values is not None}
    singles = ("total", "error", "span", "proved")
    return {
        name: np.array(values).reshape((1, 1) if name in singles else (-1, 1, 1))
        for name, values in found.items()
    }


def test_an_open_head_has_its_bound_its_span_and_four_kinds_of_twins():
    numbers = numbers_of(of_one_head(), (0, 0))
    assert numbers.finding == (
        "Random queries and keys at equal entropy increase total curvature ∫|K|\u00a0dA: 2.87×"
        " (1.89× to 4.36×)."
        " With own offsets kept it is inconclusive: 1.00× (0.56× to 1.80×)."
    )
    assert numbers.rows == [
        ("This head", "6.2100 ± 0.0003", "68\u00a0%"),
        ("Random queries and keys", "18 (15 to 21)", "60\u00a0%"),
        ("The same, its own offsets", "6.33 (5 to 8)", "50\u00a0%"),
        ("Values dealt to other tokens", "7 (6 to 8)", "40\u00a0%"),
        ("Text shuffled", "5.5", "30\u00a0%"),
    ]
    assert "at all 961 points" in numbers.rest
    assert "mean of 3 seeds" in numbers.rest


def test_what_has_no_twin_says_why():
    given = numbers_of(of_one_head(shuffled=None), (0, 0))
    assert len(given.rows) == 4
    assert "cannot be shuffled" in given.rest
    assert numbers_of(of_one_head(total=[1e-5]), (0, 0)).finding.endswith("not known to curve.")
    weights = of_one_head(sharp=None, offset=None, proved=[0.0])
    assert numbers_of(weights, (0, 0), flat=True).finding.startswith("Flat: K = 0 is proved")
    assert "at no point" in numbers_of(weights, (0, 0), flat=True).rest
    assert numbers_of(weights, (0, 0)).finding == "Only the gate can curve it here."


def twins_of(by_layer, seeds=3):
    """Measures of twins whose totals are so many times those of the heads of each layer."""
    layers = np.array(by_layer)[:, None] * np.ones((1, 4))
    return np.stack([layers] * seeds)


@pytest.mark.parametrize(("sharp", "offset", "than", "said", "kept"), [
    ((2.0, 2.1, 2.2), (0.5, 0.51, 0.52), "heads curve, but significantly less than",
     "entropy increase total curvature ∫|K|\u00a0dA: 2.10× (",
     "With own offsets kept they reduce it: 0.51× ("),
    ((0.5, 2.0, 1.0), (1.18, 1.2, 1.22), ". So do random heads: no significant difference.",
     "∫|K|\u00a0dA is inconclusive: 1.00× (0.18× to 5.59×).", "they increase it: 1.20× ("),
    ((0.5, 0.52, 0.51), (0.9, 1.0, 1.2), "heads curve, significantly more than",
     "reduce total curvature ∫|K|\u00a0dA: 0.51× (", "it is inconclusive: 1.03×"),
    ((2.0,), (1.5,), ". So do random heads: no significant difference.",
     "have 2.00× the total curvature ∫|K|\u00a0dA.",
     "they have 1.50×."),
])  # fmt: skip
def test_the_answer_has_the_verdict_of_its_interval(sharp, offset, than, said, kept):
    found = {"sharp": twins_of(sharp), "offset": twins_of(offset)}
    found |= {"total": np.ones((len(sharp), 4)), "error": np.zeros((len(sharp), 4))}
    found["proved"] = found["total"]
    says = answer(found)
    assert says.startswith(f"Yes, all {4 * len(sharp)} heads curve")
    assert than in says
    assert said in twins_sentence(found)
    assert kept in twins_sentence(found)
    about = interval_sentence(found)
    assert f"geometric mean of {4 * len(sharp)} heads and 3 seeds" in about
    many = f"95\u00a0% t interval over the means of {len(sharp)} layers"
    assert (many if len(sharp) > 1 else "one layer gives no interval") in about
    only = f"{np.prod(sharp) ** (1 / len(sharp)):.2f}×"
    assert f"single seeds give {only} to {only} and" in about
    found["proved"] = np.eye(len(sharp), 4)
    assert answer(found).startswith(f"Yes, {len(sharp)} of {4 * len(sharp)} heads curve")
    found["total"] = -found["error"]
    assert answer(found) == "No head is known to curve."
    assert interval_sentence(found) == ""


@pytest.mark.parametrize(("noise", "says"), [(0.3, "mostly"), (1.2, "partly"), (4.0, "hardly")])
def test_what_entropy_explains_is_worded_by_its_value(noise, says):
    draw = np.random.default_rng(1)
    entropy = draw.normal(size=(6, 12))
    total = np.exp(entropy + noise * draw.normal(size=(6, 12)))
    said = entropy_sentence({"entropy": entropy, "total": total, "error": np.zeros((6, 12))})
    assert f"a total says {says} how sharp" in said
    share = np.corrcoef(entropy.ravel(), np.log(total).ravel())[0, 1] ** 2
    assert f"explains {100 * share:.0f}\u00a0% of the variance" in said


def test_the_tab_gate_follows_the_open_head_and_opens_another():
    app = open_settled(PAGE, heads_tab="Gate", heads_head="5.12")
    assert not app.exception
    assert [(x.label, x.value) for x in app.number_input[:2]] == [("Layer", 5), ("Head", 12)]
    reading, gate = shipped_text(MOBY), DrawnGate()
    keys_seen = keys_of(reading.tokens, False)
    dial = dial_head(shipped_layers()[4], reading.states[4], 11, keys_seen, FIRST_THREE, gate)
    assert gates.query_sentence(dial, "this drawn gate") in said(app)
    app.number_input[1].set_value(3).run()
    assert app.query_params["heads_head"] == "5.3"


def test_sentences_follow_their_numbers():
    flat = np.array([[1.0, 1.0], [0.0, 0.0]])
    assert "a gate curves all 2 heads" in gates.flat_sentence(flat)
    flat[0, 1] = 0.9
    assert "1 of 2 heads are flat without a gate, and 2 are curved" in gates.flat_sentence(flat)
    dial = partial(gates.Dial, (0.0, 1.0), query_errors=(0.1, 0.1), weight=(0.0, 1.0),
                   weight_errors=(0.0, 0.0), flat=True)  # fmt: skip
    assert "a gate lowers it to" in gates.query_sentence(dial((2.0, 1.5)), "a gate")
    assert "by less than both errors, to" in gates.query_sentence(dial((2.0, 2.15)), "a gate")
    assert "is not known to curve without" in gates.query_sentence(dial((0.05, 2.0)), "a gate")
    assert (
        "without attention 106\u00a0%" in records.norm_sentence(np.array([[4.7, 0.8, 3.3, 3.5]]))[0]
    )


# --- A model of the visitor's ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny BERT that reads words, as `save_pretrained` writes it."""
    from transformers import BertConfig, BertModel, BertTokenizerFast  # here: ten seconds

    folder = tmp_path_factory.mktemp("models") / "mine"
    folder.mkdir()
    words = "[PAD] [UNK] [CLS] [SEP] [MASK] call me ishmael . some years ago ,".split()
    (folder / "vocab.txt").write_text("\n".join(words))
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    sizes = dict(hidden_size=16, num_attention_heads=2, num_hidden_layers=2, intermediate_size=24)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        BertModel(BertConfig(vocab_size=len(words), **sizes)).save_pretrained(folder)
    return folder


@pytest.fixture
def named(folder, monkeypatch):
    """The page is started with this folder."""
    monkeypatch.setattr(sys, "argv", ["app.py", "--model", str(folder)])
    return folder


def test_without_a_named_folder_the_page_says_how_to_name_one():
    app = open_page(PAGE, heads_tab="Your own model")
    assert not app.exception
    command, lines = [code.value for code in app.code]
    assert command == own.COMMAND
    assert len(lines.split("\n\n")[1].splitlines()) == 5


def test_a_module_of_a_named_model_is_drawn_with_the_numbers_of_the_library(named):
    from transformers import AutoModel, AutoTokenizer

    name, text = "encoder.layer.1.attention.self", "Call me Ishmael. Some years ago,"
    app = open_settled(PAGE, heads_tab="Your own model", own_module=name, own_text=text,
                       own_token="4 .", own_plane="three tokens", own_moves="its query alone",
                       own_three=["1 call", "3 ishmael", "6 years"], own_code="true")  # fmt: skip
    assert not app.exception
    assert not mistakes(app)
    sent = header(app, "own_surfaces")
    model, tokeniser = AutoModel.from_pretrained(named), AutoTokenizer.from_pretrained(named)
    inputs = dict(tokeniser(text, return_tensors="pt"))
    plane = state_plane(model, name, inputs, 4, plane=(1, 3, 6), moves="query")
    grid = square_grid(31)
    for side, function in zip(sent["sides"], (plane, plane.twin()), strict=True):
        total = MeasuredSurface(function, grid, bound="estimate").total
        assert side["verdict"] == [
            f"total |K| = {plus_minus(float(total.value), float(total.error))}"
        ]
    finding, rest = sent["findings"][0]
    assert finding.startswith(f"{name} is curved, established at the sample points")
    assert "with random queries and keys, each head as sharp, " in rest
    assert "weights and states in torch" in said(app)
    (code,) = [x.value for x in app.code]
    assert f"{name!r}, inputs, token=4, plane=(1, 3, 6), moves='query')" in code
    assert str(named.parent) not in said(app) + code


def test_what_cannot_be_loaded_or_measured_is_a_sentence(named, monkeypatch):
    app = open_settled(PAGE, heads_tab="Your own model", own_text="me",
                       own_module="embeddings.word_embeddings")  # fmt: skip
    assert not app.exception
    assert "reads no states of real numbers" in " ".join(x.value for x in app.error)
    app = open_settled(PAGE, heads_tab="Your own model", own_module="![x](//far.test/x)")
    assert not app.exception
    assert len(mistakes(app)) == 1
    monkeypatch.setattr(sys, "argv", ["app.py", "--model", str(named.parent / "none")])
    app = open_settled(PAGE, heads_tab="Your own model")
    assert not app.exception
    (error,) = [x.value for x in app.error]
    assert "there is no folder 'none'" in error
    assert str(named.parent) not in error


@pytest.mark.parametrize("change", ["code of its own", "a pickle"])
def test_no_code_of_a_model_is_run(folder, tmp_path, change):
    mine = tmp_path / "mine"
    shutil.copytree(folder, mine)
    if change == "a pickle":
        (mine / "model.safetensors").unlink()
        torch.save({"x": torch.zeros(1)}, mine / "pytorch_model.bin")
    else:
        config = json.loads((mine / "config.json").read_text())
        config |= {
            "model_type": "mine",
            "auto_map": {"AutoConfig": "mine.C", "AutoModel": "mine.M"},
        }
        (mine / "config.json").write_text(json.dumps(config))
        (mine / "mine.py").write_text("raise SystemExit('run')")
    with pytest.raises(ValueError, match="the model cannot be loaded") as error:
        open_own(OwnText(str(mine), file_stamp(mine), "call me ishmael"))
    assert str(tmp_path) not in str(error.value)


def test_the_folder_is_named_on_the_command_line():
    assert own.named_folder(["--model"]) is None
    assert own.named_folder(["--other", "x"]) is None
    assert own.named_folder(["--model", "a", "--model=b"]).name == "b"


def test_an_open_head_gives_the_sheet_that_is_drawn_with_its_curvature():
    app = open_settled(PAGE, heads_head="2.3")
    ((name, offer),) = offered(app).surfaces.items()
    assert "three principal components" in name
    made, middle = offer.make("a line"), FINE_SIZE // 2
    text, layer = shipped_text(MOBY), shipped_layers()[1]
    keys, plane = keys_of(text.tokens, False), principal_plane(text.states[1])
    other = head_map(layer, text.states[1], 2, plane, keys=keys)
    centre = torch.zeros(1, 2, dtype=torch.float64)
    known = curvature(second_order_jet(other, centre))
    assert made.fields["K"][middle, middle] == pytest.approx(known.gaussian.item(), rel=1e-6)
    assert made.fields["|H|"][middle, middle] == pytest.approx(known.mean_norm.item(), rel=1e-6)
    drawn = shipped_charts(MOBY, False).values[1, 2]
    at = other.weights(centre)[0].numpy() @ drawn
    np.testing.assert_allclose(made.points[middle, middle], at, atol=1e-6)
    assert made.resolved.all()
