"""The same as git reads, or not clear: compared with git itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ralph.domain.text.git_config import parse_git_config

ODD = (
    '[filter "x"] clean = "a \\"b\\" c" # no\n',
    "[filter.Dotted.Name]\nClean=evil\n",
    '[FILTER "Keeps \\\\ Case\\""]\n\tsmudge = one\\\n two ; three\n',
    "[a]\n\tb\n\tc=\n\td = ' # x'\n",
    '[a "b"]x=1\n[c]y = "#;" ; z\n',
    "\ufeff[core]\r\n\tworktree = /x\r\n",
    "[include]path=../evil\n",
    "[a]\n  b = c   d  \n",
    "# only [x]\n; y = z\n",
    '[s ""]k=v\n',
    "[a]\nx = a\\\\b\\tc\\n\n",
    "[a] ; comment\nx=1",
    '[a]\nx = b ""\n',
    "[a]\nx = b \\\n\n",
    '[a]\nx = "" b # c\n',
    "[a]\nx = b\t\t# c\n\ty = ü\u0085\u00a0\u2028 z\n",
)
UNCLEAR = (
    b'[a]\nb = "open\nc = d\n',
    b"[a]\nb = \\q\n",
    b"[a]b=1\n[bad section]c=2\n",
    b"b = no section\n",
    b"[]\nb = c\n",
    b'[ "x"]\nb = c\n',
    b"[a]\nb = \x0cextra\n",
    b"[a]\nb = extra\x0b\n",
    b"[a]\nb = extra\0x\n",
    b"[a]\nb = \xff\n",
    b"[a]\nb = c\rd\n",
    b"[a]\nb = c\td\n",
    b"[a]\n# \x1b\n",
    b"\xef\xbb[a]\nb = c\n",
)
PARTS = (
    b"[a]", b'[b "c d"]', b"[e.f]", b'[B "C"]', b"k", b"=", b" ", b"\t", b"\n", b"v w", b'"', b"\\", b"#", b";", b"\\\n", b"x-y",
    b"\r\n", b"\\\r\n", b'\\"', b"\\t", b"\r", b"\v", b"\f", b"\0", b"\x7f", b"\xff", b"\xef\xbb\xbf", "\u0085é\u2028\u00a0".encode(),
    b"]", b"[", b"_", b"1",
)  # fmt: skip


def git_says(file: Path) -> list[tuple[str, str]] | None:
    listed = ["git", "config", "--file", str(file), "--list", "-z"]
    ran = subprocess.run(listed, capture_output=True, check=False)
    if ran.returncode:
        return None
    entries = (entry.partition("\n") for entry in ran.stdout.decode().split("\0") if entry)
    return [(key, value) for key, _, value in entries]


@pytest.mark.parametrize("text", ODD)
def test_it_reads_what_git_reads(text: str, tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_bytes(text.encode())
    found = parse_git_config(text.encode())
    assert found.is_clear
    assert [*found.entries] == git_says(file)


@pytest.mark.parametrize("data", UNCLEAR)
def test_what_git_may_read_otherwise_is_not_clear(data: bytes) -> None:
    assert not parse_git_config(data).is_clear


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.lists(st.sampled_from(PARTS), max_size=14))
@example(parts=[b"k", b"=", b"k", b" ", b'"', b'"'])
@example(parts=[b"k", b"=", b"k", b" ", b"\\\n", b"\n"])
def test_whatever_is_clear_reads_as_git_reads_it(parts: list[bytes], tmp_path: Path) -> None:
    data = b"[a]\n" + b"".join(parts)
    found = parse_git_config(data)
    if found.is_clear:
        file = tmp_path / "config"
        file.write_bytes(data)
        assert [*found.entries] == git_says(file), data
