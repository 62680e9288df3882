"""Who holds a workspace, in a real database, with real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from sqlite3 import Connection

import pytest

from ralph.adapters.processes.process_table import started_of, this_process
from ralph.adapters.storage.claims import Claims, ModeRegistry
from ralph.adapters.storage.database import open_database
from ralph.domain.holder import Mode, Owner
from ralph.errors import StoreError, WorkspaceBusy

EXECUTING, PLANNING, VERIFYING = Mode.EXECUTING, Mode.PLANNING, Mode.VERIFYING

RACER = textwrap.dedent(
    """
    import sys, time
    from contextlib import closing
    from pathlib import Path
    from ralph.adapters.processes.process_table import started_of, this_process
    from ralph.adapters.storage.claims import Claims
    from ralph.adapters.storage.database import open_database
    from ralph.domain.holder import Mode
    from ralph.errors import WorkspaceBusy

    with closing(open_database(Path(sys.argv[1]))) as database:
        claims = Claims(database, me=this_process(), started_of=started_of)
        print("ready", flush=True)
        for line in sys.stdin:
            order, workspace, at = line.split()
            if order == "release":
                print("released" if claims.release(workspace) else "not mine", flush=True)
                continue
            while time.monotonic() < float(at):
                pass
            try:
                claims.take(workspace, Mode(order), now=1.0)
                print("won", flush=True)
            except WorkspaceBusy as error:
                print("lost", error.message, flush=True)
    """
)


class Racer:
    """A process that takes and releases when told to."""

    def __init__(self, database: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", RACER, str(database)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.hear() == "ready"

    def tell(self, order: str, workspace: str, at: float = 0.0) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{order} {workspace} {at}\n")
        self.process.stdin.flush()

    def hear(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def take(self, workspace: str) -> str:
        self.tell(EXECUTING, workspace)
        return self.hear()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ralph.db"


@pytest.fixture
def database(path: Path) -> Iterator[Connection]:
    with closing(open_database(path)) as connection:
        yield connection


@pytest.fixture
def claims(database: Connection) -> Claims:
    return Claims(database, me=this_process(), started_of=started_of)


@pytest.fixture
def racers(path: Path, database: Connection) -> Iterator[tuple[Racer, Racer]]:
    pair = Racer(path), Racer(path)
    yield pair
    for racer in pair:
        racer.kill()


def gone() -> Owner:
    """A process of this machine that has ended."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        started = started_of(process.pid)
        process.communicate(b"\n")
    assert started is not None
    assert started_of(process.pid) is None
    return replace(this_process(), pid=process.pid, process_started=started)


def race(pair: tuple[Racer, Racer], workspace: str, modes: tuple[Mode, Mode]) -> list[str]:
    """Both try in the same instant; their answers."""
    at = time.monotonic() + 0.002
    for racer, mode in zip(pair, modes, strict=True):
        racer.tell(mode, workspace, at)
    return [racer.hear() for racer in pair]


def test_of_two_processes_that_try_at_once_exactly_one_wins(racers: tuple[Racer, Racer]) -> None:
    winners = [0, 0]
    for number in range(150):
        workspace = f"/w{number % 3}"
        answers = race(racers, workspace, (EXECUTING, (PLANNING, VERIFYING, EXECUTING)[number % 3]))
        won = [answer == "won" for answer in answers]
        assert sum(won) == 1, answers
        winner, loser = won.index(True), won.index(False)
        winners[winner] += 1
        assert f"pid {racers[winner].process.pid} " in answers[loser]
        racers[loser].tell("release", workspace)
        assert racers[loser].hear() == "not mine"
        racers[winner].tell("release", workspace)
        assert racers[winner].hear() == "released"
    assert sum(winners) == 150


def test_of_two_processes_that_find_a_stale_claim_exactly_one_takes_it_over(
    racers: tuple[Racer, Racer], database: Connection
) -> None:
    dead = Claims(database, me=gone(), started_of=started_of)
    for number in range(100):
        workspace = f"/w{number}"
        dead.take(workspace, EXECUTING, run_id="dead", now=1.0)
        answers = race(racers, workspace, (EXECUTING, EXECUTING))
        assert [answer == "won" for answer in answers].count(True) == 1, answers


def test_modes_exclude_each_other_and_themselves(claims: Claims, racers: tuple[Racer, Racer]) -> None:
    for held in Mode:
        assert claims.take("/w", held, now=1.0)
        for mode in Mode:
            racers[0].tell(mode, "/w")
            assert racers[0].hear().startswith(f"lost /w is in use by a {held} mode")
            with pytest.raises(WorkspaceBusy):
                claims.take("/w", mode, now=1.0)
        assert claims.release("/w")


def test_the_holder_is_named_with_what_to_do(claims: Claims, database: Connection) -> None:
    claims.take("/w", EXECUTING, run_id="r7", now=1_700_000_000.0)
    with pytest.raises(WorkspaceBusy) as caught:
        claims.take("/w", PLANNING, now=2.0)
    me = this_process()
    assert caught.value.message == (
        f"/w is in use by run r7, executing, pid {me.pid} on {me.host}, since 2023-11-14 22:13:20 UTC"
    )
    assert "`ralph stop r7`" in caught.value.hint


def test_two_workspaces_are_held_side_by_side(claims: Claims) -> None:
    claims.take("/b", EXECUTING, now=2.0)
    claims.take("/a", PLANNING, now=3.0, run_id="r1")
    assert [(claim.workspace, claim.mode, claim.run_id) for claim in claims.all()] == [
        ("/b", EXECUTING, ""),
        ("/a", PLANNING, "r1"),
    ]


def test_only_the_owner_releases(claims: Claims, racers: tuple[Racer, Racer]) -> None:
    assert racers[0].take("/w") == "won"
    assert not claims.release("/w")
    racers[1].tell("release", "/w")
    assert racers[1].hear() == "not mine"
    holder = claims.holder("/w")
    assert holder is not None
    assert holder.owner.pid == racers[0].process.pid
    assert not claims.is_mine(holder)
    assert not claims.release("/other")


def test_a_claim_whose_process_was_killed_is_taken_over(claims: Claims, racers: tuple[Racer, Racer]) -> None:
    assert racers[0].take("/w") == "won"
    with pytest.raises(WorkspaceBusy):
        claims.take("/w", EXECUTING, now=1.0)
    racers[0].kill()
    assert claims.holder("/w") is None
    assert claims.all() == []
    assert claims.take("/w", PLANNING, now=1.0)
    assert racers[1].take("/w").startswith("lost")


def test_a_zombie_holds_nothing(claims: Claims, racers: tuple[Racer, Racer]) -> None:
    process = racers[0].process
    assert racers[0].take("/w") == "won"
    os.kill(process.pid, signal.SIGKILL)
    # WNOWAIT: it has ended, and stays a zombie.
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert started_of(process.pid) is None
    assert claims.holder("/w") is None
    process.wait()


@pytest.mark.parametrize(
    ("change", "is_held"),
    [
        ({}, True),
        ({"process_started": "1"}, False),  # the pid was given to another process
        ({"boot_id": "before the reboot"}, False),
        ({"host": "elsewhere"}, True),  # cannot be looked at
        ({"host": "elsewhere", "boot_id": "another", "process_started": "1"}, True),
    ],
    ids=["this process", "pid reused", "rebooted", "other host", "other host, other boot"],
)
def test_a_claim_counts_as_long_as_its_very_process_may_be_there(
    claims: Claims, database: Connection, change: dict[str, str], is_held: bool
) -> None:
    owner = replace(this_process(), **change)  # type: ignore[arg-type]  # all of them are texts
    Claims(database, me=owner, started_of=started_of).take("/w", EXECUTING, now=1.0)
    assert (claims.holder("/w") is not None) is is_held
    if is_held:
        with pytest.raises(WorkspaceBusy, match=f"on {owner.host}"):
            claims.take("/w", EXECUTING, now=1.0)
    else:
        assert claims.take("/w", EXECUTING, now=1.0)


def test_a_claim_of_a_lost_machine_can_be_removed_by_hand(
    claims: Claims, database: Connection, path: Path
) -> None:
    lost = replace(this_process(), host="lost")
    Claims(database, me=lost, started_of=started_of).take("/w", EXECUTING, now=1.0)
    claims.take("/mine", EXECUTING, now=1.0)
    with pytest.raises(WorkspaceBusy) as caught:
        claims.take("/w", EXECUTING, now=1.0)
    hint = caught.value.hint
    assert f"sqlite3 {path} " in hint
    database.execute(hint[hint.index("DELETE") :].rstrip('"'))
    assert [claim.workspace for claim in claims.all()] == ["/mine"]


def add_run(database: Connection, run_id: str, parent_id: str) -> None:
    database.execute(
        """INSERT INTO runs (id, profile, agent, root, options, state, started_at, updated_at, parent_id)
        VALUES (?, '', '', '', '{}', '{}', 0, 0, ?)""",
        (run_id, parent_id),
    )


def test_what_a_run_starts_goes_on_under_its_claim(
    claims: Claims, database: Connection, racers: tuple[Racer, Racer]
) -> None:
    holder = replace(this_process(), host="elsewhere")
    Claims(database, me=holder, started_of=started_of).take("/w", EXECUTING, run_id="top", now=1.0)
    add_run(database, "top", "")
    add_run(database, "child", "top")
    add_run(database, "other", "")
    add_run(database, "circle", "circle")

    for inherited in ("top", "child"):
        assert not claims.take("/w", EXECUTING, run_id="new", now=2.0, inherited=inherited)
        with claims.holding("/w", VERIFYING, now=2.0, inherited=inherited) as is_owner:
            assert not is_owner
    for stranger in ("", "other", "circle", "unknown"):
        with pytest.raises(WorkspaceBusy):
            claims.take("/w", EXECUTING, now=2.0, inherited=stranger)
    assert not claims.release("/w")
    held = claims.holder("/w")
    assert held is not None
    assert held.run_id == "top"


def test_a_mode_without_a_run_covers_nobody(claims: Claims) -> None:
    claims.take("/w", EXECUTING, now=1.0)
    with pytest.raises(WorkspaceBusy):
        claims.take("/w", EXECUTING, now=1.0, inherited="")


def test_holding_releases_whatever_happens(claims: Claims) -> None:
    def work() -> None:
        with claims.holding("/w", EXECUTING, run_id="r", now=1.0) as is_owner:
            assert is_owner
            assert claims.holder("/w") is not None
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    assert claims.holder("/w") is None


def test_being_turned_away_releases_nothing(claims: Claims) -> None:
    claims.take("/w", EXECUTING, now=1.0)
    with pytest.raises(WorkspaceBusy), claims.holding("/w", EXECUTING, now=1.0):
        pass
    assert claims.holder("/w") is not None


def test_a_database_in_trouble_is_said_in_the_users_words(
    path: Path, claims: Claims, database: Connection
) -> None:
    database.execute("DROP TABLE claims")
    with pytest.raises(StoreError, match=str(path)):
        claims.take("/w", EXECUTING, now=1.0)
    assert not database.in_transaction


def test_the_registry_names_the_mode_in_the_way(claims: Claims, database: Connection) -> None:
    mine = ModeRegistry(claims, "/w", now=lambda: 5.0)
    theirs = ModeRegistry(
        Claims(database, me=replace(this_process(), host="elsewhere"), started_of=started_of),
        "/w",
        now=lambda: 5.0,
    )
    assert mine.can_start(PLANNING).allowed
    assert theirs.start(VERIFYING, {"why": "tests"})
    check = mine.can_start(PLANNING)
    assert not check.allowed
    assert check.blocked_by is VERIFYING
    assert check.holder is not None
    assert check.holder.since == 5.0
    assert not mine.start(PLANNING)
    assert not mine.end(VERIFYING)
    assert not theirs.end(EXECUTING)
    assert theirs.is_mine(VERIFYING)
    assert not mine.is_mine(VERIFYING)
    assert theirs.end(VERIFYING)
    assert mine.start(PLANNING)
    assert mine.can_start(PLANNING).blocked_by is PLANNING


def test_this_process_is_told_from_its_child() -> None:
    me = this_process()
    assert started_of(me.pid) == me.process_started
    program = "from ralph.adapters.processes.process_table import *; me = this_process(); print(me.pid, me.boot_id, me.host)"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    pid, *rest = said.split()
    assert rest == [me.boot_id, me.host]
    assert int(pid) != me.pid
    assert started_of(0) is None
    assert started_of(-1) is None
