"""`ralph ship` shift by shift, as on a fleet: a red check is fixed in one, and what is not ready yet is waited for elsewhere."""

from __future__ import annotations

from pathlib import Path

from tests.acceptance.conftest import DONE
from tests.shifts.shifting import Worker

from .shipping import GREEN, RED, on_each_push, says, ship_project
from .world.forge import Forge


def test_a_red_check_is_fixed_in_shifts_and_the_rest_is_waiting(forge: Forge, tmp_path: Path) -> None:
    project = ship_project(forge, tmp_path)
    project.setting(pullRequest={"wait": 300})
    on_each_push(forge, [("build", RED)], [])
    project.agent(says(DONE, work__txt="2\n"))
    worker = Worker(project)

    fixed = worker.run("ship", until=lambda end: end.want != "session")
    assert (fixed.want, fixed.iteration) == ("wait", 1), worker.said
    assert fixed.seconds > 2
    again = worker.shift()
    assert (again.want, again.iteration) == ("wait", 1), "it looks, and waits on"
    forge.check(project.tip, "build", **GREEN)
    end = worker.run()

    assert (end.outcome, end.exit_code, end.iteration) == ("completed", 0, 1)
    assert len(forge.requested(r"POST .*/pulls$")) == 1
    assert len(project.prompts()) == 1
    assert len(project.events("run_started")) == 1
    assert [seen["step"] for seen in project.events("pull_request_seen")] == ["fix", "wait", "done"]
