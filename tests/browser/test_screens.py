"""First screens at a desk and on a dark phone: whole, accessible, with words of five sizes."""

import pytest

from .accessibility import assert_accessible
from .addresses import ADDRESSES
from .looking import assert_charts_on_a_phone, assert_on_the_first_screen, assert_scrolls_only_down
from .visiting import (
    DESK,
    await_drawn,
    become_desk,
    become_phone,
    open_page,
    resize,
    settle,
    visit,
)

pytestmark = pytest.mark.usefixtures("nothing_goes_wrong")

STYLE = "style => document.querySelectorAll('h1, h1 *').forEach(part => { part.style = style; })"
PAIR = (".gc-pair-space", ".gc-pair-bar")
CHART, CONTROLS = "[data-testid=stPlotlyChart]", ".st-key-control-row"
BENT, EFFICIENT, EXPERTS, MODELS, HEADS = (
    "Curved_or_bent", "Efficient_attention?method", "Mixture_of_experts?experts_tab",
    "Language_models?measure", "Real_heads",
)  # fmt: skip


@pytest.fixture(scope="module")
def visitor(browser, watch):
    """A visitor who comes from no other page: each opens as it was left."""
    with open_page(browser, watch, **DESK) as page:
        yield page


def charts(*names: str) -> list[str]:
    return [f".st-key-chart_{name}" for name in names]


SCREENS = {  # what is seen at once, besides the title and the finding
    "": [".gc-stage-space", ".gc-stage-bar"],
    "?picture=two+models": [".st-key-task", ".st-key-beside", ".st-key-colour", "figcaption", *PAIR,
                            ".gc-pair-map canvas", ".gc-pair-strength"],
    "Claims": [f".st-key-claim_C{n}" for n in range(1, 10)],
    "Learn?lesson=keys": [".gc-keys-row", ".st-key-learn_question", ".st-key-learn_commit"],
    "Learn?lesson=keys&guess=keys-4": [".gc-keys-row"],
    "Learn?lesson=multiply&guess=multiply-3": [".gc-stage-space"],
    "Manifold": [".gc-pair-space"],
    "Decision_boundary": [".st-key-who", ".gc-strip", ".gc-pair-map canvas", *PAIR],
    "Which_gates_curve": [".st-key-gates_desk img", ".gc-pair-finding", ".gc-pair-map", *PAIR],
    "Which_gates_curve?tab_gates=Gate+design&target=saddle": [],
    "Which_gates_curve?maps=true": [],
    "Which_keys_curve": [".gc-keys-plane", ".gc-keys-space", ".gc-keys-other", ".gc-keys-sentence"],
    "Depth": [CONTROLS, ".gc-pair-map canvas", ".gc-pair-strip", ".gc-pair-curve", *PAIR],
    "Depth?tab_depth=Comparison": [CHART],
    BENT: [".gc-pair"],
    f"{BENT}?bent_tab=Price": [*charts("price_price"), ".gc-pair canvas"],
    f"{BENT}?bent_tab=Islands": [".gc-islands-space", ".gc-islands-sentence", ".gc-islands table"],
    f"{EXPERTS}=Decomposition": [CONTROLS, ".gc-tree-input", ".gc-tree-plot", ".gc-tree-formula"],
    f"{EXPERTS}=Identifiability": [CONTROLS, "[class*=st-key-chart_identifiability_counts]"],
    f"{EXPERTS}=Sample+efficiency": [CONTROLS, CHART],
    f"{EXPERTS}=Learning+curves": [CONTROLS, CHART],
    HEADS: [".gc-pair-space", CHART],
    f"{HEADS}?heads_tab=Heads": [".gc-heads-text", ".gc-heads-glass"],
    f"{HEADS}?heads_tab=Heads&heads_head=1.3": [
        ".gc-heads-text", ".gc-heads-chart", ".gc-heads-space", ".gc-heads-numbers",
        ".gc-heads-hint"],
    "Language_models": [".gc-gates"],
    f"{MODELS}=Attention+sinks": charts("backcopy_maps"),
    f"{MODELS}=Attention+sinks&lm_sinks_of=language+models": [],
    f"{MODELS}=Rank%2C+sparsity%2C+calibration": [],
    f"{MODELS}=Block+topology": [],
    f"{MODELS}=Generate": [],
    "Efficient_attention": charts("top_k_losses"),
    f"{EFFICIENT}=KV-cache+eviction": charts("eviction_gate"),
    f"{EFFICIENT}=Delta+correction": charts("delta_losses"),
    f"{EFFICIENT}=Linear+and+hybrid": charts("linear_conversions"),
    "Steering": [".st-key-card_none", ".gc-key", *charts("steer_success")],
    "Steering?steering_tab=Features": [CHART, ".gc-examples"],
    "Guide": [],
    "What_this_does_not_say": [".st-key-limits"],
}  # fmt: skip
SAMPLE = {"Claims", f"{BENT}?bent_tab=Islands", "Which_keys_curve", "Efficient_attention"}


@pytest.mark.parametrize(
    "address",
    [pytest.param(x, marks=[] if x in SAMPLE else pytest.mark.soak) for x in SCREENS],
)
def test_the_first_screen_is_whole_at_a_desk_and_on_a_dark_phone(visitor, served, watch, address):
    become_desk(visitor)
    visit(visitor, watch, f"{served.url}/{address}", await_drawn)
    parts = ["h1", *SCREENS[address]]
    assert_on_the_first_screen(visitor, *parts)
    for finding in visitor.locator(".st-key-finding").all():
        box = finding.bounding_box()
        assert box["y"] + box["height"] < DESK["viewport"]["height"]
    assert_accessible(visitor)
    if {*PAIR} <= {*parts}:  # a smaller desk's screen has both surfaces and what plays them
        resize(visitor, 1366, 768)
        assert_on_the_first_screen(visitor, *PAIR)
    become_phone(visitor)
    settle(visitor)
    assert_scrolls_only_down(visitor)
    assert_charts_on_a_phone(visitor)
    assert_accessible(visitor)


def test_every_page_has_a_screen():
    assert {address.partition("?")[0] for address in SCREENS} == {*ADDRESSES}


@pytest.mark.soak
def test_what_is_serious_would_be_found(visitor, served, watch):
    visit(visitor, watch, f"{served.url}/Guide", settle)
    visitor.emulate_media(color_scheme="dark")
    settle(visitor)
    for style, word in (("color: #333", "color-contrast"), ("font-size: 11px", "11.0 px: ")):
        visitor.evaluate(STYLE, style)
        with pytest.raises(AssertionError, match=word):
            assert_accessible(visitor, "h1")
    visitor.evaluate(STYLE, "")  # other pages reuse it
