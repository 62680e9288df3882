"""A hostile agent in a real bubblewrap sandbox: whatever it tries fails, and the run goes on."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import pytest

from ralph.domain.loop.session_report import Ending
from ralph.domain.sandbox.kind import Network
from ralph.domain.sandbox.policy import Limits, SandboxPolicy

from .conftest import PATIENCE, Sandboxed, git


def processes_with(mark: str) -> list[int]:
    """Processes of this machine that have ``mark`` on their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # gone meanwhile
                if mark.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
    return found


def wait_until_gone(mark: str) -> None:
    give_up = time.monotonic() + PATIENCE
    while left := processes_with(mark):
        assert time.monotonic() < give_up, f"still there: {left}"
        time.sleep(0.02)


# --- files -------------------------------------------------------------------------------------------------


def test_work_in_the_workspace_is_real(sandboxed: Sandboxed) -> None:
    sandboxed.shell("echo done > result.txt && git add result.txt && git commit -q -m work")
    assert (sandboxed.workspace / "result.txt").read_text() == "done\n"
    assert git(sandboxed.workspace, "log", "-1", "--format=%s") == "work"


@pytest.mark.parametrize("place", ["/etc", "/usr", "/", "/var", "/opt"])
def test_nothing_outside_can_be_written(sandboxed: Sandboxed, place: str) -> None:
    name = f"ralph-test-{os.getpid()}"
    output = sandboxed.shell('touch "$1/$2" && echo WROTE', place, name)
    assert "WROTE" not in output
    assert not Path(place, name).exists()


def test_what_is_written_in_home_tmp_or_beside_the_workspace_never_gets_out(sandboxed: Sandboxed) -> None:
    beside = sandboxed.workspace.parent
    for folder in (beside, sandboxed.home, Path("/tmp"), Path("/var/tmp"), Path("/run")):
        sandboxed.shell('touch "$1/ralph-escape-$2"', str(folder), str(os.getpid()))
        assert not (folder / f"ralph-escape-{os.getpid()}").exists()


@pytest.mark.parametrize("name", [".ssh/id_ed25519", ".aws/credentials"])
def test_keys_in_the_home_are_not_there(sandboxed: Sandboxed, name: str) -> None:
    output = sandboxed.shell('cat "$HOME/$1"; cat ~/"$1"; ls -a ~', name)
    assert "s3cret-value" not in output
    assert name.split("/")[0] not in output.replace(name, "").split()


def test_a_link_in_the_workspace_does_not_lead_to_the_keys(sandboxed: Sandboxed) -> None:
    (sandboxed.workspace / "link").symlink_to(sandboxed.home / ".ssh" / "id_ed25519")
    assert "s3cret-value" not in sandboxed.shell("cat link")


def test_passwords_of_the_machine_cannot_be_read(sandboxed: Sandboxed) -> None:
    assert ":" not in sandboxed.shell("cat /etc/shadow 2>/dev/null")


@pytest.mark.parametrize(
    "attempt",
    [
        "echo hacked > .ralph/ralph.db",
        "echo hacked > .ralph/settings.json",
        "rm -rf .ralph",
        "mv .ralph elsewhere",
        "echo hacked > .ralph/new.json",
        "ln -sf /tmp/x .ralph/ralph.db",
        "umount .ralph && echo hacked > .ralph/ralph.db",
        "mount -o remount,rw .ralph && echo hacked > .ralph/ralph.db",
    ],
)
def test_the_record_and_the_settings_stay_as_they_are(sandboxed: Sandboxed, attempt: str) -> None:
    sandboxed.shell(attempt)
    state = sandboxed.workspace / ".ralph"
    assert (state / "ralph.db").read_text() == "the record"
    assert (state / "settings.json").read_text() == "{}"
    assert sorted(entry.name for entry in state.iterdir()) == [
        "ralph.db",
        "settings.json",
        "settings.local.json",
    ]


def test_the_users_own_settings_cannot_be_read(sandboxed: Sandboxed) -> None:
    assert "s3cret-value" not in sandboxed.shell("cat .ralph/settings.local.json; cat .ralph/*")


@pytest.mark.parametrize(
    "attempt",
    [
        "printf '#!/bin/sh\\ntouch /tmp/hacked' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
        "git config core.fsmonitor 'touch /tmp/hacked'",
        "printf '[core]\\n\\tfsmonitor = evil\\n' >> .git/config",
        "rm -rf .git/hooks && mkdir .git/hooks && touch .git/hooks/evil",
        "mv .git .git-old && cp -r .git-old .git && printf '[core]\\n\\tfsmonitor = evil\\n' > .git/config",
        "rm .git/config && printf '[core]\\n\\tfsmonitor = evil\\n' > .git/config",
    ],
)
def test_what_git_would_run_outside_cannot_be_changed(sandboxed: Sandboxed, attempt: str) -> None:
    folder = sandboxed.workspace / ".git"
    before = (folder / "config").read_text(), sorted(path.name for path in (folder / "hooks").iterdir())
    sandboxed.shell(attempt)
    after = (folder / "config").read_text(), sorted(path.name for path in (folder / "hooks").iterdir())
    assert after == before


# --- other processes ---------------------------------------------------------------------------------------


def test_a_process_outside_cannot_be_seen_signalled_or_traced(
    sandboxed: Sandboxed, sleeper: subprocess.Popen[bytes]
) -> None:
    script = textwrap.dedent("""
        import ctypes, os, signal, sys
        pid = int(sys.argv[1])
        print("visible" if os.path.exists(f"/proc/{pid}") else "hidden")
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.kill(pid, number)
                print("killed")
            except OSError as error:
                print("kill:", error.strerror)
        print("attached" if ctypes.CDLL(None).ptrace(16, pid, 0, 0) == 0 else "ptrace refused")
    """)
    output = sandboxed.python(script, str(sleeper.pid))
    assert output.splitlines() == [
        "hidden",
        "kill: No such process",
        "kill: No such process",
        "ptrace refused",
    ]
    assert sleeper.poll() is None


def test_killing_everything_kills_only_what_is_inside(
    sandboxed: Sandboxed, sleeper: subprocess.Popen[bytes]
) -> None:
    exit_, _ = sandboxed.run("sh", "-c", "kill -9 -1; kill -9 1; kill -9 $PPID; exit 0")
    assert exit_.ending is Ending.EXITED
    assert sleeper.poll() is None
    assert sandboxed.shell("echo goes on") == "goes on\n"


def test_a_daemon_does_not_outlive_its_session(sandboxed: Sandboxed) -> None:
    seconds = f"86400.{os.getpid()}{time.monotonic_ns()}"
    script = "(setsid nohup sleep $1 >/dev/null 2>&1 &) ; sleep $1 >/dev/null 2>&1 & echo left"
    assert sandboxed.shell(script, seconds) == "left\n"
    wait_until_gone(seconds)


def test_a_session_dies_with_ralph_even_if_ralph_is_killed(sandboxed: Sandboxed, tmp_path: Path) -> None:
    seconds = f"86400.{os.getpid()}{time.monotonic_ns()}"
    harness = textwrap.dedent("""
        import asyncio, os, sys
        from pathlib import Path
        from ralph.adapters.isolation.bwrap import BwrapSandbox
        from ralph.adapters.isolation.runner import IsolatedRunner, keep_open
        from ralph.adapters.isolation.sandbox import Site
        from ralph.adapters.processes.runner import PosixProcessRunner
        from ralph.domain.sandbox.kind import Network
        from ralph.domain.sandbox.policy import SandboxPolicy
        from ralph.engine.ports import Command

        async def main(workspace, seconds):
            inner = PosixProcessRunner(run_id="killed", base_environment=os.environ)
            site = Site(workspace, workspace / ".ralph", ("sh",), "killed", dict(os.environ))
            async with keep_open(BwrapSandbox(site, SandboxPolicy(network=Network.OFF)), inner) as sandbox:
                await IsolatedRunner(inner, sandbox).run(
                    Command(("sh", "-c", "echo up; setsid sleep $1 & exec sleep $1", "sh", seconds), workspace),
                    on_output=lambda chunk: os.write(1, chunk),
                )

        asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
    """)
    with subprocess.Popen(
        [sys.executable, "-c", harness, str(sandboxed.workspace), seconds],
        stdout=subprocess.PIPE,
        env={**sandboxed.environ, "TMPDIR": str(tmp_path)},  # nobody can clear up behind it
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"up\n"
        finally:
            process.kill()
    wait_until_gone(seconds)


def test_an_agent_is_asked_to_end_before_it_is_killed(sandboxed: Sandboxed) -> None:
    script = "trap 'echo bye; exit 7' INT; echo up; while :; do sleep 0.05; done"
    exit_, output = sandboxed.run("sh", "-c", script, stop_after=b"up\n")
    assert exit_.ending is Ending.STOPPED
    assert output == "up\nbye\n"
    assert exit_.code == 7


# --- environment -------------------------------------------------------------------------------------------


def test_variables_that_are_not_listed_are_nowhere_inside(sandboxed: Sandboxed) -> None:
    output = sandboxed.shell("env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; ps axe 2>/dev/null")
    assert "s3cret-value" not in output
    assert f"HOME={sandboxed.home}" in output


def test_a_listed_variable_is_there(sandboxed: Sandboxed) -> None:
    policy = SandboxPolicy(network=Network.OFF, env=("SOME_*",))
    assert sandboxed.shell('echo "$SOME_TOKEN"', policy=policy) == "s3cret-value\n"


# --- the network -------------------------------------------------------------------------------------------

CONNECT = """
import socket, sys
kind, host, port = sys.argv[1:4]
number = {"tcp": socket.SOCK_STREAM, "udp": socket.SOCK_DGRAM}[kind]
with socket.socket(socket.AF_INET, number) as out:
    out.settimeout(5)
    try:
        if kind == "udp":
            out.sendto(b"secret", (host, int(port)))
            print("sent")
        else:
            out.connect((host, int(port)))
            print("connected")
    except OSError as error:
        print("refused:", error.strerror or error)
"""


def test_no_service_of_this_machine_can_be_reached_by_tcp(sandboxed: Sandboxed) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        output = sandboxed.python(CONNECT, "tcp", "127.0.0.1", str(server.getsockname()[1]))
    assert output.startswith("refused:")


def test_nothing_gets_out_by_udp(sandboxed: Sandboxed) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.setblocking(False)
        sandboxed.python(CONNECT, "udp", "127.0.0.1", str(server.getsockname()[1]))
        with pytest.raises(BlockingIOError):
            server.recv(100)


@pytest.mark.parametrize("kind", ["tcp", "udp"])
def test_there_is_no_way_to_other_machines(sandboxed: Sandboxed, kind: str) -> None:
    output = sandboxed.python(CONNECT, kind, "192.0.2.1", "53")
    assert output.startswith("refused:")


def test_names_are_not_looked_up(sandboxed: Sandboxed) -> None:
    script = """
import socket
try:
    print("found", socket.getaddrinfo("example.com", 443))
except OSError as error:
    print("refused")
"""
    assert sandboxed.python(script) == "refused\n"


UNIX = """
import socket, sys
name = "\\0" + sys.argv[1][1:] if sys.argv[1].startswith("@") else sys.argv[1]
with socket.socket(socket.AF_UNIX) as out:
    try:
        out.connect(name)
        print("connected")
    except OSError as error:
        print("refused")
"""


def test_sockets_of_services_cannot_be_reached(sandboxed: Sandboxed) -> None:
    name = f"ralph-test-{os.getpid()}"
    with (
        tempfile.TemporaryDirectory(prefix="r", dir="/tmp") as folder,  # a socket's path must be short
        socket.socket(socket.AF_UNIX) as server,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        policy = SandboxPolicy(network=Network.OFF, readonly=(folder,))  # readable would be reachable
        server.bind(f"{folder}/s")
        server.listen()
        abstract.bind("\0" + name)
        abstract.listen()
        assert sandboxed.python(UNIX, f"{folder}/s", policy=policy) == "refused\n"
        assert sandboxed.python(UNIX, "@" + name, policy=policy) == "refused\n"


# --- the kernel --------------------------------------------------------------------------------------------


def test_settings_of_the_kernel_cannot_be_opened_for_writing(sandboxed: Sandboxed) -> None:
    """Only opened, never written: if this test ever fails it must not have changed the machine."""
    script = """
import os
for path in ("kernel/core_pattern", "kernel/hostname", "vm/drop_caches", "kernel/modprobe"):
    try:
        os.close(os.open("/proc/sys/" + path, os.O_WRONLY))
        print("open:", path)
    except OSError:
        pass
for path in ("/proc/sysrq-trigger", "/proc/irq/default_smp_affinity", "/sys/kernel/mm/ksm/run"):
    try:
        os.close(os.open(path, os.O_WRONLY))
        print("open:", path)
    except OSError:
        pass
"""
    assert sandboxed.python(script) == ""


def test_there_are_no_capabilities_and_no_new_ones(sandboxed: Sandboxed) -> None:
    status = sandboxed.shell("cat /proc/self/status")
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert {fields[name] for name in ("CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert fields["NoNewPrivs"] == "1"


@pytest.mark.parametrize(
    "attempt", ["mount -t tmpfs none /mnt", "umount /proc/sys", "chroot / true", "bwrap --ro-bind / / true"]
)
def test_the_view_of_the_files_cannot_be_changed(sandboxed: Sandboxed, attempt: str) -> None:
    assert "YES" not in sandboxed.shell(f"{attempt} && echo YES")


# --- limits ------------------------------------------------------------------------------------------------

LIMITED = SandboxPolicy(network=Network.OFF, limits=Limits(memory=256 * 2**20, pids=40))


def test_limits_cannot_be_raised(sandboxed: Sandboxed) -> None:
    script = """
import pathlib, resource
for which in (resource.RLIMIT_DATA, resource.RLIMIT_NPROC, resource.RLIMIT_CORE):
    soft, hard = resource.getrlimit(which)
    if hard != resource.RLIM_INFINITY:
        try:
            resource.setrlimit(which, (hard, hard + 1))
            print("raised", which)
        except (OSError, ValueError):
            pass
for file in pathlib.Path("/sys/fs/cgroup").glob("**/cgroup.procs"):
    try:
        file.open("a").close()
        print("open", file)
    except OSError:
        pass
"""
    assert sandboxed.python(script, policy=LIMITED) == ""


def test_memory_ends_at_the_limit(sandboxed: Sandboxed) -> None:
    script = "block = bytearray(2**30); print('got it all'.upper(), len(block))"  # a traceback may quote it
    exit_, output = sandboxed.run(sys.executable, "-c", script, policy=LIMITED)
    assert "GOT IT ALL" not in output
    assert exit_.code != 0
    assert sandboxed.shell("echo goes on", policy=LIMITED) == "goes on\n"


def test_a_fork_bomb_stops_at_the_limit(sandboxed: Sandboxed, tmp_path: Path) -> None:
    script = """
import os, signal
children = []
try:
    while len(children) < 200:
        pid = os.fork()
        if not pid:
            signal.pause()
        children.append(pid)
    print("no limit")
except OSError as error:
    print("stopped at", len(children), error.strerror)
for pid in children:
    os.kill(pid, signal.SIGKILL)
"""
    exit_, output = sandboxed.run(sys.executable, "-c", script, policy=LIMITED)
    if os.geteuid() == 0 and "no limit" in output:
        pytest.skip("root, and no control group can be made here")
    assert output.startswith("stopped at"), output
    assert int(output.split()[2]) <= 40
    assert exit_.code == 0
    assert sandboxed.shell("echo goes on", policy=LIMITED) == "goes on\n"


def test_there_is_no_terminal_to_type_into(sandboxed: Sandboxed) -> None:
    assert "YES" not in sandboxed.shell(": < /dev/tty && echo YES")
