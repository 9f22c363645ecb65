"""The sections of the page Steering by the name of their tab; one tab is open at a time."""

from __future__ import annotations

from collections.abc import Callable

from ui.steering.features_section import draw_features
from ui.steering.outcomes_section import draw_measured
from ui.steering.request import FEATURES, MEASURED, STEER
from ui.steering.steer_section import draw_steer

SECTIONS: dict[str, Callable[[], None]] = {
    STEER: draw_steer,
    FEATURES: draw_features,
    MEASURED: draw_measured,
}
