"""The way out of a real sandbox: what is on the allow-list, and nothing else."""

from __future__ import annotations

import re
import socket
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from ralph.domain.sandbox.allow_list import parse_rule
from ralph.domain.sandbox.policy import SandboxPolicy

from .conftest import Sandboxed


class _Hello(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = f"hello {self.path} {self.headers.get('Connection')}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        return


@pytest.fixture
def port() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Hello) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def allowing(*rules: str) -> SandboxPolicy:
    return SandboxPolicy(allow=tuple(map(parse_rule, rules)))


FETCH = """
import sys, urllib.request
try:
    print(urllib.request.urlopen(sys.argv[1], timeout=90).read().decode())
except OSError as error:
    print("refused:", error)
"""

BY_PROXY = """
import os, socket, sys
from urllib.parse import urlsplit
proxy = urlsplit(os.environ["HTTPS_PROXY"])
with socket.create_connection((proxy.hostname, proxy.port), timeout=90) as out:
    out.sendall(sys.argv[1].encode().decode("unicode_escape").encode())
    answer = b""
    while chunk := out.recv(65536):
        answer += chunk
        if sys.argv[2].encode() in answer:
            break
print(answer.decode())
"""


def test_an_allowed_service_of_this_machine_is_found_at_its_own_address(
    sandboxed: Sandboxed, port: int
) -> None:
    output = sandboxed.python(FETCH, f"http://127.0.0.1:{port}/x?y=1", policy=allowing(f"127.0.0.1:{port}"))
    assert output == "hello /x?y=1 close\n"


def test_large_bodies_come_through_whole(sandboxed: Sandboxed, port: int) -> None:
    script = """
import sys, urllib.request
body = bytes(range(256)) * 20_000
answer = urllib.request.urlopen(urllib.request.Request(sys.argv[1], data=body), timeout=60).read()
print(answer == body)
"""
    url = f"http://127.0.0.1:{port}/"
    assert sandboxed.python(script, url, policy=allowing(f"127.0.0.1:{port}")) == "True\n"


def test_a_tunnel_through_the_proxy_carries_any_bytes(sandboxed: Sandboxed, port: int) -> None:
    request = f"CONNECT 127.0.0.1:{port} HTTP/1.1\\r\\n\\r\\nGET /tunnel HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n"
    output = sandboxed.python(BY_PROXY, request, "hello", policy=allowing(f"127.0.0.1:{port}"))
    assert "200 Connection established" in output
    assert "hello /tunnel" in output


def test_plain_http_goes_through_the_proxy_one_request_at_a_time(sandboxed: Sandboxed, port: int) -> None:
    request = f"GET http://127.0.0.1:{port}/plain HTTP/1.1\\r\\nHost: x\\r\\nProxy-Connection: keep-alive\\r\\n\\r\\n"
    output = sandboxed.python(BY_PROXY, request, "hello", policy=allowing(f"127.0.0.1:{port}"))
    assert "hello /plain close" in output


def test_what_is_not_on_the_list_is_refused_told_once_and_logged(
    sandboxed: Sandboxed, port: int, tmp_path: Path
) -> None:
    log = tmp_path / "network.log"
    site = sandboxed.site(network_log=log)
    policy = allowing(f"127.0.0.1:{port}")
    request = "CONNECT evil.example:443 HTTP/1.1\\r\\n\\r\\n"
    script = BY_PROXY + "\n" + BY_PROXY
    output = sandboxed.python(script, request, "\n\n", policy=policy, site=site)
    assert output.count("403 Forbidden") == 2
    assert "evil.example:443 is not on the allow-list" in output
    assert sandboxed.reports == [
        "the sandbox refused a connection to evil.example:443: it is not on the allow-list"
    ]
    assert [line.split(" ", 1)[1] for line in log.read_text().splitlines()] == ["denied evil.example:443"] * 2


def test_another_port_of_an_allowed_host_is_refused(sandboxed: Sandboxed, port: int) -> None:
    request = f"CONNECT 127.0.0.1:{port} HTTP/1.1\\r\\n\\r\\n"
    output = sandboxed.python(BY_PROXY, request, "\n\n", policy=allowing("127.0.0.1:1"))
    assert "403 Forbidden" in output


def test_going_round_the_proxy_leads_nowhere(sandboxed: Sandboxed) -> None:
    script = """
import socket
with socket.socket() as out:
    out.settimeout(5)
    try:
        out.connect(("192.0.2.1", 443))
        print("connected")
    except OSError:
        print("refused")
"""
    assert sandboxed.python(script, policy=allowing("192.0.2.1")) == "refused\n"


def test_the_address_that_a_users_environment_names_is_allowed(sandboxed: Sandboxed, port: int) -> None:
    url = f"http://127.0.0.1:{port}"
    sandboxed.environ["ANTHROPIC_BASE_URL"] = url
    sandboxed.programs = ("claude",)
    assert sandboxed.python(FETCH, url + "/v1", policy=SandboxPolicy()).startswith("hello /v1")


# --- this machine, by whichever address ---------------------------------------------------------------------


def own_addresses() -> list[str]:
    """Other than loopback, which no name reaches anyway."""
    listed = subprocess.run(["ip", "-o", "address"], capture_output=True, text=True, check=False).stdout
    found = re.findall(r"inet6? ([0-9a-f.:]+)/\d+ .*scope global", listed)
    return found or [""]


class _Server(ThreadingHTTPServer):
    address_family = socket.AF_INET6

    def server_bind(self) -> None:
        self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()


@pytest.fixture(params=own_addresses())
def own(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, int]]:
    """An address of this machine, to which every name resolves, and the port of a service that listens everywhere."""
    if not request.param:
        pytest.skip("this machine has no address but loopback")
    look_up = socket.getaddrinfo

    def resolve(host: str, port: int, *arguments: object, **options: object) -> object:
        named = request.param if "." in host and not host[0].isdigit() else host
        return look_up(named, port, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with _Server(("::", 0), _Hello) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield request.param, server.server_address[1]
        server.shutdown()
        thread.join()


def bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


@pytest.mark.parametrize("rule", ["service.example:*", "*.example:*", "*:*"])
def test_a_name_does_not_lead_to_this_machine(sandboxed: Sandboxed, own: tuple[str, int], rule: str) -> None:
    policy = allowing(rule.replace("*.example", "*.service.example"))
    host = "a.service.example" if rule.startswith("*.") else "service.example"
    output = sandboxed.python(
        BY_PROXY, f"CONNECT {host}:{own[1]} HTTP/1.1\\r\\n\\r\\n", "\n\n", policy=policy
    )
    assert "403 Forbidden" in output
    assert "leads to this machine" in output
    output = sandboxed.python(FETCH, f"http://{host}:{own[1]}/x", policy=policy)
    assert output.startswith("refused:")


def test_nor_do_addresses_that_a_wide_rule_covers(sandboxed: Sandboxed, own: tuple[str, int]) -> None:
    address, port = own
    forms = [address] if ":" in address else [address, f"::ffff:{address}", f"64:ff9b::{address}"]
    for form in forms:
        request = f"CONNECT {bracketed(form)}:{port} HTTP/1.1\\r\\n\\r\\n"
        output = sandboxed.python(BY_PROXY, request, "\n\n", policy=allowing("*:*"))
        assert "200" not in output.partition("\n")[0], form


def test_the_address_itself_does_because_the_user_wrote_it(
    sandboxed: Sandboxed, own: tuple[str, int]
) -> None:
    address, port = own
    url = f"http://{bracketed(address)}:{port}/x"
    output = sandboxed.python(FETCH, url, policy=allowing(f"{bracketed(address)}:{port}"))
    assert output.startswith("hello /x")
