"""``ralph run --profile promise``, with real processes."""

from __future__ import annotations

import json

import pytest

from .conftest import Project
from .running import running, wait_for

PROMISE = "<promise>DONE</promise>"


def test_the_first_prompt_names_the_promise_and_the_next_are_continuations(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    task = "Build {{MAX}} things (a|b)*$"
    project.agent(
        [{"say": "<promise>LATER</promise>"}], [{"say": f"<promise>no</promise> {PROMISE.lower()}"}]
    )

    project.ralph("run", "--profile", "promise", "-p", task, check=0)

    assert project.prompt(1) == f"{task}\n\nWhen everything is done and checked, output {PROMISE}."
    second = project.prompt(2)
    assert second.startswith("Ralph loop, iteration 2/100.\n")
    assert f"- When the task is FULLY complete, output: {PROMISE}\n" in second
    assert (
        f"Original task:\n{task}\n\nYou said <promise>LATER</promise>. That is not the promise asked for"
        in second
    )


def test_its_own_limit_and_promise_come_from_flags_or_its_section(project: Project) -> None:
    project.settings(
        agent={"command": "claude"},
        profiles={"promise": {"maximumIterations": 2, "completionPromise": "SHIPPED"}},
    )
    project.agent([{"say": PROMISE}], [{"say": "<promise>shipped</promise>"}])
    project.ralph("run", "--profile", "promise", "-p", "x", check=0)
    project.agent([{"say": "<promise>READY</promise>"}])
    project.ralph(
        "run", "--profile", "promise", "-p", "x", "--completion-promise", "READY", "-m", "1", check=0
    )


def test_a_guardrail_denies_a_promise(project: Project) -> None:
    project.settings(agent={"command": "claude"}, guardrails=[{"command": "false"}])
    project.agent([{"say": PROMISE}])
    project.ralph("run", "--profile", "promise", "-p", "x", "-m", "2", check=1)
    assert 'Guardrail "false" failed' in project.prompt(2)
    assert "did not output the completion promise" not in project.prompt(2), "it did"
    assert "was not accepted" in project.prompt(2)


def test_the_state_file_shows_the_loop_while_it_runs(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"touch": "started"}, {"run": "while [ ! -f go ]; do sleep 0.05; done"}, {"say": PROMISE}])
    state = project.root / ".ralph" / "state" / "ralph-loop.json"
    with running(project, "--profile", "promise", "-p", "the task") as process:
        wait_for((project.root / "started").exists, "the start")
        shown = json.loads(state.read_text())
        (project.root / "go").touch()
        process.communicate(timeout=90)
    assert process.returncode == 0
    assert shown["active"] is True
    assert (shown["iteration"], shown["maxIterations"], shown["completionPromise"]) == (1, 100, "DONE")
    assert shown["prompt"] == "the task"
    assert not state.exists()


@pytest.mark.parametrize(
    "flags", [["--completion-promise", "X"], ["--profile", "promise", "-c", "X"]], ids=["basic", "promise"]
)
def test_a_flag_of_the_other_profile_is_refused(project: Project, flags: list[str]) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"say": PROMISE}])
    assert "--completion-" in project.ralph("run", "-p", "x", *flags, check=2).stderr


@pytest.mark.parametrize(
    ("section", "key"),
    [({"maximumIterations": 0}, "maximumIterations"), ({"completionPromise": " "}, "completionPromise")],
)
def test_a_wrong_section_is_told(project: Project, section: dict[str, object], key: str) -> None:
    project.settings(agent={"command": "claude"}, profiles={"promise": section})
    project.agent([{"say": PROMISE}])
    assert (
        f"profiles.promise.{key}" in project.ralph("run", "--profile", "promise", "-p", "x", check=2).stderr
    )
