"""By which rule does a claim hold here? Written down before any number was seen.

Every claim has a test, its threshold, and one function from evidence to a verdict. What people read
is made from the same `Thresholds` that the function compares with, so that the written rule and the
code cannot disagree. The claims are those of Bathula & Joshi (arXiv 2604.14702), in our words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gating_core.claims.charts import CURVED, FLAT, UNDECIDED, Charts
from gating_core.claims.grid import LINEAR
from gating_core.claims.models import GATED, WITHOUT_GATE
from gating_core.claims.pairs import Comparison, Differences, Equivalences
from gating_core.claims.relations import EXACT, PEARSON, PROXY, Relations
from gating_core.claims.slopes import CENTRE, Slopes
from gating_core.claims.slopes import PROXY as DEPTH_PROXY
from gating_core.claims.statistics import Equivalence
from gating_core.claims.thresholds import (
    NOT_ENOUGH,
    NOT_SUPPORTED,
    PARTLY,
    SUPPORTED,
    THRESHOLDS,
    WORDS,
    Thresholds,
)
from gating_core.experiments.depth import STRUCTURED_LIMIT


def guarded(measured: str, worst: str) -> str:
    """The verdict as measured, unless what failed might have spoken against it.

    Then it is "partly" where that much stands in the worst case, and else "not enough data":
    failures are no evidence against a claim, but must not be evidence for it.
    """
    if measured in (NOT_SUPPORTED, NOT_ENOUGH) or WORDS.index(worst) <= WORDS.index(measured):
        return measured
    return PARTLY if worst == PARTLY else NOT_ENOUGH


def flat_without_gate(found: Charts, t: Thresholds) -> str:
    """C1, from bounds: one model known to be curved is enough to contradict it."""
    models, flat = found.of(WITHOUT_GATE), found.count(WITHOUT_GATE, FLAT)
    if found.count(WITHOUT_GATE, CURVED):
        return NOT_SUPPORTED
    if flat < t.fewest_seeds:
        return NOT_ENOUGH
    return SUPPORTED if flat == len(models) else PARTLY


def curved_with_gate(found: Charts, t: Thresholds) -> str:
    """C2, from bounds."""
    curved = found.count(GATED, CURVED)
    if sum(found.count(GATED, word) for word in (CURVED, FLAT, UNDECIDED)) < t.fewest_seeds:
        return NOT_ENOUGH
    if not curved:
        return NOT_SUPPORTED
    enough = curved >= t.curved_share * len(found.of(GATED))
    return SUPPORTED if enough and found.positive(GATED) else PARTLY


def ahead_on_tasks(found: Differences, t: Thresholds) -> str:
    """C3 and C4: the primary gate less the ungated model, over tasks by Holm."""
    tasks = found.deciding
    measured = _ahead(tasks, [one.ahead(t.level) for one in tasks], t)
    worst = _ahead(tasks, [one.ahead_in_the_worst_case(t.level) for one in tasks], t)
    return guarded(measured, worst)


def _ahead(tasks: Sequence[Comparison], ahead: Sequence[bool], t: Thresholds) -> str:
    if sum(one.count >= t.fewest_seeds for one in tasks) < t.fewest_tasks:
        return NOT_ENOUGH
    if all(ahead):
        return SUPPORTED
    return PARTLY if any(ahead) else NOT_SUPPORTED


def equal_on_linear_tasks(found: Equivalences, t: Thresholds) -> str:
    """C5: equivalence on both linear tasks."""
    by_task = {one.task: one for one in found.tasks}
    tasks = [by_task[name] for name in LINEAR if name in by_task]
    if len(tasks) < len(LINEAR) or any(one.count < t.fewest_seeds for one in tasks):
        return NOT_ENOUGH
    measured = _equal([equality(one.measured, t) for one in tasks if one.measured is not None])
    cases = zip(*(one.worst_cases for one in tasks), strict=True)
    worst = [_equal([equality(one, t) for one in case]) for case in cases]
    return guarded(measured, max(worst, key=WORDS.index))


def equality(found: Equivalence, t: Thresholds) -> str:
    """What one linear task says; "partly": no advantage beyond the margin, but not equal."""
    if found.equivalent:
        return SUPPORTED
    if found.no_advantage:
        return PARTLY
    advantage = found.interval[0] >= t.margin
    return NOT_SUPPORTED if advantage or found.power >= t.power else NOT_ENOUGH


def _equal(words: Sequence[str]) -> str:
    if NOT_ENOUGH in words:
        return NOT_ENOUGH
    return words[0] if len(set(words)) == 1 else PARTLY


def go_together(found: Relations, t: Thresholds) -> str:
    """C6: within task and variant, for the paper's proxy and for exact curvature."""
    proxy, exact = found.pooled[PROXY, PEARSON], found.pooled[EXACT, PEARSON]
    known = (np.isfinite(r.low) and r.seed_count >= t.fewest_seeds for r in (proxy, exact))
    if not all(known) or found.failed_share > t.most_failed:
        return NOT_ENOUGH
    if proxy.low > 0 and exact.low > 0 and proxy.high >= t.paper_r:
        return SUPPORTED
    return PARTLY if proxy.low > 0 or exact.low > 0 else NOT_SUPPORTED


def grow_with_depth(found: Slopes, t: Thresholds) -> str:
    """C7: both exponents, with their intervals, within their tolerance."""
    if found.fewest_slopes < t.fewest_seeds:
        return NOT_ENOUGH
    within = [slope_within(found, name, t) for name in (CENTRE, DEPTH_PROXY)]
    if all(within):
        return SUPPORTED
    return PARTLY if any(within) else NOT_SUPPORTED


def slope_within(found: Slopes, quantity: str, t: Thresholds) -> bool:
    """Whether the whole interval of an exponent is within the tolerance of what it should be."""
    wanted, tolerance = {
        CENTRE: (t.curvature_slope, t.curvature_tolerance),
        DEPTH_PROXY: (t.proxy_slope, t.proxy_tolerance),
    }[quantity]
    ends = found.exponents[quantity].low, found.exponents[quantity].high
    return all(abs(end - wanted) <= tolerance for end in ends)


@dataclass(frozen=True)
class Rule:
    """A claim, and how it is decided. Texts are templates over `Thresholds`, called t."""

    title: str
    claim: str
    test: str
    verdict: str
    failures: str
    decide: Callable[[Any, Thresholds], str]

    def texts(self, t: Thresholds = THRESHOLDS) -> dict[str, str]:
        """Claim, test, rule of the verdict and what is done about failures, as sentences."""
        return {
            "The claim": self.claim.format(t=t, small=STRUCTURED_LIMIT),
            "The test": self.test.format(t=t, small=STRUCTURED_LIMIT),
            "The verdict": self.verdict.format(t=t, small=STRUCTURED_LIMIT),
            "What failed": self.failures.format(t=t, small=STRUCTURED_LIMIT),
        }


_NAMED = " Seeds that are not done yet are left out, and named."
_PAIRS = (
    "A failed model counts against the claim: its pair is put as far to the wrong side as any pair"
    " of the task is to either. If that changes the verdict, it is at most “partly”, or else “not"
    " enough data”." + _NAMED
)

RULES: dict[str, Rule] = {
    "C1": Rule(
        "Without a gate, flat",
        "The surface of one layer of ungated attention with fixed values is flat: an open piece of"
        " an affine subspace.",
        "Every trained model without a gate (ungated, and ungated with matched parameters), on the"
        " attention-weight chart, which is the theorem's setting: |K| must be below its rigorous"
        " bound on rounding at every point, and that bound at most {t.flat_bound:g}. There is no"
        " p-value: bounds are not statistics.",
        "Supported: all such models are flat, at least {t.fewest_seeds}. Not supported here: a"
        " single one is known to be curved. Partly: none is curved, but some failed or could not be"
        " decided. Not enough data: fewer than {t.fewest_seeds} are known to be flat.",
        "A model that failed or could not be measured keeps the verdict from being “supported”:"
        " the claim is about every model." + _NAMED,
        flat_without_gate,
    ),
    "C2": Rule(
        "With a gate, curved; positive, too",
        "A multiplicative gate makes the surface curve, and strictly positive curvature can be"
        " reached.",
        "Every trained model with a multiplicative gate, on the attention-weight chart: |K| above"
        " its rigorous bound at some point is known curvature, K above its bound is known positive"
        " curvature. There is no p-value.",
        "Supported: at least {t.curved_share:.0%} of at least {t.fewest_seeds} gated models are"
        " known to be curved, and at least one of them has K > 0 on some of its area. Partly: some"
        " are curved, but fewer, or none positively. Not supported here: none is curved. Not enough"
        " data: fewer models.",
        "Failed and undecided models, and those without such a chart, count as not known to be"
        " curved." + _NAMED,
        curved_with_gate,
    ),
    "C3": Rule(
        "Trained gated models curve more",
        "After training, gated models have the higher representation curvature.",
        "Total absolute curvature ∫|K| dA over the query chart, sigmoid gate less ungated, seed by"
        " seed: two-sided Student t tests at {t.level:.0%}, adjusted over the tasks by Holm. In the"
        " worst case the bounds on both totals' errors count against the claim.",
        "Supported: the gated models are significantly higher on every task of at least"
        " {t.fewest_tasks} with {t.fewest_seeds} pairs each. Partly: on some. Not supported here:"
        " on none. Not enough data: fewer tasks or pairs. Other gates are shown and do not decide.",
        _PAIRS + " An ungated total that is a lower estimate counts as failed; a gated one may"
        " stand, because it makes the difference too small.",
        ahead_on_tasks,
    ),
    "C4": Rule(
        "Better where the boundary is not straight",
        "Gated models classify better where the decision boundary is nonlinear.",
        "Test accuracy on the nonlinear tasks, sigmoid gate less ungated, seed by seed: two-sided"
        " Student t tests at {t.level:.0%}, adjusted over the tasks by Holm. Controls stand beside:"
        " more parameters, an additive term, a pointwise nonlinearity, a constant gate.",
        "Supported: significantly better on every nonlinear task of at least {t.fewest_tasks} with"
        " {t.fewest_seeds} pairs each. Partly: on some. Not supported here: on none. Not enough"
        " data: fewer tasks or pairs. Controls do not decide; they say what a gain can be due to.",
        _PAIRS,
        ahead_on_tasks,
    ),
    "C5": Rule(
        "No better where it is straight",
        "Where the decision boundary is linear, gated models have no consistent advantage.",
        "Test accuracy on both linear tasks, sigmoid gate less ungated, seed by seed: equivalence"
        " by two one-sided Student t tests at {t.level:.0%} each, with a margin of"
        " {t.margin_points:g} point. Its power is that at the observed standard deviation if the"
        " true difference is zero.",
        "Supported: equivalent on both tasks, with at least {t.fewest_seeds} pairs each. Partly:"
        " on both there is no advantage beyond the margin, but not equivalence on both; or one"
        " passes and one does not. Not supported here: neither passes, though the power is at least"
        " {t.power:.0%}, or the advantage is known to exceed the margin. Not enough data: fewer"
        " pairs, one task only, or a task on which it fails with a power below {t.power:.0%}.",
        "A failed model counts against the claim: its pair is put as far to either side as any"
        " pair of the task, at least {t.lost_margins:g} margins. If that changes the verdict, it"
        " is at most “partly”, or else “not enough data”." + _NAMED,
        equal_on_linear_tasks,
    ),
    "C6": Rule(
        "Curvature and accuracy go together",
        "Curvature and accuracy correlate; the paper reports r = {t.paper_r:g}, with a"
        " finite-difference proxy for local nonlinearity.",
        "Pearson's r of test accuracy with the paper's proxy (our reading, in the limit of small"
        " steps) and with ∫|K| dA, within task × variant, pooled by Fisher's z; {t.confidence:.0%}"
        " intervals from leaving each seed out of all groups (jackknife), because groups share"
        " their seeds. Ungated and gated models; exactly flat ones are left out. Spearman's r and"
        " other measures stand beside.",
        "Supported: both intervals lie above zero, and that of the proxy reaches {t.paper_r:g}."
        " Partly: at least one lies above zero. Not supported here: neither. Not enough data: one"
        " of them has no interval from at least {t.fewest_seeds} seeds.",
        "Failed models have no numbers; if more than {t.most_failed:.1%} failed, the verdict is"
        " “not enough data”." + _NAMED,
        go_together,
    ),
    "C7": Rule(
        "Curvature adds up with depth, in a structured regime",
        "In a structured regime curvature accumulates with depth. Our reading of that regime:"
        " the flat sheet (u, v, 1), multiplied in each layer by 1 − ε·(first two coordinates)².",
        "The slopes of log |K(0)| and of the log of the paper's proxy against log depth, for each"
        " seed, which draws ε; only where depth·ε·max(u² + v²) is at most {small:g}, with a"
        " Student interval over seeds.",
        "Supported: the whole interval is within {t.curvature_tolerance:g} of"
        " {t.curvature_slope:g} for K and within {t.proxy_tolerance:g} of {t.proxy_slope:g} for"
        " the proxy. Partly: one of them. Not supported here: neither. Not enough data: fewer than"
        " {t.fewest_seeds} seeds have both slopes.",
        "Seeds without a slope are left out, and named.",
        grow_with_depth,
    ),
}
