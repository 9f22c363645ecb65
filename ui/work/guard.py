"""A guard before Streamlit: of connections, of requests and of messages.

    app = st.App(__file__, middleware=GUARDED)
    async with guarded_connections():  # before the server listens
        ...

uvicorn waits for ever for a request's head or body, and for a client that does not read, and
accepts connections until the process has no file left. Here what is waited for ends after
`REQUEST_SECONDS`; where connections are too many, or files few, the one that has been waited for
longest makes room for the next; and a message of a websocket has few fragments.

A request says how long its body is, and is refused before it is read where that is too long. Two
lengths are refused as well: with `Transfer-Encoding` the server would not look at the other.
Of a session's messages those are handled that our pages send. Others clear the caches of all
visitors, read the state of the server's folder, or install files there.

Which messages are handled, and which session has which uploader and files, Streamlit 1.67 tells by
private names only (``handle_backmsg``, ``_session_mgr``, ``_new_widget_state``, ``file_storage``):
each can go with a version that refuses such messages and bounds uploads itself. The attacks of
``tests/test_attacks.py`` and ``test_security.py`` fail where a version has other names.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from functools import wraps
from typing import Any

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnected
from streamlit import runtime
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.runtime.app_session import AppSession
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame

from ui.limits import (
    ALL_UPLOAD_BYTES,
    BODY_BYTES,
    CONNECTIONS,
    FILES_FOR_VISITORS,
    FILES_FOR_WORK,
    FRAGMENTS,
    HEAD_BYTES,
    REQUEST_SECONDS,
    SESSION_DOWNLOADS,
    SESSION_UPLOAD_BYTES,
    SESSION_UPLOADS,
    UPLOAD_MB,
    WIDGETS_MB,
)

UPLOAD_PLACE = "/_stcore/upload_file/"  # then the session and the file
NAME_BYTES, PATH_LETTERS = 255, 2000
FORM_BYTES = 10_000  # around the file
UPLOADER = "file_uploader_state_value"  # Streamlit's name for what an uploader holds
FULL = "This server has as many visitors as it can hold. Try again in a minute."


NEEDED = {"rerun_script", "stop_script", "app_heartbeat"}
OPERATIONS = {"deferred_file", "dataframe_chunk"}  # a download that is made now; rows of a table


def guard_messages(session: type[AppSession] = AppSession) -> None:
    """Let sessions handle what our pages send; a second call does nothing."""
    handle = session.handle_backmsg
    if hasattr(handle, "__wrapped__"):
        return

    @wraps(handle)
    def handle_needed(self: AppSession, message: BackMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "file_urls_request":  # an address each
            del message.file_urls_request.file_names[SESSION_UPLOADS:]
        elif kind == "backend_operation_request":
            asked = {field.name for field, _ in message.backend_operation_request.ListFields()}
            if not asked & OPERATIONS or len(self._background_tasks) >= SESSION_DOWNLOADS:
                return
        elif kind not in NEEDED:
            return
        handle(self, message)

    session.handle_backmsg = handle_needed  # type: ignore[method-assign, assignment]


class Guard:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._uploading: Counter[str] = Counter()  # files that come now, by session

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        session = scope["path"].partition(UPLOAD_PLACE)[2].partition("/")[0]
        session = session if scope["method"] == "PUT" else ""
        try:
            _check_names(scope["path"])
            left = _body_bytes(Headers(scope=scope), session)
            if session:
                _check_uploader(session, self._uploading)
        except HTTPException as refused:
            # What is still to come is not read.
            closing = {"Connection": "close"}
            answer = JSONResponse({"error": refused.detail}, refused.status_code, headers=closing)
            await answer(scope, receive, send)
            return

        async def bounded() -> Message:
            nonlocal left
            message = await receive()
            left -= len(message.get("body", b""))
            if left < 0:
                raise HTTPException(413, headers={"Connection": "close"})
            return message

        # A phone that is switched off need not be logged.
        with suppress(ClientDisconnect), self._upload(session) if session else nullcontext():
            await self._app(scope, bounded, send)

    @contextmanager
    def _upload(self, session: str) -> Iterator[None]:
        self._uploading[session] += 1
        try:
            yield
        finally:
            self._uploading -= Counter([session])  # which forgets what is 0
            _make_room(session)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        if files_left() < FILES_FOR_WORK + FILES_FOR_VISITORS:
            await WebSocket(scope, receive, send).send_denial_response(PlainTextResponse(FULL, 503))
            return
        messages = 0

        async def binary() -> Message:
            """The next message; the first one, which a browser sends at once, comes soon."""
            nonlocal messages
            messages += 1
            try:
                # The first one is that it wants to connect.
                async with asyncio.timeout(REQUEST_SECONDS if messages == 2 else None):
                    message = await receive()
            except TimeoutError:
                return {"type": "websocket.disconnect", "code": 1008}
            if message.get("text") is not None:  # Streamlit would write a traceback into the log
                return {"type": "websocket.disconnect", "code": 1003}
            return message

        with suppress(WebSocketDisconnected):  # nor need a browser that has gone while it connects
            await self._app(scope, binary, send)


def _check_names(path: str) -> None:
    """Raise where a system of files would, and Streamlit then writes a traceback."""
    names = path.encode(errors="replace").split(b"/")
    if len(path) > PATH_LETTERS or len(max(names, key=len)) > NAME_BYTES:
        raise HTTPException(404, "There is no such page.")


def _body_bytes(headers: Headers, upload: str) -> int:
    """Return how long the body is; raise where it is too long, or that is not clear."""
    if "transfer-encoding" in headers:
        raise HTTPException(411, "A request has to say how long it is (Content-Length).")
    length = headers.get("content-length", "0")
    most = UPLOAD_MB * 1024 * 1024 + FORM_BYTES if upload else BODY_BYTES
    if not length.isdecimal() or int(length[:20]) > most:
        raise HTTPException(413, "This request is too long.")
    return int(length)


def _check_uploader(session: str, uploading: Mapping[str, int]) -> None:
    """Raise where the page of the ``session`` shows no place for files."""
    found = runtime.get_instance()._session_mgr.get_active_session_info(session)
    if found is None:
        return  # which the route says
    widgets: Mapping[str, Any] = found.session.session_state._new_widget_state.widget_metadata
    if not any(each.value_type == UPLOADER for each in [*widgets.values()]):
        raise HTTPException(403, "This page takes no files.")
    if uploading[session] >= SESSION_UPLOADS:
        raise HTTPException(429, "Too many files at once.")


def _make_room(session: str) -> None:
    """Drop the oldest files: of the ``session``, then of whoever holds most."""
    files: Any = runtime.get_instance().uploaded_file_mgr

    def held(name: str) -> int:
        return sum(len(file.data) for file in [*files.file_storage.get(name, {}).values()])

    def drop_from(name: str) -> None:
        files.remove_file(name, next(iter(files.file_storage[name])))

    while len(files.file_storage.get(session, ())) > SESSION_UPLOADS:
        drop_from(session)
    while held(session) > SESSION_UPLOAD_BYTES:
        drop_from(session)
    while files._total_bytes > ALL_UPLOAD_BYTES:
        drop_from(max([*files.file_storage], key=held))


GUARDED = [Middleware(Guard)]


# --- Connections ----------------------------------------------------------------------------------

try:
    import resource
except ImportError:  # Windows, which has no such limit
    resource = None  # type: ignore[assignment]

ACCEPTED_AT_ONCE = 4  # before the first of them is looked at, or gives its file back
SWEEP_SECONDS, HANDSHAKE_SECONDS = 1.0, 70.0
FILES_OF_MACOS = 10_240  # it says "unlimited", and then allows so many
Factory = Callable[..., asyncio.Protocol]


def raise_file_limit() -> None:
    """Let this process open as many files as the system allows it."""
    if resource is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for most in (hard, FILES_OF_MACOS):
        if soft == hard:
            break
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            break


def files_left() -> int:
    """Return how many more files the process can open."""
    if resource is None:
        return sys.maxsize
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    try:
        lowest = os.open(os.devnull, os.O_RDONLY)  # the lowest free number
    except OSError:
        return 0
    os.close(lowest)
    return sys.maxsize if limit == resource.RLIM_INFINITY else limit - lowest


@asynccontextmanager
async def guarded_connections() -> AsyncIterator[None]:
    """Watch the connections of every server that the running loop creates meanwhile."""
    loop = asyncio.get_running_loop()
    listen = loop.create_server
    watches: list[asyncio.Task[None]] = []

    async def create_server(factory: Factory, *, sock: Any, backlog: int, **more: Any) -> Any:
        config = factory().config  # type: ignore[attr-defined]
        config.h11_max_incomplete_event_size = HEAD_BYTES
        config.ws_protocol_class = _Websocket
        config.ws_max_size = WIDGETS_MB * 1024 * 1024  # of what comes; MESSAGE_MB, of what goes
        connections = Connections()
        watches.append(loop.create_task(connections.watch()))
        server = await listen(
            connections.watched(factory), sock=sock, backlog=ACCEPTED_AT_ONCE, **more
        )
        sock.listen(backlog)  # those who wait until they are accepted may be more
        return server

    loop.create_server = create_server  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        loop.create_server = listen  # type: ignore[method-assign]
        for watch in watches:
            watch.cancel()


class Connections:
    """The connections of a server, oldest first, with since when each has stood as it stands."""

    def __init__(self, most: int = CONNECTIONS, seconds: float = REQUEST_SECONDS) -> None:
        self._most, self._seconds = most, seconds
        self._since: dict[Any, tuple[Any, float]] = {}  # protocol of uvicorn: state, from when

    def watched(self, factory: Factory) -> Factory:
        """Return a ``factory`` of protocols whose connections are watched from the first moment."""

        def create(*args: Any) -> asyncio.Protocol:
            few = FILES_FOR_WORK + 2 * FILES_FOR_VISITORS - files_left()
            for _ in range(max(few, len(self._since) + 1 - self._most)):
                if not self._make_room():
                    break
            if files_left() < FILES_FOR_WORK:
                return _Refused()
            protocol = factory(*args)
            self._since[protocol] = None, asyncio.get_running_loop().time()
            return protocol

        return create

    def _make_room(self) -> bool:
        """Close the connection that has been waited for longest; return whether there is one."""
        self._since = {one: state for one, state in self._since.items() if not _is_closed(one)}
        for waited_for in (_has_to_send, lambda x: x.transport.get_write_buffer_size()):
            for protocol in self._since:
                if protocol.transport is not None and waited_for(protocol):
                    del self._since[protocol]
                    protocol.transport.abort()
                    return True
        return False

    async def watch(self) -> None:
        """Close what has stood still for too long, for ever."""
        while True:
            await asyncio.sleep(min(SWEEP_SECONDS, self._seconds / 4))
            self.sweep(asyncio.get_running_loop().time())

    def sweep(self, now: float) -> None:
        """Forget connections that are closed, close those that stand still at the time ``now``."""
        for protocol, (state, since) in list(self._since.items()):
            transport = protocol.transport
            # Without a transport it is being accepted, or has failed at that: TLS has a minute.
            if _is_closed(protocol) or (transport is None and now - since > HANDSHAKE_SECONDS):
                del self._since[protocol]
            if transport is None or _is_closed(protocol):
                continue
            # A websocket's protocol has taken the place of HTTP's on the same connection.
            unread = transport.get_write_buffer_size()
            found = getattr(protocol, "cycle", None), _has_to_send(protocol), unread
            if found != state:
                self._since[protocol] = found, now
            elif (found[1] or unread) and now - since > self._seconds:
                transport.abort()


def _is_closed(protocol: Any) -> bool:
    transport = protocol.transport  # None while the connection is being accepted
    return transport is not None and transport.get_extra_info("socket").fileno() < 0


def _has_to_send(protocol: Any) -> bool:
    """Return whether the client has to send a request, or the rest of one."""
    now = protocol.transport.get_protocol()
    if now is not protocol:  # a websocket; one with too long a header is never answered
        return not now.handshake_complete
    cycle = protocol.cycle
    return cycle is None or cycle.response_complete or cycle.more_body


class _Websocket(WebSocketsSansIOProtocol):
    """A connection that ends at a message of too many fragments: each takes time, even empty."""

    def handle_cont(self, event: Frame) -> None:
        """Take a fragment that is not the first one."""
        if len(self.frames) < FRAGMENTS:
            super().handle_cont(event)
        else:
            self.transport.abort()


class _Refused(asyncio.Protocol):
    """A connection for which there is no room."""

    def connection_made(self, transport: Any) -> None:
        transport.abort()
