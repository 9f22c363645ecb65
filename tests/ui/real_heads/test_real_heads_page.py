"""Does the page of a real model's heads read its link, and say what its numbers say?"""

import json
import re
import sys

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from gating_core.real_heads import TEXTS, shipped_measures, shipped_record, shipped_text
from gating_core.real_heads.shipped import FOLDER
from tests.ui.opening import component, mistakes, open_page, open_settled, report
from ui.components.heads import is_sound
from ui.real_heads import gates, keys, norms, own, wall
from ui.real_heads.words import drawn_words, head_line, sharp_sentence

PAGE = "pages/12_Real_heads.py"
TABS = ("Heads", "Gate", "Norms", "Sinks and top-k", "Your own model")
MOBY = next(iter(TEXTS))


def header(app, key="heads_wall"):
    """The message that the wall was sent."""
    return json.loads(component(app, key).proto.bytes)


def texts(app):
    return " ".join(each.value for each in (*app.markdown, *app.caption, *app.info))


def test_the_page_opens_on_the_wall_without_special_tokens():
    app = open_page(PAGE)
    assert not app.exception
    sent = header(app)
    assert (sent["layers"], sent["heads"], len(sent["lines"])) == (6, 12, 72)
    assert sent["open"] is None
    assert sent["keys"] == [1, 63]
    assert sent["words"][0] == "[CLS]"
    assert sent["special"] == [True, *[False] * 62, True]
    assert sent["frames"] is None


def test_a_link_opens_a_head_and_a_click_goes_into_the_link():
    app = open_page(PAGE, heads_head="1.3", heads_at="0.5,-0.25", heads_special="true")
    assert not app.exception
    assert not mistakes(app)
    sent = header(app)
    assert (sent["open"], sent["at"], sent["keys"]) == ([0, 2], [0.5, -0.25], [0, 64])
    message = {"open": [4, 11], "at": [0.1, 0.2], "serial": 10**12}
    app = report(app, "heads_wall", "opened", message)
    assert app.query_params["heads_head"] == "5.12"
    assert app.query_params["heads_at"] == "0.1,0.2"
    app = report(app, "heads_wall", "opened", {"open": None, "at": None, "serial": 10**12 + 1})
    assert not {"heads_head", "heads_at"} & set(app.query_params)


@pytest.mark.parametrize(("name", "text"), [
    ("heads_head", "7.1"), ("heads_head", "0.1"), ("heads_head", "1.13"), ("heads_head", "x"),
    ("heads_at", "2,0"), ("heads_at", "0"), ("heads_at", "a,b"),
])  # fmt: skip
def test_what_a_link_cannot_say_is_named_and_not_used(name, text):
    app = open_page(PAGE, **{"heads_head": "1.3", name: text})
    assert not app.exception
    (note,) = mistakes(app)
    assert f"`{name}`" in note
    assert header(app)["open" if name == "heads_head" else "at"] is None


SOUND = {"open": [5, 11], "at": [1, -1], "serial": 1}


@pytest.mark.parametrize(("change", "sound"), [
    ({}, True), ({"open": None, "at": None}, True), ({"open": None}, False), ({"at": None}, False),
    ({"open": [6, 0]}, False), ({"open": [0, 12]}, False), ({"open": [-1, 0]}, False),
    ({"open": [0.0, 1]}, False), ({"open": [True, 1]}, False), ({"open": "00"}, False),
    ({"at": [0, 2]}, False), ({"at": [0, float("nan")]}, False), ({"at": [0]}, False),
])  # fmt: skip
def test_a_forged_message_is_not_listened_to(change, sound):
    assert is_sound(SOUND | change, 6, 12) == sound


@pytest.mark.parametrize("shown", wall.FRAMES)
def test_frames_have_a_colour_and_a_number_for_every_head(shown):
    frames, hint = wall.frames_of(shown, shipped_measures(MOBY, False))
    assert len(frames.colours) == len(frames.texts) == 72
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in frames.colours)
    assert len(set(frames.colours)) > 20
    assert hint


def test_words_of_both_kinds_of_tokenisers_are_joined():
    assert drawn_words(["call", "ish", "##mael", "."]) == (
        ["call", "ish", "mael", "."], [False, False, True, True])  # fmt: skip
    assert drawn_words(["Call", "Ġme", "Ġsp", "leen", "Ċ"]) == (
        ["Call", "me", "sp", "leen", "¶"], [False, False, False, True, True])  # fmt: skip


# --- Sentences ------------------------------------------------------------------------------------


def test_the_line_of_a_head_has_its_bound_its_span_and_its_twin():
    bold, rest = head_line(6.21, 3e-4, 0.68, 1.0, 3721, [5.0, 6.0, 7.0])
    assert bold.startswith("∫|K| dA = 6.2100 ± 0.0003")
    assert bold.endswith("keys: 6.")
    assert "3 seeds, 5 to 7" in rest
    assert "at all 3,721 points" in rest
    assert "68\u00a0%" in rest
    assert "at no point" in head_line(0.0, 1e-9, 0.1, 0.0, 3721, [1.0])[1]


def test_sentences_follow_their_numbers():
    totals, twins = np.ones((2, 3)), np.full((3, 2, 3), 3.5)
    assert "3.5 times as much" in sharp_sentence(totals, twins)
    assert "only 0.5 times" in sharp_sentence(totals, twins / 7)
    flat = np.array([[1.0, 1.0], [0.0, 0.0]])
    assert "every one of 2 heads is flat, and curved with" in gates.flat_sentence(flat, 1 - flat)
    flat[0, 1] = 0.9
    assert "1 of 2 heads is flat" in gates.flat_sentence(flat, 1 - flat)
    medians = np.ones((2, 2, 3, 5))
    medians[0, 0, -1] = 2
    assert "per channel 1 → 2 (spread 1), 1 → 1" in gates.medians_sentence(medians)
    assert "with the residual 0.8" in norms.norm_sentence(np.array([[4.7, 0.8, 3.3, 3.5]]))
    trained, random = (shipped_record(f"128.{name}") for name in ("trained", "random"))
    changed = trained | {"sink": np.full((6, 12), 0.5)}
    assert "[CLS] gets 50\u00a0%" in keys.sink_sentence(changed, random)
    assert keys.sink_sentence(trained, random) != keys.sink_sentence(changed, random)


FORBIDDEN = ("trained heads are more curved", "between tokens", "the gate adds curvature",
             "adds curvature")  # fmt: skip


@pytest.mark.parametrize("tab", TABS)
def test_a_tab_opens_and_says_nothing_that_the_study_does_not_support(tab):
    app = open_settled(PAGE, heads_tab=tab)
    assert not app.exception
    assert not mistakes(app)
    said = texts(app).lower()
    assert said
    assert not [each for each in FORBIDDEN if each in said]


def test_the_gate_is_said_to_be_drawn_and_every_number_stands_beside_random_weights():
    app = open_settled(PAGE, heads_tab="Gate")
    assert "This model has no gate. Here a gate is **drawn**" in texts(app)
    assert "may raise or lower the total" in texts(app)
    app = open_page(PAGE, heads_tab="Sinks and top-k")
    assert "with random weights" in texts(app)
    assert "bert-base-uncased: 58.8 and 107.8" in texts(app)


# --- A checkpoint of the visitor's ----------------------------------------------------------------


@pytest.fixture
def named(tmp_path, monkeypatch):
    """The extract as a visitor's folder, with the states of a text, named on the command line."""
    folder = tmp_path / "mine"
    folder.mkdir()
    for name in ("config.json", "model.safetensors"):
        (folder / name).write_bytes((FOLDER / name).read_bytes())
    text = shipped_text(MOBY)
    tensors = {f"layer.{i}": read.numpy() for i, read in enumerate(text.states)}
    words = {"words": json.dumps(text.tokens.words)}
    save_file(tensors, folder / "states.safetensors", words)
    monkeypatch.setattr(sys, "argv", ["app.py", "--checkpoint", str(folder)])
    return folder


def test_without_a_named_folder_the_page_says_how_to_name_one():
    app = open_page(PAGE, heads_tab="Your own model")
    assert not app.exception
    assert own.COMMAND in [code.value for code in app.code]


def test_a_named_folder_is_measured_and_gives_the_numbers_of_the_library(named):
    app = open_settled(PAGE, heads_tab="Your own model", own_layer="1", own_code="true")
    assert not app.exception
    sent = header(app, "own_wall")
    assert (sent["layers"], sent["heads"], sent["layerNames"]) == (1, 12, ["1"])
    assert sent["words"][3:6] == ["is", "hma", "el"]
    bundled = shipped_measures(MOBY, True)["total"][0]
    shown = [float(re.search(r"= ([\d.]+)", bold)[1]) for bold, _ in sent["lines"]]
    np.testing.assert_allclose(shown, bundled, rtol=2e-3)
    assert str(named.parent) not in texts(app)
    (code,) = [x.value for x in app.code]
    assert "measure_head(head, square_grid(31)).total" in code


def test_a_folder_that_cannot_be_read_is_named_in_a_sentence(named):
    (named / "model.safetensors").write_bytes(b"nothing")
    app = open_page(PAGE, heads_tab="Your own model")
    assert not app.exception
    (said,) = [each.value for each in app.error]
    assert "mine" in said
    assert str(named.parent) not in said
    (named / "config.json").unlink()
    assert not open_page(PAGE, heads_tab="Your own model").exception


def test_only_folders_of_the_command_line_are_opened(named, tmp_path):
    app = open_page(PAGE, heads_tab="Your own model", own_model=str(tmp_path / "other"))
    assert not app.exception
    assert "own_model" in " ".join(mistakes(app))
    assert own.named_folders(["--checkpoint"]) == []
    assert own.named_folders(["--other", "x"]) == []
    assert len(own.named_folders(["--checkpoint", "a", "--checkpoint=b"])) == 2


def test_wrong_states_are_one_sentence(named):
    save_file({"layer.0": torch.zeros(4, 3).numpy()}, named / "states.safetensors")
    app = open_settled(PAGE, heads_tab="Your own model", own_layer="1")
    assert not app.exception
    assert "it must be (T, 384)" in " ".join(each.value for each in app.error)
