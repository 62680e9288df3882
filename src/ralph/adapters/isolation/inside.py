"""The first program in a namespace: prepares what only the inside can prepare, then becomes the agent.

Run by path with ``python -I -S``: nothing of ralph, and few modules, because every process in a sandbox pays for
them (``signal`` and ``socket``, which make their constants enumerations, would double the time). It parses its
arguments itself::

    inside.py [--same=WHAT:PATH] [--copies=FILE] [--proxy=SOCKET] [--port=N] [--forward=N] [--memory=BYTES]
              [--pids=N] [--file-size=BYTES] -- COMMAND…

``--same`` is what must have been mounted at a path (witnesses.py). ``--proxy`` is the socket that leads outside,
``--port`` where programs find it, ``--forward`` a port of the outer machine that the user allowed.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _socket
import errno
import os
import resource
import select
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

_CHUNK = 65536
_LOOPBACK = "127.0.0.1"
_LIMITS = {
    "--memory": resource.RLIMIT_DATA,
    "--pids": resource.RLIMIT_NPROC,
    "--file-size": resource.RLIMIT_FSIZE,
}
_NOT_SET_UP, _CANNOT_EXECUTE, _NOT_FOUND = 1, 126, 127
_CARRIED = "RALPH_INSIDE_"  # as in domain/sandbox/own_environment.py
_MARKS = ("RALPH_RUN_ID", "RALPH_SPAWN_ID")  # by which ralph knows what it started


def main(arguments: list[str]) -> int:
    end = arguments.index("--")
    wanted: dict[str, list[str]] = {}
    for argument in arguments[:end]:
        name, _, value = argument.partition("=")
        wanted.setdefault(name, []).append(value)
    command = arguments[end + 1 :]
    mounted = mount_points() if "--same" in wanted else set()
    for witness in wanted.get("--same", ()):
        what, _, path = witness.partition(":")
        if path not in mounted or not is_same(what, path):
            sys.stderr.write(f"bwrap: {path} was replaced meanwhile\n")  # as all else that cannot be set up
            return _NOT_SET_UP
    end_first()
    for packed in wanted.get("--copies", ()):
        unpack(packed)
    for proxy in wanted.get("--proxy", ()):
        start_bridge(proxy, int(wanted["--port"][0]), [int(port) for port in wanted.get("--forward", ())])
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for name, which in _LIMITS.items():
        for value in wanted.get(name, ()):
            limit(which, int(value))
    # Ignored on the way in: only the agent gets them, not the sandbox around it.
    for number in (_signal.SIGINT, _signal.SIGTERM):
        _signal.signal(number, _signal.SIG_DFL)
    try:
        become(command, carried(os.environ))
    except OSError as error:
        sys.stderr.write(f"cannot run {command[0]} in the sandbox: {error.strerror}\n")
        return _NOT_FOUND if isinstance(error, FileNotFoundError) else _CANNOT_EXECUTE


def mount_points() -> set[str]:
    """Something that was mounted elsewhere by way of a link is not at its own path."""
    with open("/proc/self/mountinfo", "rb") as file:  # noqa: PTH123
        points = [line.split(b" ", 5)[4] for line in file]
    for code, char in ((b"\\040", b" "), (b"\\011", b"\t"), (b"\\012", b"\n"), (b"\\134", b"\\")):
        points = [point.replace(code, char) for point in points]
    return {os.fsdecode(point) for point in points}


def is_same(what: str, path: str) -> bool:
    """``what``: its device and number, or that it is new here, and so not of its parent's device."""
    try:
        found = os.lstat(path)
        if what == "new":
            return found.st_dev != os.lstat(os.path.dirname(path)).st_dev  # noqa: PTH120
    except OSError:
        return False
    return what == f"{found.st_dev}.{found.st_ino}"


def carried(environment: Mapping[str, str]) -> dict[str, str]:
    """The agent's own variables. Outside they had other names, so that no program there took them for its own."""
    own = {name[len(_CARRIED) :]: value for name, value in environment.items() if name.startswith(_CARRIED)}
    return own | {name: environment[name] for name in _MARKS if name in environment}


def become(command: list[str], environment: dict[str, str]) -> NoReturn:
    """Like ``os.execvpe``, but skips folders on PATH that may not be searched."""
    name = command[0]
    places = [name]
    if os.sep not in name:
        places = [os.path.join(folder, name) for folder in os.get_exec_path(environment)]  # noqa: PTH118
    refused: OSError = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    for place in places:
        if os.path.exists(place):  # noqa: PTH110
            try:
                os.execve(place, command, environment)  # noqa: S606 the command is what we are for
            except PermissionError as error:
                refused = error
    raise refused


def unpack(packed: str) -> None:
    """Each file is its mode, size and path, and what is in it."""
    with open(packed, "rb") as file:  # noqa: PTH123 pathlib takes as long as all the rest
        content = file.read()
    position = 0
    while position < len(content):
        end = content.index(b"\0", position)
        mode, size, path = content[position:end].split(b" ", 2)
        position = end + 1 + int(size)
        write(os.fsdecode(path), content[end + 1 : position], int(mode, 8))


def write(path: str, content: bytes, mode: int) -> None:
    if os.path.lexists(path):  # kept from an earlier session, perhaps as a link
        os.unlink(path)  # noqa: PTH108
    with open(path, "wb") as file:  # noqa: PTH123
        file.write(content)
        os.fchmod(file.fileno(), mode)


def end_first() -> None:
    """If memory runs out, what is in here ends before anything of the user's."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123
            file.write("1000")
    except OSError:
        pass  # a machine that forbids it decides by itself


def limit(which: int, value: int) -> None:
    _, hard = resource.getrlimit(which)
    lowest = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(which, (lowest, lowest))


def start_bridge(proxy: str, port: int, forward: list[int]) -> None:
    """Start a process that carries connections between this namespace and the proxy outside.

    It listens before the agent starts, is not a child of the agent, and dies with the namespace.
    """
    listeners = {listen(port): b""}
    for number in forward:
        request = f"CONNECT {_LOOPBACK}:{number} HTTP/1.1\r\n\r\n"
        listeners[listen(number)] = request.encode()
    if os.fork():
        os.wait()
        for listener in listeners:
            listener.close()
        return
    if os.fork():
        os._exit(0)
    os.setsid()
    for number in (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP):
        _signal.signal(number, _signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):  # the agent's output ends with the agent
        os.dup2(nothing, descriptor)
    Bridge(proxy, listeners).run()


def listen(port: int) -> _socket.socket:
    listener = _socket.socket()
    listener.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
    listener.bind((_LOOPBACK, port))
    listener.listen(128)
    return listener


class Flow:
    """One direction of one connection."""

    def __init__(self, source: _socket.socket, target: _socket.socket, pending: bytes = b"") -> None:
        self.source = source
        self.target = target
        self.pending = pending  # read but not written yet
        self.swallowing = False  # until the proxy's answer to our own CONNECT ends
        self.ended = False


class Bridge:
    def __init__(self, proxy: str, listeners: dict[_socket.socket, bytes]) -> None:
        self.proxy = proxy
        self.listeners = listeners
        self.flows: list[Flow] = []

    def run(self) -> None:
        while True:
            wanted = [(listener, select.POLLIN) for listener in self.listeners]
            wanted += [
                (flow.source, select.POLLIN) for flow in self.flows if not flow.pending and not flow.ended
            ]
            wanted += [(flow.target, select.POLLOUT) for flow in self.flows if flow.pending]
            events: dict[int, int] = {}
            for end, event in wanted:
                events[end.fileno()] = events.get(end.fileno(), 0) | event
            poll = select.poll()
            for descriptor, event in events.items():
                poll.register(descriptor, event)
            ready = {descriptor for descriptor, _ in poll.poll()}
            for listener, request in self.listeners.items():
                if listener.fileno() in ready:
                    self.accept(listener, request)
            for flow in [*self.flows]:
                if flow in self.flows and ready & {flow.source.fileno(), flow.target.fileno()}:
                    self.move(flow)

    def accept(self, listener: _socket.socket, request: bytes) -> None:
        inner = _socket.socket(fileno=listener._accept()[0])  # type: ignore[attr-defined]
        outer = _socket.socket(_socket.AF_UNIX)
        try:
            outer.connect(self.proxy)
        except OSError:
            inner.close()
            outer.close()
            return
        inner.setblocking(False)
        outer.setblocking(False)
        back = Flow(outer, inner)
        back.swallowing = bool(request)
        self.flows += [Flow(inner, outer, request), back]

    def move(self, flow: Flow) -> None:
        try:
            if not flow.pending and not flow.ended:
                flow.pending = flow.source.recv(_CHUNK)
                flow.ended = not flow.pending
                if flow.swallowing:
                    flow.pending = self.after_answer(flow)
            if flow.pending:
                flow.pending = flow.pending[flow.target.send(flow.pending) :]
            if flow.ended and not flow.pending:
                flow.target.shutdown(_socket.SHUT_WR)
                self.flows.remove(flow)
                if not any(other.source is flow.target for other in self.flows):
                    flow.source.close()
                    flow.target.close()
        except BlockingIOError:
            return
        except OSError:
            self.drop(flow)

    def after_answer(self, flow: Flow) -> bytes:
        """The proxy's answer is short and comes in one piece; what follows it is for the agent."""
        head, end, rest = flow.pending.partition(b"\r\n\r\n")
        flow.swallowing = not end
        if end and b" 200 " not in head.partition(b"\r\n")[0]:
            message = "the proxy refused"
            raise OSError(message)
        return rest

    def drop(self, flow: Flow) -> None:
        pair = {flow.source, flow.target}
        self.flows = [other for other in self.flows if other.source not in pair]
        for end in pair:
            end.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
