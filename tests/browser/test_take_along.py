"""Figures taken along are those on the screen, and need no server and no network."""

import io
import json
import zipfile

import numpy as np
import pytest
import trimesh
from PIL import Image

from .accessibility import assert_accessible
from .visiting import open_page, settle, visit

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

POPOVER = "[data-testid=stPopoverBody]"
NAME = "circle_sigmoid_seed33_lambda0.50"
MOST_BYTES = 1e6  # of a page that turns
VIEW = "document.querySelector('#figure canvas').gcView"


def await_stage(page):
    page.wait_for_function("document.querySelector('.gc-stage canvas')?.dataset.n > 0")
    settle(page)


def taken(page, label):
    """The name and the content of the file that the button called so saves."""
    with page.expect_download() as download:
        page.locator(POPOVER).get_by_role("button", name=label).click()
    return download.value.suggested_filename, download.value.path().read_bytes()


def class_one(locator):
    """Where a picture is orange, in its own pixels: how often, and the middle's place."""
    red, green, blue = np.asarray(Image.open(io.BytesIO(locator.screenshot())))[..., :3].T.astype(
        int
    )
    inside = (red > 185) & (blue < 116) & (green > 85)
    return [int(inside.sum()), *(float(where.mean()) for where in np.nonzero(inside))]


@pytest.mark.soak  # long
def test_the_stage_is_taken_along_as_it_is_seen(browser, served, watch, visitor, tmp_path):
    visit(visitor, watch, f"{served.url}/?strength=0.5&explore=true", await_stage)
    visitor.get_by_role("button", name="Take along").click()
    visitor.locator(f"{POPOVER} .gc-figures option").first.wait_for(state="attached")
    settle(visitor)
    assert_accessible(visitor, POPOVER)
    name, data = taken(visitor, "Data")
    assert name == f"{NAME}.zip"
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        digest = json.loads(archive.read("about.json"))["digest"]
        assert {"strengths.csv", "training_loss.csv", f"{NAME}.csv"} < {*archive.namelist()}
    name, data = taken(visitor, "STL")
    assert name == f"{NAME}.stl"
    assert trimesh.load(io.BytesIO(data), file_type="stl").is_volume
    assert digest.encode() in data

    box = visitor.locator(".gc-stage").bounding_box()
    visitor.keyboard.press("Escape")
    visitor.locator(POPOVER).wait_for(state="detached")  # it fades away over the picture
    here = class_one(visitor.locator(".gc-stage canvas").first)
    visitor.get_by_role("button", name="Take along").click()
    visitor.locator(f"{POPOVER} .gc-figures option").first.wait_for(state="attached")
    settle(visitor)
    sizes = {}
    for times in (2, 4):
        name, data = taken(visitor, f"PNG, {times}×")
        assert name.startswith(NAME)
        picture = Image.open(io.BytesIO(data))
        sizes[times] = picture.size
        assert picture.size[0] == pytest.approx(times * box["width"], abs=1)
        assert len(np.unique(np.asarray(picture)[..., :3].reshape(-1, 3), axis=0)) > 100
    name, data = taken(visitor, "PNG for slides")
    assert name.endswith("_slide.png")
    slide = np.asarray(Image.open(io.BytesIO(data)))
    assert slide.shape == (1080, 1920, 4)
    drawn = slide[..., 3] > 0
    assert 0.1 < drawn.mean() < 0.7  # on nothing
    rows, columns = (np.flatnonzero(drawn.any(axis)) for axis in (1, 0))
    assert max(np.ptp(rows) / 1080, np.ptp(columns) / 1920) > 0.85  # and as large as fits
    name, html = taken(visitor, "HTML")
    assert len(html) < MOST_BYTES
    assert digest.encode() in html
    (tmp_path / name).write_bytes(html)
    visitor.locator(".gc-figures-which").select_option("Training loss")
    _, drawing = taken(visitor, "SVG")
    assert drawing.startswith(b"<svg")
    assert digest.encode() in drawing
    assert b"training loss" in drawing
    visitor.keyboard.press("Escape")

    with open_page(browser, offline=True) as page:
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto((tmp_path / name).as_uri())
        canvas = page.locator("#figure canvas")
        page.wait_for_function(f"{VIEW}.canvas.dataset.n > 0")
        there = class_one(canvas)
        assert there == pytest.approx(here, rel=0.02, abs=2)
        before = page.evaluate(f"{VIEW}.camera.azimuth")
        scene = canvas.bounding_box()
        x, y = scene["x"] + scene["width"] / 2, scene["y"] + scene["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + 90, y, steps=4)
        page.mouse.up()
        assert page.evaluate(f"{VIEW}.camera.azimuth") == pytest.approx(before - 0.72)
        assert "gate λ = 0.50" in " ".join(page.locator("#figure span").all_inner_texts())
        assert len(asked) == 1  # the file itself
