"""The proxy by itself: what it understands, what it refuses, and that nonsense does not harm it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from ralph.adapters.isolation.proxy import AllowListProxy
from ralph.domain.sandbox.allow_list import parse_rule


async def answer(proxy: AllowListProxy, request: bytes) -> bytes:
    reader, writer = await asyncio.open_unix_connection(proxy.socket_path)
    writer.write(request)
    writer.write_eof()
    found = await reader.read()
    writer.close()
    await writer.wait_closed()
    return found


def with_proxy(
    rules: list[str], work: Callable[[AllowListProxy], Awaitable[None]], log: Path | None = None
) -> list[str]:
    """What was reported meanwhile."""
    reports: list[str] = []

    async def run() -> None:
        with tempfile.TemporaryDirectory(prefix="r") as folder:  # a socket's path must be short
            proxy = AllowListProxy(
                Path(folder, "s"), tuple(map(parse_rule, rules)), denied=reports.append, log=log
            )
            await proxy.start()
            try:
                await work(proxy)
            finally:
                await proxy.stop()

    asyncio.run(run())
    return reports


@pytest.mark.parametrize(
    "request_",
    [
        b"\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: example.com\r\n\r\n",
        b"GET https://example.com/ HTTP/1.1\r\n\r\n",
        b"GET ftp://example.com/ HTTP/1.1\r\n\r\n",
        b"CONNECT example.com HTTP/1.1\r\n\r\n",
        b"CONNECT example.com:x HTTP/1.1\r\n\r\n",
        b"CONNECT \xff\xfe:443 HTTP/1.1\r\n\r\n",
        b"CONNECT example.com:443 SPDY/3\r\n\r\n",
        b"CONNECT 127.1:443 HTTP/1.1\r\n\r\n",
        b"GET http://example.com/ HTTP/1.1\r\nA: b\nHost: other.example\r\n\r\n",
        b"GET " + b"x" * 100_000,
    ],
)
def test_what_it_does_not_understand_is_a_bad_request(request_: bytes) -> None:
    async def work(proxy: AllowListProxy) -> None:
        assert (await answer(proxy, request_)).startswith(b"HTTP/1.1 400 ")

    assert with_proxy(["*"], work) == []


def test_a_client_that_goes_away_at_once_harms_nobody() -> None:
    async def work(proxy: AllowListProxy) -> None:
        assert await answer(proxy, b"") == b""
        assert await answer(proxy, b"CONNECT exa") == b""
        assert (await answer(proxy, b"CONNECT a.example:443 HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.1 403 ")

    assert len(with_proxy(["example.com"], work)) == 1


def test_a_wide_rule_does_not_lead_to_this_machine(tmp_path: Path) -> None:
    log = tmp_path / "log"

    async def work(proxy: AllowListProxy) -> None:
        refused = await answer(proxy, b"CONNECT localhost:443 HTTP/1.1\r\n\r\n")
        assert refused.startswith(b"HTTP/1.1 403 ")

    (report,) = with_proxy(["*"], work, log)
    assert report.startswith(
        "the sandbox refused a connection to localhost:443: it leads to this machine or a local network"
    )
    assert log.read_text().endswith(" denied localhost:443\n")


def test_a_service_that_does_not_answer_is_a_bad_gateway() -> None:
    async def work(proxy: AllowListProxy) -> None:
        with socket.socket() as bound:  # nobody listens, and nobody else can take the port meanwhile
            bound.bind(("127.0.0.1", 0))
            request = f"CONNECT 127.0.0.1:{bound.getsockname()[1]} HTTP/1.1\r\n\r\n"
            found = await answer(proxy, request.encode())
        assert found.startswith(b"HTTP/1.1 502 ")

    assert with_proxy(["127.0.0.1:*"], work) == []


def test_both_sides_may_end_first_and_nothing_is_lost() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.read())
        writer.write_eof()
        await writer.drain()
        writer.close()

    async def work(proxy: AllowListProxy) -> None:
        async with await asyncio.start_server(echo, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            body = bytes(range(256)) * 4_000
            found = await answer(proxy, f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n".encode() + body)
            assert found == b"HTTP/1.1 200 Connection established\r\n\r\n" + body

    assert with_proxy(["127.0.0.1:*"], work) == []


def test_stopping_cuts_what_is_open() -> None:
    async def work(proxy: AllowListProxy) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            reader, writer = await asyncio.open_unix_connection(proxy.socket_path)
            writer.write(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n\r\n".encode())
            await reader.readuntil(b"\r\n\r\n")
            await proxy.stop()
            assert await reader.read() == b""
            writer.close()
            await writer.wait_closed()

    assert with_proxy(["127.0.0.1:*"], work) == []


def test_a_plain_request_is_for_the_host_that_was_judged() -> None:
    seen: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        writer.close()
        await writer.wait_closed()

    async def work(proxy: AllowListProxy) -> None:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            head = f"GET http://127.0.0.1:{port}/a?b HTTP/1.1\r\nHost: other.example\r\nhost: third\r\nX: y\r\n\r\n"
            await answer(proxy, head.encode())
            expected = f"GET /a?b HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nX: y\r\nConnection: close\r\n\r\n"
            assert seen == [expected.encode()]

    assert with_proxy(["127.0.0.1:*"], work) == []


def test_more_connections_than_we_can_bear_are_cut_at_once() -> None:
    async def work(proxy: AllowListProxy) -> None:
        opened = [await asyncio.open_unix_connection(proxy.socket_path) for _ in range(160)]
        async with asyncio.timeout(60):
            cut = 0
            for reader, _ in opened[100:]:
                with contextlib.suppress(ConnectionError):
                    assert await reader.read() == b""
                cut += 1
        assert cut == 60
        _, first = opened[0]
        first.write(b"CONNECT a.example:443 HTTP/1.1\r\n\r\n")
        assert (await opened[0][0].read()).startswith(b"HTTP/1.1 403 ")
        for _, writer in opened:
            writer.close()

    assert len(with_proxy(["example.com"], work)) == 1


def test_refusals_are_not_told_without_end(tmp_path: Path) -> None:
    log = tmp_path / "network.log"

    async def work(proxy: AllowListProxy) -> None:
        for number in range(120):
            await answer(proxy, f"CONNECT a{number}.example:443 HTTP/1.1\r\n\r\n".encode())

    reports = with_proxy(["example.com"], work, log)
    assert len(reports) == 101
    assert "network.log" in reports[-1]
    assert len(log.read_text().splitlines()) == 120
