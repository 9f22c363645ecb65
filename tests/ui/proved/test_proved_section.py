"""Pages show what is proved, as it grows, and say loudly what contradicts it."""

import itertools
import threading
from dataclasses import replace

import pytest

from gating_core.attention import AttentionConfig, GateConfig
from gating_core.experiments import measuring
from gating_core.experiments.instance import ModelInstance, chart_of
from gating_core.proved import (
    MissingRule,
    ProvedCurvature,
)
from tests.ui.opening import TIMEOUT_SECONDS, figure, open_page
from ui import proved
from ui.manifold import errors
from ui.manifold.shared import TOTALS
from ui.proved import PROOFS, NoProof, ProofRequest, ProvableSurface, prove
from ui.work import jobs, pool
from ui.work.cache import Cache
from ui.work.jobs import State

MANIFOLD = "pages/1_Manifold.py"
LINK = dict(tab="Error analysis", grid="31", proof="true", proof_cells="16,000")


@pytest.fixture(autouse=True, scope="module")
def quick():
    """Totals that are refined for tenths of a second."""
    TOTALS.cache.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measuring, "AFFORDABLE_COST", 1e6)
        yield
    TOTALS.cache.clear()


def open_manifold(**more):
    app = open_page(MANIFOLD, **LINK | more)
    assert not app.exception
    return app


def texts(app):
    return [element.value for element in app.markdown]


def said(app, name):
    (text,) = [text for text in texts(app) if text.startswith(f"**{name}:**")]
    return text


def wrong(app):
    return [element.value for element in app.error]


def test_nothing_is_computed_before_the_fold_is_open():
    app = open_page(MANIFOLD, tab="Error analysis", grid="31")
    assert not app.exception
    assert PROOFS.name not in app.session_state["_jobs"]
    assert not [chart for chart in app.get("plotly_chart") if "proved_map" in chart.proto.id]


@pytest.mark.soak
def test_manifold_shows_what_is_proved_beside_the_estimate():
    app = open_manifold()
    assert not app.error
    assert not app.warning
    assert "K = 0 on the whole chart, proved: " in said(app, "Without gate")
    text = said(app, "With gate")
    assert "of the chart)" in text
    assert "Its total curvature ∫|K| dA is between 1.18" in text
    assert text.endswith("which agrees.")
    drawn = figure(app, "proved_map_0")
    assert drawn["layout"]["yaxis"]["scaleanchor"] == "x"
    assert [trace["name"] for trace in drawn["data"] if trace["showlegend"]] == [
        "K > 0",
        "K < 0",
        "undetermined",
    ]
    labels = [popover.proto.popover.label for popover in app.get("popover")]
    assert labels.count("How to read this map") == 1
    assert "surface = chart_of(ModelInstance(config=AttentionConfig(" in app.code[0].value


def test_a_wrong_estimate_is_told_loudly(monkeypatch):
    right = errors.best_total

    def planted(variant, refined):
        total = right(variant, refined)
        gated = total is not None and variant.instance.config.gate is not None
        return replace(total, value=total.value * 1.1) if gated else total

    monkeypatch.setattr(errors, "best_total", planted)
    (text,) = wrong(open_manifold())
    assert text.startswith("**With gate.** **Proof and estimate contradict each other")
    assert "one of them is wrong" in text


def test_wrong_signs_at_points_are_told_loudly(monkeypatch):
    right = errors.Compared

    def planted(name, surface, estimates, known):
        return right(name, surface, estimates, replace(known, gaussian=-known.gaussian))

    monkeypatch.setattr(errors, "Compared", planted)
    (text,) = wrong(open_manifold())
    assert text.startswith("**With gate.** **Proof and measurement contradict each other")


def test_a_proof_grows_and_what_is_proved_stays_after_cancel(monkeypatch):
    """The first pass is shown while the rest is made; a click begins again."""

    together = pool.POOL.together

    def first_alone(function, calls, **more):
        if function is not prove:
            yield from together(function, calls, **more)
            return
        yield 0, next(item for item in function(*calls[0]) if isinstance(item, ProvedCurvature))
        while True:
            threading.Event().wait(0.01)
            yield None

    monkeypatch.setattr(pool.POOL, "together", first_alone)
    monkeypatch.setattr(jobs, "AT_ONCE_SECONDS", 0.5)
    monkeypatch.setattr(PROOFS, "cache", Cache(1e8))
    app = open_manifold(source="tokens")  # both variants curve
    job = app.session_state["_jobs"][PROOFS.name][0]
    assert not job.over
    assert "is undetermined." in said(app, "Without gate")
    assert figure(app, "proved_map_0")
    assert not [text for text in texts(app) if text.startswith("**With gate:**")]
    job.cancel_by_visitor()
    job.join(TIMEOUT_SECONDS)
    assert job.over
    app.run()
    assert not app.exception
    (text,) = [element.value for element in app.info]
    assert text.startswith("Proving the sign of K was cancelled after")
    assert text.endswith("Results so far are kept.")
    assert "is undetermined." in said(app, "Without gate")
    app.button(key="proof_again_button").click().run()
    second = app.session_state["_jobs"][PROOFS.name][0]
    assert second is not job
    assert not second.over
    second.cancel()
    second.join(TIMEOUT_SECONDS)
    assert second.over
    assert job.state is second.state is State.CANCELLED


def test_partial_results_thin_out_and_grow(monkeypatch):
    monkeypatch.setattr(proved, "PARTIAL_SECONDS", 0.0)
    instance = ModelInstance(AttentionConfig(gate=GateConfig()), seed=614)
    request = ProofRequest(ProvableSurface(instance, chart_of(instance), None), 8000)
    steps, items = prove(request), []
    while True:
        try:
            items.append(next(steps))
        except StopIteration as end:
            last = end.value
            break
    grown = items
    counts = [proof.count for proof in grown]
    assert len(grown) > 2
    assert all(b >= proved.PARTIAL_GROWTH * a for a, b in itertools.pairwise(counts))
    shares = [proof.open for proof in (*grown, last)]
    assert shares == sorted(shares, reverse=True)
    assert last.labels.element_size() == 1


def test_a_model_without_a_proof_is_told_in_one_sentence(monkeypatch):
    def no_steps(*arguments):
        raise MissingRule("no error rule for sort")
        yield

    monkeypatch.setattr(proved, "proof_steps", no_steps)
    monkeypatch.setattr(PROOFS, "cache", Cache(1e8))
    app = open_manifold()
    assert not app.error
    (text, _) = [element.value for element in app.info]
    assert text == "Without gate: Nothing can be proved of this model: no error rule for sort."
    with pytest.raises(StopIteration) as end:
        next(prove(ProofRequest(ProvableSurface("any", len), 10)))
    assert isinstance(end.value.value, NoProof)


def test_the_landing_page_proves_the_gated_model_at_its_strength():
    link = {name: LINK[name] for name in ("proof", "proof_cells")}
    app = open_page(**link)
    assert not app.exception
    assert not app.error
    text = said(app, "With its gate at λ = 1.00")
    assert "K > 0 on at least 67.6" in text
    assert "is between 4.4849 and 4.4916, proved" in text
    assert text.endswith("The estimate is 4.4879 ± 0.0025, which agrees.")
    assert "run = load_preset('circle')" in app.code[0].value
    flat = open_page(strength="0", **link)
    assert "K = 0 on the whole chart, proved: " in said(flat, "With its gate at λ = 0.00")
    assert not [chart for chart in flat.get("plotly_chart") if "proved_map" in chart.proto.id]
