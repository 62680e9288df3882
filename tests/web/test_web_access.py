"""Who may look, who may steer, and what the answers forbid the browser."""

from __future__ import annotations

import socket
import sqlite3
import ssl
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from ralph.interfaces.web.access import Access
from ralph.interfaces.web.server import is_loopback

from .conftest import DEADLINE, LiveRun, Site, served

READING = ["/api/state", "/api/stream", "/api/runs/r1", "/api/runs/r1/report.html", "/api/nothing"]


@pytest.mark.parametrize("path", READING)
def test_nothing_is_told_without_the_token(shared_site: Site, path: str) -> None:
    with shared_site.stranger() as client:
        answer = client.get(path)
        assert answer.status_code == 401
        assert "r1" not in answer.text
        assert "ralph web" in answer.text


def test_the_printed_address_lets_one_in_and_hides_its_token(shared_site: Site) -> None:
    with shared_site.stranger() as client:
        page = client.get(shared_site.address)
        assert page.status_code == 200
        assert "<main" in page.text
        assert "set-cookie" not in page.headers
        assert (
            page.headers["referrer-policy"] == "no-referrer"
        )  # the address has the token until the page takes it
        assert page.headers["cache-control"] == "no-store"
        assert shared_site.token not in page.text
        assert client.get("/api/state").status_code == 401


def test_wrong_tokens_open_nothing(shared_site: Site) -> None:
    port = httpx.URL(shared_site.base).port
    with shared_site.stranger() as client:
        assert client.get("/?token=wrong").status_code == 401
        for headers in (
            {"authorization": "Bearer wrong"},
            {"authorization": f"Basic {shared_site.token}"},
            {"cookie": f"ralph_{port}={shared_site.token}"},  # a browser would give it to every other port
            {"cookie": '="; \x7f'},
        ):
            assert client.get("/api/state", headers=headers).status_code == 401
        assert client.get(f"/api/state?token={shared_site.token}").status_code == 401


def test_what_the_browser_may_do_is_little(shared_site: Site) -> None:
    with shared_site.client() as client:
        for path in ("/", "/app.js", "/api/state", "/api/nothing"):
            headers = client.get(path).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            assert "frame-ancestors 'none'" in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
            assert headers["cache-control"] == "no-store"
            assert headers["cross-origin-resource-policy"] == "same-origin"
            assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1:1", "", "a@127.0.0.1", "["])
def test_a_name_that_was_pointed_at_us_is_refused(shared_site: Site, host: str) -> None:
    with shared_site.client(host=host) as client:
        assert client.get("/api/state").status_code in (400, 421)


@pytest.mark.parametrize(
    ("host", "known"),
    [
        ("127.0.0.1:8484", True),
        ("localhost:8484", True),
        ("[::1]:8484", True),
        ("192.168.1.7:8484", True),
        ("box:8484", True),
        ("localhost:8485", False),
        ("localhost.evil.example:8484", False),
        ("127.0.0.1.evil.example:8484", False),
        ("localhost:8484/x", False),
        ("x@localhost:8484", False),
        ("localhost:99999", False),
    ],
)
def test_addresses_and_known_names_are_hosts(host: str, known: bool) -> None:
    assert Access(token="t", port=8484, hosts={"box"}).is_host(host) is known


FOREIGN = [{"origin": "https://evil.example"}, {"origin": "null"}, {"origin": "http://127.0.0.1:1"}, {}]


@pytest.mark.parametrize("headers", FOREIGN)
def test_another_page_cannot_steer_with_a_cookie(
    shared_site: Site, shared_live: LiveRun, headers: dict[str, str]
) -> None:
    cookie = f"ralph_{httpx.URL(shared_site.base).port}={shared_site.token}"
    with shared_site.stranger(cookie=cookie, **headers) as client:
        assert client.post("/api/runs/r1/stop", json={}).status_code in (401, 403)
    assert shared_live.hear() == []


def test_a_form_of_another_page_cannot_steer(shared_site: Site, shared_live: LiveRun) -> None:
    with shared_site.client(origin=shared_site.base) as client:
        assert client.post("/api/runs/r1/stop", data={"text": "x"}).status_code == 415
        assert client.post("/api/runs/r1/stop", headers={"content-type": "text/plain"}).status_code == 415
        cross = {"sec-fetch-site": "cross-site"}
        assert client.post("/api/runs/r1/stop", json={}, headers=cross).status_code == 403
        other = {"origin": "http://127.0.0.1:1"}
        assert client.post("/api/runs/r1/stop", json={}, headers=other).status_code == 403
        assert client.delete("/api/runs/r1").status_code == 405
        assert shared_live.hear() == []
        assert client.post("/api/runs/r1/stop", json={}).status_code == 200
    assert [ask.value for ask in shared_live.hear()] == ["stop"]


def test_a_read_only_page_steers_nothing(root: Path, live: LiveRun) -> None:
    with served(root, "--read-only") as site, site.client(origin=site.base) as client:
        assert client.get("/api/state").json()["readOnly"] is True
        assert client.post("/api/runs/r1/stop", json={}).status_code == 403
        assert client.post("/api/runs/r1/steer", json={"text": "x"}).status_code == 403
    assert live.hear() == []
    assert live.steering() == []


def _web(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ralph", "web", "--project-dir", str(root), *arguments],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )


def test_a_port_that_is_taken_is_said(root: Path) -> None:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ran = _web(root, "--port", str(port))
    assert ran.returncode == 2
    assert f"port {port} is taken" in ran.stderr
    assert "--port 0" in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--host", "0.0.0.0"], "unencrypted"),
        (["--host", "no.such.host.invalid", "--insecure-host"], "not an address"),
        (["--tls-cert", "cert.pem"], "belong together"),
        (["--tls-cert", "missing.pem", "--tls-key", "missing.pem"], "cannot be used"),
        (["--port", "70000"], "70000"),
    ],
)
def test_what_cannot_be_served_is_refused_in_words(root: Path, arguments: list[str], words: str) -> None:
    ran = _web(root, *arguments)
    assert ran.returncode == 2
    assert words in ran.stderr
    assert "Traceback" not in ran.stderr


def test_without_the_extra_it_says_how_to_get_it(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "uvicorn.py").write_text(
        "raise ModuleNotFoundError('No module named uvicorn', name='uvicorn')\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    ran = _web(root, "--port", "0")
    assert ran.returncode == 2
    assert "install ralph with its extra `web`; in its checkout: " in ran.stderr
    assert " -m pip install '.[web]'" in ran.stderr


def test_with_a_certificate_it_serves_https(root: Path, tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    wanted = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    try:
        subprocess.run(
            ["openssl", *wanted.split(), *names], capture_output=True, check=True, timeout=DEADLINE
        )
    except (FileNotFoundError, subprocess.CalledProcessError):
        pytest.skip("no openssl here that could make a certificate")
    with served(root, "--tls-cert", str(certificate), "--tls-key", str(key)) as site:
        trusted = ssl.create_default_context(cafile=str(certificate))
        with httpx.Client(verify=trusted, timeout=DEADLINE, trust_env=False) as client:
            assert site.base.startswith("https://")
            assert client.get(site.address).status_code == 200
            bearer = {"authorization": f"Bearer {site.token}"}
            assert client.get(f"{site.base}/api/state", headers=bearer).status_code == 200


def test_a_record_of_a_newer_ralph_is_a_problem_in_words(root: Path, live: LiveRun) -> None:
    live.close()
    with closing(sqlite3.connect(root / ".ralph" / "ralph.db")) as database:
        database.execute("PRAGMA user_version = 999")
    with served(root) as site, site.client() as client:
        state = client.get("/api/state").json()
        assert "newer ralph" in state["problem"]
        assert state["runs"] == []
        answer = client.get("/api/runs/r1")
        assert answer.status_code == 503
        assert "newer ralph" in answer.json()["error"]


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("localhost", True),
        ("::1", True),
        ("127.8.8.8", True),
        ("0.0.0.0", False),
        ("box", False),
    ],
)
def test_only_loopback_is_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


def test_it_ends_at_once_although_somebody_watches(site: Site) -> None:
    with site.client() as client, client.stream("GET", "/api/stream?run=r1") as answer:
        assert next(answer.iter_lines())
        site.process.terminate()
        assert site.process.wait(timeout=DEADLINE) == 0
