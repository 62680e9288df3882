"""The only way out of a namespace: a small proxy that lets through what is on the allow-list.

Speaks ``CONNECT`` and plain HTTP on a unix socket. Names are resolved here, outside, and a name on the list does not
open addresses out of its rule's reach: this machine, whichever of its addresses, or a cloud's metadata service.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from ralph.adapters.files import open_own
from ralph.domain.sandbox.allow_list import (
    HostRule,
    Reach,
    is_within_reach,
    matching_rule,
    meant_address,
    normal_host,
)

_LONGEST_HEAD = 65536
_CHUNK = 65536
_HEAD_SECONDS = 30.0
_CONNECT_SECONDS = 30.0
_MOST_CONNECTIONS = 100  # each costs us two open files: an agent must not use them all up
_MOST_REPORTED = 100
_DISCARD = 9  # any port will do


class Denied(Exception):
    """Not on the list, or out of reach of its rule."""


class AllowListProxy:
    """``denied`` gets each refused destination once; every connection is a line in ``log``."""

    def __init__(
        self,
        socket_path: Path,
        rules: tuple[HostRule, ...],
        *,
        denied: Callable[[str], None],
        log: Path | None = None,
    ) -> None:
        self.socket_path = socket_path
        self._rules = rules
        self._denied = denied
        self._log = log
        self._reported: set[str] = set()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_unix_server(self._accept, self.socket_path, limit=_LONGEST_HEAD)

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            for task in tuple(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self._server.wait_closed()
            self._server = None

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._tasks) >= _MOST_CONNECTIONS:
            writer.transport.abort()
            return
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._answer(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass  # either side went away
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _HEAD_SECONDS)
            method, target, version, headers = _parse(head)
            host, port, path = _destination(method, target)
        except (ValueError, asyncio.LimitOverrunError, TimeoutError):
            await _refuse(writer, "400 Bad Request", "ralph's proxy speaks CONNECT and plain HTTP only")
            return
        name = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        try:
            there_reader, there_writer = await self._connect(host, port)
        except Denied as error:
            self._record("denied", name)
            self._report(name, str(error))
            await _refuse(writer, "403 Forbidden", f"ralph: {name} {error}")
            return
        except (OSError, TimeoutError) as error:
            self._record("failed", name)
            await _refuse(writer, "502 Bad Gateway", f"ralph: {name} cannot be reached: {error}")
            return
        self._record("allowed", name)
        try:
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                there_writer.write(_origin_form(method, path, version, name.removesuffix(":80"), headers))
            await _both_ways(reader, writer, there_reader, there_writer)
        finally:
            there_writer.close()

    async def _connect(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        rule = matching_rule(self._rules, host, port)
        if rule is None:
            message = "is not on the allow-list"
            raise Denied(message)
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = dict.fromkeys(str(entry[4][0]) for entry in found)
        is_anywhere = rule.reach is Reach.ANYWHERE
        # The address that was judged, not the name: that could resolve differently a moment later.
        failure: OSError | TimeoutError | None = None
        for address in (each for each in addresses if is_within_reach(each, rule.reach)):
            try:
                if is_anywhere or not _is_own(address):
                    return await asyncio.wait_for(asyncio.open_connection(address, port), _CONNECT_SECONDS)
            except (OSError, TimeoutError) as error:
                failure = error
        if failure is None:
            where = "this machine" if rule.reach is Reach.INTERNAL else "this machine or a local network"
            message = f"leads to {where}, which its rule ({rule}) does not reach"
            raise Denied(message)
        raise failure

    def _report(self, name: str, why: str) -> None:
        if name in self._reported or len(self._reported) > _MOST_REPORTED:
            return
        self._reported.add(name)
        if len(self._reported) > _MOST_REPORTED:
            self._denied("the sandbox refused many more connections: network.log has all of them")
        else:
            self._denied(f"the sandbox refused a connection to {name}: it {why}")

    def _record(self, verdict: str, name: str) -> None:
        if self._log is None:
            return
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        # A connection matters more than its record.
        with contextlib.suppress(OSError), open(open_own(self._log), "ab") as file:  # noqa: PTH123 a descriptor
            file.write(f"{at} {verdict} {name}\n".encode())


def _is_own(address: str) -> bool:
    """Whether this machine has the address: then it would be the sender's too. Nothing is sent."""
    for each in {address, meant_address(address)}:
        family = socket.AF_INET6 if ":" in each else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as ours:
            ours.connect((each, _DISCARD))
            if meant_address(ours.getsockname()[0]) == meant_address(each):
                return True
    return False


def _parse(head: bytes) -> tuple[str, str, str, list[str]]:
    request, *headers = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    if any(character in line for line in headers for character in "\r\n\0"):
        raise ValueError(headers)  # a line within a line: others might read it as two
    method, target, version = request.split(" ")
    if not version.startswith("HTTP/1."):
        raise ValueError(version)
    return method, target, version, headers


def _destination(method: str, target: str) -> tuple[str, int, str]:
    """Host, port, and the path of a plain request."""
    if method == "CONNECT":
        parts = urlsplit("//" + target)
        if parts.port is None:
            raise ValueError(target)
        return normal_host(parts.hostname or ""), parts.port, ""
    parts = urlsplit(target)
    if parts.scheme != "http":
        raise ValueError(target)
    path = (parts.path or "/") + ("?" + parts.query if parts.query else "")
    return normal_host(parts.hostname or ""), parts.port or 80, path


def _origin_form(method: str, path: str, version: str, host: str, headers: list[str]) -> bytes:
    """One request per connection, and for the host that was judged: a server may have several."""
    dropped = ("proxy-", "connection:", "keep-alive:", "host:")
    kept = [line for line in headers if not line.lower().startswith(dropped)]
    lines = [f"{method} {path} {version}", f"Host: {host}", *kept, "Connection: close", "", ""]
    return "\r\n".join(lines).encode("latin-1")


async def _refuse(writer: asyncio.StreamWriter, status: str, why: str) -> None:
    body = (why + "\n").encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode() + body)
    await writer.drain()


async def _both_ways(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    there_reader: asyncio.StreamReader,
    there_writer: asyncio.StreamWriter,
) -> None:
    pairs = ((reader, there_writer), (there_reader, writer))
    ways = [asyncio.ensure_future(_pump(source, target)) for source, target in pairs]
    try:
        await asyncio.gather(*ways)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)


async def _pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while chunk := await source.read(_CHUNK):
        target.write(chunk)
        await target.drain()
    if target.can_write_eof():
        with contextlib.suppress(OSError):
            target.write_eof()
