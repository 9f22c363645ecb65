"""The film of a run: what is drawn of a frame is what its models compute."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.special import softmax

from gating_core.experiments.comparison import (
    Setting,
    drawn_frames,
    training_frames,
)
from gating_core.experiments.comparison.frames import MOST_FRAMES
from tests.core.experiments.comparison.runs import SETTINGS, SMALL, run_of
from tests.ui.payload import arrays_in
from ui.components.pair import header_of, packed_arrays
from ui.decision_boundary.controls import BoundaryView
from ui.decision_boundary.film import picture_of
from ui.decision_boundary.frames import (
    PLANE_TOLERANCE,
    film_of,
    sample_here,
    sampled_run,
    variants_of,
)

MEMBER = 1
LARGEST_PAYLOAD_MB = 8
NAMES = [*(x for x in SETTINGS if x != "tokens"), pytest.param("tokens", marks=pytest.mark.soak)]


@cache
def film(name, member=MEMBER):
    run = run_of(SETTINGS[name])
    return run, film_of(run, member, False)


def some_k(made):
    """Some K for every point, with holes in some frames."""
    rng = np.random.default_rng(0)
    fields = {side: rng.normal(size=own.values.shape[:3]) for side, own in made.sides.items()}
    for field in fields.values():
        field[1::3, 4:9, 2] = np.nan
    return fields


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", NAMES)
def test_each_frame_is_drawn_in_one_unit_with_its_points_values_and_plane(name):
    """A picture is the surface in the drawn axes, moved to its middle, turned and made larger."""
    run, made = film(name)
    for own, variant in zip(made.sides.values(), run.setting.compared, strict=True):
        frames = training_frames(run, variant, MEMBER)
        np.testing.assert_array_equal(own.frames.values, frames.values)
        if frames.values.shape[-1] == 3:
            np.testing.assert_array_equal(own.points, frames.values)
        mean = own.points.mean((1, 2), keepdims=True), own.values.mean((1, 2), keepdims=True)
        about = [x - y for x, y in zip((own.points, own.values), mean, strict=True)]
        turn = np.linalg.lstsq(*(x.reshape(-1, 3) for x in about), rcond=None)[0]
        np.testing.assert_allclose(about[0] @ turn, about[1], atol=1e-9)
        unit = np.cbrt(np.linalg.det(turn))  # positive: no mirror image
        np.testing.assert_allclose(turn @ turn.T, unit**2 * np.eye(3), atol=1e-9)
        assert np.linalg.norm(np.ptp(own.values, (1, 2)), axis=-1).max() <= 2 + 1e-9
        known = np.isfinite(own.planes).all(1)
        assert known.all() or frames.values.shape[-1] > 3 or run.setting.class_count > 2
        if known[-1] and own.corners is None:  # upwards is the final classifier's direction
            np.testing.assert_allclose(own.planes[-1, :3], [0, 0, 1], atol=1e-9)
        away = np.einsum("trcd,td->trc", own.values, own.planes[:, :3])
        away = (away + own.planes[:, 3, None, None])[known]
        if run.setting.class_count == 2 and known.any():
            margin = frames.margin[known]
            steepness = (away * margin).sum((1, 2)) / (away**2).sum((1, 2))
            error = np.abs(margin - steepness[:, None, None] * away).max((1, 2))
            tolerance = 1e-9 if frames.values.shape[-1] == 3 else 3 * PLANE_TOLERANCE
            assert (error <= tolerance * np.abs(margin).max((1, 2))).all()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("paint", ["class", "discrete", "curvature", "unmeasured"])
def test_colours(name, paint):
    run, made = film(name)
    by_class = paint in ("class", "discrete")
    view = BoundaryView("class" if by_class else "curvature", paint == "discrete")
    fields = {} if paint == "unmeasured" else some_k(made)
    picture = picture_of(made, run, MEMBER, fields, view)
    classes = made.data.class_count
    for (side, own), drawn in zip(made.sides.items(), picture.pair.sides, strict=True):
        if paint == "unmeasured":
            assert (drawn.shares == 0.5).all()
            assert np.isnan(drawn.gaussian).all()
        elif paint == "curvature":
            np.testing.assert_array_equal(drawn.gaussian, fields[side])
            np.testing.assert_array_equal(np.isnan(drawn.shares), np.isnan(fields[side]))
            inside = np.abs(fields[side]) < picture.scale.ends[1]
            shown = np.sinh((2 * drawn.shares[inside] - 1) * picture.scale.high)
            np.testing.assert_allclose(shown * picture.scale.soft, fields[side][inside], atol=1e-9)
        elif classes > 2 or paint == "discrete":
            likeliest = own.frames.logits.argmax(-1)
            np.testing.assert_array_equal(drawn.gaussian, likeliest)
            np.testing.assert_allclose(drawn.shares, likeliest / (classes - 1))
            assert picture.pair.whole
            assert [word for word, _ in picture.pair.keys] == [*made.data.names]
        else:
            np.testing.assert_allclose(
                drawn.shares, softmax(own.frames.logits, -1)[..., 1], atol=1e-12
            )
            frames = training_frames(run, variants_of(run)[side], MEMBER)
            fine = 255 * softmax(frames.fine_logits, -1)[..., 1]
            np.testing.assert_allclose(drawn.classified.fine_shares, fine, atol=0.5 + 1e-3)
            np.testing.assert_array_equal(drawn.read["K"], fields[side])
    assert picture.quantity == {
        "class": "Predicted class" if classes > 2 else "Probability of class 1",
        "discrete": "Predicted class",
        "curvature": "K over the input square",
        "unmeasured": "K is not measured yet",
    }[paint]  # fmt: skip


def test_a_plane_is_drawn_where_it_is_the_classifiers():
    """Six dimensions do not fit into three, but the plane of three values does."""
    run = run_of(replace(SMALL, variants=("ungated", "sigmoid"), model_dim=6, value_count=3))
    made = film_of(run, MEMBER, False)
    left, right = made.sides.values()
    assert np.isnan(right.planes).any() or np.isnan(left.planes).any()
    assert made.axes.endswith("% (right)")
    for own in (left, right):
        known = np.isfinite(own.planes).all(1)
        away = np.einsum("trcd,td->trc", own.values, own.planes[:, :3])
        away, margin = away + own.planes[:, 3, None, None], own.frames.margin
        wrong = np.sign(away) != np.sign(margin)
        wrong &= np.abs(margin) > PLANE_TOLERANCE * np.abs(margin).max((1, 2), keepdims=True)
        assert not wrong[known].any()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("task", ["blobs4", "checkerboard"])
def test_all_frames_are_below_eight_megabytes(task):
    """All frames that a page can request, with as many points as are ever drawn."""
    run = run_of(Setting(task=task, seed_count=2, steps=100))
    run = replace(run, frames=(run.frames * 60)[:60])
    made = film_of(run, 0, False)
    pair = picture_of(made, run, 0, some_k(made), BoundaryView()).pair
    assert len(pair.places) == len(drawn_frames(run)) == MOST_FRAMES
    entries, content = packed_arrays(pair)
    assert len(content) < LARGEST_PAYLOAD_MB * 1e6
    told = [[("", "")] * MOST_FRAMES] * 2
    header = header_of(pair, scene="", frame=0, point=None, verdicts=told, names=("", ""), note="",
                       quantity="")  # fmt: skip
    arrays = arrays_in(entries, content)
    np.testing.assert_array_equal(arrays["right"], pair.sides[1].values.astype("<f4"))
    assert ("leftCuts" in arrays) == (task == "blobs4")
    assert json.dumps(header, allow_nan=False)


@pytest.mark.parametrize("task", ["circle", "blobs4"])
def test_a_run_that_grows_is_sampled_frame_by_frame(task):
    """Whatever is known of its frames, the film is that of the whole run; none is made twice."""
    run, made = run_of(replace(SMALL, task=task)), []

    def sample(calls):
        made.extend(len(states["bias"]) for _, states, *_ in calls)
        return sample_here(calls)

    found = None
    for count in (1, 4, 4, len(run.frames)):
        part = replace(run, frames=run.frames[:count])
        found = sampled_run(part, MEMBER, found, sample)
        drawn = zip(*(film_of(part, MEMBER, False, x).sides.values() for x in (found, None)),
                    strict=True)  # fmt: skip
        for grown, whole in drawn:
            for name in ("values", "lines", "planes"):
                own, other = (getattr(side, name) for side in (grown, whole))
                assert (own is None) == (other is None)
                if own is not None:
                    np.testing.assert_allclose(own, other, atol=1e-12)
            for own, other in zip(grown.cuts or (), whole.cuts or (), strict=True):
                np.testing.assert_allclose(own, other, atol=1e-12)
    assert made == [1, 1, 3, 3, len(run.frames) - 4, len(run.frames) - 4]
    thinned = replace(run, frames=run.frames[::2])
    sampled_run(thinned, MEMBER, found, sample)
    assert len(made) == 6
    other = sampled_run(replace(run, frames=run_of(replace(SMALL, task=task, seed=7)).frames),
                        MEMBER, found)  # fmt: skip
    assert np.abs(other.sides["right"].frames.values - found.sides["right"].frames.values).max() > 0
