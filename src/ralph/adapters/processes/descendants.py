"""Finds and ends everything that came from one spawn, even what left its group.

Whatever a spawn with a keeper leaves behind is a descendant of its keeper. Otherwise, and if the keeper was killed, a
descendant is known by its session or group, by its ancestors, by having been seen before, or by ``RALPH_SPAWN_ID`` in its
environment. An orphan with none of these (it cleared its environment) can only be attributed while no other spawn without
a living keeper is there.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterable, Mapping

from ralph.adapters.processes import adoption
from ralph.adapters.processes.adoption import Spawn
from ralph.adapters.processes.process_table import (
    LINUX,
    Process,
    all_pids,
    describe,
    is_being_replaced,
    newest_pid,
    own_children,
    read_table,
    variable,
)

SPAWN_VARIABLE = "RALPH_SPAWN_ID"
RUN_VARIABLE = "RALPH_RUN_ID"

Exempt = Callable[[int], bool]

_SETTLING = 0.05
_TERMINATE_GRACE = 0.5
_KILL_GRACE = 3.0
_POLL = 0.01
_NO_WRAP_SECONDS = 1.0


def signal_tree(spawn: Spawn, number: signal.Signals, exempt: Exempt) -> None:
    """Signal the root's group and every descendant outside of it. If we are to reap the root, not before this."""
    table = read_table()
    members = _family(spawn, table)
    spared = _spared(members, exempt)
    outside = [process for process in members.values() if process.group != spawn.pid]
    if spawn.pid not in members or any(process.group == spawn.pid for process in spared.values()):
        outside = list(members.values())
    else:
        # One call for the group: it cannot fork its way out in between.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(spawn.pid, number)
    _send(number, (process for process in outside if process.pid not in spared))


async def end_left_behind(spawn: Spawn, exempt: Exempt) -> tuple[str, ...]:
    """After the root was reaped: end what is left, and return what it was."""
    if spawn.is_alone:
        return ()
    members = _left_behind(spawn, exempt)
    # What is already dying (the end of a pipeline, a process killed with the root) was not left behind.
    settled = time.monotonic() + _SETTLING
    while members and time.monotonic() < settled:
        await asyncio.sleep(_POLL)
        adoption.reap_orphans()
        members = _living(spawn, exempt)
    if not members:
        return ()
    names: dict[tuple[int, float], str] = {}
    for number, grace in ((signal.SIGTERM, _TERMINATE_GRACE), (signal.SIGKILL, _KILL_GRACE)):
        give_up = time.monotonic() + grace
        signalled: set[tuple[int, float]] = set()
        while members and time.monotonic() < give_up:
            for process in members:
                names.setdefault(process.identity, describe(process.pid))
            # New ones each time: a hostile tree forks while it dies.
            _send(number, (process for process in members if process.identity not in signalled))
            signalled |= {process.identity for process in members}
            await asyncio.sleep(_POLL)
            adoption.reap_orphans()
            members = _living(spawn, exempt)
        if not members:
            break
    adoption.reap_orphans()  # those that died after the last look
    stubborn = {process.identity for process in members}
    return tuple(name + " could not be ended" * (identity in stubborn) for identity, name in names.items())


def kill_now(spawn: Spawn, exempt: Exempt, *, within: float = 1.0) -> None:
    """The last resort, without the event loop: kill all that is left and check that it has ended."""
    give_up = time.monotonic() + within
    while (members := _living(spawn, exempt)) and time.monotonic() < give_up:
        _send(signal.SIGKILL, members)
        time.sleep(_POLL)
        adoption.reap_orphans()


def _left_behind(spawn: Spawn, exempt: Exempt) -> list[Process]:
    """Usually nothing, and then this is cheap."""
    if spawn.keeper or not adoption.adopt_orphans():
        return _living(spawn, exempt)
    # Whatever outlived the root has become our child, or the descendant of one.
    if not adoption.has_children():
        return []
    candidates = [process for process in _children_since(spawn).values() if adoption.is_adopted(process)]
    if not candidates:
        return []
    if all(process.is_zombie for process in candidates):
        adoption.reap_orphans()
    return _living(spawn, exempt)


def _children_since(spawn: Spawn) -> dict[int, Process]:
    children = own_children()
    if children is not None:
        return read_table(pid for pid in children if not adoption.is_known(pid))
    # Without the kernel's list of children the whole table must be read, unless pids tell what is younger: they only
    # go up, and do not wrap around within a moment.
    pids: list[int] | None = None
    if time.monotonic() - spawn.born < _NO_WRAP_SECONDS:
        newest = newest_pid()
        if newest == spawn.pid:
            return {}
        if newest > spawn.pid:
            pids = [pid for pid in all_pids() if pid > spawn.pid]
    own = os.getpid()
    return {pid: process for pid, process in read_table(pids).items() if process.parent == own}


def _living(spawn: Spawn, exempt: Exempt) -> list[Process]:
    members = _family(spawn, read_table())
    spared = _spared(members, exempt)
    return [process for process in members.values() if process.pid not in spared and not process.is_zombie]


def _family(spawn: Spawn, table: Mapping[int, Process]) -> dict[int, Process]:
    """The spawn's root and all its descendants in ``table``; remembers them."""
    others = adoption.other_spawns(spawn)
    heads = [
        process
        for process in table.values()
        if spawn.pid in (process.pid, process.session, process.group)
        or process.identity in spawn.seen
        or (spawn.keeper and process.parent == spawn.keeper)
        or _is_orphan_of(spawn, process, others, table)
    ]
    family = _with_descendants(heads, table)
    for other in others:
        family.pop(other.pid, None)
    family.pop(os.getpid(), None)
    spawn.seen |= {process.identity for process in family.values()}
    return family


def _is_orphan_of(
    spawn: Spawn, process: Process, others: Iterable[Spawn], table: Mapping[int, Process]
) -> bool:
    if process.is_zombie:
        return False
    if not adoption.adopt_orphans():
        # Only the mark tells. On Linux the parent may be any subreaper, elsewhere it is init.
        return (LINUX or process.parent == 1) and variable(process.pid, SPAWN_VARIABLE) == spawn.id
    if not adoption.is_adopted(process):
        return False
    has_others = any(not _is_kept(other, table) for other in others)
    mark = variable(process.pid, SPAWN_VARIABLE)
    if mark is None and has_others:
        mark = _mark_after_exec(process.pid)
    if mark == spawn.id:
        return True
    # Without a mark, or with that of no live spawn: of someone whose keeper would not have it.
    return not has_others and not _is_kept(spawn, table) and adoption.may_be_from_a_spawn(process)


def _is_kept(spawn: Spawn, table: Mapping[int, Process]) -> bool:
    keeper = table.get(spawn.keeper)
    return keeper is not None and not keeper.is_zombie


def _mark_after_exec(pid: int) -> str | None:
    for _ in range(5):
        if not is_being_replaced(pid):
            break
        time.sleep(0.001)
    return variable(pid, SPAWN_VARIABLE)


def _spared(members: Mapping[int, Process], exempt: Exempt) -> dict[int, Process]:
    return _with_descendants([process for process in members.values() if exempt(process.pid)], members)


def _with_descendants(heads: Iterable[Process], table: Mapping[int, Process]) -> dict[int, Process]:
    children: dict[int, list[Process]] = {}
    for process in table.values():
        children.setdefault(process.parent, []).append(process)
    found: dict[int, Process] = {}
    waiting = list(heads)
    while waiting:
        process = waiting.pop()
        if process.pid not in found:
            found[process.pid] = process
            waiting += children.get(process.pid, ())
    return found


def _send(number: signal.Signals, processes: Iterable[Process]) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process.pid, number)
