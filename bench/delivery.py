"""Deliveries: what a decision over many checks costs, and what it costs to follow many pull requests."""

from __future__ import annotations

import asyncio
import itertools
import os
import resource
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from heapq import heapify, heapreplace
from pathlib import Path
from statistics import median

from bench.delivery_parts import NAME, OWNER, PlainMemory, StillBranch, head_of
from bench.row import Bar, Row
from bench.served import serve
from ralph.adapters.forges.github import GitHub
from ralph.adapters.online.caching import Caching
from ralph.adapters.online.gh import GhTransport
from ralph.adapters.online.https import HttpsTransport
from ralph.adapters.online.transport import Transport
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.domain.delivery.deliver import deliver
from ralph.domain.delivery.facts import CheckRun, CheckState, Facts, PullRequest, PullState
from ralph.domain.delivery.memory import Delivered
from ralph.domain.delivery.progress import Waiting
from ralph.engine.delivery.delivery import Delivery
from ralph.engine.delivery.order import Order
from ralph.engine.delivery.ports import Proven

CHECKS = 500
ROUNDS = 15
PULLS = 100
SIMULATED = 1800.0
"""Seconds for which the pull requests are followed, by a clock that does not wait."""


def measure(folder: Path) -> list[Row]:
    decision = 1000 * median(_decide() for _ in range(ROUNDS))
    rows = [_row(f"a decision over {CHECKS} checks", decision, "ms", Bar(5.0))]
    rows.append(_row(f"{PULLS} pull requests by HTTPS", 100 * _follow(PULLS, _https), "% CPU", Bar(1.0)))
    if (
        gh := shutil.which("gh", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    ) is not None:
        share = _follow(PULLS, lambda address: _by_gh(gh, address, folder))
        rows.append(_row(f"{PULLS} pull requests by gh", 100 * share, "% CPU", Bar(1.0)))
    return rows


def _row(name: str, measured: float, unit: str, bar: Bar) -> Row:
    return Row(name=name, measured=measured, unit=unit, compared=measured, compared_unit=unit, bar=bar)


def _decide() -> float:
    head = head_of(1)
    pull = PullRequest(1, "", "", PullState.OPEN, "feature", head, "main", is_mergeable=True)
    runs = tuple(
        CheckRun(f"check {number}", CheckState.PASSED, head, str(number)) for number in range(CHECKS)
    )
    on_base = tuple(replace(run, commit=head_of(0)) for run in runs)
    before = time.process_time()
    deliver(Facts(pull=pull, ours=head, checks=runs, base_checks=on_base))
    return time.process_time() - before


@dataclass(slots=True)
class Clock:
    """Moves when the next look is due."""

    at: float = 0.0

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        raise NotImplementedError


def _https(address: str) -> Transport:
    return HttpsTransport(address, "token")


def _by_gh(gh: str, address: str, folder: Path) -> Transport:
    environment = {**os.environ, "GH_TOKEN": "token", "HTTP_PROXY": address, "http_proxy": address}
    environment["GH_CONFIG_DIR"] = str(folder / "gh")
    runner = PosixProcessRunner(run_id="bench", base_environment=environment)
    return GhTransport(runner, host="github.localhost", cwd=folder, program=gh)


def _follow(pulls: int, transport: Callable[[str], Transport]) -> float:
    """The share of one processor that following them takes, once each has been looked at."""
    with serve("bench.delivery_parts", pulls) as address:
        return asyncio.run(_simulate(pulls, transport(address)))


async def _simulate(pulls: int, transport: Transport) -> float:
    clock = Clock()
    forge = GitHub(Caching(transport, now=clock.now), OWNER, NAME, now=clock.now)
    deliveries = [_delivery(number, forge, clock, pulls) for number in range(1, pulls + 1)]
    order = itertools.count()
    due = [(await _next(one), next(order), one) for one in deliveries]
    heapify(due)
    before = _cpu()
    while due[0][0] < SIMULATED:
        at, _, one = due[0]
        clock.at = max(clock.at, at)
        heapreplace(due, (clock.at + await _next(one), next(order), one))
    return (_cpu() - before) / SIMULATED


async def _next(delivery: Delivery) -> float:
    found = await delivery.advance()
    assert isinstance(found, Waiting), found
    return found.seconds


def _delivery(number: int, forge: GitHub, clock: Clock, pulls: int) -> Delivery:
    head = head_of(number)
    known = Delivered(
        number=number, url=f"http://forge/{number}", proven=head, pushed=head, is_announced=True
    )
    return Delivery(
        forge=forge,
        branch=StillBranch(number),
        memory=PlainMemory(known),
        order=Order(base="main"),
        prove=_never,
        publish=lambda event: None,
        clock=clock,
        others=lambda: pulls,
    )


async def _never(commit: str) -> Proven:
    raise NotImplementedError


def _cpu() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
