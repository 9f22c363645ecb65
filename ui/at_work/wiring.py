"""The tab Wiring: what feeds the MLP of each block, and what that is worth.

By name of a wiring, in the order of `WIRINGS`. Shapes: S seeds, N texts, L blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import streamlit as st

from gating_core.at_work import (
    BEFORE,
    CORNERS,
    PairedDifference,
    StepTime,
    load_times,
    loss_difference,
)
from gating_core.language import MODELS, WIRINGS
from gating_core.training import mean_interval
from ui.at_work import measured
from ui.at_work.confidence import (
    HARDLY,
    HIGHER,
    LEAST_SEEDS,
    LOWER,
    TABLE,
    TOO_FEW,
    difference_text,
    word,
)
from ui.at_work.parts import Models, draw_csv, draw_explanation, draw_titled, seeds_text
from ui.at_work.wiring_picture import block_chart, curvature_chart, diagram, label, loss_chart
from ui.at_work.write import losses
from ui.common.language_models import TITLES
from ui.common.lessons import section
from ui.common.parts import chart_columns
from ui.common.words import figures, plus_minus

BASE, FAL, CONTROL = "usual", "fal", "parallel"
MODEL_OF = {config.wiring: name for name, config in MODELS.items() if config.gate is None}
MARGIN = TABLE["loss"].margin
PAPER_SAVED, PAPER_THROUGHPUT = 44, 1.18  # percent on several GPUs; times on one: Kim et al.


def draw_wiring() -> None:
    """Draw the wirings, and what they differ in; the seeds compared are those that all have."""
    shown = [name for name in WIRINGS if _seeds(name)]
    seeds = sorted(set.intersection(*map(_seeds, shown))) if BASE in shown else []
    if len(shown) < 2 or not seeds:
        st.info(section("at_work", "no_wirings"))
        return

    def of(part: str) -> dict[str, np.ndarray]:
        return {name: measured.over_seeds(MODEL_OF[name], part, seeds) for name in shown}

    sums, counts = of("strengths.sums"), of("strengths.counts")
    loss = {name: losses(sums[name], counts[name])[:, -1] for name in shown}
    linked = {name for name in shown if WIRINGS[name].reads_own or WIRINGS[name].reads_first}
    # Without a link, attention reaches the MLP of the first block alone.
    links = {name: part.swapaxes(1, 2)[..., : None if name in linked else 1]
             for name, part in of("wiring.links").items()}  # fmt: skip
    gradients = {name: part.swapaxes(1, 2) for name, part in of("wiring.gradients").items()}
    totals, errors = of("wiring.total"), of("wiring.total_error")
    complete = all(part.all() for part in of("wiring.complete").values())

    def less(name: str, other: str) -> PairedDifference:
        return loss_difference(sums[name][:, -1], sums[other][:, -1], counts[other][0])

    against = {name: less(name, BASE) for name in shown if name != BASE}
    sentences = {
        "loss": loss_text(loss, against, BASE),
        "gain": gain_text(less(FAL, CONTROL), against[CONTROL])
        if {FAL, CONTROL} <= set(shown) else "",
        "blocks": blocks_text(links, gradients, BASE),
        "curvature": curvature_text(totals, errors, complete),
    }  # fmt: skip
    st.markdown(f"{sentences['loss']} {sentences['gain']}")
    for column, (name, wiring) in zip(st.columns(len(WIRINGS)), WIRINGS.items(), strict=True):
        with column:
            draw_titled((f"diagram_{name}",),
                        partial(diagram, wiring, MODELS[MODEL_OF[name]].depth),
                        f"<b>{label(name, whole=True)}</b>", feeds(name))  # fmt: skip
    st.caption(section("at_work", "wiring_legend"))
    charts = (
        ("wiring_loss", "loss", partial(loss_chart, loss)),
        ("wiring_links", "blocks", partial(block_chart, links, "nats", "%{y:.4f} nats")),
        ("wiring_gradients", "blocks", partial(block_chart, gradients, "norm", "%{y:.4f}")),
        ("wiring_curvature", "curvature", partial(curvature_chart, totals, errors)),
    )
    columns = chart_columns("wiring", len(charts))
    for column, (name, sentence, make) in zip(columns, charts, strict=True):
        with column:
            draw_titled((name, *seeds), make, section("at_work", f"head_{name}"),
                        sentences[sentence])  # fmt: skip
    st.markdown(f"{sentences['blocks']} {sentences['curvature']} {time_text(load_times())}")
    with st.container(horizontal=True):
        draw_explanation("wiring", "wiring", before=BEFORE, corners=", ".join(CORNERS),
                         margin=f"{MARGIN:g}", texts=gradients[BASE].shape[1])  # fmt: skip
        draw_csv("Wiring", lambda: wiring_csv(measured.table()))


def _seeds(name: str) -> set[int]:
    """The seeds of the measured models of a wiring."""
    return {seed for of, seed in measured.table() if of == MODEL_OF[name]}


# --- Sentences ------------------------------------------------------------------------------------


def feeds(name: str) -> str:
    """Say what the MLP of a later block reads, from the table of wirings."""
    wiring = WIRINGS[name]
    read = ["x", *(["A of its block"] if wiring.reads_own else []),
            *(["A1"] if wiring.reads_first else [])]  # fmt: skip
    return f"{label(name)}: from the second block on, M reads {' + '.join(read)}"


def loss_text(losses: Mapping[str, np.ndarray], against: Mapping[str, PairedDifference],
              base: str) -> str:  # fmt: skip
    """Say which wirings read better than ``base``: losses (S,), differences from it."""
    parts = []
    for name, of in against.items():
        verdict = word(of, MARGIN)
        stated = "" if verdict == TOO_FEW else f"**{verdict}** "
        parts.append(f"{label(name)} {stated}({difference_text(of)})")
    seeds = min(len(of.by_seed) for of in against.values())
    few = "" if seeds >= LEAST_SEEDS else " Fewer than three seeds: no verdict."
    return (
        f"Loss after equally many steps: {label(base)} {losses[base].mean():.3f} nats. Difference,"
        f" paired over {seeds_text(seeds)}: {', '.join(parts)}.{few}"
    )


def gain_text(fal: PairedDifference, control: PairedDifference) -> str:
    """Say whether A1 makes the difference.

    ``fal`` is FAL less the control without A1, ``control`` the control less the usual wiring.
    """
    if TOO_FEW in (word(fal, MARGIN), word(control, MARGIN)):
        return ""
    if word(fal, MARGIN) == LOWER and word(control, MARGIN) != LOWER:
        return (
            "FAL has a lower loss than *parallel*, the same without A1"
            f" ({difference_text(fal)}): **A1 reduces the loss**."
        )
    verdict = {HIGHER: "A1 increases the loss", HARDLY: "A1 hardly changes the loss"}.get(
        word(fal, MARGIN), "It is inconclusive whether A1 reduces the loss"
    )
    return f"FAL minus *parallel*, the same without A1: {difference_text(fal)}. **{verdict}**."


def blocks_text(links: Mapping[str, np.ndarray], gradients: Mapping[str, np.ndarray],
                base: str) -> str:  # fmt: skip
    """Say where links cost most, and how the gradient at the first attention differs: (S, N, L)."""
    costs = []
    for name, of in links.items():
        means = of.mean((0, 1))
        costs.append(f"{label(name)} {figures(float(means.max()))} (block {means.argmax() + 1})")
    parts = []
    for name, of in gradients.items():
        if name != base:
            parts.append(f"{label(name)} {_ratio(of[..., 0], gradients[base][..., 0])}")
    return (
        f"The largest Δ loss of an ablated link, in nats: {', '.join(costs)}. Gradient at the"
        f" first attention, over that of {label(base)}: {', '.join(parts)}."
    )


def _ratio(values: np.ndarray, others: np.ndarray) -> str:
    """The quotient of means over texts of (S, N), paired by seed, with its interval over seeds."""
    by_seed = values.mean(-1) / others.mean(-1)[: len(values)]
    if len(by_seed) < 2:
        return figures(float(by_seed.mean()))
    mean = mean_interval(by_seed)
    return plus_minus(mean.mean, mean.half_width)


def curvature_text(totals: Mapping[str, np.ndarray], errors: Mapping[str, np.ndarray],
                   complete: bool) -> str:  # fmt: skip
    """Say how much the last block's output curves: ∫|K| dA and its errors, (S, L)."""
    parts = []
    for name, total in totals.items():
        last = total[:, -1]
        if len(last) > 1:
            mean = mean_interval(last)
            parts.append(f"{label(name)} {plus_minus(mean.mean, mean.half_width, 0.0)}")
        else:
            parts.append(f"{label(name)} {plus_minus(last[0], errors[name][0, -1])}")
    least = "" if complete else " (lower estimates: some points are not resolved)"
    return f"∫|K| dA of the last block{least}: {', '.join(parts)}."


def time_text(times: StepTime | None) -> str:
    """Say what attention and MLP in parallel save here, and what the paper says elsewhere."""
    paper = (
        f"Kim et al. report up to {PAPER_SAVED} % less training time on several GPUs and"
        f" {PAPER_THROUGHPUT} times the throughput on one. That is not measured here."
    )
    if times is None:
        return paper
    middle, low, high = times.ratio()
    seconds = np.median(times.side_by_side), np.median(times.all_cores)
    side, after = (figures(1000 * float(x)) for x in seconds)
    verdict = "no gain" if high >= 1 >= low else "faster" if high < 1 else "slower"
    return (
        f"On a machine with {times.cores} cores, one block takes {side} ms with attention and MLP"
        f" in parallel, {after} ms with one after the other on two cores (quotient {middle:.2f},"
        f" quartiles {low:.2f} to {high:.2f}: **{verdict}**). {paper}"
    )


def wiring_csv(models: Models) -> Iterator[Sequence[object]]:
    """Yield a row for every block of every model of the table of wirings."""
    yield ("model", "seed", "block", "loss", "cost of the link", "gradient at attention",
           "∫|K| dA", "error")  # fmt: skip
    for (name, seed), arrays in models.items():
        if "wiring.links" not in arrays:
            continue
        loss = float(arrays["strengths.sums"][-1].sum() / arrays["strengths.counts"].sum())
        for block, link in enumerate(arrays["wiring.links"].mean(-1)):
            gradient = arrays["wiring.gradients"][block].mean()
            total, error = (arrays[f"wiring.{part}"][block] for part in ("total", "total_error"))
            yield (TITLES.get(name, name), seed, block + 1, loss, float(link), float(gradient),
                   float(total), float(error))  # fmt: skip
