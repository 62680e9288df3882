"""Deliveries: what a decision over many checks costs, and what it costs to follow a hundred pull requests for an hour."""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from heapq import heappop, heappush
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median

from bench.row import Bar, Row

CHECKS = 500
PULLS = 100
HOUR = 3600.0
ROUNDS = 15


def measure(folder: Path) -> list[Row]:
    decision = 1000 * median(_decide() for _ in range(ROUNDS))
    return [
        Row(
            name=f"a decision over {CHECKS} checks",
            measured=decision,
            unit="ms",
            compared=decision,
            compared_unit="ms",
            bar=Bar(5.0),
        ),
        _followed("by HTTPS", _https),
        *_by_gh(folder),
    ]


def _decide() -> float:
    from ralph.domain.delivery.deliver import deliver
    from ralph.domain.delivery.facts import CheckRun, CheckState, Facts, PullRequest, PullState

    head = "a" * 40
    pull = PullRequest(1, "", "", PullState.OPEN, "feature", head, "main", is_mergeable=True)
    runs = tuple(CheckRun(f"check {number}", CheckState.PASSED, head, id=str(number)) for number in range(CHECKS))
    facts = Facts(pull=pull, ours=head, checks=runs, base_checks=tuple(replace(run, commit="b") for run in runs))
    before = time.process_time()
    deliver(facts)
    return time.process_time() - before
