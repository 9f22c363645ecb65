"""Measure what is bundled of one gated surface, in ``assets/manifold``.

python -m gating_core.experiments.instance
"""

from gating_core.experiments.instance.second_opinions import BUNDLED, measure_second_opinions
from gating_core.records import save_record

if __name__ == "__main__":
    save_record(BUNDLED, measure_second_opinions())
