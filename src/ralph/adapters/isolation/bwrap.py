"""bubblewrap: Linux namespaces without a daemon and without being root.

The root is read-only; home, ``/tmp`` and ``/run`` are empty and private; only the workspace and the agent's login
are writable. The only network is our proxy. Safe for root too: there are no capabilities, and the parts of ``/proc``
that a plain profile leaves to root are read-only (``/proc/sys/kernel/core_pattern`` is a way out).
"""

from __future__ import annotations

import contextlib
import itertools
import os
import py_compile
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ralph.adapters.files import read_whole, real_path, write_private
from ralph.adapters.isolation.agent_state import make_session_folders, pack, survey_state
from ralph.adapters.isolation.git_places import make_common_dir, remove_common_dir
from ralph.adapters.isolation.limits import limiter_for, per_process, usual_limits
from ralph.adapters.isolation.machine import GIT_SETTINGS
from ralph.adapters.isolation.namespaces import NAMESPACES, try_namespaces
from ralph.adapters.isolation.place import How, Place
from ralph.adapters.isolation.places import links_into_hidden, places
from ralph.adapters.isolation.proxy import AllowListProxy
from ralph.adapters.isolation.record import record_links
from ralph.adapters.isolation.sandbox import MARKS, Site, carry
from ralph.adapters.isolation.seccomp import filter_here
from ralph.adapters.isolation.witnesses import witnesses
from ralph.domain.loop.session_report import Ending
from ralph.domain.sandbox.allow_list import HostRule, host_rules
from ralph.domain.sandbox.examination import Expected
from ralph.domain.sandbox.git_secrets import without_secrets
from ralph.domain.sandbox.kind import Network, SandboxKind
from ralph.domain.sandbox.policy import Guarantees, SandboxPolicy
from ralph.engine.ports import Command, Exit, ProcessRunner
from ralph.values import replace

PROXY_PORT = 3128
_LARGEST_SETTINGS = 1_000_000
_FIRST_FREE_PORT = 1024  # listening below needs a capability
_OURS = "/run/ralph"
_EMPTY = "empty"  # a device would be refused, and some tools take that for an error
_INSIDE = Path(__file__).with_name("inside.py")
_PROC_READONLY = ("acpi", "asound", "bus", "driver", "fs", "irq", "mtrr", "scsi", "sys", "sysrq-trigger")
_PROC_MASKED = ("kcore", "keys", "key-users", "kallsyms", "latency_stats", "sched_debug", "timer_list")
# The shell ignores both signals for all that follows; inside.py restores them for the agent. Otherwise the first
# one would kill the sandbox, and the agent with it, before the agent could end in order.
_UNINTERRUPTED = ("/bin/sh", "-c", 'trap "" INT TERM; exec "$@"', "ralph")
_FILTERED = ("/bin/sh", "-c", 'trap "" INT TERM; filter=$1; shift; exec "$@" 9<"$filter"', "ralph")


async def trouble(site: Site, runner: ProcessRunner) -> str:
    """Why it cannot be used here; empty if it can."""
    program = site.own.find("bwrap")
    if sys.platform != "linux":
        return "bubblewrap is for Linux"
    if program is None:
        return "bwrap is not installed (package bubblewrap)"
    return (await try_namespaces(program, runner))[1]


class BwrapSandbox:
    """Places are looked up for every process: a run may have created some meanwhile."""

    kind = SandboxKind.BWRAP

    def __init__(self, site: Site, policy: SandboxPolicy) -> None:
        self._site = site
        self._policy = policy
        self._needs = site.needs
        self._program = site.own.find("bwrap") or "bwrap"
        self._can_disable_userns = False
        self._usual = usual_limits(site.workspace)
        self._limiter = per_process(policy.limits, self._usual, is_root=os.geteuid() == 0)
        self._rules = _allowed(policy, host_rules(self._needs.hosts, self._let_in()))
        self._proxy: AllowListProxy | None = None
        self._folder = Path()  # what processes inside need from us, while it is open
        self._stand_ins: dict[Path, Path] = {}  # shown instead of a file
        self._copies = b"", Path()  # the newest, and where they are
        self._numbers = itertools.count()
        self._barred: set[Path] = set()
        found = places(site, policy, self._needs)  # finds problems in the settings before anything starts
        self._filter = filter_here(place.path for place in found if place.how is How.WRITABLE)

    @property
    def guarantees(self) -> Guarantees:
        return Guarantees(
            self.kind,
            writes=self._policy.writes_promise("only the workspace, its own /tmp, the agent's login"),
            secrets=self._policy.secrets_promise(
                "home hidden but for tools and the agent's own state; environment cleared to a list"
            ),
            network=network_promise(self._policy, self._rules),
            tree="ended with the run, even if ralph is killed",
            limits=self._limiter.promise,
            kernel=self._filter.promise if self._filter is not None else "",
        )

    @property
    def expected(self) -> Expected:
        hidden = {
            place.path for place in places(self._site, self._policy, self._needs) if place.how is How.HIDDEN
        }
        environ = self._site.own.environment
        variables = {*self._let_in(environ), *self._added(), *MARKS}
        inside = self._limiter.inside
        limits = (("data size", inside.memory), ("processes", inside.pids), ("file size", inside.file_size))
        return Expected(
            workspace=str(self._site.workspace),
            environ=environ,
            hidden=tuple(str(path) for path in (real_path(self._site.home), Path("/tmp")) if path in hidden),  # noqa: S108
            readonly=("/", "/etc", "/usr"),
            namespaces=frozenset({"user", "pid", "ipc", "uts", "net", "mnt"}),
            variables=frozenset(variables),
            limits={name: most for name, most in limits if most is not None},
            is_writable=os.access(self._site.workspace, os.W_OK),
            is_filtered=self._filter is not None,
        )

    async def open(self, runner: ProcessRunner) -> None:
        self._can_disable_userns, _ = await try_namespaces(self._program, runner)
        self._limiter = await limiter_for(self._policy.limits, self._usual, runner, self._site.own)
        self._folder = Path(tempfile.mkdtemp(prefix="ralph-"))  # short: a socket's path has 107 characters
        py_compile.compile(str(_INSIDE), cfile=str(self._folder / "inside.pyc"), doraise=True)
        if self._filter is not None:
            (self._folder / "filter").write_bytes(self._filter.program)
        (self._folder / _EMPTY).touch()
        self._stand_ins = dict(_git_settings(self._site.home, self._folder))
        if self._rules:
            socket = self._folder / "proxy.sock"
            log = self._site.network_log
            self._proxy = AllowListProxy(socket, self._rules, denied=self._site.report, log=log)
            await self._proxy.start()

    def wrap(self, command: Command, environ: Mapping[str, str] | None = None) -> Command:
        make_session_folders(self._site, self._needs)
        make_common_dir(self._site.workspace)
        dropped = [argument for name in sorted(self._site.outer_variables()) for argument in ("-u", name)]
        cwd = real_path(command.cwd)
        found = places(self._site, self._policy, self._needs)
        same = [f"--same={witness}" for witness in witnesses(self._as_shown(found), self._folder / _EMPTY)]
        arguments = (
            self._program,
            *NAMESPACES,
            *(("--disable-userns",) if self._can_disable_userns else ()),
            *(("--seccomp", "9") if self._filter is not None else ()),
            *self._mounts(command, found),
            *("--chdir", str(cwd)),
            "--",
            *self._first_program(),
            *same,
            "--",
        )
        env = self._site.own.find("env") or "/usr/bin/env"
        shell = (*_FILTERED, str(self._folder / "filter")) if self._filter is not None else _UNINTERRUPTED
        argv = self._limiter.wrap((*shell, env, *dropped, *arguments, *command.argv))
        inside = {**self._let_in(environ), **command.environment, **self._added(), "PWD": str(cwd)}
        return replace(command, argv=argv, environment=carry(inside))

    def failure(self, exit_: Exit, stderr: str) -> str:
        if exit_.ending is Ending.EXITED and exit_.code == 1 and stderr.startswith("bwrap: "):
            return f"cannot set up the sandbox: {stderr.splitlines()[0].removeprefix('bwrap: ')}"
        return ""

    async def settle(self, runner: ProcessRunner, exit_: Exit) -> None:
        """The namespace leaves nothing but the empty folders that it was mounted on."""
        while self._barred:
            with contextlib.suppress(OSError):
                self._barred.pop().rmdir()

    async def close(self, runner: ProcessRunner) -> None:
        if self._proxy is not None:
            await self._proxy.stop()
            self._proxy = None
        if self._folder != Path():
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = Path()
        remove_common_dir(self._site.workspace)
        self._limiter.close()

    def _let_in(self, environ: Mapping[str, str] | None = None) -> dict[str, str]:
        return self._site.let_in(environ, (*self._needs.env, *self._policy.env))

    def _added(self) -> dict[str, str]:
        added = {"IS_SANDBOX": "1", "RALPH_SANDBOX": self.kind.value, "TMPDIR": "/tmp"}  # noqa: S108 its own
        if self._rules:
            address, local = f"http://127.0.0.1:{PROXY_PORT}", "localhost,127.0.0.1,::1"
            for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
                added |= {name: address, name.lower(): address}
            added |= {"NO_PROXY": local, "no_proxy": local, "NODE_USE_ENV_PROXY": "1"}
        return added

    def _as_shown(self, found: Iterable[Place]) -> Iterator[Place]:
        return (replace(place, source=self._stand_ins.get(place.real, place.source)) for place in found)

    def _mounts(self, command: Command, found: tuple[Place, ...]) -> Iterator[str]:
        site = self._site
        yield from ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
        yield from (*self._room_in(Path("/dev/shm")), "--tmpfs", "/dev/shm", "--remount-ro", "/dev")  # noqa: S108
        for name in _PROC_READONLY:
            yield from ("--ro-bind-try", f"/proc/{name}", f"/proc/{name}")
        for name in _PROC_MASKED:
            if Path("/proc", name).is_file():
                yield from ("--ro-bind", "/dev/null", f"/proc/{name}")
        self._barred |= {place.path for place in found if place.how is How.BARRED}
        for place in self._as_shown(found):
            mount = _mount(place, self._folder / _EMPTY)
            yield from (*self._room_in(place.path), *mount) if mount[0] == "--tmpfs" else mount
        hidden = [place.path for place in found if place.how is How.HIDDEN]
        known = (command.cwd, site.workspace, site.state_folder)
        for link, target in links_into_hidden(known, hidden):
            yield from ("--symlink", str(target), str(link))
        closed = [place for place in found if place.how >= How.CLOSED]
        for place in closed:
            if place.how is How.CLOSED:
                for leads_to, link in record_links(place.path):
                    yield from ("--symlink", leads_to, str(link))
        for place in closed:
            yield from ("--remount-ro", str(place.path))
        yield from ("--dir", _OURS)
        yield from ("--ro-bind", str(self._folder / "inside.pyc"), f"{_OURS}/inside.pyc")
        if self._proxy is not None:
            yield from ("--ro-bind", str(self._proxy.socket_path), f"{_OURS}/proxy.sock")
        yield from ("--ro-bind", str(self._packed()), f"{_OURS}/copies")

    def _packed(self) -> Path:
        """The file in which this process finds its copies. Others may be reading theirs."""
        content = pack(survey_state(self._site, self._needs).copies)
        if self._copies[0] != content or not self._copies[1].is_file():
            self._copies = content, self._folder / f"copies-{next(self._numbers)}"
            write_private(self._copies[1], content)
        return self._copies[1]

    def _room_in(self, folder: Path) -> tuple[str, ...]:
        # Both options came with the same version of bubblewrap, but for one.
        return self._limiter.room_in(folder, real_path(self._site.home)) if self._can_disable_userns else ()

    def _first_program(self) -> Iterator[str]:
        yield from (os.path.realpath(sys.executable), "-I", "-S", f"{_OURS}/inside.pyc")
        yield f"--copies={_OURS}/copies"
        if self._proxy is not None:
            yield from (f"--proxy={_OURS}/proxy.sock", f"--port={PROXY_PORT}")
            yield from (f"--forward={port}" for port in _local_ports(self._rules))
        inside = self._limiter.inside
        limits = (("--memory", inside.memory), ("--pids", inside.pids), ("--file-size", inside.file_size))
        yield from (f"{name}={limit}" for name, limit in limits if limit is not None)


def _git_settings(home: Path, folder: Path) -> Iterator[tuple[Path, Path]]:
    """Copies in ``folder`` of those that hold passwords or tokens, without them."""
    for number, name in enumerate(GIT_SETTINGS):
        path, copy = real_path(home / name), folder / f"git{number}"
        text = os.fsdecode(read_whole(path, _LARGEST_SETTINGS) or b"")
        shown = without_secrets(text)
        if shown != text:
            copy.write_bytes(os.fsencode(shown))
            yield path, copy


def network_promise(policy: SandboxPolicy, rules: tuple[HostRule, ...]) -> str:
    if not rules:
        return "off" if policy.network is Network.OFF else "off: nothing is on the allow-list"
    if widest := [rule for rule in rules if rule.is_wildcard and not rule.host]:
        return f"every public host ({', '.join(sorted(map(str, widest)))})"
    names = sorted(map(str, rules))
    shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
    return f"only {shown}"


def _allowed(policy: SandboxPolicy, own: tuple[HostRule, ...]) -> tuple[HostRule, ...]:
    return () if policy.network is Network.OFF else tuple(dict.fromkeys((*own, *policy.allow)))


def _local_ports(rules: tuple[HostRule, ...]) -> list[int]:
    """Services on this machine that the user listed with their port: found at the same address inside."""
    local = {rule.port for rule in rules if rule.host in ("127.0.0.1", "localhost")} - {PROXY_PORT}
    return sorted(port for port in local if port is not None and port >= _FIRST_FREE_PORT)


def _mount(place: Place, empty: Path) -> tuple[str, ...]:
    path, real = str(place.path), str(place.real)
    match place.how:
        case How.WRITABLE:
            return ("--bind", real, path)
        case How.HIDDEN | How.CLOSED | How.BARRED:
            return ("--tmpfs", path)
        case How.MASKED:
            return ("--tmpfs", path) if place.path.is_dir() else ("--ro-bind", str(empty), path)
        case _:
            return ("--ro-bind", real, path)
