"""Listening: one port, http and https on it where there is a certificate, a clear word when it is taken."""

import asyncio
import errno
import logging
import socket
import ssl
import sys

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from bridge_agent.base.errors import BridgeError
from bridge_agent.base.tasks import Tasks
from bridge_agent.base.threads import in_thread
from bridge_agent.settings import Address

_log = logging.getLogger(__name__)
_FIRST_BYTE_S = 30.0
_TLS_HANDSHAKE = b"\x16"


class _NoStrangers(logging.Filter):
    """Keeps requests that are no HTTP, and bodies that don't unpack, out of the log.

    Whoever reaches the port could else fill the log, with a traceback for each; the sender is answered 400.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Tell whether a record is logged."""
        error = record.exc_info[1] if record.exc_info else None
        return not isinstance(error, (HttpProcessingError, web.RequestPayloadError))


_NO_STRANGERS = _NoStrangers()


class PortTaken(BridgeError):
    """The port is in use by another program; stop that one, or choose another port."""

    code = "port_taken"


class Listener:
    """Serves an aiohttp application at an address until it is stopped."""

    def __init__(self, app: web.Application, address: Address, setting: str) -> None:
        """Prepare to serve; `setting` is named when the address can't be used."""
        logging.getLogger("aiohttp.server").addFilter(_NO_STRANGERS)
        self._runner = web.AppRunner(
            app,
            handler_cancellation=True,
            access_log=None,
            keepalive_timeout=75.0,
            shutdown_timeout=1.0,
        )
        self._address = address
        self._setting = setting
        self._tasks = Tasks("listener")
        self._sockets: list[socket.socket] = []
        self.port = address.port

    async def start(self, tls: ssl.SSLContext | None = None) -> None:
        """Bind and serve; with a context both schemes on the one port (R-021).

        Raises PortTaken and BridgeError with what to do.
        """
        await self._runner.setup()
        try:
            if tls is None:
                site = web.TCPSite(self._runner, self._address.host, self._address.port, backlog=4096)
                await site.start()
                self.port = self._runner.addresses[0][1]
            else:
                self._sockets = await _bind(self._address)
                self.port = self._sockets[0].getsockname()[1]
                for bound in self._sockets:
                    self._tasks.spawn(self._accept(bound, tls), "accept")
        except OSError as error:
            await self.stop()
            raise _worded(error, self._address, self._setting) from error

    async def stop(self) -> None:
        """Stop accepting, end what is open (the application's shutdown hooks first), free the port."""
        await self._tasks.cancel()
        for bound in self._sockets:
            bound.close()
        self._sockets = []
        await self._runner.cleanup()

    async def _accept(self, bound: socket.socket, tls: ssl.SSLContext) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(bound)
            except OSError as error:
                _log.warning("Accepting a connection failed: %s", error)
                await asyncio.sleep(0.1)  # noqa: TID251 - out of descriptors; there is nothing else to wait for
                continue
            connection.setblocking(False)
            self._tasks.spawn(self._serve(connection, tls), "connection")

    async def _serve(self, connection: socket.socket, tls: ssl.SSLContext) -> None:
        server = self._runner.server
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_FIRST_BYTE_S):
                first = await _peek(connection)
            if not first or server is None:
                connection.close()
                return
            context = tls if first == _TLS_HANDSHAKE else None
            await loop.connect_accepted_socket(server, connection, ssl=context)
        except (OSError, TimeoutError, ssl.SSLError) as error:
            _log.debug("A connection ended before its first request: %s", error)
            connection.close()
        except asyncio.CancelledError:
            connection.close()
            raise


async def ensure_free(address: Address, setting: str) -> None:
    """Raise what `Listener.start` would, before a start says or spends what it can't take back."""
    try:
        bound = await _bind(address)
    except OSError as error:
        raise _worded(error, address, setting) from error
    for each in bound:
        each.close()


def _worded(error: OSError, address: Address, setting: str) -> BridgeError:
    where = f"{address} ({setting})"
    if error.errno == errno.EADDRINUSE:
        return PortTaken(
            f"The address {where} is already in use by another program; stop that one, or set "
            f"{setting} to another port."
        )
    if error.errno == errno.EACCES or getattr(error, "winerror", 0) == 10013:
        return BridgeError(
            f"The system does not let this program listen at {where}; choose a port above 1023"
            + (
                " outside the ranges that `netsh int ipv4 show excludedportrange tcp` lists."
                if sys.platform == "win32"
                else "."
            )
        )
    if error.errno in (errno.EADDRNOTAVAIL, socket.EAI_NONAME):
        return BridgeError(
            f"This machine has no address {where}; set {setting} to one of its own, or to 0.0.0.0 "
            "and a port for all of them."
        )
    return BridgeError(f"Listening at {where} failed ({error.strerror or error}); mend the address.")


async def _bind(address: Address) -> list[socket.socket]:
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(
        address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    sockets: list[socket.socket] = []
    for family, kind, protocol, _, where in found:
        bound = socket.socket(family, kind, protocol)
        try:
            if sys.platform != "win32":
                bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            bound.setblocking(False)
            bound.bind(where)
            bound.listen(4096)
        except OSError:
            for earlier in (*sockets, bound):
                earlier.close()
            raise
        sockets.append(bound)
    return sockets


async def _peek(connection: socket.socket) -> bytes:
    """Look at a connection's first byte without taking it; empty when the other side hung up."""
    loop = asyncio.get_running_loop()
    if sys.platform == "win32":
        # The Proactor loop has no add_reader; a blocking peek in a thread does the same.
        connection.settimeout(_FIRST_BYTE_S)
        try:
            return await in_thread(connection.recv, 1, socket.MSG_PEEK)
        finally:
            connection.setblocking(False)
    readable = asyncio.Event()
    loop.add_reader(connection, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(connection)
    return connection.recv(1, socket.MSG_PEEK)
