"""Six visitors at once, and a class: no errors, nobody sees another's numbers, all votes count."""

import pytest

from tests.load.classroom import hold_class
from tests.load.figures import FIRST_PAINT, TRAINING, table
from tests.load.run import QUICK, hold
from tests.load.session import in_a_thread
from tests.profiles import SOAK

VISITORS, SECONDS, STAYS = 6, 60.0, (2, 3)
STUDENTS, QUESTIONS = (300, 100) if SOAK else (30, 2)  # of a class
EVERYTHING = frozenset({
    FIRST_PAINT, TRAINING, "landing: λ", "landing: left side", "landing: colour", "landing: task",
    "landing: explore", "to Manifold", "Manifold: λ", "Manifold: own model", "Manifold: layers",
    "Manifold: Surface", "Manifold: Inspect", "Manifold: Error analysis", "own model by link",
    "to the lesson",
    "to the gates", "gates: colour", "to Depth", "depth: quantity", "depth: layer",
    "to the claims", "claims: claim",
    "to Mixture of experts", "Experts: gate", "Experts: Decomposition", "Experts: λ",
    "to Real heads", "Real heads: head", "Real heads: text", "Real heads: plane",
    "to Language models", "Language models: text", "Language models: Attention sinks",
    "Language models: Gate sparsity",
    "to Efficient attention", "Efficient attention: k", "Efficient attention: KV-cache eviction",
    "Efficient attention: text", "Efficient attention: Delta correction",
    "Efficient attention: γ", "Efficient attention: Linear and hybrid",
    "Efficient attention: state",
    "to Steering", "Steering: text", "Steering: Features", "Steering: Results",
    "film: seed shown", "film: own seeds", "film: cancel", "film: go on", "film: own table",
})  # fmt: skip


@pytest.mark.soak  # a minute
def test_six_visitors_meet_no_error_and_no_numbers_of_others(server):
    load = in_a_thread(hold(server.url, server.pid, VISITORS, SECONDS, 0, EVERYTHING, QUICK, STAYS))
    crowd = load.crowd
    text = table(crowd, load.alone)
    assert not crowd.errors, text
    assert not crowd.crossed, text
    assert crowd.trainings, text
    assert all(x.seconds is not None or x.queued for x in crowd.trainings), text


def test_a_class_follows_its_teacher_and_every_vote_counts_once(server):
    room = in_a_thread(hold_class(server.url, STUDENTS, QUESTIONS))
    assert all(room.goals.values()), "\n".join([str(room), str(room.goals), *room.errors])
