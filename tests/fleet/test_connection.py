"""Whatever is wrong with the way to the server is said in words, soon, and with what to do."""

from __future__ import annotations

import asyncio
import datetime
import http.server
import socket
import socketserver
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from temporalio.service import RPCError, RPCStatusCode

from ralph.adapters.temporal.client import TemporalFleet
from ralph.adapters.temporal.connection import connect
from ralph.adapters.temporal.problems import Place, connection_problem_of, problem_of
from ralph.errors import ConfigError, RalphError, ServiceAway, ServiceRefused, UsageError
from tests.fleet.world.refusing import refuse_all
from tests.fleet.world.server import Server, free_port


def refusal(**environment: str) -> RalphError:
    with pytest.raises(RalphError) as raised:
        asyncio.run(connect(environment))
    assert "\n" not in raised.value.message
    return raised.value


def test_it_connects_by_temporals_own_variables(server: Server) -> None:
    assert asyncio.run(_jobs(server.environment)) == []


def test_it_connects_by_a_profile(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "temporal.toml"
    file.write_text(
        f'[profile.team]\naddress = "{server.address}"\nnamespace = "{server.namespace}"\n',
    )
    settings = {"TEMPORAL_CONFIG_FILE": str(file), "TEMPORAL_PROFILE": "team"}
    assert asyncio.run(_jobs(settings)) == []


async def _jobs(environment: dict[str, str]) -> list[object]:
    return list(await TemporalFleet(await connect(environment)).jobs())


def test_no_server() -> None:
    problem = refusal(TEMPORAL_ADDRESS=f"127.0.0.1:{free_port()}")
    assert isinstance(problem, ServiceAway)
    assert "connection refused" in problem.message
    assert "TEMPORAL_ADDRESS" in problem.hint


def test_no_such_machine() -> None:
    problem = refusal(TEMPORAL_ADDRESS="no-such-machine.invalid:7233")
    assert isinstance(problem, ServiceAway)
    assert "no machine of this name" in problem.message


def test_a_port_that_accepts_and_says_nothing() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        began = time.monotonic()
        problem = refusal(TEMPORAL_ADDRESS=f"127.0.0.1:{silent.getsockname()[1]}")
        assert time.monotonic() - began < 20
    assert isinstance(problem, ServiceAway)
    assert "does not answer" in problem.message


def test_another_kind_of_server() -> None:
    with _web_server() as port:
        problem = refusal(TEMPORAL_ADDRESS=f"127.0.0.1:{port}")
    # Whether it gets to say what it is, or has hung up before, is chance.
    expected = {ServiceRefused: "no Temporal server", ServiceAway: "hangs up"}
    assert expected[type(problem)] in problem.message


def test_a_namespace_that_is_not_there(server: Server) -> None:
    problem = refusal(TEMPORAL_ADDRESS=server.address, TEMPORAL_NAMESPACE="nowhere")
    assert isinstance(problem, UsageError)
    assert "'nowhere'" in problem.message
    assert "TEMPORAL_NAMESPACE" in problem.hint


def test_an_api_key_for_a_server_without_tls(server: Server) -> None:
    problem = refusal(TEMPORAL_ADDRESS=server.address, TEMPORAL_API_KEY="not-to-be-told")
    assert isinstance(problem, ServiceRefused)
    assert "does not speak TLS" in problem.message
    assert "TEMPORAL_TLS=false" in problem.hint


@pytest.mark.parametrize(
    ("status", "words"),
    [(16, "does not accept the login"), (7, "may not do this"), (12, "no Temporal server")],
)
def test_an_api_key_that_is_refused(status: int, words: str) -> None:
    with refuse_all(status, "Request unauthorized.") as address:
        problem = refusal(TEMPORAL_ADDRESS=address, TEMPORAL_API_KEY="not-to-be-told", TEMPORAL_TLS="false")
    assert isinstance(problem, ServiceRefused)
    assert words in problem.message
    assert "not-to-be-told" not in problem.message + problem.hint


def test_a_server_that_is_busy() -> None:
    with refuse_all(14, "try later") as address:
        assert isinstance(refusal(TEMPORAL_ADDRESS=address), ServiceAway)


def test_a_certificate_that_nobody_knows(tmp_path: Path) -> None:
    with _tls_server(tmp_path) as port:
        unknown = refusal(TEMPORAL_ADDRESS=f"localhost:{port}", TEMPORAL_TLS="true")
        trusted = {"TEMPORAL_TLS_SERVER_CA_CERT_PATH": str(tmp_path / "certificate")}
        named = refusal(TEMPORAL_ADDRESS=f"127.0.0.1:{port}", **trusted)
        plain = refusal(TEMPORAL_ADDRESS=f"localhost:{port}")
    assert isinstance(unknown, ServiceRefused)
    assert "trusts" in unknown.message
    assert isinstance(named, ServiceRefused)
    assert "another name" in named.message
    assert isinstance(plain, ServiceAway)
    assert "TEMPORAL_TLS" in plain.hint


@pytest.mark.parametrize("address", ["localhost", "http://localhost:7233", "localhost:seven", ":7233"])
def test_what_is_no_address(address: str) -> None:
    problem = refusal(TEMPORAL_ADDRESS=address)
    assert isinstance(problem, ConfigError)
    assert "localhost:7233" in problem.hint


def test_a_profile_that_is_not_there(tmp_path: Path) -> None:
    problem = refusal(TEMPORAL_PROFILE="nobody", XDG_CONFIG_HOME=str(tmp_path))
    assert isinstance(problem, ConfigError)
    assert "'nobody'" in problem.message


def test_a_file_of_settings_that_is_not_there(tmp_path: Path) -> None:
    problem = refusal(TEMPORAL_CONFIG_FILE=str(tmp_path / "missing.toml"))
    assert isinstance(problem, ConfigError)
    assert "missing.toml" in problem.message


def test_a_broken_file_of_settings_is_not_quoted(tmp_path: Path) -> None:
    file = tmp_path / "temporal.toml"
    file.write_text("[profile.default]\napi_key = secret-without-quotes\n")
    problem = refusal(TEMPORAL_CONFIG_FILE=str(file))
    assert isinstance(problem, ConfigError)
    assert "line 2" in problem.message
    assert "secret-without-quotes" not in problem.message + problem.hint


def test_a_certificate_that_is_not_there(tmp_path: Path) -> None:
    missing = str(tmp_path / "client.pem")
    problem = refusal(TEMPORAL_TLS_CLIENT_CERT_PATH=missing, TEMPORAL_TLS_CLIENT_KEY_PATH=missing)
    assert isinstance(problem, ConfigError)
    assert "client.pem" in problem.message


PLACE = Place("host:7233", "team")


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (RPCStatusCode.UNAUTHENTICATED, ServiceRefused, "does not accept the login"),
        (RPCStatusCode.PERMISSION_DENIED, ServiceRefused, "does not permit"),
        (RPCStatusCode.UNIMPLEMENTED, ServiceRefused, "does not support"),
        (RPCStatusCode.UNAVAILABLE, ServiceAway, "cannot be reached"),
        (RPCStatusCode.DEADLINE_EXCEEDED, ServiceAway, "cannot be reached"),
        (RPCStatusCode.RESOURCE_EXHAUSTED, ServiceAway, "is busy"),
        (RPCStatusCode.INVALID_ARGUMENT, UsageError, "refused"),
    ],
)
def test_what_a_server_refuses(status: RPCStatusCode, kind: type[RalphError], words: str) -> None:
    problem = problem_of(RPCError("its own words", status, b""), PLACE)
    assert type(problem) is kind
    assert words in problem.message
    assert "its own words" in problem.message


@pytest.mark.parametrize(
    ("said", "kind", "words"),
    [
        ("tonic::transport::Error(Transport, PrivateKeyParseError)", ConfigError, "private key"),
        ("something new", ServiceAway, "something new"),
    ],
)
def test_what_a_connection_fails_with(said: str, kind: type[RalphError], words: str) -> None:
    problem = connection_problem_of(RuntimeError(f"Failed client connect: {said}"), PLACE)
    assert type(problem) is kind
    assert words in problem.message


def test_a_server_that_goes_away_afterwards(own_server: Server) -> None:
    async def ask() -> None:
        fleet = TemporalFleet(await connect(own_server.environment))
        await asyncio.to_thread(own_server.kill)
        began = time.monotonic()
        with pytest.raises(ServiceAway):
            await fleet.jobs()
        assert time.monotonic() - began < 30

    asyncio.run(ask())


@contextmanager
def _web_server() -> Iterator[int]:
    class Quiet(http.server.BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def _tls_server(folder: Path) -> Iterator[int]:
    """It shows a certificate for localhost that it signed itself, and hangs up."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.fromtimestamp(time.time(), datetime.UTC)
    day = datetime.timedelta(days=1)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now - day).not_valid_after(now + day)
    names = x509.SubjectAlternativeName([x509.DNSName("localhost")])
    certificate = builder.add_extension(names, critical=False).sign(key, hashes.SHA256())
    (folder / "certificate").write_bytes(certificate.public_bytes(Encoding.PEM))
    (folder / "key").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate", folder / "key")
    context.set_alpn_protocols(["h2"])

    class Greet(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            try:
                with context.wrap_socket(self.request, server_side=True) as secured:
                    secured.recv(1)
            except OSError:
                return

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Greet) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()
