"""Tasks: labels follow their rules; noise, balance and shares do what they say."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gating_core.tasks.task import TASKS, make_task, split_counts

SEEDS = (0, 1, 2)
TWO_CLASSES = sorted(name for name, kind in TASKS.items() if kind.class_count == 2)
BLOBS = {
    "blobs3": np.array([[0, 0.55], [-0.55, -0.4], [0.55, -0.4]]),
    "blobs4": np.array([[0.5, 0.5], [-0.5, 0.5], [-0.5, -0.5], [0.5, -0.5]]),
}


def unscaled_moons(x):
    """Points in scikit-learn's coordinates, and their distances to the two circles' centres."""
    x = 1.75 * x + (0.5, 0.25)
    return x, np.hypot(*x.T), np.hypot(*(x - (1, 0.5)).T)


def on_second_moon(x):
    x, first, second = unscaled_moons(x)
    return np.abs(second - 1) + (x[:, 1] > 0.5) < np.abs(first - 1) + (x[:, 1] < 0)


def angle(x):
    return np.arctan2(x[:, 1], x[:, 0])


# The rules once more, said differently: class 1, or the class, of points (N, 2).
RULES = {
    "linear": lambda x: x[:, 1] > -x[:, 0],
    "offset": lambda x: 10 * x[:, 1] + 5 * x[:, 0] > 3,
    "xor": lambda x: (x[:, 0] > 0) == (x[:, 1] > 0),
    "circle": lambda x: np.pi * (x**2).sum(-1) < 2,
    "moons": on_second_moon,
    "spiral": lambda x: np.cos(angle(x) - 3.5 * np.pi * np.hypot(*x.T)) < 0,
    "checkerboard": lambda x: np.sin(2 * np.pi * x).prod(-1) < 0,
    "rings": lambda x: np.sin(3 * np.pi * np.hypot(*x.T)) > 0,
    "islands": lambda x: (
        np.abs(x @ (1, 1j) - 0.45 - 0.4j) * np.abs(x @ (1, 1j) + 0.45 + 0.4j)
        < 0.38 * np.maximum(np.abs(x @ (1, 1j) - 0.45 - 0.4j), np.abs(x @ (1, 1j) + 0.45 + 0.4j))
    ),
    "sine": lambda x: 1.5 * x[:, 1] - np.sin(np.pi * x[:, 0]) > 0,
    "cubic": lambda x: x[:, 1] > x[:, 0] * (np.sqrt(2) * x[:, 0] - 1) * (np.sqrt(2) * x[:, 0] + 1),
    "abs": lambda x: (x[:, 1] > 2 * x[:, 0] - 1) & (x[:, 1] > -2 * x[:, 0] - 1),
}
SHARES = dict.fromkeys(TWO_CLASSES, (0.5, 0.5)) | {
    "offset": (0.65, 0.35),  # the line cuts the square from (-1, .8) to (1, -.2)
    "rings": (1 - np.pi / 6, np.pi / 6),  # the disc of radius 1/3 and the ring from 2/3 to 1
    "islands": (1 - 0.0722 * np.pi, 0.0722 * np.pi),  # discs of radius .38
    "blobs3": (1 / 3,) * 3,
    "blobs4": (1 / 4,) * 4,
}


def arrays(task):
    return task.train_points, task.train_labels, task.test_points, task.test_labels


@pytest.mark.parametrize("name", sorted(TASKS))
def test_tasks_are_documented_arrays(name):
    task = make_task(name, points=100, test_points=50, seeds=SEEDS)
    assert task.train_points.shape == (3, 100, 2)
    assert task.test_points.shape == (3, 50, 2)
    assert task.train_labels.shape == (3, 100)
    assert task.train_points.dtype == np.float64
    assert task.train_labels.dtype == np.int64
    assert task.class_count == len(SHARES[name])
    assert set(np.unique(task.train_labels)) == set(range(task.class_count))
    outside = (np.abs(task.train_points) > 1).any(-1).mean()
    assert outside <= (0.03 if name in BLOBS else 0)  # Gaussian tails: about 0.5 %
    assert not np.array_equal(task.train_points[0], task.train_points[1])
    assert not np.array_equal(task.train_points[0, :50], task.test_points[0])


def test_one_line_parts_any_two_classes_unless_the_boundary_is_curved():
    for name, kind in TASKS.items():
        task = make_task(name, points=600, seeds=(1,))
        points, labels = task.train_points[0], task.train_labels[0]
        worst = min(
            best_straight_share(points, labels, pair)
            for pair in itertools.combinations(range(kind.class_count), 2)
        )
        assert (worst > 0.98) == (name in {"linear", "offset", *BLOBS}), (name, worst)


def best_straight_share(points, labels, pair):
    """The largest share of two classes that lies right of a straight line, of 180 directions."""
    first, second = (points[labels == label] for label in pair)
    angles = np.linspace(0, 2 * np.pi, 180, endpoint=False)
    along = np.stack([np.cos(angles), np.sin(angles)])
    cuts = np.linspace(-1.5, 1.5, 121)[:, None, None]
    right = ((first @ along > cuts).sum(1) + (second @ along <= cuts).sum(1)).max()
    return right / (len(first) + len(second))


def test_every_task_has_a_rule():
    assert set(RULES) | set(BLOBS) == set(TASKS), "a task needs its rule once more, in RULES"
    assert set(SHARES) == set(TASKS), "a task of other classes needs their shares, in SHARES"
    assert {name for name, kind in TASKS.items() if kind.class_count != 2} == set(BLOBS)


@pytest.mark.parametrize("name", sorted(RULES))
def test_labels_follow_the_rule(name):
    task = make_task(name, points=400, seeds=SEEDS)
    for points, labels in zip(task.train_points, task.train_labels, strict=True):
        assert np.array_equal(labels, RULES[name](points))


def test_moons_lie_on_two_circles():
    task = make_task("moons", points=100)
    _, first, second = unscaled_moons(task.train_points[0])
    distance = np.where(task.train_labels[0] == 0, first, second)
    np.testing.assert_allclose(distance, 1, atol=1e-12)


@pytest.mark.parametrize("balance", [None, 0.3])
@pytest.mark.parametrize("name", sorted(TASKS))
def test_what_is_tested_was_not_learned(name, balance):
    """scikit-learn's moons are evenly spaced: two draws of one count would be the same set."""
    if balance is not None and TASKS[name].class_count != 2:
        return
    task = make_task(name, points=200, test_points=200, seeds=SEEDS, balance=balance)
    for train, test in zip(task.train_points, task.test_points, strict=True):
        known = {tuple(point) for point in train}
        assert sum(tuple(point) in known for point in test) <= 2


@pytest.mark.parametrize("name", sorted(BLOBS))
def test_blobs_are_gaussian_about_their_centres(name):
    task = make_task(name, points=4000)
    points, labels = task.train_points[0], task.train_labels[0]
    away = points - BLOBS[name][labels]
    # 4,000 points: standard errors .0027 of the deviation's and .005 of a mean's coordinates.
    assert abs(away.std() - 0.17) < 0.01
    for label in range(task.class_count):
        assert np.abs(away[labels == label].mean(0)).max() < 0.03
    nearest = np.linalg.norm(points[:, None] - BLOBS[name], axis=-1).argmin(-1)
    assert (nearest == labels).mean() > 0.98


@pytest.mark.parametrize("name", sorted(TASKS))
def test_classes_have_their_shares(name):
    labels = make_task(name, points=4000, seeds=SEEDS).train_labels
    found = np.bincount(labels.ravel()) / labels.size
    # 12,000 points: five standard errors of a share.
    atol = 5 * 0.5 / np.sqrt(12_000)
    np.testing.assert_allclose(found, SHARES[name], atol=atol, err_msg=f"{name} in SHARES")


# First and last training point of seed 7, and how many of its 256 are of class 1.
PINNED = {
    "linear": ((0.761755685005, 0.215489398577), (0.816152829893, 0.374682745254), 134),
    "xor": ((0.762844678195, 0.564174035169), (0.555267998187, -0.341847968668), 129),
    "circle": ((0.124993726043, -0.263506448226), (-0.243970336190, 0.993794040340), 126),
    "moons": ((0.219196908476, 0.124715834527), (0.815650550967, -0.070914153194), 137),
}  # fmt: skip


@pytest.mark.parametrize("name", PINNED)
def test_the_landing_pages_data_stay_what_they_were(name):
    task = make_task(name, seeds=(7,))
    first, last, ones = PINNED[name]
    np.testing.assert_allclose(task.train_points[0, [0, -1]], [first, last], rtol=0, atol=1e-11)
    assert task.train_labels.sum() == ones


@pytest.mark.parametrize("name", sorted(TASKS))
def test_a_seed_draws_the_same_data_in_every_company_and_noise_moves_it(name):
    alone, many = make_task(name, seeds=(5,)), make_task(name, seeds=(4, 5))
    for one, two in zip(arrays(alone), arrays(many), strict=True):
        assert np.array_equal(one[0], two[1])
    noisy = make_task(name, noise=0.1, seeds=(5,))
    moved = noisy.train_points - alone.train_points
    assert abs(moved.std() - 0.1) < 5 * 0.1 / np.sqrt(2 * moved.size)
    assert np.array_equal(noisy.train_labels, alone.train_labels)


@pytest.mark.parametrize("name", sorted(TASKS))
def test_label_noise_changes_that_share_of_the_training_labels_and_nothing_else(name):
    clean, few, many = (
        make_task(name, points=200, test_points=50, seeds=SEEDS, label_noise=share)
        for share in (0.0, 0.1, 0.5)
    )
    for task, count in ((few, 20), (many, 100)):
        changed = task.train_labels != clean.train_labels
        assert (changed.sum(-1) == count).all()
        assert np.array_equal(task.train_points, clean.train_points)
        assert np.array_equal(task.test_points, clean.test_points)
        assert np.array_equal(task.test_labels, clean.test_labels)
        assert set(np.unique(task.train_labels)) == set(range(clean.class_count))
    was_changed = few.train_labels != clean.train_labels
    assert np.array_equal(many.train_labels[was_changed], few.train_labels[was_changed])
    assert not np.array_equal(was_changed[0], was_changed[1])


def test_changed_labels_go_to_every_other_class():
    clean = make_task("blobs4", points=4000)
    noisy = make_task("blobs4", points=4000, label_noise=0.5)
    step = (noisy.train_labels - clean.train_labels)[noisy.train_labels != clean.train_labels] % 4
    # 2,000 changes to three classes: five standard errors of a share.
    np.testing.assert_allclose(np.bincount(step)[1:] / 2000, 1 / 3, atol=0.053)


@pytest.mark.parametrize("name", TWO_CLASSES)
@pytest.mark.parametrize("balance", [0.1, 0.33, 0.9])
def test_balance_is_the_share_of_class_0(name, balance):
    task = make_task(name, points=203, test_points=100, seeds=SEEDS, balance=balance)
    assert (np.sum(task.train_labels == 0, -1) == round(203 * balance)).all()
    assert (np.sum(task.test_labels == 0, -1) == round(100 * balance)).all()
    for points, labels in zip(task.train_points, task.train_labels, strict=True):
        assert np.array_equal(labels, RULES[name](points))
        assert len(np.unique(points, axis=0)) == len(points)  # drawn anew, never repeated
        # Mixed: each half has points of both classes (with 20 of the rarer one).
        assert {len(np.unique(labels[:101])), len(np.unique(labels[101:]))} == {2}


@pytest.mark.parametrize("name", TWO_CLASSES)
def test_both_classes_are_there_even_among_the_fewest_points(name):
    task = make_task(name, points=8, test_points=8, seeds=range(20), balance=0.1)
    assert (np.sum(task.train_labels == 0, -1) == 1).all()
    assert task.class_count == 2


@given(total=st.integers(16, 100_000), share=st.floats(0.1, 0.9))
def test_splits_add_up(total, share):
    train, test = split_counts(total, share)
    assert train + test == total
    assert min(train, test) >= 8
    assert abs(train - share * total) <= 8
    if 8 <= round(share * total) <= total - 8:
        assert train == round(share * total)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(name="spirals"), "task is 'spirals'"),
        (dict(name="xor", points=4), "points is 4"),
        (dict(name="xor", test_points=0), "test_points is 0"),
        (dict(name="xor", noise=-1), "noise is -1"),
        (dict(name="xor", noise=float("nan")), "noise is nan"),
        (dict(name="xor", seeds=()), "seeds"),
        (dict(name="xor", label_noise=0.51), r"label_noise is 0\.51; .* from 0 to 0\.5"),
        (dict(name="xor", label_noise=-0.1), "label_noise"),
        (dict(name="xor", label_noise=None), "label_noise is None"),
        (dict(name="xor", balance=0.05), r"balance is 0\.05; .* from 0\.1 to 0\.9"),
        (dict(name="xor", balance=0.95), "balance"),
        (dict(name="xor", balance="half"), "balance is 'half'"),
        (dict(name="blobs3", balance=0.5), "must be None for 'blobs3', which has 3 classes"),
    ],
)
def test_wrong_tasks_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_task(**arguments)


@pytest.mark.parametrize(
    ("total", "share", "message"),
    [(15, 0.5, "total"), (100_001, 0.5, "total"), (1.5, 0.5, "total"),
     (100, 0.0, "train_share"), (100, 1.0, "train_share"), (100, None, "train_share")],
)  # fmt: skip
def test_wrong_splits_are_refused(total, share, message):
    with pytest.raises(ValueError, match=message):
        split_counts(total, share)
