"""Do ten visitors at once each get what is theirs, and does everything end? Times are not asked."""

from tests.load.figures import FIRST_PAINT, TRAINING, table
from tests.load.run import hold, in_a_thread

VISITORS, SECONDS = 10, 60.0
EVERYTHING = frozenset({
    FIRST_PAINT, TRAINING, "landing: λ", "landing: left side", "landing: colour", "landing: task",
    "landing: explore", "to Manifold", "Manifold: λ", "Manifold: own model", "Manifold: layers",
    "Manifold: See", "Manifold: Inspect", "Manifold: Doubt", "own model by link", "to the lesson",
    "to the gates", "gates: colour", "to Depth", "depth: quantity", "depth: layer",
    "to the claims", "claims: claim",
    "film: seed shown", "film: own seeds", "film: cancel", "film: go on", "film: own table",
})  # fmt: skip


def test_ten_visitors_meet_no_error_and_nobody_else(served):
    found = in_a_thread(
        hold(served.url, served.pid, VISITORS, SECONDS, rounds=0, wanted=EVERYTHING)
    )
    crowd = found.crowd
    said = table(crowd, found.alone)
    assert not crowd.errors, said
    assert not crowd.crossed, said
    assert crowd.trainings, said
    assert all(x.seconds is not None or x.placed for x in crowd.trainings), said
