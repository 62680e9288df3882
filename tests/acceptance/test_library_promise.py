"""The promise loop's functions, imported from ``ralph``, over real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import ralph
from ralph import (
    Mode,
    RalphLoopConfig,
    RalphLoopState,
    StateLocation,
    StateManager,
    build_continuation_prompt,
    can_start_mode,
    clear_ralph_loop_state,
    detect_completion,
    end_mode,
    end_ralph_loop,
    increment_iteration,
    is_ralph_loop_active,
    read_ralph_loop_state,
    start_mode,
    start_ralph_loop,
    write_ralph_loop_state,
)

ROOT = Path(__file__).parents[2]
STATE_FILE = Path(".ralph/state/ralph-loop.json")


@pytest.fixture(autouse=True)
def project_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Everything happens in the project of the current directory; at the end it is free again."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    yield folder
    end_ralph_loop(root=folder)


def python(program: str, *arguments: str) -> str:
    """What another process said."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", f"from ralph import *\n{textwrap.dedent(program)}", *arguments],
        capture_output=True,
        text=True,
        timeout=90,
        check=True,
    ).stdout.strip()


@contextmanager
def another(program: str) -> Iterator[subprocess.Popen[str]]:
    """Another process that says what it did and stays until it is told to end."""
    code = f"from ralph import *\n{textwrap.dedent(program)}\ninput()"
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<promise>DONE</promise>", True),
        ("<promise> DONE </promise>", True),
        ("no completion here", False),
        ("<Promise>done</Promise>", True),
    ],
)
def test_the_four_usual_cases(text: str, expected: bool) -> None:
    assert detect_completion(text, "DONE") is expected


def test_every_name_of_the_promise_loop_is_importable_from_ralph() -> None:
    exports = """RalphLoopState RalphLoopConfig DEFAULT_MAX_ITERATIONS DEFAULT_COMPLETION_PROMISE
        RALPH_LOOP_STATE_FILE read_ralph_loop_state write_ralph_loop_state clear_ralph_loop_state
        increment_iteration detect_completion escape_regex COMPLETION_TAG_PATTERN CONTINUATION_PROMPT
        build_continuation_prompt is_ralph_loop_active start_ralph_loop end_ralph_loop StateManager
        StateLocation can_start_mode start_mode end_mode"""
    for name in exports.split():
        assert getattr(ralph, name) is not None
        assert name in ralph.__all__


def test_importing_ralph_loads_none_of_it() -> None:
    program = "import ralph, sys; print([m for m in sys.modules if m.startswith('ralph.')])"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_a_loop_from_start_to_end() -> None:
    assert read_ralph_loop_state() is None
    assert not is_ralph_loop_active()
    state = start_ralph_loop("Build a REST API", RalphLoopConfig(max_iterations=7))
    assert state is not None
    assert (state.active, state.iteration, state.max_iterations) == (True, 1, 7)
    assert state.completion_promise == "DONE"
    assert state.started_at.endswith("Z")
    assert is_ralph_loop_active()
    assert json.loads(STATE_FILE.read_text()) == {
        "active": True,
        "iteration": 1,
        "maxIterations": 7,
        "completionPromise": "DONE",
        "startedAt": state.started_at,
        "prompt": "Build a REST API",
    }
    assert write_ralph_loop_state(increment_iteration(state)) is True
    state = read_ralph_loop_state()
    assert state is not None
    assert "Ralph loop, iteration 2/7." in build_continuation_prompt(state)
    assert end_ralph_loop() is True
    assert not STATE_FILE.exists()
    assert not is_ralph_loop_active()
    assert can_start_mode("executing").allowed
    assert clear_ralph_loop_state() is True


def test_a_second_loop_is_turned_away_and_leaves_the_first_alone() -> None:
    with another("print(start_ralph_loop('first') is not None, flush=True)") as process:
        assert said(process) == "True"
        assert start_ralph_loop("second") is None
        check = can_start_mode(Mode.PLANNING)
        assert (check.allowed, check.blocked_by) == (False, Mode.EXECUTING)
        assert check.holder is not None
        assert check.holder.owner.pid == process.pid
        assert end_ralph_loop() is False
        assert end_mode("executing") is False
        state = read_ralph_loop_state()
        assert state is not None
        assert state.prompt == "first"


def test_a_loop_is_in_its_own_way_too() -> None:
    assert start_ralph_loop("first") is not None
    assert start_ralph_loop("second") is None
    state = read_ralph_loop_state()
    assert state is not None
    assert state.prompt == "first"


def test_a_loop_survives_the_death_of_its_process_and_is_taken_up_or_ended_by_another() -> None:
    program = """
        state = start_ralph_loop("task {{MAX}} .*", RalphLoopConfig(completion_promise="OK?"))
        write_ralph_loop_state(increment_iteration(increment_iteration(state)))
        print("written", flush=True)
        """
    with another(program) as process:
        assert said(process) == "written"
        process.send_signal(signal.SIGKILL)
        process.communicate()

    state = read_ralph_loop_state()
    assert state is not None
    assert (state.iteration, state.prompt, state.completion_promise) == (3, "task {{MAX}} .*", "OK?")
    assert build_continuation_prompt(state).endswith("Original task:\ntask {{MAX}} .*")
    assert is_ralph_loop_active()
    assert can_start_mode("executing").allowed  # whoever held it is gone
    assert end_ralph_loop() is True
    assert read_ralph_loop_state() is None


def test_of_two_processes_that_start_a_loop_at_once_exactly_one_gets_it(project_folder: Path) -> None:
    program = """
        import sys, time
        print("ready", flush=True)
        for line in sys.stdin:
            order, at = line.split()
            while time.monotonic() < float(at):
                pass
            if order == "start":
                state = start_ralph_loop(sys.argv[1])
                print("blocked" if state is None else state.prompt, flush=True)
            else:
                print(end_ralph_loop(), flush=True)
        """
    pair = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", f"from ralph import *\n{textwrap.dedent(program)}", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("one", "two")
    ]

    def tell(process: subprocess.Popen[str], order: str, at: float = 0.0) -> None:
        assert process.stdin is not None
        process.stdin.write(f"{order} {at}\n")
        process.stdin.flush()

    try:
        assert [said(process) for process in pair] == ["ready", "ready"]
        for _ in range(60):
            at = time.monotonic() + 0.002
            for process in pair:
                tell(process, "start", at)
            answers = [said(process) for process in pair]
            assert sorted(answers) in (["blocked", "one"], ["blocked", "two"])
            winner = answers.index("blocked") ^ 1
            assert json.loads(STATE_FILE.read_text())["prompt"] == answers[winner]
            tell(pair[winner ^ 1], "end")
            assert said(pair[winner ^ 1]) == "False"
            tell(pair[winner], "end")
            assert said(pair[winner]) == "True"
            assert list(STATE_FILE.parent.iterdir()) == []
    finally:
        for process in pair:
            process.kill()
            process.communicate()


@pytest.mark.parametrize(
    "content",
    [
        '{"active": tr',
        '{"version": 9, "loops": []}',
        '{"active": true, "iteration": "3", "maxIterations": 5, "completionPromise": "D", "startedAt": "", "prompt": ""}',
    ],
    ids=["cut off", "of another version", "of wrong types"],
)
def test_a_damaged_state_is_kept_aside_and_reported(content: str) -> None:
    STATE_FILE.parent.mkdir(parents=True)
    STATE_FILE.write_text(content)
    with pytest.warns(UserWarning, match=r"ralph-loop\.json is damaged or of another version .*corrupt-"):
        assert read_ralph_loop_state() is None
    (aside,) = STATE_FILE.parent.iterdir()
    assert aside.name.startswith("ralph-loop.json.corrupt-")
    assert aside.read_text() == content
    assert not is_ralph_loop_active()


def test_a_damaged_state_is_not_lost_by_a_new_loop() -> None:
    STATE_FILE.parent.mkdir(parents=True)
    STATE_FILE.write_text("precious")
    reports: list[str] = []
    assert start_ralph_loop("x", report=reports.append) is not None
    assert len(reports) == 1
    assert sorted(path.read_text() == "precious" for path in STATE_FILE.parent.iterdir()) == [False, True]


def test_a_loop_whose_state_cannot_be_written_does_not_start() -> None:
    STATE_FILE.mkdir(parents=True)
    reports: list[str] = []
    assert start_ralph_loop("x", report=reports.append) is None
    assert "cannot write" in reports[0]
    assert can_start_mode("executing").allowed
    state = RalphLoopState(True, 1, 2, "D", "", "x")
    assert write_ralph_loop_state(state, report=reports.append) is False
    assert clear_ralph_loop_state(report=reports.append) is False
    assert end_ralph_loop(report=reports.append) is False
    STATE_FILE.rmdir()


def test_keys_of_others_survive() -> None:
    state = start_ralph_loop("x")
    assert state is not None
    document = json.loads(STATE_FILE.read_text()) | {"theirs": [1]}
    STATE_FILE.write_text(json.dumps(document))
    state = read_ralph_loop_state()
    assert state is not None
    assert write_ralph_loop_state(increment_iteration(state))
    assert json.loads(STATE_FILE.read_text()) == document | {"iteration": 2}


@pytest.mark.parametrize(
    "config", [RalphLoopConfig(max_iterations=0), RalphLoopConfig(completion_promise="")]
)
def test_a_senseless_configuration_is_refused(config: RalphLoopConfig) -> None:
    with pytest.raises(ralph.RalphError):
        start_ralph_loop("x", config)
    assert not STATE_FILE.exists()


def test_modes_exclude_each_other_across_processes() -> None:
    assert not end_mode("planning")
    assert not Path(".ralph").exists()  # looking and ending write nothing
    assert can_start_mode("planning").allowed
    assert not Path(".ralph").exists()
    with another(
        "print(start_mode('planning', {'by': 'me'}), start_mode('planning'), flush=True)"
    ) as process:
        assert said(process) == "True False"
        assert not start_mode("verifying")
        assert can_start_mode("verifying").blocked_by is Mode.PLANNING
        process.communicate("\n")
    assert start_mode("verifying")  # that process ended without ending its mode
    assert python("print(can_start_mode('planning').blocked_by, end_mode('verifying'))") == "verifying False"
    assert end_mode("verifying")
    with pytest.raises(ralph.RalphError, match="unknown mode 'dreaming'"):
        start_mode("dreaming")


def test_each_project_has_a_loop_of_its_own(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    assert start_ralph_loop("here") is not None
    assert start_ralph_loop("there", root=other) is not None
    here, there = read_ralph_loop_state(), read_ralph_loop_state(root=other)
    assert here is not None
    assert there is not None
    assert (here.prompt, there.prompt) == ("here", "there")
    assert end_ralph_loop(root=other)
    assert is_ralph_loop_active()


def test_each_git_worktree_has_a_loop_of_its_own(project_folder: Path, tmp_path: Path) -> None:
    for command in (
        ["git", "init", "-q"],
        ["git", "commit", "-q", "--allow-empty", "-m", "x"],
        ["git", "worktree", "add", "-q", str(tmp_path / "tree")],
    ):
        subprocess.run(command, check=True, timeout=90)
    assert start_ralph_loop("here") is not None
    assert start_ralph_loop("there", root=tmp_path / "tree") is not None
    here = read_ralph_loop_state()
    assert here is not None
    assert here.prompt == "here"
    assert end_ralph_loop(root=tmp_path / "tree")


def test_the_state_manager_has_two_places(
    project_folder: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    local: StateManager[dict[str, object]] = StateManager("notes")
    everywhere: StateManager[dict[str, object]] = StateManager("notes", StateLocation.GLOBAL)
    monkeypatch.delenv("XDG_STATE_HOME")
    assert local.write({"a": 1})
    assert everywhere.write({"a": 2})
    assert local.path == project_folder / ".ralph" / "state" / "notes.json"
    assert everywhere.path == own_home / ".ralph" / "state" / "notes.json"
    assert (local.read(), everywhere.read()) == ({"a": 1}, {"a": 2})
    monkeypatch.setenv("XDG_STATE_HOME", str(own_home / "xdg"))
    assert everywhere.read() is None
    assert local.clear()
    assert local.read() is None


def test_a_program_under_a_run_leaves_the_runs_own_loop_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    program = """
        from pathlib import Path
        from ralph.adapters.processes.process_table import started_of, this_process
        from ralph.adapters.storage.claims import Claims
        from ralph.adapters.storage.database import open_state_database
        database = open_state_database(Path(".ralph"))
        claims = Claims(database, me=this_process(), started_of=started_of)
        print(claims.take(str(Path.cwd()), Mode.EXECUTING, run_id="r1", now=1.0), flush=True)
        """
    with another(program) as process:
        assert said(process) == "True"
        assert start_ralph_loop("x") is None
        monkeypatch.setenv("RALPH_RUN_ID", "r1")
        assert can_start_mode("executing").allowed
        assert start_ralph_loop("x") is None, "the loop there is the run's own"
        assert not end_ralph_loop()


def test_the_example_of_the_page_runs(project_folder: Path) -> None:
    page = (ROOT / "docs" / "promise.md").read_text()
    example = page.partition("```python\n")[2].partition("```")[0]
    assert "start_ralph_loop" in example
    agent = project_folder / "agent"
    agent.write_text(
        "#!/bin/sh\ncat > prompt.txt\ncat prompt.txt >> prompts.txt\n"
        'if grep -q "iteration 3/100" prompt.txt; then echo "<promise>DONE</promise>"; else echo working; fi\n'
    )
    agent.chmod(0o755)
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", example],
        env={**os.environ, "PATH": f"{project_folder}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == "done in iteration 3\n"
    assert "Ralph loop, iteration 2/100." in (project_folder / "prompts.txt").read_text()
    assert read_ralph_loop_state() is None
