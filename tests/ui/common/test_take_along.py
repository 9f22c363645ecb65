"""Files taken along from a page hold what it shows, and say where they come from."""

import csv
import io
import json
import zipfile

import nbformat
import numpy as np
import plotly.graph_objects as go
import pytest
from PIL import Image

from gating_core.experiments.comparison import STRENGTHS
from gating_core.export.surface import ply_file, solid_of
from gating_core.records import tensors_and_metadata
from tests.ui.opening import LANDING, mistakes, offered, open_settled
from ui.common import take_along
from ui.common.take_along import default_name, file_name
from ui.keys.four_keys import FIRST, numbers, with_mode

MANIFOLD, CLAIMS = "pages/1_Manifold.py", "pages/5_Claims.py"
GATES, KEYS = "pages/3_Which_gates_curve.py", "pages/11_Which_keys_curve.py"
SOAK = pytest.mark.soak
BOUNDARY = "pages/2_Decision_boundary.py"
HEADS = "pages/13_Real_heads.py"


@pytest.fixture
def taken(monkeypatch):
    """Opens a page and its popover; returns the page, and the files by the labels of buttons."""

    def take(page=LANDING, without="", **link):
        files = {}

        def button(label, data, name, **more):
            if not more["disabled"]:
                files[label] = name, data

        monkeypatch.setattr(take_along.st, "download_button", button)
        app = open_settled(page, **link)
        assert mistakes(app) == []
        assert not files  # nothing is made before somebody asks
        app.session_state["take_along"] = True
        if without:
            app.session_state["take_surface"] = "Without gate"
        app.run()
        assert not app.exception
        return app, files

    return take


def unzipped(file):
    with zipfile.ZipFile(io.BytesIO(file())) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name).decode() for name in archive.namelist()}


def rows(text):
    return [*csv.DictReader(io.StringIO(text))]


def test_the_data_of_the_landing_page_are_those_of_its_charts_and_of_its_surface(taken):
    app, files = taken(strength="0.5", picture="two models")
    name, make = files["Data (CSV, zipped)"]
    assert name == "circle_sigmoid_seed33_lambda0.50.zip"
    data = unzipped(make)
    about = json.loads(data["about.json"])
    assert about["page"] == "Flat or curved?"
    assert about["settings"]["task"] == "circle"
    assert about["settings"]["lambda"] == 0.5
    assert about["seeds"] == {"seed": 32, "seeds": [*range(32, 48)]}
    assert about["link"].endswith("?strength=0.5&picture=two%20models")
    assert about["versions"]["torch"].startswith("2.")
    assert about["date"].endswith("Z")
    strengths = rows(data["strengths.csv"])
    result = offered(app).surfaces["With gate, λ = 0.50"].make("a line")
    grid = rows(data["circle_sigmoid_seed33_lambda0.50.csv"])
    assert {"error of K", "|H|", "gate 1", "probability of class 1"} < {*result.fields}
    weights = [result.fields[f"weight {i} of head 1"] for i in (1, 2, 3)]
    np.testing.assert_allclose(sum(weights), 1)
    np.testing.assert_array_equal(
        [float(row["K (1 / length^2)"]) for row in grid], result.fields["K"].ravel()
    )
    np.testing.assert_array_equal(
        [[float(row[f"y{i} (length)"]) for i in (1, 2, 3)] for row in grid],
        result.points.reshape(-1, 3),
    )
    assert len(strengths) == 1 + len(STRENGTHS)
    assert any(name.startswith("circle_ungated_seed") for name in data)


def test_all_files_of_one_state_have_one_digest_and_other_states_another(taken):
    _, files = taken(strength="0.5")
    digest = json.loads(unzipped(files["Data (CSV, zipped)"][1])["about.json"])["digest"]
    weights = files["Weights"][1]()
    assert digest.encode() in weights
    assert tensors_and_metadata(weights)[1]["seeds"][0] == 32
    assert f"digest {digest}" in files["Script"][1]()
    surface = files["PLY"][1].func.__closure__  # the surface that a worker is sent
    assert surface is not None
    (sent,) = (cell.cell_contents for cell in surface if hasattr(cell.cell_contents, "about"))
    assert f"digest {digest}" in sent.about

    def digest_of(**link):
        data = unzipped(taken(**link)[1]["Data (CSV, zipped)"][1])
        return json.loads(data["about.json"])["digest"]

    assert digest_of(strength="0.5", hide="task", camera="1,2,3") == digest
    assert digest_of(strength="0.55") != digest
    assert digest_of(strength="0.5", task="xor") != digest


def test_manifold_gives_its_surfaces_with_all_fields(taken):
    app, files = taken(MANIFOLD, grid="31", **{"lambda": "0.5"})
    assert files["STL, solid"][0] == "memory_layers1_seed614_sigmoid_lambda0.50.stl"
    surfaces = offered(app).surfaces
    assert [*surfaces] == ["Without gate", "With gate, λ = 0.50"]
    flat, gated = (surfaces[name].make("digest 1") for name in surfaces)
    assert set(gated.fields) > {"K", "error of K", "|H|", "gate 1", "weight 1 of head 1"}
    assert np.all(flat.fields["K"] == 0)
    assert np.abs(gated.fields["K"]).max() > 0
    np.testing.assert_allclose(sum(gated.fields[f"weight {i} of head 1"] for i in (1, 2, 3)), 1)
    assert any("x1, x2, K, error of K, |H|, gates, weights." in x.value for x in app.caption)
    for each in (flat, gated):
        vertices, _ = solid_of(each)
        assert np.ptp(vertices, 0).max() == pytest.approx(100, abs=1e-4)
        assert ply_file(each).startswith(b"ply\n")


def test_a_line_is_no_surface_and_says_so_in_place_of_buttons(taken):
    app, files = taken(MANIFOLD, n="2", grid="31", without="gate")
    (surface, *_) = offered(app).surfaces.values()
    with pytest.raises(ValueError, match="no cell"):
        ply_file(surface.make("a line"))
    assert not {"STL, solid", "PLY", "GLB", "VTP, all fields"} & {*files}
    assert any("No cell of this surface" in each.value for each in app.caption)


@pytest.mark.soak
def test_the_gate_of_a_sphere_gives_a_sphere(taken):
    app, files = taken("pages/3_Which_gates_curve.py", case="sphere", radius="2")
    assert files["GLB"][0] == "gate_sphere_lambda1.00.glb"
    (offer,) = offered(app).surfaces.values()
    surface = offer.make("a line")
    known = surface.fields["K"][surface.resolved]
    np.testing.assert_allclose(known, 1 / 2**2, rtol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(surface.points[surface.resolved], axis=-1), 2)


def test_four_keys_give_the_surface_whose_curvature_is_written_beside_it(taken):
    app, files = taken("pages/11_Which_keys_curve.py", fourth="sink logit")
    assert files["VTP, all fields"][0] == "four_keys_sink-logit.vtp"
    assert files["Data (CSV, zipped)"][0] == "four_keys_sink-logit.zip"
    (offer,) = offered(app).surfaces.values()
    surface = offer.make("a line")
    middle = numbers(with_mode("sink", FIRST))
    assert surface.fields["K"][30, 30] == pytest.approx(middle.closed, rel=1e-9)
    shares = [surface.fields[f"weight {i}"] for i in (1, 2, 3, 4)]
    values = with_mode("sink", FIRST).values
    np.testing.assert_allclose(np.einsum("irc,id->rcd", shares, values), surface.points, atol=1e-12)
    assert surface.resolved.all()


@SOAK
@pytest.mark.parametrize(("page", "label", "function", "name"), [
    (GATES, "Picture, 3,000 px", "gating_core.export.picture_file", "gate_bump_lambda1.00.png"),
])  # fmt: skip
def test_a_file_that_takes_seconds_is_a_job_to_be_cancelled_and_begun_again(
    taken, monkeypatch, page, label, function, name
):
    app, files = taken(page)

    def endless(*about):
        while True:
            yield 0.25

    def draw():
        app.button(key=f"take_{label}").click().run()
        job, _ = app.session_state["_jobs"][label]
        return job

    with monkeypatch.context() as patch:
        patch.setattr(function, endless)
        patch.setattr("ui.work.jobs.QUIET_SECONDS", 0.0)
        app.run()  # buttons hold what the run before has put into them
        job = draw()
        assert app.button(key=f"take_{label}").disabled
        app.button(key=f"cancel Making {name}").click().run()
        job.join(60)
        assert job.over
        app.run()
    assert any(f"Making {name} was cancelled" in each.value for each in app.info)
    assert f"Save {label}" not in files
    app.run()
    (job := draw()).join(60)
    assert job.over
    app.run()
    found, make = files[f"Save {label}"]
    assert found == name
    digest = json.loads(unzipped(files["Data (CSV, zipped)"][1])["about.json"])["digest"]
    if name.endswith("png"):
        picture = Image.open(io.BytesIO(make()))
        assert picture.size[0] == 3000
        assert f"digest {digest}" in picture.text["Description"]
    else:
        assert f"digest {digest}" in make().decode()


@pytest.mark.parametrize(("page", "link"), [
    (KEYS, {"at": "0.3,-0.5", "fourth": "sink logit"}),
    (BOUNDARY, {}),
    pytest.param(LANDING, {"strength": "0.5"}, marks=SOAK),
    pytest.param(GATES, {"case": "bump", "level": "0.5", "mark": "12.40"}, marks=SOAK),
    pytest.param("pages/4_Depth.py", {"after": "5", "stacked_point": "7.20"}, marks=SOAK),
    pytest.param(KEYS, {}, marks=SOAK), pytest.param(GATES, {}, marks=SOAK),
    pytest.param(GATES, {"case": "own", "formula": "exp(u*v)"}, marks=SOAK),
    pytest.param(GATES, {"case": "channelwise", "mark": "12.40"}, marks=SOAK),
    pytest.param("pages/4_Depth.py", {"stacked": "random stacks", "after": "9"}, marks=SOAK),
    pytest.param("pages/4_Depth.py", {"stacked": "aligned gates"}, marks=SOAK),
    pytest.param(MANIFOLD, {"grid": "31"}, marks=SOAK),
    pytest.param(BOUNDARY, {"data": "xor", "seeds": "2", "steps": "50"}, marks=SOAK),
    pytest.param(HEADS, {"heads_head": "4.5"}, marks=SOAK),
    pytest.param(HEADS, {"heads_head": "1.3", "heads_special": "true"}, marks=SOAK),
])  # fmt: skip
def test_a_notebook_of_a_page_finds_the_number_that_was_shown(taken, page, link, capsys):
    name, make = taken(page, **link)[1]["Notebook"]
    assert name == f"{file_name(name.removesuffix('.ipynb'))}.ipynb"
    book = nbformat.reads(make(), as_version=4)
    nbformat.validate(book)
    codes = [cell.source for cell in book.cells if cell.cell_type == "code"]
    assert sum(len(code.splitlines()) for code in codes) <= 25
    names: dict = {}
    for code in codes:
        exec(compile(code, name, "exec"), names)
    assert isinstance(names["figure"], go.Figure)
    assert "on the page" in capsys.readouterr().out
    assert names["here"] != 0 or "channelwise" in link.values()  # it could have been missed
    wrong = codes[-1].replace("shown, error = ", "shown, error = 1e6 + ")
    with pytest.raises(AssertionError):
        exec(compile(wrong, name, "exec"), names)


@pytest.mark.parametrize(("text", "name"), [
    ("top_k_top_keys8", "top_k_top_keys8"), ("../../etc/passwd", "etc-passwd"), ("λ∫", "page"),
    ("a" * 300, "a" * 80), ("x/y\\z:*?", "x-y-z"),
])  # fmt: skip
def test_names_of_files_are_plain(text, name):
    assert file_name(text) == name


def test_a_name_says_the_tab_and_what_was_chosen():
    offer = take_along.Offer("Efficient attention")
    offer.charts["top_k"] = None
    link = {"top_k": ["8"], "camera": ["1,2,3"], "sample_seed": ["3"], "hide": ["top_k"]}
    assert default_name(offer, link) == "top_k_sample_seed3_top_k8"
