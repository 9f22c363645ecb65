"""Open a page by its link, find a component on it, and send messages as that component."""

import base64
import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from google.protobuf.message import Message
from streamlit.components.v2.bidi_component.main import _make_trigger_id
from streamlit.testing.v1 import AppTest

from ui.common.links import LINE_BREAK
from ui.common.take_along import OFFER, Offer, csv_text

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_SECONDS = 60


def open_page(page: str = "app.py", **query: str | list[str]) -> AppTest:
    """A new visitor's page, opened by its link."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT_SECONDS)
    for name, value in query.items():
        app.query_params[name] = value
    if page != "app.py":
        app.switch_page(page)
    return app.run()


def open_settled(page: str = "app.py", **query: str | list[str]) -> AppTest:
    """The same once every job that it has begun, and those that followed, have ended."""
    app, ended = open_page(page, **query), set()
    while jobs := set(jobs_of(app)) - ended:
        assert all(job.join(TIMEOUT_SECONDS) for job in jobs)
        ended |= jobs
        app.run()
    return app


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


def bound_names(node) -> set[str]:
    """The same of all that stands within a part of a page."""
    proto = getattr(node, "proto", None)
    own = set(parameters(proto)) if isinstance(proto, Message) else set()
    return own.union(*map(bound_names, getattr(node, "children", {}).values()))


def component(app: AppTest, key: str):
    """The component called ``key``, or ``None``."""
    found = [c for c in app.get("bidi_component") if c.proto.id.endswith(f"-{key}")]
    return found[0] if found else None


def data_of(app: AppTest, key: str) -> dict:
    """What the script of the component called ``key`` gets from Python, see `declare`."""
    (data,) = json.loads(component(app, key).proto.json)
    return data


def figure(app: AppTest, key: str) -> dict:
    """The chart whose key ends like this, as Plotly gets it."""
    (spec,) = [c.proto.spec for c in app.get("plotly_chart") if c.proto.id.endswith(key)]
    return json.loads(spec)


def numbers(packed: dict) -> np.ndarray:
    """Numbers as Plotly packs them."""
    flat = np.frombuffer(base64.b64decode(packed["bdata"]), packed["dtype"])
    return flat.reshape([int(size) for size in str(packed.get("shape", flat.size)).split(",")])


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
