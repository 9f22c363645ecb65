"""A callback that raises `Cancelled` ends whatever reports to it, at once."""

from collections.abc import Iterator

import pytest

from gating_core import train
from gating_core.experiments.comparison import sweep_strengths
from gating_core.experiments.comparison.frames import curvature_along, final_curvature
from gating_core.experiments.comparison.run import train_further, train_setting
from gating_core.experiments.depth import (
    DepthRequest,
    TrainedRequest,
    curves,
    measure_regime,
    train_depths,
)
from gating_core.experiments.instance import ModelInstance, integrate_instance
from gating_core.experts import CurvesRequest, SampleRequest, accuracies_at, learn
from gating_core.geometry import adaptive_integrals
from gating_core.geometry.classics import SURFACES
from gating_core.lm.backcopy import ToyRequest, train_toy
from gating_core.progress import Cancelled
from tests.core.experiments.comparison.runs import SMALL, run_of

CALLS = {
    adaptive_integrals: lambda: (SURFACES["sphere by gating"].chart,),
    integrate_instance: lambda: (ModelInstance(),),
    train: lambda: (SMALL,),
    train_setting: lambda: (SMALL,),
    train_further: lambda: (run_of(SMALL), 10),
    curvature_along: lambda: (run_of(SMALL), "sigmoid", 0),
    final_curvature: lambda: (run_of(SMALL), "sigmoid", 0),
    sweep_strengths: lambda: (run_of(SMALL),),
    measure_regime: lambda: (DepthRequest(grid=41), "gated_plain"),
    train_depths: lambda: (TrainedRequest(),),
    learn: lambda: ((0,), SampleRequest(), "none"),
    accuracies_at: lambda: ((25,), CurvesRequest()),
    train_toy: lambda: (ToyRequest(),),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("function", CALLS, ids=lambda function: function.__name__)
def test_cancelled_at_a_report_nothing_more_is_reported(function, monkeypatch):
    monkeypatch.setattr(curves, "LAYERS_PART_POINTS", 20_000)
    reports = []

    def progress(share):
        reports.append(share)
        if len(reports) == 2:
            raise Cancelled

    def whole():
        result = function(*CALLS[function](), progress=progress)
        return list(result) if isinstance(result, Iterator) else result

    with pytest.raises(Cancelled):
        whole()
    assert len(reports) == 2
    shares = [share for share in reports if share is not None]
    assert shares == sorted(shares)
    assert all(0 <= share <= 1 for share in shares)
