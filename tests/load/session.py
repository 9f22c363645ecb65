"""How does a visitor use a page: look, move a control, press, follow a link, bring a file?

Every step gives the seconds until the page stands as it must, and raises `Wrong` if it does not.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import secrets
import time
import urllib.parse
from collections.abc import Callable

from streamlit.components.v2.bidi_component.main import _make_trigger_id
from streamlit.proto.Common_pb2 import FileUploaderState
from streamlit.proto.WidgetStates_pb2 import WidgetState

from tests.load.shown import Node
from tests.load.tab import Tab, Wrong
from tests.load.widgets import Value, texts_of

SECOND_RUN_SECONDS = 10.0
Expect = Callable[["Session"], str]  # what is wrong with what is shown; nothing: an empty text


def nothing_wrong(session: Session) -> str:
    """No traceback, error or warning is shown."""
    return "; ".join(session.page.troubles)


class Session(Tab):
    """A visitor's tab."""

    async def __aenter__(self) -> Session:
        await super().__aenter__()
        return self

    async def open(self, expect: Expect = nothing_wrong) -> float:
        """See the page for the first time."""
        return await self._whole([], expect)

    async def change(self, expect: Expect = nothing_wrong, **values: Value) -> float:
        """Move widgets, by their keys, all at once."""
        for key, value in values.items():
            node = self.page.widget(key)
            self.values[node.id] = node, value
            if name := getattr(node.message, "query_param_key", ""):
                self.link.pop(name, None)
                if texts := texts_of(node, value):
                    self.link[name] = texts
        return await self._whole([], expect)

    async def press(self, button: Node, expect: Expect = nothing_wrong) -> float:
        """Click a button."""
        state = WidgetState(id=button.id, trigger_value=True)
        return await self._speak(state, button.fragment, expect)

    async def tell(
        self, key: str, event: str, value: object, expect: Expect = nothing_wrong
    ) -> float:
        """Let the component called ``key`` send its message."""
        node = self.page.widget(key)
        text = json.dumps([{"event": event, "value": value}])
        state = WidgetState(id=_make_trigger_id(node.id, "events"), json_trigger_value=text)
        return await self._speak(state, node.fragment, expect)

    async def go(self, label: str, expect: Expect = nothing_wrong) -> float:
        """Follow the link to another page."""
        entry = next(n.message for n in self.page.all("page_link") if n.message.label == label)
        self.stop_timers()
        self.link = urllib.parse.parse_qs(entry.query_string, keep_blank_values=True)
        self.hash, self.values = entry.page_script_hash, {}
        return await self._whole([], expect)

    async def upload(self, key: str, name: str, content: bytes, expect: Expect) -> float:
        """Bring a file to the uploader called ``key``."""
        began = time.perf_counter()
        node = self.page.widget(key)
        place = await self.place_for_file(name)
        await asyncio.to_thread(self._put, place.upload_url, name, content)
        files = FileUploaderState()
        info = files.uploaded_file_info.add()
        info.name, info.size, info.file_id = name, len(content), place.file_id
        info.file_urls.CopyFrom(place)
        self.values[node.id] = node, files
        await self._whole([], expect)
        return time.perf_counter() - began

    def _put(self, path: str, name: str, content: bytes) -> None:
        """Send a file as a browser's form does, with the token against cross-site requests."""
        server = http.client.HTTPConnection(urllib.parse.urlsplit(self.url).netloc)
        with contextlib.closing(server):
            server.request("GET", "/_stcore/health")
            answer = server.getresponse()
            answer.read()
            cookie = (answer.getheader("Set-Cookie") or "").split(";")[0]
            edge = secrets.token_hex(16)
            head = f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
            body = head.encode() + b"\r\n" + content + f"\r\n--{edge}--\r\n".encode()
            headers = {
                "Content-Type": f"multipart/form-data; boundary={edge}",
                "Cookie": cookie,
                "X-Xsrftoken": cookie.partition("=")[2].strip('"'),
            }
            server.request("PUT", path, body, headers)
            found = server.getresponse()
            if found.status >= 300:
                raise Wrong(f"the upload was refused: {found.status} {found.read()[:200]!r}")

    async def _speak(self, state: WidgetState, fragment: str, expect: Expect) -> float:
        """Send one message; from within a fragment only that runs again."""
        if not fragment:
            return await self._whole([state], expect)
        began = time.perf_counter()
        await self.run([state], fragment)
        await self.until(lambda: expect(self))
        return time.perf_counter() - began

    async def _whole(self, triggers: list[WidgetState], expect: Expect) -> float:
        """Run the page; as soon as that is done nothing may be wrong.

        The wish of a fragment to run it, which nobody hears of, may have come first: then the run
        after that counts, which there must be.
        """
        began, before = time.perf_counter(), self.finished
        await self.run(triggers)
        number = self.asked
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
