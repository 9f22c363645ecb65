"""A browser's tab without a browser: the one client of Streamlit's protocol in the tests.

As a browser does, it holds the values of all widgets and the link, runs fragments at their
intervals, and gets the arrays of pictures. Each step returns the seconds until the page stands as
it must, and raises `Wrong` if it does not.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
import urllib.parse
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

import websockets
from streamlit.components.v2.bidi_component.main import _make_trigger_id
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Common_pb2 import FileUploaderState, FileURLs
from streamlit.proto.Delta_pb2 import Delta
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.NewSession_pb2 import NewSession
from streamlit.proto.WidgetStates_pb2 import WidgetState

from tests.served import XSRF, ask, cookie_header, send_file, set_cookies
from ui.common.links import LINE_BREAK

LOADS = 4  # that a browser holds, as in payload.js
TRIES, PAUSE_SECONDS = 6, 0.2
SECONDS = 120.0  # for an answer
SECOND_RUN_SECONDS = 30.0
DONE = (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)
T = TypeVar("T")
Place = tuple[int, ...]
Value = bool | float | str | list[str] | FileUploaderState | None


# --- The page -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Node:
    """An element or a block: its ``kind``, its message, and the script run that sent it."""

    kind: str
    message: Any
    id: str  # of the widget; empty where it is none
    run: str
    fragment: str  # that it was drawn in; empty outside


@dataclass
class Page:
    """Elements by place."""

    nodes: dict[Place, Node] = field(default_factory=dict)

    def put(self, delta: Delta, place: Place, run: str) -> Node | None:
        """Add what the server sent; an element removes what lay below it."""
        sort = delta.WhichOneof("type")
        if sort == "new_transient":  # a spinner, which lies over what comes
            return None
        whole = delta.new_element if sort == "new_element" else delta.add_block
        kind = whole.WhichOneof("type") or "container"
        message = getattr(whole, kind, whole)
        if sort == "new_element":
            below = [p for p in self.nodes if len(p) > len(place) and p[: len(place)] == place]
            for other in below:
                del self.nodes[other]
        name = getattr(message, "id", "") or getattr(whole, "id", "")
        node = self.nodes[place] = Node(kind, message, name, run, delta.fragment_id)
        return node

    def end_run(self, run: str, fragments: Collection[str]) -> None:
        """Drop what the finished ``run``, of the whole page or of ``fragments``, did not draw."""
        for place, node in list(self.nodes.items()):
            if node.run != run and (not fragments or node.fragment in fragments):
                del self.nodes[place]

    def all(self, *kinds: str) -> Iterator[Node]:
        """Elements of these kinds, in their order on the page."""
        nodes = (self.nodes[place] for place in sorted(self.nodes))
        return (node for node in nodes if node.kind in kinds)

    def widget(self, key: str) -> Node:
        """The widget called ``key``; ``LookupError`` where it is not on the page."""
        nodes = [node for node in self.nodes.values() if node.id.endswith(f"-{key}")]
        if len(nodes) != 1:
            raise LookupError(f"{len(nodes)} widgets are called {key!r}; there must be one")
        return nodes[0]

    def has(self, key: str) -> bool:
        return any(node.id.endswith(f"-{key}") for node in self.nodes.values())

    def button(self, label: str) -> Node | None:
        """The button with this label, if it is there."""
        return next((n for n in self.all("button") if n.message.label == label), None)

    def header(self, key: str) -> dict[str, Any]:
        """The message of a linked view, without its arrays."""
        return json.loads(self.widget(key).message.bytes)

    @property
    def sources(self) -> list[str]:
        """Addresses of the arrays of all linked views."""
        headers = (node.message.bytes for node in self.all("bidi_component"))
        return [x["source"] for x in map(json.loads, filter(None, headers)) if "source" in x]

    @property
    def texts(self) -> list[str]:
        """All paragraphs, captions, headings and plain texts."""
        return [node.message.body for node in self.all("markdown", "text", "heading")]

    @property
    def dated(self) -> str:
        """What stands over a picture of another request; an empty text if it is up to date."""
        bodies = [node.message.body for node in self.all("html")]
        return "".join(body for body in bodies if 'class="gc-dated"' in body)

    @property
    def progress(self) -> list[str]:
        """The texts of progress bars."""
        return [node.message.text for node in self.all("progress")]

    @property
    def metrics(self) -> list[tuple[str, str]]:
        """Labels and numbers."""
        return [(node.message.label, node.message.body) for node in self.all("metric")]

    @property
    def troubles(self) -> list[str]:
        """Tracebacks, errors and warnings."""
        raised = [f"{x.message.type}: {x.message.message}" for x in self.all("exception")]
        alerts = [node.message for node in self.all("alert")]
        loud = [x.body for x in alerts if x.format in (x.ERROR, x.WARNING)]
        return raised + [line for text in loud for line in text.split(LINE_BREAK)]


# --- Widgets --------------------------------------------------------------------------------------


def value_of(node: Node) -> Value:
    """The value of a widget that the server has just drawn: what it has set, else the default."""
    read = READERS.get(node.kind)
    return None if read is None else read(node.message)


def was_set(node: Node) -> bool:
    """Return whether the server has set the value."""
    return bool(getattr(node.message, "set_value", False))


def _slider(x: Any) -> Value:
    numbers = list(x.value if x.set_value else x.default)
    if x.options:  # texts
        return list(x.raw_value) if x.set_value else [x.options[int(numbers[0])]]
    return numbers[0] if numbers else None


def _selectbox(x: Any) -> Value:
    if x.set_value:
        return x.raw_value
    return x.options[x.default] if x.HasField("default") else None


def _plain(x: Any) -> Value:
    return x.value if x.set_value else x.default


READERS: dict[str, Callable[[Any], Value]] = {
    "slider": _slider,
    "button_group": lambda x: (
        list(x.raw_values) if x.set_value else [x.options[i].content for i in x.default]
    ),
    "selectbox": _selectbox,
    "radio": _selectbox,
    "multiselect": lambda x: (
        list(x.raw_values) if x.set_value else [x.options[i] for i in x.default]
    ),
    "checkbox": _plain,
    "number_input": lambda x: _plain(x) if x.set_value or x.HasField("default") else None,
    "text_area": _plain,
    "text_input": _plain,
    "expandable": lambda x: x.expanded,
    "tab_container": lambda x: x.default_tab_label or None,
}


def _default_of(node: Node) -> Value:
    if node.kind == "expandable":
        return node.message.default_expanded
    plain = type(node.message)()
    plain.CopyFrom(node.message)
    if hasattr(plain, "set_value"):
        plain.set_value = False
    return value_of(Node(node.kind, plain, "", "", ""))


def state_of(node: Node, value: Value) -> WidgetState:
    """The message that a widget has this ``value``."""
    state = WidgetState(id=node.id)
    if isinstance(value, bool):
        state.bool_value = value
    elif isinstance(value, list):
        state.string_array_value.data.extend(value)
    elif isinstance(value, str):
        state.string_value = value
    elif isinstance(value, FileUploaderState):
        state.file_uploader_state_value.CopyFrom(value)
    elif node.kind == "slider":
        state.double_array_value.data.append(value)
    elif value is not None:
        state.double_value = value
    return state


def texts_of(node: Node, value: Value) -> list[str]:
    """The value in the link, which leaves out the default."""
    if value is None or value == _default_of(node):
        return []
    if isinstance(value, list):
        return value
    if isinstance(value, bool):
        return [str(value).lower()]
    return [f"{value:g}" if isinstance(value, float) else str(value)]


# --- The tab --------------------------------------------------------------------------------------


class Wrong(AssertionError):
    """The page does not show what this visitor has requested."""


class Session:
    """A tab at the page called ``name`` in its address, with the ``link`` behind that."""

    def __init__(
        self,
        url: str,
        name: str = "",
        link: dict[str, list[str]] | None = None,
        origin: str | None = None,
        cookies: dict[str, str] | None = None,
    ) -> None:
        self.url, self.name, self.link = url, name, dict(link or {})
        self.origin = origin or "{0.scheme}://{0.netloc}".format(urllib.parse.urlsplit(url))
        self.cookies = {} if cookies is None else cookies  # of all tabs of a browser
        self.page = Page()
        self.values: dict[str, tuple[Node, Value]] = {}  # of widgets, by id
        self.session_id = ""
        self.hash = ""  # of the page's script; empty before the server has sent it
        self.requested = self.began = self.finished = 0  # runs of the whole page
        self.drawing = False  # whether a run is under way: half of the page may be of the last one
        self.finished_at = self.loaded_at = 0.0  # time.perf_counter(): the page, its pictures
        self._run, self._fragments = "", list[str]()  # what runs
        self._timers: dict[str, tuple[float, asyncio.Task]] = {}
        self._loads: list[str] = []  # addresses, newest last
        self._loading: asyncio.Task | None = None
        self._failure = ""
        self._changed = asyncio.Condition()
        self._urls: asyncio.Future[FileURLs] | None = None

    async def __aenter__(self) -> Session:
        """Load the page and connect; nothing runs yet."""
        query = urllib.parse.urlencode(self.link, doseq=True)
        await self._get(f"/{self.name}?{query}", Accept="text/html")
        await self._connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the tab."""
        await self._disconnect()

    async def reconnect(self, expect: Expect | None = None) -> float:
        """Connect again once the server answers, with the tab's link and controls."""
        began = time.perf_counter()
        await self._disconnect()
        self._failure = ""
        await self._connect()
        await self._whole([], expect)
        return time.perf_counter() - began

    async def _connect(self) -> None:
        async with asyncio.timeout(SECONDS):
            while await self._get("/_stcore/health") != 200:
                await asyncio.sleep(PAUSE_SECONDS)
        names = ("streamlit", self.cookies[XSRF], *filter(None, [self.session_id]))
        self._socket = await websockets.connect(
            f"{self.url.replace('http', 'ws', 1)}/_stcore/stream",
            origin=self.origin,
            subprotocols=[*map(websockets.Subprotocol, names)],
            compression=None,
            proxy=None,
            max_size=None,
            max_queue=None,  # a full queue would keep it from closing
            open_timeout=SECONDS,
            ping_interval=None,
            additional_headers={"Cookie": cookie_header(self.cookies)},
        )
        self._listener = asyncio.create_task(self._listen())

    async def _get(self, path: str, **headers: str) -> int:
        """Get a file with this browser's cookies, keep those that it sets; return the status."""
        headers["Cookie"] = cookie_header(self.cookies)
        status, _, answered = await asyncio.to_thread(ask, self.url, "GET", path, b"", headers)
        self.cookies |= set_cookies(answered)
        return status

    async def _disconnect(self) -> None:
        self._stop_timers()
        for task in filter(None, (self._listener, self._loading)):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        await self._socket.close()

    # --- What a visitor does ----------------------------------------------------------------------

    async def open(self, expect: Expect | None = None) -> float:
        """Draw the page for the first time."""
        return await self._whole([], expect)

    async def change(self, expect: Expect | None = None, **values: Value) -> float:
        """Move widgets, by their keys, all at once."""
        for key, value in values.items():
            node = self.page.widget(key)
            if node.kind == "button_group" or (node.kind == "slider" and node.message.options):
                value = [f"{value}"]
            self.values[node.id] = node, value
            if name := getattr(node.message, "query_param_key", ""):
                self.link.pop(name, None)
                if texts := texts_of(node, value):
                    self.link[name] = texts
        return await self._whole([], expect)

    async def press(self, button: Node, expect: Expect | None = None) -> float:
        """Click a button."""
        state = WidgetState(id=button.id, trigger_value=True)
        return await self._send_state(state, button.fragment, expect)

    async def send(
        self, key: str, event: str, value: object, expect: Expect | None = None
    ) -> float:
        """Let the component called ``key`` send an event."""
        node = self.page.widget(key)
        text = json.dumps([{"event": event, "value": value}])
        state = WidgetState(id=_make_trigger_id(node.id, "events"), json_trigger_value=text)
        return await self._send_state(state, node.fragment, expect)

    async def go(self, label: str, expect: Expect | None = None) -> float:
        """Follow the link to another page."""
        entry = next(n.message for n in self.page.all("page_link") if n.message.label == label)
        self._stop_timers()
        self.link = urllib.parse.parse_qs(entry.query_string, keep_blank_values=True)
        self.hash, self.values = entry.page_script_hash, {}
        return await self._whole([], expect)

    async def upload(self, key: str, name: str, content: bytes, expect: Expect) -> float:
        """Upload a file at the uploader called ``key``."""
        began = time.perf_counter()
        node = self.page.widget(key)
        message = BackMsg()
        request = message.file_urls_request
        request.request_id, request.session_id = name, self.session_id
        request.file_names.append(name)
        self._urls = asyncio.get_running_loop().create_future()
        await self._socket.send(message.SerializeToString())
        urls = await asyncio.wait_for(self._urls, SECONDS)
        mine, cookies = self.cookies[XSRF], self.cookies
        status = await asyncio.to_thread(
            send_file, self.url, urls.upload_url, content, mine, cookies, name
        )
        if status >= 300:
            raise Wrong(f"the upload was refused: {status}")
        files = FileUploaderState()
        info = files.uploaded_file_info.add()
        info.name, info.size, info.file_id = name, len(content), urls.file_id
        info.file_urls.CopyFrom(urls)
        self.values[node.id] = node, files
        await self._whole([], expect)
        return time.perf_counter() - began

    async def until(self, wrong: Callable[[], str], seconds: float = SECONDS) -> None:
        """Wait until ``wrong`` returns an empty text between two runs, however many that takes."""
        problem = ""
        try:
            async with asyncio.timeout(seconds), self._changed:
                while problem := "the page is not drawn to its end" if self.drawing else wrong():
                    if self._failure:
                        raise ConnectionError(self._failure)
                    await self._changed.wait()
        except TimeoutError:
            raise Wrong(f"after {seconds:.0f} s: {problem}") from None

    async def _send_state(self, state: WidgetState, fragment: str, expect: Expect | None) -> float:
        """Send the state of a widget; from within a fragment only that runs again."""
        if not fragment:
            return await self._whole([state], expect)
        began = time.perf_counter()
        await self._request([state], fragment)
        await self.until(lambda: (expect or nothing_wrong)(self))
        return time.perf_counter() - began

    async def _whole(self, triggers: list[WidgetState], expect: Expect | None) -> float:
        """Run the page; once that has ended nothing may be wrong.

        A run that a fragment has requested, of which the browser is not told, may have come first:
        then the run after that counts, which there must be.
        """
        expect = expect or nothing_wrong
        began, before = time.perf_counter(), self.finished
        await self._request(triggers)
        number = self.requested
        await self.until(
            lambda: "" if self.began >= number and self.finished > before else "no answer"
        )
        if expect(self):
            before = self.finished
            with contextlib.suppress(Wrong):
                await self.until(
                    lambda: "" if self.finished > before else "no second run", SECOND_RUN_SECONDS
                )
        if problem := expect(self):
            raise Wrong(problem)
        await self.until(lambda: f"not there: {self.missing}" if self.missing else "")
        return max(self.finished_at, self.loaded_at) - began

    # --- What a browser does ----------------------------------------------------------------------

    async def _request(
        self, triggers: Iterable[WidgetState] = (), fragment: str = "", timer: bool = False
    ) -> None:
        """Ask the server to run the page, or a ``fragment`` of it."""
        message = BackMsg()
        request = message.rerun_script
        request.query_string = urllib.parse.urlencode(self.link, doseq=True)
        request.page_script_hash, request.page_name = self.hash, "" if self.hash else self.name
        request.fragment_id, request.is_auto_rerun = fragment, timer
        states = (state_of(*held) for held in self.values.values() if held[1] is not None)
        request.widget_states.widgets.extend([*states, *triggers])
        self.requested += not fragment
        await self._socket.send(message.SerializeToString())

    @property
    def missing(self) -> list[str]:
        """Addresses of arrays that are drawn and have not come yet."""
        return [address for address in self.page.sources if address not in self._loads]

    async def _load(self) -> None:
        """Get all arrays, each once; an address may be gone for a moment."""
        tries = 0
        while missing := self.missing:
            status = await self._get(f"/{missing[0]}")
            if status == 200:
                self._loads = [*self._loads[1 - LOADS :], missing[0]]
                self.loaded_at = time.perf_counter()
                await self._notify()
            elif missing[0] in self.page.sources:
                tries += 1
                if tries == TRIES:
                    self._failure = f"{missing[0]}: status {status}"
                    return await self._notify()
                await asyncio.sleep(PAUSE_SECONDS * 2 ** (tries - 1))
        return None

    def _stop_timers(self, fragments: Iterable[str] | None = None) -> None:
        for fragment in list(self._timers if fragments is None else fragments):
            if fragment in self._timers:
                self._timers.pop(fragment)[1].cancel()

    def _set_timer(self, fragment: str, seconds: float) -> None:
        if fragment in self._timers and self._timers[fragment][0] == seconds:
            return
        self._stop_timers([fragment])

        async def again() -> None:
            while True:
                await asyncio.sleep(seconds)
                await self._request(fragment=fragment, timer=True)

        self._timers[fragment] = seconds, asyncio.create_task(again())

    async def _listen(self) -> None:
        try:
            async for data in self._socket:
                message = ForwardMsg.FromString(data)
                self._receive(message)
                if message.WhichOneof("type") == "script_finished":
                    await self._notify()
            self._failure = "the server closed the connection"
        except Exception as error:  # raised by `until`
            self._failure = f"{type(error).__name__}: {error}"
        await self._notify()

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    def _receive(self, message: ForwardMsg) -> None:
        match message.WhichOneof("type"):
            case "new_session":
                self._begin(message.new_session, message)
            case "navigation":
                self.hash = message.navigation.page_script_hash or self.hash
            case "page_info_changed":
                text = message.page_info_changed.query_string
                self.link = urllib.parse.parse_qs(text, keep_blank_values=True)
            case "delta":
                self._draw(message)
            case "auto_rerun":
                self._set_timer(message.auto_rerun.fragment_id, message.auto_rerun.interval)
            case "stop_auto_rerun":
                self._stop_timers(message.stop_auto_rerun.fragment_ids)
            case "file_urls_response" if self._urls is not None:
                self._urls.set_result(message.file_urls_response.file_urls[0])
            case "script_finished":
                self._finish(message)

    def _begin(self, new: NewSession, message: ForwardMsg) -> None:
        self.session_id = new.initialize.session_id or self.session_id
        self.drawing = True
        self._run = message.metadata.run.script_run_id
        self._fragments = list(message.metadata.run.fragment_ids)
        if not self._fragments:
            self.began = self.requested
            self._stop_timers()

    def _draw(self, message: ForwardMsg) -> None:
        node = self.page.put(message.delta, tuple(message.metadata.delta_path), self._run)
        if node is not None and node.id and (node.id not in self.values or was_set(node)):
            self.values[node.id] = node, value_of(node)

    def _finish(self, message: ForwardMsg) -> None:
        run = message.metadata.run
        if message.script_finished == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
            self._failure = "the page's script does not compile"
        if message.script_finished not in DONE:
            return  # another run follows at once
        self.drawing = False
        if not run.fragment_ids and run.script_run_id != self._run:
            return
        self.page.end_run(run.script_run_id, run.fragment_ids)
        there = {node.id for node in self.page.nodes.values()}
        self.values = {name: held for name, held in self.values.items() if name in there}
        if self.missing and (self._loading is None or self._loading.done()):
            self._loading = asyncio.create_task(self._load())
        if not run.fragment_ids:
            self.finished += 1
            self.finished_at = time.perf_counter()


Expect = Callable[[Session], str]  # what is wrong on the page; an empty text if nothing is


def nothing_wrong(session: Session) -> str:
    """No traceback, error or warning is shown."""
    return "; ".join(session.page.troubles)


def in_a_thread(work: Coroutine[Any, Any, T]) -> T:
    """Return what ``work`` returns; in a thread where a browser has a loop, there is no second."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def visited(
    url: str, use: Callable[[Session], T], link: str = "", origin: str = "", page: str = ""
) -> T:
    """Open a page, whatever it says, and return what ``use`` returns of the open session."""

    async def visit() -> T:
        async with Session(url, page, urllib.parse.parse_qs(link), origin or None) as session:
            await session.open(lambda _: "")
            return use(session)

    return in_a_thread(visit())
