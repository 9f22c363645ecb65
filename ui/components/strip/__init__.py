"""A strip of dots, one for every seed: a row for each kind of model, drawn in SVG.

No Plotly chart: Streamlit's would load a plotly.js of its own, a second on every first visit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ui.components import wire
from ui.components.source import declare
from ui.drawing.chart_map import round_numbers

ROOM = 0.06  # of the range, added at both ends
LEAST_RANGE = 1.0  # in percent: equal accuracies stand in the middle
_component = declare("strip")


def strip(
    *,
    key: str,
    label: str,
    title: str,
    accuracies: Mapping[str, np.ndarray],
    colours: Sequence[str],
    seeds: Sequence[int],
    shown: int | None = None,
    on_pick: Callable[[int], None] | None = None,
) -> None:
    """Draw ``accuracies``, shares (S,) by the name of their row, each row in one of ``colours``.

    ``shown`` is the index of the seed that is ringed. ``label`` is read aloud, ``title`` stands
    under the axis. With ``on_pick`` dots are buttons; a press calls it with the seed, once.
    """
    percents = {name: 100 * np.asarray(values, float) for name, values in accuracies.items()}
    whole = np.concatenate([*percents.values()])
    whole = whole if len(whole) else np.array([50.0, 100.0])  # nothing is known yet
    low, high = float(np.nanmin(whole)), float(np.nanmax(whole))
    room = max(ROOM * (high - low), (LEAST_RANGE - (high - low)) / 2, 0.0)
    low, high = low - room, high + room

    _component(
        key=key,
        data={
            "label": label,
            "title": title,
            "rows": [
                {"name": name, "colour": colour, "values": values.tolist()}
                for (name, values), colour in zip(percents.items(), colours, strict=True)
            ],
            "seeds": list(seeds),
            "shown": shown,
            "range": [low, high],
            "ticks": round_numbers(low, high),
            "picks": on_pick is not None,
            "heard": wire.heard(key),
        },
        on_picked_change=wire.listener(
            key,
            "picked",
            lambda message: on_pick is not None and message["seed"] in seeds,
            lambda message: on_pick and on_pick(message["seed"]),
        ),
    )
