"""Should I gate: every tab draws what is shipped, with the core's numbers and true verdicts."""

import re
from dataclasses import replace

import numpy as np
import pytest

from gating_core.lm.backcopy import ToyRequest, load_toy, train_toy
from gating_core.lm.generate import WriteRequest, generate, read_text
from gating_core.lm.measurements import QUANTITIES, STRENGTHS
from gating_core.lm.model import TOPOLOGIES
from gating_core.lm.resampling import PairedDifference
from gating_core.lm.shipped import MODELS, load_model
from gating_core.training import mean_interval
from tests.ui.opening import figure, notes, numbers, open_page
from ui.common.formatting import figures, rough
from ui.common.language_models import TITLES, verses
from ui.language_models import (
    decision,
    details,
    maps,
    shared,
    sinks,
    topology,
)
from ui.language_models import (
    generate as generating,
)
from ui.work import jobs

PAGE = "pages/7_Language_models.py"
MODEL = ("g1_channel", 0)
TEXT = verses()["Genesis 21:31"]["english"]
DETAILS, TOPOLOGY, GENERATE = (
    {"measure": tab} for tab in ("Rank, sparsity, calibration", "Block topology", "Generate")
)
TASK = {"measure": "Attention sinks"}
SINKS = TASK | {"lm_sinks_of": "language models"}
G2 = {"lm_gate": "G2, per channel"}
FEW = ToyRequest(seeds=(0, 1), steps=10, batch=4)


def said(app, part):
    return next(x.value for x in app.markdown if part in x.value).replace("\u00a0", " ")


def difference(by_seed, half_width):
    return PairedDifference(np.array(by_seed), half_width)


# --- Decision -------------------------------------------------------------------------------------


def test_the_table_has_the_cores_numbers_and_ticks_what_is_gained():
    rows = shared.architectures()
    app = open_page(PAGE)
    assert [x.value for x in app.markdown[:2]] == [*decision.advice(rows)[:2]]
    few = " ".join(x.proto.body for x in app.get("html"))  # what decides
    assert "Test loss" in few
    assert "Effective rank" not in few
    app.toggle(key="lm_all").set_value(True).run()
    base, channel, *_ = rows
    text = " ".join(x.proto.body for x in app.get("html")).replace("\u00a0", " ")
    assert text.count("✓ lower") == 2
    assert "no gate 1.379 nats" in text
    assert "--a: 2.0%; " in text  # the widest interval ends at the edge, less its margin
    assert "<b>inconclusive</b> −3.3 ± 4.3" in text  # alone ± 2.1, without 0
    for low, high, mark in re.findall(  # a bar misses the line where its verdict says so, alone
        r'--zero: 50%; --a: ([\d.]+)%; --b: [\d.]+%; --c: ([\d.]+)%"></i><b>(.*?)</b>', text
    ):
        assert (float(low) < 50 < float(high)) == (mark == "inconclusive")
    assert text.count("neither better nor worse") == 1
    assert "× 1.05 to 1.10, weights +7.9 %" in text
    assert re.findall(r'<tr class="gc-advised"><th scope="row">(.*?)<', text) == ["G1, per head"]
    slowest = re.findall(r"--a: ([\d.]+)%; --b: ([\d.]+)%; --c: ([\d.]+)%", text)[-1]
    assert float(slowest[0]) > 50  # the sink logit: × 1.15 to 1.26, the end of the scale
    assert slowest[2] == "92.0"
    cells = decision.columns(rows)
    assert cells["gate"] == [*shared.ROWS.values()]
    assert cells["First-token share"][0] == base.values["first_share"].mean
    assert cells["Effective rank, difference"][1] == channel.changes["rank"].mean
    assert cells["Δ loss of top-8, significant"] == [False, True, True, False, False]
    assert cells["parameters"][:3] == [473_952, 511_200, 475_504]
    assert cells["reading"][4] == "× 1.24 to 1.30"


@pytest.mark.parametrize(("changes", "says"), [
    ({}, "No: no gain is shown for keeping few keys, for the loss or against attention sinks."),
    ({"added": -0.01}, "Yes, if heads are to keep few keys: top-8 attention then costs 0.010 nats"
     " less. No other gain is shown in our models."),
    ({"loss": -0.1, "added": -0.01, "first_share": -0.01},
     "Yes, if heads are to keep few keys, for a lower loss and against attention sinks: top-8"
     " attention then costs 0.010 nats less."),
    ({"loss": 0.1, "added": -0.01}, "No: no gain"),
    ({"first_share": 0.01}, "No: no gain"),
])  # fmt: skip
def test_the_advice_follows_the_differences(changes, says):
    none = difference([0.0] * 3, 0.001)
    base, *gates = [row for row in shared.architectures() if row.name in TITLES]
    made = [
        replace(row, changes=dict.fromkeys(row.changes, none)
                | {name: difference([by] * 3, 1e-4) for name, by in changes.items()})
        for row in gates
    ]  # fmt: skip
    found, lead, _ = decision.advice([base, *made])
    assert found.startswith(says)
    assert ("That is G1, per head, for 0.33" in lead) == says.startswith("Yes")
    # A gate that reaches more is named before one that costs less.
    made[0].changes.update(dict.fromkeys(decision.COLUMNS, difference([-0.1] * 3, 1e-4)))
    if changes.get("loss", 0) >= 0:
        assert "That is G1, per channel, for 7.9" in decision.advice([base, *made])[1]


# --- Attention sinks ------------------------------------------------------------------------------


def test_maps_of_both_models_are_drawn_in_cells():
    drawn = figure(open_page(PAGE, **SINKS, lm_map_head="all"), "sinks_maps")
    for trace, model in zip(drawn["data"], (("none", 0), MODEL), strict=True):
        weights = read_text(load_model(*model)[0], TEXT).weights
        assert 48 < len(TEXT) + 1 <= 96  # so that cells are of 2 x 2 characters
        picture, step = maps.tiled(weights, 2)
        np.testing.assert_array_equal(numbers(trace["z"]), picture)
        size = (len(TEXT) + 2) // 2
        tile = picture[step : step + size, 2 * step : 2 * step + size]
        largest = [
            [weights[1, 2, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2].max() for j in range(size)]
            for i in range(size)
        ]
        seen = np.tri(size) > 0
        np.testing.assert_allclose(tile[seen] / 1000, np.array(largest)[seen], atol=1e-3)
        assert not tile[~seen].any()
        assert tile[seen].min() >= 1
    assert drawn["layout"]["coloraxis"]["colorbar"]["title"]["text"] == "weight, largest of 2 × 2"
    axis = figure(open_page(PAGE, **SINKS, lm_map_head="2.3"), "sinks_maps")["layout"]["yaxis"]
    assert axis["ticktext"][:4] == ["¶", *"The"]


def test_a_share_has_the_verdict_of_the_table():
    rows = shared.architectures()
    app = open_page(PAGE, **SINKS)
    says, about = (x.replace("\u00a0", " ") for x in sinks.change("G1, per channel", rows))
    assert said(app, "attention to the first token") == says
    # Its own interval lacks 0, but not by Holm over all gates.
    assert says.endswith("attention to the first token is inconclusive**: −3.3 points.")
    assert "is 7.2 % (no gate) and 3.9 % (G1, per channel), difference −3.3 ± 3.0" in about
    assert about in said(app, "Sinks (first keys")
    far = difference([-0.03] * 3, 0.001)
    made = [replace(x, changes=x.changes and {"first_share": far}) for x in rows]
    says = sinks.change("G1, per head", made)[0]
    assert says == "**The gate reduces attention to the first token**: −3.0 points."


def test_sinks_are_those_of_the_published_metric():
    """One head of G2 passes the threshold in 28 % of texts: its value is short."""
    text = said(open_page(PAGE, **SINKS, **G2), "Sinks (first keys")
    for name, title in (("none", "*no gate*"), ("g2", "*G2, per channel*")):
        metric = np.stack([shared.table()[name, seed]["sinks.metric"] for seed in range(3)])
        share = f"{title}: in {rough(100 * float(metric.mean()))} % of texts and heads"
        assert f"{share}, in {(metric > 0).sum()} of {metric.size} heads" in text
    assert "most often in head 2.3 of seed 1, in 28.2 % of texts (value norm 0.15 of the" in text
    none = np.zeros((1, 2, 2))
    assert sinks.sink_text("a", none, none, none) == "*a*: in none of 4 heads in any text"


def test_the_shipped_layers_are_shown_at_once():
    app, run = open_page(PAGE, **TASK), load_toy()
    assert "_jobs" not in app.session_state or not app.session_state["_jobs"]
    lines = [x for x in figure(app, "backcopy_training")["data"] if "band" not in x["name"]]
    for k, line in enumerate(lines):
        np.testing.assert_allclose(numbers(line["y"]), 100 * run.sink[:, k].mean(-1), rtol=1e-5)
    assert said(app, "A gate per channel").endswith("the sink that a task makes**: −36 points.")
    text = said(app, "Weight on the first letter")
    assert "0.87 ± 0.09 (no gate), 0.51 ± 0.09 (per channel), 0.354 ± 0.052 (per head)" in text
    assert "It is a sink (mean weight above 0.3 in one text) in 8, 6, 4, 0 of 8 seeds" in text
    assert [round(8 * float(share)) for share in run.sink_shares] == [8, 6, 4, 0]


@pytest.mark.soak
def test_other_seeds_are_trained_live(monkeypatch):
    monkeypatch.setattr(sinks, "ToyRequest", lambda seeds: replace(FEW, seeds=(seeds[0], 9)))
    monkeypatch.setattr(jobs, "AT_ONCE_SECONDS", 0.0)  # it trains for tenths of a second
    app = open_page(PAGE, **TASK, lm_task_seed="7")
    ((job, _),) = app.session_state["_jobs"].values()
    job.join(60)
    assert job.over
    app.run()
    assert not app.exception
    *_, run = train_toy(replace(FEW, seeds=(7, 9)))
    line = next(x for x in figure(app, "backcopy_training")["data"] if x["name"] == "no gate")
    np.testing.assert_allclose(numbers(line["y"]), 100 * run.sink[:, 0].mean(-1), rtol=1e-4)


def test_a_gate_changes_the_learned_sink_beyond_the_interval_of_pairs_only():
    run = load_toy()
    near = replace(run, sink=np.broadcast_to(np.linspace(0.4, 0.6, 8), run.sink.shape))
    assert "is inconclusive**" in sinks.task_finding(near)[0]
    # Paired by seed: seeds differ more than the gate changes any of them.
    lower = near.sink - np.array([0, 0.01, 0, 0])[:, None]
    assert "**A gate per channel reduces the" in sinks.task_finding(replace(near, sink=lower))[0]


# --- Rank, sparsity, calibration ------------------------------------------------------------------


@pytest.mark.parametrize(("factors", "says"), [
    ((1.2, 1.3, 1.25), "**The gate increases the effective rank of head outputs**: 1.2"),
    ((0.8, 0.7, 0.75), "**The gate reduces the effective rank of head outputs**: 0.7"),
    ((0.8, 1.3, 1.0), "rank of head outputs is inconclusive**"),
])  # fmt: skip
def test_ranks_are_compared_with_those_of_models_without_a_gate(factors, says):
    """What happens inside the gated model, whose rank before the gate may be lower, is another."""
    ungated = np.ones((len(factors), 3, 2, 2))
    gated = ungated * np.array([[0.5] * len(factors), factors, factors]).T[..., None, None]
    assert says in " ".join(details.against_ungated(gated, ungated))
    told = details.against_ungated(gated, ungated, significant=False)[0]
    assert "increases" not in told
    assert "reduces" not in told


@pytest.mark.parametrize(("gate", "before", "after"), [
    ("G1, per channel", "1.27 ± 0.05", "1.58 ± 0.14"),
    ("G1, per head", "0.768 ± 0.044", "0.73 ± 0.08"),
])  # fmt: skip
def test_what_is_told_of_a_gate_is_what_is_bundled(gate, before, after):
    app = open_page(PAGE, **DETAILS, lm_gate=gate, lm_text="¿Qué €?")
    text = said(app, "times that of models without a gate")
    assert f"{before} times that of models without a gate, and {after}" in text
    models = [[shared.table()[name, seed] for seed in range(3)]
              for name in (shared.GATES[gate], "none")]  # fmt: skip
    outputs = [np.stack([x["ranks.outputs"] for x in of]) for of in models]
    lines = {x["name"]: x for x in figure(app, "details_rank")["data"]}
    np.testing.assert_allclose(
        numbers(lines["gate, after W<sub>O</sub>"]["y"]), outputs[0][:, 2].mean((0, 2)), rtol=1e-6
    )
    means = [x[:, 1].mean((1, 2), dtype=float) for x in outputs]
    assert f"{np.mean(means[0] / means[1]):.2f}" == f"{float(before[:5]):.2f}"
    errors = [np.mean([x["confidence.values"][0] for x in of]) for of in models]
    assert f"ECE {figures(errors[1])} → {figures(errors[0])}" in said(app, "ECE")
    shut = [x["gates.shut"].mean() for x in models[0]]
    assert f"**: {int(100 * np.mean(shut))}" in said(app, "of their values are below")
    (note,) = notes(app)  # what is typed is read, and named where it is unknown
    assert "`€`" in note
    opened = read_text(load_model(shared.GATES[gate], 0)[0], "¿Qué ?").opened
    drawn = figure(app, "details_gates")
    np.testing.assert_allclose(numbers(drawn["data"][0]["z"]), opened.reshape(-1, 7), rtol=1e-6)
    assert drawn["layout"]["xaxis"]["ticktext"] == ["¶", *"¿Qué", "␣", "?"]


@pytest.mark.parametrize(("ends", "says"), [
    ((0.5, 0.9), "are sparse"), ((0.0, 0.1), "are not sparse"), ((0.2, 0.4), "partly sparse"),
    ((0.05, 0.2), "inconclusive"), ((0.4, 0.6), "inconclusive"),
])  # fmt: skip
def test_gates_are_called_sparse_by_their_interval(ends, says):
    assert says in details.degree(*ends)


@pytest.mark.parametrize(("by_seed", "half", "word", "says"), [
    ([0.001, 0.002, 0.0], 0.001, "equivalent", "The calibration errors are equivalent"),
    ([0.02] * 3, 0.003, "higher", "The gate increases the calibration error"),
    ([-0.02] * 3, 0.003, "lower", "The gate reduces the calibration error"),
    ([0.0] * 3, 0.02, "inconclusive", "gate on the calibration error is inconclusive"),
])  # fmt: skip
def test_verdicts_follow_interval_and_margin(by_seed, half, word, says):
    of = difference(by_seed, half)
    assert shared.word(of, shared.MARGINS["calibration"].margin, of.p) == word
    values = np.ones((len(by_seed), len(QUANTITIES)))
    text = details.compared(dict.fromkeys(QUANTITIES, of), values, values)
    assert f"{says}**: ECE 1.00 → 1.00" in text
    assert text.endswith(".")


# --- Block topology -------------------------------------------------------------------------------


def test_diagrams_follow_the_table_and_a_colour_means_one_thing():
    series = {style["colour"] for style in topology.STYLES.values()}
    assert not series & {topology.OWN, topology.FIRST}
    for name, row in TOPOLOGIES.items():
        chart = topology.diagram(topology.LONG[name], row, 3)
        colours = [note.arrowcolor for note in chart.layout.annotations]
        own = 3 if row.reads_own else 1
        assert colours.count(topology.OWN) == own + 1  # the last is the stream's
        assert colours.count(topology.FIRST) == (2 if row.reads_first else 0)
        boxes = [shape for shape in chart.layout.shapes if shape.type == "rect"]
        assert [box.label.text for box in boxes] == ["A1", "M1", "A2", "M2", "A3", "M3"]
        assert (boxes[2].x0 == boxes[3].x0) != row.reads_own  # at the same time
        text = topology.reads(name)
        assert ("A of its block" in text, "A1" in text) == (row.reads_own, row.reads_first)
    app = open_page(PAGE, **TOPOLOGY)
    losses = figure(app, "topology_loss")["data"]
    for name, means in zip(TOPOLOGIES, losses[1::2], strict=True):
        cards = [load_model(topology.MODEL_OF[name], seed)[1].losses["both"] for seed in range(3)]
        assert numbers(means["y"])[0] == pytest.approx(np.mean(cards), rel=1e-6)
        half = mean_interval(np.array(cards)).half_width
        assert numbers(means["error_y"]["array"])[0] == pytest.approx(half, rel=1e-3)


def test_a1_is_credited_only_where_the_control_does_not_reduce_the_loss():
    down, same = difference([-0.1] * 3, 0.02), difference([0.0] * 3, 0.005)
    for fal, control, says in (
        (down, same, "later blocks reduces the loss: −0.100"), (down, down, "inconclusive: −0.1"),
        (same, same, "leaves the loss equivalent: "),
        (difference([0.1] * 3, 0.02), same, "increases the loss: +0.100"),
        (difference([0.1] * 3, 0.2), same, "is inconclusive: +0.100"),
    ):  # fmt: skip
        words = topology.loss_words({"fal": fal, "control": control})
        assert says in topology.gain_text(fal, *words.values())[0]
    told = {"fal": down}
    text = topology.loss_text({"usual": np.full(3, 1.3)}, told, topology.loss_words(told))
    assert "standard 1.300 nats per character" in text
    assert "FAL **lower** (−0.10 ± 0.02)" in text


def test_a_difference_has_one_verdict_on_the_whole_page():
    text = said(open_page(PAGE, **TOPOLOGY), "after equally many steps")
    words = {-1: "lower", 0: "inconclusive", 1: "higher"}
    for name, sign in shared.signs(shared.architectures(), "loss").items():
        if name in topology.MODEL_OF.values():
            assert f"{topology.SHORT[MODELS[name].topology]} **{words[sign]}**" in text
    assert "over 8 comparisons" in text  # seven of the table, and FAL less its control


# --- Generate -------------------------------------------------------------------------------------


def test_a_model_generates_what_the_link_says():
    link = {"lm_draw": "3", "lm_lambda": "0.5", "lm_temperature": "0.9", "lm_tongue": "Spanish"}
    app = open_page(PAGE, **GENERATE, **link)
    for job, _ in app.session_state["_jobs"].values():
        job.join(60)
    app.run()
    assert not app.exception
    prompt = generating.BEGINNINGS["spanish"]
    model, _ = load_model(*MODEL)
    want = "".join(generate(model, prompt, 3, 0.9, 0.5))
    assert said(app, f"**{prompt.strip()}**") == generating.continued(prompt, want)
    losses = [
        x["strengths.sums"][5].sum() / x["strengths.counts"].sum()
        for x in (shared.table()["g1_channel", seed] for seed in range(3))
    ]
    assert f"λ = 0.5: {np.mean(losses):.3f} nats per character" in said(app, "Test loss at")
    first, second = figure(app, "generate_next")["data"]
    assert first["name"] == "λ = 0.5"
    assert len(numbers(first["y"])) == len(numbers(second["y"]))
    app.button(key="lm_another").click().run()
    assert app.session_state["lm_draw"] == 4


def test_a_request_has_what_the_model_can_read():
    requests = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generating, "draw_text", requests.append)
        open_page(PAGE, **GENERATE, lm_prompt="a€b", lm_lambda="0.5")
        open_page(PAGE, **GENERATE, lm_writer="no gate", lm_lambda="0.5")
    assert requests == [WriteRequest("g1_channel", 0, "ab", 0.7, 0.5, 0),
                        WriteRequest("none", 0, "In the beginning ", 0.7, 1.0, 0)]  # fmt: skip


def test_generated_text_is_harmless_and_losses_are_interpolated():
    assert generating.continued("*a* ", "[b](c)") == r"**\*a\*** \[b\]\(c\)"
    assert generating.continued(" ", "b") == " b"
    gated, ungated = np.linspace(2.0, 1.0, len(STRENGTHS))[None], np.array([[1.1]])
    says, about = generating.loss_text(gated, ungated, 0.25)
    assert says.endswith("at λ = 0.25, this model's loss is 0.750 nats higher.")
    assert about == ("Test loss at λ = 0.25: 1.750 nats per character; as trained (λ = 1) 1.000,"
                     " trained without a gate 1.100.")  # fmt: skip
    assert "λ = 0, this model's loss is 1.000" in generating.loss_text(gated, ungated, 1.0)[0]
