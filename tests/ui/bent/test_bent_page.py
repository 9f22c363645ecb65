"""Does the page read its link, hear its pictures, and say what is measured?"""

import re

import numpy as np
import pytest
import torch
from contourpy import contour_generator
from scipy.interpolate import RegularGridInterpolator

from gating_core.claims.price_verdicts import TASKS as STUDIED
from gating_core.claims.price_verdicts import judge, price_study
from gating_core.experiments.comparison import EXAMPLES, cut_example, first_plane, load_pair
from tests.ui.opening import mistakes, open_page, report, said, sent
from ui.bent.guess import VIEW_KEY as VIEW
from ui.bent.guess import picture
from ui.bent.islands import VIEW_KEY

PAGE = "pages/15_Curved_or_bent.py"
ISLANDS = {"bent_tab": "Islands"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_surface_opens_with_its_first_plane_and_what_its_island_needs(name):
    app = open_page(PAGE, **ISLANDS, island_surface=name)
    assert not app.exception
    header, arrays = sent(app, VIEW_KEY)
    assert header["plane"] == header["first"] == [*first_plane(name)]
    assert arrays["values"].shape == (41, 41, 4 if name == "flat torus" else 3)
    assert bool(header["turns"]) == (name == "flat torus")
    island = cut_example(name, first_plane(name))
    if name == "saddle":
        assert "none can be: $K < 0$ everywhere" in said(app)
        assert (arrays["shares"] < 0.5).all()
        return
    needed = island.needed_gaussian or island.needed_mean
    assert f"at least {needed:.3g}"[:13] in said(app)
    if name == "flat torus":
        assert np.ptp(arrays["shares"]) == 0  # grey: K = 0
        assert "$K = 0$" in said(app)
        assert "fills four dimensions" in said(app)
    else:
        number = float(re.search(r"K\^\+ dA\$ = ([\d.]+)", said(app))[1])
        assert number == pytest.approx(float(island.positive.value), rel=0.01)


def test_a_link_holds_plane_and_turn_and_what_it_cannot_say_is_named():
    plane = "0.6,0,0.8,-0.25"
    app = open_page(
        PAGE, **ISLANDS, island_surface="flat torus", island_plane=plane, island_turn="30"
    )
    header, _ = sent(app, VIEW_KEY)
    assert (header["plane"], header["turn"]) == ([0.6, 0, 0.8, -0.25], 30)
    assert mistakes(app) == []
    for name, text in (("island_plane", "1,1,1,0"), ("island_turn", "91"), ("island_turn", "4.5")):
        wrong = open_page(PAGE, **ISLANDS, island_surface="flat torus", **{name: text})
        (note,) = mistakes(wrong)
        assert f"`{name}`" in note
        assert sent(wrong, VIEW_KEY)[0]["turn"] == 0


def test_a_move_goes_into_the_link_and_back():
    app = open_page(PAGE, **ISLANDS, island_surface="saddle")
    moved = {"plane": [0.6, 0, 0.8, -0.25], "turn": 0, "serial": 1_700_000_000_000}
    app = report(app, VIEW_KEY, "moved", moved)
    assert not app.exception
    assert app.query_params["island_plane"] == "0.6,0,0.8,-0.25"
    assert sent(app, VIEW_KEY)[0]["plane"] == moved["plane"]
    home = {"plane": [*first_plane("saddle")], "turn": 0, "serial": 1_700_000_000_001}
    app = report(app, VIEW_KEY, "moved", home)
    assert "island_plane" not in app.query_params


def test_nothing_tells_the_answer_before_the_guess_and_a_guess_is_in_the_link():
    before = open_page(PAGE)
    told = " ".join(x.value for x in (*before.markdown, *before.caption))
    assert not re.search(r"\b(left|right)\b", told)
    app = before.button(key="guess_right").click().run()
    assert app.query_params["flat_guess"] == "right"
    assert "It is the other one" in said(app)
    assert "paid a price" in said(app)
    words = [side["verdict"][0].split(":")[0] for side in sent(app, VIEW)[0]["sides"]]
    assert words == ["Nearly flat inside", "Curved"]
    flat, curved = (np.abs(side.shares - 0.5).max() for side in picture(True).sides)
    assert flat < 0.1 < curved == 0.5  # grey on the scale of both


def test_the_corners_of_the_curved_boundary_are_its_shadows():
    model = load_pair()["no price"]
    axis = np.linspace(-1, 1, len(model.height))
    (circle,) = contour_generator(axis, axis, model.height).lines(0.0)
    values = model.model().attention(torch.from_numpy(circle))[0].detach().numpy()
    shadow = RegularGridInterpolator((axis, axis), model.places)(circle[:, ::-1])
    turns = []
    for ring in (values, shadow):
        steps = np.diff(ring, axis=0)
        lengths = np.linalg.norm(steps, axis=1, keepdims=True)
        ways = (steps / lengths)[lengths[:, 0] > 1e-3 * lengths.max()]
        turns.append(np.degrees(np.arccos((ways[1:] * ways[:-1]).sum(1).min())))
    assert turns[0] < 15 < 90 < turns[1]


def test_the_price_tab_says_the_verdicts_of_the_bundled_rows():
    """Kept shares again, from the accuracies, by the ratio of means."""
    study = price_study()
    app = open_page(PAGE, bent_tab="Price")
    assert not app.exception
    at = STUDIED.index("circle")

    def mean(gate, dim, **more):
        found = study.find(gate=gate, model_dim=dim, **more)
        return found.accuracy[at].mean(dtype=float)

    for row in judge(study):
        if row.task == "circle":
            dim = row.model_dim
            base, free, paid = (
                mean("none", dim), mean(row.gate, dim), mean(row.gate, dim, price="K")
            )  # fmt: skip
            assert row.tries[0].value == pytest.approx((paid - base) / (free - base), rel=1e-4)
            assert row.word in said(app)
    for dim in (8, 16):
        base = mean("none", dim, plane=0.0)
        flat, curved = (mean("headwise", dim, plane=plane) for plane in (0.0, 1.0))
        assert f"{(flat - base) / (curved - base):.2f} [" in said(app)


def test_a_point_shows_its_two_surfaces_with_their_numbers():
    chosen = {"price_gate": "headwise, D = 8", "price_paid": "price on bending"}
    app = open_page(PAGE, bent_tab="Price", price_task="rings", **chosen)
    assert (app.exception, mistakes(app)) == ([], [])
    header, _ = sent(app, "price_pair")
    result = price_study().find(gate="headwise", model_dim=8, price="bending")
    for side, member in zip(header["sides"], result.typical[STUDIED.index("rings")], strict=True):
        assert side["name"] == f"Seed {result.seeds[member]}"
        total, error = (
            x[STUDIED.index("rings"), member] for x in (result.total, result.total_error)
        )
        number = re.search(r"total \|K\| = ([\d.e⁻-]+)", side["verdict"][0])
        assert number or error > total
        assert f"{100 * result.accuracy[1, member]:.1f}" in side["more"][0]
    assert f"commit 1f4177a5, as {result.piece.name}" in " ".join(x.value for x in app.caption)
