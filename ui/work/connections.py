"""The server's connections: how many there are, and how long each may keep the server waiting.

    async with guarded_connections():  # before the server listens
        ...

uvicorn waits for ever for a request's head or body, and for a client that does not read, and
accepts connections until the process has no file left. Here what is waited for ends after
`REQUEST_SECONDS`; where connections are too many, or files few, the one that has been waited for
longest makes room for the next; and a message of a websocket has few fragments.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame

from ui.limits import (
    CONNECTIONS,
    FILES_FOR_VISITORS,
    FILES_FOR_WORK,
    FRAGMENTS,
    HEAD_BYTES,
    REQUEST_SECONDS,
    WIDGETS_MB,
)

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
        for has_to in (_has_to_send, _has_to_read):
            for protocol in self._since:
                if protocol.transport is not None and has_to(protocol):
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


def _has_to_read(protocol: Any) -> bool:
    return bool(protocol.transport.get_write_buffer_size())


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
