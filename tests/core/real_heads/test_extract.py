"""The bundled extract of a public model against the whole of it and against the code."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.numpy import load

from gating_core.checkpoints import (
    DrawnGate,
    head_map,
    measure_head,
    principal_plane,
    shuffled_order,
)
from gating_core.checkpoints.head_map import TRIANGLE
from gating_core.geometry import square_grid
from gating_core.real_heads import (
    BUNDLED_PLANES,
    EPSILONS,
    FIRST_THREE,
    GRID_SIZE,
    PRINCIPAL,
    TEXTS,
    THREE_TOKENS,
    TOKENS,
    TWIN_SEEDS,
    TWINS,
    Reading,
    chart_head,
    dial_head,
    keys_of,
    measure_one,
    open_head,
    shipped_charts,
    shipped_layers,
    shipped_measures,
    shipped_reading,
    shipped_record,
    shipped_text,
)
from gating_core.real_heads import WEIGHTS as WEIGHT_CHART
from gating_core.real_heads.shipped import FOLDER, MODES
from tests.core.checkpoints.tiny import attend

HEADS = [(1, 8), (5, 11)]  # layer and head, from 0
CLOSE = 0.002  # of a total: what half precision may change
MOBY, *_, LAST = TEXTS
WEIGHTS = FOLDER / "model.safetensors"


@pytest.mark.parametrize("title", TEXTS)
def test_a_text_has_its_words_and_the_states_of_every_layer(title):
    text = shipped_text(title)
    assert len(text.tokens) == TOKENS
    assert text.tokens.special == (True, *[False] * (TOKENS - 2), True)
    assert [tuple(read.shape) for read in text.states] == [(TOKENS, 384)] * len(shipped_layers())
    written = "".join(word.removeprefix("##") for word in text.tokens.words[1:-1])
    assert TEXTS[title].lower().replace(" ", "").startswith(written)


def test_totals_of_the_extract_are_those_of_the_checkpoint():
    whole, extract = shipped_record("extract")["totals"]
    assert whole.shape == (6, 12)
    np.testing.assert_allclose(extract, whole, rtol=CLOSE)
    text = shipped_text(MOBY)
    for layer, head in HEADS:
        plane = principal_plane(text.states[layer])
        found = head_map(shipped_layers()[layer], text.states[layer], head, plane)
        total = measure_head(found, square_grid(GRID_SIZE)).total
        assert float(total.value) == pytest.approx(whole[layer, head], rel=CLOSE)


@pytest.mark.parametrize(
    ("title", "special", "kind", "layer", "head", "first"),
    [(MOBY, False, PRINCIPAL, 0, 2, 0), (LAST, True, THREE_TOKENS, 4, 7, 7)],
)
def test_bundled_numbers_of_heads_and_twins_are_those_of_the_extract(
    title, special, kind, layer, head, first
):
    bundled, reading = (
        shipped_measures(title, special, kind),
        shipped_reading(title, special, layer),
    )
    again = measure_one(reading, head, kind, BUNDLED_PLANES[kind], TWIN_SEEDS[first : first + 1])
    assert {*TWINS, *(f"{name}_span" for name in TWINS)} < again.keys()
    assert bundled["offset"].shape == (len(TWIN_SEEDS), 6, 12)
    for name, found in again.items():
        stored = bundled[name][..., layer, head]
        if name.startswith(("sharp", "offset", "dealt")):
            stored = stored[first : first + 1]
        np.testing.assert_allclose(found, stored, rtol=1e-5, atol=1e-9, err_msg=name)


@pytest.mark.parametrize(("special", "kind"), [(False, PRINCIPAL), (True, THREE_TOKENS)])
def test_bundled_totals_of_heads_and_of_a_twin_by_a_second_implementation(special, kind):
    """Closed forms of the derivatives of a softmax average, and twins drawn by NumPy.

    A twin has other draws here, so that only its mean over heads is compared.
    """
    text, bundled = shipped_text(MOBY), shipped_measures(MOBY, special, kind)
    logs, stored = [], np.log(bundled["offset"] / bundled["total"]).mean(0)[2, :4]
    for head in range(4):
        scores, values, slopes = second_reading(text, special, kind, 2, head)
        total, entropy = second_total(scores, values)
        assert total == pytest.approx(bundled["total"][2, head], rel=1e-4)
        assert entropy == pytest.approx(bundled["entropy"][2, head], rel=1e-5)
        for seed in range(4):
            others = slopes(np.random.default_rng([seed, head]))
            size = others.std(1, keepdims=True)
            others = (
                (others - others.mean(1, keepdims=True)) / size * scores[1:].std(1, keepdims=True)
            )
            drawn = np.vstack([scores[:1], others])
            low, high = 0.0, 30.0
            for _ in range(30):
                middle = (low + high) / 2
                flatter = second_total(middle * drawn, values, False)[1] > entropy
                low, high = (middle, high) if flatter else (low, middle)
            logs.append(np.log(second_total(low * drawn, values)[0] / total))
    error = (np.var(logs) / len(logs) + stored.var() / len(stored)) ** 0.5
    assert np.mean(logs) == pytest.approx(stored.mean(), abs=3 * error)


def second_reading(text, special, kind, layer, head):
    """Scores (3, n) of a head on a plane, its values, and a function that draws other slopes."""
    file = {k: v.astype(float) for k, v in load(WEIGHTS.read_bytes()).items()}
    start = f"encoder.layer.{layer}.attention.self."
    rows = slice(32 * head, 32 * head + 32)
    (wq, bq), (wk, bk), (wv, bv) = (
        (file[f"{start}{part}.weight"][rows], file[f"{start}{part}.bias"][rows])
        for part in ("query", "key", "value")
    )
    states = text.states[layer].numpy()
    if kind == PRINCIPAL:
        _, sizes, axes = np.linalg.svd(states - states.mean(0), full_matrices=False)
        steps = 2 * sizes[:2, None] / np.sqrt(len(states)) * axes[:2]
        steps *= np.sign(steps[[0, 1], np.abs(steps).argmax(1)])[:, None]
        plane = np.vstack([states.mean(0), steps])
    else:
        corners = np.column_stack([np.ones(3), np.array(TRIANGLE)])
        plane = np.linalg.solve(corners, states[[*FIRST_THREE]])
    seen = states if special else states[1:-1]
    queries = plane @ wq.T + np.array([[1.0], [0], [0]]) * bq

    def slopes(draw):
        query, key = (draw.normal(size=w.shape) * np.sqrt((w**2).mean()) for w in (wq, wk))
        return plane[1:] @ query.T @ (seen @ key.T).T

    return queries @ (seen @ wk.T + bk).T / np.sqrt(32), seen @ wv.T + bv, slopes


def second_total(scores, values, curved=True):
    """∫|K| dA by the Gauss equation on 31 × 31 points, and the mean entropy."""
    side = np.linspace(-1, 1, 31)
    u, v = (x.ravel() for x in np.meshgrid(side, side, indexing="ij"))
    logits = scores[0] + np.outer(u, scores[1]) + np.outer(v, scores[2])
    weights = np.exp(logits - logits.max(1, keepdims=True))
    weights /= weights.sum(1, keepdims=True)
    entropy = -(weights * np.log(np.maximum(weights, 1e-300))).sum(1).mean()
    if not curved:
        return None, entropy
    a, b = (slope - (weights @ slope)[:, None] for slope in scores[1:])
    centred = [p - (weights * p).sum(1, keepdims=True) for p in (a * a, a * b, b * b)]
    y_u, y_v, *second = ((weights * factor) @ values for factor in (a, b, *centred))
    e_u = y_u / np.linalg.norm(y_u, axis=1, keepdims=True)
    across = y_v - (y_v * e_u).sum(1, keepdims=True) * e_u
    e_v = across / np.linalg.norm(across, axis=1, keepdims=True)
    for _ in range(2):
        for e in (e_u, e_v):
            second = [n - (n * e).sum(1, keepdims=True) * e for n in second]
    area = np.linalg.norm(y_u, axis=1) * np.linalg.norm(across, axis=1)
    uu, uv, vv = second
    curvature = ((uu * vv).sum(1) - (uv**2).sum(1)) / area**2
    one = np.full(31, 1 / 15)
    one[[0, -1]] /= 2
    return (np.abs(curvature) * area * np.outer(one, one).ravel()).sum(), entropy


def test_bundled_numbers_of_keys_are_those_of_the_extract():
    """By NumPy, over queries: special tokens are none of those whose shares are counted."""
    text, bundled = shipped_text(MOBY), shipped_measures(MOBY, False)
    found = attend(shipped_layers()[0], text.states[0])
    own = [i for i, special in enumerate(text.tokens.special) if not special]
    for head in range(12):
        weights = found.weights[head].numpy()
        for name, key in (("sink", 0), ("last", -1)):
            assert bundled[name][0, head] == pytest.approx(weights[own, key].mean())
        ordered = np.sort(weights)[:, ::-1]
        for e, epsilon in enumerate(EPSILONS):
            needed = (ordered.cumsum(1) < 1 - epsilon).sum(1) + 1
            assert bundled["needed"][e, 0, head] == pytest.approx(needed.mean(), abs=1e-6)


@pytest.mark.parametrize("special", MODES)
def test_bundled_charts_are_those_of_the_extract(special):
    bundled = shipped_charts(MOBY, special)
    for layer in (0, 1):
        reading = shipped_reading(MOBY, special, layer)
        assert bundled.scores.shape == (6, 12, 3, len(reading.keys))
        plane = principal_plane(reading.states)
        for head in range(0, 12, 4):
            found = head_map(reading.layer, reading.states, head, plane, keys=reading.keys)
            again = chart_head(found, plane, reading.states)
            stored = bundled.scores[layer, head]
            np.testing.assert_allclose(again.scores, stored, rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(again.states, bundled.states[layer], rtol=1e-4, atol=1e-5)
            # A principal axis has one of two signs.
            values = np.abs(bundled.values[layer, head])
            np.testing.assert_allclose(np.abs(again.values), values, atol=1e-4)


def test_a_convex_combination_of_the_charts_values_is_the_output_in_principal_components():
    text, layer, points = shipped_text(MOBY), shipped_layers()[0], square_grid(31).points
    keys = keys_of(text.tokens, False)
    charts = shipped_charts(MOBY, False)
    found = head_map(layer, text.states[0], 2, principal_plane(text.states[0]), keys=keys)
    scores, values = (torch.from_numpy(x[0, 2]).double() for x in (charts.scores, charts.values))
    seen = (points @ scores[1:] + scores[0]).softmax(-1) @ values
    outputs = found(points)
    spread, drawn = (torch.linalg.svdvals(x - x.mean(0)) for x in (outputs, seen))
    torch.testing.assert_close(drawn, spread[:3], rtol=1e-4, atol=0)
    first = [0, 30, -31, -1]  # corners of the chart: a projection brings none farther apart
    assert (torch.cdist(seen[first], seen) <= torch.cdist(outputs[first], outputs) + 1e-4).all()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("layer", [0, 5])
def test_a_head_is_opened_on_the_plane_of_three_tokens_and_on_their_weights(layer):
    reading, three = shipped_reading(MOBY, False, layer), (14, 36, 45)
    drawn, found = open_head(reading, 2, THREE_TOKENS, three)
    np.testing.assert_allclose(drawn.states[[*three]], TRIANGLE, atol=1e-6)
    assert drawn.tokens == reading.keys
    u, v = TRIANGLE[1]  # there the query is that of the second token itself
    scores = torch.from_numpy(np.array([1, u, v]) @ drawn.scores)
    own = attend(reading.layer, reading.states).scores[2, 36, [*reading.keys]]
    torch.testing.assert_close(scores, own, rtol=1e-5, atol=1e-5)
    assert found["sharp"].shape == found["offset"].shape == found["dealt"].shape == (3, 1, 1)
    assert found["shuffled"].shape == (1, 1, 1)
    flat, none = open_head(reading, 2, WEIGHT_CHART, three)
    assert (flat.prescribed, flat.flat, flat.tokens) == (True, True, three)
    np.testing.assert_allclose(flat.scores.sum(1), [1, 0, 0], atol=1e-6)
    assert not {"sharp", "offset"} & {*none}
    for name in ("total", "dealt", "shuffled"):
        assert none[name].max() < 1e-9
    assert none["proved"] == 0


def test_a_shuffled_text_moves_the_plane_with_its_tokens():
    reading, three = shipped_reading(MOBY, False, 3), (14, 36, 45)
    order = shuffled_order(reading.tokens)
    moved = tuple(order.index(token) for token in three)
    other = Reading(reading.layer, reading.tokens, reading.shuffled, reading.keys)
    there = measure_one(other, 6, THREE_TOKENS, moved, seeds=())
    here = measure_one(reading, 6, THREE_TOKENS, three, seeds=())
    assert here["shuffled"] == there["total"] != here["total"]
    assert (
        measure_one(reading, 6, PRINCIPAL, three, seeds=())["shuffled"]
        == measure_one(other, 6, seeds=())["total"]
    )


def test_a_plane_needs_three_tokens_that_differ():
    reading = shipped_reading(MOBY, False, 0)
    for three, said in (((3, 3, 5), "named twice"), (None, "three tokens must be named")):
        with pytest.raises(ValueError, match=said):
            open_head(reading, 0, THREE_TOKENS, three)
    line = torch.arange(64.0).double()[:, None] * torch.ones(384).double()
    with pytest.raises(ValueError, match="lie on one line"):
        open_head(replace(reading, states=line), 0, WEIGHT_CHART, (3, 4, 5))


def test_a_drawn_gate_curves_the_flat_attention_weight_chart():
    text = shipped_text(MOBY)
    dial = dial_head(
        shipped_layers()[0],
        text.states[0],
        2,
        keys_of(text.tokens, False),
        (14, 36, 45),
        DrawnGate(),
        strengths=(0.0, 1.0),
    )
    assert dial.flat
    assert dial.weight[0] <= dial.weight_errors[0] < 1e-6
    assert dial.weight[1] > 10 * dial.weight_errors[1]
    own = shipped_measures(MOBY, False)["total"][0, 2]
    assert dial.query[0] == pytest.approx(own, rel=0.01)  # another grid


def test_the_folder_says_whose_work_it_is():
    assert "Apache License" in (FOLDER / "LICENSE").read_text()
    assert "all-MiniLM-L6-v2" in (FOLDER / "NOTICE").read_text()
