"""Git's configuration with all that it includes: whatever counts as examined is what git itself reads."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ralph.adapters.git_folders import NotExamined, entries, git_folders, included, unexamined

NAMES = (
    b"a", b"b", b"./a", b"sub/a", b"../a", b"a ", b" a", b"a\t", b"\fa", b"a\v", b"a\0", b"\xff", "é".encode(), b'"a "', b'a ""', b"a \\\n",
    b"~/a", b"~nobody-at-all/a", b"%(prefix)/a", b"sub/", b"sub", b".", b"", b"a # no", b'"a;"', b"a\\tb", b"a b", b"a\tb", b"a\rb",
)  # fmt: skip
FILES = (
    b"a",
    b"b",
    b"sub/a",
    b"../a",
    b"a ",
    b"a\t",
    b"\fa",
    b"a\v",
    b"\xff",
    b"\xef\xbf\xbd",
    "é".encode(),
    b"a;",
    b"a\tb",
    b"a b",
)
SECTIONS = (b"[include]", b'[includeIf "gitdir:/"]', b"[INCLUDE]", b"[include] # no")
includes = st.builds(
    lambda section, name: section + b"\n\tpath = " + name + b"\n",
    st.sampled_from(SECTIONS),
    st.sampled_from(NAMES),
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "git" / "sub").mkdir(parents=True)
    folder = os.fsencode(tmp_path) + b"/git/"
    for name in FILES:
        write(folder + name, held(name))
    return folder


def write(file: bytes, content: bytes) -> None:
    Path(os.fsdecode(file)).write_bytes(content)


def held(name: bytes) -> bytes:
    return b'[filter "x"]\nclean = in' + name.hex().encode() + b"\n"


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(top=st.lists(includes, max_size=3), inner=includes, name=st.sampled_from(FILES))
def test_what_is_examined_is_what_git_reads(
    top: list[bytes], inner: bytes, name: bytes, folder: bytes
) -> None:
    config = Path(os.fsdecode(folder)) / "config"
    config.write_bytes(b"[core]\nbare = false\n" + b"".join(top))
    write(folder + name, held(name) + inner)
    try:
        if unexamined(config) is None:
            compare(config)
    finally:
        write(folder + name, held(name))


def compare(config: Path) -> None:
    listed = ["git", "config", "--file", str(config), "--list", "--includes", "--show-origin", "-z"]
    ran = subprocess.run(listed, capture_output=True, check=False)
    if ran.returncode:  # a circle
        assert b"depth" in ran.stderr
        return
    fields = ran.stdout.split(b"\0")[:-1]
    by_git = {
        (os.path.realpath(origin.removeprefix(b"file:")), *setting.partition(b"\n")[::2])
        for origin, setting in zip(fields[::2], fields[1::2], strict=True)
    }
    by_us = {
        (os.path.realpath(os.fsencode(file)), key.encode(), value.encode())
        for file in (config, *included(config))
        for key, value in entries(file)
    }
    assert by_git <= by_us  # whatever the condition, we follow it


@pytest.mark.parametrize(
    ("written", "name"),
    [(b"repo \r\n\n", b"repo "), (b" repo", b" repo"), (b"r\xff\n", b"r\xff"), (b"./a/../repo", b"repo")],
)
def test_a_pointer_is_read_to_the_byte(written: bytes, name: bytes, tmp_path: Path) -> None:
    place = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
    subprocess.run(["git", "init", "-q", "--bare", place], check=True)
    (tmp_path / "a").mkdir()
    (tmp_path / ".git").write_bytes(b"gitdir: " + written)
    asked = ["git", "-C", str(tmp_path), "rev-parse", "--absolute-git-dir"]
    by_git = subprocess.run(asked, capture_output=True, check=True).stdout.removesuffix(b"\n")
    found = git_folders(tmp_path)
    assert found is not None
    assert os.fsencode(found.own) == by_git


@pytest.mark.parametrize("written", [b"repo\t", b"repo\0x", b"\x0crepo", b"re\npo", b"\n", b""])
def test_an_odd_pointer_is_not_examined(written: bytes, tmp_path: Path) -> None:
    (tmp_path / ".git").write_bytes(b"gitdir: " + written)
    with pytest.raises(NotExamined, match="cannot be examined"):
        git_folders(tmp_path)
