"""Addresses of all pages: in the first state, with everything unfolded, and in other states."""

from dataclasses import dataclass

FIRST = "landing"  # the name here of the page without a path


@dataclass(frozen=True)
class Row:
    """The states of a page, as queries of its address."""

    drawing: tuple[str, ...] = ("",)  # they draw all controls between them
    looking: tuple[str, ...] = ()  # more of them, for the eye and `make soak`
    small: str = ""  # with this, models are small
    unfolded: str = ""  # opens every fold


ADDRESSES: dict[str, Row] = {  # by the page's address
    "": Row(
        drawing=("", "picture=two+models", "plane=0.6,0,0.8,-0.25&strength=0.5"),
        looking=("task=xor", "task=moons&colour=curvature", "strength=0",
                 "picture=two+models&beside=gate+ablated", "task=linear&pick=20.30"),
        unfolded="explore=true&proof=true&proof_cells=16%2C000",
    ),
    "Learn": Row(
        ("", "lesson=multiply&guess=multiply-3&plane=0.6,0,0.8,-0.25&strength=0.5",
         "lesson=bent&guess=bent-1&formula=1/(2%2Bu)", "lesson=layers&guess=layers-2&after=8",
         "lesson=loops&guess=loops-3&task=moons",
         "lesson=misleading&guess=misleading-3&fooled=step+too+small",
         "lesson=island&guess=island-3&island_surface=gated+layer&island_plane=0,0,1,-0.4",
         "lesson=keys&guess=multiply-3.keys-1&done=multiply&at=0.3,-0.2"),
    ),
    "Manifold": Row(
        ("", "tab=Error+analysis&variances=1%2C2%2C1%2C1&dim=4", "tab=Misleading+pictures"),
        ("layers=4", "dim=8&n=6", "lambda=0", "chart=weights&point=3.4", "source=tokens",
         "tab=Misleading+pictures&fooled=normalisation", "variances=4",
         "values=-0.73%2C-0.03%2C-0.21%2C0.19%2C-1.23%2C1.1%2C1.84%2C0.17%2C1.04",
         "sink=learned&lambda=0"),
        unfolded="proof=true",
    ),
    "Decision_boundary": Row(
        looking=("data=xor&seeds=4&steps=100", "stack=2&seeds=2&steps=50&points=64",
                 "width=8&seeds=2&steps=50&points=64", "data=own", "paint=curvature&setup=true",
                 "sink_logit=learned&right=sink&seeds=2&steps=50&points=64",
                 "who=picked&picked_seed=5",
                 "width=16&price=K&price_weight=0.1&steps=400&seeds=2&points=64"),
        small="steps=50&seeds=2&points=64&stack=1",
        unfolded="setup=true&curves=true",
    ),
    "Which_gates_curve": Row(
        ("", "case=own", "tab_gates=Gated+layer&hand=set+by+hand", "tab_gates=Theorem",
         "tab_gates=Gate+design"),
        ("case=monkey+saddle", "tint=|H|", "tab_gates=Gated+layer&layer_from=trained",
         "tab_gates=Gate+design&target=ellipsoid", "tab_gates=Theorem&slice_by=residual"),
        unfolded="why=true&maps=true",
    ),
    "Which_keys_curve": Row(
        ("", "fourth=sink+logit", "fourth=no+fourth+key", "five_keys=true&key_count=5"),
        ("keys=0,3;-2.75,-2;2.75,-2;0,-2",
         "keys=0,3;-2.75,-2;2.75,-2;1,-3&at=0.3,-0.2&cut=0.6,0,0.8,-0.1"),
        unfolded="five_keys=true",
    ),
    "Depth": Row(
        ("", "stacked=aligned+gates&strong=weak", "stacked=random+stacks&around=nothing+else",
         "stacked=random+gates&quantity=diameter&after=3&depth_seeds=true",
         "gated=ungated&stacked_layers=3",
         "tab_depth=Comparison", "tab_depth=Theory"),
    ),
    "Curved_or_bent": Row(
        ("", "bent_tab=Price&price_task=rings&price_gate=headwise,+D+%3D+16&price_paid=no+price",
         "bent_tab=Islands",
         "bent_tab=Islands&island_surface=flat+torus&island_turn=45",
         "bent_tab=Islands&island_surface=saddle&island_plane=0.6,0,0.8,-0.25"),
    ),
    "Claims": Row(
        ("", "tab=Run+the+study", "claim=C6&measure=proxy", "claim=C3&criteria=v1", "claim=C8"),
        ("claim=C1", "claim=C2", "claim=C3", "claim=C4&show=all+variants", "claim=C5", "claim=C7",
         "tab=Trained+models", "rows=live"),
        unfolded="claim=C9&numbers=true",
    ),
    "Mixture_of_experts": Row(
        ("", "code=true", "experts_tab=Identifiability", "experts_tab=Sample+efficiency",
         "experts_tab=Learning+curves"),
        ("experts_tab=Identifiability&gate_at=G3", "channels=8&tokens=2",
         "experts_tab=Identifiability&direction=scale+one+expert&weights=circle",
         "gate_at=G5&gate_per=head",
         "gate_at=no+gate&expert=2.1",
         "channels=8&head_count=4&tokens=6",
         "experts_tab=Learning+curves&target_accuracy=0.95"),
        unfolded="experts_tab=Sample+efficiency&teacher_sizes=true&all_gates=true&sample_code=true",
    ),
    "Real_heads": Row(
        drawing=("", "heads_tab=Heads",
                 "heads_tab=Heads&heads_head=1.3&heads_at=0.5,-0.2&heads_special=true"
                 "&heads_plane=three+tokens",
                 "heads_tab=Gate", "heads_tab=Norms", "heads_tab=Sinks+and+top-k",
                 "heads_tab=Your+own+model"),
        looking=("heads_tab=Heads&heads_frame=entropy", "heads_head=5.8&heads_special=true",
                 "heads_tab=Heads&heads_head=4.7&heads_plane=attention+weights&heads_three=15,37,46",
                 "heads_tab=Heads&heads_text=Alice+in+Wonderland",
                 "heads_tab=Gate&drawn_per=head&heads_head=5.12"),
        unfolded="heads_twins=true",
    ),
    "Language_models": Row(
        ("", "lm_all=true", "measure=Attention+sinks",
         "measure=Attention+sinks&lm_sinks_of=language+models",
         "measure=Rank%2C+sparsity%2C+calibration",
         "measure=Block+topology", "measure=Generate&lm_lambda=0.5"),
        ("measure=Attention+sinks&lm_sinks_of=language+models&lm_map_head=2.3&lm_language=Spanish&lm_gate=G1%2C+per+head",
         "measure=Generate&lm_writer=no+gate"),
    ),
    "Efficient_attention": Row(
        drawing=("", "sample=Gaussian+scores&top_head=true&top_certificates=true",
                 "sample=AR(1)+tokens&top_scores=true",
                 "method=KV-cache+eviction&evict_all=true&evict_head=true",
                 "method=Delta+correction&delta_samples=true&delta_retrieval=true",
                 "method=Linear+and+hybrid&linear_more=true"),
        looking=("sample_gate=no+gate&top_k=2", "method=KV-cache+eviction",
                 "method=Delta+correction",
                 "method=Linear+and+hybrid&linear_learned=true&linear_more=true"),
    ),
    "Steering": Row(
        drawing=("", "steering_vector=chosen+feature", "steering_tab=Features"),
        looking=("steering_tokens=all+tokens&steering_numbers=true",
                 "steering_strength=-4&steering_prompt=Spanish",
                 "steering_tab=Features&steering_dictionary=plain+top-k&steering_layer=3"
                 "&steering_parts=true"),
    ),
    "Guide": Row(),
    "What_this_does_not_say": Row(),
}  # fmt: skip


def states(page: str) -> tuple[str, ...]:
    """Queries of a page: none, one that unfolds everything, and the others."""
    row = ADDRESSES[page]
    return ("", *filter(None, (row.unfolded, *row.drawing, *row.looking)))


def addresses(page: str | None = None) -> dict[str, str]:
    """A name fit for a file, and the address, of every state of one page or of all pages."""
    result = {}
    for path in ADDRESSES if page is None else (page,):
        for number, query in enumerate(states(path)):
            unfolded = number == 1 and ADDRESSES[path].unfolded
            words = "unfolded" if unfolded else query.translate({ord("="): "-", ord("&"): "_"})
            name = "_".join(filter(None, (path.lower() or FIRST, words.replace("|", ""))))
            result[name] = f"/{path}?{query}".rstrip("?")
    return result
