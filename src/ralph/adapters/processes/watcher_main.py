"""The watcher's program: starts what ralph asks for, and if ralph is killed ends what the run left. Standard library only.

Run in a Python of its own (``watcher_program.py``), with a socket to ralph as standard input. A message with a descriptor
asks for a keeper: ``k``, with a socket to it, on which ralph is told ``error <errno>`` if there can be none. ``+<run id>`` and
``-<run id>`` say that a run in the same process has begun, or ended. ``b`` means that ralph has finished. The end of the socket
without it means that ralph was killed.

Each program gets a *keeper*: a fork of this process that adopts whatever the program leaves behind, also what cleared its
environment, so that it is known to whom it belongs. The keeper is there before the program is, and ends all of it if ralph
is killed. Only Linux lets a process adopt; elsewhere ralph starts its programs itself.

``watcher_main.c`` is the same once more, compiled where there is a compiler: whatever is changed here is changed there, and
tested in both.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
import time

TYPE_CHECKING = False  # `typing` would be a fifth of what each fork copies
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import NoReturn

_POLL = 0.02
_MOST_LOOKS = 5
_OFTEN_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
_PR_SET_CHILD_SUBREAPER = 36
_DESCRIPTOR = 4  # bytes
LONGEST = 256
"""Bytes of a message to the watcher; a run's name is shorter."""
STANDARD = 3
LONGEST_MESSAGE = 32 * 1024
"""A longer request comes in a file."""
_LONGEST_FILE = 8 * 1024 * 1024
"""More than a system passes on to a program: but a process may say that any of its memory is its environment."""


def end_run_processes(
    run_id: str, *, grace: float = 1.0, within: float = 10.0, spared: list[int] | tuple[int, ...] = ()
) -> list[int]:
    """End every process started with ``RALPH_RUN_ID=run_id``, and their descendants. Returns their pids.

    TERM, ``grace`` seconds, KILL, until none is left or ``within`` seconds are over. Never this process, its
    ancestors, or the ``spared`` and what they started.
    """
    return _end_all(lambda known: _members({run_id}, known, spared), grace=grace, within=within)


def _end_all(
    find: Callable[[set[tuple[int, str]]], list[tuple[int, str]]], *, grace: float = 1.0, within: float = 10.0
) -> list[int]:
    """``find`` is asked again and again: what dies may leave children."""
    began = time.monotonic()
    found: dict[tuple[int, str], signal.Signals] = {}  # who, and the last signal it got
    clean_looks = 0
    while time.monotonic() - began < within:
        members = find(set(found))
        # Twice, because a process in the middle of exec shows no environment.
        clean_looks = 0 if members else clean_looks + 1
        if clean_looks == 2:
            break
        number = signal.SIGTERM if time.monotonic() - began < grace else signal.SIGKILL
        addressed = [identity for identity in members if found.get(identity) is not number]
        if addressed:
            addressed = _stop(addressed, find, found)
            found.update(dict.fromkeys(addressed, number))
            _send(addressed, number)
            _send(addressed, signal.SIGCONT)
        time.sleep(_POLL)
    return sorted(pid for pid, _ in found)


def _stop(
    first: list[tuple[int, str]],
    find: Callable[[set[tuple[int, str]]], list[tuple[int, str]]],
    found: dict[tuple[int, str], signal.Signals],
) -> list[tuple[int, str]]:
    """Hold them, and what they have started meanwhile: a shell whose command dies before it does runs the next one."""
    held, fresh = dict.fromkeys(first), first
    for _ in range(_MOST_LOOKS):
        _send(fresh, signal.SIGSTOP)
        fresh = [
            identity for identity in find({*found, *held}) if identity not in held and identity not in found
        ]
        if not fresh:
            break
        held |= dict.fromkeys(fresh)
    return [*held]


def _send(processes: Iterable[tuple[int, str]], number: signal.Signals) -> None:
    for pid, _ in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def main(run_ids: set[str]) -> NoReturn:
    # What our children inherit as ignored, they must not be given back.
    usual = [number for number in _OFTEN_IGNORED if signal.getsignal(number) is not signal.SIG_IGN]
    # The watcher must survive the end of a terminal or a group: that is when it is needed.
    for number in _OFTEN_IGNORED:
        signal.signal(number, signal.SIG_IGN)
    # Before the first fork, so that no keeper does it again.
    import select  # noqa: F401
    import socket

    channel = socket.socket(fileno=0)
    become_reaper = _become_reaper()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # a keeper that has ended leaves nothing behind
    while True:
        message, descriptors = receive(channel, LONGEST, 1)
        if message[:1] in (b"+", b"-"):
            (run_ids.add if message[:1] == b"+" else run_ids.discard)(os.fsdecode(message[1:]))
            continue
        if message[:1] in (b"b", b""):
            break
        if not descriptors:  # none more could be opened: whoever asked sees the end of the socket
            continue
        with socket.socket(fileno=descriptors[0]) as control:
            try:
                is_keeper = os.fork() == 0
            except OSError as error:
                is_keeper = False
                _say_why_not(control, error)
            if is_keeper:
                try:
                    os.dup2(1, 0)  # the watcher's own socket must end with the watcher
                    keep(control, become_reaper, [*usual, *_IGNORED_BY_PYTHON])
                finally:
                    os._exit(1)
    if not message:
        _continue_keepers()
        _end_all(lambda known: _members(run_ids, known))
        _continue_keepers()  # some may have been stopped again meanwhile
    os._exit(0)  # there is nothing to take down


def _continue_keepers() -> None:
    """A program may have stopped its own: it would not see that ralph is gone."""
    if sys.platform == "linux":
        table = _read_proc(set())
        ours = [(pid, started) for pid, (parent, started, _) in table.items() if parent == os.getpid()]
        _send(ours, signal.SIGCONT)


def _say_why_not(channel, error: OSError | ValueError) -> None:  # type: ignore[no-untyped-def]
    with contextlib.suppress(OSError):
        channel.send(b"error %d" % (getattr(error, "errno", 0) or errno.EINVAL))


def receive(channel, size: int, most: int) -> tuple[bytes, list[int]]:  # type: ignore[no-untyped-def]
    """A message, and at most so many descriptors; nothing that is started meanwhile inherits them."""
    import socket

    # `socket.recv_fds` ignores the flag.
    room, private = socket.CMSG_SPACE(_DESCRIPTOR * most), getattr(socket, "MSG_CMSG_CLOEXEC", 0)
    message, others, _, _ = channel.recvmsg(size, room, private)
    descriptors = [
        int.from_bytes(data[start : start + _DESCRIPTOR], sys.byteorder)
        for level, kind, data in others
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS)
        for start in range(0, len(data) - len(data) % _DESCRIPTOR, _DESCRIPTOR)
    ]
    return message, descriptors


# --- the keeper of one program ---


def keep(  # type: ignore[no-untyped-def]
    control, become_reaper: Callable[[], object], usual_signals: Iterable[int]
) -> NoReturn:
    """Have a process ready that becomes the program, and stay until ralph has no more use for it, or is gone.

    ralph is told ``ready <keeper> <pid>``, with a socket on which that process waits for what to become, and then
    ``exit <status> <whether others are left>``. ralph says ``b``: whatever is left is its own now; or ``e``: there will be no
    program. The end of the socket means that all of it is to be ended.
    """
    import select
    import socket

    signal.signal(signal.SIGCHLD, lambda *_: None)
    # First of all: whatever was written to before would be copied once more.
    try:
        root, gate = _make_ready(control, usual_signals)
    except OSError as error:
        _say_why_not(control, error)
        os._exit(1)
    os.setsid()
    become_reaper()
    deaths, woken = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(deaths, False)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    with contextlib.suppress(OSError), gate:  # else ralph is gone, which is noticed
        socket.send_fds(control, [b"ready %d %d" % (os.getpid(), root)], [gate.fileno()])
    ready: list[object] = []
    while True:
        # Also before the first wait: the root may have been ended before that could wake anybody.
        status, is_alone = _reap(root)
        if status is not None:
            root = 0
            with contextlib.suppress(OSError):
                control.send(b"exit %d %d" % (status, not is_alone))
        if control in ready:
            farewell = _farewell(control)
            if farewell == b"e" and root:
                os.kill(root, signal.SIGKILL)
                select.select((deaths,), (), (), 1.0)  # or it would be an orphan
            elif farewell != b"b":
                _end_all(lambda _: _below(os.getpid()))
            _reap(root)
            os._exit(0)
        ready, _, _ = select.select((control, deaths), (), ())
        if deaths in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(deaths, 4096)


def _farewell(control) -> bytes:  # type: ignore[no-untyped-def]
    """What ralph said last. That it did not read all of what it was told comes first, and once, as an error."""
    for _ in range(2):
        with contextlib.suppress(OSError):
            return control.recv(16)  # type: ignore[no-any-return]
    return b""


def _make_ready(control, usual_signals: Iterable[int]):  # type: ignore[no-untyped-def]
    """The pid of what will be the program, and ralph's end of the socket on which it waits. It is there before ralph knows
    of it, and does nothing before it is asked."""
    import socket

    keeper = os.getpid()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid == 0:
        try:
            for descriptor in (control.fileno(), theirs.fileno()):
                os.close(descriptor)  # whoever waits for their end waits for the keeper's
            _become_program(ours, keeper, usual_signals)
        finally:
            os._exit(255)
    ours.close()
    return pid, theirs


def _become_program(gate, keeper: int, usual_signals: Iterable[int]) -> None:  # type: ignore[no-untyped-def]
    """What is asked for (``encode_request`` in ``keeper.py``); that this has begun is the end of the socket. Else ralph is told
    ``error <errno>``, or ``lost`` if the keeper was killed meanwhile."""
    os.setsid()
    for number in (*usual_signals, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    message, descriptors = receive(gate, LONGEST_MESSAGE, STANDARD + 1)
    if not message:
        return
    try:
        standard, file = descriptors[:STANDARD], descriptors[STANDARD:]
        if len(standard) < STANDARD or not (file or message.endswith(b"\0")):  # more could not be opened
            raise OSError(errno.EMFILE, "")
        for descriptor in file:
            message = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
        count, program, folder, *words = message.split(b"\0")[:-1]
        argv, variables = words[: int(count)], words[int(count) :]
        environment = dict([each.split(b"=", 1) for each in variables])
        os.chdir(folder)
        for place, each in enumerate(standard):
            os.dup2(each, place)
        if os.getppid() != keeper:
            gate.send(b"lost")
            return
        os.execve(program, argv, environment)  # noqa: S606 - as it was asked for
    except (OSError, ValueError) as error:
        _say_why_not(gate, error)


def _reap(root: int) -> tuple[int | None, bool]:
    """The root's status, if it has just ended, and whether no child is left."""
    status = None
    while True:
        try:
            pid, ended = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status, True
        if not pid:
            return status, False
        if pid == root:
            status = ended


def _become_reaper() -> Callable[[], object]:
    """Loaded before the first program is asked for; a fork does not inherit it, so each keeper calls it."""
    if sys.platform != "linux":
        return lambda: None
    import ctypes

    prctl = ctypes.CDLL(None).prctl
    arguments = [ctypes.c_ulong(each) for each in (1, 0, 0, 0)]
    return lambda: prctl(_PR_SET_CHILD_SUBREAPER, *arguments)


def _below(top: int) -> list[tuple[int, str]]:
    table = _read_proc(set())
    below = _with_descendants([top], table, set())
    return [(pid, table[pid][1]) for pid in below if pid != top]


# --- the process table ---


def _members(
    run_ids: set[str], known: set[tuple[int, str]], spared: list[int] | tuple[int, ...] = ()
) -> list[tuple[int, str]]:
    """(pid, start time) of the runs' living processes."""
    marks = {os.fsencode(f"RALPH_RUN_ID={run_id}") for run_id in run_ids}
    table = _read_proc(marks) if sys.platform == "linux" else _read_ps(marks)
    untouchable = {os.getpid()}
    ancestor = os.getppid()
    while ancestor in table and ancestor not in untouchable:
        untouchable.add(ancestor)
        ancestor = table[ancestor][0]
    untouchable |= {*_with_descendants(spared, table, untouchable)}
    heads = [pid for pid, (_, started, is_marked) in table.items() if is_marked or (pid, started) in known]
    return [(pid, table[pid][1]) for pid in _with_descendants(heads, table, untouchable)]


def _with_descendants(
    heads: Iterable[int], table: dict[int, tuple[int, str, bool]], untouchable: set[int]
) -> list[int]:
    """Below each head, parents before their children."""
    children: dict[int, list[int]] = {}
    for pid, (parent, _, _) in table.items():
        children.setdefault(parent, []).append(pid)
    found: dict[int, None] = {}
    waiting = list(heads)
    while waiting:
        pid = waiting.pop()
        if pid not in found and pid not in untouchable:
            found[pid] = None
            waiting += children.get(pid, ())
    return [*found]


def _read_proc(marks: set[bytes]) -> dict[int, tuple[int, str, bool]]:
    """pid → parent, start time, and whether it carries the mark of a run; without the dead.

    A zombie with other threads is none: they go on without their first one.
    """
    table: dict[int, tuple[int, str, bool]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - pathlib would triple the start-up
        if not name.isdigit():
            continue
        with contextlib.suppress(OSError, IndexError):
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                stat = file.read()
            fields = stat[stat.rfind(b")") + 2 :].split()
            if fields[0] in (b"Z", b"X") and int(fields[17]) <= 1:
                continue
            environment = b""
            with contextlib.suppress(OSError), open(f"/proc/{name}/environ", "rb") as file:  # noqa: PTH123
                environment = file.read(_LONGEST_FILE)
            is_marked = b"RALPH_RUN_ID=" in environment and not marks.isdisjoint(environment.split(b"\0"))
            table[int(name)] = (int(fields[1]), fields[19].decode(), is_marked)
    return table


def _read_ps(marks: set[bytes]) -> dict[int, tuple[int, str, bool]]:
    """The same where there is no /proc (macOS): ps prints the environment behind the arguments."""
    import subprocess

    listing = subprocess.run(
        ["/bin/ps", "axeww", "-o", "pid=,ppid=,state=,command="], capture_output=True, check=False
    )
    table: dict[int, tuple[int, str, bool]] = {}
    for line in listing.stdout.splitlines():
        fields = line.split()
        if len(fields) >= 3 and not fields[2].startswith(b"Z"):
            table[int(fields[0])] = (int(fields[1]), "", not marks.isdisjoint(fields[3:]))
    return table
