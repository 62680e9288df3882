"""Services outside that listen on a socket among the files that a sandboxed process sees."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from .conftest import OFF, Sandboxed

CONNECT = """
import socket, sys
with socket.socket(socket.AF_UNIX) as out:
    try:
        out.connect(sys.argv[1])
        print("connected")
    except OSError as error:
        print("refused")
"""


@contextmanager
def service(place: Path, *, named_from: Path | None = None) -> Iterator[None]:
    """Listens on ``place``; ``named_from``: its working directory, and its name in the system's table is relative."""
    place.parent.mkdir(parents=True, exist_ok=True)
    before = Path.cwd()
    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(named_from or before)
        try:
            server.bind(str(place.relative_to(named_from) if named_from else place))
            server.listen()
            yield
        finally:
            os.chdir(before)


@pytest.fixture
def short(sandboxed: Sandboxed) -> Iterator[Sandboxed]:
    """A workspace and a home with short names: the path of a socket has at most 107 characters."""
    with tempfile.TemporaryDirectory(prefix="r", dir="/tmp") as folder:
        home, workspace = Path(folder, "h"), Path(folder, "w")
        home.mkdir()
        sandboxed.workspace.rename(workspace)
        environ = {**sandboxed.environ, "HOME": str(home)}
        yield replace(sandboxed, workspace=workspace, home=home, environ=environ)


def test_sockets_in_the_workspace_are_covered(short: Sandboxed) -> None:
    place = short.workspace / "tmp" / "dev.sock"
    with service(place):
        assert short.python(CONNECT, str(place)) == "refused\n"
        assert short.shell("mv tmp away; mkdir tmp; mv away/dev.sock tmp/ 2>&1; echo x >> tmp/dev.sock") != ""
        assert short.python(CONNECT, str(place.parent.parent / "away" / "dev.sock")) == "refused\n"


def test_a_socket_named_from_its_services_folder_is_covered(short: Sandboxed) -> None:
    place = short.workspace / "dev.sock"
    with service(place, named_from=short.workspace):
        assert short.python(CONNECT, str(place)) == "refused\n"


def test_a_socket_named_through_a_link_is_covered(short: Sandboxed) -> None:
    (short.home / "p").symlink_to(short.workspace)
    with service(short.home / "p" / "dev.sock"):
        assert short.python(CONNECT, str(short.workspace / "dev.sock")) == "refused\n"


@pytest.mark.parametrize(
    "name", [".claude/ide/s", ".claude/s", ".claude/daemon/control", ".nvm/s", ".gnupg/S", ".tmux/s"]
)
def test_sockets_in_the_agents_state_and_among_tools_are_covered(short: Sandboxed, name: str) -> None:
    short.programs = ("claude",)
    with service(short.home / name):
        (short.home / ".claude").mkdir(exist_ok=True)
        assert short.python(CONNECT, str(short.home / name)) == "refused\n"


OWN = """
import os, socket, sys
for name in ("own.sock", os.path.expanduser("~/own.sock"), "/tmp/own.sock"):
    if os.path.exists(name):
        os.unlink(name)
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(name)
        server.listen()
        client.connect(name)
        client.send(b"x")
        print(server.accept()[0].recv(1))
"""


def test_sockets_that_processes_inside_open_work_again_and_again(sandboxed: Sandboxed) -> None:
    for _ in range(2):  # the first leaves its socket in the workspace
        assert sandboxed.python(OWN) == "b'x'\n" * 3


def test_a_socket_that_cannot_be_examined_stops_nobody(short: Sandboxed) -> None:
    private = short.home / "p"
    with service(private / "s"):
        if os.geteuid() == 0:  # root may look at it, but not inside, and nothing can be mounted there
            os.chown(private, 65534, 65534)
        private.chmod(0o700 if os.geteuid() == 0 else 0)
        try:
            policy = replace(OFF, readonly=(str(private.parent),))
            assert short.shell("echo works", policy=policy) == "works\n"
            assert "s" not in short.shell('ls "$1"', str(private), policy=policy).split()
        finally:
            private.chmod(0o700)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look everywhere")
def test_folders_that_may_not_be_searched_stop_nobody(sandboxed: Sandboxed, own_home: Path) -> None:
    closed = [own_home / name for name in (".config", ".local", ".cache", "bin")]
    for folder in closed:
        folder.mkdir()
        folder.chmod(0)
    sandboxed.programs = ("claude", "opencode", "amp")
    sandboxed.environ["PATH"] += f":{own_home / 'bin'}:{own_home / 'bin' / 'more'}"
    try:
        assert sandboxed.shell("echo works") == "works\n"
    finally:
        for folder in closed:
            folder.chmod(0o700)


def test_a_private_repository_of_another_user_above_stops_nobody(
    sandboxed: Sandboxed, tmp_path: Path
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "part").mkdir()
    sandboxed.workspace = tmp_path / "part"
    (tmp_path / ".git").chmod(0)
    try:
        assert sandboxed.shell("echo works") == "works\n"
    finally:
        (tmp_path / ".git").chmod(0o700)
