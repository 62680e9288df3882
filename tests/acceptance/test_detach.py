"""``--detach``: a run that needs no terminal; ``ralph attach`` shows it from any."""

from __future__ import annotations

import signal

from .conftest import DONE, PROMPT, Project
from .running import running, wait_for

WAIT = "touch started; while [ ! -e go ]; do sleep 0.05; done"


def test_a_run_goes_on_without_its_terminal_and_is_shown_in_another(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"say": "first words"}, {"run": WAIT}, {"say": "not yet"}], [{"say": DONE}])
    begun = project.ralph("run", "-f", "-", "-m", "1", "--detach", stdin=PROMPT, check=0)
    run_id = begun.stdout.strip()
    output = project.root / ".ralph" / "runs" / run_id / "console.log"
    assert "`ralph attach`" in begun.stderr
    assert f"Its output:  {output.relative_to(project.root)}" in begun.stderr
    wait_for((project.root / "started").exists, "the agent's start")
    assert project.prompt(1) == PROMPT  # it was read here, and sent there

    busy = project.ralph("run", "-p", PROMPT, "--detach", check=2)
    assert f"in use by run {run_id}" in busy.stderr

    with running(project, command="attach") as attached:
        assert attached.stdout is not None
        wait_for(lambda: "first words" in attached.stdout.readline(), "what it has said")  # type: ignore[union-attr]
        attached.send_signal(signal.SIGINT)
        _, said = attached.communicate(timeout=60)
        assert attached.returncode == 130
        assert f"run {run_id} keeps running" in said
    with running(project, run_id, command="attach") as attached:
        (project.root / "go").touch()
        shown, said = attached.communicate(timeout=90)
    assert "not yet" in shown
    assert "maximum iterations reached (1)" in said
    assert attached.returncode == 1  # as the run itself
    assert "maximum iterations reached (1)" in output.read_text()

    assert project.ralph("resume", "-m", "2", "--detach", check=0).stdout.strip() == run_id
    ended = project.ralph("attach", run_id, check=0)
    assert "Completed" in ended.stderr
    assert DONE in (output.parent / "console-2.log").read_text()


def test_what_never_begins_is_told_where_it_was_started(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"say": DONE}])
    assert "a prompt is needed" in project.ralph("run", "--detach", check=2).stderr
    nobody = project.ralph("attach", check=2).stderr
    assert "no run is under way here" in nobody
    # Only the process of its own finds this out: it must not be lost in its file.
    (project.root / ".ralph" / "ralph.db").write_text("no database")
    told = project.ralph("run", "-p", PROMPT, "--detach", check=4)
    assert "ralph.db" in told.stderr
    assert not list((project.root / ".ralph").glob("detached-*"))
