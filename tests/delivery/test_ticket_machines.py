"""Several machines, each with a clone of its own, at one repository: no ticket is worked on twice, and none is forgotten."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.acceptance.running import wait_for

from .killing import Gate, kill_at_gate, kill_at_request, shipping
from .shipping import ShipProject
from .ticket_projects import BODY, statuses, ticket_project
from .ticket_sights import FROM, holder_of, holders, labels, said, sessions
from .world.forge import Forge

SECONDS = 45
LIST = r"GET .*/issues\?"


def machine(forge: Forge, folder: Path, *, before: str = "") -> ShipProject:
    folder.mkdir()
    project = ticket_project(forge, folder, before=before, tickets={"poll": 5})
    project.environment["RALPH_PROFILES__VERIFIED__MAX_PARALLEL"] = "2"
    return project


def are_done(forge: Forge, numbers: Sequence[int]) -> bool:
    return all(labels(forge, number) == {"ralph", "ralph:done"} for number in numbers)


def done_by(project: ShipProject) -> set[str]:
    return {name for name, status in statuses(project).items() if status == "done"}


def stop(process: subprocess.Popen[str]) -> str:
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=SECONDS)
    return out + err


def test_two_machines_share_six_tickets(forge: Forge, tmp_path: Path) -> None:
    first, second = machine(forge, tmp_path / "one"), machine(forge, tmp_path / "two")
    numbers = [forge.open_issue(f"Add file {each}", BODY, labels=["ralph"]) for each in range(6)]

    with shipping(first, *FROM, "--watch") as one, shipping(second, *FROM, "--watch") as two:
        with forge.hold(LIST):
            wait_for(lambda: len(forge.requested(LIST)) == 2, "both look", SECONDS)
        wait_for(lambda: len(done_by(first) | done_by(second)) == 6, "all are done", SECONDS)
        told = (stop(one), stop(two))

    worked = sessions(first) + sessions(second)
    assert sorted(worked) == [f"demo-{number}" for number in numbers], told
    assert are_done(forge, numbers)
    for number in numbers:
        assert "ralph: done." in said(forge, number)
    assert "Traceback" not in "".join(told)


def test_two_that_take_it_at_the_same_moment_both_stand_back_and_one_takes_it_later(
    forge: Forge, tmp_path: Path
) -> None:
    first, second = machine(forge, tmp_path / "one"), machine(forge, tmp_path / "two")
    number = forge.open_issue("Add the file", BODY, labels=["ralph"])
    claim = rf"POST .*/issues/{number}/labels$"

    with shipping(first, *FROM, "--watch") as one, shipping(second, *FROM, "--watch") as two:
        with forge.hold(claim):
            wait_for(lambda: len(forge.requested(claim)) == 2, "both claim it", SECONDS)
            looks = forge.hold(rf"GET .*/issues/{number}$")
            looks.__enter__()
        wait_for(lambda: len(holders(forge, number)) == 2, "both names are there", SECONDS)
        looks.__exit__(None, None, None)
        wait_for(lambda: len(done_by(first) | done_by(second)) == 1, "one of them does it", SECONDS)
        told = stop(one) + stop(two)

    assert "is not ours now" in told
    assert sessions(first) + sessions(second) == [f"demo-{number}"]
    assert are_done(forge, [number])
    assert "ralph: done." in said(forge, number)


def test_a_machine_that_is_gone_keeps_its_tickets_until_a_person_frees_them(
    forge: Forge, tmp_path: Path
) -> None:
    gate = Gate(tmp_path / "gate")
    gone, other = machine(forge, tmp_path / "one", before=gate.script), machine(forge, tmp_path / "two")
    number = forge.open_issue("Add the file", BODY, labels=["ralph"])

    kill_at_gate(gone, gate, *FROM)
    name = holder_of(gone)
    ran = other.ralph(*FROM, check=0)
    how = f"{name.removeprefix('ralph:')} works on it: remove the label {name} if that machine is gone"
    assert how in ran.stdout + ran.stderr
    assert holders(forge, number) == {name}
    forge.unlabel(number, name)
    other.ralph(*FROM, check=0)

    assert are_done(forge, [number])
    assert sessions(other) == [f"demo-{number}"]


def test_whoever_finds_another_name_beside_its_own_takes_its_own_off(forge: Forge, tmp_path: Path) -> None:
    """Else two that were killed while they claimed would wait for each other for ever."""
    project = machine(forge, tmp_path / "one")
    number = forge.open_issue("Add the file", BODY, labels=["ralph"])
    claim = rf"POST .*/issues/{number}/labels$"

    kill_at_request(project, claim, *FROM, done=lambda: bool(holders(forge, number)))
    forge.label(number, "ralph:elsewhere-1234")
    ran = project.ralph(*FROM, check=5)

    assert labels(forge, number) == {"ralph", "ralph:elsewhere-1234"}
    assert "elsewhere-1234 works on it" in ran.stdout + ran.stderr
    assert statuses(project) == {f"demo-{number}": "open"}
    assert not sessions(project)
    forge.unlabel(number, "ralph:elsewhere-1234")
    project.ralph("work", check=0)
    assert are_done(forge, [number])
