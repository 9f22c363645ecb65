"""What does a browser's tab do by itself? It hears, keeps what was set, and runs fragments again.

It is the browser that asks for a fragment again and again, without which no job would ever be seen
to go on; and that holds the values of all widgets and the link.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import time
import urllib.parse
from collections.abc import Callable, Iterable

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Common_pb2 import FileURLs
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.NewSession_pb2 import NewSession
from streamlit.proto.WidgetStates_pb2 import WidgetState

from tests.load.shown import Node, Page
from tests.load.widgets import Value, state_of, value_of, was_set

LOADS_KEPT = 4  # as in payload.js
TRIES, PAUSE_SECONDS = 6, 0.2
SECONDS = 120.0  # for an answer
DONE = (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)


class Wrong(AssertionError):
    """What is shown is not what this visitor has asked for."""


class Tab:
    """A tab at the page called ``name`` in its address, with the ``link`` behind that."""

    def __init__(self, url: str, name: str = "", link: dict[str, list[str]] | None = None) -> None:
        self.url, self.name, self.link = url, name, dict(link or {})
        self.page = Page()
        self.values: dict[str, tuple[Node, Value]] = {}  # of widgets, by id
        self.session_id = ""
        self.hash = ""  # of the page's script; none before the server has said it
        self.asked = self.began = self.finished = 0  # runs of the whole page
        self.drawing = False  # whether a run is under way: half of the page may be of the last one
        self.finished_at = self.loaded_at = 0.0  # time.perf_counter(): the page, its pictures
        self.heard_bytes = 0
        self._run, self._fragments = "", list[str]()  # what runs
        self._timers: dict[str, tuple[float, asyncio.Task]] = {}
        self._loads: list[str] = []  # addresses, newest last
        self._loading: asyncio.Task | None = None
        self._failure = ""
        self._changed = asyncio.Condition()
        self._urls: asyncio.Future[FileURLs] | None = None

    async def __aenter__(self) -> Tab:
        """Connect; nothing runs yet."""
        self._socket = await websockets.connect(
            f"{self.url.replace('http', 'ws', 1)}/_stcore/stream",
            subprotocols=[websockets.Subprotocol("streamlit")], compression=None,
            max_size=None, max_queue=None,  # a full queue would keep it from closing
            open_timeout=SECONDS, ping_interval=None,
        )  # fmt: skip
        self._listener = asyncio.create_task(self._listen())
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the tab."""
        self.stop_timers()
        for task in filter(None, (self._listener, self._loading)):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        await self._socket.close()

    async def until(self, wrong: Callable[[], str], seconds: float = SECONDS) -> None:
        """Wait until nothing is ``wrong`` between two runs, however many that takes."""
        problem = ""
        try:
            async with asyncio.timeout(seconds), self._changed:
                while problem := "the page is not drawn to its end" if self.drawing else wrong():
                    if self._failure:
                        raise ConnectionError(self._failure)
                    await self._changed.wait()
        except TimeoutError:
            raise Wrong(f"after {seconds:.0f} s: {problem}") from None

    async def run(
        self, triggers: Iterable[WidgetState] = (), fragment: str = "", timer: bool = False
    ) -> None:
        """Ask the server to run the page, or a ``fragment`` of it."""
        message = BackMsg()
        asked = message.rerun_script
        asked.query_string = urllib.parse.urlencode(self.link, doseq=True)
        asked.page_script_hash, asked.page_name = self.hash, "" if self.hash else self.name
        asked.fragment_id, asked.is_auto_rerun = fragment, timer
        held = (state_of(node, value) for node, value in self.values.values() if value is not None)
        asked.widget_states.widgets.extend([*held, *triggers])
        self.asked += not fragment
        await self._socket.send(message.SerializeToString())

    async def place_for_file(self, name: str) -> FileURLs:
        """Where a file called ``name`` may be sent to."""
        message = BackMsg()
        wish = message.file_urls_request
        wish.request_id, wish.session_id = name, self.session_id
        wish.file_names.append(name)
        self._urls = asyncio.get_running_loop().create_future()
        await self._socket.send(message.SerializeToString())
        return await asyncio.wait_for(self._urls, SECONDS)

    @property
    def missing(self) -> list[str]:
        """Addresses of what is drawn and has not come yet."""
        return [address for address in self.page.sources if address not in self._loads]

    async def _load(self) -> None:
        """Get all that is drawn, each once; an address may be gone for a moment."""
        tries = 0
        while missing := self.missing:
            status, size = await asyncio.to_thread(self._get, missing[0])
            self.heard_bytes += size
            if status == 200:
                self._loads = [*self._loads[1 - LOADS_KEPT :], missing[0]]
                self.loaded_at = time.perf_counter()
                await self._tell()
            elif missing[0] in self.page.sources:
                tries += 1
                if tries == TRIES:
                    self._failure = f"{missing[0]}: status {status}"
                    return await self._tell()
                await asyncio.sleep(PAUSE_SECONDS * 2 ** (tries - 1))
        return None

    def _get(self, address: str) -> tuple[int, int]:
        server = http.client.HTTPConnection(urllib.parse.urlsplit(self.url).netloc, timeout=SECONDS)
        with contextlib.closing(server):
            server.request("GET", f"/{address}")
            answer = server.getresponse()
            return answer.status, len(answer.read())

    def stop_timers(self, fragments: Iterable[str] | None = None) -> None:
        """Run these fragments no more; all of them, unless said."""
        for fragment in list(self._timers if fragments is None else fragments):
            if fragment in self._timers:
                self._timers.pop(fragment)[1].cancel()

    async def _listen(self) -> None:
        try:
            async for data in self._socket:
                self.heard_bytes += len(data)
                message = ForwardMsg.FromString(data)
                self._hear(message)
                if message.WhichOneof("type") == "script_finished":
                    await self._tell()
            self._failure = "the server closed the connection"
        except Exception as error:  # whoever waits is told
            self._failure = f"{type(error).__name__}: {error}"
        await self._tell()

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    def _hear(self, message: ForwardMsg) -> None:
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
                self.stop_timers(message.stop_auto_rerun.fragment_ids)
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
            self.began = self.asked
            self.stop_timers()

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

    def _set_timer(self, fragment: str, seconds: float) -> None:
        if fragment in self._timers and self._timers[fragment][0] == seconds:
            return
        self.stop_timers([fragment])

        async def again() -> None:
            while True:
                await asyncio.sleep(seconds)
                await self.run(fragment=fragment, timer=True)

        self._timers[fragment] = seconds, asyncio.create_task(again())
