"""Opens the port, announces the address, and serves until a signal."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import os
import secrets
import signal
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import uvicorn

from ralph.errors import UsageError
from ralph.interfaces.web.access import Access
from ralph.interfaces.web.app import make_app
from ralph.interfaces.web.connections import GuardedProtocol
from ralph.operations.fleet.watch import FleetWatch
from ralph.operations.metrics_token import metrics_token
from ralph.operations.projects import Project
from ralph.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """Where and how to serve the page."""

    host: str = "127.0.0.1"
    port: int = 0
    read_only: bool = False
    certificate: Path | None = None
    key: Path | None = None
    insecure_host: bool = False
    metrics_token: Path | None = None

    def require_safe(self) -> None:
        """Raises UsageError if others on the network could read the token."""
        if (self.certificate is None) != (self.key is None):
            message = "--tls-cert and --tls-key belong together"
            raise UsageError(message, hint="give both, or neither")
        if self.certificate is None and not is_loopback(self.host) and not self.insecure_host:
            message = f"--host {self.host} would send the token and your code unencrypted over the network"
            hint = "give --tls-cert and --tls-key, forward the port with ssh -L, or say --insecure-host"
            raise UsageError(message, hint=hint)


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def serve(
    projects: Sequence[Project],
    options: ServerOptions,
    *,
    announce: Callable[[str], None],
    fleet: FleetWatch | None = None,
) -> None:
    """``announce`` gets the address, with its token, as soon as the server answers there."""
    options.require_safe()
    _require_certificate(options)
    counting = "" if options.metrics_token is None else metrics_token(options.metrics_token)
    with contextlib.closing(_listen(options)) as listener:
        port = listener.getsockname()[1]
        access = Access(
            token=secrets.token_urlsafe(32),
            port=port,
            secure=options.certificate is not None,
            read_only=options.read_only,
            hosts=frozenset({options.host, os.uname().nodename.lower()}),
            metrics_token=counting,
        )
        app, end = make_app(projects, access, fleet)
        config = uvicorn.Config(
            app,
            http=GuardedProtocol,
            backlog=256,
            ws="none",
            lifespan="on",
            log_level="critical",
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=3,
            ssl_certfile=options.certificate,
            ssl_keyfile=options.key,
        )
        host = f"[{options.host}]" if ":" in options.host else options.host
        address = f"{access.scheme}://{host}:{port}/?token={access.token}"
        asyncio.run(_Server(config, end, lambda: announce(address)).serve(sockets=[listener]))


class _Server(uvicorn.Server):
    """Ends the streams on a signal; a second signal does not wait for them."""

    def __init__(
        self, config: uvicorn.Config, end_streams: Callable[[], None], on_ready: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._end_streams = end_streams
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        for number in numbers:
            loop.add_signal_handler(number, self._end)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)

    def _end(self) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True
        self._end_streams()


def _listen(options: ServerOptions) -> socket.socket:
    try:
        kind, flags = socket.SOCK_STREAM, socket.AI_PASSIVE
        found = socket.getaddrinfo(options.host, options.port, type=kind, flags=flags)
        family, kind, protocol, _, address = found[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        message = f"--host {options.host} is not an address of this machine: {error.strerror or error}"
        raise UsageError(message, hint="127.0.0.1 is this machine itself") from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(256)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            message = f"port {options.port} is taken"
            raise UsageError(message, hint="another `ralph web`? --port 0 takes any free one") from error
        message = f"cannot listen on {options.host}, port {options.port}: {error.strerror or error}"
        raise UsageError(message, hint="ports below 1024 need privileges; try --port 0") from error
    return listener


def _require_certificate(options: ServerOptions) -> None:
    if options.certificate is None:
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(options.certificate, options.key)
    except (OSError, ssl.SSLError) as error:
        message = f"the certificate or its key cannot be used: {error.strerror or error}"
        raise UsageError(message, hint="both must be PEM files that belong together") from error
