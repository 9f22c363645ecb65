"""A browser's tab without a browser: the one client of Streamlit's protocol in the tests.

As a browser does, it sends what its visitor moves and its link, runs fragments at their intervals,
and gets the files of pictures, once each.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
import urllib.parse
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import websockets
from streamlit.components.v2.bidi_component.main import _make_trigger_id
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Common_pb2 import FileURLs
from streamlit.proto.Delta_pb2 import Delta
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

from tests.served import XSRF, ask, cookie_header, send_file, set_cookies
from ui.common.links import LINE_BREAK

SECONDS, PAUSE_SECONDS = 120.0, 0.2  # for an answer; between two tries to connect
DONE = (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)
TEXTS = {"markdown", "text", "heading", "html", "metric"}
OF_THE_PAST = {"heard", "follow", "serial", "family"}  # in what a component is told
Place = tuple[int, ...]
Value = bool | float | str | list[str]
T = TypeVar("T")


class Wrong(AssertionError):
    """The page does not show what its visitor has requested."""


@dataclass(frozen=True)
class Node:
    """An element or a block: its ``kind``, its message, and the script run that sent it."""

    kind: str
    message: Any
    id: str  # of the widget; empty where it is none
    run: str
    fragment: str  # that it was drawn in; empty outside


class Page:
    """Elements by place."""

    def __init__(self) -> None:
        self.nodes: dict[Place, Node] = {}

    def put(self, delta: Delta, place: Place, run: str) -> None:
        """Add what the server sent; an element removes what lay below it."""
        sort = delta.WhichOneof("type")
        if sort == "new_transient":  # a spinner, which lies over what comes
            return
        whole = delta.new_element if sort == "new_element" else delta.add_block
        kind = whole.WhichOneof("type") or "container"
        message = getattr(whole, kind, whole)
        if sort == "new_element":
            for other in [p for p in self.nodes if p[: len(place)] == place]:
                del self.nodes[other]
        name = getattr(message, "id", "") or getattr(whole, "id", "")
        self.nodes[place] = Node(kind, message, name, run, delta.fragment_id)

    def end_run(self, run: str, fragments: Iterable[str]) -> None:
        """Drop what the finished ``run``, of the whole page or of ``fragments``, did not draw."""
        for place, node in list(self.nodes.items()):
            if node.run != run and (not fragments or node.fragment in fragments):
                del self.nodes[place]

    def all(self, *kinds: str) -> Iterator[Node]:
        """Elements of these kinds, in their order on the page."""
        return (node for _, node in sorted(self.nodes.items()) if node.kind in kinds)

    def has(self, key: str) -> bool:
        return any(node.id.endswith(f"-{key}") for node in self.nodes.values())

    def widget(self, key: str) -> Node:
        """The widget called ``key``; ``LookupError`` where it is not on the page."""
        nodes = [node for node in self.nodes.values() if node.id.endswith(f"-{key}")]
        if len(nodes) != 1:
            raise LookupError(f"{len(nodes)} widgets are called {key!r}; there must be one")
        return nodes[0]

    def button(self, label: str) -> Node | None:
        """The button with this label, if it is there."""
        return next((n for n in self.all("button") if n.message.label == label), None)

    @property
    def files(self) -> set[str]:
        """Addresses of arrays of all components, and of pictures."""
        told = [node.message.bytes for node in self.all("bidi_component")]
        headers = [json.loads(text) for text in told if text.startswith(b"{")]
        pictures = [image.url for node in self.all("imgs") for image in node.message.imgs]
        return {x["source"] for x in headers if "source" in x} | {
            url.removeprefix("/") for url in pictures if not url.startswith("data:")
        }

    @property
    def texts(self) -> list[str]:
        """All paragraphs, captions, headings and plain texts."""
        return [node.message.body for node in self.all("markdown", "text", "heading")]

    @property
    def progress(self) -> list[str]:
        """The texts of progress bars."""
        return [node.message.text for node in self.all("progress")]

    @property
    def shown(self) -> list[Any]:
        """All that a visitor reads: texts, charts, tables, what components were told."""
        return [_content(node) for _, node in sorted(self.nodes.items()) if node.kind in CONTENT]

    @property
    def troubles(self) -> list[str]:
        """Tracebacks, errors and warnings."""
        raised = [f"{x.message.type}: {x.message.message}" for x in self.all("exception")]
        alerts = [node.message for node in self.all("alert")]
        loud = [x.body for x in alerts if x.format in (x.ERROR, x.WARNING)]
        return raised + [line for text in loud for line in text.split(LINE_BREAK)]


CONTENT: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(TEXTS, lambda x: x.body),
    "plotly_chart": lambda x: x.spec,
    "arrow_data_frame": lambda x: x.arrow_data.data,
    "table": lambda x: x.arrow_data.data,
    "bidi_component": lambda x: _told(x.bytes or x.json),
}


def _content(node: Node) -> Any:
    return node.id.rpartition("-")[2], CONTENT[node.kind](node.message)


def _told(message: bytes | str) -> Any:
    """What a component was told, without what depends on what it said before."""
    with contextlib.suppress(ValueError):
        told = json.loads(message)
        told = told[0] if isinstance(told, list) and len(told) == 1 else told
        if isinstance(told, dict):
            return {name: value for name, value in told.items() if name not in OF_THE_PAST}
        return told
    return message


def state_of(node: Node, value: Value) -> WidgetState:
    """The message that a widget has this ``value``."""
    state = WidgetState(id=node.id)
    if isinstance(value, bool):
        state.bool_value = value
    elif isinstance(value, list):
        state.string_array_value.data.extend(value)
    elif isinstance(value, str):
        state.string_value = value
    elif node.kind == "slider":
        state.double_array_value.data.append(value)
    else:
        state.double_value = value
    return state


def text_of(value: Value) -> list[str]:
    """A value as it stands in a link."""
    if isinstance(value, list):
        return value
    if isinstance(value, bool):
        return [str(value).lower()]
    return [f"{value:g}" if isinstance(value, float) else f"{value}"]


class Tab:
    """A tab at the page called ``name`` in its address, with the ``link`` behind that."""

    def __init__(
        self,
        url: str,
        name: str = "",
        link: str = "",
        *,
        origin: str = "",
        cookies: dict[str, str] | None = None,
    ) -> None:
        self.url, self.name = url, name
        self.link = urllib.parse.parse_qs(link, keep_blank_values=True)
        self.origin = origin or "{0.scheme}://{0.netloc}".format(urllib.parse.urlsplit(url))
        self.cookies = {} if cookies is None else cookies  # of all tabs of a browser
        self.page = Page()
        self.session_id = ""
        self.hash = ""  # of the page's script; empty before the server has sent it
        self.requested = self.began = self.finished = 0  # runs of the whole page
        self.drawing = False  # whether a run is under way: half of the page may be of the last one
        self.finished_at = self.loaded_at = 0.0  # time.perf_counter(): the page, its pictures
        self._run, self._pages = "", dict[str, str]()  # what runs; hashes by address
        self._timers: dict[str, tuple[float, asyncio.Task]] = {}
        self._loaded = set[str]()  # addresses
        self._loading: asyncio.Task | None = None
        self._failure = ""
        self._changed = asyncio.Condition()
        self._urls: asyncio.Future[FileURLs] | None = None

    async def __aenter__(self) -> Tab:
        """Load the page and connect; nothing runs yet."""
        query = urllib.parse.urlencode(self.link, doseq=True)
        await self._get(f"/{self.name}?{query}", Accept="text/html")
        await self._connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the tab."""
        self._stop_timers()
        for task in filter(None, (self._listener, self._loading)):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        await self._socket.close()

    async def reconnect(self) -> float:
        """Connect again once the server answers, with the tab's link."""
        began = time.perf_counter()
        await self.__aexit__()
        self._failure = ""
        await self._connect()
        await self._whole([])
        return time.perf_counter() - began

    async def _connect(self) -> None:
        async with asyncio.timeout(SECONDS):
            while await self._get("/_stcore/health") != 200:
                await asyncio.sleep(PAUSE_SECONDS)
        names = ("streamlit", self.cookies[XSRF], *filter(None, [self.session_id]))
        self._socket = await websockets.connect(
            f"{self.url.replace('http', 'ws', 1)}/_stcore/stream",
            origin=websockets.Origin(self.origin),
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

    # --- What a visitor does: each returns the seconds until the page stands ----------------------

    async def open(self) -> float:
        """Draw the page for the first time."""
        return await self._whole([])

    async def change(self, **values: Value) -> float:
        """Move widgets, by their keys, all at once."""
        states = []
        for key, value in values.items():
            node = self.page.widget(key)
            if node.kind == "button_group" or (node.kind == "slider" and node.message.options):
                value = [f"{value}"]
            states.append(state_of(node, value))
            if name := getattr(node.message, "query_param_key", ""):
                self.link[name] = text_of(value)
        return await self._whole(states)

    async def press(self, button: Node) -> float:
        """Click a button."""
        return await self._state(WidgetState(id=button.id, trigger_value=True), button.fragment)

    async def send(self, key: str, event: str, **content: object) -> float:
        """Let the component called ``key`` send a message, as wire.js does."""
        node = self.page.widget(key)
        value = {**content, "serial": time.time_ns() // 1_000_000}
        text = json.dumps([{"event": event, "value": value}])
        state = WidgetState(id=_make_trigger_id(node.id, "events"), json_trigger_value=text)
        return await self._state(state, node.fragment)

    async def go(self, address: str) -> float:
        """Follow the bar's link to another page."""
        self._stop_timers()
        self.link, self.hash = {}, self._pages[address]
        return await self._whole([])

    async def upload(self, key: str, name: str, content: bytes) -> float:
        """Upload a file at the uploader called ``key``."""
        began = time.perf_counter()
        message = BackMsg()
        request = message.file_urls_request
        request.request_id, request.session_id = name, self.session_id
        request.file_names.append(name)
        self._urls = asyncio.get_running_loop().create_future()
        await self._socket.send(message.SerializeToString())
        urls = await asyncio.wait_for(self._urls, SECONDS)
        mine = self.cookies[XSRF], self.cookies
        status = await asyncio.to_thread(send_file, self.url, urls.upload_url, content, *mine, name)
        if status >= 300:
            raise Wrong(f"the upload was refused: {status}")
        state = WidgetState(id=self.page.widget(key).id)
        info = state.file_uploader_state_value.uploaded_file_info.add()
        info.name, info.size, info.file_id = name, len(content), urls.file_id
        info.file_urls.CopyFrom(urls)
        await self._whole([state])
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

    @property
    def at_work(self) -> bool:
        """Whether the page goes on by itself: some fragment runs again and again."""
        return bool(self._timers)

    async def settle(self, seconds: float = SECONDS) -> None:
        """Wait until nothing is computed any more, and all pictures are there."""
        await self.until(lambda: f"{self.page.progress}" if self.at_work else "", seconds)
        await self.until(lambda: f"not there: {self.missing}" if self.missing else "")

    async def _state(self, state: WidgetState, fragment: str) -> float:
        """Send the state of a widget; from within a fragment only that runs again."""
        if not fragment:
            return await self._whole([state])
        began, before = time.perf_counter(), self.finished
        await self._request([state], fragment)
        await self.until(lambda: "" if self.finished > before else "no answer")
        return self.finished_at - began

    async def _whole(self, states: list[WidgetState]) -> float:
        """Run the page, and wait for its end and its pictures."""
        began, before = time.perf_counter(), self.finished
        await self._request(states)
        number = self.requested
        await self.until(
            lambda: "" if self.began >= number and self.finished > before else "no answer"
        )
        await self.until(lambda: f"not there: {self.missing}" if self.missing else "")
        return max(self.finished_at, self.loaded_at) - began

    # --- What a browser does ----------------------------------------------------------------------

    async def _request(
        self, states: Iterable[WidgetState] = (), fragment: str = "", timer: bool = False
    ) -> None:
        """Ask the server to run the page, or a ``fragment`` of it."""
        message = BackMsg()
        request = message.rerun_script
        request.query_string = urllib.parse.urlencode(self.link, doseq=True)
        request.page_script_hash, request.page_name = self.hash, "" if self.hash else self.name
        request.fragment_id, request.is_auto_rerun = fragment, timer
        request.widget_states.widgets.extend(states)
        self.requested += not fragment
        await self._socket.send(message.SerializeToString())

    @property
    def missing(self) -> set[str]:
        """Addresses of what is drawn and has not come yet."""
        return self.page.files - self._loaded

    async def _load(self) -> None:
        while missing := self.missing:
            address = missing.pop()
            status = await self._get(f"/{address}")
            if status != 200 and address in self.page.files:
                self._failure = f"{address}: status {status}"
            self._loaded.add(address)
            self.loaded_at = time.perf_counter()
            await self._notify()

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
                self.session_id = message.new_session.initialize.session_id or self.session_id
                self.drawing, self._run = True, message.metadata.run.script_run_id
                if not message.metadata.run.fragment_ids:
                    self.began = self.requested
                    self._stop_timers()
            case "navigation":
                self.hash = message.navigation.page_script_hash or self.hash
                entries = message.navigation.app_pages
                self._pages = {page.url_pathname: page.page_script_hash for page in entries}
            case "page_info_changed":
                text = message.page_info_changed.query_string
                self.link = urllib.parse.parse_qs(text, keep_blank_values=True)
            case "delta":
                self.page.put(message.delta, tuple(message.metadata.delta_path), self._run)
            case "auto_rerun":
                self._set_timer(message.auto_rerun.fragment_id, message.auto_rerun.interval)
            case "stop_auto_rerun":
                self._stop_timers(message.stop_auto_rerun.fragment_ids)
            case "file_urls_response" if self._urls is not None:
                self._urls.set_result(message.file_urls_response.file_urls[0])
            case "script_finished":
                self._finish(message)

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
        if self.missing and (self._loading is None or self._loading.done()):
            self._loading = asyncio.create_task(self._load())
        self.finished += not run.fragment_ids
        self.finished_at = time.perf_counter()


def nothing_wrong(tab: Tab) -> str:
    """What is shown of tracebacks, errors and warnings: an empty text."""
    return "; ".join(tab.page.troubles)


def in_a_thread(work: Coroutine[Any, Any, T]) -> T:
    """Return what ``work`` returns; in a thread where a browser has a loop, there is no second."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def visited(
    url: str, use: Callable[[Tab], T], link: str = "", *, origin: str = "", page: str = ""
) -> T:
    """Open a page and return what ``use`` returns of the open tab."""

    async def visit() -> T:
        async with Tab(url, page, link, origin=origin) as tab:
            await tab.open()
            return use(tab)

    return in_a_thread(visit())
