"""What the kernel offers beside files and networks is refused inside, and ordinary programs do not notice."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import shutil
import stat
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.conftest import Project

from .conftest import Sandboxed, git

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.uname().machine not in ("x86_64", "aarch64"),
    reason="calls are not filtered here",
)

COLUMN = {"x86_64": 0, "aarch64": 1}.get(os.uname().machine, 0)

CALLS = {  # number on x86_64, on aarch64; arguments; the answer. Without a filter each would get another one.
    "add_key": (248, 217, (0, 0, 0, 0, 0), errno.EPERM),
    "request_key": (249, 218, (0, 0, 0, 0), errno.EPERM),
    "keyctl": (250, 219, (0, -3, 0), errno.EPERM),
    "io_uring_setup": (425, 425, (1, 0), errno.EPERM),
    "io_uring_enter": (426, 426, (-1, 0, 0, 0, 0), errno.EPERM),
    "io_uring_register": (427, 427, (-1, 0, 0, 0), errno.EPERM),
    "perf_event_open": (298, 241, (0, 0, -1, -1, 0), errno.EPERM),
    "bpf": (321, 280, (0, 0, 0), errno.EPERM),
    "userfaultfd": (323, 282, (1,), errno.EPERM),
    "syslog": (103, 116, (10, 0, 0), errno.EPERM),
    "kexec_load": (246, 104, (0, 0, 0, 0), errno.EPERM),
    "open_by_handle_at": (304, 265, (-1, 0, 0), errno.EPERM),
    "mount": (165, 40, (0, 0, 0, 0, 0), errno.EPERM),
    "umount2": (166, 39, (0, 0), errno.EPERM),
    "setns": (308, 268, (-1, 0), errno.EPERM),
    "unshare a user namespace": (272, 97, (0x10000000,), errno.EPERM),
    "clone a user namespace": (56, 220, (0x10000000 | 17, 0, 0, 0, 0), errno.EPERM),
    "clone3": (435, 435, (0, 0), errno.ENOSYS),
    "openat2": (437, 437, (-100, 0, 0, 0), errno.ENOSYS),
    "open_tree": (428, 428, (-100, 0, 0), errno.ENOSYS),
    "fsopen": (430, 430, (0, 0), errno.ENOSYS),
    "a call of the future": (600, 600, (0,), errno.ENOSYS),
    "type into the terminal": (16, 29, (-1, 0x5412, 0), errno.EPERM),
    "type into the terminal, high bits set": (16, 29, (-1, 0x1_0000_5412, 0), errno.EPERM),
    "paste into the console": (16, 29, (-1, 0x541C, 0), errno.EPERM),
    "paste into the console, high bits set": (16, 29, (-1, -(1 << 32) | 0x541C, 0), errno.EPERM),
}  # fmt: skip
CALL = """
    import ctypes, json, sys
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    def call(number, *arguments):
        ctypes.set_errno(0)
        answer = syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments))
        return 0 if answer >= 0 else ctypes.get_errno()
"""


def outcome_inside(sandboxed: Sandboxed, script: str, *arguments: str) -> object:
    return json.loads(sandboxed.python(textwrap.dedent(CALL) + textwrap.dedent(script), *arguments))


def test_calls_that_work_does_not_need_are_refused(sandboxed: Sandboxed) -> None:
    asked = {name: (row[COLUMN], *row[2]) for name, row in CALLS.items()}
    script = "print(json.dumps({name: call(*row) for name, row in json.loads(sys.argv[1]).items()}))"
    assert outcome_inside(sandboxed, script, json.dumps(asked)) == {
        name: row[3] for name, row in CALLS.items()
    }


def test_every_process_inside_is_filtered(sandboxed: Sandboxed) -> None:
    output = sandboxed.shell("cat /proc/[0-9]*/status | grep ^Seccomp: | sort -u")
    assert output.split() == ["Seccomp:", "2"]


def test_sockets_are_those_of_ordinary_programs(sandboxed: Sandboxed) -> None:
    script = """
        import socket
        def make(*arguments):
            try: socket.socket(*arguments).close()
            except OSError as error: return error.errno
        families = {number: make(number, kind) for number in range(1, 50) for kind in (1,)}
        netlink = {number: make(16, 3, number) for number in range(32)}
        pairs = call(int(sys.argv[1]), 30, 1, 0, 0)
        print(json.dumps([families, netlink, pairs]))
    """
    found = outcome_inside(sandboxed, script, str((53, 199)[COLUMN]))
    assert isinstance(found, list)
    families, netlink, pairs = found
    usual = {"1", "2", "10", "16"}
    assert {name for name, answer in families.items() if answer != errno.EAFNOSUPPORT} == usual
    assert {name for name, answer in netlink.items() if answer != errno.EPROTONOSUPPORT} == {"0"}
    assert pairs == errno.EAFNOSUPPORT


# --- the keyring -------------------------------------------------------------------------------------------


@pytest.fixture
def key() -> Iterator[str]:
    """A secret in the keyring of this user."""
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    name = f"ralph-test-{os.getpid()}"
    user_keyring = -4
    serial = syscall((248, 217)[COLUMN], b"user", name.encode(), b"s3cret-value", 12, user_keyring)
    if serial < 0:
        pytest.skip("this machine has no keyrings")
    yield name
    syscall((250, 219)[COLUMN], 9, serial, user_keyring)


def test_a_key_of_the_user_cannot_be_found_or_read(sandboxed: Sandboxed, key: str) -> None:
    script = """
        search, read = 10, 11
        name, keyctl, request = sys.argv[1].encode(), int(sys.argv[2]), int(sys.argv[3])
        found = []
        for keyring in (-1, -2, -3, -4, -5):
            serial = syscall(keyctl, search, keyring, b"user", name, 0)
            found.append(serial)
            buffer = ctypes.create_string_buffer(100)
            syscall(keyctl, read, serial if serial > 0 else keyring, buffer, 100)
            found.append(buffer.value.decode("latin-1"))
        found.append(syscall(request, b"user", name, None, 0))
        print(json.dumps(found))
    """
    numbers = (str((250, 219)[COLUMN]), str((249, 218)[COLUMN]))
    assert outcome_inside(sandboxed, script, key, *numbers) == [-1, ""] * 5 + [-1]


# --- files with the rights of their owner -------------------------------------------------------------------

SETUID_BY_EVERY_WAY = """
    import mmap, os, struct
    os.umask(0)
    numbers = json.loads(sys.argv[1])
    outcomes = {}
    here = -100
    def fresh(name):
        with open(name, "w") as file: file.write("#!/bin/sh\\n")
        os.chmod(name, 0o755)
        return name.encode()
    for mode in (0o4755, 0o2755, 0o6755, 0o4000, 0o2000, 0o104755, 0xFFFF0000 | 0o4755, (1 << 40) | 0o4755):
        for way, number in numbers.items():
            if number is None: continue
            name = f"{way}-{mode:o}"
            text = ctypes.c_char_p(name.encode())
            address = ctypes.cast(text, ctypes.c_void_p).value
            if way == "chmod": fresh(name); arguments = (address, mode)
            if way == "fchmod": fresh(name); arguments = (os.open(name, os.O_RDWR), mode)
            if way in ("fchmodat", "fchmodat2"): fresh(name); arguments = (here, address, mode, 0)
            if way == "creat": arguments = (address, mode)
            if way == "open": arguments = (address, os.O_CREAT | os.O_RDWR, mode)
            if way == "openat": arguments = (here, address, os.O_CREAT | os.O_RDWR, mode)
            if way == "mknod": arguments = (address, mode | 0o100000, 0)
            if way == "mknodat": arguments = (here, address, mode | 0o100000, 0)
            if way == "openat2":
                how = ctypes.create_string_buffer(struct.pack("QQQ", os.O_CREAT | os.O_RDWR, mode & 0o7777, 0), 24)
                arguments = (here, address, ctypes.addressof(how), 24)
            outcomes[name] = call(number, *arguments)
            if way == "openat":
                dot = ctypes.c_char_p(b".")
                place = ctypes.cast(dot, ctypes.c_void_p).value
                outcomes[name + "-nameless"] = call(number, here, place, os.O_TMPFILE | os.O_RDWR, mode)
            if way == "chmod" and os.uname().machine == "x86_64":
                fresh(name + "-x32")
                other = ctypes.c_char_p((name + "-x32").encode())
                outcomes[name + "-x32"] = call(number | 0x40000000, ctypes.cast(other, ctypes.c_void_p).value, mode)
    print(json.dumps(outcomes))
"""


def test_no_file_gets_the_rights_of_its_owner(sandboxed: Sandboxed) -> None:
    numbers = {
        "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452), "creat": (85, None),
        "open": (2, None), "openat": (257, 56), "mknod": (133, None), "mknodat": (259, 33), "openat2": (437, 437),
    }  # fmt: skip
    asked = {name: both[COLUMN] for name, both in numbers.items()}
    outcomes = outcome_inside(sandboxed, SETUID_BY_EVERY_WAY, json.dumps(asked))
    assert isinstance(outcomes, dict)
    assert {name for name, answer in outcomes.items() if answer == 0} == set()
    assert special_files(sandboxed.workspace) == []


def special_files(folder: Path) -> list[Path]:
    bits = stat.S_ISUID | stat.S_ISGID
    return [path for path in folder.rglob("*") if path.lstat().st_mode & bits]


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="there is no older convention")
def test_nor_by_the_calls_of_32_bit_programs(sandboxed: Sandboxed) -> None:
    """The process stays a 64-bit one: `int 0x80` with 15, which is chmod there."""
    (sandboxed.workspace / "victim").write_text("")
    script = """
        libc = ctypes.CDLL(None)
        libc.mmap.restype = ctypes.c_void_p
        place = libc.mmap(None, 4096, 7, 0x62, -1, 0)  # private, anonymous, below 2 GB
        name = place + 2048
        ctypes.memmove(name, b"victim", 7)
        code = b"\\x53\\xb8\\x0f\\0\\0\\0\\xbb" + name.to_bytes(4, "little") + b"\\xb9" + (0o4755).to_bytes(4, "little")
        code += b"\\xcd\\x80\\x5b\\xc3"
        ctypes.memmove(place, code, len(code))
        print(json.dumps(ctypes.CFUNCTYPE(ctypes.c_int)(place)()))
    """
    assert outcome_inside(sandboxed, script) == -errno.EPERM
    assert special_files(sandboxed.workspace) == []


MAKE_ARCHIVE = """
import tarfile
with tarfile.open("t", "w") as archive:
    member = tarfile.TarInfo("x")
    member.mode = 0o4755
    archive.addfile(member)
"""


@pytest.mark.parametrize(
    "script",
    [
        "cp /bin/true x; chmod 4755 x",
        "cp /bin/true x; chmod u+s x",
        "cp /bin/true x; chmod 2755 x",
        "cp /bin/true x; install -m 6755 x y",
        "mkdir d; chmod g+s d",
        "cp -p $(find /usr/bin -perm -4000 | head -n 1) x",
        "$PYTHON -c 'import os; os.open(\"x\", os.O_CREAT | os.O_WRONLY, 0o4755)'",
        "$PYTHON -c 'import os, stat; os.mknod(\"x\", stat.S_IFREG | 0o4755)'",
        f"$PYTHON -c '{MAKE_ARCHIVE}' && tar -xpf t",
    ],
)  # fmt: skip
def test_nor_by_the_usual_programs(sandboxed: Sandboxed, script: str) -> None:
    sandboxed.run("sh", "-c", f"umask 0; {script}", environment={"PYTHON": sys.executable})
    assert special_files(sandboxed.workspace) == []


def test_a_project_that_a_group_shares_stays_shared(sandboxed: Sandboxed) -> None:
    workspace = sandboxed.workspace
    git(workspace, "config", "core.sharedRepository", "group")
    for folder in (workspace, *(workspace / ".git").rglob("*")):
        if folder.is_dir():
            folder.chmod(0o2775)
    output = sandboxed.shell(
        "mkdir d && chmod 755 d && echo x > d/f && git add d && git commit -qm shared && echo DONE;"
        "cp /bin/true x; chmod 4755 x || echo REFUSED"
    )
    assert output.splitlines()[-1] == "REFUSED"
    assert "DONE" in output
    assert git(workspace, "log", "-1", "--format=%s") == "shared"
    assert (workspace / "d").stat().st_mode & stat.S_ISGID
    assert not (workspace / "x").stat().st_mode & stat.S_ISUID


# --- ordinary work -----------------------------------------------------------------------------------------

ORDINARY = {
    "git": "git init -q sub 2>/dev/null; echo x > a && git add a && git commit -qm work && git gc -q && git log --oneline",
    "modes": "touch a && chmod +x a && chmod 700 a && mkdir -p d/e && chmod -R go-w d && mkdir t && chmod 1777 t && umask 077",
    "tar": "mkdir d && touch d/x && chmod 750 d/x && tar -cf t.tar d && rm -r d && tar -xpf t.tar && test -x d/x",
    "copies": "touch a && cp -p a b && mkdir d && cp -a d /tmp/all && install -m 755 a c && mkfifo pipe && ln a hard && ln -s a soft",
    "python": """$PYTHON - <<'P'
import asyncio, concurrent.futures, multiprocessing, os, pty, shutil, socket, subprocess, tempfile, threading
assert subprocess.run(["true"]).returncode == 0
threading.Thread(target=print).start()
with concurrent.futures.ThreadPoolExecutor() as pool: list(pool.map(abs, range(10)))
queue = multiprocessing.Queue(); queue.put(1); assert queue.get() == 1
asyncio.run(asyncio.create_subprocess_exec("true"))
assert socket.if_nameindex()
server = socket.create_server(("127.0.0.1", 0)); socket.create_connection(server.getsockname())
socket.create_server(("::1", 0), family=socket.AF_INET6) if socket.has_ipv6 and os.path.exists("/proc/net/if_inet6") else None
socket.socketpair(); pty.spawn(["true"]); os.memfd_create("x")
with tempfile.NamedTemporaryFile() as file: shutil.copy2(file.name, "copied")
P""",
    "node": """node -e '
const fs = require("fs"), http = require("http"), os = require("os"), cp = require("child_process");
os.networkInterfaces(); fs.writeFileSync("x", "1"); fs.chmodSync("x", 0o755); cp.execSync("true");
new (require("worker_threads").Worker)("0", {eval: true}).on("exit", () => {
  const s = http.createServer((q, a) => a.end("ok")).listen(0, "127.0.0.1", () =>
    http.get(s.address(), a => a.on("data", () => process.exit(0))));
});
fs.promises.readFile("x").catch(() => process.exit(1));'""",
    "npm": """echo '{"name": "x", "version": "1.0.0"}' > package.json && npm pack --silent --offline""",
    "gcc": "printf 'int main(void){return 0;}' > a.c && gcc -O2 a.c -o a && ./a",
    "make": "printf 'all: a b\\na b:\\n\\ttouch $@\\n' > Makefile && make -j2",
    "rsync": "mkdir d && touch d/x && rsync -a d/ e/",
    "go": "printf 'package main\\nfunc main(){}' > a.go && GOCACHE=/tmp/go go run a.go",
    "strace": "strace -f -o /dev/null true",
    "gdb": "gdb -batch -ex run -ex quit /bin/true",
}
OPTIONAL = ("node", "npm", "gcc", "make", "rsync", "go", "strace", "gdb")


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_work_is_not_disturbed(sandboxed: Sandboxed, name: str) -> None:
    if name in OPTIONAL and shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    exit_, output = sandboxed.run("sh", "-ec", ORDINARY[name], environment={"PYTHON": sys.executable})
    assert exit_.code == 0, output


def test_the_head_of_a_run_says_what_is_refused(project: Project, bwrap_trouble: str) -> None:
    if bwrap_trouble:
        pytest.skip(bwrap_trouble)
    project.settings(agent={"command": "true", "adapter": "plain"})
    ran = project.ralph("run", "-p", "x", "--sandbox=bwrap", "--max-iterations", "1")
    assert "kernel: setuid and setgid files, keyrings" in ran.stdout + ran.stderr
