"""Open a page by its link, find a component on it, and send messages as that component."""

import base64
import csv
import io
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from google.protobuf.message import Message
from streamlit.components.v2.bidi_component.main import _make_trigger_id
from streamlit.testing.v1 import AppTest

from tests.ui.payload import unpack
from ui.common.bar import FIRST, PAGES
from ui.common.charts import Charts
from ui.common.links import LINE_BREAK
from ui.common.take_along import OFFER, Offer, csv_text

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_SECONDS = 60
LANDING = PAGES[FIRST].path


def open_page(page: str = LANDING, **query: str | list[str]) -> AppTest:
    """A new visitor's page, opened by its link."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT_SECONDS)
    for name, value in query.items():
        app.query_params[name] = value
    return app.switch_page(page).run()


def open_settled(page: str = LANDING, **query: str | list[str]) -> AppTest:
    """The same once nothing is computed any more."""
    return settled(open_page(page, **query))


def settled(app: AppTest) -> AppTest:
    """The page once every job that it has begun, and those that followed, have ended."""
    ended = set()
    while jobs := set(jobs_of(app)) - ended:
        for job in jobs:
            job.join(TIMEOUT_SECONDS)
        assert all(job.over for job in jobs)
        ended |= jobs
        app.run()
    return app


def said(app: AppTest) -> str:
    """Return the sentences of a page, with plain spaces."""
    texts = [x.value for kind in (app.markdown, app.caption, app.info) for x in kind]
    return " ".join(texts).replace("\u00a0", " ")


def jobs_of(app: AppTest) -> list:
    """What the visitor has started."""
    if "_jobs" not in app.session_state:
        return []
    return [job for job, *_ in app.session_state["_jobs"].values()]


def offered(app: AppTest) -> Offer:
    """The offer of the page in *Take along*."""
    return app.session_state[OFFER]


def parameters(message: Message) -> Iterator[str]:
    """Names of the link's parameters that an element is bound to."""
    for descriptor, value in message.ListFields():
        if descriptor.name == "query_param_key":
            yield value
        elif isinstance(value, Message):
            yield from parameters(value)


def containers(node, within=()):
    """Yield each element with the keys of the containers around it."""
    key = getattr(getattr(node, "proto", None), "id", "")
    if getattr(node, "children", None) is None:
        yield node, within
        return
    for child in node.children.values():
        yield from containers(child, (*within, key))


def bound_names(node) -> set[str]:
    """The same of all that stands within a part of a page."""
    proto = getattr(node, "proto", None)
    own = set(parameters(proto)) if isinstance(proto, Message) else set()
    return own.union(*map(bound_names, getattr(node, "children", {}).values()))


def component(app: AppTest, key: str):
    """The component called ``key``, or ``None``."""
    found = [c for c in app.get("bidi_component") if c.proto.id.endswith(f"-{key}")]
    return found[0] if found else None


def dated_text(app: AppTest) -> str:
    """What stands over a picture of another request than the last; "" if it is up to date."""
    notes = [html.proto.body for html in app.get("html") if 'class="gc-dated"' in html.proto.body]
    return "".join(re.fullmatch(r"<p[^>]*>(.*)</p>", note)[1] for note in notes)


def header(app: AppTest, key: str) -> dict:
    """Return the header of the component called ``key``."""
    return json.loads(component(app, key).proto.bytes)


def sent(app: AppTest, key: str) -> tuple[dict, dict]:
    """Return the header and the arrays of the component called ``key``."""
    return unpack(component(app, key).proto.bytes)


def data_of(app: AppTest, key: str) -> dict:
    """What the script of the component called ``key`` gets from Python, see `declare`."""
    (data,) = json.loads(component(app, key).proto.json)
    return data


def figure(app: AppTest, key: str) -> dict:
    """The chart whose key ends like this, as Plotly gets it."""
    (spec,) = [c.proto.spec for c in app.get("plotly_chart") if c.proto.id.endswith(key)]
    return json.loads(spec)


def numbers(values: dict | list) -> np.ndarray:
    """Numbers of a figure: a list, or an array as Plotly packs it."""
    if isinstance(values, list):
        return np.array(values, float)
    flat = np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"])
    return flat.reshape([int(size) for size in str(values.get("shape", flat.size)).split(",")])


def csv_rows(rows) -> list[list[str]]:
    """A table as it is saved, read again."""
    return [*csv.reader(io.StringIO(csv_text(rows)))]


def report(app: AppTest, key: str, event: str, *values: object) -> AppTest:
    """A component's message, as the browser sends it: all that is private here stands here.

    Several messages that a component sends at once arrive as one.
    """
    states = app._tree.get_widget_states()
    message = states.widgets.add()
    message.id = _make_trigger_id(component(app, key).proto.id, "events")
    message.json_trigger_value = json.dumps([{"event": event, "value": x} for x in values])
    return app._run(states)


def mistakes(app: AppTest) -> list[str]:
    """What is said of a link, in its one box."""
    return [text for box in app.warning for text in box.value.split(LINE_BREAK)]


def as_read(markdown: str) -> str:
    """Markdown without its escapes, as a visitor reads it."""
    return re.sub(r"\\([^A-Za-z0-9\s])", r"\1", markdown)


def notes(app: AppTest) -> list[str]:
    """What is said of wishes that cannot be followed."""
    return [c.value for c in app.caption if ":material/info:" in c.value]


def missing_from_data(app: AppTest) -> list[str]:
    """Series of charts on the page of which a point is in no CSV of *Take along*.

    Left out are strokes without a tooltip, points only to be clicked, and maps of proofs, whose
    cells of many sizes are a table.
    """
    tables = [charts for charts in offered(app).charts.values() if isinstance(charts, Charts)]
    texts = [text for charts in tables for text in charts.csv_files().values()]
    there = {cells for text in texts for cells in _points(csv.reader(io.StringIO(text)))}
    missing = []
    for chart in app.get("plotly_chart"):
        for trace in json.loads(chart.proto.spec)["data"]:
            unseen = trace.get("hoverinfo") == "skip" or trace.get("marker", {}).get("opacity") == 0
            if unseen or "-proved_map_" in chart.proto.id:
                continue
            if lacking := {*_drawn(trace)} - there:
                missing.append(f"{chart.proto.id}, {trace.get('name')}: {[*lacking][:3]}")
    return missing


def _points(rows: Iterable[Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """Of every row each pair of cells, and neighbours with each cell that follows, as `_drawn`."""
    for row in rows:
        cells = [_short(cell) for cell in row]
        yield from itertools.combinations(cells, 2)
        for i, pair in enumerate(itertools.pairwise(cells)):
            yield from ((*pair, cell) for cell in cells[i + 2 :])


def _drawn(trace: dict) -> Iterator[tuple[str, ...]]:
    """The points of a trace: x, y, and what a map shows there; finite numbers alone."""
    x, y = (_values(trace.get(name, [])) for name in "xy")
    if "z" not in trace:
        yield from ((_short(a), _short(b)) for a, b in zip(x, y, strict=True) if _known(b))
        return
    z = _values(trace["z"] if trace.get("customdata") is None else trace["customdata"])
    if z.ndim == 3:  # the number that the tooltip calls K, or the first one
        z = z[..., int((*re.findall(r"K = %{customdata\[(\d)", trace["hovertemplate"]), 0)[0])]
    for row, b in zip(z, y if len(y) else range(len(z)), strict=True):
        for value, a in zip(row, x if len(x) else range(len(row)), strict=True):
            if _known(value):
                yield _short(a), _short(b), _short(value)


def _values(items) -> np.ndarray:
    return numbers(items) if isinstance(items, dict) else np.asarray(items, dtype=object)


def _known(value: object) -> bool:
    return value is not None and not (isinstance(value, float) and not np.isfinite(value))


def _short(cell: object) -> str:
    """A number with six digits, in single precision as charts are sent; other text as it is."""
    try:
        with np.errstate(over="ignore"):
            return f"{np.float32(cell):.6g}"
    except (TypeError, ValueError):
        return str(cell)
