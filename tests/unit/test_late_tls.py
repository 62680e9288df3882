"""TLS is not there until it is used, and then it is what it always was."""

from __future__ import annotations

import subprocess
import sys

import pytest

BEFORE = """
import sys
from ralph.late_tls import load_tls, put_off
put_off()
import asyncio, ssl
asyncio.run(asyncio.sleep(0))
assert "_ssl" not in sys.modules
"""
# Without a certificate: both sides take whoever is there.
SPEAKS = """
def context(kind):
    made = ssl.SSLContext(kind)
    made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
    made.maximum_version = ssl.TLSVersion.TLSv1_2
    made.set_ciphers("aNULL:@SECLEVEL=0")
    return made

async def answer(reader, writer):
    writer.write((await reader.readline()).upper())
    writer.close()

async def speak():
    async with await asyncio.start_server(
        answer, "127.0.0.1", 0, ssl=context(ssl.PROTOCOL_TLS_SERVER)
    ) as server:
        port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=context(ssl.PROTOCOL_TLS_CLIENT)
        )
        writer.write(b"hello\\n")
        said = await reader.readline()
        assert isinstance(writer.get_extra_info("ssl_object"), ssl.SSLObject)
        writer.close()
        return said

assert asyncio.run(speak()) == b"HELLO\\n"
"""
NOW = """
load_tls()
assert "_ssl" in sys.modules
assert {type(sys.modules[name]) for name in ("ssl", "asyncio.sslproto")} == {type(sys)}
"""
AT_ONCE = """
import threading
start, found = threading.Barrier(8), []
def look():
    start.wait()
    found.append(ssl.create_default_context)
threads = [threading.Thread(target=look) for _ in range(8)]
for each in threads: each.start()
for each in threads: each.join()
assert found == [ssl.create_default_context] * 8
"""
REPLACED = """
ssl.SSLContext = str
assert "_ssl" in sys.modules and ssl.SSLContext is str
"""
LIKE_ANY = """
import importlib.util
assert ssl.__spec__.origin == importlib.util.find_spec("ssl").origin == ssl.__file__
assert not hasattr(ssl, "__path__") and "_ssl" not in sys.modules
assert not hasattr(ssl, "no_such_thing")
from ssl import SSLSocket
assert SSLSocket.__module__ == "ssl"
"""


@pytest.mark.parametrize(
    "then",
    [SPEAKS, NOW + SPEAKS, AT_ONCE, REPLACED, LIKE_ANY],
    ids=["speaks", "at hand", "threads", "replaced", "like any"],
)
def test_tls_is_loaded_when_it_is_used(then: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", BEFORE + then],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def test_where_it_is_there_already_nothing_changes() -> None:
    code = (
        "import ssl, sys\nfrom ralph.late_tls import put_off\nput_off()\nput_off()\nimport asyncio.sslproto\n"
    )
    same = "assert sys.modules['ssl'] is ssl and type(ssl) is type(sys)\n"
    subprocess.run([sys.executable, "-W", "error", "-c", code + same], timeout=60, check=True)
