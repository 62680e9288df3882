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
from .ticket_sights import FROM, SOURCE, holder_of, holders, labels, said, sessions
from .world.forge import Forge

SECONDS = 60


def machine(forge: Forge, folder: Path, *, before: str = "") -> ShipProject:
    folder.mkdir()
    project = ticket_project(forge, folder, before=before, tickets={"poll": 5})
    project.environment["RALPH_PROFILES__VERIFIED__MAX_PARALLEL"] = "2"
    return project


def are_done(forge: Forge, numbers: Sequence[int]) -> bool:
    return all(labels(forge, number) == {"ralph", "ralph:done"} for number in numbers)


def stop(process: subprocess.Popen[str]) -> str:
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=SECONDS)
    return out + err


def test_two_machines_share_six_tickets(forge: Forge, tmp_path: Path) -> None:
    first, second = machine(forge, tmp_path / "one"), machine(forge, tmp_path / "two")
    numbers = [forge.open_issue(f"Add file {each}", BODY, labels=["ralph"]) for each in range(6)]

    with shipping(first, *FROM, "--watch") as one, shipping(second, *FROM, "--watch") as two:
        wait_for(lambda: are_done(forge, numbers), f"{[labels(forge, each) for each in numbers]}", SECONDS)
        told = (stop(one), stop(two))

    worked = sessions(first) + sessions(second)
    assert sorted(worked) == [f"demo-{number}" for number in numbers], told
    for number in numbers:
        assert "ralph: done." in said(forge, number)
    assert "Traceback" not in "".join(told)
