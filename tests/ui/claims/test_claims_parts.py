"""Are links to models, merged pictures, files and what is shipped what they say they are?"""

import json
import re
from dataclasses import asdict, replace
from urllib.parse import urlencode

import numpy as np
import pytest

from gating_core.claims import FIRST, SELECTIONS, STUDY_VERSION, default_path
from gating_core.claims.__main__ import _parser, _selection
from gating_core.claims.selection import ModelUnit
from gating_core.training.ensemble import batches_of
from ui.claims import words
from ui.claims.picture import HEIGHT, figure_of, merged
from ui.claims.request import MEASURES, STUDIES, StudyRequest, command, model_link
from ui.claims.running import scheduler_trouble, store_path
from ui.claims.sources import (
    SHIPPED_FOLDER,
    Source,
    judge_rows,
    load_judged,
    load_rows,
    rows_of,
    save_rows,
)
from ui.common.links import check_link
from ui.decision_boundary.controls import DECISION_BOUNDARY, RUN
from ui.decision_boundary.request import BoundaryRequest, resolve, setting

MOST_SHIPPED = 1_500_000  # bytes: rows and verdicts of two editions
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


@pytest.fixture(scope="module")
def shipped():
    """Models and stacks."""
    return load_rows()


# --- What is shipped ------------------------------------------------------------------------------


def test_shipped_rows_are_a_study_and_small(shipped):
    models, stacks = shipped
    assert len(models) == sum(SELECTIONS[name].size.models for name in ("full", "second"))
    assert stacks
    assert len({row.key for row in models}) == len(models)
    assert sum(path.stat().st_size for path in SHIPPED_FOLDER.iterdir()) < MOST_SHIPPED


def test_shipped_verdicts_are_those_of_the_shipped_rows():
    """To nine digits: a processor may round the last ones of what is drawn otherwise."""
    shipped, judged = (json.dumps(asdict(x)) for x in (load_judged(), judge_rows(Source())))
    assert NUMBER.sub("#", shipped) == NUMBER.sub("#", judged)
    numbers, numbers_now = ([*map(float, NUMBER.findall(x))] for x in (shipped, judged))
    assert len(numbers) > 1000
    np.testing.assert_allclose(numbers_now, numbers, rtol=1e-9, atol=1e-12)


def test_what_is_saved_is_read_again(shipped, tmp_path):
    models, stacks = shipped[0][:7], shipped[1][:5]
    save_rows([replace(models[0], test_accuracy=None), *models[1:]], stacks, tmp_path)
    found = load_rows(tmp_path)
    assert found[0][0].test_accuracy is None
    assert found == ([replace(models[0], test_accuracy=None), *models[1:]], stacks)


# --- Links ----------------------------------------------------------------------------------------


def opened(row):
    """The setting of the Decision boundary page whose link is that of ``row``."""
    link = {name: [text] for name, text in model_link(row).items()}
    assert check_link(link, DECISION_BOUNDARY) == ({}, [])
    given = {RUN[name].feeds: RUN[name].parse(text) for name, (text,) in link.items()
             if name in RUN}  # fmt: skip
    request, notes = resolve(BoundaryRequest(**given), None)
    assert not [text for name, text in notes if name not in ("left", "right")]
    return setting(request, None)


def units():
    """One unit of every cell of both studies, with 16 seeds."""
    for name in ("full", "second"):
        for unit in replace(SELECTIONS[name], first_seed=0, seed_count=16).units():
            if isinstance(unit, ModelUnit):
                yield unit


def as_row(shipped, unit, name):
    """A row of the unit."""
    own, config = unit.setting, unit.setting.configs[name]
    return replace(shipped[0][0], task=own.task, variant=name, source=own.source, depth=own.depth,
                   values=own.value_count, model_dim=config.model_dim, seed=13,
                   steps=own.steps, part=unit.part)  # fmt: skip


def test_a_link_is_the_studys_setting_but_for_what_is_said_of_it(shipped):
    """Fields that may differ: which points are for testing, and what is trained beside."""
    differ = {"points", "train_share", "variants"}
    for unit in units():
        for name in unit.setting.variants:
            found = opened(as_row(shipped, unit, name))
            for field in set(vars(unit.setting)) - differ:
                assert getattr(found, field) == getattr(unit.setting, field), (field, unit.text)
            assert found.configs[name] == unit.setting.configs[name]
            assert name in found.compared


def test_a_link_trains_on_the_same_points(shipped):
    for task in ("linear", "spiral"):
        unit = next(unit for unit in units() if unit.setting.task == task)
        ours, theirs = (
            unit.setting.make_task(),
            opened(as_row(shipped, unit, "ungated")).make_task(),
        )
        assert (ours.train_points == theirs.train_points).all()
        assert (ours.train_labels == theirs.train_labels).all()
        assert len(theirs.test_points[0]) == 1024


def test_gated_and_ungated_are_trained_in_the_same_batch(shipped):
    unit = next(unit for unit in units() if "sigmoid" in unit.setting.variants)
    for name in ("ungated", "sigmoid"):
        found = opened(as_row(shipped, unit, name))
        assert set(found.variants) == set(unit.setting.variants)
        assert batches_of(found.configs) == batches_of(unit.setting.configs)


@pytest.mark.parametrize("seed", [0, 15, 16, 31])
def test_the_seed_is_among_those_that_are_trained(shipped, seed):
    link = model_link(replace(shipped[0][0], seed=seed))
    assert int(link["first"]) <= seed < int(link["first"]) + int(link["seeds"])
    assert f"picked_seed={seed}" in urlencode(link)
    assert link["who"] == "picked"


# --- The command and its places -------------------------------------------------------------------


def test_the_command_names_the_store_only_where_it_is_another():
    assert command(StudyRequest(), default_path()) == "python -m gating_core.claims run --quick"


def test_the_place_is_the_one_that_the_server_is_told(store, monkeypatch):
    assert store_path() == store
    monkeypatch.delenv("GATING_CLAIMS_STORE")
    assert store_path() == default_path()


OWN = (
    {},
    {"product": True, "tasks": ("xor",), "seed_count": 3},
    {"only": "C7", "steps": 50},
    {"tasks": ("blobs3", "spiral"), "variants": ("tanh", "ungated"), "parts": ("base", "depth")},
    {"seed_count": 32},
    {"seed_count": 64, "steps": 4000, "only": "C1", "scheduler": "tcp://127.0.0.1:8786"},
)


@pytest.mark.parametrize("asked", [*({"study": x} for x in STUDIES.values()), *OWN])
def test_the_command_line_reads_the_same_selection(asked):
    """Whatever the page can choose."""
    request = StudyRequest(**{"study": "own"} | asked)
    found = _parser().parse_args(["run", *request.options])
    assert _selection(found) == request.selection
    assert (found.scheduler or "") == request.scheduler


def test_what_is_chosen_takes_as_long_as_its_units_say():
    chosen = StudyRequest(study="own", tasks=("xor", "linear"), seed_count=20, steps=100)
    units = list(chosen.selection.units())
    assert chosen.seconds == pytest.approx(sum(unit.seconds for unit in units) / 2)
    size = chosen.selection.size
    assert size.models == sum(len(x.keys) for x in units if isinstance(x, ModelUnit))
    assert size.models + size.stacks == sum(len(unit.keys) for unit in units)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, ""),
        ({"product": True, "tasks": ("xor",), "variants": ("ungated", "sigmoid")}, ""),
        ({"product": True}, "hours, and a page's study 1 at most"),
        ({"product": True, "seed_count": 8, "steps": 1000}, "hours, and a page's study 1 at most"),
        ({"only": "C7", "parts": ("base",)}, "C7 needs nothing of what is chosen"),
        ({"only": "C5", "tasks": ("xor",)}, "C5 needs nothing of what is chosen"),
    ],
)
def test_a_study_too_long_or_of_nothing_is_a_sentence(asked, said):
    trouble = StudyRequest(study="own", **asked).trouble
    assert said in trouble
    assert bool(said) == bool(trouble)


@pytest.mark.parametrize(
    ("address", "may"),
    [
        ("tcp://127.0.0.1:8786", True), ("localhost:1", True), ("[::1]:8786", True),
        ("tls://127.0.0.1:8786", True), ("tcp://10.0.0.1:8786", False), ("127.0.0.1", False),
        ("127.0.0.1:99999", False), ("127.0.0.1.evil.org:8786", False), ("", False),
        ("tcp://127.0.0.1@evil.org:8786", False), ("cluster:8786", True),
    ],
)  # fmt: skip
def test_which_schedulers_may_be_used(address, may, monkeypatch):
    monkeypatch.setenv("GATING_CLAIMS_SCHEDULERS", "other:1, cluster:8786")
    assert (scheduler_trouble(address) == "") == may


# --- Pictures -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def judged():
    """The shipped verdicts."""
    return load_judged()


def points(figure):
    """Everything that is drawn and can be clicked: place and key."""
    found = []
    for trace in figure["data"]:
        keys = trace.get("customdata") or [None] * len(trace["x"])
        found += [(x, y, key) for x, y, key in zip(trace["x"], trace["y"], keys, strict=True)
                  if x is not None]  # fmt: skip
    return sorted(found, key=str)


def trace(x, key, **more):
    return {"type": "scatter", "mode": "markers", "name": "a", "x": x, "y": x,
            "customdata": [key] * len(x), "hovertemplate": key, **more}  # fmt: skip


def test_merging_loses_no_point_and_mixes_no_two_looks():
    red, blue = ({"marker": {"color": colour}} for colour in ("red", "blue"))
    bars = {"error_x": {"type": "data", "array": [1.0]}}
    line = {"mode": "lines+markers", "marker": {"color": "red", "symbol": ["x", "x"]}}
    figure = {
        "data": [trace([1.0], "a", **red), trace([2.0], "b", **red), trace([3.0], "c", **blue),
                 trace([4.0], "d", **red, **bars), trace([5.0], "e", **red, **bars),
                 trace([6.0, 7.0], "f", **line), trace([8.0, 9.0], "g", **line)],
        "layout": {"showlegend": False},
    }  # fmt: skip
    found = merged(figure)
    assert points(found) == points(figure)
    assert len(found["data"]) == 4
    assert found["data"][0]["hovertemplate"] == ["a", "b"]
    assert found["data"][2]["error_x"]["array"] == [1.0, 1.0]
    lines = found["data"][3]
    assert lines["x"] == [6.0, 7.0, None, 8.0, 9.0]
    assert len(lines["marker"]["symbol"]) == len(lines["customdata"]) == 5


def test_what_a_legend_tells_apart_stays_apart():
    some = [trace([1.0], "a"), trace([2.0], "b") | {"name": "other"}]
    assert len(merged({"data": some, "layout": {}})["data"]) == 2


def test_every_clickable_point_of_a_model_has_its_row(judged, shipped):
    keys = {row.key for row in shipped[0]} | {row.key for row in shipped[1]}
    for one in judged.claims.values():
        found = [key for picture in one.pictures for _, _, key in points(json.loads(picture.text))
                 if key is not None]  # fmt: skip
        assert found, one.claim
        assert set(found) <= keys


def test_only_what_decides_is_drawn_unless_asked(judged):
    for name, one in judged.claims.items():
        assert one.has_wide == (name in ("C3", "C4"))
        assert not [picture for picture in one.shown(False) if picture.wide]
        assert len(one.shown(True)) == len(one.shown(False)) == (2 if name == "C6" else 1)
    assert len(MEASURES) == 2


def test_dark_pictures_have_no_light_colours(judged):
    for one in judged.claims.values():
        for picture in one.shown(False):
            dark = figure_of(picture.text, True, False).to_json()
            assert "#1f2933" in picture.text
            assert "#1f2933" not in dark
            assert figure_of(picture.text, False, False).layout.height == HEIGHT


def test_a_legend_stays_short(judged):
    for picture in judged.claims["C6"].shown(False):
        named = [x for x in json.loads(picture.text)["data"] if x.get("showlegend", True)]
        names = [x["name"] for x in named]
        assert len(names) == len(set(names)) == 11
        assert {"spiral", "sigmoid", "linear"} <= set(names)
        colours = [x["marker"]["color"] for x in named[:8]]
        assert len(set(colours)) == 8


# --- Words ----------------------------------------------------------------------------------------


def test_evidence_is_short_and_from_the_numbers(judged, shipped):
    first = [row for row in shipped[0] if row.part == "base" and row.seed in FIRST.seeds]
    flat = sum(bool(row.chart_flat) for row in first if row.variant in ("ungated", "matched"))
    assert judged.claims["C1"].evidence.startswith(f"{flat} of {flat} models flat")
    every = [*judged.claims.values(), *judged.second.values()]
    assert all(len(one.evidence) < 80 for one in every)


def test_rows_without_anything_have_words_too(tmp_path):
    from gating_core.claims import Store, verdicts

    with Store(tmp_path / "empty.sqlite") as store:
        found = verdicts(store.models(), store.stacks())
    for one in found.values():
        assert one.summary
        assert one.word == "not enough data"
        assert one.word in words.SIGNS


def test_a_model_is_said_with_its_doubt(shipped):
    row = replace(shipped[0][0], task="xor", variant="silu", seed=3, source="memory", depth=1,
                  values=3, error=None, test_accuracy=0.975, total_curvature=12.5, total_error=0.25,
                  total_complete=False, resolved_share=0.9, positive_share=0.4)  # fmt: skip
    said = words.model_text(row)
    assert "**xor, silu, seed 3**" in said
    assert "12.5 ± 0.25 (without its unresolved points)" in said
    known = replace(row, total_complete=True, resolved_share=1.0)
    assert "unresolved" not in words.model_text(known)
    assert "(not known: the error is larger)" in words.model_text(replace(known, total_error=1e9))
    assert "depth 3" in words.model_text(replace(row, depth=3))
    assert words.model_text(replace(row, error="it diverged")).endswith(": it diverged")


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.4, "0 s"), (59.6, "1 min 00 s"), (75, "1 min 15 s")]
)
def test_time_is_said(seconds, said):
    assert words.time_text(seconds) == said


def test_versions_are_compared():
    assert words.version_text("", False) == ""
    assert words.version_text(STUDY_VERSION, False) == f"Version {STUDY_VERSION} of the study."
    assert "recomputed single layers are the same" in words.version_text(STUDY_VERSION, True)
    assert "A new run adds its own rows" in words.version_text("d1d7abe7b131", False)


def test_rows_of_shipped_and_source_agree(shipped):
    models, _ = rows_of(Source())
    assert models == shipped[0]
    assert np.isfinite([row.test_accuracy for row in models if row.error is None]).all()
